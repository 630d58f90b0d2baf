"""The mine race: one token, two players, and a road of mines.

Boards are drawn as text: `I` is a mine, `.` and `-` are safe. The smallest game with a plan in it ("leave a multiple of
five"), made for testing search.
"""

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int8, Int16, UInt32

from jaxgo.core import zobrist
from jaxgo.core.errors import UsageError
from jaxgo.core.game import EMPTY, Action, Game, Piece, returns_of_seat

REACH = 4
SAFE = ".-"
MINE = "I"
AVOIDED = 1e-9  # a weight that is never drawn beside a 1, and still leaves a choice among mines
TOKEN, TOKEN_ON_MINE = 3, 4  # codes after the empty cell, the mine and the dash


class MineRaceState(NamedTuple):
    token: Int16[Array, ""]  # the cell
    to_play: Int8[Array, ""]
    ply: Int16[Array, ""]


@dataclasses.dataclass(frozen=True)
class MineRace(Game[MineRaceState]):
    """With `lookahead`, playouts step on a mine only where every move does."""

    board: str = "....-....-....-IIII"
    lookahead: bool = False

    pieces = (EMPTY, Piece(MINE, -1), Piece("-", -1), Piece("@", -1), Piece("*", -1))
    notation = "how many cells ahead: `3`"

    @property
    def how_to_play(self) -> str:
        return f"Move the token 1 to {REACH} cells ahead, both players the same one. Who lands on a mine loses."

    def __post_init__(self) -> None:
        if set(self.board) - set(SAFE + MINE):
            raise UsageError(f"the board {self.board!r} has other signs than '.', '-' and 'I'; draw it with these")
        if not (2 <= len(self.board) <= 1000 and self.board[0] != MINE and self.board[-1] == MINE):
            raise UsageError(f"the board {self.board!r} must start safe and end with a mine, within 1000 cells")

    @property
    def shape(self) -> tuple[int, int]:
        return 1, len(self.board)

    @property
    def num_actions(self) -> int:
        return REACH

    @property
    def max_plies(self) -> int:
        return len(self.board)

    def _mines(self) -> np.ndarray:
        return np.array([cell == MINE for cell in self.board])

    def _ahead(self, state: MineRaceState) -> tuple[Bool[Array, " A"], Bool[Array, " A"]]:
        """Which of the next cells are on the board, and which hold a mine."""
        cells = state.token + jnp.arange(1, REACH + 1, dtype=jnp.int16)
        return cells < len(self.board), jnp.asarray(np.append(self._mines(), [False] * REACH))[cells]

    def init(self, key: Array) -> MineRaceState:
        return MineRaceState(jnp.int16(0), jnp.int8(0), jnp.int16(0))

    def legal(self, state: MineRaceState) -> Bool[Array, " A"]:
        return self._ahead(state)[0]

    def step(self, state: MineRaceState, action: Action) -> MineRaceState:
        token = state.token + action.astype(jnp.int16) + jnp.int16(1)
        return MineRaceState(token, jnp.int8(1) - state.to_play, state.ply + jnp.int16(1))

    def over(self, state: MineRaceState) -> Bool[Array, ""]:
        return jnp.asarray(self._mines())[state.token]

    def returns(self, state: MineRaceState) -> Float32[Array, " 2"]:
        """The seat to move did not step on the mine."""
        return returns_of_seat(jnp.float32(1), state.to_play)

    def observe(self, state: MineRaceState) -> Bool[Array, "1 W 2"]:
        """The token and the mines; whose turn it is changes nothing."""
        token = jnp.arange(len(self.board), dtype=jnp.int16) == state.token
        return jnp.stack([token, jnp.asarray(self._mines())], axis=-1)[None]

    def cells(self, state: MineRaceState) -> Int8[Array, " cells"]:
        road = np.array([{".": 0, MINE: 1, "-": 2}[cell] for cell in self.board], np.int8)
        token = np.where(self._mines(), np.int8(TOKEN_ON_MINE), np.int8(TOKEN))
        return jnp.where(jnp.arange(len(road), dtype=jnp.int16) == state.token, token, road)

    def hash(self, state: MineRaceState) -> UInt32[Array, "2"]:
        return jnp.asarray(zobrist.table("mine race", len(self.board), 2))[state.token, state.to_play]

    def heuristic(self, state: MineRaceState) -> Float32[Array, ""]:
        """-1 where every move steps on a mine; nothing is known elsewhere."""
        inside, mine = self._ahead(state)
        return jnp.where((mine | ~inside).all(), jnp.float32(-1), jnp.float32(0))

    def move_weights(self, state: MineRaceState) -> Float32[Array, " A"]:
        if not self.lookahead:
            return jnp.ones(REACH, jnp.float32)
        return jnp.where(self._ahead(state)[1], jnp.float32(AVOIDED), jnp.float32(1))

    def place(self, cells: np.ndarray, to_play: int) -> MineRaceState:
        """Only the token is read; the road is the game's own, whatever is drawn."""
        (token,) = np.nonzero(self.drawn(cells, to_play) >= TOKEN)
        if len(token) != 1:
            raise UsageError(f"a position of the mine race has one token '@', not {len(token)}; draw exactly one")
        return MineRaceState(jnp.int16(token[0]), jnp.int8(to_play), jnp.int16(0))

    def edges(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return tuple(str(cell) for cell in range(len(self.board))), ()

    def action_name(self, action: int) -> str:
        return str(action + 1)
