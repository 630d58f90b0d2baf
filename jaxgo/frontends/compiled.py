"""How much a process that goes from game to game keeps compiled."""

import jax

from jaxgo.core import play
from jaxgo.search import think

MOST = 40  # games and players; one of them takes some 800 of the 65,530 memory maps that a process of Linux has


def make_room() -> None:
    """Before a game or a player that may be new: where much is compiled by now, all of it is let go, as it takes
    memory. What somebody still plays with is compiled again."""
    if play.compiled() + think.compiled() >= MOST:
        jax.clear_caches()
