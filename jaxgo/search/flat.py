"""Flat UCB: a bandit over the moves of the root, without a tree, each pull one evaluator call on the position behind.

Moves that end the game are looked up at the start: a win is played at once, a loss never unless all moves lose; where
all moves end the game, one of the best results is. Otherwise the final choice mixes what was seen with what the game
believes: `weight * u + (1 - weight) * h`, both in [0, 1], where `u` is the mean result and `h` the move weights over
the greatest of them. Where playouts see nothing, `h` decides.
"""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32, Int32

from jaxgo.core import keys, play
from jaxgo.core.choice import first_max
from jaxgo.core.errors import UsageError
from jaxgo.core.play import Position
from jaxgo.evaluators.base import Params
from jaxgo.search.base import Budget, Search, SearchResult, Temperature, decide, per_game
from jaxgo.search.model import Model, masked, mover_sign


class FlatState(NamedTuple):
    root: Position
    legal: Bool[Array, "B A"]
    belief: Float32[Array, "B A"]  # move weights, the greatest of the legal ones 1
    ends: Bool[Array, "B A"]  # the move ends the game
    total: Float32[Array, "B A"]  # sum of the results for the mover at the root; the exact result where it ends
    visits: Int32[Array, "B A"]
    luck: Float32[Array, "B A"]  # which of equals comes first
    done: Int32[Array, " B"]
    calls: Int32[Array, ""]
    healthy: Bool[Array, " B"]
    tree: None = None

    @property
    def prior(self) -> Float32[Array, "B A"]:
        """What the game believes."""
        return masked(jnp.log(jnp.maximum(self.belief, jnp.finfo(jnp.float32).tiny)), self.legal)


