"""Random: any legal move, each as likely as the others. The floor under every table of strength."""

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int32

from jaxgo.core import keys
from jaxgo.core.play import Position
from jaxgo.evaluators.base import Params
from jaxgo.search.base import Budget, Search, SearchResult, Temperature
from jaxgo.search.model import ILLEGAL, Model


class RandomState(NamedTuple):
    legal: Bool[Array, "B A"]


@dataclasses.dataclass(frozen=True)
class Random(Search):
    """Asks nobody: the evaluator is never called."""

    @property
    def budget(self) -> int:
        return 0

    def start(
        self, model: Model, params: Params, key: Array, root: Position, plan: Budget | None = None
    ) -> RandomState:
        return RandomState(model.legal(root))

    def extend(
        self, model: Model, params: Params, key: Array, root: Position, q: RandomState, budget: Budget
    ) -> RandomState:
        return q

    def result(
        self, model: Model, key: Array, root: Position, q: RandomState, temperature: Temperature = 0.0
    ) -> SearchResult:
        """Any temperature is infinite here."""
        legal = q.legal
        action = keys.categorical(key, jnp.where(legal, 0.0, ILLEGAL))
        zeros = jnp.zeros(legal.shape)
        nothing = jnp.zeros(legal.shape, bool)
        return SearchResult(
            action=action,
            policy=legal / jnp.maximum(legal.sum(axis=-1, keepdims=True), 1),
            value=zeros[:, 0],
            visits=zeros.astype(jnp.int32),
            q=zeros,
            proven=nothing,
            solved=nothing[:, 0],
            healthy=jnp.ones(legal.shape[0], bool),
        )

    def follow(
        self,
        model: Model,
        params: Params,
        key: Array,
        q: RandomState,
        action: Int32[Array, " B"],
        root: Position,
        plan: Budget | None = None,
    ) -> RandomState:
        return self.start(model, params, key, root)
