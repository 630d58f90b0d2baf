"""Gumbel search: sequential halving over sampled root moves, deterministic selection below.

From "Policy improvement by planning with Gumbel" (Danihelka et al., 2022), as mctx defines it. Inside one halving
phase every survivor gets the same visits whatever the order, and selection below the root reads only its own subtree,
so all survivors of a round advance side by side, one leaf each, in one evaluator call. The survivors of a phase are
picked at its boundary, as in the paper; `rule="mctx"` re-scores at every simulation as mctx does, one leaf at a time.
"""

import dataclasses
import math
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int32

from jaxgo.core import keys
from jaxgo.core.errors import UsageError, choose
from jaxgo.core.play import Position
from jaxgo.evaluators.base import Params
from jaxgo.search import reuse, simulate
from jaxgo.search import tree as trees
from jaxgo.search.base import Budget, Search, SearchResult, Temperature, conclude, per_game, playable
from jaxgo.search.edges import Edges, read_edges, root_edges
from jaxgo.search.model import Model
from jaxgo.search.tree import Spot, Tree
from jaxgo.search.with_mctx import Backend, WithMctx

Rule = Literal["boundary", "mctx"]


class GumbelState(NamedTuple):
    tree: Tree
    noise: Float32[Array, "B A"]  # Gumbel noise of the root moves
    before: Int32[Array, "B A"]  # visits that a kept subtree brought along
    plan: Int32[Array, " B"]  # simulations that the halving schedule is made for
    done: Int32[Array, " B"]  # simulations since the start
    breadth: Int32[Array, " B"]  # root moves considered at the start
    considered: Int32[Array, " B"]  # root moves that this phase visits
    order: Int32[Array, "B M"]  # these moves, best first
    cursor: Int32[Array, " B"]  # how many of them this round has visited
    rounds: Int32[Array, " B"]  # rounds left in this phase, the current one included
    calls: Int32[Array, ""]  # evaluator calls so far, the root's apart


