"""What holds for every search: its state, its room, its quiet self, and what it may call proven."""

import dataclasses
import functools
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from judges import Hashed, positions, searched, verbs
from support import mostly_slow, untyped

from jaxgo.core.errors import UsageError
from jaxgo.core.play import play, resume, start
from jaxgo.evaluators import EVALUATORS, Evaluation, Evaluator
from jaxgo.games import make
from jaxgo.games.mnk import Mnk
from jaxgo.search import PRESETS, SEARCHES, AlphaBeta, Flat, Greedy, Gumbel, Model, Puct, SearchState, Uct, forcing
from jaxgo.search.base import per_game
from jaxgo.search.edges import root_edges
from jaxgo.search.model import ILLEGAL, check_moves
from jaxgo.search.think import Thinker
from jaxgo.search.tree import plant

KEY = jax.random.key(0)
ROOT = Path(__file__).parents[2]
FOUR = Model(make("connect4"), Hashed())
LANES = 8


@functools.cache
def legal_and_forced() -> tuple[np.ndarray, np.ndarray]:
    """The legal moves of the positions that every search reads, and those that take a win or stop one."""

    @jax.jit
    def moves(root: Any) -> tuple[Any, Any]:
        legal = FOUR.legal(root)
        return legal, forcing.narrowed(FOUR.game, root.state, legal)

    return jax.device_get(moves(positions(FOUR.game, LANES, 20)))


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_slow(SEARCHES, ("random", "greedy", "flat", "puct", "gumbel")))
def test_the_state_of_every_search_can_be_read(name: str):
    search, root = SEARCHES[name], positions(FOUR.game, LANES, 20)
    if name == "bfs":
        with pytest.raises(UsageError, match="solution of a puzzle"):
            search.begin(FOUR, (), KEY, root)
        return
    state = jax.jit(lambda root: search.begin(FOUR, (), KEY, root))(root)
    assert isinstance(state, SearchState)
    assert search.default_evaluator in EVALUATORS
    assert state.done.tolist() == [0] * LANES
    assert int(state.calls) == 0
    jax.tree.map(np.testing.assert_array_equal, state.root, root)
    legal, forced = legal_and_forced()
    assert 0 < forced.sum() < legal.sum()
    counted = forced if name in ("greedy", "threats") else legal  # these take a win and stop one
    np.testing.assert_array_equal(np.asarray(state.prior) > ILLEGAL, counted)


def test_threats_are_asked_of_games_that_name_them():
    model = Model(Mnk(), Hashed())
    with pytest.raises(UsageError, match="Mnk knows no threats"):
        jax.eval_shape(lambda: SEARCHES["threats"].begin(model, (), KEY, model.start(KEY, 1)))


def test_quiet_searches_do_not_explore():
    noisy = Puct(noise=0.25, forced=2.0, fpu="parent", parallel_leaves=4)
    assert noisy.quiet() == Puct(fpu="parent", parallel_leaves=4)
    assert Gumbel(max_considered=5, min_value_range=1.0).quiet() == Gumbel(
        max_considered=5, min_value_range=1.0, gumbel_scale=0.0
    )
    known = [*SEARCHES.values(), *(preset.search for preset in PRESETS.values())]
    assert all(search.quiet().quiet() == search.quiet() for search in known)


# -- room ------------------------------------------------------------------------------------------------------


