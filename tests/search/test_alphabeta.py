"""Alpha-beta against plain minimax: the same values with and without each of its tricks, and fewer nodes."""

import dataclasses
import functools
import itertools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec
from judges import Hashed, Road, stacked
from plain import minimax, sharp_minimax
from reference.mnk import Mnk
from reference.solve import solve
from support import mostly_slow

from jaxgo.core import history as histories
from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.core.lanes import alone
from jaxgo.evaluators import Heuristic, Uniform
from jaxgo.games import make
from jaxgo.search import AlphaBeta, Model, table, turns
from jaxgo.system.devices import AXIS, make_mesh

LANES = 8
TICTACTOE = Model(make("tictactoe"), Hashed())
PLAIN = AlphaBeta(depth=4, deepening=False, pvs=False, ordering=False, table=0, threats=False)


class Found(NamedTuple):
    result: Any
    done: np.ndarray
    depth: np.ndarray


@functools.cache
def programs(search: AlphaBeta, model: Model) -> Any:
    start = jax.jit(lambda key, root: search.begin(model, (), key, root))
    extend = jax.jit(lambda key, state, budget: search.extend(model, (), key, state, budget))
    result = jax.jit(lambda key, state: search.result(key, state))
    return start, extend, result


def run(search: AlphaBeta, model: Model, root: Any, *budgets: int) -> Found:
    """A search in slices of these budgets; without any, to its end."""
    start, extend, result = programs(search, model)
    key = jax.random.key(0)
    state = start(key, root)
    for budget in budgets or (10**6,):
        state = extend(key, state, jnp.int32(budget))
    return Found(jax.device_get(result(key, state)), np.asarray(state.done), np.asarray(state.depth))


@functools.cache
def opened(model: Model, plies: int = 2, lanes: int = LANES) -> Any:
    """Positions after some random moves, all alive."""

    def walk(key: Any) -> Any:
        position = model.start(key, lanes)
        for ply in range(plies):
            legal = model.legal(position)
            action = jax.random.categorical(jax.random.fold_in(key, ply), jnp.where(legal, 0.0, -jnp.inf))
            position = model.play(position, action.astype(jnp.int32))[0]
        return position

    return jax.jit(walk)(jax.random.key(1))


TRICKS = {
    "none": {},
    "ordering": {"ordering": True},
    "pvs": {"pvs": True},
    "table": {"table": 10},
    "small table": {"table": 2, "ordering": True},
    "all": {"ordering": True, "pvs": True, "table": 10, "deepening": True},
    "all layers": {"ordering": True, "pvs": True, "table": 10, "deepening": True, "layers": "all"},
    "odd layers": {"ordering": True, "pvs": True, "table": 10, "deepening": True, "layers": "odd"},
}
ALL = dataclasses.replace(PLAIN, **TRICKS["all"])


@functools.cache
def truth() -> Any:
    return minimax(TICTACTOE, opened(TICTACTOE), 4)


def test_no_ply_is_further_beyond_the_horizon_than_the_table_can_tell():
    """At -129 its word was read as 126 plies before the horizon, with another move."""
    far = 100
    AlphaBeta(depth=far, quiescence=far)
    assert far <= table.DEPTHS
    with pytest.raises(UsageError, match="depth and quiescence up to 100"):
        AlphaBeta(quiescence=table.DEPTHS + 1)


def test_an_option_that_would_do_nothing_is_refused():
    with pytest.raises(UsageError, match="alphabeta does not stop doubles"):
        AlphaBeta(doubles=True)


def test_simulations_come_first_as_in_every_search():
    assert AlphaBeta(10) == AlphaBeta(simulations=10)


@pytest.mark.parametrize("tricks", mostly_slow(TRICKS, quick=("all",)))
def test_every_trick_leaves_the_value_as_it_is(tricks):
    value, moves, nodes = truth()
    result, done, depth = run(dataclasses.replace(PLAIN, **TRICKS[tricks]), TICTACTOE, opened(TICTACTOE))
    np.testing.assert_allclose(result.value, value, atol=1e-6)
    np.testing.assert_allclose(moves[np.arange(LANES), result.action], value, atol=1e-6)  # one of the best moves
    assert depth.tolist() == [4] * LANES
    assert done.sum() < nodes
    assert (result.visits.sum(axis=1) == done).all()


