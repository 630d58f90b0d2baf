"""The shortest way: what races come to when nobody looks at anything but who is nearer to the end."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32

from jaxgo.core.game import Game
from jaxgo.evaluators.base import Evaluation, Evaluator, Params, States


@dataclasses.dataclass(frozen=True)
class Race(Evaluator):
    """The other seat's distance less the mover's own, of the position as its value and behind every move as its policy.

    The game tells distances (`Game.distances`).
    """

    sharp: float = 4.0  # of a move's logit, for each step that it gains

    def __call__(self, game: Game[Any], params: Params, key: Array, states: States) -> Evaluation:
        seat = states.to_play
        lead, total = jax.vmap(functools.partial(_lead, game))(states, seat)
        actions = jnp.arange(game.num_actions, dtype=jnp.int32)
        after = jax.vmap(jax.vmap(game.step, in_axes=(None, 0)), in_axes=(0, None))(states, actions)
        behind, _ = jax.vmap(jax.vmap(functools.partial(_lead, game), in_axes=(0, None)))(after, seat)
        return Evaluation(self.sharp * behind, lead / jnp.maximum(total, 1.0))


def _lead(game: Game[Any], state: Any, seat: Array) -> tuple[Float32[Array, ""], Float32[Array, ""]]:
    """How many moves a seat is ahead, and how many there are still to go."""
    first, second = game.distances(state).astype(jnp.float32)
    return jnp.where(seat == 0, second - first, first - second), first + second