@pytest.mark.slow  # compiles for seconds
@pytest.mark.parametrize(
    "search",
    [Uct(simulations=12), Gumbel(simulations=12, max_considered=4), Puct(simulations=12, parallel_leaves=2)],
)
def test_a_larger_budget_finds_room_or_is_refused(search: Any):
    root = positions(FOUR.game, 2, 0)

    @jax.jit
    def go(root: Any) -> Any:
        state = search.extend(FOUR, (), KEY, search.begin(FOUR, (), KEY, root, 20), 20)
        result = search.result(KEY, state)
        after = search.follow(FOUR, (), KEY, state, result.action, FOUR.play(root, result.action)[0], 20)
        return result, after.tree.visits[:, 0], search.extend(FOUR, (), KEY, after, 20).done

    result, kept, done = go(root)
    assert result.visits.sum(axis=-1).tolist() == [20, 20]
    assert kept.max() > 1
    assert done.tolist() == [20, 20]
    with pytest.raises(UsageError, match="20 simulations do not fit into a tree that was begun for 12"):
        jax.eval_shape(lambda root: search.extend(FOUR, (), KEY, search.begin(FOUR, (), KEY, root), 20), root)
    shapes = jax.eval_shape(lambda root: dataclasses.replace(search, nodes=4).begin(FOUR, (), KEY, root, 20), root)
    assert shapes.tree.visits.shape == (2, 4)


def test_a_number_of_numpy_is_a_plain_number():
    """Budgets that come out of `np.arange` or `np.logspace` are not cut to the room of a smaller tree."""
    search, root, most = Uct(simulations=12), positions(FOUR.game, 2, 0), np.int64(20)
    begun = jax.eval_shape(lambda root: search.begin(FOUR, (), KEY, root, most), root)
    assert begun.tree.visits.shape == (2, 21)
    grown = jax.eval_shape(lambda s, a: search.follow(FOUR, (), KEY, s, a, s.root, most), begun, begun.done)
    assert grown.tree.visits.shape == (2, 41)
    with pytest.raises(UsageError, match="20 simulations do not fit into a tree that was begun for 12"):
        jax.eval_shape(lambda root: search.extend(FOUR, (), KEY, search.begin(FOUR, (), KEY, root), most), root)


@pytest.mark.parametrize("value", [20.0, -1, np.float32(8), np.array([1.0, 2.0]), np.array([-1, 2]), True, "4", None])
def test_simulations_are_whole_numbers(value: Any):
    """A search by 20.0 of them was cut to the room of its own budget."""
    with pytest.raises(UsageError, match="simulations are whole numbers of at least 0"):
        per_game(value, 2, jnp.int32)


@pytest.mark.parametrize("search", [Uct(simulations=8), Gumbel(simulations=8), AlphaBeta(depth=2)])
def test_more_simulations_than_can_be_counted_are_refused(search: Any):
    """Before there is room for them."""
    root = positions(FOUR.game, 1, 0)
    for many in (2**24 + 1, 3 * 10**9, np.int64(10**12)):
        with pytest.raises(UsageError, match="simulations are too many; ask for at most 16,777,216"):
            jax.eval_shape(lambda root, many=many: search.run(FOUR, (), KEY, root, many), root)
        if search.nodes >= 0:  # it keeps a tree, which grows for what is planned
            begun = jax.eval_shape(lambda root: search.begin(FOUR, (), KEY, root), root)
            with pytest.raises(UsageError, match="simulations are too many; ask for at most 16,777,216"):
                jax.eval_shape(lambda s, a, n=many: search.follow(FOUR, (), KEY, s, a, s.root, n), begun, begun.done)
    with pytest.raises(UsageError, match="simulations are too many"):
        per_game(np.array([2**32 + 5, 7]), 2, jnp.int32)


@pytest.mark.parametrize("value", [-1.0, float("nan"), np.float64(-0.5), np.array([1.0, np.nan]), "1", 1j])
def test_a_temperature_is_not_below_0(value: Any):
    with pytest.raises(UsageError, match="a temperature is a number of at least 0"):
        per_game(value, 2, jnp.float32)


@pytest.mark.parametrize("search", [Gumbel(simulations=4), AlphaBeta(depth=2), Greedy()])
def test_what_a_search_is_asked_for_is_looked_at_before_it_begins(search: Any, monkeypatch):
    """A temperature was refused after the whole search, a budget after the roots were judged."""
    monkeypatch.setattr(Model, "root", None)
    root = positions(FOUR.game, 2, 0)
    for budget, heat in ((4, -1.0), (4, jnp.ones(3)), (-1, 0.0), (jnp.ones(3, jnp.int32), 0.0)):
        with pytest.raises(UsageError, match=r"a temperature|simulations"):
            search.run(FOUR, (), KEY, root, budget, heat)


