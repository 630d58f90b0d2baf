"""k in a row on any rectangular board: tic-tac-toe and its relatives.

The smallest game of the house, and the one that `docs/adding-a-game.md` walks through.
"""

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int8, Int16, UInt32

from jaxgo.core import board, zobrist
from jaxgo.core.errors import UsageError
from jaxgo.core.game import EMPTY, Action, Game, Piece, returns_of_winner


class MnkState(NamedTuple):
    stones: Int8[Array, " cells"]  # 0 empty, 1 first mover, 2 second mover
    to_play: Int8[Array, ""]
    ply: Int16[Array, ""]
    winner: Int8[Array, ""]  # 0 nobody yet, 1 or 2
    key: UInt32[Array, "2"]


@dataclasses.dataclass(frozen=True)
class Mnk(Game[MnkState]):
    """Tic-tac-toe is `k` = 3 on 3 x 3 cells."""

    height: int = 3
    width: int = 3
    k: int = 3

    pieces = (EMPTY, Piece("X", 0), Piece("O", 1))
    notation = "a letter and a row from the bottom: `b2`"

    @property
    def how_to_play(self) -> str:
        return (
            f"Put a stone on an empty cell. Who first has {self.k} of their own in a row, column or diagonal wins; a "
            "full board without that is a draw."
        )

    def __post_init__(self) -> None:
        if not (1 <= self.height <= 26 and 1 <= self.width <= 26):
            raise UsageError(f"a board of {self.height} x {self.width} cells is not between 1 x 1 and 26 x 26")
        if not 1 <= self.k <= max(self.height, self.width):
            raise UsageError(f"k={self.k} in a row do not fit on {self.height} x {self.width} cells")

    @property
    def shape(self) -> tuple[int, int]:
        return self.height, self.width

    @property
    def num_actions(self) -> int:
        return self.height * self.width

    @property
    def max_plies(self) -> int:
        return self.num_actions

    def init(self, key: Array) -> MnkState:
        stones = jnp.zeros(self.num_actions, jnp.int8)
        return MnkState(stones, jnp.int8(0), jnp.int16(0), jnp.int8(0), zobrist.zero())

    def legal(self, state: MnkState) -> Bool[Array, " A"]:
        return state.stones == 0

    def step(self, state: MnkState, action: Action) -> MnkState:
        stone = state.to_play + jnp.int8(1)
        stones = state.stones.at[action].set(stone)
        # how far the mover's stones reach from the new one, in each of the eight directions
        ahead = jnp.asarray(board.rays(self.height, self.width))[action, :, : self.k - 1]
        own = jnp.append(stones, jnp.int8(0))[ahead] == stone
        reach = jnp.cumprod(own.astype(jnp.int8), axis=1).sum(axis=1)
        runs = 1 + reach[jnp.array([0, 1, 4, 5])] + reach[jnp.array([2, 3, 6, 7])]
        key = state.key ^ jnp.asarray(zobrist.table("stones", self.num_actions, 2))[action, state.to_play]
        return MnkState(
            stones=stones,
            to_play=jnp.int8(1) - state.to_play,
            ply=state.ply + jnp.int16(1),
            winner=jnp.where((runs >= self.k).any(), stone, jnp.int8(0)),
            key=key,
        )

    def over(self, state: MnkState) -> Bool[Array, ""]:
        return (state.winner != 0) | (state.ply >= self.num_actions)

    def returns(self, state: MnkState) -> Float32[Array, " 2"]:
        return returns_of_winner(state.winner)

    def observe(self, state: MnkState) -> Bool[Array, "H W 2"]:
        own = state.to_play + jnp.int8(1)
        planes = jnp.stack([state.stones == own, state.stones == 3 - own], axis=-1)
        return planes.reshape(self.height, self.width, 2)

    def cells(self, state: MnkState) -> Int8[Array, " cells"]:
        return state.stones

    def hash(self, state: MnkState) -> UInt32[Array, "2"]:
        return state.key ^ jnp.asarray(zobrist.table("turn", 2))[state.to_play]

    def symmetries(self) -> board.Symmetries:
        return board.of_cell_actions(board.symmetries(self.height, self.width))

    def place(self, cells: np.ndarray, to_play: int) -> MnkState:
        cells = self.drawn(cells, to_play)
        stones = jnp.asarray(cells)
        key = zobrist.of_cells(zobrist.table("stones", self.num_actions, 2), stones)
        ply = jnp.int16(int((cells > 0).sum()))
        won = board.winner(cells.reshape(self.height, self.width), self.k, to_play)
        return MnkState(stones, jnp.int8(to_play), ply, jnp.int8(won), key)

    def action_name(self, action: int) -> str:
        return board.square_name(action, self.height, self.width)