@dataclasses.dataclass(frozen=True)
class Flat(Search[FlatState]):
    """UCB1 over values in [0, 1]: `u + c * sqrt(log(N) / n)`; every move once first."""

    default_evaluator = "rollout"

    simulations: int = 400  # planned unless `begin` is told otherwise
    c: float = 1.4142135  # of exploration, against the mean result
    weight: float = 0.7  # of the results in the final choice
    parallel_leaves: int = 1  # moves pulled at once: those of the highest bounds

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.simulations < 1 or self.parallel_leaves < 1:
            raise UsageError("flat needs simulations and parallel_leaves of at least 1")
        if self.c < 0.0 or not 0.0 <= self.weight <= 1.0:
            raise UsageError("flat needs c of at least 0 and weight from 0 to 1")

    def begin(self, model: Model, params: Params, key: Array, root: Position, plan: Budget | None = None) -> FlatState:
        legal = model.legal(root)
        weights = jnp.where(legal, jax.vmap(model.game.move_weights)(root.state), 0.0)
        ends, result = jax.lax.map(functools.partial(_endings, model), root)
        games = legal.shape[0]
        return FlatState(
            root=root,
            legal=legal,
            belief=weights / jnp.maximum(weights.max(axis=-1, keepdims=True), jnp.finfo(jnp.float32).tiny),
            ends=ends & legal,
            total=jnp.where(ends & legal, result, 0.0),
            visits=jnp.zeros(legal.shape, jnp.int32),
            luck=keys.sample(jax.random.uniform, key, legal.shape, jnp.float32),
            done=jnp.zeros(games, jnp.int32),
            calls=jnp.int32(0),
            healthy=legal.any(axis=-1) | model.over(root),
        )

    def extend(self, model: Model, params: Params, key: Array, state: FlatState, budget: Budget) -> FlatState:
        root = state.root
        games, actions = state.legal.shape
        width = min(self.parallel_leaves, actions)
        rank = jnp.arange(width, dtype=jnp.int32)[None]
        states = jax.tree.map(lambda x: jnp.repeat(x, width, axis=0), root.state)
        turn = jnp.repeat(mover_sign(root.state.to_play), width)
        open_ = state.legal & ~state.ends
        left = jnp.where(_won(state) | ~open_.any(axis=-1), 0, per_game(budget, games, jnp.int32))

        def pull(carry: tuple[FlatState, Int32[Array, " B"]]) -> tuple[FlatState, Int32[Array, " B"]]:
            state, left = carry
            arms = jax.lax.top_k(jnp.where(open_, self._bound(state), -jnp.inf), width)[1].astype(jnp.int32)
            active = rank < jnp.minimum(left, open_.sum(axis=-1, dtype=jnp.int32))[:, None]
            step = keys.of_step(key, state.calls, state.done)
            leaves = model.expand(params, step, states, arms.reshape(-1), active.reshape(-1))
            game = jnp.arange(games)[:, None]
            result = jnp.where(active, (leaves.value * turn).reshape(games, width), 0.0)
            pulled = active.sum(axis=1, dtype=jnp.int32)
            healthy = leaves.healthy.reshape(games, width) | ~active
            state = state._replace(
                total=state.total.at[game, arms].add(result),
                visits=state.visits.at[game, arms].add(active.astype(jnp.int32)),
                done=state.done + pulled,
                calls=state.calls + 1,
                healthy=state.healthy & healthy.all(axis=1),
            )
            return state, left - pulled

        return jax.lax.while_loop(lambda carry: (carry[1] > 0).any(), pull, (state, left))[0]

    def _bound(self, state: FlatState) -> Float32[Array, "B A"]:
        tries = jnp.maximum(state.visits, 1).astype(jnp.float32)
        logs = jnp.log(jnp.maximum(state.done, 1).astype(jnp.float32))
        bound = (state.total / tries + 1.0) / 2.0 + self.c * jnp.sqrt(logs[:, None] / tries)
        # moves never tried come before all others, those that the game believes in first; a lead that is larger than it
        # must be would round away what tells them apart
        lead = jnp.where(state.visits > 0, bound, 0.0).max(axis=-1, keepdims=True)
        return jnp.where(state.visits > 0, bound, 1.0 + lead + state.belief + state.luck)

    def result(self, key: Array, state: FlatState, temperature: Temperature = 0.0) -> SearchResult:
        tried = jnp.maximum(state.visits, 1).astype(jnp.float32)
        mean = state.total / tried
        u = jnp.where((state.visits > 0) | state.ends, (mean + 1.0) / 2.0, 0.0)
        score = self.weight * u + (1.0 - self.weight) * state.belief
        wins, losses = state.ends & (state.total >= 1.0), state.ends & (state.total <= -1.0)
        among = jnp.where(wins.any(axis=-1, keepdims=True), wins, state.legal & ~losses)
        among = jnp.where(among.any(axis=-1, keepdims=True), among, state.legal)
        known = _known(state)
        most = jnp.where(state.legal, mean, -jnp.inf).max(axis=-1, keepdims=True)
        among = jnp.where(known[:, None], state.legal & (mean >= most), among)  # results may be any share of a win
        # equals are told apart by luck, and not by the order of the moves
        top = jnp.where(among, score, -jnp.inf).max(axis=-1, keepdims=True)
        best = first_max(state.luck, among & (score >= top - 1e-6))
        tried_any = state.visits.sum(axis=-1, keepdims=True) > 0
        weights = jnp.where(among, jnp.where(tried_any, state.visits, state.belief), 0.0)
        weights = jnp.where(weights.sum(axis=-1, keepdims=True) > 0, weights, among.astype(jnp.float32))
        # a move that ends the game is never tried, as its result is known: where it is the best one, it is the policy
        chosen = jnp.arange(weights.shape[-1])[None] == best[:, None]
        weights = jnp.where((chosen & (weights <= 0)).any(axis=-1, keepdims=True), chosen.astype(jnp.float32), weights)
        policy = weights / jnp.maximum(weights.sum(axis=-1, keepdims=True), jnp.finfo(jnp.float32).tiny)
        value = jnp.take_along_axis(mean, best[:, None], axis=-1)[:, 0]
        action, chances = decide(key, best, policy, temperature)
        return SearchResult(
            action, policy, value, state.visits, mean, state.ends, _won(state) | known, state.healthy, chances
        )


def _won(state: FlatState) -> Bool[Array, " B"]:
    return (state.ends & (state.total >= 1.0)).any(axis=-1)


def _known(state: FlatState) -> Bool[Array, " B"]:
    """Whether every legal move ends the game, so that there is nothing to believe."""
    return (state.ends | ~state.legal).all(axis=-1) & state.legal.any(axis=-1)


def _endings(model: Model, root: Position) -> tuple[Bool[Array, " A"], Float32[Array, " A"]]:
    """Which actions end one game at once, and with what result for the mover."""
    actions = jnp.arange(model.game.num_actions)
    _, moved = jax.vmap(functools.partial(play.play, model.game), in_axes=(None, 0))(root, actions)
    return moved.discount == 0.0, moved.reward
