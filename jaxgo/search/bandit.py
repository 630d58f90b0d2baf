"""What searches share that walk by a formula from the root: one loop, one state; a formula makes one a search."""

import abc
import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32, Int32, UInt32

from jaxgo.core import keys
from jaxgo.core.choice import first_max
from jaxgo.core.errors import UsageError
from jaxgo.core.play import Position
from jaxgo.evaluators.base import Params
from jaxgo.search import reuse, simulate
from jaxgo.search import tree as trees
from jaxgo.search.base import (
    Budget,
    Search,
    SearchResult,
    Temperature,
    by_visits,
    check_room,
    conclude,
    more_room,
    per_game,
    playable,
    room,
)
from jaxgo.search.edges import Edges, root_edges
from jaxgo.search.model import ILLEGAL, Model, mover_sign
from jaxgo.search.narrow import Narrowing
from jaxgo.search.tree import ROOT, Spot, Tree

Salt = UInt32[Array, ""] | UInt32[Array, " B"]  # of all games, or of each


class BanditState(NamedTuple):
    root: Position
    tree: Tree
    prior: Float32[Array, "B A"]  # root logits before noise
    salt: Salt  # of this search's tie-breaks
    done: Int32[Array, " B"]  # simulations since the start
    calls: Int32[Array, ""]  # evaluator calls so far, the root's apart
    outcomes: Int32[Array, "B 3"]  # simulations that came to a loss, to something between, to a win of who moves


