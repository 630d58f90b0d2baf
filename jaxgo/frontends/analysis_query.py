"""What a line of KataGo's JSON analysis protocol asks for, read into values that are known to be sound.

https://github.com/lightvector/KataGo/blob/master/docs/Analysis_Engine.md. A field that is wrong is a `FieldError`
with its name; one that is not known, or that jaxgo has no use for, is a warning, and the query is done without it.
"""

import dataclasses
import json
import math
import re
from typing import Any

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.frontends.go_rules import long_enough, read_rules
from jaxgo.frontends.gtp_text import COLOURS
from jaxgo.games.go.rule_names import NAMED_RULES, ONLY, named
from jaxgo.games.go.rules import Go
from jaxgo.games.gomoku.rules import Gomoku
from jaxgo.games.gtp_moves import read_move
from jaxgo.games.sizes import of_size
from jaxgo.system.files import read_json

SIDES = ("BLACK", "WHITE", "SIDETOMOVE")  # whom win rates are for
FAR_KOMI, MOST_VISITS, MOST_SECONDS = 400.0, 10_000_000, 1e6
UNUSED = (  # known to the protocol; nothing here answers to them
    "rootPolicyTemperature",
    "rootFpuReductionMax",
    "includeOwnershipStdev",
    "includeMovesOwnership",
    "includeMovesOwnershipStdev",
    "includePVVisits",
    "includeNoResultValue",
    "whiteHandicapBonus",
)
LEFT_OUT: tuple[Any, ...] = (False, None, 0, "0", [])  # values that ask for nothing


class FieldError(UsageError):
    """What is wrong with a query, and in which field."""

    def __init__(self, text: str, field: str = "") -> None:
        super().__init__(text)
        self.field = field


Warnings = list[tuple[str, str]]  # what is not done as asked for, and the field


@dataclasses.dataclass(frozen=True)
class Query:
    """Positions of one game to be analysed."""

    id: str
    game: Game[Any]
    stones: tuple[tuple[int, int], ...]  # at the start: seats and points
    first: int  # the seat that moves at the start
    moves: tuple[tuple[int, int], ...]  # seats and actions
    turns: tuple[int, ...]
    priorities: tuple[int, ...]
    visits: int | None = None
    seconds: float | None = None
    every: float = 0.0  # seconds between reports; 0: none
    length: int = 15  # of lines, the first move not counted
    policy: bool = False
    ownership: bool = False
    side: str = "BLACK"
    only: dict[int, frozenset[int]] = dataclasses.field(default_factory=dict)  # of each seat: the moves that are told
    warnings: tuple[tuple[str, str], ...] = ()


def parse(text: str) -> dict[str, Any]:
    """The object in a line."""
    try:
        found = read_json(text)
    except ValueError:
        raise FieldError("Could not parse input line as a JSON object") from None
    if not isinstance(found, dict):
        raise FieldError("Input line is not a JSON object")
    return found


def read(told: dict[str, Any], own: Game[Any]) -> Query:
    """The query of an object; `own` is the game that the engine was started with."""
    warnings: Warnings = [(f"{name} is not used here", name) for name in UNUSED if told.get(name) not in LEFT_OUT]
    odd = [name[:40] for name in told if name not in READ and name not in UNUSED]
    warnings += [(f"Unexpected or unused field: {name}", name) for name in odd]
    game = _game(told, own, warnings)
    moves = _moves(game, told.get("moves"), "moves")
    stones = _moves(game, told.get("initialStones", []), "initialStones")
    if stones and not isinstance(game, Go):
        raise FieldError("only Go can begin with stones on the board", "initialStones")
    if any(isinstance(game, Go) and point == game.points for _, point in stones):
        raise FieldError("a stone stands on a point", "initialStones")
    if len({point for _, point in stones}) < len(stones):
        raise FieldError("two stones stand on one point", "initialStones")
    turns = _whole_list(told, "analyzeTurns", [len(moves)], 0, len(moves))
    low, high = -(2**31), 2**31
    priority = _whole(told, "priority", 0, low, high) or 0
    priorities = _whole_list(told, "priorities", [priority] * len(turns), low, high)
    if len(priorities) != len(turns):
        raise FieldError("priorities must have as many entries as analyzeTurns", "priorities")
    side, seconds, visits = _settings(told, warnings)
    return Query(
        id=told["id"],
        game=game,
        stones=stones,
        first=_first(told, moves, stones),
        moves=moves,
        turns=turns,
        priorities=priorities,
        visits=_whole(told, "maxVisits", visits, 1, MOST_VISITS),
        seconds=seconds,
        every=_real(told, "reportDuringSearchEvery", 0.0, 0.001, MOST_SECONDS),
        length=_whole(told, "analysisPVLen", 15, 0, 1000) or 0,
        policy=_flag(told, "includePolicy"),
        ownership=_flag(told, "includeOwnership"),
        side=side,
        only=_only(told, game, warnings),
        warnings=tuple(warnings),
    )


