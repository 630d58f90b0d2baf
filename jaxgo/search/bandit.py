"""What searches share that walk by a formula from the root: one loop, one state; a formula makes one a search."""

import abc
import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32, Int32, UInt32

from jaxgo.core import keys
from jaxgo.core.errors import UsageError
from jaxgo.core.play import Position
from jaxgo.evaluators.base import Params
from jaxgo.search import reuse, simulate
from jaxgo.search import tree as trees
from jaxgo.search.base import Budget, Search, per_game
from jaxgo.search.model import Leaves, Model
from jaxgo.search.tree import ROOT, Spot, Tree

Salt = UInt32[Array, ""] | UInt32[Array, " B"]  # of all games, or of each


class BanditState(NamedTuple):
    tree: Tree
    prior: Float32[Array, "B A"]  # root logits before noise
    salt: Salt  # of this search's tie-breaks
    done: Int32[Array, " B"]  # simulations since the start
    calls: Int32[Array, ""]  # evaluator calls so far, the root's apart


@dataclasses.dataclass(frozen=True)
class Bandit(Search):
    """The common part: budgets, several leaves a round, tree reuse. Subclasses say how to choose and conclude."""

    simulations: int = 400
    leaves: int = 1  # of one game in one evaluator call
    loss: float = 1.0  # what a walk under way costs its moves until its result is known; 0: it counts as even
    solver: bool = True
    nodes: int = 0  # room in the tree; 0: simulations + 1

    def __post_init__(self) -> None:
        if self.simulations < 1 or self.leaves < 1 or self.nodes < 0 or self.loss < 0.0:
            raise UsageError("a search needs simulations and leaves of at least 1, nodes and loss of at least 0")

    @abc.abstractmethod
    def choose(self, at: Spot, salt: Salt) -> Int32[Array, " L"]:
        """The move to walk at each lane's node."""

    def disturb(self, key: Array, logits: Float32[Array, "B A"]) -> Float32[Array, "B A"]:
        """Hook: root logits with exploration noise."""
        return logits

    @property
    def frontier(self) -> bool:
        """Hook: whether moves are first tried in the order of their priors, and trees shall say which is next."""
        return False

    @property
    def peer(self) -> Search | None:
        """Hook: another search that does all the work."""
        return None

    @property
    def budget(self) -> int:
        return self.simulations

    def start(self, model: Model, params: Params, key: Array, root: Position, plan: Budget | None = None) -> Any:
        if self.peer:
            return self.peer.start(model, params, key, root, plan)
        judge, noise = keys.split(key)
        return self._begin(noise, self._plant(model.root(params, judge, root)))

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
        if self.peer:
            return self.peer.follow(model, params, key, q, action, root, plan)
        judge, noise = keys.split(key)
        tree = q.tree._replace(logits=q.tree.logits.at[:, ROOT].set(q.prior))
        return self._begin(noise, reuse.follow(model, params, judge, tree, action, root))

    def _plant(self, leaves: Leaves) -> Tree:
        return trees.plant(leaves, self.nodes or self.simulations + 1, self.frontier)

    def _begin(self, key: Array, tree: Tree) -> BanditState:
        noise, salt = keys.split(key)
        prior = tree.logits[:, ROOT]
        return BanditState(
            tree=trees.survey(tree._replace(logits=tree.logits.at[:, ROOT].set(self.disturb(noise, prior)))),
            prior=prior,
            salt=keys.sample(jax.random.bits, salt, prior.shape[:1] if keys.each_its_own(salt) else (), jnp.uint32),
            done=jnp.zeros(prior.shape[0], jnp.int32),
            calls=jnp.int32(0),
        )

    def extend(self, model: Model, params: Params, key: Array, root: Position, q: Any, budget: Budget) -> Any:
        if self.peer:
            return self.peer.extend(model, params, key, root, q, budget)
        lanes = jnp.arange(self.leaves, dtype=jnp.int32)[None]

        def choose(at: Spot) -> Int32[Array, " L"]:
            return self.choose(at, q.salt)

        def round_(carry: tuple[BanditState, Int32[Array, " B"]]) -> tuple[BanditState, Int32[Array, " B"]]:
            q, left = carry
            room = jnp.minimum(left, q.tree.visits.shape[1] - q.tree.used)
            active = lanes < room[:, None]
            step = keys.of_step(key, q.calls, q.done)
            flat = active.reshape(-1)
            if self.leaves == 1:
                tree = simulate.side_by_side(model, params, step, q.tree, choose, flat, None, self.solver)
            else:
                tree = simulate.one_by_one(model, params, step, q.tree, choose, flat, self.loss, self.solver)
            visited = active.sum(axis=1, dtype=jnp.int32)
            q = q._replace(tree=tree, done=q.done + visited, calls=q.calls + 1)
            return q, trees.remaining(tree, left - visited)

        left = trees.remaining(q.tree, per_game(budget, q.done.shape[0], jnp.int32))
        return jax.lax.while_loop(lambda carry: (carry[1] > 0).any(), round_, (q, left))[0]