@dataclasses.dataclass(frozen=True)
class Bandit(Search[BanditState], Narrowing):
    """The common part: budgets, several leaves a round, tree reuse. Subclasses say how to choose."""

    simulations: int = 400  # planned unless `begin` is told otherwise
    parallel_leaves: int = 1  # of one game in one evaluator call
    virtual_loss: float = 1.0  # what a walk under way costs its moves until its result is known; 0: it counts as even
    solver: bool = True  # proofs climb the tree, and end the search of a solved root
    shared_proofs: bool = False  # what is proven of a position holds wherever the tree meets it again
    nodes: int = 0  # room in the tree; 0: simulations + 1

    def __post_init__(self) -> None:
        super().__post_init__()
        Narrowing.__post_init__(self)
        if self.simulations < 1 or self.parallel_leaves < 1 or self.nodes < 0 or self.virtual_loss < 0.0:
            raise UsageError(
                "a search needs simulations and parallel_leaves of at least 1, nodes and virtual_loss of at least 0"
            )

    @abc.abstractmethod
    def choose(self, at: Spot, salt: Salt) -> Int32[Array, " L"]:
        """The move to walk at each lane's node."""

    def disturb(self, key: Array, logits: Float32[Array, "B A"]) -> Float32[Array, "B A"]:
        """Hook: root logits with exploration noise."""
        return logits

    def counted(self, edges: Edges) -> Float32[Array, "B A"]:
        """Hook: the visits at the root that make the policy."""
        return edges.visits.astype(jnp.float32)

    def rank(self, edges: Edges, weights: Float32[Array, "B A"], prior: Float32[Array, "B A"]) -> Float32[Array, "B A"]:
        """Hook: what the final choice takes most of: visits, then the better value."""
        return by_visits(weights, edges)

    @property
    def frontier(self) -> bool:
        """Hook: whether moves are first tried in the order of their priors, and trees shall say which is next."""
        return False

    @property
    def keeps_judgements(self) -> bool:
        return not self.shared_proofs  # what is proven of a position stands in the place of what was said of it

    def begin(
        self, model: Model, params: Params, key: Array, root: Position, plan: Budget | None = None
    ) -> BanditState:
        judge, noise = keys.split(key)
        leaves = model.seen_by(self).root(params, judge, root)
        # where the rules look back, equal positions need not be worth the same
        shared = self.shared_proofs and self.solver and not model.pays and model.game.repetition == "none"
        words = model.keys(root.state) if shared else None
        return self._begun(
            noise, root, trees.plant(leaves, room(self, plan, leaves.value.shape[0]), self.frontier, words)
        )

    def follow(
        self,
        model: Model,
        params: Params,
        key: Array,
        state: BanditState,
        action: Int32[Array, " B"],
        root: Position,
        plan: Budget | None = None,
    ) -> BanditState:
        judge, noise = keys.split(key)
        tree = more_room(self, state.tree, plan)
        return self._begun(noise, root, reuse.follow(model.seen_by(self), params, judge, tree, action, root))

    def _begun(self, key: Array, root: Position, tree: Tree) -> BanditState:
        noise, salt = keys.split(key)
        prior = tree.logits[:, ROOT]
        return BanditState(
            root=root,
            tree=trees.survey(tree._replace(logits=tree.logits.at[:, ROOT].set(self.disturb(noise, prior)))),
            prior=prior,
            salt=keys.sample(jax.random.bits, salt, prior.shape[:1] if keys.each_its_own(salt) else (), jnp.uint32),
            done=jnp.zeros(prior.shape[0], jnp.int32),
            calls=jnp.int32(0),
            outcomes=jnp.zeros((prior.shape[0], 3), jnp.int32),
        )

    def extend(self, model: Model, params: Params, key: Array, state: BanditState, budget: Budget) -> BanditState:
        check_room(self, state.tree, budget)
        model = model.seen_by(self)
        lanes = jnp.arange(self.parallel_leaves, dtype=jnp.int32)[None]
        salt = state.salt

        def choose(at: Spot) -> Int32[Array, " L"]:
            return self.choose(at, salt)

        def round_(carry: tuple[BanditState, Int32[Array, " B"]]) -> tuple[BanditState, Int32[Array, " B"]]:
            state, left = carry
            space = jnp.minimum(left, state.tree.visits.shape[1] - state.tree.used)
            active = lanes < space[:, None]
            step = keys.of_step(key, state.calls, state.done)
            flat = active.reshape(-1)
            if self.parallel_leaves == 1:
                tree, results = simulate.side_by_side(
                    model, params, step, state.tree, choose, flat, None, self.solver, state.root.history
                )
            else:
                tree, results = simulate.one_by_one(
                    model, params, step, state.tree, choose, flat, self.virtual_loss, self.solver, state.root.history
                )
            visited = active.sum(axis=1, dtype=jnp.int32)
            mine = results.reshape(active.shape) * mover_sign(tree.seat[:, ROOT])[:, None]
            kinds = jnp.stack([mine <= -1.0, jnp.abs(mine) < 1.0, mine >= 1.0], axis=-1) & active[:, :, None]
            state = state._replace(
                tree=tree,
                done=state.done + visited,
                calls=state.calls + 1,
                outcomes=state.outcomes + kinds.sum(axis=1, dtype=jnp.int32),
            )
            return state, trees.remaining(tree, left - visited)

        left = trees.remaining(state.tree, per_game(budget, state.done.shape[0], jnp.int32))
        return jax.lax.while_loop(lambda carry: (carry[1] > 0).any(), round_, (state, left))[0]

    def result(self, key: Array, state: BanditState, temperature: Temperature = 0.0) -> SearchResult:
        edges = root_edges(state.tree)
        among = playable(state.tree, edges) if self.solver else edges.legal
        weights = self.counted(edges)
        # visits tell nothing of the moves to choose from where all went to lost ones
        tell = jnp.where(among, weights, 0.0).sum(axis=-1, keepdims=True) > 0
        weights = jnp.where(tell, weights, jax.nn.softmax(jnp.where(among, state.prior, ILLEGAL), axis=-1))
        policy = jnp.where(edges.legal, weights / weights.sum(axis=-1, keepdims=True), 0.0)
        best = first_max(self.rank(edges, weights, state.prior), among)
        return conclude(state, key, best, among, policy, temperature)
