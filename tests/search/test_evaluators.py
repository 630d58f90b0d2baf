"""Evaluators: playouts against exact random values, draws against weights, cuts, mixing, networks, broken advice."""

import dataclasses
import functools
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from jaxtyping import Array
from judges import positions
from support import untyped

from jaxgo.core.choice import pick_weighted
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.evaluators import EVALUATORS, Evaluation, Evaluator, Heuristic, Mix, Network, Rollout, Uniform
from jaxgo.evaluators.cache import Cached
from jaxgo.evaluators.likely import Likely
from jaxgo.evaluators.noisy import Dirichlet, Noisy
from jaxgo.games import make
from jaxgo.nets import Mlp, ResNet
from jaxgo.players import load_player
from jaxgo.search import Greedy
from jaxgo.search.model import Model

RULE_OF_FIVE = "....-....-....-IIII"
LOST = ".....-....-....-IIII"
COMPLEX = "..-...I-.II.-....-III....-....-IIII"


@functools.cache
def starts(game: Game[Any], count: int) -> Any:
    return jax.jit(lambda key: jax.vmap(game.init)(jax.random.split(key, count)))(jax.random.key(0))


@functools.cache
def judge(game: Game[Any], evaluator: Evaluator) -> Any:
    return jax.jit(lambda params, key, states: evaluator(game, params, key, states))


