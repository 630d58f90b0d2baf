"""A text for every position, as FEN is for chess: `X.O/.X./..O 0`, the rows from the top and the seat that moves.

A cell is the glyph of its code; where several codes share a glyph, the second carries one apostrophe, the third two,
and so on; `_` is no part of the board. Chess has FEN beside it (`Game.read_position`). Moves may follow by name. What a
drawing cannot tell (a ko, whose colours they are, which tower must go, what a rule on repetition looks back at, how far
a limit on plies is) is told by the moves from the start: `start e5 d4`.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game, has_ply_limit
from jaxgo.core.play import Position

START = "start"
NOWHERE = "_"
LONGEST = 200_000  # characters of a text


@functools.lru_cache(maxsize=256)  # visitors of a page name any komi
def symbols(game: Game[Any]) -> tuple[str, ...]:
    """How the code of a cell is written, for every code."""
    seen: dict[str, int] = {}
    out = []
    for piece in game.pieces:
        glyph = piece.glyph if piece.glyph.strip() else NOWHERE
        out.append(glyph + "'" * seen.get(glyph, 0))
        seen[glyph] = seen.get(glyph, 0) + 1
    return tuple(out)


def drawing(game: Game[Any], state: Any) -> str:
    """The rows of a position and the seat that moves."""
    return drawn(game, play.cells(game, state).tolist(), int(state.to_play))


def drawn(game: Game[Any], codes: Sequence[int], seat: int) -> str:
    """The same, of a board whose codes are known."""
    height, width = game.picture
    signs = [symbols(game)[code] for code in codes]
    rows = ["".join(signs[row * width : (row + 1) * width]) for row in range(height)]
    return f"{'/'.join(rows)} {seat}"


def write(game: Game[Any], position: Position, moves: Sequence[str], start: str = "") -> str:
    """The text of a position that these moves led to, from the start or from a text: alone, if that tells all."""
    rows = game.write_position(position.state) or drawing(game, position.state)
    try:
        if _alike(game, read(game, rows)[0], position):
            return rows
    except UsageError:  # this game cannot start from a drawing, or not from this one
        pass
    words = start.split()
    if (own := game.read_position(words)) is not None:  # in full, so that no move is read as a field that is missing
        start = " ".join([game.write_position(own[0]), *words[own[1] :]])
    return " ".join([start or START, *moves])


def _alike(game: Game[Any], drawn: Position, position: Position) -> bool:
    """Whether the same may come of a position that was drawn, with nothing behind it, as of this one."""
    if has_ply_limit(game) and int(drawn.state.ply) != int(position.state.ply):
        return False
    if int(drawn.history.size) != int(position.history.size):
        return False
    return play.alike(game, drawn.state, position.state)


def read(game: Game[Any], text: str, seed: int = 0) -> tuple[Position, list[str]]:
    """Where a text begins, and the names of the moves to play from there."""
    words = text.split()
    if len(text) > LONGEST:
        raise UsageError(f"a position has at most {LONGEST:,} characters, and this one {len(text):,}")
    if not words:
        raise UsageError(f"a position is written as {example(game)!r}, or as {START!r} and moves")
    if words[0].lower() == START:
        return play.begin(game, seed), words[1:]
    own = game.read_position(words)
    if own is not None:
        return play.put(game, own[0]), words[own[1] :]
    if len(words) < 2 or words[1] not in [str(seat) for seat in range(game.players)]:
        raise UsageError(f"{text[:60]!r} does not say which seat moves; write it as in {example(game)!r}")
    return play.put(game, _placed(game, words[0], int(words[1]))), words[2:]


@functools.lru_cache(maxsize=256)
def example(game: Game[Any]) -> str:
    """The start of a game as text."""
    return drawing(game, play.begin(game).state)


def _placed(game: Game[Any], rows: str, seat: int) -> Any:
    """The position with these rows. What a game cannot keep of a drawing, such as stones off its board, is refused."""
    codes = _codes(game, rows)
    state = game.place(codes, seat)
    wrong = np.flatnonzero(play.cells(game, state) != codes)
    if len(wrong):
        row, column = (int(number) + 1 for number in divmod(wrong[0], game.picture[1]))
        sign = symbols(game)[codes[wrong[0]]]
        raise UsageError(f"{sign!r} cannot be cell {column} of row {row} there; leave that cell as this game draws it")
    return state


def _codes(game: Game[Any], rows: str) -> np.ndarray:
    height, width = game.picture
    lines = rows.split("/")
    if len(lines) != height:
        raise UsageError(f"{rows[:60]!r} has {len(lines)} rows, and this board has {height}")
    known = {sign: code for code, sign in enumerate(symbols(game))}
    codes = []
    for number, line in enumerate(lines, 1):
        signs = _signs(line)
        if len(signs) != width:
            raise UsageError(f"row {number} of the position, {line[:60]!r}, has {len(signs)} cells instead of {width}")
        for sign in signs:
            if sign not in known:
                raise UsageError(f"row {number} of the position has {sign!r}; cells here are {' '.join(known)}")
            codes.append(known[sign])
    return np.array(codes, np.int8)


def _signs(line: str) -> list[str]:
    """A row as one text for each cell."""
    out: list[str] = []
    for letter in line:
        if letter == "'" and out:
            out[-1] += letter
        else:
            out.append(letter)
    return out
