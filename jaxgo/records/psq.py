"""Games of Gomoku as Piskvork writes them: `Piskvorky 15x15, 11:11, 0`, then `x,y,ms` a move, the players, a code."""

import itertools
import re
from typing import Any

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.games import make
from jaxgo.games.gomoku.rules import Gomoku
from jaxgo.games.names import name_of
from jaxgo.records.record import GameRecord, bounded

HEAD = re.compile(r"Piskvorky\s+(\d{1,3})x(\d{1,3})\s*,\s*\d+\s*:\s*\d+\s*,\s*-?\d+\s*", re.IGNORECASE)
MOVE = re.compile(r"\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*-?\d+\s*")

NOBODY = "-"  # who has no name


def write(record: GameRecord) -> str:
    """The game in Piskvork's form; it has no rules and no start but the empty board."""
    moves = [f"{column + 1},{row + 1},0" for row, column in places(record, "PSQ")]
    size = record.game.shape[0]
    # a name of numbers with commas would be read as one move more
    names = [" ".join(name.replace(",", " ").split()) or NOBODY for name in (*record.players, "", "")[:2]]
    return "\n".join([f"Piskvorky {size}x{size}, 11:11, 0", *moves, *names, "-1"]) + "\n"


def places(record: GameRecord, form: str) -> list[tuple[int, int]]:
    """Row and column of every move, for a form that tells of stones on an empty board and of nothing else."""
    game = record.game
    if not isinstance(game, Gomoku) or game.num_actions != game.points:
        raise UsageError(f"{form} tells of Gomoku without swaps, not of {record.name}; write JSON")
    if record.start:
        raise UsageError(f"{form} begins with the empty board; write this game as SGF or JSON")
    return [divmod(action, game.size) for action in record.moves]


def board(width: int, height: int, game: Game[Any] | None) -> Game[Any]:
    """The game that a head of this size tells of, which must be `game` where one is given."""
    if game is None:
        if width != height or not 5 <= width <= 20:
            raise UsageError(f"line 1: a board of {width}x{height} is not square with 5 to 20 points a side")
        game = make("gomoku", size=width)
    if not isinstance(game, Gomoku) or game.shape != (height, width) or game.num_actions != game.points:
        here = f"{type(game).__name__} {game.shape[1]}x{game.shape[0]}"
        raise UsageError(f"line 1: the file tells of Gomoku {width}x{height}, and this is {here}")
    return game


def read(text: str | bytes, game: Game[Any] | None = None, upto: int | None = None) -> GameRecord:
    """The game of a file; `game` says which it must be, `upto` moves are read and no more."""
    first, *others = bounded(text).splitlines() or [""]
    head = HEAD.fullmatch(first)
    if head is None:
        raise UsageError("line 1: this is no PSQ: it begins with 'Piskvorky WIDTHxHEIGHT, 11:11, 0'")
    width, height = int(head[1]), int(head[2])
    game = board(width, height, game)
    rows = [(number, row.strip()) for number, row in enumerate(others, 2) if row.strip()]
    moves: list[int] = []
    for number, row in rows:
        found = MOVE.fullmatch(row)
        if found is None or (upto is not None and len(moves) >= upto):
            break
        column, line = int(found[1]) - 1, int(found[2]) - 1
        if not (0 <= column < width and 0 <= line < height):
            raise UsageError(f"line {number}: {row[:20]} is no point of a board of {width}x{height}")
        moves.append(line * width + column)
    lines, rest = [number for number, _ in rows[: len(moves)]], rows[len(moves) :]
    if (upto is None or len(moves) < upto) and rest and re.fullmatch(r"-?\d+\s*,.*", rest[0][1]):
        number, row = rest[0]
        raise UsageError(f"line {number}: {row[:20]!r} is no move; moves are written as x,y,milliseconds")
    names = [
        row for _, row in itertools.dropwhile(lambda one: MOVE.fullmatch(one[1]) is not None, rest)
    ]  # behind all the moves
    if len(names) < 3 and names and re.fullmatch(r"-?\d+", names[-1]):  # the code, which stands behind them
        names.pop()
    players = tuple(name if name != NOBODY else "" for name in (*names, "", "")[:2])
    return GameRecord(game, name_of(game)[0], tuple(moves), players=players if any(players) else (), lines=tuple(lines))
