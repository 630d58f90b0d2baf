"""The interface of a search: four verbs over a state of its own, so every search can be resumed, limited and reused."""

import abc
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32, Int32

from jaxgo.core import keys
from jaxgo.core.choice import first_max
from jaxgo.core.play import Position
from jaxgo.evaluators.base import Params
from jaxgo.search.edges import Edges, root_edges
from jaxgo.search.model import ILLEGAL, Model
from jaxgo.search.tree import ROOT, Tree

Budget = Int32[Array, " B"] | Int32[Array, ""] | int
Temperature = Float32[Array, " B"] | Float32[Array, ""] | float


class SearchResult(NamedTuple):
    """What a search found. Values and q are for the side to move at the root."""

    action: Int32[Array, " B"]  # the move to play
    policy: Float32[Array, "B A"]  # what a network should learn from this search
    value: Float32[Array, " B"]
    visits: Int32[Array, "B A"]
    q: Float32[Array, "B A"]  # meaningful where visited
    proven: Bool[Array, "B A"]  # q is the exact value of the move
    solved: Bool[Array, " B"]  # value is exact
    healthy: Bool[Array, " B"]  # the evaluator gave nothing but finite numbers


class Search(abc.ABC):
    """A frozen dataclass of numbers: its own config. `Q` below is the search's own NamedTuple."""

    @abc.abstractmethod
    def start(self, model: Model, params: Params, key: Array, root: Position, plan: Budget | None = None) -> Any:
        """A fresh search state at live root positions; `plan` tells searches with a schedule what budget is to come."""

    @abc.abstractmethod
    def extend(self, model: Model, params: Params, key: Array, root: Position, q: Any, budget: Budget) -> Any:
        """Searches on by `budget` simulations; a traced budget may differ by game and does not retrace."""

    @abc.abstractmethod
    def result(self, model: Model, key: Array, root: Position, q: Any, temperature: Temperature = 0.0) -> SearchResult:
        """The move, and what was learnt; `temperature` 0 plays the best move."""

    @abc.abstractmethod
    def follow(
        self,
        model: Model,
        params: Params,
        key: Array,
        q: Any,
        action: Int32[Array, " B"],
        root: Position,
        plan: Budget | None = None,
    ) -> Any:
        """The search state after `action` was played and led to `root`; action -1 starts that game afresh."""

    @property
    @abc.abstractmethod
    def budget(self) -> int:
        """Simulations of one whole search."""

    def run(
        self,
        model: Model,
        params: Params,
        key: Array,
        root: Position,
        budget: Budget | None = None,
        temperature: Temperature = 0.0,
    ) -> SearchResult:
        """A whole search."""
        begin, search, choose = keys.split(key, 3)
        budget = self.budget if budget is None else budget
        q = self.start(model, params, begin, root, budget)
        q = self.extend(model, params, search, root, q, budget)
        return self.result(model, choose, root, q, temperature)


def per_game(value: Any, games: int, dtype: Any) -> Array:
    """A number for all games, or one for each, as one for each."""
    return jnp.broadcast_to(jnp.asarray(value, dtype), (games,))


def draw(key: Array, weights: Float32[Array, "B A"], temperature: Temperature) -> Int32[Array, " B"]:
    """An action drawn in proportion to `weights ** (1 / temperature)`; temperature must be above 0."""
    heat = per_game(temperature, weights.shape[0], jnp.float32)
    # relative to the heaviest, so that neither a tiny temperature nor a million visits overflow
    ratio = weights / jnp.maximum(weights.max(-1, keepdims=True), jnp.finfo(jnp.float32).tiny)
    logits = jnp.log(jnp.maximum(ratio, jnp.finfo(jnp.float32).tiny)) / jnp.maximum(heat, 1e-6)[:, None]
    return keys.categorical(key, jnp.where(ratio > 0, logits, ILLEGAL))


def playable(tree: Tree, edges: Edges) -> Bool[Array, "B A"]:
    """The root moves to choose from: none that is proven lost unless all are, and the exact ones where solved."""
    sound = edges.legal & ~edges.lost
    exact = edges.legal & edges.proven & (edges.q >= edges.value[:, None])
    sound = jnp.where((tree.proven[:, ROOT] & exact.any(axis=-1))[:, None], exact, sound)
    return jnp.where(sound.any(axis=-1, keepdims=True), sound, edges.legal)


def conclude(
    tree: Tree,
    key: Array,
    among: Bool[Array, "B A"],
    score: Float32[Array, "B A"],
    policy: Float32[Array, "B A"],
    temperature: Temperature,
) -> SearchResult:
    """The result of a tree: of the moves `among` which to choose, the one of the highest score, or one drawn from
    `policy` where temperature is above 0."""
    edges = root_edges(tree)
    best = first_max(jnp.where(among, jnp.maximum(score, jnp.finfo(jnp.float32).min), -jnp.inf))
    weights = jnp.where(among, policy, 0.0)
    weights = jnp.where(weights.sum(axis=-1, keepdims=True) > 0, weights, among.astype(jnp.float32))
    heat = per_game(temperature, weights.shape[0], jnp.float32)
    action = jnp.where(heat > 0, draw(key, weights, temperature), best).astype(jnp.int32)
    solved = tree.proven[:, ROOT]
    return SearchResult(action, policy, edges.value, edges.visits, edges.q, edges.proven, solved, tree.healthy)
