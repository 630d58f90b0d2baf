"""PUCT, the search of AlphaZero: a prior and a value steer every step; visits are the policy.

With one leaf a round and the defaults below this is the PUCT of mctx (less its random tie-break).
"""

import dataclasses
from typing import Literal, get_args

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32, Int32

from jaxgo.core.choice import first_max
from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.evaluators.base import Params
from jaxgo.evaluators.noisy import Dirichlet, Noisy
from jaxgo.search.bandit import Bandit, BanditState, Salt
from jaxgo.search.base import Budget
from jaxgo.search.edges import Children, Edges, read_children
from jaxgo.search.model import CANDIDATE, ILLEGAL, Model
from jaxgo.search.tree import ROOT, Spot

Fpu = Literal["worst", "even", "parent"]


@dataclasses.dataclass(frozen=True)
class Puct(Bandit):
    """`fpu` (first play urgency) says what a move without visits is worth: the worst of its siblings (all values then
    are scaled to [0, 1] among siblings, as in MuZero), an even game, or its parent less
    `fpu_reduction * sqrt(visited prior)`."""

    c_init: float = 1.25  # how much the prior counts against values, while visits are few
    c_base: float = 19652.0  # visits of a node from which on the prior counts for more
    fpu: Fpu = "worst"  # worth of a move without visits: its worst sibling's, an even game's, or its parent's less
    fpu_reduction: float = 0.2  # by how much less where `fpu` is parent, times the root of the visited prior
    noise: float = 0.0  # share of Dirichlet noise in the root prior; 0.25 in self-play
    alpha: float = 0.0  # of the Dirichlet noise; 0: `total_alpha` divided by the number of candidates
    total_alpha: float = 10.83  # what all candidates share, where `alpha` is 0
    noise_everywhere: bool = False  # the same noise in the prior of every node that is made, and not only of the root
    added: bool = False  # the prior is added and does not weigh: q + c sqrt(N) / (n + 1) + p
    forced: float = 0.0  # forced playouts at the root, 2 in KataGo; their visits are pruned from the policy

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.noise <= 1.0 or self.alpha < 0.0 or self.total_alpha <= 0.0 or self.forced < 0.0:
            raise UsageError("puct needs noise in [0, 1], alpha and forced of at least 0, total_alpha above 0")
        if self.c_base <= 0.0 or self.c_init < 0.0:
            raise UsageError("puct needs c_base above 0 and c_init of at least 0")
        if self.fpu not in get_args(Fpu):
            raise unknown_name("fpu of puct", self.fpu, get_args(Fpu))
        if self.added and self.forced > 0.0:
            raise UsageError("puct forces playouts by the prior that weighs exploration; leave forced or added out")

    @property
    def lucky(self) -> bool:
        return self.noise > 0

    @property
    def keeps_judgements(self) -> bool:
        # else noise would come on top of noise
        return super().keeps_judgements and not (self.noise_everywhere and self.noise > 0.0)

    def quiet(self) -> "Puct":
        """Without Dirichlet noise and forced playouts, which are for self-play."""
        return dataclasses.replace(self, noise=0.0, noise_everywhere=False, forced=0.0)

    def disturb(self, key: Array, logits: Float32[Array, "B A"]) -> Float32[Array, "B A"]:
        if self.noise == 0.0:
            return logits
        among = logits >= CANDIDATE if self.narrows else logits > ILLEGAL
        return jnp.where(among, self._dirichlet.mixed(key, logits, among), logits)

    @property
    def _dirichlet(self) -> Dirichlet:
        return Dirichlet(self.noise, self.alpha, self.total_alpha)

    def extend(self, model: Model, params: Params, key: Array, state: BanditState, budget: Budget) -> BanditState:
        if self.noise_everywhere and self.noise > 0.0:
            model = dataclasses.replace(model, evaluator=Noisy(model.evaluator, self._dirichlet))
        return super().extend(model, params, key, state, budget)

    @property
    def frontier(self) -> bool:
        return True

    def choose(self, at: Spot, salt: Salt) -> Int32[Array, " L"]:
        return self.prefer(read_children(at), at.node == ROOT)

    def prefer(self, below: Children, root: Bool[Array, " L"]) -> Int32[Array, " L"]:
        """The move that the formula takes."""
        explore = self._exploration(below.node_visits)
        seen = below.there & (below.visits > 0)
        worth, unseen = self._worth(seen, below.q, below.prior, below.value)
        score = worth + self._bonus(explore[:, None], below.prior, below.visits + 1)
        if self.forced > 0.0:
            visits = jnp.where(seen, below.visits, 0)
            due = seen & (visits < self._forced_visits(visits, below.prior))
            score = jnp.where(due & root[:, None], jnp.inf, score)
        untried = unseen + self._bonus(explore, below.untried_prior, 1)
        return below.best(score, untried, self.solver, self.narrows)

    def _bonus(self, explore: Array, prior: Array, tries: Array | int) -> Array:
        return explore / tries + prior if self.added else explore * prior / tries

    def _exploration(self, node_visits: Int32[Array, " L"]) -> Float32[Array, " L"]:
        """What a move's prior is multiplied with and its visits divide: `c * sqrt(visits of the node)`."""
        return jnp.sqrt(node_visits) * (self.c_init + jnp.log((node_visits + self.c_base + 1.0) / self.c_base))

    def _worth(
        self,
        seen: Bool[Array, "L K"],
        q: Float32[Array, "L K"],
        prior: Float32[Array, "L K"],
        value: Float32[Array, " L"],
    ) -> tuple[Float32[Array, "L K"], Float32[Array, " L"]]:
        """What moves are worth, given their values where `seen`; and what one without visits is."""
        if self.fpu == "even":
            unseen = jnp.zeros_like(value)
        elif self.fpu == "parent":
            unseen = value - self.fpu_reduction * jnp.sqrt(jnp.where(seen, prior, 0.0).sum(axis=-1))
        else:
            known = jnp.where(seen, q, value[:, None])
            low, high = jnp.minimum(value, known.min(axis=-1)), jnp.maximum(value, known.max(axis=-1))
            q = (q - low[:, None]) / jnp.maximum(high - low, 1e-8)[:, None]
            unseen = jnp.zeros_like(value)
        return jnp.where(seen, q, unseen[:, None]), unseen

    def _forced_visits(self, visits: Int32[Array, "L K"], prior: Float32[Array, "L K"]) -> Float32[Array, "L K"]:
        return jnp.sqrt(self.forced * prior * visits.sum(axis=-1, keepdims=True))

    def counted(self, edges: Edges) -> Float32[Array, "B A"]:
        """Visits less the forced ones that PUCT itself would not have made, given the best move's final score."""
        if self.forced == 0.0:
            return super().counted(edges)
        prior = jax.nn.softmax(edges.logits, axis=-1)
        explore = self._exploration(edges.node_visits)[:, None] * prior
        worth, _ = self._worth(edges.visits > 0, edges.q, prior, edges.value)
        visits = edges.visits.astype(jnp.float32)
        best = jax.nn.one_hot(first_max(visits), visits.shape[1], dtype=bool)
        target = jnp.where(best, worth + explore / (visits + 1.0), -jnp.inf).max(axis=-1, keepdims=True)
        wanted = jnp.ceil(explore / jnp.maximum(target - worth, 1e-6) - 1.0)
        kept = jnp.maximum(visits - jnp.floor(self._forced_visits(edges.visits, prior)), jnp.minimum(visits, wanted))
        return jnp.where(best, visits, jnp.where(kept > 1.0, kept, 0.0))
