"""Gumbel search: sequential halving over sampled root moves, deterministic selection below.

From "Policy improvement by planning with Gumbel" (Danihelka et al., 2022), as mctx defines it. Inside one halving
phase every survivor gets the same visits whatever the order, and selection below the root reads only its own subtree,
so all survivors of a round advance side by side, one leaf each, in one evaluator call. The survivors of a phase are
picked at its boundary, as in the paper; mctx scores anew at every simulation, and so does `jaxgo.search.mctx`.
"""

import dataclasses
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int32

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
    check_room,
    conclude,
    more_room,
    per_game,
    playable,
    room,
)
from jaxgo.search.edges import Edges, proven_below_root, read_edges, root_edges
from jaxgo.search.model import UNLIKELY, Model
from jaxgo.search.narrow import Narrowing
from jaxgo.search.tree import ROOT, Spot, Tree


class GumbelState(NamedTuple):
    root: Position
    tree: Tree
    noise: Float32[Array, "B A"]  # Gumbel noise of the root moves
    before: Int32[Array, "B A"]  # visits that a kept subtree brought along
    plan: Int32[Array, " B"]  # simulations that the halving schedule is made for
    done: Int32[Array, " B"]  # simulations since the start
    since: Int32[Array, " B"]  # of them, those before this halving
    breadth: Int32[Array, " B"]  # root moves considered at the start
    considered: Int32[Array, " B"]  # root moves that this phase visits
    order: Int32[Array, "B M"]  # these moves, best first
    cursor: Int32[Array, " B"]  # how many of them this round has visited
    rounds: Int32[Array, " B"]  # rounds left in this phase, the current one included
    calls: Int32[Array, ""]  # evaluator calls so far, the root's apart

    @property
    def prior(self) -> Float32[Array, "B A"]:
        """The noise lies beside the logits, and not on them."""
        return self.tree.logits[:, ROOT]


