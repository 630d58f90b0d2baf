"""UCT: UCB1 at every node, every move once first, and no belief in priors. The baseline of every comparison."""

import dataclasses
from typing import Literal, get_args

import jax.numpy as jnp
from jaxtyping import Array, Float32, Int32

from jaxgo.core.choice import first_max
from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.core.mix import well_mixed
from jaxgo.evaluators.base import Params
from jaxgo.evaluators.uniform import Uniform
from jaxgo.search.bandit import Bandit, BanditState, Salt
from jaxgo.search.base import Budget, check_room, per_game
from jaxgo.search.edges import Edges, read_edges
from jaxgo.search.model import Model
from jaxgo.search.tree import Spot

Log = Literal["natural", "decimal"]
Final = Literal["visits", "value", "mix"]


@dataclasses.dataclass(frozen=True)
class Uct(Bandit):
    """UCB1 over values in [-1, 1]: `q + c * sqrt(log(N) / n)`; moves without visits come first, drawn by the prior."""

    default_evaluator = "rollout"

    c: float = 1.4  # of exploration, against the mean value
    log: Log = "natural"  # the logarithm of the formula; the other is decimal
    final: Final = "visits"  # what the best move has most of; mix: of results and prior together
    weight: float = 0.7  # of the results where `final` is mix; of the prior (the greatest is 1) the rest
    smooth: bool = False  # every move counts one visit more, an even one: none has to be tried before the others
    delay: int = 0  # simulations before the evaluator is asked about leaves; until then they count as even

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.c < 0.0 or self.delay < 0 or not 0.0 <= self.weight <= 1.0:
            raise UsageError("uct needs c and delay of at least 0, and weight from 0 to 1")
        if self.log not in get_args(Log):
            raise unknown_name("log of uct", self.log, get_args(Log))
        if self.final not in get_args(Final):
            raise unknown_name("final choice of uct", self.final, get_args(Final))

    @property
    def lucky(self) -> bool:
        return not self.smooth  # in which order the moves of a node are tried first; smooth draws among equals alone

    @property
    def keeps_judgements(self) -> bool:
        return super().keeps_judgements and self.delay == 0  # nothing was said of nodes before the delay was over

    def choose(self, at: Spot, salt: Salt) -> Int32[Array, " L"]:
        return self.prefer(read_edges(at), salt)

    def prefer(self, edges: Edges, salt: Salt) -> Int32[Array, " L"]:
        """The move that the formula takes."""
        logs = jnp.log if self.log == "natural" else jnp.log10
        least = edges.visits + 1 if self.smooth else jnp.maximum(edges.visits, 1)
        bonus = jnp.sqrt(logs(edges.node_visits.astype(jnp.float32))[:, None] / least)
        luck = _gumbel(edges, salt)
        among = edges.walked(self.solver) if self.narrows else edges.candidate
        new = among & (edges.visits == 0) & (not self.smooth)
        first = jnp.where(new, jnp.where(edges.candidate, edges.logits, 0.0) + luck, -jnp.inf)
        score = edges.q + self.c * bonus
        if self.smooth:  # of equals any
            score = edges.q * edges.visits / least + self.c * bonus + 1e-6 * jnp.clip(luck, -3.0, 3.0)
        best = edges.best(score, self.solver, self.narrows)
        return jnp.where(new.any(axis=-1), first_max(first), best)

    def extend(self, model: Model, params: Params, key: Array, state: BanditState, budget: Budget) -> BanditState:
        if self.delay == 0:
            return super().extend(model, params, key, state, budget)
        check_room(self, state.tree, budget)
        left = per_game(budget, state.done.shape[0], jnp.int32)
        blind = jnp.clip(self.delay - state.done, 0, left)
        state = super().extend(dataclasses.replace(model, evaluator=Uniform()), params, key, state, blind)
        return super().extend(model, params, key, state, left - blind)

    def rank(self, edges: Edges, weights: Float32[Array, "B A"], prior: Float32[Array, "B A"]) -> Float32[Array, "B A"]:
        if self.final == "visits":
            return super().rank(edges, weights, prior)
        if self.final == "value":
            return jnp.where(edges.visits > 0, edges.q, -jnp.inf)
        belief = jnp.exp(prior - prior.max(axis=-1, keepdims=True))
        mean = jnp.where(edges.visits > 0, (edges.q + 1.0) / 2.0, 0.0)
        return self.weight * mean + (1.0 - self.weight) * belief


def _gumbel(edges: Edges, salt: Salt) -> Float32[Array, "L A"]:
    """Gumbel noise that belongs to the edge, so that a game's order of first visits does not hang on its neighbours."""
    actions = edges.logits.shape[1]
    own = salt if salt.ndim == 0 else salt[edges.game][:, None]
    seed = edges.node.astype(jnp.uint32)[:, None] * jnp.uint32(0x9E3779B9) + own
    word = seed ^ (jnp.arange(actions, dtype=jnp.uint32)[None] * jnp.uint32(0x85EBCA6B))
    uniform = ((well_mixed(word) >> 9).astype(jnp.float32) + 0.5) / 2.0**23
    return -jnp.log(-jnp.log(uniform))
