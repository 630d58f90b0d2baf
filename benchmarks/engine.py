"""Games against an engine: who wins by the rules of jaxgo, and who by the engine's own count. See `arena.py`."""

import time

import harness
import jax
import jax.numpy as jnp

from jaxgo.arena.engines.played import PlayedGame
from jaxgo.arena.engines.protocols import Limits
from jaxgo.arena.engines.referee import play_pairs
from jaxgo.arena.engines.specs import read_engine
from jaxgo.arena.openings import random_openings
from jaxgo.games import GAMES
from jaxgo.players import load_player
from jaxgo.records.record import winner
from jaxgo.system import devices

GNUGO = "gtp:gnugo --mode gtp --level 1"


def agree(done: PlayedGame) -> bool:
    """Whether the engine said who won, and the rules here say the same."""
    return winner(done.verdicts[0]) is not None and not done.disputes()


def ask(spec: str, games: int) -> None:
    """Pairs against random on Go 9x9, from openings of two random moves, on as many tables as there are cores."""
    game = GAMES["go9"]
    engine, agent = read_engine(spec, game), load_player("random", game)
    openings, numbers = random_openings(game, plies=2), range(-(-games // 2))
    keys = jax.vmap(jax.random.fold_in, (None, 0))(jax.random.key(5), jnp.arange(len(numbers)))
    lines = [openings.actions(number) for number in numbers]
    limits = Limits(at_once=devices.cores())
    began = time.perf_counter()
    pairs = list(play_pairs((engine, agent), game, lines, openings.positions(numbers), keys, limits=limits))
    seconds = time.perf_counter() - began
    played = [(side, done) for pair in pairs for side, done in enumerate(pair.games)]
    harness.report(
        "arena/gnugo",
        engine=engine.name,
        games=len(played),
        won=sum(done.result == 1.0 - side for side, done in played) / len(played),
        bar=0.99,
        same_winner_by_its_own_count=sum(agree(done) for _, done in played) / len(played),
        bar_of_that=0.98,
        forfeits=sum(done.forfeit is not None for _, done in played),
        problems=[problem for pair in pairs for problem in pair.problems()][:10],
        plies_a_game=sum(len(done.moves) for _, done in played) / len(played),
        seconds_with_compilation=seconds,
    )
