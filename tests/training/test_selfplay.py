"""Self-play: live roots, games that restart in place, random openings, fast searches, resignation and its audit."""

import dataclasses
import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from judges import Hashed, Road
from support import untyped

from jaxgo.core.errors import UsageError
from jaxgo.evaluators.base import Evaluation, Evaluator
from jaxgo.search import Greedy, Gumbel, Model, Puct, Search, Uct
from jaxgo.search.base import SearchResult
from jaxgo.selfplay import Selfplay, SelfplayConfig, expected_value, sharpen
from jaxgo.training.config import LearnerConfig

GAMES, STEPS = 32, 24
KEY = jax.random.key(5)
SEARCH = Gumbel(simulations=4, max_considered=2, solver=False)


@dataclasses.dataclass(frozen=True)
class Gloom(Hashed):
    """Seat 0 thinks that it has lost, and seat 1 agrees; the facts are otherwise."""

    def __call__(self, game: Any, params: Any, key: Any, states: Any) -> Evaluation:
        logits, _ = super().__call__(game, params, key, states)
        return Evaluation(logits, jnp.where(states.to_play == 0, -0.97, 0.97))


def collected(judge: Evaluator, search: Search = SEARCH, **changes: Any) -> Any:
    """The plies of two iterations, one after the other, and the sums of both."""
    config = SelfplayConfig(**{"games": GAMES, "steps": STEPS, **changes})
    player = Selfplay(search, Model(Road(), judge), config)
    begin = jax.jit(player.begin, static_argnums=1)
    collect = jax.jit(lambda state, key: player.collect((), state, key))
    state, one, first = collect(begin(jax.random.key(5), GAMES), jax.random.key(6))
    _, two, second = collect(state, jax.random.key(7))
    join = jax.tree.map(lambda a, b: np.concatenate([a, b]), one, two)
    tally = jax.tree.map(lambda a, b: float(a + b), first, second)
    return join, tally._asdict()


@dataclasses.dataclass(frozen=True)
class Dumb(Hashed):
    """Has no number for a first move."""

    def __call__(self, game: Any, params: Any, key: Any, states: Any) -> Evaluation:
        logits, value = super().__call__(game, params, key, states)
        return Evaluation(logits, jnp.where(states.ply == 1, jnp.nan, value))


@pytest.fixture(scope="module")
def gloomy():
    return collected(
        Gloom(), resign=0.9, play_on=0.5, opening=0.5, opening_plies=3, fast_simulations=2, full_share=0.25
    )


def test_no_dead_root_is_searched_and_games_restart_in_place(gloomy):
    plies, tally = gloomy
    over = jax.vmap(jax.vmap(Road().over))(plies.state)
    assert not over.any()
    ply, end = plies.state.ply, plies.discount == 0
    assert (ply[0] == 0).all()
    np.testing.assert_array_equal(ply[1:], np.where(end[:-1], 0, ply[:-1] + 1))
    assert tally["games"] == end.sum() > 100
    assert tally["length"] == (ply + plies.ruled)[end].sum()  # a move that gives up is not played
    assert tally["plies"] == ply.size


def test_rewards_and_discounts_are_those_of_the_rules(gloomy):
    plies, _ = gloomy
    after, end = plies.state.to_play[1:], plies.discount[:-1] == 0
    sign = np.where(after == plies.state.to_play[:-1], 1.0, -1.0)
    np.testing.assert_array_equal(plies.discount[:-1][~end], sign[~end])
    assert (plies.discount == 1).any(), "no double moves"
    given_up = (plies.discount == 0) & ~plies.ruled
    assert (plies.reward[given_up] == -1).all()


def test_random_openings_come_first_and_in_their_share(gloomy):
    plies, _ = gloomy
    random_move, ply = plies.random_move, plies.state.ply
    assert not random_move[ply >= 3].any()
    assert (random_move[:-1][ply[1:] > 0] >= random_move[1:][ply[1:] > 0]).all(), "random moves must come first"
    assert 0.3 < random_move[ply == 0].mean() < 0.7