def test_a_key_for_each_game_begins_it():
    each = jax.random.split(KEY, 3)
    one, all_ = (jax.tree.map(np.asarray, jax.jit(FOUR.start, static_argnums=1)(key, 3)) for key in (KEY, each))
    jax.tree.map(np.testing.assert_array_equal, one, all_)
    with pytest.raises(UsageError, match="3 keys are given for 2 games"):
        FOUR.start(each, 2)


@pytest.mark.parametrize("search", [Gumbel(simulations=4), AlphaBeta(depth=2), Greedy()])
def test_keys_are_one_for_each_game(search: Any):
    """Two keys for four games were taken for two games each, and ended in an error of JAX's."""
    with pytest.raises(UsageError, match="2 keys are given for 4 games"):
        search.run(FOUR, (), jax.random.split(KEY, 2), positions(FOUR.game, 4, 0))


def test_states_of_the_model_become_positions():
    root = positions(FOUR.game, 2, 0)
    jax.tree.map(np.testing.assert_array_equal, FOUR.positions(root.state).state, root.state)
    one = jax.tree.map(lambda x: x[0], root.state)
    place = inspect.unwrap(Model.positions)
    for wrong, said in ((one, "one alone as x"), ((), "takes a batch"), (root, "positions already")):
        with pytest.raises(UsageError, match=said):
            place(FOUR, wrong)
    with pytest.raises(UsageError, match="a position for ConnectFour is made of"):
        place(FOUR, positions(make("tictactoe"), 2, 0).state)


@pytest.mark.parametrize("wrong", ["hot", None, -1.0, float("nan"), np.ones(3)])
@pytest.mark.parametrize("name", ["temperature", "chunk_seconds", "most_bytes"])
def test_numbers_of_a_thinker_are_numbers(name: str, wrong: Any):
    with pytest.raises(UsageError, match=f"{name} of a thinker is a number of at least 0"):
        inspect.unwrap(Thinker.__init__)(object.__new__(Thinker), Greedy(), FOUR, (), KEY, **{name: wrong})


def test_a_thinker_and_fresh_parameters_take_one_key():
    """JAX refused keys of games in the middle of the first thought."""
    each = jax.random.split(KEY, 2)
    for use in (lambda: Thinker(Greedy(), FOUR, (), each), lambda: FOUR.init(each)):
        with pytest.raises(UsageError, match="is one key for all games"):
            use()


def test_what_is_no_model_or_position_is_named():
    root, search = positions(FOUR.game, 2, 0), Puct(simulations=4)
    with pytest.raises(UsageError, match="is no Model"):
        inspect.unwrap(Puct.run)(search, FOUR.game, (), KEY, root)
    params = {"kernel": jnp.zeros((200, 200))}
    with pytest.raises(UsageError, match=r"^a dict is no Model$"):
        inspect.unwrap(Puct.run)(search, params, FOUR, KEY, root)
    with pytest.raises(UsageError, match="is no search, such as Gumbel"):
        inspect.unwrap(Thinker.__init__)(object.__new__(Thinker), FOUR, search, (), KEY)
    for ask in (Model.legal, Model.over):
        with pytest.raises(UsageError, match=r"positions are asked for, .* and ConnectFourState is none"):
            inspect.unwrap(ask)(FOUR, root.state)
    with pytest.raises(UsageError, match="and ConnectFourState is none"):
        inspect.unwrap(Thinker.begin)(Thinker(search, FOUR, (), KEY), root.state)
    with pytest.raises(UsageError, match=r"whole numbers of shape .* not None"):
        inspect.unwrap(Model.play)(FOUR, root, None)
    for wrong, said in (
        ({"best": float("nan")}, "best=nan"),
        ({"narrowing": 3}, "narrowing=3 is no Narrowing"),
        ({"platform": "banana"}, "unknown platform 'banana'; choose one of: cpu, gpu, tpu"),
    ):
        with pytest.raises(UsageError, match=said):
            untyped(
                Model,
                **{"game": FOUR.game, "evaluator": FOUR.evaluator, "narrowing": FOUR.narrowing, "platform": "cpu"}
                | wrong,
            )


