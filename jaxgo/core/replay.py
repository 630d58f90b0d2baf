"""A game played from the names of its moves."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.play import Position


def replay(game: Game[Any], moves: Sequence[str]) -> tuple[Position, int | None]:
    """The position after these moves, and the last of them; a UsageError names the first that is not legal."""
    position, last = play.start(game, jax.random.key(0)), None
    legal = jax.jit(lambda p: play.legal(game, p))
    step = jax.jit(lambda p, a: play.play(game, p, a)[0])
    for number, text in enumerate(moves, 1):
        last = game.parse_action(text)
        mask = np.asarray(legal(position))
        if not mask[last]:
            some = ", ".join(game.action_name(a) for a in np.flatnonzero(mask)[:8].tolist()) or "none: the game is over"
            raise UsageError(f"move {number}, {text.strip()!r}, is not legal; legal moves are: {some}")
        position = step(position, jnp.int32(last))
    return position, last


def status(game: Game[Any], position: Position) -> str:
    """Who moves, or how it ended."""
    ply = int(position.state.ply)
    if bool(play.over(game, position)):
        result = ", ".join(f"{value:+g}" for value in np.asarray(play.returns(game, position)).tolist())
        return f"over after {ply} plies; result for each seat: {result}"
    count = int(np.asarray(play.legal(game, position)).sum())
    return f"ply {ply}, seat {int(position.state.to_play)} to move, {count} legal actions"
