"""Breakthrough: two rows of pieces on each side, which only go forward; the first to reach the far row wins.

Nobody is ever without a move: the foremost piece can always go diagonally.
"""

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int8, Int16, Int32, UInt32

from jaxgo.core import board, zobrist
from jaxgo.core.errors import UsageError
from jaxgo.core.game import EMPTY, Action, AuxTarget, Game, Piece, returns_of_winner
from jaxgo.games.boards import words
from jaxgo.games.boards.words import Words, both, either, higher, lower, without

FORWARD, LEFT, RIGHT = range(3)  # action = square * 3 + one of these
SIDES = range(4, 17)
PLAIN, CAPTURE, GOAL = 1.0, 5.0, 1000.0  # weights of moves in playouts


class BreakthroughState(NamedTuple):
    pieces: UInt32[Array, "2 words"]  # of each seat
    to_play: Int8[Array, ""]
    ply: Int16[Array, ""]


@dataclasses.dataclass(frozen=True)
class Breakthrough(Game[BreakthroughState]):
    """Boards have 4 to 16 rows and columns."""

    height: int = 8
    width: int = 8

    pieces = (EMPTY, Piece("X", 0, figure="pawn"), Piece("O", 1, figure="pawn"))
    notation = "the piece's square and where its player sends it: `c2-forward`, `c2-left`, `c2-right`"

    @property
    def how_to_play(self) -> str:
        return (
            "Move a piece one square forward, away from your own side: straight or diagonally onto an empty square, or "
            "diagonally onto an enemy piece, which is captured. Who first reaches the far row, or captures all enemy "
            "pieces, wins; there are no draws."
        )

    def __post_init__(self) -> None:
        if self.height not in SIDES or self.width not in SIDES:
            raise UsageError(f"a Breakthrough board of {self.height} x {self.width} is not between 4 x 4 and 16 x 16")

    @property
    def shape(self) -> tuple[int, int]:
        return self.height, self.width

    @property
    def squares(self) -> int:
        return self.height * self.width

    @property
    def num_actions(self) -> int:
        return 3 * self.squares

    @property
    def max_plies(self) -> int:
        """Every piece walks across the whole board."""
        return 4 * self.width * (self.height - 1)

    # -- start -------------------------------------------------------------------------------------------------
    def init(self, key: Array) -> BreakthroughState:
        row = np.arange(self.squares) // self.width
        return self.place(np.where(row < 2, 2, np.where(row < self.height - 2, 0, 1)), 0)

    def place(self, cells: np.ndarray, to_play: int) -> BreakthroughState:
        codes = self.drawn(cells, to_play)
        seats = np.stack([codes == 1, codes == 2])
        if (most := int(seats.sum(axis=1).max())) > 2 * self.width:
            raise UsageError(f"a side has {most} pieces; there are at most {2 * self.width}, as at the start")
        return BreakthroughState(jnp.asarray(words.mask(seats)), jnp.int8(to_play), jnp.int16(0))

    # -- rules -------------------------------------------------------------------------------------------------
    def _sides(self, state: BreakthroughState) -> tuple[Words, Words]:
        """The pieces of the mover and of the other seat."""
        sides = jnp.where(state.to_play == 0, state.pieces, state.pieces[::-1])
        return words.split(sides[0]), words.split(sides[1])

    @property
    def _far(self) -> np.ndarray:
        """`int32[3]`: by how much the number of a square differs from those in front of it."""
        return np.array([self.width, self.width + 1, self.width - 1], np.int32)

    def _from(self, targets: Words, to_play: Int8[Array, ""]) -> Words:
        """[3]: the squares whose neighbour in each direction belongs to the targets [3]."""
        first, far = to_play == 0, jnp.asarray(self._far, jnp.uint32)
        column = np.arange(self.squares) % self.width
        a_side, h_side, anywhere = column > 0, column < self.width - 1, np.ones(self.squares, bool)
        upwards = words.split(words.mask(np.stack([anywhere, a_side, h_side])))
        downwards = words.split(words.mask(np.stack([anywhere, h_side, a_side])))
        up, down = both(higher(targets, far), upwards), both(lower(targets, far), downwards)
        return tuple(jnp.where(first, *pair) for pair in zip(up, down, strict=True))

    def legal(self, state: BreakthroughState) -> Bool[Array, " A"]:
        own, other = self._sides(state)
        free = without(words.split(words.mask(np.ones(self.squares, bool))), own)
        empty = without(free, other)
        targets = tuple(jnp.stack([straight, aside, aside]) for straight, aside in zip(empty, free, strict=True))
        moves = both(self._from(targets, state.to_play), tuple(word[None] for word in own))
        return words.unpack_by_cell(moves, self.squares)

    def step(self, state: BreakthroughState, action: Action) -> BreakthroughState:
        own, other = self._sides(state)
        first, source = state.to_play == 0, action // 3
        ahead = jnp.asarray(self._far)[action % 3]
        start, goal = (words.single(cell, len(own)) for cell in (source, source + jnp.where(first, -ahead, ahead)))
        sides = jnp.stack([*either(without(own, start), goal), *without(other, goal)]).reshape(state.pieces.shape)
        return BreakthroughState(
            pieces=jnp.where(first, sides, sides[::-1]),
            to_play=jnp.int8(1) - state.to_play,
            ply=state.ply + jnp.int16(1),
        )

    def _goals(self) -> np.ndarray:
        """`uint32[2, words]`: the row that each seat wants to reach."""
        row = np.arange(self.squares) // self.width
        return words.mask(np.stack([row == 0, row == self.height - 1]))

    def _winner(self, state: BreakthroughState) -> Int8[Array, ""]:
        """1 or 2 for the seat that has won, 0 for none; on a board that was set up, who moved last before the other."""
        arrived = (state.pieces & jnp.asarray(self._goals()) != 0).any(axis=1)
        won = arrived | (state.pieces[::-1] == 0).all(axis=1)
        last = jnp.int8(1) - state.to_play
        mover = jnp.where(won[state.to_play], state.to_play + jnp.int8(1), jnp.int8(0))
        return jnp.where(won[last], last + jnp.int8(1), mover)

    def over(self, state: BreakthroughState) -> Bool[Array, ""]:
        return self._winner(state) != 0

    def returns(self, state: BreakthroughState) -> Float32[Array, " 2"]:
        return returns_of_winner(self._winner(state))

    # -- views and hints ---------------------------------------------------------------------------------------
    def observe(self, state: BreakthroughState) -> Bool[Array, "H W 3"]:
        """Own pieces, the other's, and the row that the mover wants to reach, which says who goes where."""
        first, goals = state.to_play == 0, jnp.asarray(self._goals())
        sides = jnp.where(first, state.pieces, state.pieces[::-1])
        goal = jnp.where(first, goals[0], goals[1])
        planes = words.unpack(jnp.concatenate([sides, goal[None]]), self.squares)
        return planes.T.reshape(self.height, self.width, 3)

    def _unpacked(self, state: BreakthroughState) -> Bool[Array, "2 cells"]:
        return words.unpack(state.pieces, self.squares)

    def cells(self, state: BreakthroughState) -> Int8[Array, " cells"]:
        first, second = self._unpacked(state).astype(jnp.int8)
        return first + second * jnp.int8(2)

    def hash(self, state: BreakthroughState) -> UInt32[Array, "2"]:
        return zobrist.of_words(jnp.append(state.pieces.reshape(-1), state.to_play.astype(jnp.uint32)))

    def aux_targets(self) -> tuple[AuxTarget, ...]:
        return (AuxTarget("ownership", "cells"),)

    def aux_values(self, state: BreakthroughState) -> dict[str, Float32[Array, "*target"]]:
        """Whose piece each square has at the end."""
        first, second = self._unpacked(state).astype(jnp.float32)
        return {"ownership": first - second}

    def _to_go(self) -> np.ndarray:
        """`int32[2, cells]`: how many rows each seat has in front of a square."""
        row = np.arange(self.squares, dtype=np.int32) // self.width
        return np.stack([row, self.height - 1 - row])

    def distances(self, state: BreakthroughState) -> Int32[Array, "2"]:
        """The rows in front of each seat's foremost piece; more than there are, where none is left."""
        return jnp.where(self._unpacked(state), jnp.asarray(self._to_go()), self.height).min(axis=1)

    def heuristic(self, state: BreakthroughState) -> Float32[Array, ""]:
        """The lead in pieces, each worth up to twice as much the further it has come."""
        worth = 2 - self._to_go().astype(np.float32) / np.float32(self.height - 1)
        first, second = jnp.where(self._unpacked(state), jnp.asarray(worth), jnp.float32(0)).sum(axis=1)
        lead = jnp.tanh((first - second) / 4)
        return jnp.where(state.to_play == 0, lead, -lead)

    def move_weights(self, state: BreakthroughState) -> Float32[Array, " A"]:
        """Captures are five times as likely, and who can win does."""
        _, other = self._sides(state)
        targets = tuple(jnp.stack([jnp.uint32(0), word, word]) for word in other)
        captures = words.unpack_by_cell(self._from(targets, state.to_play), self.squares)
        near = jnp.asarray(np.repeat(self._to_go() == 1, 3, axis=1))
        arrives = jnp.where(state.to_play == 0, near[0], near[1])
        return jnp.where(arrives, jnp.float32(GOAL), jnp.where(captures, jnp.float32(CAPTURE), jnp.float32(PLAIN)))

    def symmetries(self) -> board.Symmetries:
        """Left and right, and top and bottom: that mirror swaps the sides, and the mover with them."""
        cells = board.symmetries(*self.shape)[:4]
        same, mirrored = [FORWARD, LEFT, RIGHT], [FORWARD, RIGHT, LEFT]
        moves = np.array([same, mirrored, mirrored, same], np.int32)
        actions = cells[:, :, None] * 3 + moves[:, None, :]
        return board.Symmetries(cells, actions.reshape(len(cells), self.num_actions))

    def action_name(self, action: int) -> str:
        """`c2-forward`, `c2-left`, `c2-right`: left and right as its player sees them."""
        square, move = divmod(action, 3)
        return f"{board.square_name(square, *self.shape)}-{('forward', 'left', 'right')[move]}"
