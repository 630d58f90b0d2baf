"""Books for self-play: openings of the arena, a file of them or drawn ones, as the positions that games begin from.

They are read before anything is compiled, and travel as an argument of the programs. They are no part of a checkpoint:
every sitting of a run reads them again.
"""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from jaxgo.arena import openings
from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.play import Position

DRAWN = "balanced"  # openings as eval.py draws them
MOST_DRAWN = 256
ALL = 10**9  # openings of a file


def read(game: Game[Any], book: str, seed: int = 0) -> Position | None:
    """The positions of a book as a batch; None where there is no book. A UsageError where it cannot be used."""
    if not book:
        return None
    starts = [play.start(game, jax.random.key(number)).state for number in range(2)]
    if not all(bool((one == two).all()) for one, two in zip(*map(jax.tree.leaves, starts), strict=True)):
        raise UsageError(f"selfplay.book={book}: games that begin anew each time have no openings; leave it out")
    if book == DRAWN:
        found, most = openings.random_openings(game, seed=seed), MOST_DRAWN
    elif not Path(book).is_file():
        raise UsageError(f"selfplay.book={book}: no such file; name one with an opening in each line, or say {DRAWN}")
    else:
        found, most = openings.book(game, book), ALL
    positions = found.positions(range(found.distinct(most)))
    return jax.tree.map(jnp.asarray, positions)