@functools.cache
def playouts(game: Game[Any], evaluator: Rollout, count: int, lanes: int = 4096) -> np.ndarray:
    """Results of many single playouts from the start."""
    states = starts(game, lanes)
    keys = jax.random.split(jax.random.key(7), count // lanes)
    return np.concatenate([np.asarray(judge(game, evaluator)((), key, states).value) for key in keys])


def exact_random_value(board: str, careful: bool = False) -> float:
    """The mine race from the start, by plain recursion from the far end; careful players step on a mine only if they
    must."""
    value = [0.0] * len(board)
    for token in reversed(range(len(board) - 1)):
        ahead = list(range(token + 1, min(token + 5, len(board))))
        safe = [cell for cell in ahead if board[cell] != "I"]
        results = [-1.0 if board[cell] == "I" else -value[cell] for cell in (safe if careful and safe else ahead)]
        value[token] = sum(results) / len(results)
    return value[0]


@pytest.mark.slow
@pytest.mark.parametrize(("board", "known"), [(RULE_OF_FIVE, -0.0043), (LOST, 0.0094), (COMPLEX, 0.0244)])
def test_playouts_of_the_mine_race_have_the_exact_mean(board, known):
    exact = exact_random_value(board)
    assert exact == pytest.approx(known, abs=5e-5)
    results = playouts(make("minerace", board=board), Rollout(), 1 << 18)
    assert set(results.tolist()) == {-1.0, 1.0}
    assert abs(results.mean() - exact) < 4 * results.std() / len(results) ** 0.5


@pytest.mark.slow
def test_playouts_of_tictactoe_win_lose_and_draw_as_often_as_they_should():
    results = playouts(make("tictactoe"), Rollout(), 1 << 18)
    for result, share in ((1.0, 0.5849206), (-1.0, 0.2880953), (0.0, 0.1269841)):  # GAMES.md: 58.5, 28.8, 12.7 %
        error = (share * (1 - share) / len(results)) ** 0.5
        assert abs((results == result).mean() - share) < 4 * error


@pytest.mark.slow
def test_the_mean_of_several_playouts_is_one_value():
    values = playouts(make("tictactoe"), Rollout(count=4), 1 << 14, lanes=1024)
    assert set((values * 4).tolist()) <= set(range(-4, 5))
    single = playouts(make("tictactoe"), Rollout(), 1 << 18)
    assert abs(values.mean() - single.mean()) < 4 * values.std() / len(values) ** 0.5
    assert values.var() == pytest.approx(single.var() / 4, rel=0.1)


def test_the_value_is_for_the_side_to_move():
    game = make("tictactoe")
    after = jax.jit(jax.vmap(game.step))(starts(game, 4096), np.full(4096, 4, np.int32))
    value = np.asarray(judge(game, Rollout())((), jax.random.key(1), after).value).mean()
    assert value < -0.3  # the second mover, with the centre taken


def test_playouts_from_a_finished_position_are_its_result():
    game = make("tictactoe")
    state = game.place(np.array([1, 1, 1, 2, 2, 0, 0, 0, 0], np.int8), 1)._replace(winner=jnp.int8(1))
    states = jax.tree.map(lambda x: np.stack([x] * 2), jax.device_get(state))
    assert np.asarray(judge(game, Rollout())((), jax.random.key(0), states).value).tolist() == [-1.0, -1.0]


def test_a_lane_does_not_depend_on_its_neighbours():
    game = make("connect4")
    many, few = starts(game, 512), starts(game, 8)
    a = judge(game, Rollout())((), jax.random.key(3), many).value[:8]
    b = judge(game, Rollout())((), jax.random.key(3), few).value
    assert a.tolist() == b.tolist()


@pytest.mark.slow
def test_only_what_is_wanted_is_played_out():
    """The wanted ones get the judgements that they get among all, and the others do not move."""
    game, rollout = make("connect4"), Rollout(count=2)
    states, key = starts(game, 1024), jax.random.key(3)
    wanted = np.arange(1024) % 5 == 0
    some = jax.jit(lambda wanted: rollout.evaluate_wanted(game, (), key, states, wanted))
    value = np.asarray(some(jnp.asarray(wanted)).value)
    np.testing.assert_array_equal(value[wanted], np.asarray(judge(game, rollout)((), key, states).value)[wanted])
    assert np.isfinite(value).all()
    assert not value[~wanted].any()
    plies = jax.jit(lambda wanted: rollout.ends(game, (), key, states, wanted).states.ply)(jnp.asarray(wanted))
    assert (np.asarray(plies) > 6).tolist() == wanted.tolist()


# -- the choice of moves ---------------------------------------------------------------------------------------


def chi_square(drawn: np.ndarray, shares: np.ndarray) -> float:
    counts = np.bincount(drawn, minlength=len(shares))
    assert (counts[shares == 0] == 0).all()
    expected = shares[shares > 0] * len(drawn)
    return float(((counts[shares > 0] - expected) ** 2 / expected).sum())


@pytest.mark.slow
@pytest.mark.parametrize("actions", [2, 9, 362])
def test_moves_are_drawn_in_proportion_to_their_weights(actions):
    rng = np.random.default_rng(actions)
    weights = rng.choice([1.0, 3.0, 10.0], actions).astype(np.float32)
    legal = rng.random(actions) < 0.7
    legal[:2] = True
    words = jax.random.bits(jax.random.key(5), (200_000,), jnp.uint32)
    drawn = np.asarray(jax.jit(jax.vmap(lambda w: pick_weighted(jnp.asarray(legal), jnp.asarray(weights), w)))(words))
    shares = np.where(legal, weights, 0) / weights[legal].sum()
    freedom = int(legal.sum()) - 1
    assert chi_square(drawn, shares) < freedom + 5 * (2 * freedom) ** 0.5


def test_a_weight_close_to_nothing_is_drawn_only_where_it_must_be():
    words = jax.random.bits(jax.random.key(5), (100_000,), jnp.uint32)
    weights = jnp.array([1.0, 1e-9, 1e-9])
    draw = jax.jit(lambda legal: jax.vmap(lambda w: pick_weighted(legal, weights, w))(words))
    assert (np.asarray(draw(np.array([True, True, True]))) == 0).all()
    assert chi_square(np.asarray(draw(np.array([False, True, True]))), np.array([0, 0.5, 0.5])) < 1 + 5 * 2**0.5
    assert (np.asarray(draw(np.zeros(3, bool))) == 0).all()


@pytest.mark.slow
def test_weights_rule_playouts_unless_told_otherwise():
    board = ".I.II.I..I"
    careful = make("minerace", board=board, lookahead=True)
    exact, exact_blind = exact_random_value(board, careful=True), exact_random_value(board)
    assert abs(exact - exact_blind) > 0.1
    for evaluator, mean in ((Rollout(), exact), (Rollout(weighted=False), exact_blind)):
        results = playouts(careful, evaluator, 1 << 16)
        assert abs(results.mean() - mean) < 4 * results.std() / len(results) ** 0.5


@dataclasses.dataclass(frozen=True)
class Fixed(Evaluator):
    """Always the same logits and value."""

    logits: tuple[float, ...]
    value: float = 0.0

    def __call__(self, game: Game[Any], params: Any, key: Array, states: Any) -> Evaluation:
        games = states.ply.shape[0]
        return Evaluation(jnp.tile(jnp.array(self.logits, jnp.float32), (games, 1)), jnp.full(games, self.value))


@pytest.mark.slow
def test_an_advisor_draws_the_moves():
    # always four cells ahead, as long as it goes: 4, 8, 12, and 16 is a mine, so the second mover loses
    four = Fixed((-100.0, -100.0, -100.0, 0.0))
    assert (playouts(make("minerace", board=RULE_OF_FIVE), Rollout(advisor=four), 4096) == 1.0).all()
    alike = playouts(make("minerace", board=RULE_OF_FIVE), Rollout(advisor=Uniform()), 1 << 16)
    assert abs(alike.mean() - exact_random_value(RULE_OF_FIVE)) < 4 / len(alike) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_broken_advice_makes_a_broken_value(bad):
    results = playouts(make("minerace", board=RULE_OF_FIVE), Rollout(advisor=Fixed((0.0, bad, 0.0, 0.0))), 4096)
    assert np.isnan(results).all()


def test_the_parameters_of_a_rollout_are_those_of_its_advisor():
    assert Rollout().init(make("tictactoe"), jax.random.key(0)) == ()
    assert Rollout(advisor=Mix(Uniform(), Uniform())).init(make("tictactoe"), jax.random.key(0)) == ((), ())


@pytest.mark.parametrize(
    "wrap",
    [
        Cached,
        Likely,
        lambda judge: Mix(judge, judge),
        lambda judge: Noisy(judge, Dirichlet(0.25, 1.0, 0.0)),
        lambda judge: Rollout(advisor=judge),
    ],
)
def test_a_judge_within_another_hears_of_the_platform(wrap):
    @dataclasses.dataclass(frozen=True)
    class Told(Uniform):
        platform: str = ""

        def on(self, platform):
            return Told(platform)

    assert wrap(Told()).on("gpu") == wrap(Told("gpu"))


# -- cuts ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_dodgem_8_never_ends_in_twenty_plies():
    # no car reaches the other side in ten moves of its own and leaves with all its friends
    game = make("dodgem8")
    assert (playouts(game, Rollout(depth=20, unfinished="even"), 4096) == 0.0).all()
    guessed = playouts(game, Rollout(depth=20), 4096)
    assert (np.abs(guessed) <= 1.0).all()
    assert (guessed != 0.0).any()


@pytest.mark.slow
def test_a_cut_playout_is_worth_the_guess_for_who_moved_first():
    # one ply from token 10 of the rule-of-five board leads to 11..13, where the guess is even, or to 14, where every
    # move steps on a mine: -1 for who moves there, 1 for who came
    game = make("minerace", board=RULE_OF_FIVE)
    at = starts(game, 4096)._replace(token=jnp.full(4096, 10, jnp.int16))
    value = np.asarray(judge(game, Rollout(depth=1))((), jax.random.key(2), at).value)
    assert set(value.tolist()) == {0.0, 1.0}
    assert abs(value.mean() - 0.25) < 4 * value.std() / 64
    even = judge(game, Rollout(depth=1, unfinished="even"))((), jax.random.key(2), at).value
    assert not np.asarray(even).any()


@pytest.mark.slow
def test_long_playouts_are_finished_after_the_short_ones_have_left_the_loop():
    # of 1,024 lanes three quarters end early; all the others must still reach their end, or the depth
    game = make("kono")
    finished = playouts(game, Rollout(depth=game.max_plies, unfinished="even"), 1024, lanes=1024)
    assert (finished == 1.0).any()
    assert (finished == -1.0).any()
    cut = playouts(game, Rollout(depth=30, unfinished="even"), 1024, lanes=1024)
    same = cut != 0.0
    assert 0 < same.sum() < 1024
    assert (cut[same] == finished[same]).all()


# -- the other judges ------------------------------------------------------------------------------------------


def test_heuristic_is_what_the_game_says():
    game = make("minerace", board=RULE_OF_FIVE, lookahead=True)
    at = starts(game, 2)._replace(token=jnp.array([13, 14], jnp.int16))
    logits, value = judge(game, Heuristic())((), jax.random.key(0), at)
    np.testing.assert_allclose(np.asarray(value), [0.0, -1.0])
    np.testing.assert_allclose(np.exp(np.asarray(logits)), [[1, 1e-9, 1e-9, 1e-9], [1e-9] * 4], rtol=1e-4)
    prior = judge(game, Rollout(prior="weights"))((), jax.random.key(0), at).logits
    np.testing.assert_array_equal(np.asarray(prior), np.asarray(logits))


def test_a_mix_is_the_weighted_mean_of_values_and_of_policies_among_legal_moves():
    game = make("minerace", board="....-I")
    first, second = Fixed((0.0, 0.0, 0.0, 0.0), 1.0), Fixed((0.0, -100.0, -100.0, 3.0), -0.5)
    at = starts(game, 1)._replace(token=jnp.array([3], jnp.int16))  # only two cells are left
    logits, value = judge(game, Mix(first, second, 0.25))(((), ()), jax.random.key(0), at)
    assert float(value[0]) == pytest.approx(0.25 - 0.375)
    np.testing.assert_allclose(np.exp(np.asarray(logits[0])), [0.25 * 0.5 + 0.75, 0.25 * 0.5, 0, 0], atol=1e-6)


def test_a_mix_has_the_parameters_of_both():
    game = make("tictactoe")
    with pytest.raises(UsageError, match="the parameters of a mix are the pair of its judges'"):
        Greedy().run(Model(game, Mix(Heuristic(), Uniform())), (), jax.random.key(0), positions(game, 2, 0))


def test_a_mix_of_all_of_one_is_that_one():
    game = make("connect4")
    states = starts(game, 4)
    mixed = judge(game, Mix(Rollout(), Uniform(), 1.0))(((), ()), jax.random.key(1), states).value
    alone = judge(game, Rollout())((), jax.random.split(jax.random.key(1))[0], states).value
    assert mixed.tolist() == alone.tolist()


class TinyNet(nn.Module):
    actions: int

    @nn.compact
    def __call__(self, planes: Array) -> tuple[Array, Array]:
        flat = planes.reshape(planes.shape[0], -1)
        return nn.Dense(self.actions)(flat), jnp.tanh(nn.Dense(1)(flat))[:, 0]


@pytest.mark.slow
@pytest.mark.parametrize("around", [lambda j: Mix(j, j), Likely, lambda j: Noisy(j, Dirichlet(0.25, 0.3, 10.0))])
def test_judges_around_a_network_make_its_parameters_ready(around):
    """Otherwise a loop over searches would cast them in every turn."""
    game = make("tictactoe")
    network = Network(ResNet(channels=8, blocks=1, precision="bfloat16").module(game))
    judge = around(network).on("gpu")
    params = judge.init(game, jax.random.key(0))
    narrow = {str(x.dtype) for x in jax.tree.leaves(network.on("gpu").ready(network.init(game, jax.random.key(0))))}
    assert "bfloat16" in narrow
    assert {str(x.dtype) for x in jax.tree.leaves(judge.ready(params))} == narrow


def test_a_network_judges_planes_and_takes_part_in_a_model():
    game = make("tictactoe")
    model = Model(game, Mix(Network(TinyNet(9)), Heuristic()))
    params = jax.jit(model.init)(jax.random.key(0))
    assert params[0]["params"]["Dense_0"]["kernel"].shape == (18, 9)
    root = jax.jit(lambda key: model.start(key, 3))(jax.random.key(1))
    net, _ = jax.jit(lambda p: (Network(TinyNet(9))(game, p, jax.random.key(0), root.state), 0))(params[0])
    planes = np.asarray(jax.jit(jax.vmap(game.observe))(root.state), np.float32)
    expected = jax.jit(TinyNet(9).apply)(params[0], planes)
    np.testing.assert_allclose(np.asarray(net.logits), np.asarray(expected[0]), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.asarray(net.value), np.asarray(expected[1]), rtol=1e-5, atol=1e-6)
    leaves = jax.jit(lambda params: model.root(params, jax.random.key(2), root))(params)
    assert bool(leaves.healthy.all())
    np.testing.assert_allclose(np.asarray(leaves.value), np.asarray(net.value) / 2, rtol=1e-4, atol=1e-6)


@dataclasses.dataclass(frozen=True)
class Misshapen:
    """A network that gives arrays of these shapes; 0 stands for the positions."""

    shapes: tuple[tuple[int, ...], ...]

    def init(self, key: Array, planes: Array) -> Any:
        return ()

    def apply(self, params: Any, planes: Array) -> Any:
        return tuple(jnp.zeros([size or len(planes) for size in shape]) for shape in self.shapes)


@pytest.mark.parametrize("games", [1, 3])
@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        (((0, 9), (0, 1)), "the network gave logits of shape .* are needed"),
        (((0, 9), ()), "values of shape \\(\\) for"),  # a mean over the batch
        (((0, 1), (0,)), "logits of shape .*, 1\\) and"),
        (((0, 10), (0,)), "logits of shape .*, 10\\) and"),
        (((0, 9), (0,), (0, 9)), "must give two things"),
    ],
)
def test_a_network_of_other_shapes_is_refused(shapes, said, games):
    """Most of them would be stretched until they fit."""
    model = Model(make("tictactoe"), Network(Misshapen(shapes)))
    with pytest.raises(UsageError, match=said):
        jax.eval_shape(lambda key: model.root((), key, model.start(key, games)), jax.random.key(0))


