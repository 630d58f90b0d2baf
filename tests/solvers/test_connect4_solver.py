"""Connect Four solved: published positions, and small boards against plain Python."""

import functools
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference.connect4 import ConnectFour as Plain
from reference.connect4 import value
from support import perft_json

from jaxgo.core.errors import UsageError
from jaxgo.games import make
from jaxgo.games.connect4 import ConnectFour
from jaxgo.solvers.connect4 import Layout, Solver, Words

# after these moves some others leave two ways to win at once, which no reply meets
TWO_WAYS_TO_WIN = [3, 0, 3, 5, 1, 5, 0, 6, 5, 4, 5, 6, 2, 6, 6, 3, 1, 2, 0, 4]
# after the 3 a column has two cells that win, of which one is open: only the other one is worth waiting for
ONE_IS_OPEN = [3, 4, 1, 5, 6, 6, 0, 2, 2, 6, 4, 3, 0, 5, 3, 2, 2, 2, 4, 4, 4, 4, 2, 6, 6, 1, 0, 0, 0, 0, 6]


def after(game, lines):
    """The states after lists of moves."""
    step = jax.jit(game.step)
    states = []
    for moves in lines:
        state = game.init(jax.random.key(0))
        for action in moves:
            state = step(state, jnp.int32(action))
        states.append(state)
    return jax.tree.map(lambda *x: jnp.stack(x), *states)


def test_winning_cells_are_those_that_win():
    layout, rng = Layout(ConnectFour()), np.random.default_rng(0)
    for _ in range(20):
        owner = np.where(np.arange(6) < rng.integers(0, 7, (7, 1)), rng.integers(1, 3, (7, 6)), 0)
        own, mask = (words_of(layout, cells) for cells in (owner == 1, owner > 0))
        found = cells_of(layout, layout.winning(own, mask))
        for column, level in zip(*np.nonzero(owner == 0), strict=True):
            with_it = owner == 1
            with_it[column, level] = True
            assert found[column, level] == line_through(with_it, column, level)
        assert not found[owner > 0].any()


def words_of(layout, cells) -> Words:
    number = sum(1 << (int(c) * layout.bits + int(level)) for c, level in zip(*np.nonzero(cells), strict=True))
    low = np.uint32(number & ((1 << layout.split) - 1))
    return Words(jnp.asarray(low), jnp.asarray(np.uint32(number >> layout.split)))


def cells_of(layout, words) -> np.ndarray:
    number = int(words.low) | int(words.high) << layout.split
    return np.array([[number >> (c * layout.bits + level) & 1 for level in range(6)] for c in range(7)]) > 0


def line_through(cells, column, level) -> bool:
    def run(dc, dl) -> int:
        c, at, length = column + dc, level + dl, 0
        while 0 <= c < 7 and 0 <= at < 6 and cells[c, at]:
            c, at, length = c + dc, at + dl, length + 1
        return length

    return any(run(dc, dl) + run(-dc, -dl) >= 3 for dc, dl in ((1, 0), (0, 1), (1, 1), (1, -1)))


@pytest.mark.slow
def test_published_positions_move_by_move():
    game = make("connect4")
    known = perft_json()["connect_four"]["connect4_6x7"]["midgame_values"]
    states = after(game, [*(position["moves"] for position in known), TWO_WAYS_TO_WIN, ONE_IS_OPEN])
    values = Solver(game, places=1 << 20, lanes=64).moves(states)
    # as bitbully has it
    assert values[-2].tolist() == [1, 1, -1, 1, 1, 1, -1]
    assert values[-1].tolist() == [-2, 0, -2, 1, -2, 0, -2]
    for position, row in zip(known, values[:-2], strict=True):
        assert {int(c): v for c, v in position["value_per_column"].items()} == {
            c: v for c, v in enumerate(row.tolist()) if v > -2
        }


