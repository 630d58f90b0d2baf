"""Tools of the search tests: judges whose word is known beforehand, a game of double moves, trees as plain Python."""

import dataclasses
import functools
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import quick
from jaxtyping import Array, Bool, Float32, Int8, Int16, UInt32

from jaxgo.core import play, zobrist
from jaxgo.core.game import EMPTY, Action, Game
from jaxgo.core.lanes import where_lanes
from jaxgo.evaluators.base import Evaluation, Evaluator, Params, States
from jaxgo.search.base import Search
from jaxgo.search.edges import Edges
from jaxgo.search.model import Model
from jaxgo.search.tree import Tree


@dataclasses.dataclass(frozen=True)
class Hashed(Evaluator):
    """Pseudo-random logits and values that belong to the position, whatever the key and the lane."""

    def __call__(self, game: Game[Any], params: Params, key: Array, states: States) -> Evaluation:
        words = jax.vmap(game.hash)(states)
        action = jnp.arange(game.num_actions, dtype=jnp.uint32)
        mixed = words[:, :1] * jnp.uint32(2654435761) + (action * jnp.uint32(40503))[None] + words[:, 1:]
        mixed = (mixed ^ (mixed >> 15)) * jnp.uint32(2246822519)
        mixed = mixed ^ (mixed >> 13)
        logits = (mixed >> 8).astype(jnp.float32) / 2**24 * 3
        return Evaluation(logits, (words[:, 0] >> 8).astype(jnp.float32) / 2**24 - 0.5)


def is_bad(words: Any) -> Any:
    """Which positions `Broken` cannot judge, by their keys."""
    return words[..., 1] % 61 == 0


@dataclasses.dataclass(frozen=True)
class Broken(Hashed):
    """Like `Hashed`, but one position in 61 gets a number that is none."""

    where: Literal["value", "logit"] = "value"
    number: Literal["nan", "inf"] = "nan"  # a word, because numbers of an evaluator are finite

    def __call__(self, game: Game[Any], params: Params, key: Array, states: States) -> Evaluation:
        logits, value = super().__call__(game, params, key, states)
        bad = is_bad(jax.vmap(game.hash)(states))
        if self.where == "value":
            return Evaluation(logits, jnp.where(bad, float(self.number), value))
        return Evaluation(jnp.where(bad[:, None], float(self.number), logits), value)


@dataclasses.dataclass(frozen=True)
class Opinion(Evaluator):
    """Says the same of every position: these logits, and that who moves at even plies stands so well."""

    logits: tuple[float, ...]
    value: float = 0.0

    def __call__(self, game: Game[Any], params: Params, key: Array, states: States) -> Evaluation:
        logits = jnp.broadcast_to(jnp.array(self.logits, jnp.float32), (states.ply.shape[0], game.num_actions))
        return Evaluation(logits, jnp.where(states.ply % 2 == 0, self.value, -self.value).astype(jnp.float32))


class RoadState(NamedTuple):
    cell: Int8[Array, ""]
    mover: Int8[Array, ""]  # who moved last
    to_play: Int8[Array, ""]
    ply: Int16[Array, ""]