def test_a_cut_search_is_that_of_the_last_whole_depth_and_goes_on_as_if_never_cut():
    root = opened(TICTACTOE)
    whole = run(ALL, TICTACTOE, root)
    shallow, _, _ = minimax(TICTACTOE, root, 2)
    cut = run(ALL, TICTACTOE, root, 120)
    assert (cut.done == 120).all()
    assert cut.depth.tolist() == [2] * LANES
    np.testing.assert_allclose(cut.result.value, shallow, atol=1e-6)
    resumed = run(ALL, TICTACTOE, root, 120, 1, 10**6)
    jax.tree.map(np.testing.assert_array_equal, resumed, whole)
    first = run(ALL, TICTACTOE, root, 5)  # nothing is finished yet: a legal move all the same
    legal = np.asarray(TICTACTOE.legal(root))
    assert legal[np.arange(LANES), first.result.action].all()


@dataclasses.dataclass(frozen=True)
class Foreseeing(Hashed):
    """Says the same, of moves before they are made, too."""

    def judge_moves(self, game: Any, params: Any, states: Any, actions: Any) -> Any:
        def after(state: Any, action: Any) -> Any:
            moved = game.step(state, action)
            value = -super(Foreseeing, self).__call__(game, params, jax.random.key(0), alone(moved)).value[0]
            return jnp.where(game.over(moved), game.returns(moved)[state.to_play], value), game.over(moved)

        return jax.vmap(jax.vmap(after, in_axes=(None, 0)))(states, actions)


@pytest.mark.slow
@pytest.mark.parametrize("tricks", mostly_slow(TRICKS, quick=("all",)))
def test_a_last_ply_judged_at_once_is_that_of_one_move_after_the_other(tricks):
    """Node for node, and wherever it is cut: between the two searches of one move, too."""
    root, search = opened(TICTACTOE), dataclasses.replace(PLAIN, **TRICKS[tricks])
    for budgets in ((), (120,), (31, 1, 1, 2, 1, 1, 3, 1, 1, 1, 1, 1, 1, 10**6)):
        at_once = run(search, Model(TICTACTOE.game, Foreseeing()), root, *budgets)
        one_by_one = run(search, TICTACTOE, root, *budgets)
        jax.tree.map(np.testing.assert_array_equal, at_once, one_by_one)


@pytest.mark.slow
def test_many_games_take_turns_and_find_the_same():
    root = opened(TICTACTOE, lanes=turns.WIDTH + 12)
    in_turns = run(ALL, TICTACTOE, root, 50, 10**6)
    together = run(ALL, dataclasses.replace(TICTACTOE, platform="gpu"), root, 50, 10**6)
    jax.tree.map(np.testing.assert_array_equal, in_turns, together)


def test_ends_are_final_and_a_lost_side_holds_out():
    """In the second position X threatens to win at 6 and at 8, and O, to move, is lost by any move.

    In the third X will threaten two wins, whatever O does: only depth 4 sees it, and O still stops the first.
    """
    game = TICTACTOE.game
    boards = [
        [0, 2, 0, 0, 1, 0, 0, 0, 1],
        [1, 2, 1, 0, 1, 0, 0, 2, 0],
        [1, 2, 0, 0, 1, 0, 0, 0, 0],
        [1, 2, 0, 2, 1, 0, 0, 0, 0],
    ]
    seats = [1, 1, 1, 0]
    places = [game.place(np.array(b, np.int8), s) for b, s in zip(boards, seats, strict=True)]
    root = stacked([*places, *[places[-1]] * (LANES - 4)], game)
    result, _, depth = run(ALL, TICTACTOE, root)
    assert result.value[1:].tolist() == [-1.0, -1.0] + [1.0] * (LANES - 3)
    assert result.solved[1:].all()
    assert result.proven[1:, :].any(axis=1).all()
    assert depth[3] == 2  # a win in one needs no deeper look
    assert result.action[3] == 8
    assert (int(depth[2]), int(result.action[2])) == (4, 8)


