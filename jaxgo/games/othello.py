"""Othello (Reversi): discs are placed so that they enclose enemy discs in straight lines, which change their colour.

All lines are looked at together: along each axis of the board whole sets of discs are shifted, never cell by cell.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int8, Int16, Int32, UInt32

from jaxgo.core import board, zobrist
from jaxgo.core.errors import UsageError
from jaxgo.core.game import EMPTY, Action, AuxTarget, Game, Piece, returns_of_seat
from jaxgo.games.boards import words
from jaxgo.games.boards.words import Words, both, either, higher, lower, without

SIZES = range(4, 15, 2)
GREEN = "#63a375"
# of moves in playouts, where others have 1: a corner is never turned back, and the cells around it give it away
CORNER, BESIDE_CORNER, BEFORE_CORNER = 10.0, 0.3, 0.1


class OthelloState(NamedTuple):
    discs: UInt32[Array, "2 words"]  # the mover's, then the other's
    moves: UInt32[Array, "2 words"]  # where each of them could place a disc: both are needed to know the end
    to_play: Int8[Array, ""]
    ply: Int16[Array, ""]


@dataclasses.dataclass(frozen=True)
class Othello(Game[OthelloState]):
    """On a square board; Black moves first, and four discs stand crosswise in the middle.

    A pass is a move of its own, and legal only where there is no other.
    """

    size: int = 8  # even

    pieces = (EMPTY, Piece("X", 0), Piece("O", 1))
    notation = "a letter and a row from the top: `d3`; or `pass`"

    @property
    def how_to_play(self) -> str:
        return (
            "Black moves first. Put a disc on a cell from where it encloses enemy discs, in a straight line up to "
            "another disc of yours; all that it encloses change their colour. Who has no such move passes. When "
            "neither has one, who has more discs wins; equal numbers are a draw."
        )

    def __post_init__(self) -> None:
        if self.size not in SIZES:
            raise UsageError(f"an Othello board of size {self.size} is not even, or not between 4 and 14")

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, self.size

    @property
    def squares(self) -> int:
        """Number of squares, and the number of the pass."""
        return self.size * self.size

    @property
    def num_actions(self) -> int:
        return self.squares + 1

    @property
    def max_plies(self) -> int:
        """A disc on each square, each after a pass."""
        return 2 * self.squares

    # -- start -------------------------------------------------------------------------------------------------
    @property
    def start(self) -> np.ndarray:
        """The codes of the usual start."""
        cells = np.zeros(self.shape, np.int8)
        middle = np.array([self.size // 2 - 1, self.size // 2])
        cells[middle, middle[::-1]], cells[middle, middle] = 1, 2
        return cells.reshape(-1)

    def init(self, key: Array) -> OthelloState:
        return self.place(self.start, 0)

    def place(self, cells: np.ndarray, to_play: int) -> OthelloState:
        codes, own = self.drawn(cells, to_play), to_play + 1
        discs = words.mask(np.stack([codes == own, codes == 3 - own]))
        return _running(self, jnp.asarray(discs), jnp.int8(to_play), jnp.int16(0))

    # -- lines -------------------------------------------------------------------------------------------------
    # Sets in lines are [sides, axes]: of one seat or of both, along rows, columns and the two diagonals.
    @property
    def _apart(self) -> UInt32[Array, "1 4"]:
        """By how much the numbers of neighbours differ along each axis."""
        return jnp.array([[1, self.size, self.size - 1, self.size + 1]], jnp.uint32)

    def _between(self, discs: Words) -> Words:
        """Of some discs those that can stand between two others: in all axes but columns, none at a side."""
        column = np.arange(self.squares) % self.size
        inner = (column > 0) & (column < self.size - 1)
        passable = words.split(words.mask(np.stack([inner, np.ones_like(inner), inner, inner])))
        return tuple(word[:, None] & some[None] for word, some in zip(discs, passable, strict=True))

    def _runs(self, ends: Words, between: Words, shift: Callable[[Words, words.Distance], Words]) -> Words:
        """The discs `between` that follow without a gap on one of the `ends`."""
        step = self._apart
        run = both(between, shift(ends, step))
        run = either(run, both(between, shift(run, step)))
        pairs = both(between, shift(between, step))
        for _ in range(self.size // 2 - 2):  # a line has `size` - 2 cells between its ends: two at a time
            run = either(run, both(pairs, shift(run, step + step)))
        return run

    def _turned(self, placed: Words, own: Words, other: Words) -> Words:
        """The discs of the other seat that a new one turns."""
        between = self._between(tuple(word[None] for word in other))
        turned = []
        for shift in (higher, lower):
            run = self._runs(tuple(word[None, None] for word in placed), between, shift)
            closed = words.some(both(shift(run, self._apart), tuple(word[None, None] for word in own)))
            turned.append(tuple(jnp.where(closed, word, jnp.uint32(0)) for word in run))
        return tuple(word[0] for word in words.union(either(*turned)))

    def _moves(self, discs: Words) -> Words:
        """Where each seat can place a disc."""
        between = self._between(tuple(word[::-1] for word in discs))
        ends = tuple(word[:, None] for word in discs)
        behind = either(*(shift(self._runs(ends, between, shift), self._apart) for shift in (higher, lower)))
        whole = words.split(words.mask(np.ones(self.squares, bool)))
        empty = without(whole, tuple(word[0] | word[1] for word in discs))
        return tuple(word & free[None] for word, free in zip(words.union(behind), empty, strict=True))

    # -- rules -------------------------------------------------------------------------------------------------
    def legal(self, state: OthelloState) -> Bool[Array, " A"]:
        places = words.unpack(state.moves[0], self.num_actions)
        return jnp.where(jnp.arange(self.num_actions) == self.squares, (state.moves[0] == 0).all(), places)

    def step(self, state: OthelloState, action: Action) -> OthelloState:
        own, other = words.split(state.discs[0]), words.split(state.discs[1])
        placed = words.single(action, len(own), action < self.squares)
        turned = self._turned(placed, own, other)
        own, other = either(own, either(placed, turned)), without(other, turned)
        discs = jnp.stack([*other, *own]).reshape(state.discs.shape)
        return self._running(discs, jnp.int8(1) - state.to_play, state.ply + jnp.int16(1))

    def _running(
        self, discs: UInt32[Array, "2 words"], to_play: Int8[Array, ""], ply: Int16[Array, ""]
    ) -> OthelloState:
        return OthelloState(discs, jnp.stack(self._moves(words.split(discs)), axis=-1), to_play, ply)

    def over(self, state: OthelloState) -> Bool[Array, ""]:
        return ~words.some(words.split(state.moves.reshape(-1)))

    def returns(self, state: OthelloState) -> Float32[Array, " 2"]:
        own, other = words.count(state.discs)
        return returns_of_seat(jnp.sign(own - other).astype(jnp.float32), state.to_play)

    # -- views and hints ---------------------------------------------------------------------------------------
    def observe(self, state: OthelloState) -> Bool[Array, "H W 4"]:
        """The mover's discs, the other's, and where each of them could place one."""
        planes = words.unpack(jnp.concatenate([state.discs, state.moves]), self.squares)
        return planes.T.reshape(self.size, self.size, 4)

    def _by_seat(self, state: OthelloState) -> UInt32[Array, "2 words"]:
        """The discs of Black, then White's."""
        return jnp.where(state.to_play == 0, state.discs, state.discs[::-1])

    def cells(self, state: OthelloState) -> Int8[Array, " cells"]:
        black, white = words.unpack(self._by_seat(state), self.squares).astype(jnp.int8)
        return black + white * jnp.int8(2)

    def hash(self, state: OthelloState) -> UInt32[Array, "2"]:
        return zobrist.of_words(jnp.append(state.discs.reshape(-1), state.to_play.astype(jnp.uint32)))

    def scores(self, state: OthelloState) -> Int32[Array, "2"]:
        """The discs of each seat."""
        return words.count(self._by_seat(state))

    def aux_targets(self) -> tuple[AuxTarget, ...]:
        return AuxTarget("ownership", "cells"), AuxTarget("score", "number")

    def aux_values(self, state: OthelloState) -> dict[str, Float32[Array, "*target"]]:
        """Whose disc each square has at the end, and Black's lead in discs, in units of a board's side as in Go."""
        black, white = words.unpack(self._by_seat(state), self.squares).astype(jnp.float32)
        owner = black - white
        return {"ownership": owner, "score": owner.sum() / self.size}

    def heuristic(self, state: OthelloState) -> Float32[Array, ""]:
        """More moves than the other seat has, and corners; discs only as the board fills up."""
        corners = jnp.asarray(words.mask(_cells_by_corner(self.size) == 0))
        discs, moves, held = (
            words.count(sets).astype(jnp.float32) for sets in (state.discs, state.moves, state.discs & corners[None])
        )
        filled = discs.sum() / self.squares
        lead = 0.08 * (moves[0] - moves[1]) + 0.4 * (held[0] - held[1])
        return jnp.tanh(lead * (1 - filled**8) + filled**8 * (discs[0] - discs[1]) / 4)

    def move_weights(self, state: OthelloState) -> Float32[Array, " A"]:
        """Corners are ten times as likely; the squares beside and before them are avoided."""
        kinds = np.array([CORNER, BESIDE_CORNER, BEFORE_CORNER, 1.0], np.float32)
        return jnp.asarray(np.append(kinds[_cells_by_corner(self.size)], np.float32(1)))

    def symmetries(self) -> board.Symmetries:
        return board.of_cell_actions(board.symmetries(*self.shape), 1)

    def square_colours(self) -> tuple[str, ...]:
        return (GREEN,) * self.squares

    def action_name(self, action: int) -> str:
        row, column = divmod(action, self.size)
        return "pass" if action == self.squares else f"{board.FILES[column]}{row + 1}"


@functools.partial(jax.jit, static_argnums=0)
def _running(
    game: Othello, discs: UInt32[Array, "2 words"], to_play: Int8[Array, ""], ply: Int16[Array, ""]
) -> OthelloState:
    return game._running(discs, to_play, ply)


@functools.cache
def _cells_by_corner(size: int) -> np.ndarray:
    """`int[cells]`: 0 in a corner, 1 beside one (C-squares), 2 diagonally before one (X-squares), else 3."""
    away = np.minimum(np.arange(size), np.arange(size)[::-1])
    row, column = away[:, None], away[None]
    return np.where(np.maximum(row, column) > 1, 3, row + column).reshape(-1)