@dataclasses.dataclass(frozen=True)
class Road(Game[RoadState]):
    """One token, 1 to 3 cells ahead: on `I` the mover loses, on `W` he wins, `=` is a draw, on `+` he moves again."""

    road: str = ".......+I...III.W+.+=I"

    pieces = (EMPTY,)

    @property
    def shape(self) -> tuple[int, int]:
        return 1, 1

    @property
    def num_actions(self) -> int:
        return 3

    @property
    def max_plies(self) -> int:
        return len(self.road)

    def _on(self, state: RoadState, kinds: str) -> Bool[Array, ""]:
        return jnp.array([cell in kinds for cell in self.road])[state.cell]

    def init(self, key: Array) -> RoadState:
        return RoadState(jnp.int8(0), jnp.int8(0), jnp.int8(0), jnp.int16(0))

    def legal(self, state: RoadState) -> Bool[Array, " A"]:
        return state.cell + jnp.arange(1, 4, dtype=jnp.int8) < len(self.road)

    def step(self, state: RoadState, action: Action) -> RoadState:
        after = state._replace(cell=state.cell + action.astype(jnp.int8) + jnp.int8(1), mover=state.to_play)
        seat = jnp.where(self._on(after, "+"), state.to_play, jnp.int8(1) - state.to_play)
        return after._replace(to_play=seat, ply=state.ply + jnp.int16(1))

    def over(self, state: RoadState) -> Bool[Array, ""]:
        return self._on(state, "IW=")

    def returns(self, state: RoadState) -> Float32[Array, " 2"]:
        result = self._on(state, "W").astype(jnp.float32) - self._on(state, "I").astype(jnp.float32)
        first = jnp.where(state.mover == 0, result, -result)
        return jnp.stack([first, -first])

    def observe(self, state: RoadState) -> Float32[Array, "1 1 1"]:
        return state.cell.astype(jnp.float32).reshape(1, 1, 1)

    def cells(self, state: RoadState) -> Int8[Array, " 1"]:
        return jnp.zeros(1, jnp.int8)

    def hash(self, state: RoadState) -> UInt32[Array, "2"]:
        return zobrist.of_words(jnp.stack([state.cell, state.mover, state.to_play]).astype(jnp.uint32))

    def at(self, cell: int, to_play: int) -> RoadState:
        """The token on a cell where the game goes on."""
        return RoadState(jnp.int8(cell), jnp.int8(to_play), jnp.int8(to_play), jnp.int16(0))


def road_values(road: str, cell: int) -> dict[int, int]:
    """What each move is worth to the mover, by plain minimax."""
    values = {}
    for action in range(3):
        target = cell + action + 1
        if target < len(road):
            kind = road[target]
            if kind in "I=W":
                values[action] = "I=W".index(kind) - 1
            else:
                best = max(road_values(road, target).values())
                values[action] = best if kind == "+" else -best
    return values


@functools.cache
def positions(game: Game[Any], lanes: int, plies: int, seed: int = 0) -> Any:
    """Live positions after 0 to `plies` random plies, evenly spread over the lanes."""
    model = Model(game, Hashed())
    goal = np.arange(lanes) * (plies + 1) // lanes

    @jax.jit
    def tick(root: Any, key: Array) -> Any:
        weights = jnp.where(model.legal(root), 0.0, -jnp.inf)
        after, _ = model.play(root, jax.random.categorical(key, weights).astype(jnp.int32))
        stay = (root.state.ply >= goal) | model.over(after)
        return where_lanes(stay, root, after)

    root = jax.jit(lambda key: model.start(key, lanes))(jax.random.key(seed))
    for step in range(plies):
        root = tick(root, jax.random.key(1000 * seed + step))
    return root


def stacked(states: list[Any], game: Game[Any]) -> Any:
    """One batch of positions from single states."""
    batch = jax.tree.map(lambda *x: np.stack(x), *jax.device_get(states))
    return jax.jit(jax.vmap(functools.partial(play.resume, game)))(batch)


def picked(tree: Any, lanes: Any) -> Any:
    """Some lanes of a batch."""
    return jax.tree.map(lambda x: x[jnp.asarray(lanes)], tree)


def edges(visits: Any, q: Any, node_visits: int, logits: Any = None) -> Edges:
    """The edges below one node, nothing of it proven."""
    visits = jnp.asarray([visits], jnp.int32)
    zero = jnp.zeros(1)
    return Edges(
        visits=visits,
        q=jnp.asarray([q], jnp.float32),
        proven=jnp.zeros(visits.shape, bool),
        lost=jnp.zeros(visits.shape, bool),
        logits=jnp.zeros(visits.shape) if logits is None else jnp.asarray([logits], jnp.float32),
        node_visits=jnp.asarray([node_visits], jnp.int32),
        value=zero,
        raw=zero,
        node=jnp.zeros(1, jnp.int32),
        game=jnp.zeros(1, jnp.int32),
    )


class Verbs(NamedTuple):
    """The verbs of a search on a model, compiled. `follow` also begins: its action -1 starts a game afresh."""

    begin: Any  # key, root
    extend: Any  # key, state, budget
    result: Any  # key, state
    follow: Any  # key, state, action, root


@functools.cache
def verbs(search: Search, model: Model) -> Verbs:
    return Verbs(
        jax.jit(lambda key, root: search.begin(model, (), key, root)),
        jax.jit(lambda key, state, budget: search.extend(model, (), key, state, budget)),
        jax.jit(lambda key, state: search.result(key, state)),
        jax.jit(lambda key, state, action, root: search.follow(model, (), key, state, action, root)),
    )