@dataclasses.dataclass(frozen=True)
class Slow(Hashed):
    """A judge that is worth remembering."""

    def worth_caching(self, params: Any) -> bool:
        return True


KEPT = {
    Puct(4, noise=0.25): True,
    Puct(4, noise=0.25, noise_everywhere=True): False,
    Puct(4, shared_proofs=True): False,
    Uct(4): True,
    Uct(4, delay=2): False,
}


@pytest.mark.parametrize("search", KEPT, ids=["noise", "noise everywhere", "shared proofs", "uct", "delay"])
def test_only_what_the_judge_said_is_recalled_as_such(search):
    """A tree with noise in every prior, with proofs where its judgements were, or with nodes that nobody judged."""
    model, key = Model(Road(), Slow(), platform="cpu"), jax.random.key(0)
    player = Selfplay(search, model, SelfplayConfig(games=2, steps=2))
    root = jax.eval_shape(lambda: player.begin(key, 2).position)
    assert (jax.eval_shape(lambda root: player._nothing((), root), root) is not None) == KEPT[search]


def test_one_budget_for_all_games_of_a_ply(gloomy):
    plies, tally = gloomy
    assert (plies.full == plies.full[:, :1]).all()
    assert 0.1 < plies.full.mean() < 0.45
    assert tally["simulations"] == np.where(plies.full, 4, 2).sum()


@pytest.mark.slow
def test_simulations_are_those_that_were_made():
    """All that a search may make were counted, although a solved root, or a tree that is full, ends it before."""
    _, full = collected(Hashed(), Uct(simulations=8, nodes=4, solver=False), games=8, opening=0.0)
    assert full["simulations"] == 3 * full["plies"]
    _, solved = collected(Hashed(), Gumbel(simulations=16, max_considered=2), games=8, opening=0.0)
    assert 0 < solved["simulations"] < 16 * solved["plies"]


def test_games_are_given_up_and_false_resignations_counted(gloomy):
    plies, tally = gloomy
    audited = false = resigned = 0
    for game in range(GAMES):
        loser = -1
        for step in range(2 * STEPS):
            mover = plies.state.to_play[step, game]
            if plies.value[step, game] <= -0.9 and not plies.random_move[step, game] and loser < 0:
                loser = mover
            if plies.discount[step, game] == 0:
                if plies.ruled[step, game]:
                    audited += loser >= 0
                    result = plies.reward[step, game] * (1 if mover == loser else -1)
                    false += bool(loser >= 0 and result >= 0)
                else:
                    resigned += 1
                loser = -1
    assert (tally["resigned"], tally["audited"], tally["false_resigns"]) == (resigned, audited, false)
    assert resigned > 20
    assert 0 < false < audited


def test_a_judge_without_finite_numbers_is_reported():
    plies, tally = collected(Dumb(), Greedy(), opening=0.0, steps=2)
    assert tally["broken"] == (plies.state.ply == 1).sum() > 0


def test_the_policy_to_learn_leaves_out_what_is_proven_lost():
    policy = jnp.array([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.5, 0.5, 0.0], [0.6, 0.3, 0.1]])
    proven = jnp.array([[True, False, False], [False, True, False], [True, True, False], [True, True, True]])
    q = jnp.array([[-1.0, 0.1, 0.2], [0.0, 1.0, 0.0], [-1.0, -1.0, 0.0], [0.0, 0.0, -1.0]])
    value = jnp.array([0.1, 1.0, -1.0, 0.0])
    solved = jnp.array([False, True, True, True])
    blank = jnp.zeros(4, jnp.int32)
    result = SearchResult(blank, policy, value, jnp.zeros((4, 3), jnp.int32), q, proven, solved, jnp.ones(4, bool))
    expected = [[0.0, 0.6, 0.4], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0], [2 / 3, 1 / 3, 0.0]]
    np.testing.assert_allclose(sharpen(result), expected, rtol=1e-6)
    rounded = result._replace(q=q.at[3, 1].set(0.7), value=value.at[3].set(0.7 + 1e-7))
    np.testing.assert_allclose(sharpen(rounded)[3], [0.0, 1.0, 0.0], rtol=1e-6, err_msg="one value, rounded twice")
    blind = result._replace(policy=policy.at[1].set(jnp.array([0.6, 0.0, 0.4])))
    np.testing.assert_allclose(sharpen(blind)[1], [0.0, 1.0, 0.0], err_msg="a win that the policy has nothing for")


