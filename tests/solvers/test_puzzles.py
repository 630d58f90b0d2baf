"""Solutions of puzzles: as short as plain Python finds them, and real when replayed."""

import functools
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference.pegs import Pegs as PlainPegs
from reference.sliding import SlidingBlocks as PlainSliding
from reference.sliding import breadth_first

from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.games import make
from jaxgo.solvers import visited
from jaxgo.solvers.explore import Room
from jaxgo.solvers.puzzles import solve_puzzle

SMALL = Room(batch=64, slots=2048, places=1 << 16)


def solves(game, moves, state=None) -> bool:
    """Whether these moves are legal one after the other and end the puzzle solved."""
    position = play.start(game, jax.random.key(0)) if state is None else play.resume(game, state)
    legal = jax.jit(functools.partial(play.legal, game))
    step = jax.jit(lambda p, a: play.play(game, p, a)[0])
    for action in moves:
        assert legal(position)[action], game.action_name(action)
        position = step(position, jnp.int32(action))
    return bool(play.over(game, position)) and float(play.returns(game, position)[0]) == 1.0


def test_the_table_gives_every_key_one_number_in_one_lane():
    keys = np.random.default_rng(0).integers(0, 40, (256, 2), dtype=np.uint32)  # few, so that batches repeat them
    insert = jax.jit(visited.insert)
    table, known = visited.empty(1024), {}
    for half in np.split(keys, 2):
        wanted = np.arange(len(half)) % 8 != 0
        table, found = insert(table, jnp.asarray(half), jnp.asarray(wanted))
        new = {tuple(key) for key in half[wanted].tolist()} - known.keys()
        assert int(found.fresh.sum()) == len(new)
        for key, number, want in zip(half.tolist(), found.number.tolist(), wanted, strict=True):
            assert not want or known.setdefault(tuple(key), number) == number
    assert sorted(known.values()) == list(range(int(table.total)))
    wider, found = insert(visited.widened(table, 4096), jnp.asarray(keys), jnp.ones(len(keys), bool))
    again = [known.get(tuple(key)) for key in keys.tolist()]
    assert all(number in (None, other) for number, other in zip(again, found.number.tolist(), strict=True))
    assert int(wider.total) >= int(table.total)


def test_hughes_puzzle_breadth_first_in_31_moves_with_equal_blocks_merged():
    game = make("hughe")
    found = solve_puzzle(game, method="breadth", room=SMALL)
    assert found.moves is not None
    assert len(found.moves) == breadth_first(PlainSliding(game.rows, game.goal), distinct=False).shortest == 31
    assert found.seen < 1138  # of all that can be reached, equal blocks being one
    assert solves(game, found.moves)


def test_astar_is_as_short_as_breadth_first_and_spilling_changes_nothing():
    game = make("slide8")
    for seed in (0, 3):
        plain = walked(PlainSliding("123/456/78.", game.goal), random.Random(seed), 60)
        drawn = [(".", *game.letters).index(letter) for letter in "".join(plain.rows)]
        state = game.place(np.array(drawn), 0)
        tight = solve_puzzle(game, state, room=Room(batch=8, slots=64, places=1 << 12))
        assert tight.moves is not None
        assert len(tight.moves) == shortest_by_layers(plain)
        assert tight.spilled > 0
        assert solves(game, tight.moves, state)


def walked(plain: PlainSliding, rng: random.Random, moves: int) -> PlainSliding:
    """The puzzle as it stands after random moves."""
    for _ in range(moves):
        plain.rows = plain.slide(plain.rows, rng.choice(plain.moves(plain.rows)))
    return plain


def shortest_by_layers(plain: PlainSliding) -> int:
    """Moves to the solved position, by plain layers."""
    seen, layer, depth = {plain.rows}, [plain.rows], 0
    while not any(plain.solved(rows) for rows in layer):
        fresh = {plain.slide(rows, action) for rows in layer for action in plain.moves(rows)} - seen
        seen |= fresh
        layer, depth = list(fresh), depth + 1
    return depth


@pytest.mark.parametrize("backward", [False, True])
def test_the_latin_cross_forward_and_backward(backward):
    game = make("latincross")
    found = solve_puzzle(game, backward=backward, room=SMALL)
    assert found.moves is not None
    assert len(found.moves) == 5
    assert solves(game, found.moves)


def test_what_cannot_be_solved_is_said_to_be():
    plain = PlainPegs("english", figure=[10, 38])
    game = make("latincross")
    stuck = game.place(
        np.where(np.isin(np.arange(49), [10, 38]), 1, np.where(np.isin(np.arange(49), sorted(plain.holes)), 0, 2)), 0
    )
    assert solve_puzzle(game, stuck, room=SMALL).moves is None
    with pytest.raises(UsageError, match="cannot be solved backward"):
        solve_puzzle(make("hughe"), backward=True)
    with pytest.raises(UsageError, match="only a puzzle"):
        solve_puzzle(make("tictactoe"))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["astar", "breadth"])
def test_klotski_in_116_moves(method):
    game = make("klotski")
    found = solve_puzzle(game, method=method, room=Room(batch=256))
    assert found.moves is not None
    assert len(found.moves) == 116
    assert found.seen <= 25_955
    assert solves(game, found.moves)
