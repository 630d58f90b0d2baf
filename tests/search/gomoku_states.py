"""Positions of Gomoku drawn by cells inside a compiled program."""

from typing import Any

import jax
import jax.numpy as jnp

from jaxgo.core.game import Game
from jaxgo.games.gomoku import renju
from jaxgo.games.gomoku.lines import pack


def drawn(game: Game[Any], cells: Any, seat: Any) -> Any:
    """The state with these stones, 1 the first seat's and 2 the other's, where this seat moves."""
    stones = jnp.stack([pack(cells == code, game.size) for code in (1, 2)])
    state = game.init(jax.random.key(0))._replace(stones=stones, to_play=seat)
    if game.rules == "renju":
        state = state._replace(forbidden=renju.forbidden_points(stones[0], stones[1]))
    return state
