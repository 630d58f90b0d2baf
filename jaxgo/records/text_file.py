"""Games of matches as text that people read: a head of `name: value` lines, then a move a line: its number, the seat,
its name."""

import contextlib
import re
import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Array, Int8

from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.names import check_loaded
from jaxgo.core.play import Position
from jaxgo.core.replay import follow
from jaxgo.games.names import describe, read_game
from jaxgo.records.record import GameRecord, bounded

HEAD = re.compile(r"\s*game: ")
SEATS = ("seat 0", "seat 1")
RESULT = "result of seat 0"


def write(record: GameRecord, options: Sequence[str], **notes: str) -> str:
    """A game between two from its usual start, with the options of the game as they are typed.

    `notes` are further lines of the head, which only people read.
    """
    assert record.returns is not None, "matches save games that have ended"
    head = {
        "game": shlex.join([record.name, *options]),
        **dict(zip(SEATS, record.players, strict=True)),
        RESULT: f"{(1 + record.returns[0]) / 2:g}",
        **notes,
    }
    lines = [f"{name}: {value}" for name, value in head.items()] + [""]
    for number, (action, seat) in enumerate(zip(record.moves, movers(record.game, record.moves), strict=True), 1):
        lines.append(f"{number} {seat} {record.game.action_name(action)}")
    return "\n".join(lines) + "\n"


def movers(game: Game[Any], actions: Sequence[int]) -> list[int]:
    """Who made each move of a game from its start."""
    return np.asarray(follow(game, play.begin(game), actions, _mover).seen)[: len(actions)].tolist()


def _mover(game: Game[Any], position: Position) -> Int8[Array, ""]:
    return position.state.to_play


def game_of(text: str) -> str:
    """The name of the game that a text tells of."""
    return _words(_parts(text)[0]["game"])[0]


def _words(line: str) -> list[str]:
    """The name of a game and its options; one with blanks is in quotes."""
    try:
        return shlex.split(line)
    except ValueError:
        raise UsageError(f"game: {line[:80]!r} has a quote that is not closed") from None


def read(text: str | bytes, game: Game[Any] | None = None, upto: int | None = None) -> GameRecord:
    """The game of a file; `game` says which it must be, `upto` moves are read and no more."""
    head, rows = _parts(bounded(text))
    name, *options = _words(head["game"])
    check_loaded(name, "this is a game of")
    found = read_game(name, options)
    if game is not None and found != game:
        raise UsageError(f"the file tells of {describe(found)}, and this is {describe(game)}")
    moves = []
    for number, row in enumerate(rows[:upto], 1):
        words = row.split(" ", 2)
        if len(words) < 3:
            raise UsageError(f"move {number}: {row[:20]!r} is not a number, a seat and the name of a move")
        try:
            moves.append(found.parse_action(words[2]))
        except UsageError as error:
            raise UsageError(f"move {number}: {error}") from None
    if (made := int(follow(found, play.begin(found), moves).made)) < len(moves):
        raise UsageError(f"move {made + 1}, {found.action_name(moves[made])!r}, is not legal")
    players = tuple(head.get(seat, "") for seat in SEATS)
    result = _result(head)
    returns = (2 * result - 1, 1 - 2 * result)
    return GameRecord(found, name, tuple(moves), players=players, returns=returns, tried=True)


def _parts(text: str) -> tuple[dict[str, str], list[str]]:
    """The head, which names a game, and the lines of moves."""
    lines = text.strip().splitlines()
    end = lines.index("") if "" in lines else len(lines)
    head = dict(line.split(": ", 1) for line in lines[:end] if ": " in line)
    if not head.get("game", "").strip():
        raise UsageError("line 1: this is no saved game: its head names no game")
    return head, lines[end + 1 :]


def _result(head: dict[str, str]) -> float:
    text = head.get(RESULT, "told nowhere")
    with contextlib.suppress(ValueError):
        if 0 <= (result := float(text)) <= 1:
            return result
    raise UsageError(f"{RESULT} is a share of a win from 0 to 1, not {text}")
