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
    """Its parameters are what the game knows (`Game.knowledge`), or () for the game's own."""

    def init(self, game: Game[Any], key: Array) -> Params:
        return jax.tree.map(jnp.asarray, game.knowledge())

    def __call__(self, game: Game[Any], params: Params, key: Array, states: States) -> Evaluation:
        if isinstance(params, tuple) and not params:
            return Evaluation(weight_logits(game, states), jax.vmap(game.heuristic)(states).astype(jnp.float32))
        value, weights = jax.vmap(game.judge, in_axes=(0, None))(states, params)
        return Evaluation(jnp.log(weights.astype(jnp.float32)), value.astype(jnp.float32))


def weight_logits(game: Game[Any], states: States) -> Float32[Array, "B A"]:
    """The logits whose softmax is the game's move weights."""
    return jnp.log(jax.vmap(game.move_weights)(states).astype(jnp.float32))