@pytest.mark.slow
@pytest.mark.parametrize("height", [4, 5])  # who has to move in the end differs
def test_a_small_board_position_by_position(height: int):
    game, plain = ConnectFour(4, height), Plain(4, height, 4)
    lines, rng = [], np.random.default_rng(0)
    step = functools.partial(plain.step)
    for _ in range(200):
        state, moves = plain.initial(), []
        for _ in range(rng.integers(0, 4 * height)):
            moves.append(int(rng.choice(plain.legal(state))))
            state = step(state, moves[-1])
            if plain.result(state) is not None:
                moves.pop()
                break
        lines.append(moves)
    known: dict = {}
    expected = [value(plain, functools.reduce(step, moves, plain.initial()), known) for moves in lines]
    assert Solver(game, lanes=64).values(after(game, lines)).tolist() == expected


def test_a_finished_game_has_no_moves():
    game = ConnectFour(4, 4)
    assert Solver(game, places=1 << 20, lanes=1).moves(after(game, [[0, 1, 0, 1, 0, 1, 0]])).tolist() == [[-2] * 4]


def test_a_finished_game_is_worth_its_result():
    """A board that was won counted as one where the other side wins next."""
    game, full = ConnectFour(4, 4), [3, 2, 1, 0, 2, 0, 0, 0, 3, 3, 1, 2, 3, 1, 2, 1]
    states = after(game, [[0, 1, 0, 1, 0, 1, 0], [0, 1, 0, 1, 0, 1], full, full[:-1]])
    solver = Solver(game, places=1 << 20, lanes=1)
    assert solver.values(states).tolist() == [-1, 1, 0, 0]
    assert solver.moves(jax.tree.map(lambda x: x[1:2], states)).max() == 1, "the move that wins, as a move"
    assert solver.moves(jax.tree.map(lambda x: x[3:], states)).tolist() == [[-2, 0, -2, -2]], "the last move"


def test_no_positions_have_no_values():
    game = ConnectFour(4, 4)
    none = jax.tree.map(lambda x: x[:0], after(game, [[]]))
    assert Solver(game, places=1 << 20, lanes=1).values(none).shape == (0,)


def test_positions_of_another_board_are_refused():
    """Their values were wrong, without a word."""
    wide, small = ConnectFour(7, 5), Solver(ConnectFour(4, 4), places=1 << 20, lanes=1)
    for solver, states in (
        (Solver(places=1 << 20, lanes=1), after(wide, [[2, 6, 3, 6, 1, 6]])),
        (small, after(ConnectFour(5, 4), [[4]])),
        (small, after(ConnectFour(4, 5), [[0, 0, 0, 0, 0]])),
    ):
        for ask in (solver.moves, solver.values):
            with pytest.raises(UsageError, match=r"no states of ConnectFour\(.*of another board, the solver is Solver"):
                ask(states)
    one = jax.tree.map(lambda x: x[0], after(small.game, [[0]]))
    for wrong in (one, make("tictactoe").init(jax.random.key(0)), None):
        with pytest.raises(UsageError, match="takes a batch of states of ConnectFour"):
            small.moves(wrong)


def test_moves_asked_for_again_trace_nothing(monkeypatch):
    game = ConnectFour(4, 4)
    states = after(game, [[0, 1, 0, 1, 0, 1, 0]])
    Solver(game, places=1 << 20, lanes=1).moves(states)
    monkeypatch.setattr(ConnectFour, "legal", None)
    assert Solver(game, places=1 << 20, lanes=1).moves(states).tolist() == [[-2] * 4]


def test_boards_that_do_not_fit_are_refused():
    with pytest.raises(UsageError, match="four in a row on at most 7 columns"):
        Solver(ConnectFour(8, 7))
    with pytest.raises(UsageError, match="columns of 4 to 6 cells"):
        Solver(ConnectFour(5, 3))
    with pytest.raises(UsageError, match="no other game"):
        inspect.unwrap(Solver.__init__)(object.__new__(Solver), make("tictactoe"))