@pytest.mark.slow
@pytest.mark.parametrize("plies", [3, 4])
def test_a_proof_knows_how_far_the_end_is_and_its_line_goes_there(plies):
    """Layer by layer the first depth that proves a win or a loss is how far it is."""
    game, root = TICTACTOE.game, opened(TICTACTOE, plies)
    search = dataclasses.replace(PLAIN, **{**TRICKS["all layers"], "depth": 6})
    result, _, depth = run(search, TICTACTOE, root)
    decided = result.solved & (np.abs(result.value) == 1)
    assert len(set(depth[decided].tolist())) > 1
    assert result.ends.tolist() == np.where(decided, depth, 0).tolist()
    assert result.depth.tolist() == depth.tolist()
    for far in set(depth[decided].tolist()) - {1}:  # not one ply sooner
        sooner, _, _ = minimax(TICTACTOE, root, far - 1)
        assert (np.abs(sooner[decided & (depth == far)]) < 1).all()
    start, extend, _ = programs(search, TICTACTOE)
    state = extend(jax.random.key(0), start(jax.random.key(0), root), jnp.int32(10**6))
    lines = np.array(jax.jit(lambda state: search.line(TICTACTOE, (), state))(state))
    assert lines[:, 0].tolist() == result.action.tolist()
    for lane in np.flatnonzero(decided).tolist():
        position, far = jax.tree.map(lambda x, lane=lane: x[lane], root), int(result.ends[lane])
        for action in lines[lane, :far].tolist():
            assert play.legal(game, position)[action]
            position, _ = play.play(game, position, jnp.int32(action))
        assert game.over(position.state)
        assert lines[lane, far:].tolist() == [-1] * (6 - far)


@pytest.mark.slow
@pytest.mark.parametrize("repetition", ["draw", "loss"])
def test_a_line_that_comes_back_to_the_past_ends_there(repetition):
    """As by the rules: drawn where it was there twice, lost for who brings it back where it was there once."""
    game = make("dodgem3", repetition=repetition)
    model, search = Model(game, Hashed()), dataclasses.replace(ALL, depth=2)
    start = play.start(game, jax.random.key(0))
    expand = jax.jit(lambda states, a: model.expand((), jax.random.key(0), states, a, jnp.ones(1, bool)))
    keys_of = jax.jit(lambda states: jax.vmap(game.repetition_key)(states)[0])

    def below(states: Any) -> list[tuple[int, Any]]:
        legal = np.flatnonzero(jax.vmap(game.legal)(states)[0]).tolist()
        return [(action, expand(states, jnp.array([action], jnp.int32))) for action in legal]

    def worth(states: Any, left: int, past: list[Any], moves: dict[int, float]) -> float:
        for action, leaves in below(states):
            seen = past.count(tuple(keys_of(leaves.states).tolist()))
            sign = 1.0 if int(states.to_play[0]) == 0 else -1.0
            if seen >= 2 and repetition == "draw":
                moves[action] = 0.0
            elif seen and repetition == "loss":
                moves[action] = -1.0
            elif left == 1 or leaves.over[0]:
                moves[action] = sign * float(leaves.value[0])
            else:
                moves[action] = -worth(leaves.states, left - 1, past, {})
        return max(moves.values())

    def best(states: Any, left: int) -> Any:
        moves: dict[int, float] = {}
        worth(states, left, [], moves)
        return dict(below(states))[max(moves, key=moves.__getitem__)].states

    states, found = alone(start.state), []
    after = best(states, 2)
    here, child, grandchild = (tuple(keys_of(s).tolist()) for s in (states, after, best(after, 1)))
    for past in ([here], [here, child], [here, child, child], [here, grandchild, grandchild]):
        history = start.history
        history = history._replace(
            keys=history.keys.at[: len(past)].set(jnp.array(past, jnp.uint32)), size=jnp.int16(len(past))
        )
        moves: dict[int, float] = {}
        value = worth(states, 2, past, moves)
        result = run(search, model, alone(play.Position(start.state, history))).result
        assert result.value[0] == pytest.approx(value, abs=1e-6)
        assert moves[int(result.action[0])] == pytest.approx(value, abs=1e-6)
        found.append(tuple(moves.values()))
    assert [moves != found[0] for moves in found] == [False, repetition == "loss", True, True]