def test_a_position_is_worth_what_its_policy_is_and_not_what_was_ruled_out():
    policy = jnp.array([[0.8, 0.1, 0.1], [0.6, 0.2, 0.2], [0.2, 0.4, 0.4], [0.5, 0.5, 0.0]])
    visits = jnp.array([[2, 3, 3], [4, 4, 0], [0, 0, 0], [3, 3, 0]])
    q = jnp.array([[0.5, -1.0, -1.0], [0.5, -1.0, jnp.nan], [0.0, 0.0, 0.0], [1.0, -1.0, 0.0]])
    value = jnp.array([-0.6, -0.25, 0.3, 1.0])
    solved = jnp.array([False, False, False, True])
    known = jnp.zeros((4, 3), bool)
    result = SearchResult(jnp.zeros(4, jnp.int32), policy, value, visits, q, known, solved, jnp.ones(4, bool))
    np.testing.assert_allclose(expected_value(result, policy), [0.2, 0.125, 0.3, 1.0], rtol=1e-6)


def test_the_temperature_falls_by_halves_to_what_was_asked_for():
    ply = jnp.asarray([0, 10, 20, 59, 60, 1000], jnp.int16)
    found = SelfplayConfig(temperature=1.2, final_temperature=0.2, half_life=10.0).temperature_at(ply)
    np.testing.assert_allclose(found, [1.2, 0.7, 0.45, 0.2 + 0.5**5.9, 0.2, 0.2], rtol=1e-6)
    found = SelfplayConfig(temperature=1.0, final_temperature=0.0, half_life=10.0).temperature_at(ply)
    assert found[4:].tolist() == [0.0, 0.0], "exactly, or equal moves would be drawn"


@pytest.mark.slow
def test_what_is_proven_is_learnt_also_where_the_rules_look_back(monkeypatch):
    """Moves that end the game are facts whatever came before, and no guesses of a tree."""
    monkeypatch.setattr(Road, "repetition", "draw")
    plies, tally = collected(Hashed(), Gumbel(simulations=6), opening=0.0)
    cell = plies.state.cell
    assert (cell == 6).any()
    assert not plies.policy[cell == 6][:, 1].any(), "a step of two cells loses at once"
    dead = cell == 11
    assert dead.any()
    assert plies.solved[dead].all(), "every step loses at once"
    assert tally["solved"] == plies.solved.sum()
    assert not plies.solved[cell == 0].any(), "what a tree proves further on is none"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"games": 0}, "at least 1"),
        ({"full_share": 1.5}, "selfplay.full_share is a share"),
        ({"half_life": 0.0}, "above 0"),
        ({"half_life": 1e-300}, r"selfplay.half_life=1e-300 is 0 or infinite in float32; it has 1e-37 to 1e\+38"),
        ({"temperature": 1e300}, r"selfplay.temperature=1e\+300 is 0 or infinite in float32"),
        ({"fast_simulations": 2, "full_share": 0.0}, "full_share=0 with fast searches teaches no policy"),
    ],
)
def test_impossible_settings_are_refused(change, said):
    with pytest.raises(UsageError, match=said):
        SelfplayConfig(**change)


@pytest.mark.slow
def test_surprise_is_measured_from_the_prior_without_noise():
    plies, _ = collected(Hashed(), Puct(simulations=3, noise=0.9, alpha=0.1, solver=False), games=8, opening=0.0)
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), plies.state)
    judged = Hashed()(Road(), (), jax.random.key(0), flat).logits
    logits = np.where(jax.vmap(Road().legal)(flat), judged, -np.inf)
    prior = np.exp(logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True))
    policy = plies.policy.astype(np.float32).reshape(prior.shape)
    terms = np.where(policy > 0, policy * np.log(np.maximum(policy, 1e-9) / np.maximum(prior, 1e-9)), 0.0)
    np.testing.assert_allclose(plies.surprise.reshape(-1), terms.sum(axis=-1), atol=0.01)


