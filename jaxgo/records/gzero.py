"""Games of Gomoku in the text of Zero+ (`.gzero`): `15|7,7;8,6`, the size and then column,row of every move from 0.

The points are counted from the upper left corner and Black begins. It is one line without an end, since Zero+ reads
none, and tells neither rules nor players nor a result.
"""

import re
from typing import Any

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.games.names import name_of
from jaxgo.records import psq
from jaxgo.records.record import GameRecord, bounded

HEAD = re.compile(r"\s*(\d{1,3})\s*\|")
MOVE = re.compile(r"\s*(\d{1,3})\s*,\s*(\d{1,3})\s*")


def write(record: GameRecord) -> str:
    """The game as Zero+ writes it, which knows no game without moves."""
    places = psq.places(record, "the text of Zero+")
    if not places:
        raise UsageError("the text of Zero+ knows no game without moves; play one, or write JSON")
    return f"{record.game.shape[0]}|" + ";".join(f"{column},{row}" for row, column in places)


def read(text: str | bytes, game: Game[Any] | None = None, upto: int | None = None) -> GameRecord:
    """The game of a file; `game` says which it must be, `upto` moves are read and no more."""
    told = bounded(text)
    head = HEAD.match(told)
    if head is None:
        raise UsageError("line 1: this is no text of Zero+: it begins with the size of the board and '|'")
    size = int(head[1])
    game = psq.board(size, size, game)
    words = told[head.end() :].strip().rstrip(";")
    moves = []
    for number, word in enumerate(words.split(";")[:upto] if words else [], 1):
        found = MOVE.fullmatch(word)
        if found is None:
            raise UsageError(f"line 1: move {number}, {word.strip()[:20]!r}, is not written as column,row")
        column, row = int(found[1]), int(found[2])
        if not (column < size and row < size):
            raise UsageError(f"line 1: move {number}, {word.strip()[:20]}, is no point of a board of {size}x{size}")
        moves.append(row * size + column)
    return GameRecord(game, name_of(game)[0], tuple(moves))
