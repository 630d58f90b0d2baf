"""Lines that come in from programs that may send anything, what goes back to them, and the one line that goes to the
people who started them."""

import sys
from collections.abc import Iterator
from typing import Any

from jaxgo.players import Player

LONGEST = 2**16  # bytes of a line


def read_lines(stream: Any) -> Iterator[str]:
    """The lines of a binary stream as text. Of one that is too long the first part comes, longer than `LONGEST`."""
    while line := stream.readline(LONGEST + 2):
        rest = line
        while len(rest) > LONGEST and not rest.endswith(b"\n"):
            rest = stream.readline(LONGEST + 2)
        yield _text(line).rstrip("\r\n")


def _text(line: bytes) -> str:
    """UTF-8, as names of files and ids are written today, or else Latin-1, which reads anything. The mark that Windows
    puts before it is no part of a command. A line that was cut must stay as long as it is."""
    try:
        return line.decode("utf-8-sig") if len(line) <= LONGEST else line.decode("latin-1")
    except UnicodeDecodeError:
        return line.decode("latin-1")


def write(text: str) -> None:
    """To the program at the other end, at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


class Teller:
    """Says who plays where nobody was named, each time that it is somebody else."""

    def __init__(self) -> None:
        self._told = ""

    def __call__(self, player: Player) -> None:
        if player.name != self._told:
            self._told = player.name
            tell_player(player)


def tell_player(player: Player) -> None:
    """Says on standard error who plays where nobody was named; standard output is for the program at the other end."""
    if player.asked:
        print(f"jaxgo: {player.name} plays; --agent names another player", file=sys.stderr, flush=True)
