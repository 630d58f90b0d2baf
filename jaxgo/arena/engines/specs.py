"""Engines by name: `gtp:gnugo --mode gtp --level 1` for a program that speaks GTP, `gomocup:PATH` for one of Gomocup's,
`uci:stockfish,nodes=1000,Skill Level=3` for one of chess.

`uct:3s` is a player of jaxgo that goes by the clock and sits at the same tables (see `clocked`). What stands after the
colon of the others is a command line, split as a shell would; quotes round all of it may be there or not. Over UCI it
ends at the first comma outside double quotes, and settings follow.
"""

import dataclasses
import os
import shlex
import shutil
from typing import Any, ClassVar

from jaxgo.arena.engines.clocked import is_timed, read_timed
from jaxgo.arena.engines.process import Fault
from jaxgo.arena.engines.protocols import Engine, External, Gomocup, Gtp, Limits, ProcessEngine, Settings
from jaxgo.arena.engines.uci import Uci
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.words import printable
from jaxgo.players import is_external, of_program, parse_program

PROTOCOLS: dict[str, type[ProcessEngine]] = {"gtp": Gtp, "gomocup": Gomocup, "uci": Uci}
EXAMPLES = {
    "gtp": 'gtp:"gnugo --mode gtp --level 1"',
    "gomocup": "gomocup:engines/pbrain-rapfi",
    "uci": "uci:stockfish,nodes=1000",
}
MORE_PATHS = ("/usr/games",)  # where Debian puts games, and root's PATH does not look
INSTALL = {
    "fairy-stockfish": "on Debian and Ubuntu: apt-get install fairy-stockfish",
    "gnugo": "on Debian and Ubuntu: apt-get install gnugo",
    "gtp-rhino": "on Debian and Ubuntu: apt-get install grhino",
    "stockfish": "on Debian and Ubuntu: apt-get install stockfish",
}


@dataclasses.dataclass(frozen=True)
class Program(External):
    """A program of its own, which speaks one of the protocols."""

    name: str  # without quotes round the command, but for those that a path needs
    protocol: str
    words: tuple[str, ...]  # of the command; the first is a program that is there
    settings: Settings = ()

    lucky: ClassVar[bool] = False  # as far as anybody knows

    def fingerprint(self, limits: Limits) -> str:
        """How many seconds of a move it is told; what it plays by, nobody knows."""
        told = PROTOCOLS[self.protocol].pace(limits, self.settings)
        return "untold" if told is None else f"{told:g} s"

    def open(self, game: Game[Any], limits: Limits) -> Engine:
        return PROTOCOLS[self.protocol](game, self.words, limits, self.settings)


def is_engine(spec: str) -> bool:
    """Whether a spec means a program of its own, or a player by the clock: whoever plays move by move."""
    return is_timed(spec) or is_external(spec)


def read_engine(spec: str, game: Game[Any]) -> External:
    """The engine of a spec; a UsageError if it cannot play this game, or is not there."""
    if is_timed(spec):
        return read_timed(spec, game)
    asked = parse_program(spec)
    protocol, text = asked.head, asked.budget
    try:
        words = shlex.split(text)
        if len(words) == 1 and words[0] != text:  # quotes round the whole
            text = shlex.quote(words[0]) if os.path.exists(words[0]) else words[0]  # a path keeps those that it needs
            words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"cannot read the command in {spec!r}: {error}") from None
    if not words:
        raise UsageError(f"{spec!r} names no program; write it as in {EXAMPLES[protocol]}")
    PROTOCOLS[protocol].check(game)
    program = shutil.which(words[0]) or shutil.which(words[0], path=os.pathsep.join(MORE_PATHS))
    if program is None:
        advice = INSTALL.get(os.path.basename(words[0]), "install it, or write the path of the program")
        raise UsageError(f"there is no program {words[0]!r} for the agent {protocol}:{text} ({advice})")
    name = printable(of_program(protocol, text, asked.options))
    found = Program(name, protocol, (program, *words[1:]), asked.options)
    if protocol == "uci":  # what it can be set to, and which game, it alone knows; it is to answer that at once
        engine = Uci(game, found.words, Limits(), found.settings)
        try:
            engine.meet()
        except Fault as fault:
            raise UsageError(f"{name} does not start ({fault}); try its command alone") from None
        finally:
            engine.close()
    return found