@dataclasses.dataclass(frozen=True)
class Gumbel(Search):
    """Sequential halving with Gumbel noise; plays the same strength at any `leaves`, fewer calls the higher it is."""

    simulations: int = 64  # planned unless `start` is told otherwise
    considered: int = 16  # root moves at the start
    scale: float = 1.0  # of the Gumbel noise; 0 to play at full strength
    value_scale: float = 0.1
    visit_offset: float = 50.0
    span: float = 0.0  # q-values that differ by less are not stretched to the full scale; 0: all are, as in mctx
    leaves: int = 0  # most leaves of one game in one evaluator call; 0: all survivors of a round
    rule: Rule = "boundary"
    solver: bool = True
    nodes: int = 0  # room in the tree; 0: simulations + 1
    backend: Backend = "jaxgo"  # mctx runs its own policy, untouched

    def __post_init__(self) -> None:
        if self.simulations < 1 or self.considered < 1 or self.leaves < 0 or self.nodes < 0:
            raise UsageError("gumbel needs simulations and considered of at least 1, leaves and nodes of at least 0")
        if self.rule not in get_args(Rule):
            raise choose("rule of gumbel", self.rule, get_args(Rule))
        if self.backend not in get_args(Backend):
            raise choose("backend of gumbel", self.backend, get_args(Backend))
        if self.span < 0 or (self.span and self.backend == "mctx"):
            raise UsageError("gumbel.span is at least 0, and mctx stretches all q-values: leave it at 0 there")

    @property
    def budget(self) -> int:
        return self.simulations

    @property
    def peer(self) -> WithMctx | None:
        """Who does the work if not this class."""
        if self.backend == "jaxgo":
            return None
        return WithMctx(
            "gumbel",
            self.simulations,
            considered=self.considered,
            scale=self.scale,
            value_scale=self.value_scale,
            visit_offset=self.visit_offset,
        )

    # -- the four verbs ------------------------------------------------------------------------------
    def start(self, model: Model, params: Params, key: Array, root: Position, plan: Budget | None = None) -> Any:
        if self.peer:
            return self.peer.start(model, params, key, root, plan)
        judge, noise = keys.split(key)
        tree = trees.plant(model.root(params, judge, root), self.nodes or self.simulations + 1)
        return self._begin(noise, tree, plan)

    def extend(self, model: Model, params: Params, key: Array, root: Position, q: Any, budget: Budget) -> Any:
        if self.peer:
            return self.peer.extend(model, params, key, root, q, budget)
        left = per_game(budget, q.done.shape[0], jnp.int32)
        if self.rule == "mctx":
            return self._extend_as_mctx(model, params, key, q, jnp.minimum(left, self.simulations - q.done))
        # one loop for each width of the halving, so that late phases do not pay for the lanes of the first
        width = q.order.shape[1]
        while True:
            narrower = max(2, width // 2) if width > 2 else 0
            q, left = self._extend_phases(model, params, key, q, left, narrower, width)
            if narrower == 0:
                return q
            width = narrower

    def result(self, model: Model, key: Array, root: Position, q: Any, temperature: Temperature = 0.0) -> SearchResult:
        if self.peer:
            return self.peer.result(model, key, root, q, temperature)
        edges = root_edges(q.tree)
        among = playable(q.tree, edges) if self.solver else edges.legal
        spent = edges.visits - q.before
        most = jnp.where(among, spent, -1).max(axis=-1, keepdims=True)
        score = self._score(edges, q.noise, among & (spent == most))
        policy = jax.nn.softmax(edges.logits + self._completed_q(edges), axis=-1)
        return conclude(q.tree, key, among, score, jnp.where(edges.legal, policy, 0.0), temperature)

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
        return self._begin(noise, reuse.follow(model, params, judge, q.tree, action, root), plan)

    # -- sequential halving --------------------------------------------------------------------------
    def _begin(self, key: Array, tree: Tree, plan: Budget | None) -> GumbelState:
        games, _, actions = tree.logits.shape
        edges = root_edges(tree)
        noise = self.scale * keys.sample(jax.random.gumbel, key, (games, actions))
        most = min(self.considered, actions)
        breadth = jnp.clip(edges.legal.sum(axis=-1, dtype=jnp.int32), 1, most)
        zero = jnp.zeros(games, jnp.int32)
        planned = per_game(self.simulations if plan is None else plan, games, jnp.int32)
        return GumbelState(
            tree=tree,
            noise=noise,
            before=edges.visits,
            plan=planned,
            done=zero,
            breadth=breadth,
            considered=breadth,
            order=_best(self._score(edges, noise, edges.legal), most),
            cursor=zero,
            rounds=self._rounds(planned, breadth, breadth),
            calls=jnp.int32(0),
        )

    def _rounds(
        self, plan: Int32[Array, " B"], breadth: Int32[Array, " B"], considered: Int32[Array, " B"]
    ) -> Int32[Array, " B"]:
        """Rounds of a phase with so many survivors, in a search that began with `breadth`."""
        halvings = np.array([1, 1, *(math.ceil(math.log2(m)) for m in range(2, self.considered + 1))], np.int32)
        rounds = plan // (jnp.asarray(halvings)[breadth] * considered)
        return jnp.maximum(jnp.where(breadth <= 1, plan, rounds), 1)

    def _extend_phases(
        self, model: Model, params: Params, key: Array, q: GumbelState, left: Int32[Array, " B"], low: int, high: int
    ) -> tuple[GumbelState, Int32[Array, " B"]]:
        """Runs every game through its phases of more than `low` and at most `high` survivors."""
        lanes = jnp.arange(min(high, self.leaves or high), dtype=jnp.int32)[None]

        def here(q: GumbelState, left: Int32[Array, " B"]) -> Bool[Array, " B"]:
            return (left > 0) & (q.considered > low) & (q.considered <= high)

        def round_(carry: tuple[GumbelState, Int32[Array, " B"]]) -> tuple[GumbelState, Int32[Array, " B"]]:
            q, left = carry
            place = q.cursor[:, None] + lanes
            room = jnp.minimum(left, q.tree.visits.shape[1] - q.tree.used)
            active = here(q, left)[:, None] & (place < q.considered[:, None]) & (lanes < room[:, None])
            first = jnp.take_along_axis(q.order, jnp.minimum(place, q.order.shape[1] - 1), axis=1)
            q, visited = self._simulate(model, params, key, q, active, first)
            q = self._halve(q._replace(cursor=q.cursor + visited))
            return q, trees.remaining(q.tree, left - visited)

        left = trees.remaining(q.tree, left)
        return jax.lax.while_loop(lambda carry: here(*carry).any(), round_, (q, left))

    def _simulate(
        self,
        model: Model,
        params: Params,
        key: Array,
        q: GumbelState,
        active: Bool[Array, "B K"],
        first: Int32[Array, "B K"],
    ) -> tuple[GumbelState, Int32[Array, " B"]]:
        step = keys.of_step(key, q.calls, q.done)
        tree = simulate.side_by_side(
            model, params, step, q.tree, self._choose, active.reshape(-1), first.reshape(-1), self.solver
        )
        visited = active.sum(axis=1, dtype=jnp.int32)
        return q._replace(tree=tree, done=q.done + visited, calls=q.calls + 1), visited

    def _halve(self, q: GumbelState) -> GumbelState:
        """Ends rounds that have visited all survivors, and phases that have no rounds left."""
        full = q.cursor >= q.considered
        rounds = q.rounds - full
        ended = full & (rounds == 0)
        fewer = jnp.where(q.considered <= 1, 1, jnp.maximum(2, q.considered // 2))
        considered = jnp.where(ended, fewer, q.considered)

        def rank(_: None) -> Int32[Array, "B M"]:
            alive = jnp.arange(q.order.shape[1])[None] < q.considered[:, None]
            survivors = jnp.zeros(q.noise.shape, bool).at[jnp.arange(q.done.shape[0])[:, None], q.order].max(alive)
            best = _best(self._score(root_edges(q.tree), q.noise, survivors), q.order.shape[1])
            return jnp.where(ended[:, None], best, q.order)

        return q._replace(
            considered=considered,
            order=jax.lax.cond(ended.any(), rank, lambda _: q.order, None),
            cursor=jnp.where(full, 0, q.cursor),
            rounds=jnp.where(ended, self._rounds(q.plan, q.breadth, considered), rounds),
        )

    def _extend_as_mctx(
        self, model: Model, params: Params, key: Array, q: GumbelState, left: Int32[Array, " B"]
    ) -> GumbelState:
        """One leaf at a time, the best root move being found anew at each among those whose turn it is."""
        table = jnp.asarray(considered_visits(q.order.shape[1], self.simulations))

        def step(carry: tuple[GumbelState, Int32[Array, " B"]]) -> tuple[GumbelState, Int32[Array, " B"]]:
            q, left = carry
            edges = root_edges(q.tree)
            turn = table[q.breadth, jnp.minimum(q.done, self.simulations - 1)]
            spent = edges.visits - q.before
            best = _best(self._score(edges, q.noise, spent == turn[:, None]), 1)
            q, visited = self._simulate(model, params, key, q, (left > 0)[:, None], best)
            return q, trees.remaining(q.tree, left - visited)

        carry = (q, trees.remaining(q.tree, left))
        return jax.lax.while_loop(lambda carry: (carry[1] > 0).any(), step, carry)[0]

    # -- scores --------------------------------------------------------------------------------------
    def _completed_q(self, edges: Edges) -> Float32[Array, "L A"]:
        """Q-values scaled to logits; moves without visits get the mixed value of appendix D of the paper."""
        seen = edges.visits > 0
        total = edges.visits.sum(axis=-1)
        # the prior of the seen moves; its normaliser cancels
        prior = jnp.where(seen, jnp.maximum(jnp.finfo(jnp.float32).tiny, jnp.exp(edges.logits)), 0.0)
        weighted = (prior * edges.q).sum(axis=-1) / jnp.maximum(prior.sum(axis=-1), jnp.finfo(jnp.float32).tiny)
        mixed = (edges.raw + total * weighted) / (total + 1)
        q = jnp.where(seen, edges.q, mixed[..., None])
        low, high = q.min(axis=-1, keepdims=True), q.max(axis=-1, keepdims=True)
        q = (q - low) / jnp.maximum(high - low, max(self.span, 1e-8))
        most = edges.visits.max(axis=-1, keepdims=True)
        return (self.visit_offset + most) * self.value_scale * q

    def _score(self, edges: Edges, noise: Float32[Array, "B A"], among: Bool[Array, "B A"]) -> Float32[Array, "B A"]:
        """How good each root move looks; -inf outside `among` and for illegal moves."""
        logits = edges.logits
        logits = logits - logits.max(axis=-1, keepdims=True)
        score = jnp.maximum(-1e9, noise + logits + self._completed_q(edges))
        return jnp.where(among & edges.legal, score, -jnp.inf)

    def _choose(self, at: Spot) -> Int32[Array, " L"]:
        """Below the root: the move whose visits lag most behind the improved policy."""
        edges = read_edges(at)
        policy = jax.nn.softmax(edges.logits + self._completed_q(edges), axis=-1)
        lag = policy - edges.visits / (1 + edges.visits.sum(axis=-1, keepdims=True))
        return edges.best(lag, self.solver)


def _best(score: Float32[Array, "B A"], count: int) -> Int32[Array, "B M"]:
    """The actions of the highest scores, the first of equals first."""
    return jax.lax.top_k(score, count)[1].astype(jnp.int32)


def considered_visits(breadth: int, simulations: int) -> np.ndarray:
    """`int32[breadth + 1, simulations]`: which visit count has its turn at each simulation, for every breadth."""
    table = np.zeros((breadth + 1, simulations), np.int32)
    for most in range(breadth + 1):
        if most <= 1:
            table[most] = np.arange(simulations)
            continue
        turns: list[int] = []
        halvings, alive, visits = math.ceil(math.log2(most)), most, 0
        while len(turns) < simulations:
            for _ in range(max(1, simulations // (halvings * alive))):
                turns += [visits] * alive
                visits += 1
            alive = max(2, alive // 2)
        table[most] = turns[:simulations]
    return table
