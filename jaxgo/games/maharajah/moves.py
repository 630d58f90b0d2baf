"""The moves of Maharajah and the Sepoys: lines of sight, pins, checks and castling, for all squares at once."""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Int8, UInt32

from jaxgo.core.bitwise import union
from jaxgo.core.board import STEPS
from jaxgo.games.boards import nibbles
from jaxgo.games.boards.nibbles import (
    EACH,
    KNIGHT_STEPS,
    OPPOSITE,
    Board,
    any_square,
    equal,
    leaps,
    look,
    nonzero,
    shift,
    widen,
)

GLYPHS = ".PNBRQKM"
PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING, MAHARAJA = range(1, 8)
SHORT, LONG = 1, 2  # castling rights
ALL = np.full(8, EACH)
# the line of each direction, in the order of nibbles.AXES
LINE = np.array([next(i for i, a in enumerate(nibbles.AXES) if d in (a, OPPOSITE[a])) for d in range(8)])


class Moves(NamedTuple):
    """All moves of the mover: along lines, as `nibbles.within` takes them, and knight jumps."""

    reach: UInt32[Array, "sets 8 8"]
    landing: UInt32[Array, "sets 8"]
    jumpers: UInt32[Array, "8"]
    jump_landing: UInt32[Array, "8"]
    attacked: Bool[Array, ""]  # the mover's royal piece is (for the goal "mate")

    def mask(self) -> Bool[Array, "64 64"]:
        """All moves, `[from, to]`."""
        return nibbles.within(self.reach, self.landing, self.jumpers, self.jump_landing)

    def any(self) -> Bool[Array, ""]:
        """Whether there is a move. Where some squares may not be landed on, only the mask can tell."""
        jumps = self.jumpers & leaps(self.jump_landing, KNIGHT_STEPS)
        return any_square(self.reach).any() | any_square(jumps)


