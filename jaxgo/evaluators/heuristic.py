"""What the game itself guesses: its `heuristic` as value, its `move_weights` as policy. No playouts."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32

from jaxgo.core.game import Game
from jaxgo.evaluators.base import Evaluation, Evaluator, Params, States


@dataclasses.dataclass(frozen=True)
class Heuristic(Evaluator):
    def __call__(self, game: Game[Any], params: Params, key: Array, states: States) -> Evaluation:
        return Evaluation(weight_logits(game, states), jax.vmap(game.heuristic)(states).astype(jnp.float32))


def weight_logits(game: Game[Any], states: States) -> Float32[Array, "B A"]:
    """The logits whose softmax is the game's move weights."""
    return jnp.log(jax.vmap(game.move_weights)(states).astype(jnp.float32))
