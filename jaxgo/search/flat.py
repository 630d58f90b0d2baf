"""Flat UCB: a bandit over the moves of the root, without a tree, each pull one evaluator call on the position behind.

Moves that end the game are looked up at the start: a win is played at once, a loss never unless all moves lose. The
final choice mixes what was seen with what the game believes: `weight * u + (1 - weight) * h`, both in [0, 1], where
`u` is the mean result and `h` the move weights over the greatest of them. Where playouts see nothing, `h` decides.
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32, Int32

from jaxgo.core import keys, play
from jaxgo.core.choice import first_max
from jaxgo.core.errors import UsageError
from jaxgo.core.play import Position
from jaxgo.evaluators.base import Params
from jaxgo.search import tree as trees
from jaxgo.search.base import Budget, Search, SearchResult, Temperature, draw, per_game
from jaxgo.search.model import Model

LEAD = 1e6  # of a move that was never tried, above any bound


class FlatState(NamedTuple):
    legal: Bool[Array, "B A"]
    belief: Float32[Array, "B A"]  # move weights, the greatest of the legal ones 1
    ends: Bool[Array, "B A"]  # the move ends the game
    total: Float32[Array, "B A"]  # sum of the results for the mover at the root; the exact result where it ends
    visits: Int32[Array, "B A"]
    noise: Float32[Array, "B A"]  # which of equals comes first
    done: Int32[Array, " B"]
    calls: Int32[Array, ""]
    healthy: Bool[Array, " B"]


@dataclasses.dataclass(frozen=True)
class Flat(Search):
    """UCB1 over values in [0, 1]: `u + c * sqrt(log(N) / n)`; every move once first."""

    simulations: int = 400
    c: float = 1.4142135
    weight: float = 0.7  # of the results in the final choice
    leaves: int = 1  # moves pulled at once: those of the highest bounds

    def __post_init__(self) -> None:
        if self.simulations < 1 or self.leaves < 1:
            raise UsageError("flat needs simulations and leaves of at least 1")
        if self.c < 0.0 or not 0.0 <= self.weight <= 1.0:
            raise UsageError("flat needs c of at least 0 and weight from 0 to 1")

    @property
    def budget(self) -> int:
        return self.simulations

    def start(self, model: Model, params: Params, key: Array, root: Position, plan: Budget | None = None) -> FlatState:
        legal = model.legal(root)
        ends, result = jax.lax.map(functools.partial(_endings, model), root.state)
        weights = jnp.where(legal, jax.vmap(model.game.move_weights)(root.state), 0.0)
        games = legal.shape[0]
        return FlatState(
            legal=legal,
            belief=weights / jnp.maximum(weights.max(axis=-1, keepdims=True), jnp.finfo(jnp.float32).tiny),
            ends=ends & legal,
            total=jnp.where(ends & legal, result, 0.0),
            visits=jnp.zeros(legal.shape, jnp.int32),
            noise=keys.sample(jax.random.uniform, key, legal.shape),
            done=jnp.zeros(games, jnp.int32),
            calls=jnp.int32(0),
            healthy=jnp.ones(games, bool),
        )

    def extend(
        self, model: Model, params: Params, key: Array, root: Position, q: FlatState, budget: Budget
    ) -> FlatState:
        games, actions = q.legal.shape
        width = min(self.leaves, actions)
        rank = jnp.arange(width, dtype=jnp.int32)[None]
        states = jax.tree.map(lambda x: jnp.repeat(x, width, axis=0), root.state)
        turn = jnp.repeat(trees.mover_sign(root.state.to_play), width)
        open_ = q.legal & ~q.ends
        left = jnp.where(_won(q) | ~open_.any(axis=-1), 0, per_game(budget, games, jnp.int32))

        def pull(carry: tuple[FlatState, Int32[Array, " B"]]) -> tuple[FlatState, Int32[Array, " B"]]:
            q, left = carry
            arms = jax.lax.top_k(jnp.where(open_, self._bound(q), -jnp.inf), width)[1].astype(jnp.int32)
            active = rank < jnp.minimum(left, open_.sum(axis=-1, dtype=jnp.int32))[:, None]
            step = keys.of_step(key, q.calls, q.done)
            leaves = model.expand(params, step, states, arms.reshape(-1), active.reshape(-1))
            game = jnp.arange(games)[:, None]
            result = jnp.where(active, (leaves.value * turn).reshape(games, width), 0.0)
            pulled = active.sum(axis=1, dtype=jnp.int32)
            healthy = leaves.healthy.reshape(games, width) | ~active
            q = q._replace(
                total=q.total.at[game, arms].add(result),
                visits=q.visits.at[game, arms].add(active.astype(jnp.int32)),
                done=q.done + pulled,
                calls=q.calls + 1,
                healthy=q.healthy & healthy.all(axis=1),
            )
            return q, left - pulled

        return jax.lax.while_loop(lambda carry: (carry[1] > 0).any(), pull, (q, left))[0]

    def _bound(self, q: FlatState) -> Float32[Array, "B A"]:
        tries = jnp.maximum(q.visits, 1).astype(jnp.float32)
        logs = jnp.log(jnp.maximum(q.done, 1).astype(jnp.float32))
        bound = (q.total / tries + 1.0) / 2.0 + self.c * jnp.sqrt(logs[:, None] / tries)
        # of the moves never tried, those that the game believes in come first
        return jnp.where(q.visits > 0, bound, LEAD + q.belief + q.noise)

    def result(
        self, model: Model, key: Array, root: Position, q: FlatState, temperature: Temperature = 0.0
    ) -> SearchResult:
        tried = jnp.maximum(q.visits, 1).astype(jnp.float32)
        mean = q.total / tried
        u = jnp.where((q.visits > 0) | q.ends, (mean + 1.0) / 2.0, 0.0)
        score = self.weight * u + (1.0 - self.weight) * q.belief
        wins, losses = q.ends & (q.total >= 1.0), q.ends & (q.total <= -1.0)
        among = jnp.where(wins.any(axis=-1, keepdims=True), wins, q.legal & ~losses)
        among = jnp.where(among.any(axis=-1, keepdims=True), among, q.legal)
        # equals are told apart by luck, and not by the order of the moves
        best = first_max(jnp.where(among, score + 1e-6 * q.noise, -jnp.inf))
        weights = jnp.where(among, jnp.where(q.visits.sum(axis=-1, keepdims=True) > 0, q.visits, q.belief), 0.0)
        weights = jnp.where(weights.sum(axis=-1, keepdims=True) > 0, weights, among.astype(jnp.float32))
        policy = weights / jnp.maximum(weights.sum(axis=-1, keepdims=True), jnp.finfo(jnp.float32).tiny)
        heat = per_game(temperature, best.shape[0], jnp.float32)
        solved = _won(q) | (q.ends | ~q.legal).all(axis=-1)
        value = jnp.take_along_axis(mean, best[:, None], axis=-1)[:, 0]
        action = jnp.where(heat > 0, draw(key, policy, temperature), best).astype(jnp.int32)
        return SearchResult(action, policy, value, q.visits, mean, q.ends, solved, q.healthy)

    def follow(
        self,
        model: Model,
        params: Params,
        key: Array,
        q: FlatState,
        action: Int32[Array, " B"],
        root: Position,
        plan: Budget | None = None,
    ) -> FlatState:
        return self.start(model, params, key, root, plan)


def _won(q: FlatState) -> Bool[Array, " B"]:
    return (q.ends & (q.total >= 1.0)).any(axis=-1)


def _endings(model: Model, state: Any) -> tuple[Bool[Array, " A"], Float32[Array, " A"]]:
    """Which actions end one game at once, and with what result for the mover."""
    actions = jnp.arange(model.game.num_actions)
    moved = jax.vmap(functools.partial(play.advance, model.game), in_axes=(None, 0))(state, actions)
    return moved.discount == 0.0, moved.reward
