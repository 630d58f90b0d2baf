"""Published positions of Connect Four: a line of a file has the columns that were played, then what they are worth.

So are the six sets of Pascal Pons, by which other programs tell how often they err
(https://blog.gamesolver.org/solving-connect-four/02-test-protocol/).
"""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.lanes import where_lanes
from jaxgo.core.play import Position
from jaxgo.games.connect4 import ConnectFour

NONE = 9  # stands behind the end of a line; a digit less one is below it


def read(game: Game[Any], path: Path) -> tuple[Position, np.ndarray]:
    """The positions of a file, and the sign of what it says that they are worth to their mover."""
    if game != ConnectFour():
        raise UsageError("published positions are of connect4, on its usual board; leave --published out")
    try:
        rows = [line.split() for line in path.read_text().splitlines()]
        lines = [[int(column) - 1 for column in columns] for columns, _ in rows]
        worth = np.sign([int(score) for _, score in rows])
    except (OSError, ValueError) as fault:
        raise UsageError(f"{path} has no lines of columns and a score, such as `4453 5`: {fault}") from None
    if not lines:
        raise UsageError(f"{path} is empty")
    moves = np.full((len(lines), max(map(len, lines))), NONE, np.int32)
    for row, columns in zip(moves, lines, strict=True):
        row[: len(columns)] = columns
    position, sound = jax.jit(jax.vmap(lambda line: follow(game, line)))(moves)
    if not sound.all():
        raise UsageError(f"{path}, line {int(np.argmin(sound)) + 1}: these moves end the game or cannot be played")
    return position, worth


def follow(game: Game[Any], moves: Any) -> tuple[Position, Any]:
    """Where these moves lead, and whether all of them can be played and the game goes on then."""

    def move(at: tuple[Position, Any], column: Any) -> tuple[tuple[Position, Any], None]:
        position, sound = at
        there, action = column != NONE, jnp.clip(column, 0, game.num_actions - 1)
        allowed = (action == column) & play.legal(game, position)[action]
        after, _ = play.play(game, position, action)
        return (where_lanes(there, after, position), sound & (allowed | ~there)), None

    (position, sound), _ = jax.lax.scan(move, (play.start(game, jax.random.key(0)), jnp.bool_(True)), moves)
    return position, sound & ~play.over(game, position)
