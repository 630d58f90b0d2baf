"""Three Musketeers: three who must capture at every turn against twenty-two who want to line them up."""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int8, Int16, UInt32

from jaxgo.core import board, zobrist
from jaxgo.core.errors import UsageError
from jaxgo.core.game import EMPTY, Action, Game, Piece
from jaxgo.games.boards import bits

SIDE, CELLS, ACTIONS = 5, 25, 100  # action = from * 4 + direction
START = (4, 12, 20)  # e5, c3, a1


class MusketeersState(NamedTuple):
    pieces: UInt32[Array, "2"]  # the squares of the musketeers and of the soldiers, as bits
    to_play: Int8[Array, ""]
    ply: Int16[Array, ""]


@functools.cache
def _lines() -> np.ndarray:
    """`uint32[10]`: the five rows and the five columns as bits."""
    grid = np.arange(CELLS).reshape(SIDE, SIDE)
    return np.array([np.sum(1 << line) for line in (*grid, *grid.T)], np.uint32)


@dataclasses.dataclass(frozen=True)
class Musketeers(Game[MusketeersState]):
    """The musketeers are seat 0. There are no draws, and no game outlasts the soldiers."""

    pieces = (EMPTY, Piece("M", 0), Piece("e", 1))
    notation = "the two squares of the move, `e5-d5`"

    @property
    def how_to_play(self) -> str:
        return (
            "The three musketeers move first, and must capture at every turn: one of them goes to the square of a "
            "soldier beside him, in his row or column. A soldier steps to an empty square beside him. When all three "
            "musketeers are in one row or column, whoever has brought them there, the soldiers win. Otherwise, who "
            "cannot move lets the musketeers win."
        )

    @property
    def shape(self) -> tuple[int, int]:
        return SIDE, SIDE

    @property
    def num_actions(self) -> int:
        return ACTIONS

    @property
    def max_plies(self) -> int:
        """Each of at most 22 captures, with a soldier's step between any two."""
        return 43

    def init(self, key: Array) -> MusketeersState:
        cells = np.full(CELLS, 2)
        cells[list(START)] = 1
        return self.place(cells, 0)

    def _moves(self, state: MusketeersState) -> UInt32[Array, "4"]:
        """For every direction, the squares from which the mover may go there."""
        musketeers, soldiers = state.pieces
        first = state.to_play == 0
        movers = jnp.where(first, musketeers, soldiers)
        goals = jnp.where(first, soldiers, ~(musketeers | soldiers))
        return jnp.stack([movers & bits.facing(goals, SIDE, SIDE, d) for d in range(4)])

    def legal(self, state: MusketeersState) -> Bool[Array, " A"]:
        return bits.unpack(self._moves(state), CELLS).T.reshape(ACTIONS)

    def step(self, state: MusketeersState, action: Action) -> MusketeersState:
        target = jnp.asarray(board.neighbours(SIDE, SIDE)).reshape(ACTIONS)[action]
        off, on = bits.bit(action >> 2), bits.bit(target)
        musketeers, soldiers = state.pieces
        captured = jnp.stack([musketeers ^ off ^ on, soldiers & ~on])
        stepped = jnp.stack([musketeers, soldiers ^ off ^ on])
        return MusketeersState(
            pieces=jnp.where(state.to_play == 0, captured, stepped),
            to_play=jnp.int8(1) - state.to_play,
            ply=state.ply + jnp.int16(1),
        )

    def _aligned(self, state: MusketeersState) -> Bool[Array, ""]:
        return (state.pieces[0] & ~jnp.asarray(_lines()) == 0).any()

    def over(self, state: MusketeersState) -> Bool[Array, ""]:
        return self._aligned(state) | (self._moves(state) == 0).all()

    def returns(self, state: MusketeersState) -> Float32[Array, " 2"]:
        sign = jnp.where(self._aligned(state), -1.0, 1.0).astype(jnp.float32)
        return jnp.stack([sign, -sign])

    def observe(self, state: MusketeersState) -> Bool[Array, "H W 3"]:
        """Own pieces, the opponent's, and a plane that says whether the mover has the soldiers."""
        musketeers, soldiers = bits.unpack(state.pieces, CELLS)
        first = state.to_play == 0
        own, enemy = jnp.where(first, musketeers, soldiers), jnp.where(first, soldiers, musketeers)
        planes = jnp.stack([own, enemy, jnp.broadcast_to(~first, (CELLS,))], axis=-1)
        return planes.reshape(SIDE, SIDE, 3)

    def cells(self, state: MusketeersState) -> Int8[Array, " cells"]:
        musketeers, soldiers = bits.unpack(state.pieces, CELLS).astype(jnp.int8)
        return musketeers + soldiers * jnp.int8(2)

    def hash(self, state: MusketeersState) -> UInt32[Array, "2"]:
        musketeers, soldiers = state.pieces
        return zobrist.of_words(jnp.stack([musketeers, soldiers | state.to_play.astype(jnp.uint32) << CELLS]))

    def heuristic(self, state: MusketeersState) -> Float32[Array, ""]:
        """The musketeers like rows and columns of their own, and few captures left, for a side without any wins."""
        apart = (state.pieces[0] & jnp.asarray(_lines()) != 0).sum(dtype=jnp.int32)  # of five rows and five columns
        captures = jax.lax.population_count(self._moves(state._replace(to_play=jnp.int8(0)))).sum(dtype=jnp.int32)
        value = 0.15 * (apart - 2).astype(jnp.float32) - 0.04 * captures.astype(jnp.float32)
        return jnp.where(state.to_play == 0, value, -value)

    def symmetries(self) -> board.Symmetries:
        """All of the square; the start keeps four of them."""
        cells = board.symmetries(SIDE, SIDE)
        actions = cells[:, :, None] * 4 + board.direction_symmetries(SIDE, SIDE)[:, None, :]
        return board.Symmetries(cells, actions.reshape(len(cells), ACTIONS))

    def place(self, cells: np.ndarray, to_play: int) -> MusketeersState:
        code = self.drawn(cells, to_play)
        if (code == 1).sum() != 3:
            raise UsageError(f"a position of Three Musketeers has 3 musketeers, not {(code == 1).sum()}")
        pieces = jnp.stack([bits.pack(jnp.asarray(code == kind)) for kind in (1, 2)])
        return MusketeersState(pieces, jnp.int8(to_play), jnp.int16(0))

    def action_name(self, action: int) -> str:
        """`e5-d5`, whoever moves; what leaves the board, and so is never legal, as `e5-n`."""
        source, direction = divmod(action, 4)
        target = int(board.neighbours(SIDE, SIDE)[source, direction])
        end = "nesw"[direction] if target == CELLS else board.square_name(target, SIDE, SIDE)
        return f"{board.square_name(source, SIDE, SIDE)}-{end}"