@dataclasses.dataclass(frozen=True)
class Whole(Gumbel):
    """Runs whole searches only."""

    @property
    def resumable(self) -> bool:
        return False

    def extend(self, model: Any, params: Any, key: Any, state: Any, budget: Any) -> Any:
        assert budget == self.simulations
        return super().extend(model, params, key, state, budget)


@pytest.mark.slow
def test_searches_that_cannot_be_resumed_play_and_are_no_fast_ones():
    config = SelfplayConfig(games=4, steps=3)
    player = Selfplay(Whole(simulations=3), Model(Road(), Hashed()), config)
    state = jax.eval_shape(lambda key: player.begin(key, 4), jax.random.key(0))
    _, plies, _ = jax.eval_shape(lambda state, key: player.collect((), state, key), state, jax.random.key(1))
    assert plies.full.shape == (3, 4), "the search was given its whole budget, as a plain number"
    with pytest.raises(UsageError, match=r"whole runs whole searches only; set selfplay\.fast_simulations to 0"):
        Selfplay(Whole(simulations=3), Model(Road(), Hashed()), SelfplayConfig(fast_simulations=2))


def test_parts_in_another_order_are_refused():
    model, config = Model(Road(), Hashed()), SelfplayConfig(games=2)
    for search, other, wrong in (
        (model, SEARCH, "no search"),
        ("gumbel", model, "no search"),
        (SEARCH, Road(), "no Mod"),
    ):
        with pytest.raises(UsageError, match=f"is {wrong}"):
            untyped(Selfplay, search=search, model=other, config=config)
    with pytest.raises(UsageError, match="None is no SelfplayConfig"):
        untyped(Selfplay, search=SEARCH, model=model, config=None)
    player = Selfplay(SEARCH, model, config)
    with pytest.raises(UsageError, match="games=-3 of self-play cannot begin; ask for a whole number"):
        player.begin(jax.random.key(0), -3)
    with pytest.raises(UsageError, match="0 is no key of randomness"):
        inspect.unwrap(Selfplay.begin)(player, 0, 2)
    collect, key, params = inspect.unwrap(Selfplay.collect), jax.random.key(0), {"kernel": jnp.zeros((200, 200))}
    state = player.begin(key, 2)
    for given, said in (
        ((state, params, key), "a dict is no state of self-play, as begin gives it"),
        ((params, key, state), "a SelfplayState is no key of randomness; write"),
        ((key, state, params), "a dict is no key of randomness; write"),
    ):
        with pytest.raises(UsageError, match=f"^{said}"):
            collect(player, *given)


def test_numbers_that_no_count_can_hold_are_refused():
    with pytest.raises(UsageError, match=r"selfplay\.opening_plies=40000 is too large; at most 32,767"):
        SelfplayConfig(opening_plies=40_000)
    with pytest.raises(UsageError, match=r"learner\.warmup=10000000000 is too large"):
        LearnerConfig(warmup=10**10)


def test_a_fast_search_is_never_the_larger_one():
    player = Selfplay(Gumbel(simulations=3), Model(Road(), Hashed()), SelfplayConfig(fast_simulations=9))
    assert [int(player._simulations(jnp.bool_(full))) for full in (True, False)] == [3, 3]


def test_self_play_takes_one_key_and_targets_of_its_game():
    player, each = Selfplay(SEARCH, Model(Road(), Hashed()), SelfplayConfig(games=4)), jax.random.split(KEY, 4)
    state = player.begin(KEY, 4)
    for use in (lambda: player.begin(each, 4), lambda: player.collect((), state, each)):
        with pytest.raises(UsageError, match="the key is one key for all games"):
            use()
    with pytest.raises(UsageError, match="unknown target of the game 'ownership'; choose one of: none"):
        Selfplay(SEARCH, Model(Road(), Hashed()), SelfplayConfig(), ("ownership",))
