"""`jaxgo uci`: an engine for GUIs and referees of chess that speak UCI."""

import sys
from dataclasses import dataclass

from jaxgo.cli.command import GameName, Option, reader
from jaxgo.system import aside


@dataclass(frozen=True)
class Uci:
    """Be an engine of chess that speaks UCI on standard input and output."""

    name: GameName = "chess"
    """The game: chess, or gardner for a program that knows Gardner's chess on 5x5 squares."""
    agent: str = "best"
    """Who plays, such as puct:5000, or the best that comes with jaxgo; its simulations are the most for a move,
    whatever the clock says. The option Agent of UCI names another."""
    option: Option = ()
    """An option of the game, such as repetition=none; may be given several times."""

    def run(self) -> int:
        from jaxgo.core.errors import UsageError
        from jaxgo.frontends.lines import read_lines, write
        from jaxgo.frontends.uci import Uci as Engine
        from jaxgo.games.chess.rules import Chess
        from jaxgo.games.names import read_game

        game = read_game(self.name, self.option)
        if not isinstance(game, Chess):
            raise UsageError(
                f"UCI is the protocol of chess, and {self.name} is none; `jaxgo gtp {self.name}` speaks GTP"
            )
        Engine(game, self.name, self.agent, write).run(read_lines(sys.stdin.buffer))
        return aside.leave(0, at_once=True)


read = reader(Uci)