def test_who_brings_a_position_back_with_the_last_ply_loses():
    """Without a past the limit makes it a draw."""
    game = make("dodgem3", repetition="loss", move_limit=1)
    model = Model(game, Uniform())

    @jax.jit
    def results() -> tuple[Any, ...]:
        start = play.start(game, jax.random.key(0))
        action = jnp.argmax(play.legal(game, start)).astype(jnp.int32)
        again = game.repetition_key(game.step(start.state, action))
        past = start.history._replace(keys=start.history.keys.at[1].set(again), size=jnp.int16(2))
        leaves = model.expand((), jax.random.key(0), alone(start.state), action[None], jnp.ones(1, bool))
        found = model.looking_back(alone(past), alone(start.state), leaves)
        played, _ = play.play(game, play.Position(start.state, past), action)
        return leaves.over, leaves.value, found.value, play.returns(game, played)[:1]

    assert [x.item() for x in results()] == [True, 0.0, -1.0, -1.0]


def test_a_first_depth_that_is_cut_plays_no_move_that_it_knows_is_lost_while_others_are_left():
    game = TICTACTOE.game
    # O threatens on the diagonal, and X, to move, must stop it
    board = game.place(np.array([1, 0, 2, 0, 2, 0, 0, 0, 1], np.int8), 0)
    root, met = stacked([board] * LANES, game), 0
    for budget in range(1, 30):
        result, _, depth = run(ALL, TICTACTOE, root, budget)
        if depth[0] or not result.visits[0].any():
            continue
        tried, action = result.visits[0] > 0, int(result.action[0])
        left = (np.asarray(game.legal(board)) & ~tried).any()
        met += bool(left and (result.q[0][tried] <= -1).any())
        assert not (left and tried[action] and result.q[0, action] <= -1)
    assert met


def test_a_past_in_which_a_position_came_twice_leaves_no_certainty():
    """Where the third time is a draw, that may be in the way of a win; by another rule the second may."""

    def certain(repetition: str, plies: int) -> bool:
        game = make("dodgem3", repetition=repetition)
        history = play.start(game, jax.random.key(0)).history
        if repetition != "none":
            keys = jnp.array([[0, 1], [2, 3], [0, 1]], jnp.uint32)[:plies]
            history = history._replace(keys=history.keys.at[1 : 1 + plies].set(keys), size=jnp.int16(1 + plies))
        return bool(histories.alone(game, alone(history))[0])

    assert certain("none", 3)
    assert certain("draw", 2)
    assert not certain("draw", 3)
    assert not certain("loss", 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plies", "search"),
    [
        (0, AlphaBeta(depth=7, table=8)),
        pytest.param(1, dataclasses.replace(PLAIN, depth=7), marks=pytest.mark.slow),  # windows as wide as they are
    ],
)
def test_moves_that_keep_the_turn(plies: int, search: AlphaBeta):
    model = Model(Road(), Hashed())
    root = opened(model, plies, 8 if plies else 1)
    value, _, _ = minimax(model, root, 7)
    found = run(search, model, root)
    np.testing.assert_allclose(found.result.value, value, atol=1e-6)
    assert found.depth.max() <= 7


@dataclasses.dataclass(frozen=True)
class Bright(Uniform):
    """Likes every position for who moves there, so that a move into the unknown looks bad."""

    def __call__(self, *args: Any) -> Any:
        judged = super().__call__(*args)
        return judged._replace(value=judged.value + 0.5)


@pytest.mark.slow
def test_a_draw_at_hand_proves_nothing_while_other_moves_are_guesses():
    """Two cells on it is a draw; three cells on the other seat must lose."""
    model = Model(Road("..=.I"), Bright())
    root = opened(model, 0, 1)
    near, far = (run(AlphaBeta(depth=depth, deepening=False), model, root).result for depth in (1, 3))
    assert (near.action.tolist(), near.value.tolist(), near.solved.tolist()) == ([1], [0.0], [False])
    assert (far.action.tolist(), far.value.tolist(), far.solved.tolist()) == ([2], [1.0], [True])


