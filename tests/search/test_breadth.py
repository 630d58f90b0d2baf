"""Breadth-first ahead of a game: the shortest way once it is found, and a way that goes on where it is not."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference.sliding import SlidingBlocks as Plain

from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.evaluators import Heuristic
from jaxgo.games import make
from jaxgo.games.sliding import SlidingBlocks
from jaxgo.search import BreadthFirst, Model

KEY = jax.random.key(0)
GAME = SlidingBlocks("123/45.", "123/45.", max_plies=40)  # 360 arrangements, up to 21 moves away
PLAIN, SEARCH, MODEL = Plain(GAME.rows, GAME.goal), BreadthFirst(room=400), Model(GAME, Heuristic())
Rows = tuple[str, ...]


@functools.cache
def layers() -> list[list[Rows]]:
    """All arrangements by their distance from the goal."""
    seen, found = {PLAIN.rows}, [[PLAIN.rows]]
    while found[-1]:
        later = {PLAIN.slide(rows, action) for rows in found[-1] for action in PLAIN.moves(rows)} - seen
        seen |= later
        found.append(sorted(later))
    return found[:-1]


@functools.cache
def programs() -> Any:
    begin = jax.jit(lambda root: SEARCH.begin(MODEL, (), KEY, root))
    extend = jax.jit(lambda state, budget: SEARCH.extend(MODEL, (), KEY, state, budget))
    result = jax.jit(lambda state: SEARCH.result(KEY, state))

    @jax.jit
    def follow(state: Any, action: Any) -> Any:
        return SEARCH.follow(MODEL, (), KEY, state, action, MODEL.play(state.root, action)[0])

    return begin, extend, result, follow


def roots(starts: list[Rows]) -> Any:
    codes = [[(".", *GAME.letters).index(letter) for letter in "".join(rows)] for rows in starts]
    states = [GAME.place(np.array(cells), 0) for cells in codes]
    return jax.vmap(functools.partial(play.resume, GAME))(jax.tree.map(lambda *x: jnp.stack(x), *states))


def drawn(state: Any, lane: int) -> Rows:
    cells = np.asarray(state.root.state.blocks[lane]).reshape(GAME.shape)
    return tuple("".join((".", *GAME.letters)[code] for code in row) for row in cells)


@pytest.mark.slow
def test_with_enough_room_the_way_is_the_shortest_and_is_found_once():
    begin, extend, result, follow = programs()
    distances = [2, 11, len(layers()) - 1]
    assert distances[-1] == 21
    state = extend(begin(roots([layers()[far][0] for far in distances])), jnp.array([3, 1000, 1000]))
    assert (np.asarray(state.done) < 360).all()
    for moves in range(1, 22):
        found = jax.device_get(result(state))
        live = [lane for lane, far in enumerate(distances) if moves <= far]
        assert found.solved[live].all()
        assert (found.value[live] == 1.0).all()
        assert found.proven[live, found.action[live]].all()
        state = follow(state, found.action)
        assert [lane for lane in range(3) if drawn(state, lane) == PLAIN.rows] == [
            lane for lane, far in enumerate(distances) if far <= moves
        ]
        state = extend(state, 0)  # the plan is known: nothing is searched
    assert np.asarray(result(state).value).tolist() == [1.0] * 3, "what is solved has won"


@pytest.mark.slow
def test_with_any_budget_the_game_goes_on_and_no_position_comes_twice():
    begin, extend, result, follow = programs()
    starts = [layers()[17][0], layers()[17][0], layers()[20][-1]]
    state = extend(begin(roots(starts)), jnp.array([0, 2, 5]))
    assert np.asarray(state.done).tolist() == [0, 2, 5]
    past = [[start] for start in starts]
    ended = np.zeros(3, bool)
    for _ in range(GAME.max_plies):
        found = jax.device_get(result(state))
        state = follow(state, found.action)
        for lane in np.flatnonzero(~ended & ~found.solved).tolist():
            here, there, been = past[lane][-1], drawn(state, lane), past[lane]
            beside = [PLAIN.slide(here, action) for action in PLAIN.moves(here)]
            assert there in beside
            fresh = [rows for rows in beside if rows not in been]
            if fresh:
                assert there in fresh
            else:
                longest_ago = {rows: len(been) - been[::-1].index(rows) for rows in beside}
                assert longest_ago[there] == min(longest_ago.values())
        for lane in range(3):
            past[lane].append(drawn(state, lane))
        ended = np.asarray(MODEL.over(state.root))
        if ended.all():
            break
        state = extend(state, jnp.array([0, 2, 5]))
    assert ended.all()
    assert past[2][-1] == PLAIN.rows, "with five positions a move this one is found in time"


@pytest.mark.slow
def test_a_search_goes_on_where_it_stopped():
    begin, extend, _, _ = programs()
    start = begin(roots([layers()[21][0], layers()[9][0], layers()[4][0]]))
    once, parts = extend(start, 50), extend(extend(start, 20), 30)
    assert all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(once), jax.tree.leaves(parts), strict=True))
    assert np.asarray(once.used).tolist() == np.asarray(once.used).clip(0, 360).tolist()


def test_no_verb_changes_the_shape_of_a_state():
    begin, extend, result, follow = programs()
    root = jax.eval_shape(lambda key: MODEL.start(key, 3), KEY)
    state = jax.eval_shape(begin, root)
    assert jax.eval_shape(extend, state, 5) == state
    found = jax.eval_shape(result, state)
    assert found.policy.shape == (3, GAME.num_actions)
    assert jax.eval_shape(follow, state, found.action) == state


def test_only_puzzles_are_searched():
    model = Model(make("tictactoe"), Heuristic())
    with pytest.raises(UsageError, match="the solution of a puzzle"):
        jax.eval_shape(lambda key: SEARCH.begin(model, (), key, model.start(key, 1)), KEY)
    for wrong in ({"simulations": 0}, {"room": 0}):
        with pytest.raises(UsageError, match="at least 1"):
            BreadthFirst(**wrong)
