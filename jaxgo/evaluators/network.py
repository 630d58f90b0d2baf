"""A neural network as judge."""

import dataclasses
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32

from jaxgo.core.game import Game
from jaxgo.evaluators.base import Evaluation, Evaluator, Params, States


@runtime_checkable
class Module(Protocol):
    """What a network must be: a `flax.linen.Module`, or anything hashable with these two methods.

    It maps planes `[B, H, W, C]` to logits `[B, A]` and to the value for the side to move, `[B]`, in [-1, 1].
    """

    def init(self, key: Array, planes: Array) -> Params: ...

    def apply(self, params: Params, planes: Array) -> Any: ...


@dataclasses.dataclass(frozen=True)
class Network(Evaluator):
    """Judges what `observe` shows."""

    module: Module

    def init(self, game: Game[Any], key: Array) -> Params:
        state = jax.eval_shape(game.init, key)
        planes = jax.eval_shape(game.observe, state)
        return self.module.init(key, jnp.zeros((1, *planes.shape)))

    def __call__(self, game: Game[Any], params: Params, key: Array, states: States) -> Evaluation:
        planes: Float32[Array, "B H W C"] = jax.vmap(game.observe)(states).astype(jnp.float32)
        logits, value = self.module.apply(params, planes)
        return Evaluation(logits.astype(jnp.float32), value.astype(jnp.float32))
