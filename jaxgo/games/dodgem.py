"""Dodgem: two teams of cars cross each other's path, one driving up and one driving right, and leave the board."""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int8, Int16, Int32, UInt8, UInt32

from jaxgo.core import board, zobrist
from jaxgo.core.errors import UsageError
from jaxgo.core.game import (
    EMPTY,
    Action,
    Game,
    Piece,
    RepetitionResult,
    check_ply_limit,
    check_repetition_result,
    returns_of_winner,
)

FORWARD, LEFT, RIGHT = range(3)  # action = cell * 3 + one of these


class DodgemState(NamedTuple):
    cars: UInt8[Array, "2 n"]  # the squares of each seat: one byte a row, bit c is column c
    to_play: Int8[Array, ""]
    ply: Int16[Array, ""]


@dataclasses.dataclass(frozen=True)
class Dodgem(Game[DodgemState]):
    """Seat 0 is Blue, seat 1 Red. `blocked_wins` says whether who is locked in wins."""

    size: int = 3
    blocked_wins: bool = True  # what it means to be locked in
    repetition: RepetitionResult = "none"
    move_limit: int = 0  # plies, a draw then; 0: 40 * size

    pieces = (EMPTY, Piece("B", 0), Piece("R", 1))
    ply_limit = "move_limit"
    notation = "the car's square and where its driver goes: `c1-forward`, `c1-left`, `c1-right`"

    @property
    def how_to_play(self) -> str:
        blocked = "wins, as to lock somebody in is forbidden" if self.blocked_wins else "loses"
        return (
            "Drive one of your cars a square forward or sideways, onto an empty square. The first player's cars start "
            "on row 1, the second player's on file a, and drive to the opposite edge; from there they leave the board "
            f"by driving forward. Whose last car has left wins. Who cannot move {blocked}."
        )

    def __post_init__(self) -> None:
        if not 3 <= self.size <= 8:
            raise UsageError(f"a Dodgem board of size {self.size} is not between 3 and 8")
        check_repetition_result(self, "Dodgem")
        check_ply_limit(self, "Dodgem", "40 * size")

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, self.size

    @property
    def num_actions(self) -> int:
        return 3 * self.size * self.size

    @property
    def max_plies(self) -> int:
        return self.move_limit or 40 * self.size

    def init(self, key: Array) -> DodgemState:
        cells = np.zeros((self.size, self.size), np.int8)
        cells[-1, 1:] = 1
        cells[:-1, 0] = 2
        return self.place(cells.reshape(-1), 0)

    def _own(self, state: DodgemState) -> UInt8[Array, " n"]:
        return jnp.where(state.to_play == 0, state.cars[0], state.cars[1])

    def _moves(self, state: DodgemState) -> UInt8[Array, "3 n"]:
        """Which of the mover's cars may go forward, left and right."""
        n = self.size
        full = np.uint8(2**n - 1)
        empty = ~(state.cars[0] | state.cars[1]) & full
        off = jnp.zeros(1, jnp.uint8)
        north, south = jnp.concatenate([off, empty[:-1]]), jnp.concatenate([empty[1:], off])
        east, west = empty >> 1, (empty << 1) & full
        far_row = np.where(np.arange(n) == 0, full, np.uint8(0))
        far_column = np.uint8(1 << (n - 1))
        blue = jnp.stack([north | far_row, west, east])
        red = jnp.stack([east | far_column, north, south])
        return jnp.where(state.to_play == 0, blue, red) & self._own(state)[None]

    def _unpack(self, rows: UInt8[Array, "k n"]) -> Bool[Array, "k n n"]:
        columns = jnp.arange(self.size, dtype=jnp.uint8)
        return (rows[:, :, None] >> columns[None, None]) & 1 != 0

    def legal(self, state: DodgemState) -> Bool[Array, " A"]:
        return self._unpack(self._moves(state)).transpose(1, 2, 0).reshape(self.num_actions)

    def step(self, state: DodgemState, action: Action) -> DodgemState:
        n = self.size
        cell, move = action // 3, action % 3
        row, column = cell // n, cell % n
        first = state.to_play == 0
        aside = jnp.where(move == FORWARD, 0, 2 * move - 3)  # -1 is left
        ahead = jnp.where(move == FORWARD, 1, 0)
        to_row = row + jnp.where(first, -ahead, aside)
        to_column = column + jnp.where(first, aside, ahead)
        rows = jnp.arange(n)
        bit = jnp.uint8(1)
        source = jnp.where(rows == row, bit << column.astype(jnp.uint8), jnp.uint8(0))
        lands = (rows == to_row) & (to_column < n)
        target = jnp.where(lands, bit << jnp.minimum(to_column, n - 1).astype(jnp.uint8), jnp.uint8(0))
        change = source ^ target
        cars = state.cars ^ jnp.where(jnp.stack([first, ~first])[:, None], change[None], jnp.uint8(0))
        return DodgemState(cars, jnp.int8(1) - state.to_play, state.ply + jnp.int16(1))

    def _winner(self, state: DodgemState) -> Int8[Array, ""]:
        """1 or 2 for the seat that has won, 0 for none."""
        gone = (state.cars == 0).all(axis=1)
        blocked = (self._moves(state) == 0).all()
        mover = state.to_play + jnp.int8(1)
        by_block = jnp.where(blocked, mover if self.blocked_wins else jnp.int8(3) - mover, jnp.int8(0))
        return jnp.where(gone[0], jnp.int8(1), jnp.where(gone[1], jnp.int8(2), by_block))

    def over(self, state: DodgemState) -> Bool[Array, ""]:
        return (self._winner(state) != 0) | (state.ply >= self.max_plies)

    def returns(self, state: DodgemState) -> Float32[Array, " 2"]:
        return returns_of_winner(self._winner(state))

    def observe(self, state: DodgemState) -> Bool[Array, "H W 4"]:
        """Own cars, the opponent's, and the far edges: where the mover leaves, and where the opponent does.

        The edges say who drives where, so that the mirror that swaps the teams swaps nothing but squares.
        """
        n = self.size
        rows, columns = np.divmod(np.arange(n * n).reshape(n, n), n)
        cars, edges = self._unpack(state.cars), jnp.asarray(np.stack([rows == 0, columns == n - 1]))
        first = state.to_play == 0
        planes = [jnp.where(first, pair, pair[::-1]) for pair in (cars, edges)]
        return jnp.concatenate(planes).transpose(1, 2, 0)

    def cells(self, state: DodgemState) -> Int8[Array, " cells"]:
        blue, red = self._unpack(state.cars).astype(jnp.int8)
        return (blue + red * jnp.int8(2)).reshape(-1)

    def hash(self, state: DodgemState) -> UInt32[Array, "2"]:
        rows = jnp.pad(state.cars, ((0, 0), (0, 8 - self.size))).reshape(4, 4)
        words = jax.lax.bitcast_convert_type(rows, jnp.uint32)
        return zobrist.of_words(jnp.append(words, state.to_play.astype(jnp.uint32)))

    def distances(self, state: DodgemState) -> Int32[Array, "2"]:
        """The forward moves that each team still needs."""
        n = self.size
        cars = self._unpack(state.cars)
        blue = jnp.where(cars[0], jnp.arange(1, n + 1, dtype=jnp.int32)[:, None], 0).sum(dtype=jnp.int32)
        red = jnp.where(cars[1], jnp.arange(n, 0, -1, dtype=jnp.int32)[None], 0).sum(dtype=jnp.int32)
        return jnp.stack([blue, red])

    def heuristic(self, state: DodgemState) -> Float32[Array, ""]:
        """The race: how many forward moves more the opponent still needs, as a share of the most there can be."""
        blue, red = self.distances(state)
        lead = (red - blue).astype(jnp.float32) / (self.size * (self.size - 1))
        lead = jnp.clip(lead, -1.0, 1.0)  # a board that was set up may have more cars
        return jnp.where(state.to_play == 0, lead, -lead)

    def move_weights(self, state: DodgemState) -> Float32[Array, " A"]:
        """1, plus 10 for going forward, plus 5 more where that leaves the board."""
        n = self.size
        rows, columns = np.divmod(np.arange(n * n), n)
        forward = np.arange(3) == FORWARD
        blue, red = (1 + forward * (10.0 + 5.0 * far[:, None]) for far in (rows == 0, columns == n - 1))
        blue, red = (jnp.asarray(weights.reshape(-1), jnp.float32) for weights in (blue, red))
        return jnp.where(state.to_play == 0, blue, red)

    def symmetries(self) -> board.Symmetries:
        """The mirror along the rising diagonal: it swaps the teams, and with them the mover and left with right."""
        n = self.size
        grid = np.arange(n * n, dtype=np.int32).reshape(n, n)
        cells = np.stack([grid.reshape(-1), grid[::-1, ::-1].T.reshape(-1)])
        moves = np.array([[FORWARD, LEFT, RIGHT], [FORWARD, RIGHT, LEFT]], np.int32)
        actions = cells[:, :, None] * 3 + moves[:, None, :]
        return board.Symmetries(cells, actions.reshape(2, -1))

    def place(self, cells: np.ndarray, to_play: int) -> DodgemState:
        grid = self.drawn(cells, to_play).reshape(self.size, self.size)
        bits = 1 << np.arange(self.size)
        cars = np.stack([((grid == seat + 1) * bits).sum(axis=1) for seat in range(2)]).astype(np.uint8)
        return DodgemState(jnp.asarray(cars), jnp.int8(to_play), jnp.int16(0))

    def action_name(self, action: int) -> str:
        """`c1-forward`, `c1-left`, `c1-right`: the driver's left and right, whoever drives there."""
        cell, move = divmod(action, 3)
        return f"{board.square_name(cell, self.size, self.size)}-{('forward', 'left', 'right')[move]}"
