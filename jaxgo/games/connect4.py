"""Connect Four on any board: discs fall down columns, and k in a row win.

The board is two bit boards of a few words each (see `boards.stacks`), so a win is found by shifting whole boards: with
one spare bit above each column, the four directions are shifts by 1, by one column, and by one column and a row more
or less.
"""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int8, Int16, UInt32

from jaxgo.core import board, zobrist
from jaxgo.core.bitwise import union
from jaxgo.core.errors import UsageError
from jaxgo.core.game import EMPTY, Action, AuxTarget, Game, Piece, Threats, returns_of_winner
from jaxgo.core.tracing import traced_once
from jaxgo.games.boards import stacks
from jaxgo.games.boards.stacks import Stacks

Word = UInt32[Array, ""]


class ConnectFourState(NamedTuple):
    stones: UInt32[Array, "2 words"]  # the mover's, then the other's
    to_play: Int8[Array, ""]
    ply: Int16[Array, ""]
    winner: Int8[Array, ""]  # 0 nobody yet, 1 or 2


@functools.cache
def lines(width: int, height: int, k: int) -> np.ndarray:
    """`uint32[n, words]`: every k cells in a straight line."""
    found = []
    for x, y in np.ndindex(width, height):
        for dx, dy in board.AXES:
            cells = [(x + i * dx, y + i * dy) for i in range(k)]
            if all(0 <= column < width and 0 <= row < height for column, row in cells):
                found.append(Stacks(width, height, spare=1).mask(cells))
    return np.stack(found)


