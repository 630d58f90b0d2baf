"""The search `threats`: a proof by moves that leave no choice, and the evaluator's policy where there is none."""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32, Int32

from jaxgo.core import history, keys
from jaxgo.core.choice import best_of_equals
from jaxgo.core.errors import UsageError
from jaxgo.core.play import Position
from jaxgo.evaluators.base import Params
from jaxgo.search import forcing, threats
from jaxgo.search.base import Budget, Search, SearchResult, Temperature, decide, per_game
from jaxgo.search.model import ILLEGAL, Model, mover_sign
from jaxgo.search.threats import Prover


class AttackState(NamedTuple):
    root: Position
    prover: Prover
    prior: Float32[Array, "B A"]
    value: Float32[Array, " B"]  # the evaluator's, for the mover
    luck: Float32[Array, "B A"]  # which of equals comes first
    done: Int32[Array, " B"]
    calls: Int32[Array, ""]
    healthy: Array
    tree: None = None

    @property
    def line(self) -> Int32[Array, "B D"]:
        """How the mover wins, where that is proven; filled up with -1."""
        return jnp.where(self.prover.won[:, None], self.prover.line[:, 0], threats.NONE)


@dataclasses.dataclass(frozen=True)
class Attack(Search[AttackState]):
    """Wins by force if it can; else takes or stops what wins at once; else plays the likeliest move."""

    simulations: int = 1000  # nodes of the proof
    depth: int = threats.DEPTH  # plies
    vct: bool = False  # threes, too, and not only fours: proofs find more, and cost more

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.simulations < 1 or not 1 <= self.depth <= 200:
            raise UsageError("threats needs simulations of at least 1, and depth from 1 to 200")

    def begin(
        self, model: Model, params: Params, key: Array, root: Position, plan: Budget | None = None
    ) -> AttackState:
        judge, ties = keys.split(key)
        leaves = model.root(params, judge, root)
        legal = leaves.logits > ILLEGAL
        narrow = forcing.narrowed(model.game, leaves.states, legal)
        nothing = jnp.zeros(legal.shape[0], jnp.int32)
        return AttackState(
            root=root,
            prover=threats.begin(model.game, leaves.states, legal, ~leaves.over, self.depth, self.vct),
            prior=jnp.where(narrow, leaves.logits, ILLEGAL),
            value=leaves.value * mover_sign(leaves.seat),
            luck=keys.sample(jax.random.uniform, ties, legal.shape, jnp.float32),
            done=nothing,
            calls=jnp.int32(0),
            healthy=leaves.healthy,
        )

    def extend(self, model: Model, params: Params, key: Array, state: AttackState, budget: Budget) -> AttackState:
        most = state.prover.nodes + per_game(budget, state.done.shape[0], jnp.int32)
        prover = threats.go_on(model.game, state.prover, most, self.vct, model.platform)
        return state._replace(prover=prover, done=state.done + prover.nodes - state.prover.nodes)

    def result(self, key: Array, state: AttackState, temperature: Temperature = 0.0) -> SearchResult:
        actions = state.prior.shape[1]
        won, first = state.prover.won, jnp.maximum(state.prover.line[:, 0, 0], 0)
        legal = state.prior > ILLEGAL
        likely = jax.nn.softmax(state.prior, axis=-1)
        best = best_of_equals(state.prior, legal, state.luck)
        proof = jax.nn.one_hot(first, actions, dtype=jnp.float32)
        policy = jnp.where(won[:, None], proof, jnp.where(legal, likely, 0.0))
        action, chances = decide(key, jnp.where(won, first, best), policy, temperature)
        value = jnp.where(won, 1.0, state.value)
        found = (proof > 0) & won[:, None]
        visits = jnp.where(found, state.done[:, None], 0)
        # where the rules look back, what the proof knows nothing of may forbid one of its moves
        sure = not history.kept(state.root.history)
        known = value, visits, found.astype(jnp.float32), found & sure, won & sure
        return SearchResult(action, policy, *known, state.healthy, chances)
