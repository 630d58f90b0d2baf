"""Greedy: no search at all, the best move of the evaluator's policy.

The smallest search of the house, and the one that `docs/adding-a-search.md` walks through.
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int32

from jaxgo.core.play import Position
from jaxgo.evaluators.base import Params
from jaxgo.search import tree as trees
from jaxgo.search.base import Budget, Search, SearchResult, Temperature, conclude
from jaxgo.search.edges import root_edges
from jaxgo.search.model import Model
from jaxgo.search.tree import ROOT, Tree


class GreedyState(NamedTuple):
    tree: Tree  # of one node


@dataclasses.dataclass(frozen=True)
class Greedy(Search):
    """Asks the evaluator once. With a temperature it draws from the policy."""

    @property
    def budget(self) -> int:
        return 0

    def start(
        self, model: Model, params: Params, key: Array, root: Position, plan: Budget | None = None
    ) -> GreedyState:
        return GreedyState(trees.plant(model.root(params, key, root), nodes=1))

    def extend(
        self, model: Model, params: Params, key: Array, root: Position, q: GreedyState, budget: Budget
    ) -> GreedyState:
        return q

    def result(
        self, model: Model, key: Array, root: Position, q: GreedyState, temperature: Temperature = 0.0
    ) -> SearchResult:
        edges = root_edges(q.tree)
        logits = q.tree.logits[:, ROOT]
        policy = jnp.where(edges.legal, jax.nn.softmax(logits, axis=-1), 0.0)
        return conclude(q.tree, key, edges.legal, logits, policy, temperature)

    def follow(
        self,
        model: Model,
        params: Params,
        key: Array,
        q: GreedyState,
        action: Int32[Array, " B"],
        root: Position,
        plan: Budget | None = None,
    ) -> GreedyState:
        return self.start(model, params, key, root)
