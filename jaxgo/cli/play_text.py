"""`jaxgo play --text`: a game in the terminal."""

from dataclasses import dataclass
from typing import Annotated

import tyro

from jaxgo.cli.command import GameName, Option, reader
from jaxgo.core.errors import UsageError


@dataclass(frozen=True)
class PlayText:
    """Play in the terminal: the board drawn, moves by name, hints, undo, and an analysis beside the board."""

    name: GameName = "connect4"
    """The game, as `jaxgo games` lists it."""
    text: bool = True
    """In the terminal; without it `jaxgo play` opens a page."""
    agent: str = "best"
    """Who plays against you, such as uct:400 or gumbel:64@runs/go9, or the best that comes with jaxgo; `none`: two
    people at one board."""
    seat: int = 0
    """Yours: seat 0 moves first."""
    option: Option = ()
    """An option of the game, such as komi=5.5; may be given several times."""
    position: Annotated[str, tyro.conf.arg(metavar="TEXT")] = ""
    """Begin here; `text` in a game prints such a text."""
    seconds: float = 0.0
    """Seconds for a move of the player, instead of its simulations."""
    analysis: bool = False
    """Show what the player thinks beside the board."""

    def run(self) -> int:
        from jaxgo.frontends.session import Session
        from jaxgo.frontends.terminal import Terminal
        from jaxgo.games.names import read_game
        from jaxgo.search.think import Limit
        from jaxgo.ui import how_to_play

        if not self.text:
            raise UsageError("--text is the terminal; leave --no-text out, and --text too for the page")
        game = read_game(self.name, self.option)
        if self.agent == "none" and self.seat:
            raise UsageError(
                "--seat is yours against a player, and --agent none has two people at one board; leave one out"
            )
        if not 0 <= self.seat < game.players or not 0 <= self.seconds < float("inf"):
            raise UsageError(f"--seat is one of {', '.join(map(str, range(game.players)))}, and --seconds 0 or more")
        session = Session(game, self.name)
        if self.position:
            session.setup(self.position)
        if self.agent != "none" and game.players == 1:
            session.set_adviser(self.agent)
            print(f"{session.player_of(0).name} gives hints.")
        elif self.agent != "none":  # hints are of whoever plays as well as it can, which a weak opponent does not
            session.set_player(1 - self.seat, self.agent)
            print(f"{session.player_of(1 - self.seat).name} plays against you.")
        print(f"{how_to_play.notation(game)} `help` lists what else can be typed.")
        limit = Limit(seconds=self.seconds) if self.seconds else None
        Terminal(session, _ask, print, limit, self.analysis).run()
        session.close(timeout=0.5)
        return 0


def _ask(prompt: str) -> str | None:
    try:
        return input(prompt)
    except EOFError:
        print()
        return None


read = reader(PlayText)