@pytest.mark.slow
def test_breadth_takes_the_likeliest():
    value, _, _ = minimax(TICTACTOE, opened(TICTACTOE), 4, breadth=3)
    found = run(dataclasses.replace(ALL, breadth=3), TICTACTOE, opened(TICTACTOE))
    np.testing.assert_allclose(found.result.value, value, atol=1e-6)


@pytest.mark.slow
def test_null_windows_and_all_tricks_are_brute_force_on_gomoku():
    """1,000 positions of 7x7, depth 4, breadth 6; eight of them with nothing left out, which takes more nodes."""
    model, search = Model(make("gomoku", size=7), Heuristic()), dataclasses.replace(PLAIN, breadth=6)
    root = opened(model, 10, 1000)
    plain = run(search, model, root)
    quick = run(dataclasses.replace(search, **TRICKS["all"]), model, root)
    np.testing.assert_allclose(quick.result.value, plain.result.value, atol=1e-6)
    assert quick.done.sum() < plain.done.sum()
    value, _, nodes = minimax(model, jax.tree.map(lambda x: x[:LANES], root), 4, breadth=6)
    np.testing.assert_allclose(plain.result.value[:LANES], value, atol=1e-6)
    assert plain.done[:LANES].sum() < nodes


@pytest.mark.slow
def test_captures_and_answers_to_a_check_are_followed_beyond_the_horizon():
    game = make("gardner")
    model = Model(game, Heuristic())
    root = opened(model, 9, 12)
    near, plain = sharp_minimax(game, root.state, depth=2, beyond=3)
    assert np.abs(plain - near).max() > 0.05, "something hangs"
    for trick in ("none", "all"):
        search = dataclasses.replace(PLAIN, depth=2, quiescence=3, **TRICKS[trick])
        np.testing.assert_allclose(run(search, model, root).result.value, plain, atol=1e-5)


@pytest.mark.slow
def test_moves_that_are_left_out_prove_nothing():
    """What is called solved is what perfect play comes to, though only the three likeliest moves are looked at."""
    reference, search = Mnk(), dataclasses.replace(ALL, breadth=3)
    truth, solved = solve(reference, reference.initial()), 0
    boards = {(state[0], state[1]): value for state, value in truth.values.items()}
    for plies in (2, 4, 5):
        root = opened(TICTACTOE, plies)
        found = run(search, TICTACTOE, root)
        cells = np.asarray(jax.vmap(TICTACTOE.game.cells)(root.state))
        for lane in np.flatnonzero(found.result.solved):
            text = "".join(".XO"[code] for code in cells[lane])
            assert found.result.value[lane] == boards[text, plies], text
            solved += 1
    assert solved > 3


def entry(key: tuple[int, int], **facts: Any) -> table.Entry:
    """One entry, of one game."""
    said = {"value": 0.25, "move": 5, "left": 2, "bound": table.EXACT, "final": False, "far": 0} | facts
    kinds = {"value": jnp.float32, "final": bool}
    return table.Entry(
        np.array([key], np.uint32), **{name: np.array([said[name]], kinds.get(name, jnp.int32)) for name in said}
    )


def test_an_entry_settles_what_a_search_would_have_found():
    low, high, asked, settles = -0.25, 0.25, 2, jax.jit(table.settles)
    for bound, left, value, final in itertools.product(range(4), (-3, 1, 2, 3), (-0.5, 0.0, 0.5), (False, True)):
        known = entry((1, 2), bound=bound, left=left, value=value, final=final)
        tells = {table.NONE: False, table.LOWER: value >= high, table.UPPER: value <= low, table.EXACT: True}[bound]
        said = settles(known, np.array([asked], np.int32), np.array([low], np.float32), np.array([high], np.float32))
        assert said.tolist() == [tells and (final or left >= asked)], (bound, left, value, final)


