"""`jaxgo play`: a page to play on, in the browser."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from jaxgo.cli import play_text
from jaxgo.cli.command import Command, reader
from jaxgo.core.errors import UsageError
from jaxgo.core.words import split_setting

LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")


@dataclass(frozen=True)
class Play:
    """Open a page to play any game: against a player, two at one board, or to watch two players.

    With --text the game is in the terminal instead; `jaxgo play --text --help` tells its flags.
    """

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="GAME")] = "connect4"
    """The game to begin with, as `jaxgo games` lists it; others can be chosen on the page."""
    option: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=VALUE"), tyro.conf.UseAppendAction] = ()
    """An option of the game, such as komi=5.5; may be given several times."""
    runs: tuple[Path, ...] = (Path("runs"),)
    """Folders of training runs; players of all runs in them are on offer."""
    port: int = 8000
    """0: any that is free."""
    host: str = "127.0.0.1"
    """Where to listen; anything but this machine itself lets others play here too."""
    names: tuple[str, ...] = ()
    """Further names that this machine is called by; requests for other names are refused."""
    browser: bool = True
    """Open the page in the browser."""

    def run(self) -> int:
        from jaxgo.games.names import read_game

        read_game(self.name, self.option)  # complains now
        options = dict(setting for text in self.option if (setting := split_setting(text)))
        try:
            from jaxgo.frontends.web import listen, offers, server, table
        except ImportError:
            raise UsageError("the page needs starlette and uvicorn; install them with: uv sync --extra web") from None
        hosts = sorted({*LOOPBACK, self.host, *self.names})
        app = server.create(table.Shared(offers.find(self.runs)), self.name, options, hosts)
        return listen.serve(app, self.host, self.port, self.browser)


def read(program: str, words: Sequence[str]) -> Command:
    """The page, or the terminal."""
    return (play_text.read if "--text" in words else reader(Play))(program, words)
