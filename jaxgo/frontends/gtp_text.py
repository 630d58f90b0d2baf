"""The words of the Go Text Protocol: lines in, colours, numbers, answers out."""

import dataclasses
import re
from typing import Any

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game

COLOURS = {"b": 0, "black": 0, "w": 1, "white": 1}
LETTERS = "bw"
# commands that name files, which stand in double quotes where they have blanks, as in GoGui; elsewhere a quote is a
# letter, as in rules that are told as JSON
OF_FILES = ("loadsgf", "printsgf")
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"(?!\S)|(\S+)')


@dataclasses.dataclass(frozen=True)
class Line:
    """A command as it came in."""

    number: str  # its id, or nothing
    command: str
    words: tuple[str, ...]


def read_line(text: str) -> Line | None:
    """A line without its comment and its control characters; None where nothing is left of it."""
    text = "".join(" " if c == "\t" else c for c in text.partition("#")[0] if c == "\t" or c.isprintable())
    words = text.split()
    number = ""
    if words and re.fullmatch(r"\d{1,18}", words[0]):
        number, *words = words
    if words and words[0] in OF_FILES:
        words[1:] = _unquoted(text.partition(words[0])[2])
    return Line(number, words[0] if words else "", tuple(words[1:])) if words or number else None


def _unquoted(text: str) -> list[str]:
    """The words of a text; one in double quotes may have blanks, and \\" for a quote."""
    return [word or re.sub(r'\\(["\\])', r"\1", quoted) for quoted, word in QUOTED.findall(text)]


def answer(number: str, good: bool, text: str) -> str:
    """An answer; an empty line ends it, so it has none inside."""
    lines = [line.rstrip() for line in text.split("\n")]
    body = "\n".join(line for place, line in enumerate(lines) if line or place == 0)
    return f"{'=' if good else '?'}{number}{' ' if body else ''}{body}\n\n"


def read_seat(word: str, game: Game[Any]) -> int:
    """Black is seat 0."""
    seat = COLOURS.get(word.lower())
    if seat is None or seat >= game.players:
        raise UsageError("invalid color")
    return seat


def read_number(word: str, what: str, least: int = 0, most: int = 10_000) -> int:
    if not re.fullmatch(r"-?\d{1,9}", word) or not least <= int(word) <= most:
        raise UsageError(f"{what} is a whole number from {least} to {most}")
    return int(word)


def read_real(word: str, what: str) -> float:
    if not re.fullmatch(r"[-+]?(\d{1,9}(\.\d{0,9})?|\.\d{1,9})", word):
        raise UsageError(f"{what} is not a number")
    return float(word)