@dataclasses.dataclass(frozen=True)
class MoveRules:
    """What the moves depend on beside the board."""

    forward: int  # the row step of pawns
    back: int  # the first square of the army's back row
    castles: bool
    mate: bool  # no move may leave the own royal piece attacked

    def army(self, men: Board, rights: Int8[Array, ""]) -> Moves:
        kind = by_kind(men)
        empty, king, enemy = kind[0], kind[KING], kind[MAHARAJA]
        # bit 0: a Maharaja is in sight, bit 1: the king is, bit 2: a Maharaja would be if the king were gone
        sight = look(enemy * 5 | king * 2, widen(empty) | king * 4)
        seen, jumped = union(sight), leaps(enemy, KNIGHT_STEPS)
        lit = seen & EACH | jumped
        straight, oblique = kind[ROOK] | kind[QUEEN], kind[BISHOP] | kind[QUEEN]
        ahead = look(empty | enemy, widen(empty))
        lines = ahead & widen(jnp.stack([straight] * 4 + [oblique] * 4)) | self._pawn_reach(kind[PAWN], empty, enemy)
        steps = nonzero(ahead) & king[None]
        castle = self._castling(rights, empty, lit, king)
        attacked = any_square(lit & king)
        if not self.mate:
            return _free_moves(lines | steps + castle, kind[KNIGHT], empty | enemy, attacked)
        lost = seen >> 2 & EACH | jumped
        steps = steps & ~jnp.stack([shift(lost, r, c) for r, c in STEPS])
        pinned = _between(sight)
        elsewhere = jnp.stack([union(pinned[np.delete(np.arange(4), line)]) for line in range(4)])
        checkers = enemy & (seen >> 1 | leaps(king, KNIGHT_STEPS))
        number = jax.lax.population_count(checkers).sum(dtype=jnp.uint32)
        cure = jnp.where(number == 1, checkers | union(pinned) & empty, jnp.uint32(0))
        landing = jnp.where(number == 0, jnp.asarray(ALL), cure)
        return Moves(
            reach=jnp.stack([lines & ~widen(elsewhere)[LINE], steps + castle]),
            landing=jnp.stack([landing, jnp.asarray(ALL)]),
            jumpers=kind[KNIGHT] & ~union(pinned),
            jump_landing=landing & (empty | enemy),
            attacked=attacked,
        )

    def _pawn_reach(self, pawns: Board, empty: Board, enemy: Board) -> UInt32[Array, "8 8"]:
        forward = self.forward
        home = np.zeros(8, np.uint32)
        home[6 if forward < 0 else 1] = EACH
        once = pawns & shift(empty, forward, 0)
        twice = once & shift(empty, 2 * forward, 0) & home
        reach = [jnp.zeros(8, jnp.uint32)] * 8
        reach[STEPS.index((forward, 0))] = once + twice
        for side in (-1, 1):
            reach[STEPS.index((forward, side))] = pawns & shift(enemy, forward, side)
        return jnp.stack(reach)

    def _castling(self, rights: Int8[Array, ""], empty: Board, lit: Board, king: Board) -> UInt32[Array, "8 8"]:
        """One step more for the king where he may castle: squares between empty, his three squares not attacked."""
        extra = [jnp.zeros(8, jnp.uint32)] * 8
        if self.castles:
            for right, side, between, path in ((SHORT, 1, (5, 6), (4, 5, 6)), (LONG, -1, (1, 2, 3), (4, 3, 2))):
                clear = jnp.asarray(nibbles.squares(tuple(self.back + c for c in between)))
                quiet = jnp.asarray(nibbles.squares(tuple(self.back + c for c in path)))
                allowed = (rights & right != 0) & ~any_square(clear & ~empty) & ~any_square(quiet & lit)
                extra[STEPS.index((0, side))] = jnp.where(allowed, king, jnp.uint32(0))
        return jnp.stack(extra)

    def maharaja(self, men: Board) -> Moves:
        kind = by_kind(men)
        empty, own = kind[0], kind[MAHARAJA]
        free = jnp.asarray(ALL) & ~own
        reach = look(free, widen(empty)) & widen(own)[None]
        if not self.mate:
            return _free_moves(reach, own, free, jnp.bool_(False))
        alone = jax.lax.population_count(own).sum(dtype=jnp.uint32) == 1
        lit = jnp.where(alone, self._lit_by_army(kind), jnp.uint32(0))
        dark = jnp.asarray(ALL) & ~lit
        # the second set is the king's in the moves of the army
        return Moves(
            reach=jnp.stack([reach, jnp.zeros_like(reach)]),
            landing=jnp.stack([dark, dark]),
            jumpers=own,
            jump_landing=dark & free,
            attacked=any_square(own & lit),
        )

    def _lit_by_army(self, kind: UInt32[Array, "8 8"]) -> Board:
        """The squares that the army attacks when the Maharaja is lifted from the board."""
        straight, oblique = kind[ROOK] | kind[QUEEN], kind[BISHOP] | kind[QUEEN]
        sight = look(straight | oblique << 1, widen(kind[0] | kind[MAHARAJA]))
        lines = union(sight[:4]) | union(sight[4:]) >> 1
        steps = leaps(kind[KNIGHT], KNIGHT_STEPS) | leaps(kind[KING], STEPS)
        pawns = leaps(kind[PAWN], ((-self.forward, -1), (-self.forward, 1)))
        return (lines | steps | pawns) & EACH

    def with_rook(self, men: Board, king_moved: Bool[Array, ""], step: Int[Array, ""]) -> Board:
        """The board after the rook's part of castling, if a king went two squares."""
        if self.castles:
            for leap, columns in ((2, (7, 5)), (-2, (0, 3))):
                ways = nibbles.squares(tuple(self.back + c for c in columns)) * np.uint32(ROOK)
                men = men ^ jnp.where(king_moved & (step == leap), ways, jnp.uint32(0))
        return men

    def spoilt(self, touched: Board) -> Int8[Array, ""]:
        """The castling rights that end when these squares are moved from or to."""
        short, long = (any_square(touched & nibbles.squares((self.back + c, self.back + 4))) for c in (7, 0))
        return jnp.where(short, jnp.int8(SHORT), jnp.int8(0)) | jnp.where(long, jnp.int8(LONG), jnp.int8(0))


def by_kind(men: Board) -> UInt32[Array, "8 8"]:
    """Where each kind of man stands, `[code, row]`; code 0 is the empty square."""
    return jnp.stack([equal(men, code) for code in range(8)])


def _free_moves(reach: UInt32[Array, "8 8"], jumpers: Board, free: Board, attacked: Bool[Array, ""]) -> Moves:
    """Moves that may land on every square they reach."""
    return Moves(reach[None], jnp.asarray(ALL)[None], jumpers, free, attacked)


def _between(sight: UInt32[Array, "8 8"]) -> UInt32[Array, "4 8"]:
    """On each line, the squares that have the king in sight on one side and a Maharaja on the other."""
    maharaja, king = sight & EACH, sight >> 1 & EACH
    ends = [(a, OPPOSITE[a]) for a in nibbles.AXES]
    return jnp.stack([maharaja[a] & king[b] | king[a] & maharaja[b] for a, b in ends])
