"""`jaxgo analysis`: an engine for programs that speak KataGo's JSON analysis protocol, such as KaTrain."""

import sys
from dataclasses import dataclass

from jaxgo.cli.command import GameName, Option, reader
from jaxgo.system import aside


@dataclass(frozen=True)
class Analysis:
    """Be an analysis engine that speaks KataGo's JSON protocol on standard input and output."""

    name: GameName = "go19"
    """The game, as `jaxgo games` lists it; queries say size, komi and rules of Go."""
    agent: str = "best"
    """Who searches, such as uct:1600 or gumbel:64@runs/go9, or the best that comes with jaxgo; maxVisits of a query
    counts instead of its simulations."""
    option: Option = ()
    """An option of the game, such as komi=5.5, which is compiled before the first query; may be given several times."""

    def run(self) -> int:
        from jaxgo.frontends.analysis import AnalysisEngine
        from jaxgo.frontends.lines import read_lines, write
        from jaxgo.games.names import read_game

        engine = AnalysisEngine(read_game(self.name, self.option), self.name, self.agent, write)
        print("jaxgo is ready to begin handling requests", file=sys.stderr, flush=True)
        engine.run(read_lines(sys.stdin.buffer))
        return aside.leave(0, at_once=True)


read = reader(Analysis)