@functools.cache
def whole(search: Search, model: Model, brisk: bool) -> Any:
    """`key, root, budget of each game -> result, search state`, in one program."""

    @functools.partial(jax.jit, compiler_options=quick.BRISK if brisk else None)
    def run(key: Array, root: Any, budget: Any) -> Any:
        begin, work, choose = jax.random.split(key, 3)
        state = search.begin(model, (), begin, root, budget)
        state = search.extend(model, (), work, state, budget)
        return search.result(choose, state), state

    return run


def searched(search: Search, model: Model, root: Any, budget: Any = None, seed: int = 0, brisk: bool = False) -> Any:
    """The result and the state of a whole search, as numpy.

    `brisk`: by a program that takes longer to compile and less to run, for many games or simulations.
    """
    lanes = root.state.ply.shape[0]
    budget = jnp.broadcast_to(jnp.asarray(search.budget if budget is None else budget, jnp.int32), (lanes,))
    return jax.device_get(whole(search, model, brisk)(jax.random.key(seed), root, budget))


class Node(NamedTuple):
    visits: int
    value: float  # of seat 0
    raw: float
    seat: int
    proven: bool
    index: int


def paths(tree: Tree, lane: int) -> dict[tuple[int, ...], Node]:
    """The nodes that can be reached, by the actions that lead to them."""
    found, waiting = {}, [((), 0)]
    while waiting:
        path, at = waiting.pop()
        numbers = (tree.visits, tree.value, tree.raw, tree.seat, tree.proven)
        found[path] = Node(*(column[lane, at].item() for column in numbers), at)
        for action in np.flatnonzero(tree.child[lane, at] >= 0).tolist():
            waiting.append(((*path, action), int(tree.child[lane, at, action])))
    return found


def alike(one: Any, other: Any) -> None:
    """Fails where two trees of arrays differ: floats of two programs in more than their last bits, all else at all."""

    def compare(a: Any, b: Any) -> None:
        if np.issubdtype(np.asarray(a).dtype, np.floating):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
        else:
            np.testing.assert_array_equal(a, b)

    jax.tree.map(compare, one, other)


def without_index(nodes: dict[tuple[int, ...], Node]) -> dict[tuple[int, ...], Node]:
    """For comparing trees that numbered their nodes in another order."""
    return {path: node._replace(index=0) for path, node in nodes.items()}


def _recur(model: Model, params: Any, key: Array, action: Array, states: Any) -> Any:
    moved = jax.vmap(functools.partial(play.advance, model.game))(states, action)
    judged = model.evaluate((), key, moved.state, jax.vmap(model.game.legal)(moved.state))
    output = mctx.RecurrentFnOutput(
        reward=moved.reward, discount=moved.discount, prior_logits=judged.logits, value=judged.value
    )
    return output, moved.state


@functools.cache
def peer(policy: str, model: Model, simulations: int, **options: Any) -> Any:
    """mctx's own policy: `key, root -> PolicyOutput`."""
    run = getattr(mctx, policy)

    @jax.jit
    def search(key: Array, root: Any) -> Any:
        legal = model.legal(root)
        judged = model.evaluate((), key, root.state, legal)
        first = mctx.RootFnOutput(prior_logits=judged.logits, value=judged.value, embedding=root.state)
        recur = functools.partial(_recur, model)
        return run((), key, first, recur, simulations, invalid_actions=~legal, **options)

    return search


class At(NamedTuple):
    at: Int8[Array, ""]
    to_play: Int8[Array, ""]
    ply: Int16[Array, ""]


class Bare(Game[At]):
    """The part of a game of a place and a turn that is the same for all: it begins at 0, and nobody looks at it."""

    pieces = (EMPTY,)
    shape = (1, 1)

    def init(self, key: Array) -> At:
        return At(jnp.int8(0), jnp.int8(0), jnp.int16(0))

    def observe(self, state: At) -> Float32[Array, "1 1 1"]:
        return state.at.astype(jnp.float32).reshape(1, 1, 1)

    def cells(self, state: At) -> Int8[Array, " 1"]:
        return jnp.zeros(1, jnp.int8)

    def hash(self, state: At) -> UInt32[Array, "2"]:
        return zobrist.of_words(jnp.stack([state.at, state.to_play]).astype(jnp.uint32))