@dataclasses.dataclass(frozen=True)
class ConnectFour(Game[ConnectFourState]):
    """`width` columns of `height` cells; the usual game has `k` = 4."""

    width: int = 7
    height: int = 6
    k: int = 4

    pieces = (EMPTY, Piece("X", 0), Piece("O", 1))
    notation = "the number of the column from the left: `4`"

    @property
    def how_to_play(self) -> str:
        return (
            f"Drop a disc into a column; it falls as far as it can. Who first has {self.k} of their own in a row, "
            "column or diagonal wins; a full board without that is a draw."
        )

    def __post_init__(self) -> None:
        if not (1 <= self.height <= 26 and 1 <= self.width <= 26):
            raise UsageError(f"{self.width} columns of {self.height} cells are not between 1 x 1 and 26 x 26")
        if not 1 <= self.k <= max(self.height, self.width):
            raise UsageError(f"k={self.k} in a row do not fit on {self.width} columns of {self.height} cells")

    @property
    def shape(self) -> tuple[int, int]:
        return self.height, self.width

    @property
    def num_actions(self) -> int:
        return self.width

    @property
    def max_plies(self) -> int:
        return self.height * self.width

    @property
    def columns(self) -> Stacks:
        return Stacks(self.width, self.height, spare=1)

    def init(self, key: Array) -> ConnectFourState:
        return ConnectFourState(jnp.zeros((2, self.columns.words), jnp.uint32), jnp.int8(0), jnp.int16(0), jnp.int8(0))

    def legal(self, state: ConnectFourState) -> Bool[Array, " A"]:
        return self.columns.room(state.stones[0] | state.stones[1])

    def step(self, state: ConnectFourState, action: Action) -> ConnectFourState:
        own, other = state.stones[0], state.stones[1]
        own = own | self.columns.landing(own | other, action)
        return ConnectFourState(
            stones=jnp.stack([other, own]),
            to_play=jnp.int8(1) - state.to_play,
            ply=state.ply + jnp.int16(1),
            winner=jnp.where(self.has_line(own), state.to_play + jnp.int8(1), jnp.int8(0)),
        )

    def has_line(self, stones: UInt32[Array, " words"]) -> Bool[Array, ""]:
        """Whether these stones have k in a row anywhere."""
        words = [stones[i] for i in range(self.columns.words)]
        column = self.columns.bits
        starts = jnp.uint32(0)
        for step in (1, column - 1, column, column + 1):
            run, length = words, 1
            while length < self.k:  # where runs of `length` start, doubled until it is k
                more = min(length, self.k - length)
                run = [a & b for a, b in zip(run, self._shift(run, more * step), strict=True)]
                length += more
            for word in run:
                starts |= word
        return starts != 0

    def _shift(self, words: list[Word], distance: int) -> list[Word]:
        """Every bit moves down by `distance`, across words."""
        size = self.columns.per_word * self.columns.bits
        full = jnp.uint32((1 << size) - 1)
        skip, low = divmod(distance, size)
        padded = [*words[skip:], *[jnp.uint32(0)] * (min(skip, len(words)) + 1)]
        if low == 0:
            return padded[: len(words)]
        up = jnp.uint32(size - low)
        return [padded[i] >> jnp.uint32(low) | padded[i + 1] << up & full for i in range(len(words))]

    def _shift_up(self, words: list[Word], distance: int) -> list[Word]:
        """Every bit moves up by `distance`, across words; what leaves the last one is lost."""
        size = self.columns.per_word * self.columns.bits
        full = jnp.uint32((1 << size) - 1)
        skip, low = divmod(distance, size)
        padded = [*[jnp.uint32(0)] * min(skip + 1, len(words) + 1), *words]  # one word below the first
        if low == 0:
            return padded[1 : len(words) + 1]
        down = jnp.uint32(size - low)
        return [padded[i + 1] << jnp.uint32(low) & full | padded[i] >> down for i in range(len(words))]

    @traced_once
    def winning_cells(self, own: UInt32[Array, " words"], taken: UInt32[Array, " words"]) -> UInt32[Array, " words"]:
        """The empty cells, in reach or not, where one disc more makes k in a row."""
        words = [own[i] for i in range(self.columns.words)]
        column, anywhere = self.columns.bits, [jnp.uint32(2**32 - 1)] * len(words)
        found = [jnp.uint32(0)] * len(words)
        for step in (1, column - 1, column, column + 1):
            # bit c of the i-th: whether c + i steps is own
            along = [self._shift(words, i * step) for i in range(self.k)]
            for gap in range(self.k):
                run = anywhere
                for i in range(self.k):
                    if i != gap:
                        run = [a & b for a, b in zip(run, along[i], strict=True)]
                found = [a | b for a, b in zip(found, self._shift_up(run, gap * step), strict=True)]
        # a line that would leave the board has its gap on a spare bit
        inside = self.columns.mask((x, y) for x in range(self.width) for y in range(self.height))
        return jnp.stack(found) & ~taken & jnp.asarray(inside)

    def over(self, state: ConnectFourState) -> Bool[Array, ""]:
        return (state.winner != 0) | (state.ply >= self.max_plies)

    def returns(self, state: ConnectFourState) -> Float32[Array, " 2"]:
        return returns_of_winner(state.winner)

    def observe(self, state: ConnectFourState) -> Bool[Array, "H W 4"]:
        """The mover's discs, the other's, and the cells that would win for each of them, in reach or not."""
        taken = state.stones[0] | state.stones[1]
        wins = jax.vmap(self.winning_cells, in_axes=(0, None))(state.stones, taken)
        boards = jax.vmap(self.columns.unpack)(jnp.concatenate([state.stones, wins]))  # [4, columns, height]
        return boards.transpose(2, 1, 0)[::-1]

    def cells(self, state: ConnectFourState) -> Int8[Array, " cells"]:
        own, other = self.columns.unpack(state.stones[0]), self.columns.unpack(state.stones[1])
        return stacks.codes(own, other, state.to_play).T[::-1].reshape(-1)

    def aux_targets(self) -> tuple[AuxTarget, ...]:
        return AuxTarget("ownership", "cells"), AuxTarget("line", "cells")

    def aux_values(self, state: ConnectFourState) -> dict[str, Float32[Array, "*target"]]:
        """Whose disc each cell has at the end, and which of the discs stand in a line that won."""
        codes, masks = self.cells(state), lines(self.width, self.height, self.k)
        owner = (codes == 1).astype(jnp.float32) - (codes == 2).astype(jnp.float32)
        full = stacks.holds_all(state.stones[1], masks)  # who moved last
        won = union(jnp.where(full[:, None], jnp.asarray(masks), jnp.uint32(0)))
        return {"ownership": owner, "line": jnp.where(self.columns.unpack(won).T[::-1].reshape(-1), owner, 0.0)}

    def hash(self, state: ConnectFourState) -> UInt32[Array, "2"]:
        return zobrist.of_words(jnp.append(state.stones.reshape(-1), state.to_play.astype(jnp.uint32)))

    def heuristic(self, state: ConnectFourState) -> Float32[Array, ""]:
        """Lines of k cells that only one seat has discs in."""
        return stacks.lead(state.stones[0], state.stones[1], lines(self.width, self.height, self.k))

    def threats(self, state: ConnectFourState) -> Threats:
        return stacks.threats(self.columns, state.stones, self.winning_cells)

    def safe(self, state: ConnectFourState, legal: Bool[Array, " A"]) -> Bool[Array, " A"]:
        return legal & stacks.safe_or_won(self.columns, state.stones, self.winning_cells)

    def symmetries(self) -> board.Symmetries:
        across = np.arange(self.width, dtype=np.int32)
        return board.Symmetries(board.symmetries(self.height, self.width)[:2], np.stack([across, across[::-1]]))

    def place(self, cells: np.ndarray, to_play: int) -> ConnectFourState:
        codes = self.drawn(cells, to_play).reshape(self.height, self.width)[::-1].T
        stones = jnp.asarray(self.columns.place(codes, to_play))
        won = board.winner(codes, self.k, to_play)
        return ConnectFourState(stones, jnp.int8(to_play), jnp.int16(int((codes > 0).sum())), jnp.int8(won))

    def edges(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return tuple(str(column + 1) for column in range(self.width)), ()

    def action_name(self, action: int) -> str:
        return str(action + 1)
