"""What a command is, how its words become one, and the words that many commands share."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Protocol, runtime_checkable

import tyro

INTERRUPTED = 130  # the exit status of what Ctrl-C ended, as shells have it
GameName = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="GAME")]
Option = Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=VALUE"), tyro.conf.UseAppendAction]
File = Annotated[Path | None, tyro.conf.arg(metavar="FILE")]


@runtime_checkable
class Command(Protocol):
    """A frozen dataclass: its fields are its flags, its docstring is its help. What only some commands need, they
    import inside `run`."""

    def run(self) -> int:
        """Does it, and returns the exit status."""


Read = Callable[[str, Sequence[str]], Command]  # the program's name, and the words behind it


def reader(kind: type[Any]) -> Read:
    """Reads the words of a command by its fields; tyro prints help (exit 0) and complaints (exit 2) itself."""

    def read(program: str, words: Sequence[str]) -> Command:
        command: Command = tyro.cli(kind, prog=program, args=list(words))
        return command

    return read


def bring(game: str) -> None:
    """Imports the code of a game that was named, if any was: a file that is of it starts none by itself."""
    if game:
        from jaxgo.games import find

        find(game)


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines whose cells stand below each other."""
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, wide, strict=True)).rstrip() for row in rows]