@pytest.mark.slow
def test_parameters_of_another_net_are_refused():
    model, other = (Model(make(name), Network(Mlp(4, 1).module(make(name)))) for name in ("tictactoe", "connect4"))
    for params in ((), {}, other.init(jax.random.key(0))):
        with pytest.raises(
            UsageError, match=r"parameters are not those of MlpModule for Mnk, as .*; make some by model.init"
        ):
            jax.eval_shape(lambda key, params=params: model.root(params, key, model.start(key, 2)), jax.random.key(0))
    with pytest.raises(UsageError, match="Linear is no network with `init` and `apply`: give a linen module"):
        untyped(Network, module=nnx.Linear(2, 3, rngs=nnx.Rngs(0)))


@dataclasses.dataclass(frozen=True)
class Lumping(Evaluator):
    """Says one value of all positions together."""

    def __call__(self, game: Any, params: Any, key: Any, states: Any) -> Any:
        return jnp.zeros((states.ply.shape[0], game.num_actions)), jnp.float32(0.5)


@dataclasses.dataclass(frozen=True)
class Pair(Evaluator):
    """Says what is asked for as a plain pair."""

    def __call__(self, game: Game[Any], params: Any, key: Array, states: Any) -> Any:
        return jnp.zeros((states.ply.shape[0], game.num_actions)), jnp.zeros(states.ply.shape[0])