# -- the game --------------------------------------------------------------------------------------------------------
def _game(told: dict[str, Any], own: Game[Any], warnings: Warnings) -> Game[Any]:
    """The game with the size, the komi and the rules that a query names."""
    height, width = own.shape
    wide = _whole(told, "boardXSize", width, 1, 99) or width
    high = _whole(told, "boardYSize", height, 1, 99) or height
    if isinstance(own, Go):
        if max(wide, high) > 19:
            raise FieldError("boards have at most 19 lines a side", "boardXSize" if wide > 19 else "boardYSize")
        komi = _komi(told, own.komi)
        ko, suicide = _rules(told, (own.ko, own.suicide), warnings)
        ruled = dataclasses.replace(own, komi=komi, ko=ko, suicide=suicide)
        return long_enough(of_size(ruled, high, wide), own)
    try:
        return of_size(own, high, wide)
    except UsageError as error:
        raise FieldError(str(error), "boardXSize" if wide != width else "boardYSize") from None


def _komi(told: dict[str, Any], usual: float) -> float:
    komi = _real(told, "komi", usual, -FAR_KOMI, FAR_KOMI)
    if "komi" in told and komi * 2 != round(komi * 2):
        raise FieldError("komi must be an integer or half-integer", "komi")
    return komi


def _rules(told: dict[str, Any], own: tuple[str, bool], warnings: Warnings) -> tuple[str, bool]:
    """Ko and suicide. Territory is not counted here: who asks for it gets areas, and a warning."""
    rules = told.get("rules")
    if isinstance(rules, str) and rules.lstrip().startswith("{"):
        try:
            rules = read_json(rules)
        except ValueError:
            raise FieldError("rules that begin with { are JSON", "rules") from None
    if isinstance(rules, str):
        if (known := named(rules)) is not None:
            return known
        warnings.append((f"there are no rules {rules[:40]!r} here; areas are counted, as by Chinese rules", "rules"))
        return NAMED_RULES["chinese"]
    if isinstance(rules, dict):
        odd = [key for key in rules if key in ONLY and rules[key] != ONLY[key]]
        warnings += [(f"the rule {key} is {ONLY[key]} here", "rules") for key in odd]
        rules = json.dumps({key: value for key, value in rules.items() if key not in odd})
    else:
        raise FieldError("Must provide rules as a string or a JSON object", "rules")
    try:
        return read_rules(rules, own)
    except UsageError as error:
        raise FieldError(str(error), "rules") from None


def _moves(game: Game[Any], told: Any, field: str) -> tuple[tuple[int, int], ...]:
    """Pairs of a player and a move."""
    if not isinstance(told, list):
        raise FieldError("Must be a list of [player, move] pairs", field)
    out = []
    for pair in told:
        if not (isinstance(pair, list) and len(pair) == 2):
            raise FieldError("Must be a list of [player, move] pairs", field)
        out.append((_player(pair[0], field), _move(game, pair[1], field)))
    return tuple(out)


def _player(word: Any, field: str) -> int:
    if not isinstance(word, str) or word.lower() not in COLOURS:
        raise FieldError(f"Could not parse player: {str(word)[:40]!r}; it is B or W", field)
    return COLOURS[word.lower()]


def _move(game: Game[Any], word: Any, field: str) -> int:
    """The action of a move by its name, or of `(x,y)` from the top left corner, from 0."""
    found = re.fullmatch(r"\((\d{1,3}),(\d{1,3})\)", word) if isinstance(word, str) else None
    height, width = game.shape
    if found and isinstance(game, Go | Gomoku) and int(found[1]) < width and int(found[2]) < height:
        return int(found[2]) * width + int(found[1])
    try:
        return read_move(game, word if isinstance(word, str) else "")
    except UsageError:
        raise FieldError(f"Could not parse board location: {str(word)[:40]!r}", field) from None


