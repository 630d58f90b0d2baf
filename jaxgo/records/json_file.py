"""Any game as one JSON object: the game and its options, the start where it is not the usual one, moves by name."""

import json
from typing import Any

from jaxgo.core import position_text
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.names import check_loaded
from jaxgo.games import make
from jaxgo.games.names import describe, name_of
from jaxgo.records.record import GameRecord, bounded
from jaxgo.system.files import read_json

FORMAT = 1
DIGITS = 10  # of the number of a move: Python reads none of thousands
KNOWN = {"jaxgo", "game", "options", "start", "moves", "players", "returns", "verdict", "reason", "comments"}


def write(record: GameRecord) -> str:
    """The game as JSON, one line for each thing that is told."""
    name, options = name_of(record.game)
    _check_players(record.players, record.game)
    told: dict[str, Any] = {"jaxgo": FORMAT, "game": name}
    told |= {"options": options} if options else {}
    told |= {"start": record.start} if record.start else {}
    told["moves"] = [record.game.action_name(action) for action in record.moves]
    for field in ("players", "returns", "verdict", "reason"):
        if value := getattr(record, field):
            told[field] = value
    if record.comments:
        told["comments"] = {str(number): text for number, text in sorted(record.comments.items())}
    rows = [f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in told.items()]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def read(text: str | bytes, game: Game[Any] | None = None, upto: int | None = None) -> GameRecord:
    """The game of a file; `game` says which it must be, `upto` moves are read and no more."""
    try:
        told = read_json(bounded(text))
    except json.JSONDecodeError as error:
        raise UsageError(f"line {error.lineno}: this is no JSON: {error.msg}") from None
    except ValueError as error:  # such as a number of thousands of digits
        raise UsageError(f"line 1: this JSON cannot be read: {error}") from None
    if not isinstance(told, dict) or told.get("jaxgo") != FORMAT:
        raise UsageError(f'line 1: this JSON is no game of jaxgo: it has no "jaxgo": {FORMAT}')
    if unknown := sorted(told.keys() - KNOWN):
        raise UsageError(f"line 1: a game has no {unknown[0][:40]!r}; it has {', '.join(sorted(KNOWN))}")
    found = _game(told)
    if game is not None and found != game:
        raise UsageError(f"line 1: the file tells of {describe(found)}, and this is {describe(game)}")
    names = _list_of(told, "moves", str)[:upto]
    moves = []
    for number, name in enumerate(names, 1):
        try:
            moves.append(found.parse_action(name))
        except UsageError as error:
            raise UsageError(f"move {number}: {error}") from None
    returns = _list_of(told, "returns", (int, float))
    if not all(-1 <= value <= 1 for value in returns):
        raise UsageError('"returns" are numbers from -1 (lost) to 1 (won)')
    if len(returns) == 2 and abs(sum(returns)) > 1e-6:
        raise UsageError(f'"returns" are {returns}: what one seat gets the other one loses, so they sum to 0')
    if returns and len(returns) != found.players:
        raise UsageError(f'"returns" has {len(returns)} numbers, and {found.players} play this game')
    players = tuple(_list_of(told, "players", str))
    _check_players(players, found)
    start = _text(told, "start")
    return GameRecord(
        game=found,
        name=told["game"],
        moves=tuple(moves),
        start="" if start.strip().lower() == position_text.START else start,
        players=players,
        returns=tuple(float(value) for value in returns) or None,
        verdict=_text(told, "verdict"),
        reason=_text(told, "reason"),
        comments=_comments(told),
    )


def _game(told: dict[str, Any]) -> Game[Any]:
    name, options = told.get("game"), told.get("options", {})
    if not isinstance(name, str) or not isinstance(options, dict):
        raise UsageError('line 1: "game" is a name, and "options" are an object')
    check_loaded(name, "line 1: this is a game of")
    return make(name, **{str(option): value for option, value in options.items()})


def _check_players(players: tuple[str, ...], game: Game[Any]) -> None:
    if players and len(players) != game.players:
        raise UsageError(f'"players" has {len(players)} names, and {game.players} play this game')


def _list_of(told: dict[str, Any], name: str, kind: Any) -> list[Any]:
    found = told.get(name, [])
    if not isinstance(found, list) or not all(isinstance(v, kind) and not isinstance(v, bool) for v in found):
        raise UsageError(f'"{name}" is no list of {"numbers" if name == "returns" else "texts"}')
    return found


def _text(told: dict[str, Any], name: str) -> str:
    found = told.get(name, "")
    if not isinstance(found, str):
        raise UsageError(f'"{name}" is no text')
    return found


def _comments(told: dict[str, Any]) -> dict[int, str]:
    found = told.get("comments", {})
    if not isinstance(found, dict) or not all(
        key.isdecimal() and len(key) < DIGITS and isinstance(text, str) for key, text in found.items()
    ):
        raise UsageError('"comments" are texts by the number of moves before them')
    return {int(key): text for key, text in found.items()}