@pytest.mark.parametrize(
    "moves", [np.int32(0), np.zeros(1, np.int32), np.zeros((2, 1), np.int32), [0, 1, 2], np.zeros(2)]
)
def test_every_game_has_its_own_move_to_follow(moves: Any):
    """One move alone was taken for that of all games."""
    search, root = Puct(simulations=4), positions(FOUR.game, 2, 0)
    thinker = Thinker(search, FOUR, (), KEY)
    with pytest.raises(UsageError, match=r"a move for each game is asked for, whole numbers of shape \(2,\)"):
        thinker.follow(np.asarray(moves), root)
    with pytest.raises(UsageError, match="a move for each game"):
        check_moves(moves, root)


@pytest.mark.parametrize(("value", "dtype"), [([1, 2, 3], jnp.int32), (np.zeros((2, 1)), jnp.float32)])
def test_a_number_is_one_for_all_games_or_for_each(value: Any, dtype: Any):
    with pytest.raises(UsageError, match="for all games or for each of 2 are asked for, not of shape"):
        per_game(value, 2, dtype)


@pytest.mark.parametrize("games", [-1, 0, True])
def test_at_least_one_game_begins(games: Any):
    with pytest.raises(UsageError, match="a whole number of them, of at least 1"):
        FOUR.start(KEY, games)


@pytest.mark.parametrize("wrong", [0, slice(0, 0)])
def test_a_search_takes_a_batch_of_positions(wrong: Any):
    shapes = jax.eval_shape(lambda: FOUR.start(KEY, 2))
    root = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype)[wrong], shapes)
    for name, search in SEARCHES.items():
        model = Model(make("slide8"), Hashed()) if name == "bfs" else FOUR
        with pytest.raises(UsageError, match="takes a batch of positions"):
            search.begin(model, (), KEY, root)


def test_moves_outside_of_a_program_are_traced_once():
    """Loops of their rules were compiled at every call."""
    traced = []

    @dataclasses.dataclass(frozen=True)
    class Told(Mnk):
        def step(self, state: Any, action: Any) -> Any:
            traced.append("step")
            return super().step(state, action)

        def over(self, state: Any) -> Any:
            traced.append("over")
            return super().over(state)

    model = Model(Told(3, 3, 3), Hashed())
    before, root, counts = [], model.start(KEY, 2), []
    for cell in range(3):
        before.append(int(model.legal(root).sum()))
        root, _ = model.play(root, jnp.array([cell, cell]))
        assert not model.over(root).any()
        counts.append(len(traced))
    assert before == [18, 16, 14]
    assert counts[0] == counts[1] == counts[2] > 0


def test_games_that_are_spread_over_an_explicit_axis_are_refused():
    """`jax.make_mesh` makes such axes unasked, and JAX spoke of a scatter inside of the search."""
    mesh, each = jax.make_mesh((1,), ("data",)), jax.P("data")
    root = jax.device_put(FOUR.start(KEY, 2), jax.NamedSharding(mesh, each))

    def move(root: Any) -> Any:
        return Gumbel(8).run(FOUR, (), KEY, root).action

    with pytest.raises(UsageError, match="positions are spread over devices by a mesh of explicit axes"):
        jax.eval_shape(move, root)
    inside = jax.shard_map(move, mesh=mesh, in_specs=each, out_specs=each, check_vma=False)
    assert jax.eval_shape(inside, root).shape == (2,)


@dataclasses.dataclass(frozen=True)
class Odd(Mnk):
    """Tells of one position in other shapes than a game does."""

    wrong: str = "legal"

    def legal(self, state: Any) -> Any:
        return super().legal(state)[:1] if self.wrong == "legal" else super().legal(state)

    def returns(self, state: Any) -> Any:
        return super().returns(state)[:1] if self.wrong == "returns" else super().returns(state)

    def over(self, state: Any) -> Any:
        return super().over(state)[None] if self.wrong == "over" else super().over(state)

    def step(self, state: Any, action: Any) -> Any:
        moved = super().step(state, action)
        return moved._replace(stones=moved.stones + 0.5) if self.wrong == "step" else moved


