"""A speed test of the rules: random play of a whole batch."""

import time
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int32

from jaxgo.core import choice, play
from jaxgo.core.game import Game, tree_bytes
from jaxgo.core.lanes import where_lanes
from jaxgo.core.play import Position
from jaxgo.system import devices

TICKS = 32  # moves of every game between two looks at the clock


def most_games(game: Game[Any]) -> int:
    """As many as the device has room for twice, since a program reads one batch and writes another; 0: nobody knows."""
    start = jax.eval_shape(lambda key: play.start(game, key), jax.random.key(0))
    return devices.memory(devices.make_mesh(jax.devices()[:1])) // (2 * tree_bytes(start))


def measure_play(game: Game[Any], batch: int, seconds: float) -> tuple[float, float]:
    """Seconds of compilation, then steps per second of random play with exact legal masks and fresh starts."""
    start = play.start(game, jax.random.key(0))

    def tick(position: Position, number: Int32[Array, ""], lane: Int32[Array, ""]) -> Position:
        over = play.over(game, position)
        position = where_lanes(over, start, position)
        action = choice.pick(play.legal(game, position), choice.word(number, lane))
        return play.play(game, position, action)[0]

    def run(first: Int32[Array, ""], positions: Position) -> Position:
        move = jax.vmap(tick, in_axes=(0, None, 0))
        return jax.lax.fori_loop(0, TICKS, lambda t, p: move(p, first + t, jnp.arange(batch)), positions)

    positions = jax.tree.map(lambda x: jnp.repeat(x[None], batch, axis=0), start)
    began = time.perf_counter()
    program = jax.jit(run, donate_argnums=1).lower(jnp.int32(0), positions).compile()
    compiling = time.perf_counter() - began
    positions = jax.block_until_ready(program(jnp.int32(0), positions))
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        done += TICKS
        positions = jax.block_until_ready(program(jnp.int32(done), positions))
    return compiling, done * batch / (time.perf_counter() - began)
