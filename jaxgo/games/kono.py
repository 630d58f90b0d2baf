"""Four-Field Kono: captures by a jump over a piece of one's own, from a board that starts without an empty point."""

import dataclasses
import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int8, Int16, UInt32

from jaxgo.core import board, zobrist
from jaxgo.core.errors import UsageError
from jaxgo.core.game import (
    EMPTY,
    Action,
    AuxTarget,
    Game,
    Piece,
    RepetitionResult,
    check_ply_limit,
    check_repetition_result,
    returns_of_seat,
)
from jaxgo.games.boards import bits

SIDE, CELLS, ACTIONS = 4, 16, 128  # action = from * 8 + kind * 4 + direction
KINDS = ("-", "x")  # step, jump


class KonoState(NamedTuple):
    stones: UInt32[Array, "2"]  # the points of each seat, as bits
    to_play: Int8[Array, ""]
    ply: Int16[Array, ""]


@functools.cache
def _targets() -> np.ndarray:
    """`int32[ACTIONS]`: the point where each action ends; off the board = CELLS."""
    return board.rays(SIDE, SIDE)[:, :4, :2].transpose(0, 2, 1).reshape(-1)


@functools.cache
def _turned() -> np.ndarray:
    """`uint32[2**16, 8]`: every set of points under the symmetries of the square."""
    sets = np.arange(2**CELLS, dtype=np.uint32)[:, None] >> np.arange(CELLS, dtype=np.uint32) & 1
    cells = board.symmetries(SIDE, SIDE)
    return np.stack(
        [(sets[:, turn] << np.arange(CELLS, dtype=np.uint32)).sum(axis=1) for turn in cells], axis=1
    ).astype(np.uint32)


