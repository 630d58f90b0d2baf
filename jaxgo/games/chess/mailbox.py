"""A position of chess on the host, moved in plain Python.

Files of games are read and written by it: a move takes some microseconds, where the programs of `moves` take half a
minute to compile first. The tests hold both to the same moves, draws and counts.
"""

import functools
import itertools
from collections import Counter
from typing import NamedTuple

from jaxgo.games.chess import tables
from jaxgo.games.chess.moves import CASTLING, Field
from jaxgo.games.chess.tables import BISHOP, JUMPS, KING, KNIGHT, PAWN, PLIES, QUEEN, ROOK, STRAIGHT, WAYS

STRAIGHT_WAYS = STRAIGHT.tolist()  # without numpy, which is slow one by one
Squares = tuple[int, ...]
HEAVY = {1 + 6 * seat + kind for seat in (0, 1) for kind in (PAWN, ROOK, QUEEN)}  # men that can give mate


class Lines(NamedTuple):
    """What is where on a board, for each square."""

    rays: tuple[tuple[Squares, ...], ...]  # along each of WAYS
    jumps: tuple[Squares, ...]
    stabs: tuple[tuple[Squares, ...], ...]  # for each seat: where its pawns stand that attack the square
    moves: list[tuple[int, int, int, int]]  # of each action: as `tables.Moves`
    leaving: tuple[Squares, ...]  # the actions from the square
    coming: dict[tuple[int, int, int], list[tuple[int, int]]]  # to a square by a kind as another, with their sources


@functools.cache
def lines(height: int, width: int) -> Lines:
    squares, reach = range(height * width), max(height, width)

    def at(square: int, step: tuple[int, int], far: int = 1) -> Squares:
        row, column = square // width + step[0] * far, square % width + step[1] * far
        return (row * width + column,) if 0 <= row < height and 0 <= column < width else ()

    def all_at(square: int, *steps: tuple[int, int]) -> Squares:
        return tuple(itertools.chain.from_iterable(at(square, step) for step in steps))

    table = tables.moves(height, width)
    moves = list(zip(*(column.tolist() for column in table), strict=True))
    return Lines(
        rays=tuple(tuple(sum((at(s, way, far) for far in range(1, reach)), ()) for way in WAYS) for s in squares),
        jumps=tuple(all_at(s, *JUMPS) for s in squares),
        stabs=tuple(tuple(all_at(s, (down, -1), (down, 1)) for s in squares) for down in (1, -1)),
        moves=moves,
        leaving=tuple(tuple(a for a, move in enumerate(moves) if move[0] == s) for s in squares),
        coming=_coming(moves, reach - 1, width),
    )


def _coming(
    moves: list[tuple[int, int, int, int]], reach: int, width: int
) -> dict[tuple[int, int, int], list[tuple[int, int]]]:
    """The moves by which a man of each kind may come to a square, whatever stands between."""
    out: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
    for action, (source, target, into, group) in enumerate(moves):
        far, way = divmod(group, 8)
        if into:
            kinds = [PAWN]
        elif far >= reach:
            kinds = [KNIGHT]
        else:
            near, upright = ([KING] if not far else []), WAYS[way][1] == 0
            pawn = [PAWN] if (not far or (far == 1 and upright)) and WAYS[way][0] else []
            kinds = [QUEEN, ROOK if STRAIGHT[way] else BISHOP, *near, *pawn]
        for kind in kinds:
            out.setdefault((kind, target, into), []).append((action, source))
    return out


def attacked(cells: bytes | bytearray, square: int, by: int, on: Lines) -> bool:
    """Whether a man of a seat could capture on a square; `cells` are codes."""
    pawn = 1 + 6 * by  # and behind it the other codes of a seat
    for s in on.jumps[square]:
        if cells[s] == pawn + KNIGHT:
            return True
    for s in on.stabs[by][square]:
        if cells[s] == pawn:
            return True
    for straight, ray in zip(STRAIGHT_WAYS, on.rays[square], strict=True):
        for s in ray:
            if man := cells[s]:
                if man == pawn + QUEEN or man == pawn + (ROOK if straight else BISHOP):
                    return True
                if man == pawn + KING and s == ray[0]:
                    return True
                break
    return False


