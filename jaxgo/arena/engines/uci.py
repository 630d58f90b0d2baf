"""UCI, the language of engines of chess: https://www.wbec-ridderkerk.nl/html/UCIProtocol.html.

An engine tells its options before anything else, so the settings of a spec are held against them: `depth`, `nodes` and
`seconds` limit each of its moves, every other name is an option of its own.
"""

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from jaxgo.arena.engines.process import Fault, shown
from jaxgo.arena.engines.protocols import LONGEST, OWN_PACE, TURN, Limits, ProcessEngine, Settings
from jaxgo.core import play
from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.core.game import Game
from jaxgo.core.words import SWITCHES, printable
from jaxgo.games.chess.rules import BOARDS, USUAL_VARIANT, Chess

COUNTS = ("depth", "nodes")  # limits that are whole numbers, as `go` calls them
MOST_COUNT = 2**53
LONGEST_MOVE = 3600.0  # seconds
VARIANT = "UCI_Variant"  # the option that names the game
STRENGTH, LIMITED = "UCI_Elo", "UCI_LimitStrength"  # the first holds where the second is on
NOTHING = ("", "(none)", "0000", "null")  # instead of a move
BUTTON = "button"  # the kind of an option that is pressed
EMPTY = "<empty>"  # a text of no letters

GREETING = re.compile(
    r"(?P<end>uciok)|id\s+name\s+(?P<title>.+)|option\s+name\s+(?P<name>.+?)\s+type\s+(?P<kind>\w+)(?P<more>.*)"
)
READY = re.compile(r"readyok")
MOVE = re.compile(r"bestmove\b\s*(?P<word>\S*).*")


class Uci(ProcessEngine):
    """An engine of chess; of Gardner's, if its option `UCI_Variant` has that."""

    parting = "quit"
    chatter = ("INFO",)

    def __init__(self, game: Game[Any], words: Sequence[str], limits: Limits, settings: Settings = ()) -> None:
        self._limits = limits_of(settings)  # refused before anything starts
        super().__init__(game, words, limits, settings)
        self._met = False
        self._start = ""
        self._moves: list[int] = []

    @staticmethod
    def check(game: Game[Any]) -> None:
        if not isinstance(game, Chess):
            raise UsageError(f"engines of UCI play chess, not {type(game).__name__}")

    @staticmethod
    def pace(limits: Limits, settings: Settings) -> float | None:
        own = limits_of(settings)
        return own.get("seconds") or limits.move or (None if own else TURN)

    def meet(self) -> list[str]:
        """Asks what it can be set to, and gives the commands that do so; a UsageError for settings that it has not."""
        title, options = self._greeting()
        given = {name: value for name, value in self.settings if name not in (*COUNTS, "seconds")}
        told = {name.lower() for name in given}
        if VARIANT.lower() not in told:
            given = self._variant(title, options) | given
        if STRENGTH.lower() in told and LIMITED.lower() in options and LIMITED.lower() not in told:
            raise UsageError(f"{STRENGTH} of {title} holds only with {LIMITED}=true; write that, too")
        return [_command(title, options, name, value) for name, value in given.items()]

    def begin(self, moves: Sequence[tuple[int, int]]) -> None:
        if not self._met:
            for command in self.meet():
                self.process.send(command)
            self._met = True
        self.process.send("ucinewgame\nisready")
        self._await("isready", self._deadline(self.limits.start), READY)
        self._start = self._start or _start(self.game)
        self._moves = [action for _, action in moves]

    def told(self, seat: int, action: int) -> None:
        self._moves.append(action)

    def choose(self, seat: int) -> int:
        seconds = self.pace(self.limits, self.settings)
        words = [f"{name} {self._limits[name]:.0f}" for name in COUNTS if name in self._limits]
        words += [f"movetime {max(1, round(1000 * seconds))}"] if seconds else []
        moves = ["moves", *map(self.game.action_name, self._moves)] if self._moves else []
        self.process.send(" ".join(["position", self._start, *moves]))
        self.process.send(" ".join(["go", *words]))
        word = self._await("go", self._deadline(seconds or OWN_PACE), MOVE)["word"]
        if word.lower() in NOTHING:
            raise Fault(f"it makes no move: bestmove {word}".strip())
        try:
            action = self.game.parse_action(word)
        except UsageError:
            raise Fault(f"illegal move {shown(word)}") from None
        self._moves.append(action)
        return action

    def _greeting(self) -> "tuple[str, dict[str, Option]]":
        """What it calls itself, and its options by their names in small letters."""
        title, options, deadline = "the engine", dict[str, Option](), self._deadline(self.limits.start)
        self.process.send("uci")
        for _ in range(LONGEST):
            found = self._await("uci", deadline, GREETING)
            if found["end"]:
                return title, options
            if found["title"]:
                title = shown(found["title"])
            else:
                name, more = (printable(" ".join(text.split())) for text in found.group("name", "more"))
                options[name.lower()] = Option.read(name, found["kind"], more)
        raise Fault("an endless answer to uci")

    def _variant(self, title: str, options: "Mapping[str, Option]") -> dict[str, str]:
        """The option that names the game, where that has to be said."""
        assert isinstance(self.game, Chess), "checked"
        wanted, option = BOARDS[self.game.board].variant, options.get(VARIANT.lower())
        if option is not None and wanted in option.choices:
            return {option.name: wanted}
        if wanted != USUAL_VARIANT or option is not None:
            known = ", ".join(option.choices) if option else USUAL_VARIANT
            raise UsageError(f"{title} plays {shown(known)}, not {wanted}; its option {VARIANT} would say so")
        return {}