@dataclasses.dataclass(frozen=True)
class Kono(Game[KonoState]):
    """`alive_min` is the fewest pieces that fight on; `compulsory` says whether a capture is."""

    alive_min: int = 2
    compulsory: bool = False
    repetition: RepetitionResult = "none"
    max_plies: int = 200  # the game is a draw then

    pieces = (EMPTY, Piece("B", 0), Piece("W", 1))
    grid = "points"
    notation = "the two points of a step, `c2-b2`, or of a jump that captures, `c1xc3`"

    @property
    def how_to_play(self) -> str:
        must = " Who can capture must." if self.compulsory else ""
        left = "one piece left" if self.alive_min == 2 else "no piece left"
        return (
            "Move a piece along a line to an empty point beside it; or capture: jump over a piece of your own beside "
            f"it onto an enemy piece right behind that.{must} Who has {left}, or cannot move, loses."
        )

    def __post_init__(self) -> None:
        if self.alive_min not in (1, 2):
            raise UsageError(f"alive_min={self.alive_min} of Kono is the fewest pieces that fight on; choose 1 or 2")
        check_repetition_result(self, "Kono")
        check_ply_limit(self, "Kono")

    @property
    def shape(self) -> tuple[int, int]:
        return SIDE, SIDE

    @property
    def num_actions(self) -> int:
        return ACTIONS

    def init(self, key: Array) -> KonoState:
        return self.place(np.repeat([2, 1], 8), 0)

    def _sides(self, state: KonoState) -> tuple[bits.Word, bits.Word]:
        """The stones of the mover and of the other seat."""
        first = state.to_play == 0
        black, white = state.stones
        return jnp.where(first, black, white), jnp.where(first, white, black)

    def _moves(self, state: KonoState) -> UInt32[Array, "8"]:
        """For every kind and direction, the points from which the mover may go there."""
        own, enemy = self._sides(state)
        empty = ~(own | enemy)
        steps = [own & bits.facing(empty, SIDE, SIDE, d) for d in range(4)]
        jumps = [own & bits.facing(own & bits.facing(enemy, SIDE, SIDE, d), SIDE, SIDE, d) for d in range(4)]
        if self.compulsory:
            quiet = (jnp.stack(jumps) == 0).all()
            steps = [jnp.where(quiet, s, jnp.uint32(0)) for s in steps]
        return jnp.stack(steps + jumps)

    def legal(self, state: KonoState) -> Bool[Array, " A"]:
        return bits.unpack(self._moves(state), CELLS).T.reshape(ACTIONS)

    def step(self, state: KonoState, action: Action) -> KonoState:
        source = action >> 3
        target = jnp.asarray(_targets())[action]
        own, enemy = self._sides(state)
        own = own ^ bits.bit(source) ^ bits.bit(target)
        enemy = enemy & ~bits.bit(target)
        first = state.to_play == 0
        return KonoState(
            stones=jnp.where(first, jnp.stack([own, enemy]), jnp.stack([enemy, own])),
            to_play=jnp.int8(1) - state.to_play,
            ply=state.ply + jnp.int16(1),
        )

    def _lost(self, state: KonoState) -> tuple[Bool[Array, ""], Bool[Array, ""]]:
        """Whether the mover has lost, and whether the other seat has."""
        own, enemy = (bits.count(side) for side in self._sides(state))
        stuck = (self._moves(state) == 0).all()
        lost = (own < self.alive_min) | (stuck & (enemy >= self.alive_min))
        return lost, (enemy < self.alive_min) & ~lost

    def over(self, state: KonoState) -> Bool[Array, ""]:
        mine, yours = self._lost(state)
        return mine | yours | (state.ply >= self.max_plies)

    def returns(self, state: KonoState) -> Float32[Array, " 2"]:
        mine, yours = self._lost(state)
        return returns_of_seat(yours.astype(jnp.float32) - mine.astype(jnp.float32), state.to_play)

    def observe(self, state: KonoState) -> Bool[Array, "H W 2"]:
        planes = bits.unpack(jnp.stack(self._sides(state)), CELLS)
        return planes.T.reshape(SIDE, SIDE, 2)

    def cells(self, state: KonoState) -> Int8[Array, " cells"]:
        black, white = bits.unpack(state.stones, CELLS).astype(jnp.int8)
        return black + white * jnp.int8(2)

    def aux_targets(self) -> tuple[AuxTarget, ...]:
        return (AuxTarget("ownership", "cells"),)

    def aux_values(self, state: KonoState) -> dict[str, Float32[Array, "*target"]]:
        """Whose piece each point has at the end."""
        black, white = bits.unpack(state.stones, CELLS).astype(jnp.float32)
        return {"ownership": black - white}

    def hash(self, state: KonoState) -> UInt32[Array, "2"]:
        black, white = state.stones
        return zobrist.of_words(jnp.stack([black | white << 16, state.to_play.astype(jnp.uint32)]))

    def class_key(self, state: KonoState) -> UInt32[Array, "2"]:
        """The least of the eight symmetric boards as the mover sees them; both players move alike."""
        own, enemy = self._sides(state)
        turned = jnp.asarray(_turned())
        boards = turned[own] | turned[enemy] << jnp.uint32(CELLS)
        return zobrist.of_words(boards.min()[None])

    def heuristic(self, state: KonoState) -> Float32[Array, ""]:
        """The lead in pieces."""
        own, enemy = (bits.count(side) for side in self._sides(state))
        return jnp.clip((own - enemy).astype(jnp.float32) / 8, -1.0, 1.0)  # positions that are set may have more than 8

    def move_weights(self, state: KonoState) -> Float32[Array, " A"]:
        """Captures are ten times as likely."""
        return jnp.where(jnp.arange(ACTIONS) & 4 != 0, 10.0, 1.0).astype(jnp.float32)

    def symmetries(self) -> board.Symmetries:
        """All of the square: no piece knows where forward is, and only the start tells the sides apart."""
        cells = board.symmetries(SIDE, SIDE)
        turns = board.direction_symmetries(SIDE, SIDE)
        kinds = np.arange(2)[None, None, :, None]
        actions = cells[:, :, None, None] * 8 + kinds * 4 + turns[:, None, None, :]
        return board.Symmetries(cells, actions.reshape(len(cells), ACTIONS).astype(np.int32))

    def place(self, cells: np.ndarray, to_play: int) -> KonoState:
        code = jnp.asarray(self.drawn(cells, to_play))
        stones = jnp.stack([bits.pack(code == seat + 1) for seat in range(2)])
        return KonoState(stones, jnp.int8(to_play), jnp.int16(0))

    def action_name(self, action: int) -> str:
        """`c2-b2` for a step, `c1xc3` for a jump; what leaves the board, and so is never legal, as `a4-n`."""
        source, kind = action >> 3, KINDS[(action >> 2) & 1]
        target = int(_targets()[action])
        end = "nesw"[action & 3] if target == CELLS else board.square_name(target, SIDE, SIDE)
        return board.square_name(source, SIDE, SIDE) + kind + end
