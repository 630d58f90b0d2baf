"""Greedy: no search at all, the best move of the evaluator's policy.

The smallest search of the house, and the one that `docs/adding-a-search.md` walks through.
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32, Int32

from jaxgo.core import keys
from jaxgo.core.choice import best_of_equals
from jaxgo.core.play import Position
from jaxgo.evaluators.base import Params
from jaxgo.search import tree as trees
from jaxgo.search.base import Budget, Search, SearchResult, Temperature, conclude
from jaxgo.search.model import ILLEGAL, Model
from jaxgo.search.narrow import Narrowing
from jaxgo.search.tree import ROOT, Tree


class GreedyState(NamedTuple):
    root: Position
    tree: Tree  # of one node
    luck: Float32[Array, "B A"]  # which of equals comes first
    done: Int32[Array, " B"]
    calls: Int32[Array, ""]

    @property
    def prior(self) -> Float32[Array, "B A"]:
        return self.tree.logits[:, ROOT]


@dataclasses.dataclass(frozen=True)
class Greedy(Search[GreedyState]):
    """Asks the evaluator once; of equal moves it takes any. With a temperature it draws from the policy.

    Where a game names threats, it wins if it can at once, and else stops the other seat from that.
    """

    threats: bool = True  # win at once, else stop the other seat

    def begin(
        self, model: Model, params: Params, key: Array, root: Position, plan: Budget | None = None
    ) -> GreedyState:
        judge, ties = keys.split(key)
        leaves = model.seen_by(Narrowing(threats=self.threats)).root(params, judge, root)
        tree = trees.plant(leaves, nodes=1)
        drawn = keys.sample(jax.random.uniform, ties, leaves.logits.shape, jnp.float32)
        return GreedyState(root, tree, drawn, jnp.zeros_like(tree.used), jnp.int32(0))

    def extend(self, model: Model, params: Params, key: Array, state: GreedyState, budget: Budget) -> GreedyState:
        return state

    def result(self, key: Array, state: GreedyState, temperature: Temperature = 0.0) -> SearchResult:
        legal = state.prior > ILLEGAL
        policy = jnp.where(legal, jax.nn.softmax(state.prior, axis=-1), 0.0)
        best = best_of_equals(state.prior, legal, state.luck)
        return conclude(state, key, best, legal, policy, temperature)
