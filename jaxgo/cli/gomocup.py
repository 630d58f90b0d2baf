"""`jaxgo gomocup`: a brain for tournament managers that speak Gomocup's protocol."""

import sys
from dataclasses import dataclass

from jaxgo.cli.command import Option, reader
from jaxgo.system import aside


@dataclass(frozen=True)
class Gomocup:
    """Be a brain of Gomoku that speaks Gomocup's protocol on standard input and output."""

    agent: str = "puct:5000"
    """Who plays, such as best:5000; its simulations are the most for a move, whatever the clock says."""
    option: Option = ()
    """An option of gomoku, such as rules=renju, which START compiles before it is answered; before it nothing is."""

    def run(self) -> int:
        from jaxgo.core.errors import UsageError
        from jaxgo.frontends.gomocup import Gomocup as Brain
        from jaxgo.frontends.lines import read_lines, write
        from jaxgo.games.gomoku.rules import Gomoku
        from jaxgo.games.names import read_game

        game = read_game("gomoku", self.option)
        if not isinstance(game, Gomoku):
            raise UsageError("this protocol is Gomoku's")
        Brain(game, self.agent, write).run(read_lines(sys.stdin.buffer))
        return aside.leave(0, at_once=True)


read = reader(Gomocup)