@dataclasses.dataclass(frozen=True)
class Gumbel(Search[GumbelState], Narrowing):
    """Sequential halving with Gumbel noise. It finds the same with any `parallel_leaves`; more of them, fewer calls."""

    simulations: int = 64  # planned unless `begin` is told otherwise
    max_considered: int = 16  # root moves at the start
    gumbel_scale: float = 1.0  # of the Gumbel noise; 0 to play at full strength
    value_scale: float = 0.1  # how strongly values outweigh the prior
    visit_offset: float = 50.0  # counts as visits in that weight, which grows with them
    min_value_range: float = 0.0  # q-values that differ by less are not stretched to the full scale
    parallel_leaves: int = 0  # most leaves of one game in one evaluator call; 0: all survivors of a round
    solver: bool = True  # proofs climb the tree, and end the search of a solved root
    nodes: int = 0  # room in the tree; 0: simulations + 1

    def __post_init__(self) -> None:
        super().__post_init__()
        Narrowing.__post_init__(self)
        if self.simulations < 1 or self.max_considered < 1 or self.parallel_leaves < 0 or self.nodes < 0:
            raise UsageError(
                "gumbel needs simulations and max_considered of at least 1, parallel_leaves and nodes of at least 0"
            )
        if min(self.min_value_range, self.value_scale, self.visit_offset) < 0:
            raise UsageError("gumbel needs min_value_range, value_scale and visit_offset of at least 0")

    @property
    def lucky(self) -> bool:
        return self.gumbel_scale > 0

    def quiet(self) -> "Gumbel":
        """Without Gumbel noise: of the moves considered, the best one by what is known."""
        return dataclasses.replace(self, gumbel_scale=0.0)

    # -- the verbs -----------------------------------------------------------------------------------
    def begin(
        self, model: Model, params: Params, key: Array, root: Position, plan: Budget | None = None
    ) -> GumbelState:
        judge, noise = keys.split(key)
        leaves = model.seen_by(self).root(params, judge, root)
        tree = trees.plant(leaves, room(self, plan, leaves.value.shape[0]))
        return self._begun(noise, root, tree, plan)

    def extend(self, model: Model, params: Params, key: Array, state: GumbelState, budget: Budget) -> GumbelState:
        check_room(self, state.tree, budget)
        model = model.seen_by(self)
        left = per_game(budget, state.done.shape[0], jnp.int32)
        state = self._anew(state)
        widths = _halvings(state.order.shape[1])
        if not model.on_cpu:  # one loop, for what judges looks only at lanes that want it
            return self._extend_phases(model, params, key, state, left, 0, widths[0])[0]
        # one loop for each width of the halving, so that late phases do not pay for the lanes of the first
        for width, narrower in zip(widths, [*widths[1:], 0], strict=True):
            state, left = self._extend_phases(model, params, key, state, left, narrower, width)
        return state

    def result(self, key: Array, state: GumbelState, temperature: Temperature = 0.0) -> SearchResult:
        edges = self._hopeful(root_edges(state.tree))
        among = playable(state.tree, edges) if self.solver else edges.legal
        spent = edges.visits - state.before
        most = jnp.where(among, spent, -1).max(axis=-1, keepdims=True)
        score = self._score(edges, state.noise, among & (spent == most))
        policy = jax.nn.softmax(edges.logits + self._completed_q(edges), axis=-1)
        return conclude(state, key, first_max(score, among), among, jnp.where(edges.legal, policy, 0.0), temperature)

    def follow(
        self,
        model: Model,
        params: Params,
        key: Array,
        state: GumbelState,
        action: Int32[Array, " B"],
        root: Position,
        plan: Budget | None = None,
    ) -> GumbelState:
        judge, noise = keys.split(key)
        tree = more_room(self, state.tree, plan)
        return self._begun(noise, root, reuse.follow(model.seen_by(self), params, judge, tree, action, root), plan)

    # -- sequential halving --------------------------------------------------------------------------
    def _begun(self, key: Array, root: Position, tree: Tree, plan: Budget | None) -> GumbelState:
        games, _, actions = tree.logits.shape
        edges = self._hopeful(root_edges(tree))
        noise = self.gumbel_scale * keys.sample(jax.random.gumbel, key, (games, actions), jnp.float32)
        most = min(self.max_considered, actions)
        breadth = self._breadth(edges, most)
        zero = jnp.zeros(games, jnp.int32)
        planned = per_game(self.simulations if plan is None else plan, games, jnp.int32)
        return GumbelState(
            root=root,
            tree=tree,
            noise=noise,
            before=edges.visits,
            plan=planned,
            done=zero,
            since=zero,
            breadth=breadth,
            considered=breadth,
            order=self._ranked(edges, noise, edges.legal, most),
            cursor=zero,
            rounds=self._rounds(planned, breadth, breadth),
            calls=jnp.int32(0),
        )

    def _anew(self, state: GumbelState) -> GumbelState:
        """A search that goes on behind its plan, as by a clock, halves all moves again, with twice as many simulations:
        else all of them would go to the last two of the first halving."""
        over = state.done - state.since >= state.plan

        def again(_: None) -> tuple[Int32[Array, "B M"], Int32[Array, " B"]]:
            edges, most = self._hopeful(root_edges(state.tree)), state.order.shape[1]
            order = jnp.where(over[:, None], self._ranked(edges, state.noise, edges.legal, most), state.order)
            return order, jnp.where(over, self._breadth(edges, most), state.breadth)

        plan = jnp.where(over, 2 * state.plan, state.plan)
        order, breadth = jax.lax.cond(over.any(), again, lambda _: (state.order, state.breadth), None)
        considered = jnp.where(over, breadth, state.considered)
        return state._replace(
            plan=plan,
            since=jnp.where(over, state.done, state.since),
            breadth=breadth,
            considered=considered,
            order=order,
            cursor=jnp.where(over, 0, state.cursor),
            rounds=jnp.where(over, self._rounds(plan, breadth, considered), state.rounds),
        )

    def _open(self, edges: Edges) -> Bool[Array, "B A"]:
        """The moves that simulations are for: the candidates that are not proven lost."""
        return edges.candidate & ~(edges.lost & self.solver)

    def _breadth(self, edges: Edges, most: int) -> Int32[Array, " B"]:
        """How many moves a halving begins with."""
        return jnp.clip(self._open(edges).sum(axis=-1, dtype=jnp.int32), 1, most)

    def _rounds(
        self, plan: Int32[Array, " B"], breadth: Int32[Array, " B"], considered: Int32[Array, " B"]
    ) -> Int32[Array, " B"]:
        """Rounds of a phase with so many survivors, in a search that began with `breadth`."""
        halvings = np.array([1, 1, *(math.ceil(math.log2(m)) for m in range(2, self.max_considered + 1))], np.int32)
        rounds = plan // (jnp.asarray(halvings)[breadth] * considered)
        return jnp.maximum(jnp.where(breadth <= 1, plan, rounds), 1)

    def _extend_phases(
        self,
        model: Model,
        params: Params,
        key: Array,
        state: GumbelState,
        left: Int32[Array, " B"],
        low: int,
        high: int,
    ) -> tuple[GumbelState, Int32[Array, " B"]]:
        """Runs every game through its phases of more than `low` and at most `high` survivors."""
        lanes = jnp.arange(min(high, self.parallel_leaves or high), dtype=jnp.int32)[None]

        def here(state: GumbelState, left: Int32[Array, " B"]) -> Bool[Array, " B"]:
            return (left > 0) & (state.considered > low) & (state.considered <= high)

        def round_(carry: tuple[GumbelState, Int32[Array, " B"]]) -> tuple[GumbelState, Int32[Array, " B"]]:
            state, left = carry
            place = state.cursor[:, None] + lanes
            space = jnp.minimum(left, state.tree.visits.shape[1] - state.tree.used)
            active = here(state, left)[:, None] & (place < state.considered[:, None]) & (lanes < space[:, None])
            first = jnp.take_along_axis(state.order, jnp.minimum(place, state.order.shape[1] - 1), axis=1)
            state, visited = self._simulate(model, params, key, state, active, first)
            state = self._halve(state._replace(cursor=state.cursor + visited))
            return state, trees.remaining(state.tree, left - visited)

        left = trees.remaining(state.tree, left)
        return jax.lax.while_loop(lambda carry: here(*carry).any(), round_, (state, left))

    def _simulate(
        self,
        model: Model,
        params: Params,
        key: Array,
        state: GumbelState,
        active: Bool[Array, "B K"],
        first: Int32[Array, "B K"],
    ) -> tuple[GumbelState, Int32[Array, " B"]]:
        step = keys.of_step(key, state.calls, state.done)
        lanes, past = (active.reshape(-1), first.reshape(-1)), state.root.history
        tree, _ = simulate.side_by_side(model, params, step, state.tree, self.choose, *lanes, self.solver, past)
        visited = active.sum(axis=1, dtype=jnp.int32)
        return state._replace(tree=tree, done=state.done + visited, calls=state.calls + 1), visited

    def _halve(self, state: GumbelState) -> GumbelState:
        """Ends rounds that have visited all survivors, and phases that have no rounds left.

        A survivor that is proven lost stays no longer than its phase, however likely it was, and of the last phase no
        longer than its round; where all of a round are, or too many of a phase, the best of the other moves take their
        places, as far as there are others.
        """
        full = state.cursor >= state.considered
        rounds = state.rounds - full
        ended = full & (rounds == 0)
        fewer = jnp.where(state.considered <= 1, 1, jnp.maximum(2, state.considered // 2))
        considered = jnp.where(ended, fewer, state.considered)

        def rank(_: None) -> tuple[Int32[Array, "B M"], Int32[Array, " B"]]:
            edges = self._hopeful(root_edges(state.tree))
            alive = jnp.arange(state.order.shape[1])[None] < state.considered[:, None]
            survivors = (
                jnp.zeros(state.noise.shape, bool).at[jnp.arange(state.done.shape[0])[:, None], state.order].max(alive)
            )
            others = self._open(edges)
            left = (survivors & others).sum(axis=-1)
            hopeless = full & self.solver & (left == 0) & others.any(axis=-1)
            last = state.considered <= 2  # a phase that may be half of the search
            wide = hopeless | (full & (ended | last) & self.solver & (left < considered))
            among = jnp.where(wide[:, None], edges.legal, survivors)
            order = self._ranked(edges, state.noise, among, state.order.shape[1])
            places = jnp.clip(others.sum(axis=-1, dtype=jnp.int32), 1, considered)
            return (
                jnp.where((ended | wide)[:, None], order, state.order),
                jnp.where(wide, places, considered),
            )

        # without a proven root move none is lost
        some_proven = self.solver & (full & proven_below_root(state.tree)).any()
        order, considered = jax.lax.cond(ended.any() | some_proven, rank, lambda _: (state.order, considered), None)
        return state._replace(
            considered=considered,
            order=order,
            cursor=jnp.where(full, 0, state.cursor),
            rounds=jnp.where(ended, self._rounds(state.plan, state.breadth, considered), rounds),
        )

    def _ranked(
        self, edges: Edges, noise: Float32[Array, "B A"], among: Bool[Array, "B A"], count: int
    ) -> Int32[Array, "B M"]:
        """The best of these moves, the best first; where there are fewer others than places, lost ones fill up."""
        score = self._score(edges, noise, among)
        score = jnp.where(self.solver & edges.lost & jnp.isfinite(score), jnp.finfo(jnp.float32).min, score)
        return jax.lax.top_k(score, count)[1].astype(jnp.int32)  # the first of equals first

    def _hopeful(self, edges: Edges) -> Edges:
        """Where all candidates of a root are lost, the other moves stand in for them; no prior of theirs is known."""
        if not (self.solver and self.narrows):
            return edges
        others = edges.legal & ~edges.lost
        needed = others.any(axis=-1) & ~(others & edges.candidate).any(axis=-1)
        logits = jnp.where(others, 0.0, jnp.minimum(edges.logits, UNLIKELY))
        return edges._replace(logits=jnp.where(needed[:, None], logits, edges.logits))

    # -- scores --------------------------------------------------------------------------------------
    def _completed_q(self, edges: Edges) -> Float32[Array, "L A"]:
        """Q-values scaled to logits; moves without visits get the mixed value of appendix D of the paper."""
        seen = edges.visits > 0
        total = edges.visits.sum(axis=-1)
        # the prior of the seen moves; its normaliser cancels
        prior = jnp.where(seen, jnp.maximum(jnp.finfo(jnp.float32).tiny, jnp.exp(edges.logits)), 0.0)
        # never divided by next to nothing: XLA may multiply the inverse by the number of actions, which overflows
        weighted = (prior * edges.q).sum(axis=-1) / jnp.where(total > 0, prior.sum(axis=-1), 1.0)
        mixed = (edges.raw + total * weighted) / (total + 1)
        q = jnp.where(seen, edges.q, mixed[..., None])
        low, high = q.min(axis=-1, keepdims=True), q.max(axis=-1, keepdims=True)
        q = (q - low) / jnp.maximum(high - low, max(self.min_value_range, 1e-8))
        most = edges.visits.max(axis=-1, keepdims=True)
        return (self.visit_offset + most) * self.value_scale * q

    def _score(self, edges: Edges, noise: Float32[Array, "B A"], among: Bool[Array, "B A"]) -> Float32[Array, "B A"]:
        """How good each root move looks; -inf outside `among` and for illegal moves."""
        logits = edges.logits
        logits = logits - logits.max(axis=-1, keepdims=True)
        score = jnp.maximum(-1e9, noise + logits + self._completed_q(edges))
        return jnp.where(among & edges.legal, score, -jnp.inf)

    def choose(self, at: Spot) -> Int32[Array, " L"]:
        return self.prefer(read_edges(at))

    def prefer(self, edges: Edges) -> Int32[Array, " L"]:
        """Below the root: the move whose visits lag most behind the improved policy."""
        policy = jax.nn.softmax(edges.logits + self._completed_q(edges), axis=-1)
        lag = policy - edges.visits / (1 + edges.visits.sum(axis=-1, keepdims=True))
        return edges.best(lag, self.solver, self.narrows)


def _halvings(width: int) -> list[int]:
    """How many moves the phases of a halving visit, from this many to two."""
    widths = [width]
    while widths[-1] > 2:
        widths.append(max(2, widths[-1] // 2))
    return widths