ASKING = {  # whoever asks another one, and its parameters
    "alone": (lambda judge: judge, ()),
    "mix": (lambda judge: Mix(judge, Uniform()), ((), ())),
    "likely": (Likely, ()),
    "noisy": (lambda judge: Noisy(judge, Dirichlet(0.25, 0.3, 1.0)), ()),
    "rollout": (lambda judge: Rollout(advisor=judge), ()),
}


@pytest.mark.parametrize("asking", ASKING)
def test_an_evaluator_of_other_shapes_is_refused_and_a_pair_is_taken_whoever_asks_it(asking):
    """A number for all positions was stretched over them where another evaluator asked for it."""
    made, params = ASKING[asking]

    def root(judge: Evaluator) -> Any:
        model = Model(make("tictactoe"), made(judge))
        return jax.eval_shape(lambda key: model.root(params, key, model.start(key, 3)), jax.random.key(0))

    with pytest.raises(UsageError, match=r"Lumping gave logits of shape .* and values of shape .* for 3 positions"):
        root(Lumping())
    assert root(Pair()).value.shape == (3,)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("platform", "net"), [("cpu", TinyNet(9)), ("gpu", TinyNet(9)), ("cpu", ResNet(16, 1).module(make("tictactoe")))]
)
@pytest.mark.usefixtures("exact_products")
def test_a_network_judges_some_as_it_judges_all(platform, net, monkeypatch):
    """In chunks of those that are wanted: none, one chunk, a part of the next, all. Convolutions as on one core."""
    for size in ("LEAST_ELSE", "NEAR"):
        monkeypatch.setattr(f"jaxgo.evaluators.network.{size}", 700)  # as small as other chunks on a processor
    monkeypatch.setattr("jaxgo.evaluators.network.has_one_core", lambda: True)
    game, lanes = make("tictactoe"), 200
    network = Network(net).on(platform)
    params = network.init(game, jax.random.key(0))
    begun = jax.jit(lambda key: Model(game, network).start(key, lanes))(jax.random.key(1))
    moved, _ = jax.jit(Model(game, network).play)(begun, np.arange(lanes, dtype=np.int32) % 9)
    logits, value = judge(game, network)(params, jax.random.key(2), moved.state)
    some = jax.jit(lambda wanted: network.evaluate_wanted(game, params, jax.random.key(2), moved.state, wanted))
    order = np.random.default_rng(0).permutation(lanes)
    for count in (0, 78, 79, 156, 157, lanes):  # 78 positions of so small a board are a chunk
        wanted = order < count
        judged = some(jnp.asarray(wanted))
        np.testing.assert_allclose(np.asarray(judged.logits)[wanted], np.asarray(logits)[wanted], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(np.asarray(judged.value)[wanted], np.asarray(value)[wanted], rtol=1e-5, atol=1e-6)
        assert np.isfinite(np.asarray(judged.logits)).all()


def test_a_symmetric_judgement_is_the_mean_of_all_images():
    """Turned by scattering, one image at a time; and what is symmetric is judged so, whatever the weights."""
    game = make("kono")
    network = Network(TinyNet(game.num_actions), symmetric=True)
    params = network.init(game, jax.random.key(0))
    model = Model(game, network)
    begun = jax.jit(lambda key: model.start(key, 3))(jax.random.key(1))
    legal = np.asarray(jax.jit(model.legal)(begun))
    moved, _ = jax.jit(model.play)(begun, np.flatnonzero(legal[0])[:3].astype(np.int32))
    observe = jax.jit(jax.vmap(game.observe))
    plain = jax.jit(TinyNet(game.num_actions).apply)
    tables = game.symmetries()
    for position in (begun, moved):
        logits, value = judge(game, network)(params, jax.random.key(2), position.state)
        planes = np.asarray(observe(position.state), np.float32)
        sums, values = np.zeros((3, game.num_actions)), np.zeros(3)
        for cells, actions in zip(tables.cells, tables.actions, strict=True):
            image = planes.reshape(3, -1, planes.shape[-1])[:, cells].reshape(planes.shape)
            said, worth = plain(params, image)
            sums[:, actions] += np.asarray(said)
            values += np.asarray(worth)
        np.testing.assert_allclose(np.asarray(logits), sums / len(tables.cells), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(np.asarray(value), values / len(tables.cells), rtol=1e-4, atol=1e-5)
    logits = np.asarray(judge(game, network)(params, jax.random.key(2), begun.state).logits)[0]
    here = np.asarray(observe(begun.state))[0].reshape(game.shape[0] * game.shape[1], -1)
    kept = [g for g, cells in enumerate(tables.cells) if (here[cells] == here).all()]
    assert len(kept) > 1
    for g in kept:
        np.testing.assert_allclose(logits[tables.actions[g]], logits, rtol=1e-4, atol=1e-5)


def test_settings_that_make_no_sense_are_refused():
    for wrong in ({"count": 0}, {"depth": 0}):
        with pytest.raises(UsageError, match="at least 1"):
            Rollout(**wrong)
    with pytest.raises(UsageError, match="share from 0 to 1"):
        Mix(Uniform(), Uniform(), 1.5)
    for spec in ("zerosum", "greedy,greater=yes", "uct:4,evaluator=heuristic,greater=yes"):
        with pytest.raises(UsageError, match=r"greater=yes.* is about a game's weights, and Mnk has none"):
            load_player(spec, make("tictactoe"))


@pytest.mark.parametrize("name", sorted(EVALUATORS.keys() - {"solved"}))  # which needs a file: tests/solvers
def test_every_registered_evaluator_judges_a_batch(name):
    game = make("dodgem3" if name == "race" else "connect4")  # which knows distances
    logits, value = judge(game, EVALUATORS[name])(
        EVALUATORS[name].init(game, jax.random.key(0)), jax.random.key(1), starts(game, 8)
    )
    assert logits.shape == (8, game.num_actions)
    assert value.shape == (8,)
    assert logits.dtype == value.dtype == jnp.float32
    assert np.isfinite(np.asarray(logits)).all()
    assert (np.abs(np.asarray(value)) <= 1).all()
