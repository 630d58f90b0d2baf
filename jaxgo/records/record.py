"""What a file of a game tells, whatever its format."""

import contextlib
import dataclasses
import re
from collections.abc import Callable
from typing import Any

from jaxgo.core import position_text
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game

LARGEST = 2**25  # characters of a file: 50,000 games of chess
# who won, and by what, or a draw, as programs and servers write it
VERDICT = re.compile(r"(?P<side>b|w|black|white)( ?\+.*| (wins?|won)\b.*)?|0|draw\b.*|jigo\b.*|d|j")


@dataclasses.dataclass(frozen=True)
class GameRecord:
    """A game that was played, or a part of one; whether its moves are legal is for who replays it to see."""

    game: Game[Any]
    name: str  # of the game among those registered
    moves: tuple[int, ...]
    start: str = ""  # a position as text, where it is not the usual start
    players: tuple[str, ...] = ()
    returns: tuple[float, ...] | None = None  # for each seat; None: the game was not finished
    verdict: str = ""  # in the words of SGF, such as `B+3.5` or `W+R`
    reason: str = ""  # how it ended
    lines: tuple[int, ...] = ()  # of the file, where each move stands
    comments: dict[int, str] = dataclasses.field(default_factory=dict)  # on the position after so many moves
    tried: bool = dataclasses.field(default=False, compare=False)  # its moves are legal: who read it has played them

    @property
    def first(self) -> int:
        """The seat that begins, with the moves of its start where that has any."""
        if self.start.lower().split()[:1] in ([], [position_text.START]):
            return int(position_text.example(self.game).split()[1])
        return int(position_text.read(self.game, self.start)[0].state.to_play)

    def place(self, number: int) -> str:
        """Where the move of this number (from 1) is, for a message."""
        return f"line {self.lines[number - 1]}: move {number}" if number <= len(self.lines) else f"move {number}"

    def verdict_or_letter(self) -> str:
        """The verdict, or at least who has won."""
        if self.verdict or self.returns is None or len(self.returns) != 2:
            return self.verdict
        return "0" if self.returns[0] == 0 else "B+" if self.returns[0] > 0 else "W+"


def attempt(read: Callable[[], GameRecord]) -> GameRecord | UsageError:
    """A game of a file that has more, or what is wrong with it: the others can be read."""
    try:
        return read()
    except UsageError as error:
        return error


def winner(verdict: str) -> tuple[float, float] | None:
    """What each seat got, from a verdict such as `B+3.5`; None where it cannot be read."""
    found = VERDICT.fullmatch(" ".join(verdict.lower().split()))
    if found is None:
        return None
    gain = {"b": 1.0, "w": -1.0}.get((found["side"] or "")[:1], 0.0)
    return gain, -gain


def bounded(text: str | bytes, charset: str = "latin-1") -> str:
    """The text of a file that is not too large; bytes that are no UTF-8 are read by `charset`, or as Latin-1."""
    if len(text) > LARGEST:
        raise UsageError(f"a file of games has at most {LARGEST} characters; this one has more")
    if isinstance(text, str):
        return text
    for name in ("utf-8-sig", charset):
        with contextlib.suppress(UnicodeDecodeError):
            return text.decode(name)
    return text.decode("latin-1")
