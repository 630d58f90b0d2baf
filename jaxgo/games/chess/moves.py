"""How men move on a board of chess: lines of sight, pins, checks and castling, by sets of squares.

No move is tried. One look along all lines from the own king and from the other side's sliders tells which squares are
attacked, who gives check, and who is pinned along which line. Then each way, at each distance, has the set of squares
that are reached so; where a move came from follows from its way and its distance.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int8, UInt32

from jaxgo.core.bitwise import union
from jaxgo.core.board import Symmetries, symmetries
from jaxgo.games.boards import words
from jaxgo.games.boards.words import Words, both, either, without
from jaxgo.games.chess import tables
from jaxgo.games.chess.tables import BISHOP, DOWN, JUMPS, KING, KNIGHT, PAWN, QUEEN, ROOK, STRAIGHT, WAYS

EAST, SOUTH, SOUTH_EAST, SOUTH_WEST, NORTH_EAST, NORTH_WEST, NORTH, WEST = range(8)
ASIDE = np.array([True, False, True])  # of the steps of pawns, to column -1, 0, 1
# of each seat, whether a way is that of its pawns' step to column -1, 0, 1
PAWN_WAYS = np.arange(8)[:, None] == np.array([[[NORTH_WEST, NORTH, NORTH_EAST]], [[SOUTH_WEST, SOUTH, SOUTH_EAST]]])
LEVEL, OBLIQUE = np.isin(np.arange(8), (EAST, WEST)), ~STRAIGHT
SHORT, LONG = 1, 2  # castling rights of seat 0; those of seat 1 are 4 and 8
# of each way of castling the columns between king and rook, those where the king stands, goes and lands, and the rook's
CASTLING = ((SHORT, EAST, (5, 6), (4, 5, 6), (7, 5)), (LONG, WEST, (1, 2, 3), (4, 3, 2), (0, 3)))


class Men(NamedTuple):
    """Where the men stand."""

    kinds: UInt32[Array, "6 words"]  # of both seats
    seats: UInt32[Array, "2 words"]


class Found(NamedTuple):
    """What the mover can do."""

    targets: UInt32[Array, "groups words"]  # the squares that are reached, for each group of `tables.moves`
    attacked: Bool[Array, ""]  # the mover's king is in check
    passing: Bool[Array, ""]  # a pawn can be captured en passant

    def any(self) -> Bool[Array, ""]:
        return (self.targets != 0).any()


class Sight(NamedTuple):
    """What the mover sees."""

    first: Bool[Array, ""]  # seat 0 moves
    mine: Words  # [6]: the mover's men by kind
    own: Words
    other: Words
    empty: Words
    from_king: Words  # [8]: along each way from the king, with the first man
    hunted: Words  # [8]: what sliders of the other side attack along each way, through the king
    danger: Words  # where the king may not go
    checkers: Words
    number: UInt32[Array, ""]  # of checkers
    cure: Words  # where other men may go: anywhere, or between the king and what gives check
    pinned: Words
    free: Words  # [8]: squares whose men may move along each way; a pinned one only along its line


@dataclasses.dataclass(frozen=True)
class Field:
    """A board and what it allows."""

    height: int
    width: int
    doubles: bool  # pawns may start by two squares, and be captured en passant for it
    castles: bool

    @property
    def squares(self) -> int:
        return self.height * self.width

    @property
    def words(self) -> int:
        return -(-self.squares // words.WORD)

    @property
    def reach(self) -> int:
        return max(self.height, self.width) - 1

    # -- sets of squares ---------------------------------------------------------------------------------------
    def _set(self, member: np.ndarray) -> Words:
        """The sets of these squares, as constants."""
        return words.split(words.mask(member))

    def _from_seat(self, first: Bool[Array, ""], seats: Words) -> Words:
        """Of constants [2] that of the mover."""
        return tuple(jnp.where(first, word[0], word[1]) for word in seats)

    def _landing(self, steps: tuple[tuple[int, int], ...]) -> np.ndarray:
        """`bool[steps, squares]`: where a step from some square of the board lands."""
        row, column = np.divmod(np.arange(self.squares), self.width)
        down, right = np.array(steps).T[:, :, None]
        before, left = row - down, column - right
        return (before >= 0) & (before < self.height) & (left >= 0) & (left < self.width)

    def _moved(self, sets: Words, steps: tuple[tuple[int, int], ...]) -> Words:
        """Each of eight sets moved by its step."""
        far = np.array([abs(r * self.width + c) for r, c in steps], np.uint32)
        shape = (1,) * (sets[0].ndim - 1) + (8,)
        by, down = jnp.asarray(far).reshape(shape), DOWN.reshape(shape)
        lands = tuple(word.reshape(shape) for word in self._set(self._landing(steps)))
        pairs = zip(words.higher(sets, by), words.lower(sets, by), strict=True)
        return both(tuple(jnp.where(down, *pair) for pair in pairs), lands)

    def _rays(self, start: Words, passed: Words) -> Words:
        """[reach]: the squares after 1, 2, ... steps along all ways [8], up to the first that may not be passed.

        The loop is one because what it reads and writes is then in memory: a compiler would otherwise find each step
        anew for every one behind it.
        """

        def step(here: Words, _: None) -> tuple[Words, Words]:
            there = self._moved(here, WAYS)
            return both(there, passed), there

        return jax.lax.scan(step, start, None, self.reach)[1]

    def _ahead(self, sets: Words, first: Bool[Array, ""]) -> Words:
        """[3]: where pawns of a seat come to by steps forward to column -1, 0, 1."""
        white, black = ([self.width - side * c for c in (-1, 0, 1)] for side in (1, -1))
        up = words.lower(sets, jnp.array(white, jnp.uint32))
        down = words.higher(sets, jnp.array(black, jnp.uint32))
        lands = self._set(self._landing(((0, -1), (0, 0), (0, 1))))
        board = self._set(np.ones(self.squares, bool))
        moved = tuple(jnp.where(first, *pair) for pair in zip(up, down, strict=True))
        return tuple(x & y & z for x, y, z in zip(moved, lands, board, strict=True))

    # -- moves -------------------------------------------------------------------------------------------------
    def find(self, men: Men, to_play: Int8[Array, ""], rights: Int8[Array, ""], passed: Int8[Array, ""]) -> Found:
        """All legal moves. `passed`: the square that a pawn has just jumped over; -1: none has."""
        at = self._look(men, to_play)
        lands = without(at.cure, at.own)
        lines = self._rays(both(_sliders(at.mine), at.free), _one(at.empty))
        knights = without(_kind(at.mine, KNIGHT), at.pinned)
        jumps = both(self._moved(_eight(knights), JUMPS), _one(lands))
        king = without(self._moved(_eight(_kind(at.mine, KING)), WAYS), _one(either(at.own, at.danger)))
        pushes, double, passing = self._pawns(at, passed)
        last = _one(self._from_seat(at.first, self._set(self._far())))
        near = either(king, tuple(_by_way(word, at.first) for word in without(pushes, last)))
        if self.castles:
            double = either(double, self._castling(at, rights))
        # of the distances 1 and 2 what moves so and is no slider
        short = tuple(
            jnp.pad(jnp.stack(pair), ((0, self.reach - 2), (0, 0))) for pair in zip(near, double, strict=True)
        )
        rays = either(both(lines, tuple(word[None, None] for word in lands)), short)
        columns = zip(rays, jumps, both(pushes, last), strict=True)
        return Found(
            targets=jnp.stack([jnp.concatenate([ray.reshape(-1), *rest]) for ray, *rest in columns], axis=-1),
            attacked=at.number > 0,
            passing=passing,
        )

    def _look(self, men: Men, to_play: Int8[Array, ""]) -> Sight:
        """Lines from the king, and from the sliders of the other side, which see through the king."""
        first = to_play == 0
        sides = jnp.where(first, men.seats, men.seats[::-1])
        mine, yours = words.split(men.kinds & sides[0][None]), words.split(men.kinds & sides[1][None])
        own, other = words.split(sides[0]), words.split(sides[1])
        board = self._set(np.ones(self.squares, bool))
        empty = without(without(board, own), other)
        king, hunters = _kind(mine, KING), _sliders(yours)
        start = tuple(jnp.stack([jnp.broadcast_to(k, (8,)), h]) for k, h in zip(king, hunters, strict=True))
        open_to = tuple(jnp.stack([e, e | k])[:, None] for e, k in zip(empty, king, strict=True))
        seen = tuple(union(word) for word in self._rays(start, open_to))
        from_king, hunted = tuple(word[0] for word in seen), tuple(word[1] for word in seen)
        meeting = both(from_king, tuple(word[::-1] for word in hunted))  # the squares where the two look at each other

        knights = words.union(self._moved(_eight(_kind(yours, KNIGHT)), JUMPS))
        pawns = words.union(_aside(self._ahead(_one(_kind(yours, PAWN)), ~first)))
        kings = words.union(self._moved(_eight(_kind(yours, KING)), WAYS))
        leaps = both(words.union(self._moved(_eight(king), JUMPS)), _kind(yours, KNIGHT))
        stabs = both(words.union(_aside(self._ahead(_one(king), first))), _kind(yours, PAWN))
        checkers = functools.reduce(either, (words.union(both(from_king, hunters)), leaps, stabs))
        number = functools.reduce(jnp.add, map(jax.lax.population_count, checkers))
        block = either(checkers, both(words.union(meeting), empty))
        pins = both(meeting, _one(own))
        pinned = words.union(pins)
        return Sight(
            first=first,
            mine=mine,
            own=own,
            other=other,
            empty=empty,
            from_king=from_king,
            hunted=hunted,
            danger=functools.reduce(either, (words.union(hunted), knights, pawns, kings)),
            checkers=checkers,
            number=number,
            cure=tuple(
                jnp.where(number == 0, all_, jnp.where(number == 1, word, jnp.uint32(0)))
                for all_, word in zip(board, block, strict=True)
            ),
            pinned=pinned,
            free=tuple(~p[None] | line | line[::-1] for p, line in zip(pinned, pins, strict=True)),
        )

    def _pawns(self, at: Sight, passed: Int8[Array, ""]) -> tuple[Words, Words, Bool[Array, ""]]:
        """[3]: where pawns come to by a step ahead, to column -1, 0, 1; [8]: by two steps, along each way; and whether
        one may capture en passant."""
        walkers = tuple(
            word[PAWN : PAWN + 1]
            & jnp.where(
                at.first,
                jnp.stack([free[NORTH_WEST], free[NORTH], free[NORTH_EAST]]),
                jnp.stack([free[SOUTH_WEST], free[SOUTH], free[SOUTH_EAST]]),
            )
            for word, free in zip(at.mine, at.free, strict=True)
        )
        ahead = self._ahead(walkers, at.first)
        once = tuple(jnp.where(~ASIDE, word & e, jnp.uint32(0)) for word, e in zip(ahead, at.empty, strict=True))
        takes = tuple(jnp.where(ASIDE, word & o, jnp.uint32(0)) for word, o in zip(ahead, at.other, strict=True))
        pushes = both(either(once, takes), _one(at.cure))
        none = tuple(jnp.zeros(8, jnp.uint32) for _ in once)
        if not self.doubles:
            return pushes, none, jnp.bool_(False)
        into = self._passing(at, ahead, passed)
        two = tuple(word[1] for word in self._ahead(tuple(word[1:2] for word in once), at.first))
        home = self._from_seat(at.first, self._set(self._homes()))
        twice = functools.reduce(both, (two, home, at.empty, at.cure))
        straight = tuple(jnp.stack([jnp.uint32(0), word, jnp.uint32(0)]) for word in twice)
        double = tuple(_by_way(word, at.first) for word in straight)
        return either(pushes, into), double, words.some(into).any()

    def _far(self) -> np.ndarray:
        """`bool[2, squares]`: where the pawns of each seat promote."""
        row = np.arange(self.squares) // self.width
        return np.stack([row == 0, row == self.height - 1])

    def _homes(self) -> np.ndarray:
        """`bool[2, squares]`: where pawns of each seat come to by their first two steps."""
        row = np.arange(self.squares) // self.width
        return np.stack([row == self.height - 4, row == 3])

    def _passing(self, at: Sight, ahead: Words, passed: Int8[Array, ""]) -> Words:
        """[3]: the square where a pawn captures en passant, for the steps ahead by which it may.

        Two men leave a row at once, so the king may be seen along it where neither was pinned; the one that is
        captured may have stood in a line to the king, too. Its captor is pinned as other men are.
        """
        target = words.single(passed.astype(jnp.int32), self.words, passed >= 0)
        back = self._ahead(_one(target), ~at.first)  # where the captor comes from, and the captured one between
        gone = tuple(word[1] for word in back)
        pair = tuple((word[::-1] | g)[:, None] for word, g in zip(back, gone, strict=True))
        there, here = at.from_king, tuple(word[::-1] for word in at.hunted)  # [8]: along each way
        along = words.some(both(_one(there), pair)) & words.some(both(_one(here), pair))
        across = words.some(functools.reduce(both, (there, here, gone)))
        # on the file its captor stands where it stood, or before it
        exposed = (along & LEVEL[None] | (across & OBLIQUE)[None]).any(axis=1)
        cured = words.some(both(target, at.cure)) | (words.some(both(gone, at.checkers)) & (at.number == 1))
        allowed = ~exposed & cured & ASIDE
        return tuple(jnp.where(allowed, word & t, jnp.uint32(0)) for word, t in zip(ahead, target, strict=True))

    def _castling(self, at: Sight, rights: Int8[Array, ""]) -> Words:
        """[8]: where the king lands that castles, two squares to the side."""
        bits, men = jnp.where(at.first, rights, rights >> 2), either(at.own, at.other)
        ways: list[dict[int, Array]] = [{} for _ in range(self.words)]
        for right, way, between, path, _ in CASTLING:
            clear, quiet, goal = (self._home(at.first, columns) for columns in (between, path, path[2:]))
            may = (bits & right != 0) & ~words.some(both(clear, men)) & ~words.some(both(quiet, at.danger))
            for word, there in zip(ways, goal, strict=True):
                word[way] = jnp.where(may, there, jnp.uint32(0))
        return tuple(_eight_of(word) for word in ways)

    def _home(self, first: Bool[Array, ""], columns: tuple[int, ...]) -> Words:
        """These squares of the mover's back row."""
        row, column = np.divmod(np.arange(self.squares), self.width)
        there = np.isin(column, columns)
        return self._from_seat(first, self._set(np.stack([there & (row == self.height - 1), there & (row == 0)])))

    # -- after a move ------------------------------------------------------------------------------------------
    def with_rook(self, men: Men, first: Bool[Array, ""], step: Array) -> Men:
        """The men after the rook's part of castling, where a king goes so many squares to the east."""
        if not self.castles:
            return men
        for side, (_, _, _, _, rook) in zip((2, -2), CASTLING, strict=True):
            ways = jnp.stack([jnp.where(step == side, w, jnp.uint32(0)) for w in self._home(first, rook)])
            rows = jnp.arange(6)[:, None] == ROOK
            seats = jnp.arange(2)[:, None] == jnp.where(first, 0, 1)
            men = Men(
                men.kinds ^ jnp.where(rows, ways[None], jnp.uint32(0)),
                men.seats ^ jnp.where(seats, ways[None], jnp.uint32(0)),
            )
        return men

    @functools.cached_property
    def spoilt(self) -> np.ndarray:
        """`int8[squares]`: the castling rights that end when a man leaves a square or comes to it."""
        out = np.zeros(self.squares, np.int8)
        if self.castles:
            for shift, row in ((0, self.height - 1), (2, 0)):
                for right, _, _, path, rook in CASTLING:
                    for column in (path[0], rook[0]):
                        out[row * self.width + column] |= right << shift
        return out

    @functools.cached_property
    def rooks(self) -> np.ndarray:
        """`int8[squares]`: the castling right of each rook's first square."""
        kings = [square for square, code in self.castlers if code % 6 == 0]
        return np.where(np.isin(np.arange(self.squares), kings), 0, self.spoilt).astype(np.int8)

    @property
    def castlers(self) -> list[tuple[int, int]]:
        """The first squares of kings and rooks, and the codes of these men."""
        if not self.castles:
            return []
        rows = ((self.height - 1, 1), (0, 7))
        columns = {path[0]: KING for _, _, _, path, _ in CASTLING} | {rook[0]: ROOK for *_, rook in CASTLING}
        return [(row * self.width + column, code + kind) for row, code in rows for column, kind in columns.items()]

    def kept(self, codes: Sequence[int] | np.ndarray, rights: int) -> int:
        """Of castling rights those that count: one without its king or rook is none."""
        kept = rights if self.castles else 0
        for square, code in self.castlers:
            kept &= ~int(self.spoilt[square]) if codes[square] != code else -1
        return kept

    # -- symmetries --------------------------------------------------------------------------------------------
    def symmetries(self) -> Symmetries:
        """Top and bottom, which swaps the sides and the mover with them; left and right where nobody castles."""
        chosen = (0, 2) if self.castles else range(4)
        cells = symmetries(self.height, self.width)[list(chosen)]
        actions = [tables.mirrored(self.height, self.width, tuple(turn.tolist())) for turn in cells]
        return Symmetries(cells, np.stack(actions))


