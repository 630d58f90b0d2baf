"""The `jaxgo` program: finds the command, reports mistakes in one sentence.

A command is a frozen dataclass (its fields are its flags, its docstring is its help) with a `run() -> int`. A new one
is a small file and a line in `COMMANDS`. These files import JAX inside `run`: `jaxgo --help` does not wait for it.
"""

import os
import sys
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import tyro

import jaxgo
from jaxgo.cli.analyse import Analyse
from jaxgo.cli.doctor import Doctor
from jaxgo.cli.games import ListGames
from jaxgo.cli.show import Show
from jaxgo.core.errors import UsageError


@runtime_checkable
class Command(Protocol):
    def run(self) -> int: ...


COMMANDS: dict[str, type[Command]] = {
    "games": ListGames,
    "show": Show,
    "analyse": Analyse,
    "doctor": Doctor,
}


def parse(argv: Sequence[str]) -> Command:
    """The command that these arguments describe; tyro prints help (exit 0) and complaints (exit 2) itself."""
    commands: dict[str, Any] = dict(COMMANDS)
    about = f"{jaxgo.__doc__ or ''}".splitlines()[0] + f" Version {jaxgo.__version__}."
    return tyro.extras.subcommand_cli_from_dict(commands, prog="jaxgo", description=about, args=list(argv))


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit status: 0 fine, 2 the user's mistake."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments == ["--version"]:
        print(f"jaxgo {jaxgo.__version__}")
        return 0
    try:
        status = parse(arguments or ["--help"]).run()
        sys.stdout.flush()
        return status
    except UsageError as error:
        print(f"jaxgo: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `jaxgo games | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