@dataclasses.dataclass(frozen=True)
class Option:
    """An option as an engine tells it."""

    name: str
    kind: str
    least: float = -math.inf  # of a number
    most: float = math.inf
    choices: tuple[str, ...] = ()

    @classmethod
    def read(cls, name: str, kind: str, more: str) -> "Option":
        """By the words behind its kind."""
        plain, *choices = f" {more}".split(" var ")
        found = {word: float(value) for word, value in re.findall(r"\b(min|max)\s+(-?\d{1,18})\b", plain)}
        least, most = found.get("min", -math.inf), found.get("max", math.inf)
        return cls(name, kind.lower(), least, most, tuple(choices))

    def told(self, value: str) -> str | None:
        """A value as the engine is told it; None: it has none such."""
        if self.kind == "check":
            return str(SWITCHES[value.lower()]).lower() if value.lower() in SWITCHES else None
        if self.kind == "spin":
            return value if re.fullmatch(r"-?\d{1,18}", value) and self.least <= int(value) <= self.most else None
        if self.kind == "combo":
            return next((choice for choice in self.choices if choice.lower() == value.lower()), None)
        return (value or EMPTY) if value.isprintable() else None

    def wants(self) -> str:
        """What its value has to be."""
        if self.kind == "spin":
            return f"a whole number from {self.least:.0f} to {self.most:.0f}"
        return {"check": "true or false", "combo": f"one of {', '.join(self.choices)}"}.get(self.kind, "one line")


def _command(title: str, options: Mapping[str, Option], name: str, value: str) -> str:
    """The line that sets an option; a UsageError where there is none such."""
    option = options.get(name.lower())
    if option is None:
        raise unknown_name(f"option of {title}", name, [one.name for one in options.values() if one.kind != BUTTON])
    if option.kind == BUTTON:
        raise UsageError(f"{option.name} of {title} is a button, which has no value; leave it out")
    told = option.told(value)
    if told is None:
        raise UsageError(f"{name}={value} is refused: {option.name} of {title} is {option.wants()}")
    return f"setoption name {option.name} value {told}"


def limits_of(settings: Settings) -> dict[str, float]:
    """The limits among the settings; a UsageError where one is no such number."""
    found: dict[str, float] = {}
    for name, value in settings:
        if name in COUNTS:
            if not (re.fullmatch(r"\d{1,19}", value) and 0 < int(value) < MOST_COUNT):
                raise UsageError(f"{name}={value} of an engine is a whole number above 0, such as {name}=20")
            found[name] = float(value)
        elif name == "seconds":
            seconds = float(value) if re.fullmatch(r"\d*\.?\d+", value) else 0.0
            if not 0.0 < seconds <= LONGEST_MOVE:
                raise UsageError(f"seconds={value} of an engine is a number above 0 and up to {LONGEST_MOVE:g}")
            found[name] = seconds
    return found


def _start(game: Game[Any]) -> str:
    """Where games begin, as UCI says it."""
    assert isinstance(game, Chess), "checked"
    return f"fen {game.to_fen(play.begin(game).state)}" if game.fen else "startpos"
