"""What a page may say: a request a message, as JSON, read into values that are known to be sound.

Nothing in a message is trusted: every field has a kind and bounds, unknown fields are refused, and no field is ever the
name of a file. Whatever is wrong is a `UsageError`, which the page shows.
"""

import dataclasses
import math
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.system.files import read_json

MOST_TEXT = 64 * 1024  # characters of a message; a game of Go with comments is shorter
MOST_SECONDS, MOST_SIMULATIONS = 120.0, 200_000
MOST_PLIES = 100_000
WORD = 400  # characters of a spec, an option, a name


@dataclasses.dataclass(frozen=True)
class New:
    """Starts a game, of another kind or with other options if it says so."""

    game: str = ""
    options: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Play:
    """A move in the position `number`, by its action or as people call it; in another one by now, it is refused."""

    number: int
    action: int | None = None
    name: str = ""


@dataclasses.dataclass(frozen=True)
class Undo:
    count: int = 0  # 0: as many as bring the human back to the move
    number: int | None = None  # of the position from which they are counted; in another one by now nothing is done


@dataclasses.dataclass(frozen=True)
class Redo:
    count: int = 1
    number: int | None = None  # as of `Undo`


@dataclasses.dataclass(frozen=True)
class Seats:
    """Who plays each seat: a spec, "" for a human, or null for whoever sits there."""

    players: list[str | None]


@dataclasses.dataclass(frozen=True)
class Draw:
    """Deals the seats out by lot."""


@dataclasses.dataclass(frozen=True)
class Swap:
    """The players change sides."""


@dataclasses.dataclass(frozen=True)
class Budget:
    """How long players think: seconds, or simulations, or 0 for what each player's spec says."""

    seconds: float = 0.0
    simulations: int = 0


@dataclasses.dataclass(frozen=True)
class Go:
    """Lets the players go on after moves were taken back."""


@dataclasses.dataclass(frozen=True)
class Hint:
    """Asks a player what it would do here."""


@dataclasses.dataclass(frozen=True)
class Analyse:
    """Searches the position whoever is to move, until it is switched off."""

    on: bool


@dataclasses.dataclass(frozen=True)
class Review:
    """Searches every position of the game, and tells what each move gave away."""


@dataclasses.dataclass(frozen=True)
class Stop:
    """Ends the search; a player moves with what it has found."""


@dataclasses.dataclass(frozen=True)
class Resign:
    pass


@dataclasses.dataclass(frozen=True)
class Loop:
    """Game after game, with a pause between them."""

    on: bool
    delay: float = 3.0


@dataclasses.dataclass(frozen=True)
class Setup:
    """A position as text, or the moves of a link; of another game, with other options and players, if it says so."""

    text: str = ""
    actions: list[int] = dataclasses.field(default_factory=list)
    game: str = ""
    options: dict[str, str] = dataclasses.field(default_factory=dict)
    players: list[str] = dataclasses.field(default_factory=list)
    undo: int = 0  # so many of the moves are taken back at once
    resigned: int | None = None  # the seat that has given up behind all of the moves
    source: str = ""  # the file that the moves are from, which tells who played them


@dataclasses.dataclass(frozen=True)
class Load:
    """A record of a game: SGF, PGN, PSQ, the text of Zero+ or JSON, by what it looks like."""

    text: str


@dataclasses.dataclass(frozen=True)
class Save:
    """Asks for a record: of the game on the board, or of one that was played before."""

    kind: str
    game: int = -1


Request = (
    New
    | Play
    | Undo
    | Redo
    | Seats
    | Draw
    | Swap
    | Budget
    | Go
    | Hint
    | Analyse
    | Review
    | Stop
    | Resign
    | Loop
    | Setup
    | Load
    | Save
)
KINDS: dict[str, type[Any]] = {kind.__name__.lower(): kind for kind in get_args(Request)}
BOUNDS: dict[str, tuple[float, float]] = {
    "count": (0, MOST_PLIES),
    "undo": (0, MOST_PLIES),
    "resigned": (0, 1),
    "seconds": (0, MOST_SECONDS),
    "simulations": (0, MOST_SIMULATIONS),
    "delay": (0, 60),
    "action": (0, 2**31 - 1),
    "number": (0, 2**53),
    "game": (-1, 10_000),
}
LENGTHS = {"text": MOST_TEXT, "source": MOST_TEXT}
ARTICLES = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}
# what the page calls the fields that people fill in, and the unit of numbers
CALLED = {
    "budget.seconds": ("the time of a move", " seconds"),
    "budget.simulations": ("the time of a move", " simulations"),
    "loop.delay": ("the pause", " seconds"),
    "play.name": ("the name of a move", ""),
    "setup.actions": ("the list of moves in a link", ""),
    "setup.actions[]": ("each move in a link", ""),
    "setup.text": ("the position", ""),
    "setup.game": ("the name of a game", ""),
    "new.game": ("the name of a game", ""),
    "setup.options": ("the list of options", ""),
    "new.options": ("the list of options", ""),
    "setup.options[]": ("each option", ""),
    "new.options[]": ("each option", ""),
    "setup.players[]": ("the spec of a player", ""),
    "seats.players[]": ("the spec of a player", ""),
    "load.text": ("the file", ""),
}
COUNTS = {"players": 2, "options": 32, "actions": 4096}


def read(text: str) -> Request:
    """The request in a message."""
    if len(text) > MOST_TEXT:
        raise UsageError(f"a message has at most {MOST_TEXT} characters, not {len(text)}")
    try:
        found = read_json(text)
    except ValueError:
        raise UsageError("a message is one JSON object") from None
    if not isinstance(found, dict):
        raise UsageError("a message is one JSON object")
    word = found.pop("do", None)
    if not isinstance(word, str) or word not in KINDS:
        raise unknown_name("request", str(word)[:40], KINDS)
    kind = KINDS[word]
    hints = get_type_hints(kind)
    for name in found:
        if name not in hints:
            raise unknown_name(f"field of {word}", name[:40], hints or ["(none)"])
    for field in dataclasses.fields(kind):
        if field.name not in found and field.default is field.default_factory is dataclasses.MISSING:
            raise UsageError(f"{word} needs {field.name}")
    return kind(**{name: _value(f"{word}.{name}", name, value, hints[name]) for name, value in found.items()})


def _value(where: str, name: str, value: Any, hint: Any) -> Any:
    """The value if it is of its kind and within its bounds."""
    called, unit = CALLED.get(where, (where, ""))
    if isinstance(hint, UnionType):  # of a kind and None
        if value is None:
            return None
        hint = get_args(hint)[0]
    kind = get_origin(hint) or hint
    if kind is float and type(value) is int and abs(value) < 2**53:
        value = float(value)
    if type(value) is not kind:
        raise UsageError(f"{called} must be {ARTICLES[kind]}")
    if kind in (int, float):
        low, high = BOUNDS[name]
        if not (math.isfinite(value) and low <= value <= high):
            raise UsageError(f"{called} must be between {low:g} and {high:,g}{unit}")
    elif kind is str:
        if len(value) > LENGTHS.get(name, WORD):
            raise UsageError(f"{called} is longer than {LENGTHS.get(name, WORD)} characters")
    elif kind in (list, dict):
        if len(value) > COUNTS[name]:
            raise UsageError(f"{called} has more than {COUNTS[name]} entries")
        inner, one = get_args(hint)[-1], "action" if name == "actions" else name
        if kind is dict:
            return {str(key)[:WORD]: _value(f"{where}[]", one, item, inner) for key, item in value.items()}
        return [_value(f"{where}[]", one, item, inner) for item in value]
    return value
