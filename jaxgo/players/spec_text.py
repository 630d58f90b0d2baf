"""Specs as text: the words that a spec is made of, and the spec that words make."""

import dataclasses
import json
import re
from collections.abc import Sequence

from jaxgo.core.errors import UsageError
from jaxgo.core.words import split_setting
from jaxgo.search import split_name

EXTERNAL = ("gtp", "gomocup", "uci")  # programs of their own; only the arena plays against them
WITH_SETTINGS = ("uci",)  # of these: whose settings stand behind the command, as options of a search do


@dataclasses.dataclass(frozen=True)
class Spec:
    """The words of a spec, of which nobody knows yet whether they make sense."""

    head: str  # of a search or a preset; "": the search that belongs to the weights
    budget: str = ""
    options: tuple[tuple[str, str], ...] = ()
    weights: str = ""

    def __str__(self) -> str:
        head = f"{self.head}:{self.budget}" if self.budget else self.head
        words = [head, *(f"{name}={_quoted(value)}" for name, value in self.options)]
        return ",".join(words) + (f"@{_quoted_place(self.weights)}" if self.weights else "")


def parse(text: str) -> Spec:
    """The words of a spec; `str` writes them again."""
    if not isinstance(text, str):
        raise UsageError(f"{text!r} is no name of a player, such as uct:400; of a search make Player(search, model)")
    plain, *places = _split(text, "@", 1)
    head, *texts = _split(plain, ",")
    name, colon, budget = split_name(head)
    options = _options(texts, text, "c=1.4")
    if colon and not budget:
        raise UsageError(f"{text.strip()!r} has a colon and no number of simulations after it, such as uct:400")
    if places and not places[0].strip():
        raise UsageError(f"{text.strip()!r} names no weights after its @, such as {name or 'gumbel'}:64@runs/go9")
    place = places[0].strip() if places else ""
    if place.startswith('"'):
        place = _unquoted(place)
    elif (folder := place.rpartition(":"))[0] and folder[2].isdecimal():
        place = f"{folder[0]}/{folder[2]}"
    return Spec(name, budget, options, place)


def parse_program(text: str) -> Spec:
    """The words of a program of its own: its protocol, the command as it is typed, and its settings if it has some."""
    protocol, _, command = (part.strip() for part in text.partition(":"))
    if protocol not in WITH_SETTINGS:
        return Spec(protocol, command)
    command, *texts = _split(command, ",")
    return Spec(protocol, command.strip(), _options(texts, text, "nodes=1000"))


def of_program(protocol: str, command: str, options: tuple[tuple[str, str], ...]) -> str:
    """The spec that `parse_program` reads so."""
    if protocol in WITH_SETTINGS and re.search(r'[,"]', command):
        command = '"' + re.sub(r'(["\\])', r"\\\1", command) + '"'
    return str(Spec(protocol, command, options))


def _options(words: Sequence[str], text: str, such_as: str) -> tuple[tuple[str, str], ...]:
    """The options of a spec, each NAME=VALUE."""
    options: dict[str, str] = {}
    for word in words:
        option, value = split_setting(word) or ("", "")
        if not (option and value):
            raise UsageError(f"{word.strip()!r} in {text.strip()!r} is not of the form name=value, such as {such_as}")
        if option in options:
            raise UsageError(f"{text.strip()!r} gives {option} twice; leave one out")
        options[option] = _unquoted(value)
    return tuple(options.items())


def seconds_of(spec: Spec) -> float | None:
    """The seconds for a move where that is what stands behind the colon, such as 3s; None for simulations."""
    found = re.fullmatch(r"(\d*\.?\d+|\d+\.)s", spec.budget)
    return float(found[1]) if found else None


def _split(text: str, mark: str, most: int = -1) -> list[str]:
    """The parts between marks that stand outside quotes."""
    parts: list[str] = []
    inside, escaped, start = False, False, 0
    for at, letter in enumerate(text):
        if letter == '"' and not escaped:
            inside = not inside
        elif letter == mark and not inside and len(parts) != most:
            parts.append(text[start:at])
            start = at + 1
        escaped = inside and letter == "\\" and not escaped
    return [*parts, text[start:]]


def _quoted(value: str) -> str:
    plain = value.isprintable() and re.fullmatch(r'[^\s",=@\\]+', value)
    return value if plain else json.dumps(value)


def _quoted_place(place: str) -> str:
    # results are written with names, and read back without what a terminal might obey
    plain = place == place.strip() and '"' not in place and place.isprintable() and not re.search(r".:[0-9]+$", place)
    return place if plain else json.dumps(place)


def _unquoted(text: str) -> str:
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text))
    except ValueError:
        raise UsageError(f"the quotes in {text} do not close; end it with another quote") from None


def is_external(text: str) -> bool:
    """Whether a spec means a program of its own: what stands behind the colon is a command, and no place in Python."""
    return isinstance(text, str) and text.partition(":")[0].strip() in EXTERNAL
