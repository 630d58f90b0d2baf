"""`jaxgo gtp`: an engine for GUIs and referees that speak the Go Text Protocol."""

import sys
from dataclasses import dataclass

from jaxgo.cli.command import GameName, Option, reader
from jaxgo.core.errors import UsageError
from jaxgo.system import aside


@dataclass(frozen=True)
class Gtp:
    """Be an engine that speaks GTP on standard input and output; for Go, and with their own moves for other games."""

    name: GameName = "go9"
    """The game, as `jaxgo games` lists it."""
    agent: str = "best"
    """Who plays, such as uct:1600 or gumbel:64@runs/go9, or the best that comes with jaxgo; its simulations are the
    most for a move, whatever the clock says."""
    option: Option = ()
    """An option of the game, such as komi=5.5; may be given several times."""
    seconds: float = 0.0
    """Think so long for a move, instead of by simulations; a clock that runs still counts."""
    resign: float = 0.0
    """Give up when the value is below the negative of this, such as 0.95; 0: never."""
    ponder: bool = False
    """Search on while the other side thinks, and go on from there; for machines that the two do not share."""

    def run(self) -> int:
        from jaxgo.frontends import gtp
        from jaxgo.frontends.gtp_engine import GtpEngine
        from jaxgo.frontends.lines import read_lines, write
        from jaxgo.games.names import read_game

        if not 0 <= self.seconds < float("inf") or not 0 <= self.resign <= 1:
            raise UsageError("--seconds is 0 or more, and --resign between 0 and 1")
        game = read_game(self.name, self.option)
        engine = GtpEngine(
            game,
            self.name,
            self.agent,
            seconds=self.seconds,
            resign=self.resign,
            ponders=self.ponder,
            write=write,
        )
        gtp.run(engine, read_lines(sys.stdin.buffer))
        return aside.leave(0, at_once=True)


read = reader(Gtp)