def odd_root(wrong: str) -> Any:
    model = Model(Odd(wrong=wrong), EVALUATORS["uniform"])
    return jax.eval_shape(lambda: model.root((), KEY, model.start(KEY, 3)))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("legal", r"legal of Odd gives bool\[1\] for one position; bool\[9\] is needed"),
        ("returns", r"returns of Odd gives float32\[1\] for one position; float32\[2\] is needed"),
        ("over", r"over of Odd gives bool\[1\] for one position; bool\[\] is needed"),
        ("step", r"a step of Odd makes stones float32\[9\] of int8\[9\]"),
    ],
)
def test_a_game_of_other_shapes_is_refused(wrong: str, said: str):
    with pytest.raises(UsageError, match=said):
        odd_root(wrong)


@dataclasses.dataclass(frozen=True)
class Long(Mnk):
    """A game whose rules look back, of so many plies."""

    plies: int = 0
    max_plies = property(lambda self: self.plies)
    repetition = "draw"


def test_the_longest_game_that_looks_back_keeps_its_last_position():
    with pytest.raises(UsageError, match="a Long whose rules look back lasts 32766 plies at most, not 32767"):
        jax.eval_shape(functools.partial(start, Long(plies=32767)), KEY)
    game = Long(plies=32766)

    @jax.jit
    def last(key: Any) -> Any:
        begun = start(game, key)
        late = begun._replace(history=begun.history._replace(size=jnp.int16(32766)))
        after = play(game, late, jnp.int32(0))[0]
        return after.history, begun.history.keys[0], game.repetition_key(after.state)

    history, first, key = jax.device_get(last(KEY))
    assert history.size == len(history.keys) == 32767
    assert history.keys[[0, -1]].tolist() == [first.tolist(), key.tolist()]


@dataclasses.dataclass(frozen=True)
class Loud(Evaluator):
    """Says more than any game can give, as a net without a last tanh does."""

    def __call__(self, game: Any, params: Any, key: Any, states: Any) -> Evaluation:
        return Evaluation(jnp.zeros((states.ply.shape[0], game.num_actions)), jnp.full(states.ply.shape, 3.0))


def test_a_value_beyond_a_win_is_a_win_and_no_proof():
    model, root = Model(FOUR.game, Loud()), positions(FOUR.game, 2, 0)

    @jax.jit
    def look(root: Any) -> Any:
        tree = plant(model.root((), KEY, root), 2)
        below = tree._replace(  # its second node is the first move's, judged as the root was, and not proven
            used=tree.used + 1, parent=tree.parent.at[:, 1].set(0), action=tree.action.at[:, 1].set(0),
            child=tree.child.at[:, 0, 0].set(1), visits=tree.visits.at[:, 1].set(1),
            value=tree.value.at[:, 1].set(-tree.value[:, 0]),
        )  # fmt: skip
        return root_edges(below)

    edges = look(root)
    assert edges.value.tolist() == [1.0, 1.0]
    assert edges.q[:, 0].tolist() == [-1.0, -1.0]
    assert not edges.lost.any()


@pytest.mark.slow
def test_with_64_bits_all_numbers_stay_what_they_are():
    """Whoever enables them gets the same types, and no scatter that later JAX refuses."""
    words = [sys.executable, str(Path(__file__).with_name("sixty_four.py"))]
    ran = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert ran.stdout == "traced 8\n", ran.stdout + ran.stderr


# -- what is proven ----------------------------------------------------------------------------------------------


def ends_at_once(model: Model, root: Any) -> np.ndarray:
    """Which legal moves end the game, played one by one."""
    legal, play = np.asarray(model.legal(root)), jax.jit(lambda root, a: model.over(model.play(root, a)[0]))
    moves = [np.asarray(play(root, jnp.full(len(legal), a, jnp.int32))) for a in range(legal.shape[1])]
    return legal & np.stack(moves, axis=1)


