"""Positions as FEN, the text that chess programs share: `rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1`."""

import functools
import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxgo.core.board import FILES, square_name
from jaxgo.core.errors import UsageError
from jaxgo.games.chess.mailbox import attacked, lines
from jaxgo.games.chess.tables import KING, LETTERS, PAWN

GLYPHS = f".{LETTERS.upper()}{LETTERS}"  # of the codes of `cells`
RIGHTS = "KQkq"


class Setup(NamedTuple):
    """What a text says."""

    cells: np.ndarray  # int8[cells]
    to_play: int
    rights: int
    passed: int  # the square that a pawn has jumped over; -1: none
    clock: int


def length(words: Sequence[str]) -> int:
    """How many of the first words are a FEN, whose last fields may be missing; 0: they begin otherwise."""
    if words[1:2] not in (["w"], ["b"]):
        return 0
    fields = zip(words[2:], ("-|[KQkq]+", r"-|[a-z]\d", r"\d+", r"\d+"), strict=False)
    return 2 + sum(1 for _ in itertools.takewhile(lambda field: re.fullmatch(field[1], field[0]), fields))


@functools.lru_cache(maxsize=1024)
def read(text: str, height: int, width: int) -> Setup:
    """The position of a text. The last fields may be missing; `_` may stand for a blank. The number of the move is not
    kept."""
    fields = text.replace("_", " ").split()
    usual = ["", "w", "-", "-", "0", "1"]
    if not 1 <= len(fields) <= len(usual):
        raise _wrong(text, "has 1 to 6 words: the rows, who moves, castling, en passant, and two numbers")
    rows, mover, castling, passed, clock, number = fields + usual[len(fields) :]
    if mover not in ("w", "b"):
        raise _wrong(text, f"has w or b for who moves, not {mover!r}")
    if castling != "-" and (not set(castling) <= set(RIGHTS) or len(set(castling)) < len(castling)):
        raise _wrong(text, f"has letters of KQkq for castling, or -, not {castling!r}")
    square = re.fullmatch(r"([a-z])(\d{1,2})", passed)
    column, row = (FILES.index(square[1]), height - int(square[2])) if square else (0, 0)
    if passed != "-" and not (square and column < width and 0 <= row < height):
        raise _wrong(text, f"has a square of the board for en passant, or -, not {passed!r}")
    if not (re.fullmatch(r"\d{1,3}", clock) and re.fullmatch(r"\d+", number)):
        raise _wrong(text, "ends with two numbers: plies since a capture or a pawn's move, and the move")
    setup = Setup(
        cells=_cells(text, rows, height, width),
        to_play="wb".index(mover),
        rights=sum(1 << RIGHTS.index(letter) for letter in castling if letter != "-"),
        passed=row * width + column if square else -1,
        clock=int(clock),
    )
    return checked(setup, height, width)


def checked(setup: Setup, height: int, width: int) -> Setup:
    """The same; a UsageError where it is no position of chess."""
    codes, mover = setup.cells, setup.to_play
    if [int((codes == 1 + 6 * seat + KING).sum()) for seat in (0, 1)] != [1, 1]:
        raise UsageError("a position of chess has one king of each side")
    pawns = np.isin(codes.reshape(height, width), (1 + PAWN, 7 + PAWN))
    if pawns[0].any() or pawns[-1].any():
        raise UsageError("a position of chess has no pawn on the first and the last row")
    king = int(np.flatnonzero(codes == 1 + 6 * (1 - mover) + KING)[0])
    if attacked(codes.tobytes(), king, mover, lines(height, width)):
        raise UsageError("the king of the side that does not move is in check; let the other side move")
    if setup.passed >= 0:
        ahead = -width if mover else width
        behind = setup.passed + ahead  # where the pawn is that has just moved by two squares
        whole = [codes[cell] if 0 <= cell < len(codes) else -1 for cell in (behind, setup.passed, setup.passed - ahead)]
        first = setup.passed // width == (height - 3 if mover else 2)  # in front of where pawns begin
        if not first or whole != [1 + 6 * (1 - mover) + PAWN, 0, 0]:
            name = square_name(setup.passed, height, width)
            raise UsageError(f"no pawn can have jumped over {name}; write - for en passant")
    return setup


def _cells(text: str, rows: str, height: int, width: int) -> np.ndarray:
    lines = [re.sub(r"\d", lambda count: "." * int(count[0]), line) for line in rows.split("/")]
    if len(lines) != height or any(len(line) != width for line in lines):
        raise _wrong(text, f"has {height} rows of {width} squares, parted by /")
    unknown = sorted(set("".join(lines)) - set(GLYPHS))
    if unknown:
        raise _wrong(text, f"has the letters {GLYPHS[1:]}, not {unknown[0]!r}")
    codes = np.array([GLYPHS.index(glyph) for glyph in "".join(lines)], np.int8)
    codes.flags.writeable = False  # `read` gives them again
    return codes


def _wrong(text: str, told: str) -> UsageError:
    return UsageError(f"{text[:80]!r} is no FEN of this board, which {told}")


def write(setup: Setup, ply: int, height: int, width: int) -> str:
    """The text of a position; the number of the move rises behind those of Black, whoever began."""
    rows = "/".join("".join(GLYPHS[code] for code in row) for row in setup.cells.reshape(height, width).tolist())
    rows = re.sub(r"\.+", lambda run: str(len(run[0])), rows)
    castling = "".join(letter for bit, letter in enumerate(RIGHTS) if setup.rights >> bit & 1) or "-"
    row, column = divmod(setup.passed, width)
    number = (ply + (ply + setup.to_play) % 2) // 2 + 1
    passed = "-" if setup.passed < 0 else f"{FILES[column]}{height - row}"
    return f"{rows} {'wb'[setup.to_play]} {castling} {passed} {setup.clock} {number}"
