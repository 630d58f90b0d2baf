"""Lanes that take turns: where each game needs its own number of steps, the games that go on are put side by side.

A step of a batch costs a processor as much for games that wait as for games that go on. So it steps a few at a time,
and whoever has ended makes room for the next; when few are left, these go on by themselves. Wide hardware steps them
all: there a narrow batch costs no less.
"""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int32

S = TypeVar("S")
WIDTH = 48  # games side by side on a processor: enough to make the fixed costs of a step small
IDLE = 4  # so many may wait before others take their places
LAST = 4  # the last games, one part in so many of the width, are stepped without the places of the others


def width_on(platform: str, games: int, width: int = WIDTH) -> int:
    """How many of so many games are stepped side by side, `width` of them on a processor."""
    return min(games, width) if platform == "cpu" else games


def go_on(
    step: Callable[[S, Int32[Array, " W"]], S],
    active: Callable[[S, Int32[Array, " W"]], Bool[Array, " W"]],
    state: S,
    width: int,
) -> S:
    """Steps the games of a state until none is active; both functions take the games' places, too.

    Every array of the state that is no single number has the games as its first axis.
    """
    games = max(x.shape[0] for x in jax.tree.leaves(state) if x.ndim)
    everyone = jnp.arange(games, dtype=jnp.int32)
    if width >= everyone.size:
        return jax.lax.while_loop(lambda s: active(s, everyone).any(), lambda s: step(s, everyone), state)

    def turn(whole: S, width: int, least: int) -> S:
        """Steps some that go on, until others wait for their places or fewer than the least go on."""
        going = active(whole, everyone)
        places = jnp.argsort(~going, stable=True)[:width].astype(jnp.int32)
        waiting = going.sum(dtype=jnp.int32) > width
        few = jnp.where(waiting, width - IDLE, least)
        some = jax.tree.map(lambda x: x[places] if x.ndim else x, whole)
        some = jax.lax.while_loop(
            lambda s: active(s, places).sum(dtype=jnp.int32) >= few, lambda s: step(s, places), some
        )
        return jax.tree.map(lambda x, y: x.at[places].set(y) if x.ndim else y, whole, some)

    last = max(1, width // LAST)
    state = jax.lax.while_loop(
        lambda s: active(s, everyone).sum(dtype=jnp.int32) > last, lambda s: turn(s, width, last + 1), state
    )
    return turn(state, last, 1)