@pytest.mark.slow  # compiles for seconds
def test_where_the_rules_look_back_only_what_ends_at_once_is_proven():
    """Dodgem 3x3: with draws by repetition a proof of the tree, which knows no history, is no fact."""
    model = Model(make("dodgem3", repetition="draw"), Hashed())
    root = positions(model.game, 64, 40)
    result, state = searched(Uct(simulations=150), model, root)
    ends, closed = ends_at_once(model, root), state.tree.proven[:, 0]
    assert ends.any()
    assert not (result.proven & ~ends).any()
    assert (result.proven == ends)[~closed].all()
    np.testing.assert_array_equal(result.solved, (ends & (result.q >= 1.0)).any(axis=-1) & closed)
    assert (closed & ~result.solved).any(), "the tree had nothing to be modest about"
    assert result.solved.any()


# -- gumbel after a move, flat among equals -----------------------------------------------------------------------


@pytest.mark.slow
def test_gumbel_after_a_move_counts_what_it_spent_itself():
    """Visits that a kept subtree brought along are knowledge, and no part of the new halving."""
    search, root = (
        Gumbel(simulations=48, max_considered=4, gumbel_scale=0.0, nodes=97, solver=False),
        positions(FOUR.game, 32, 6),
    )
    run = verbs(search, FOUR)
    blank = jax.tree.map(
        lambda x: np.zeros(x.shape, x.dtype), jax.eval_shape(lambda: search.begin(FOUR, (), KEY, root))
    )
    budget = jnp.full(32, 48, jnp.int32)
    state = run.extend(KEY, run.follow(KEY, blank, jnp.full(32, -1, jnp.int32), root), budget)
    action = run.result(KEY, state).action
    moved = jax.jit(lambda root, action: FOUR.play(root, action)[0])(root, action)
    kept = run.follow(KEY, state, action, moved)
    before = np.asarray(run.result(KEY, kept).visits)
    result = run.result(KEY, run.extend(KEY, kept, budget))
    spent, lanes = np.asarray(result.visits) - before, np.arange(32)
    assert (before.sum(axis=-1) > 0).any()
    np.testing.assert_array_equal(spent[lanes, result.action], spent.max(axis=-1))
    most = np.asarray(result.visits).max(axis=-1)
    assert (np.asarray(result.visits)[lanes, result.action] < most).any(), "the two counts never differ here"


def test_flat_claims_nothing_of_a_finished_game():
    """Beside a game that goes on, with a move that wins."""
    game = make("tictactoe")
    root = jax.tree.map(
        lambda *x: jnp.stack(x),
        *(
            resume(game, game.place(np.array(cells, np.int8), 1))
            for cells in ([1, 1, 1, 2, 2] + [0] * 4, [0] + [2] * 2 + [1] * 2 + [0] * 4)
        ),
    )
    model, flat = Model(game, EVALUATORS["uniform"]), Flat(simulations=4)
    found = jax.jit(lambda root: flat.result(KEY, flat.begin(model, (), KEY, root)))(root)
    assert found.solved.tolist() == [False, True]
    assert float(found.value[1]) == 1.0


def test_flat_tries_equals_in_an_order_of_chance():
    """Each move that was never tried has its own place in the order, however close their numbers."""
    model, flat = Model(Mnk(5, 5, 4), EVALUATORS["uniform"]), Flat(simulations=25)
    root = positions(model.game, 16, 0)
    state = jax.jit(lambda root: flat.begin(model, (), KEY, root))(root)
    pull = jax.jit(lambda state: flat.extend(model, (), KEY, state, 1))
    wanted = np.argsort(-np.asarray(state.belief + state.luck), axis=-1)
    for place in range(25):
        before, state = np.asarray(state.visits), pull(state)
        np.testing.assert_array_equal((np.asarray(state.visits) - before).argmax(axis=-1), wanted[:, place])
