"""Greedy: no search at all, the best move of the evaluator's policy.

The smallest search of the house, and the one that `docs/adding-a-search.md` walks through.
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32, Int32

from jaxgo.core.play import Position
from jaxgo.evaluators.base import Params
from jaxgo.search import tree as trees
from jaxgo.search.base import Budget, Search, SearchResult, Temperature, conclude
from jaxgo.search.model import ILLEGAL, Model
from jaxgo.search.tree import ROOT, Tree


class GreedyState(NamedTuple):
    root: Position
    tree: Tree  # of one node
    done: Int32[Array, " B"]
    calls: Int32[Array, ""]

    @property
    def prior(self) -> Float32[Array, "B A"]:
        return self.tree.logits[:, ROOT]


@dataclasses.dataclass(frozen=True)
class Greedy(Search[GreedyState]):
    """Asks the evaluator once. With a temperature it draws from the policy."""

    @property
    def budget(self) -> int:
        return 0

    def begin(
        self, model: Model, params: Params, key: Array, root: Position, plan: Budget | None = None
    ) -> GreedyState:
        tree = trees.plant(model.root(params, key, root), nodes=1)
        return GreedyState(root, tree, jnp.zeros_like(tree.used), jnp.int32(0))

    def extend(self, model: Model, params: Params, key: Array, state: GreedyState, budget: Budget) -> GreedyState:
        return state

    def result(self, key: Array, state: GreedyState, temperature: Temperature = 0.0) -> SearchResult:
        legal = state.prior > ILLEGAL
        policy = jnp.where(legal, jax.nn.softmax(state.prior, axis=-1), 0.0)
        return conclude(state, key, legal, state.prior, policy, temperature)