def test_an_entry_comes_back_whole_and_stays_while_it_is_worth_more():
    look_up, store = jax.jit(table.look_up), jax.jit(table.store)
    here, there = (6, 1), (2, 1)  # of one place in a table of four
    on, known = jnp.array([True]), table.blank(1, 2)
    assert look_up(known, jnp.array([(0, 0)], jnp.uint32)).bound.tolist() == [table.NONE]
    for facts in ({"left": -7, "move": 361, "bound": table.LOWER, "final": True, "value": -1.0, "far": 7}, {"left": 3}):
        known = store(known, entry(here, **facts), on)
        jax.tree.map(np.testing.assert_array_equal, look_up(known, entry(here).key), entry(here, **facts))
    assert look_up(known, entry(there).key).bound.tolist() == [table.NONE]
    same = store(known, entry(there, left=2), on)
    np.testing.assert_array_equal(same, known)
    np.testing.assert_array_equal(store(known, entry(there, left=9), ~on), known)
    taken = store(known, entry(there, left=3), on)
    assert look_up(taken, entry(there).key).left.tolist() == [3]
    assert look_up(taken, entry(here).key).bound.tolist() == [table.NONE]
    shallow = store(known, entry(here, left=1), on)
    assert look_up(shallow, entry(here).key).left.tolist() == [1], "what is newer of the same position"


def test_a_position_at_another_ply_is_another_one():
    """Fewer plies are left to it; a table must not mix them."""
    state = jax.device_get(play.begin(TICTACTOE.game).state)
    states = jax.tree.map(lambda x: np.stack([x] * 3), state)._replace(ply=np.array([0, 2, 2], np.int16))
    words = np.asarray(jax.jit(TICTACTOE.keys)(states))
    assert (words[0] != words[1]).all()
    assert (words[1] == words[2]).all()


def test_breadth_on_several_devices():
    """XLA of jaxlib 0.10.2 ended the process when it compiled this."""
    mesh, each = make_mesh(jax.devices()[:2]), PartitionSpec(AXIS)
    search = dataclasses.replace(PLAIN, breadth=3)

    def begun(root: Any) -> Any:
        return search.begin(TICTACTOE, (), jax.random.key(0), root).frames.moves[:, 0]

    spread = jax.jit(jax.shard_map(begun, mesh=mesh, in_specs=each, out_specs=each, check_vma=False))
    np.testing.assert_array_equal(spread(opened(TICTACTOE)), jax.jit(begun)(opened(TICTACTOE)))


def test_a_game_that_begins_afresh_knows_nothing_of_the_last_one():
    """Its table knew of later positions more than the depth that is searched, and so another value."""
    root, key = opened(TICTACTOE), jax.random.key(0)
    begun = programs(ALL, TICTACTOE)[0](key, root)
    played = begun._replace(table=jnp.ones_like(begun.table), history=jnp.full_like(begun.history, 8.0))
    follow = jax.jit(lambda state, action: ALL.follow(TICTACTOE, (), key, state, action, root))
    after = follow(played, jnp.arange(LANES, dtype=jnp.int32) % 2 - 1)
    anew = np.arange(LANES) % 2 == 0
    for found, kept in ((after.table, 1), (after.history, 2)):
        assert (np.asarray(found)[~anew] == kept).all()
        assert not np.asarray(found)[anew].any()
    np.testing.assert_allclose(after.root_score[anew], begun.root_score[anew], atol=1e-6)


def test_wrong_settings():
    for wrong in ({"depth": 0}, {"breadth": -1}, {"table": 30}):
        with pytest.raises(UsageError, match="at least"):
            AlphaBeta(**wrong)
    with pytest.raises(UsageError, match="followed"):
        AlphaBeta(followed=1.5)


def test_layers_are_the_depths_before_the_last():
    """The first of them, and the step from one to the next; `test_every_trick_...` searches by them."""
    steps = {"even": (2, 2), "odd": (1, 2), "all": (1, 1)}
    for layers, expected in steps.items():
        search = AlphaBeta(depth=5, layers=layers)
        assert (search._first, search._step) == expected
        whole = AlphaBeta(depth=5, layers=layers, deepening=False)
        assert whole._first == 5
