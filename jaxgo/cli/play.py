"""`jaxgo play`: a page to play on, in the browser."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jaxgo.cli import play_text
from jaxgo.cli.command import Command, GameName, Option, reader
from jaxgo.core.errors import UsageError
from jaxgo.core.words import split_setting

if TYPE_CHECKING:
    from jaxgo.frontends.web.shared import Shared

RUNS = Path("runs")  # where training keeps its runs


@dataclass(frozen=True, kw_only=True)
class Listening:
    """Where a page is served."""

    port: int = 8000
    """0: any that is free."""
    host: str = "127.0.0.1"
    """Where to listen; anything but this machine itself lets others play here too."""
    names: tuple[str, ...] = ()
    """Further names that this machine is called by; requests for other names are refused."""
    browser: bool = True
    """Open the page in the browser."""

    def check(self) -> None:
        """A UsageError where a name is none, or the libraries of the page are missing."""
        from jaxgo.core.names import package

        for name in self.names:
            if "/" in name or not name.strip():
                raise UsageError(
                    f"--names {name!r} is no name of a machine; give one as in box.local, without the rest"
                )
        for name in ("starlette", "uvicorn"):
            package(name, "the page", "web")

    def serve(self, shared: "Shared", name: str, options: dict[str, str]) -> int:
        """Serves the page until Ctrl-C."""
        from jaxgo.frontends.web import listen, server

        app = server.create(shared, name, options, sorted({*server.LOOPBACK, self.host, *self.names}))
        return listen.serve(app, self.host, self.port, self.browser)


@dataclass(frozen=True)
class Play(Listening):
    """Open a page to play any game: against a player, two at one board, or to watch two players.

    With --text the game is in the terminal instead; `jaxgo play --text --help` tells its flags.
    """

    name: GameName = "connect4"
    """The game to begin with, as `jaxgo games` lists it; others can be chosen on the page."""
    option: Option = ()
    """An option of the game, such as komi=5.5; may be given several times."""
    runs: tuple[Path, ...] = ()
    """Folders of training runs; players of all runs in them are on offer. None: `runs`, where it is there."""

    def run(self) -> int:
        from jaxgo.games.names import read_game

        read_game(self.name, self.option)  # complains now
        for folder in self.runs:
            if not folder.is_dir():
                raise UsageError(f"--runs {folder} is no folder; name one with runs of training in it, or leave it out")
        self.check()
        from jaxgo.frontends.web import offers, shared

        options = dict(setting for text in self.option if (setting := split_setting(text)))
        return self.serve(shared.Shared(offers.find(self.runs or (RUNS,))), self.name, options)


def read(program: str, words: Sequence[str]) -> Command:
    """The page, or the terminal."""
    return (play_text.read if "--text" in words else reader(Play))(program, words)
