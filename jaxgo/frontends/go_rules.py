"""The rules of Go in the words of KataGo, which GUIs use (names, or JSON with a key for each rule), and without a limit
of moves that referees do not know of."""

import dataclasses
from typing import Any

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.games.go.rule_names import IDLE, NAMED_RULES, ONLY, named
from jaxgo.games.go.rules import KO_RULES, Go
from jaxgo.system.files import read_json

AREAS = 4  # a game of Go may have so many moves for each point: referees stop games, not the engine


def read_rules(text: str, before: tuple[str, bool]) -> tuple[str, bool]:
    """Ko and suicide, from a name or from JSON as KataGo takes them."""
    if (known := named(text)) is not None:
        return known
    try:
        told = read_json(text)
    except ValueError:  # Python reads no number of thousands of digits
        raise UsageError(f"rules are JSON, or one of {', '.join(NAMED_RULES)}; territory is not counted") from None
    if not isinstance(told, dict):
        raise UsageError("rules in JSON are an object")
    for key, value in told.items():
        if key not in ("ko", "suicide", *ONLY, *IDLE):
            raise UsageError(f"there is no rule {key[:40]!r}")
        if key in ONLY and value != ONLY[key]:
            raise UsageError(f"{key} can only be {ONLY[key]}")
    ko, suicide = told.get("ko", before[0]), told.get("suicide", before[1])
    if not isinstance(ko, str) or ko.lower() not in KO_RULES:
        raise UsageError("ko is SIMPLE, POSITIONAL or SITUATIONAL")
    if not isinstance(suicide, bool):
        raise UsageError("suicide is true or false")
    return ko.lower(), suicide


def long_enough(game: Game[Any], named: Game[Any], moves: int = 0) -> Game[Any]:
    """Go with the limit of moves that its user has named, else with none that a referee would not know of.

    A file with more `moves` than those was read with a limit that takes them, which stays."""
    if not (isinstance(game, Go) and isinstance(named, Go)):
        return game
    usual = AREAS * game.points
    return dataclasses.replace(game, move_limit=named.move_limit or (usual if moves <= usual else game.max_plies))
