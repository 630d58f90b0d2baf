"""Tables for the tests of engines: tiny programs in `arena/engines/` that play, and do one thing wrong on demand.

Go on 5x5 with a low limit of moves, so that the same rules are compiled once for all tests.
"""

import re
import sys
from pathlib import Path

import jax
import numpy as np

from jaxgo.arena.engines import referee
from jaxgo.arena.engines.protocols import Limits
from jaxgo.arena.engines.specs import is_engine, read_engine
from jaxgo.games import make
from jaxgo.players import load_player

HERE = Path(__file__).parent / "arena" / "engines"
GO = make("go5", move_limit=10)
GOMOKU = make("gomoku", size=7)
GARDNER = make("gardner")
PATIENT = Limits(move=20.0, start=60.0, at_once=1)
STRICT = Limits(move=0.3, start=20.0, grace=0.2, at_once=1)


def spec(program: str, *words: object) -> str:
    return " ".join([f"{program}:{sys.executable} -S -E {HERE / program}_engine.py", *map(str, words)])


def gtp(*words: object) -> str:
    return spec("gtp", *words)


def gomocup(*words: object) -> str:
    return spec("gomocup", *words)


def uci(*words: object, settings: str = "") -> str:
    return spec("uci", *words) + (f",{settings}" if settings else "")


def play(openings, *specs: str, limits: Limits = PATIENT, pairs: int = 1, heat: float = 0.0):
    """Pairs between an engine and another engine or the random agent, in the order of their openings."""
    game = openings.game
    players = [read_engine(s, game) if is_engine(s) else load_player(s, game) for s in (*specs, "random")[:2]]
    keys = jax.vmap(jax.random.key)(np.arange(pairs))
    lines = [openings.actions(i) for i in range(pairs)]
    found = referee.play_pairs(
        tuple(players), game, lines, openings.positions(range(pairs)), keys, limits=limits, temperature=heat
    )
    return sorted(found, key=lambda pair: pair.number)


def told(log: Path) -> list[str]:
    """What was said to a GTP engine, without the numbers of commands."""
    return [re.sub(r"^\d+ ", "", line) for line in log.read_text().splitlines()]