class Mailbox:
    """A position, and how often those before it have been there."""

    def __init__(self, field: Field, cells: bytes, to_play: int, rights: int, passed: int, clock: int) -> None:
        self.field, self.shape = field, (field.height, field.width)
        self.on, self._knights = lines(*self.shape), 8 * field.reach  # the groups of `tables.moves` from there on
        self.cells, self.seat, self.clock = bytearray(cells), to_play, clock
        self.rights = field.kept(cells, rights)
        self.passed = passed if field.doubles else -1
        self._settle()
        self._seen = Counter([self._key()])

    # -- moves -------------------------------------------------------------------------------------------------
    def legal(self, action: int) -> bool:
        """Whether the men may move so, which asks for no end by a draw."""
        source, target, promoted, group = self.on.moves[action]
        man, hit = self.cells[source], self.cells[target]
        if not man or (man > 6) != self.seat or (hit and (hit > 6) == self.seat):
            return False
        kind = (man - 1) % 6
        if kind == PAWN:
            return self._pawn_goes(source, target, promoted) and self._safe(source, target)
        if promoted or (kind == KNIGHT) != (group >= self._knights):
            return False
        if kind != KNIGHT:
            far, way = divmod(group, 8)
            if kind == KING and far:
                return self._castles(source, target)
            if kind in (ROOK, BISHOP) and STRAIGHT_WAYS[way] != (kind == ROOK):
                return False
            if any(self.cells[s] for s in self.on.rays[source][way][:far]):
                return False
        return self._safe(source, target)

    def moves(self) -> list[int]:
        """All actions that are legal so."""
        own = [s for s, man in enumerate(self.cells) if man and (man > 6) == self.seat]
        return [action for s in own for action in self.on.leaving[s] if self.legal(action)]

    @property
    def check(self) -> bool:
        """Whether the king of who moves is attacked."""
        return attacked(self.cells, self.cells.index(1 + 6 * self.seat + KING), 1 - self.seat, self.on)

    def _pawn_goes(self, source: int, target: int, promoted: int) -> bool:
        height, width = self.field.height, self.field.width
        ahead = width if self.seat else -width
        if bool(promoted) != (target // width == (height - 1 if self.seat else 0)):
            return False
        if target == source + ahead:
            return not self.cells[target]
        if target == source + 2 * ahead:
            home = source // width == (1 if self.seat else height - 2)
            return self.field.doubles and home and not (self.cells[target] or self.cells[source + ahead])
        takes = source in self.on.stabs[self.seat][target]
        return takes and (bool(self.cells[target]) or target == self.passed)

    def _castles(self, source: int, target: int) -> bool:
        height, width = self.field.height, self.field.width
        row = 0 if self.seat else (height - 1) * width
        for right, _, between, path, _ in CASTLING if self.field.castles else ():
            if (source, target) == (row + path[0], row + path[2]):
                free = not any(self.cells[row + column] for column in between)
                may = free and bool(self.rights >> 2 * self.seat & right)
                return may and not any(attacked(self.cells, row + c, 1 - self.seat, self.on) for c in path)
        return False

    def _safe(self, source: int, target: int) -> bool:
        """Whether the own king is not attacked after a move."""
        after = self.cells.copy()
        after[target], after[source] = after[source], 0
        if target == self.passed and (after[target] - 1) % 6 == PAWN:
            after[self._behind(target)] = 0
        return not attacked(after, after.index(1 + 6 * self.seat + KING), 1 - self.seat, self.on)

    def _behind(self, passed: int) -> int:
        """Where the pawn stands that who moves captures en passant."""
        return passed + (-self.field.width if self.seat else self.field.width)

    def play(self, action: int) -> None:
        """Makes a legal move."""
        source, target, promoted, _ = self.on.moves[action]
        cells, man, width = self.cells, self.cells[source], self.field.width
        kind = (man - 1) % 6
        self.clock = 0 if kind == PAWN or cells[target] else self.clock + 1
        cells[target], cells[source] = (man + promoted if promoted else man), 0
        if kind == PAWN and target == self.passed:
            cells[self._behind(target)] = 0
        if kind == KING and abs(target - source) == 2 and self.field.castles:
            row = source - source % width
            _, _, _, _, (corner, beside) = CASTLING[target < source]
            cells[row + beside], cells[row + corner] = cells[row + corner], 0
        self.rights &= ~int(self.field.spoilt[source] | self.field.spoilt[target])
        self.passed = (source + target) // 2 if kind == PAWN and abs(target - source) == 2 * width else -1
        self.seat = 1 - self.seat
        self._settle()
        self._seen[self._key()] += 1

    def _settle(self) -> None:
        """Forgets a square that no pawn may go to en passant."""
        if self.passed >= 0:
            pawn, coming = 1 + 6 * self.seat + PAWN, self.on.coming[PAWN, self.passed, 0]
            if not any(self.cells[source] == pawn and self.legal(action) for action, source in coming):
                self.passed = -1

    # -- ends --------------------------------------------------------------------------------------------------
    def _key(self) -> tuple[bytes, int, int, int]:
        return bytes(self.cells), self.seat, self.rights, self.passed

    @property
    def times(self) -> int:
        """How often this position has been there."""
        return self._seen[self._key()]

    @property
    def drawn(self) -> bool:
        """Whether nobody can be mated any more, or a hundred plies passed without a capture or a pawn's move."""
        return self.clock >= PLIES or self._barren()

    def _barren(self) -> bool:
        if HEAVY & {*self.cells}:
            return False
        width, men = self.field.width, [(s, (man - 1) % 6) for s, man in enumerate(self.cells) if man]
        colours = {sum(divmod(s, width)) % 2 for s, kind in men if kind == BISHOP}
        return len(men) <= 3 or (all(kind != KNIGHT for _, kind in men) and len(colours) < 2)