def _first(told: dict[str, Any], moves: tuple[tuple[int, int], ...], stones: tuple[tuple[int, int], ...]) -> int:
    """Who moves at the start: whoever is said to, who makes the first move, or White behind a handicap."""
    if told.get("initialPlayer") is not None:
        return _player(told["initialPlayer"], "initialPlayer")
    if moves:
        return moves[0][0]
    return int(len(stones) > 1 and all(seat == 0 for seat, _ in stones))


def _settings(told: dict[str, Any], warnings: Warnings) -> tuple[str, float | None, int | None]:
    """Of KataGo's settings those that mean something here: whom win rates are for, seconds, visits."""
    settings = told.get("overrideSettings", {})
    if not isinstance(settings, dict):
        raise FieldError("Must be an object", "overrideSettings")
    rest = [name[:40] for name in settings if name not in ("reportAnalysisWinratesAs", "maxTime", "maxVisits")]
    warnings += [(f"the setting {name} is not used here", "overrideSettings") for name in rest]
    side = settings.get("reportAnalysisWinratesAs", "BLACK")
    if not isinstance(side, str) or side.upper() not in SIDES:
        raise FieldError(f"reportAnalysisWinratesAs is one of {', '.join(SIDES)}", "overrideSettings")
    seconds = _real(settings, "maxTime", 0.0, 0.001, MOST_SECONDS)
    return side.upper(), seconds or None, _whole(settings, "maxVisits", None, 1, MOST_VISITS)


def _only(told: dict[str, Any], game: Game[Any], warnings: Warnings) -> dict[int, frozenset[int]]:
    """The moves of each side that are told of."""
    out: dict[int, frozenset[int]] = {}
    for field in ("avoidMoves", "allowMoves"):
        entries = told.get(field, [])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise FieldError("Must be a list of objects", field)
        for entry in entries:
            seat, words = _player(entry.get("player"), field), entry.get("moves")
            if not isinstance(words, list):
                raise FieldError("moves must be a list of moves", field)
            named = frozenset(_move(game, word, field) for word in words)
            every = out.get(seat, frozenset(range(game.num_actions)))
            out[seat] = every & named if field == "allowMoves" else every - named
        if entries:
            warnings.append((f"{field} limits the moves that are told, not those that are searched", field))
    return out


# -- fields ----------------------------------------------------------------------------------------------------------
def _whole(told: dict[str, Any], field: str, usual: int | None, low: int, high: int) -> int | None:
    value = told.get(field, usual)
    if field in told and (type(value) is not int or not low <= value <= high):
        raise FieldError(f"Must be an integer from {low} to {high}", field)
    return value


def _whole_list(told: dict[str, Any], field: str, usual: list[int], low: int, high: int) -> tuple[int, ...]:
    found = told.get(field, usual)
    if not isinstance(found, list) or not all(type(value) is int and low <= value <= high for value in found):
        raise FieldError(f"Must be a list of integers from {low} to {high}", field)
    return tuple(found)


def _real(told: dict[str, Any], field: str, usual: float, low: float, high: float) -> float:
    if field not in told:
        return usual
    value = told[field]
    if type(value) not in (int, float) or not abs(value) < 1e15 or not math.isfinite(value) or not low <= value <= high:
        raise FieldError(f"Must be a number from {low:g} to {high:g}", field)
    return float(value)


def _flag(told: dict[str, Any], field: str) -> bool:
    value = told.get(field, False)
    if not isinstance(value, bool):
        raise FieldError("Must be a boolean", field)
    return value


READ = (
    "id",
    "moves",
    "initialStones",
    "initialPlayer",
    "rules",
    "komi",
    "boardXSize",
    "boardYSize",
    "analyzeTurns",
    "maxVisits",
    "analysisPVLen",
    "includeOwnership",
    "includePolicy",
    "avoidMoves",
    "allowMoves",
    "overrideSettings",
    "reportDuringSearchEvery",
    "priority",
    "priorities",
)
