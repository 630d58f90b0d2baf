"""Random: any legal move, each as likely as the others. The floor under every table of strength."""

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32, Int32

from jaxgo.core import keys
from jaxgo.core.play import Position
from jaxgo.evaluators.base import Params
from jaxgo.search.base import Budget, Search, SearchResult, Temperature
from jaxgo.search.model import ILLEGAL, Model


class RandomState(NamedTuple):
    root: Position
    prior: Float32[Array, "B A"]
    done: Int32[Array, " B"]
    calls: Int32[Array, ""]
    healthy: Bool[Array, " B"]
    tree: None = None


@dataclasses.dataclass(frozen=True)
class Random(Search[RandomState]):
    """Asks nobody: the evaluator is never called."""

    default_evaluator = "uniform"

    @property
    def lucky(self) -> bool:
        return True

    @property
    def draws(self) -> bool:
        return False  # any temperature is infinite here

    def begin(
        self, model: Model, params: Params, key: Array, root: Position, plan: Budget | None = None
    ) -> RandomState:
        legal = model.legal(root)
        return RandomState(
            root=root,
            prior=jnp.where(legal, jnp.float32(0), ILLEGAL),
            done=jnp.zeros(legal.shape[0], jnp.int32),
            calls=jnp.int32(0),
            healthy=legal.any(axis=-1) | model.over(root),
        )

    def extend(self, model: Model, params: Params, key: Array, state: RandomState, budget: Budget) -> RandomState:
        return state

    def result(self, key: Array, state: RandomState, temperature: Temperature = 0.0) -> SearchResult:
        legal = state.prior > ILLEGAL
        zeros = jnp.zeros(legal.shape, jnp.float32)
        nothing = jnp.zeros(legal.shape, bool)
        even = legal.astype(jnp.float32) / jnp.maximum(legal.sum(axis=-1, keepdims=True, dtype=jnp.float32), 1.0)
        return SearchResult(
            action=keys.categorical(key, state.prior),
            policy=even,
            value=zeros[:, 0],
            visits=zeros.astype(jnp.int32),
            q=zeros,
            proven=nothing,
            solved=nothing[:, 0],
            healthy=state.healthy,
            chances=even,
        )