def _kind(men: Words, kind: int) -> Words:
    return tuple(word[kind] for word in men)


def _one(sets: Words) -> Words:
    """A set as one beside others."""
    return tuple(word[None] for word in sets)


def _eight(sets: Words) -> Words:
    """The same set for each way."""
    return tuple(jnp.broadcast_to(word, (8,)) for word in sets)


def _eight_of(ways: dict[int, UInt32[Array, ""]]) -> UInt32[Array, "8"]:
    """A word for each way, 0 where none is given."""
    return jnp.stack([ways.get(way, jnp.uint32(0)) for way in range(8)])


def _by_way(columns: UInt32[Array, "3"], first: Bool[Array, ""]) -> UInt32[Array, "8"]:
    """A word for each way, of those for the steps of the mover's pawns."""
    steps = jnp.where(first, PAWN_WAYS[0], PAWN_WAYS[1])
    return union(jnp.where(steps, columns[None], jnp.uint32(0)), axis=1)


def _aside(sets: Words) -> Words:
    """Of steps to three columns those of captures."""
    return tuple(jnp.where(ASIDE, word, jnp.uint32(0)) for word in sets)


def _sliders(men: Words) -> Words:
    """[8]: the men that move along each way as far as they like."""
    straight = either(_kind(men, ROOK), _kind(men, QUEEN))
    oblique = either(_kind(men, BISHOP), _kind(men, QUEEN))
    return tuple(jnp.where(STRAIGHT, *pair) for pair in zip(straight, oblique, strict=True))
