"""A drop-in for mctx: its functions, names and results, on jaxgo's tree; `import jaxgo.search.mctx as mctx` is all.

It searches with any model: an embedding of any kind, rewards on the way, any discount. The order of simulations, the
schedule of halving, the keys that are drawn and the numbers of the nodes are mctx's, so visit counts and actions are
too. It is many times as fast because nothing is kept twice and nothing but the path of a simulation is written; see
docs/search.md for the few differences.
"""

import math
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int32

from jaxgo.core import keys
from jaxgo.core.choice import first_max
from jaxgo.core.errors import UsageError
from jaxgo.core.lanes import check_spread
from jaxgo.evaluators.base import floats, kind, parts
from jaxgo.search import tree as trees
from jaxgo.search.backup import backup
from jaxgo.search.edges import read_children
from jaxgo.search.functions import told
from jaxgo.search.mctx_tree import (
    ZERO_UNVISITED,
    GumbelMuZeroExtraData,
    LoopFn,
    Node,
    Params,
    PolicyOutput,
    QTransform,
    RecurrentFn,
    RecurrentFnOutput,
    RecurrentState,
    RootFnOutput,
    SearchSummary,
    Tree,
    node_at,
    node_of_children,
    qtransform_by_min_max,
    qtransform_by_parent_and_siblings,
    qtransform_completed_by_mix_value,
)
from jaxgo.search.model import ILLEGAL, Leaves
from jaxgo.search.tree import ROOT, Choose, Spot

LOW = -1e9  # the score below which no considered action sinks

NOT_HERE = (
    "search",
    "stochastic_muzero_policy",
    "ChanceRecurrentFnOutput",
    "DecisionRecurrentFnOutput",
    "InteriorActionSelectionFn",
    "RootActionSelectionFn",
    "gumbel_muzero_interior_action_selection",
    "gumbel_muzero_root_action_selection",
    "muzero_action_selection",
)


def __getattr__(name: str) -> Any:
    if name in NOT_HERE:
        raise AttributeError(f"jaxgo.search.mctx has no {name}: it holds the two policies; import this one from mctx")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# -- the policies ------------------------------------------------------------------------------------------------


def muzero_policy(
    params: Params,
    rng_key: Array,
    root: RootFnOutput,
    recurrent_fn: RecurrentFn,
    num_simulations: int,
    invalid_actions: Any = None,
    max_depth: int | None = None,
    loop_fn: LoopFn = jax.lax.fori_loop,
    *,
    qtransform: QTransform = qtransform_by_parent_and_siblings,
    dirichlet_fraction: Any = 0.25,
    dirichlet_alpha: Any = 0.3,
    pb_c_init: Any = 1.25,
    pb_c_base: Any = 19652,
    temperature: Any = 1.0,
) -> PolicyOutput:
    """PUCT as MuZero has it. Where mctx breaks ties by noise of 1e-7, the first of equal actions is taken here.

    `recurrent_fn(params, key, action, embedding)` gives a RecurrentFnOutput and the next embedding, for a batch;
    `invalid_actions` are those of the root; `max_depth` is the longest walk; the action is drawn by visits to the power
    of `1 / temperature`.
    """
    root, invalid = _checked(rng_key, root, num_simulations, invalid_actions, max_depth)
    rng_key, noise_key, search_key = jax.random.split(rng_key, 3)
    games, actions = root.prior_logits.shape
    prior = jax.nn.softmax(root.prior_logits)
    noise = jax.random.dirichlet(noise_key, jnp.full(actions, dirichlet_alpha, prior.dtype), (games,))
    prior = (1 - dirichlet_fraction) * prior + dirichlet_fraction * noise
    logits = _masked(_log(prior), invalid)
    ordered = getattr(qtransform, "func", qtransform) in ZERO_UNVISITED

    def choose(spot: Spot) -> Int32[Array, " L"]:
        if ordered:
            below = read_children(spot)
            node, chance = node_of_children(below), below.prior
        else:
            node = node_at(spot)
            chance = jax.nn.softmax(node.children_prior_logits, axis=-1)
        explore = jnp.sqrt(node.node_visits) * (pb_c_init + jnp.log((node.node_visits + pb_c_base + 1.0) / pb_c_base))
        score = node.transformed(qtransform) + explore[:, None] * chance / (node.children_visits + 1)
        if ordered:
            return below.best(score, explore * below.untried_prior, solver=False)
        return _best(score, None if invalid is None else invalid[spot.game] & (spot.node == ROOT)[:, None])

    tree = trees.plant(_leaves(root._replace(prior_logits=logits)), num_simulations + 1, frontier=ordered)
    tree = _search(params, search_key, tree, recurrent_fn, None, choose, max_depth, loop_fn)
    found = _output_tree(tree, invalid_actions, None)
    weights = found.summary().visit_probs
    action = jax.random.categorical(rng_key, _cooled(_log(weights), temperature))
    return PolicyOutput(action, weights, found)


def gumbel_muzero_policy(
    params: Params,
    rng_key: Array,
    root: RootFnOutput,
    recurrent_fn: RecurrentFn,
    num_simulations: int,
    invalid_actions: Any = None,
    max_depth: int | None = None,
    loop_fn: LoopFn = jax.lax.fori_loop,
    *,
    qtransform: QTransform = qtransform_completed_by_mix_value,
    max_num_considered_actions: int = 16,
    gumbel_scale: Any = 1.0,
) -> PolicyOutput:
    """Full Gumbel MuZero: sequential halving with Gumbel noise at the root, the improved policy below it.

    The arguments are those of `muzero_policy`; `max_num_considered_actions` are sampled at the root, and a
    `gumbel_scale` of 0 takes the likeliest ones.
    """
    root, invalid = _checked(rng_key, root, num_simulations, invalid_actions, max_depth)
    if _whole("max_num_considered_actions", max_num_considered_actions) < 1:
        raise UsageError(f"max_num_considered_actions is {max_num_considered_actions}; it must be at least 1")
    logits = _masked(root.prior_logits, invalid)
    rng_key, gumbel_key = jax.random.split(rng_key)
    gumbel = gumbel_scale * jax.random.gumbel(gumbel_key, logits.shape, logits.dtype)
    games, actions = logits.shape
    most = min(max_num_considered_actions, actions)
    valid = actions if invalid is None else (~invalid).sum(axis=-1, dtype=jnp.int32)
    turns = jnp.asarray(considered_visits(most, num_simulations))[jnp.broadcast_to(jnp.minimum(most, valid), games)]

    def at_root(tree: trees.Tree) -> Node:
        return node_at(Spot(tree, jnp.arange(games, dtype=jnp.int32), jnp.zeros(games, jnp.int32)))

    def best(node: Node, completed: Array, turn: Array) -> Int32[Array, " B"]:
        score = gumbel + logits - logits.max(axis=-1, keepdims=True) + completed
        return _best(jnp.where(node.children_visits == turn, jnp.maximum(LOW, score), -jnp.inf), invalid)

    def first(tree: trees.Tree, simulation: Any) -> Int32[Array, " B"]:
        node = at_root(tree)
        return best(node, node.transformed(qtransform), turns[:, simulation][:, None])

    def choose(spot: Spot) -> Int32[Array, " L"]:
        node = node_at(spot)
        visits = node.children_visits
        policy = jax.nn.softmax(node.children_prior_logits + node.transformed(qtransform), axis=-1)
        return first_max(policy - visits / (1 + visits.sum(axis=-1, keepdims=True)))

    tree = trees.plant(_leaves(root._replace(prior_logits=logits)), num_simulations + 1)
    tree = _search(params, rng_key, tree, recurrent_fn, first, choose, max_depth, loop_fn)
    node = at_root(tree)
    completed = node.transformed(qtransform)
    action = best(node, completed, node.children_visits.max(axis=-1, keepdims=True))
    weights = jax.nn.softmax(_masked(logits + completed, invalid), axis=-1)
    return PolicyOutput(action, weights, _output_tree(tree, invalid_actions, GumbelMuZeroExtraData(gumbel)))


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


# -- the search --------------------------------------------------------------------------------------------------


def _search(
    params: Params,
    key: Array,
    tree: trees.Tree,
    recurrent_fn: RecurrentFn,
    first: Callable[[trees.Tree, Any], Array] | None,
    choose: Choose,
    max_depth: int | None,
    loop_fn: LoopFn,
) -> trees.Tree:
    """As many simulations as the tree has room for, one after the other. `first` chooses at the root, if given."""
    games, nodes, actions = tree.logits.shape
    game, everyone = jnp.arange(games, dtype=jnp.int32), jnp.ones(games, bool)
    limit = nodes - 1 if max_depth is None else min(operator.index(max_depth), nodes - 1)

    def simulate(simulation: Any, carry: tuple[Array, trees.Tree]) -> tuple[Array, trees.Tree]:
        key, tree = carry
        key, _, expand_key = jax.random.split(key, 3)
        action = None if first is None else first(tree, simulation)
        descent = trees.descend(tree, choose, everyone, action, limit)
        fresh = descent.leaf < 0
        # a node has the number of its simulation, also where `max_depth` led others back to a leaf that was there
        tree = tree._replace(used=jnp.full(games, simulation + 1, jnp.int32))
        tree, descent = trees.reserve(tree, descent, everyone)
        parent = tree.parent[game, descent.leaf].astype(jnp.int32)
        states = trees.parents_of(tree, descent._replace(node=parent))
        leaves = _expanded(recurrent_fn(params, expand_key, descent.action, states), states, (games, actions))
        tree = trees.fill(tree, descent.leaf, everyone, leaves)
        tree = backup(tree, descent, leaves.value)
        return key, trees.advance(tree, descent, fresh)

    return loop_fn(0, nodes - 1, simulate, (key, tree))[1]


def _leaves(root: RootFnOutput) -> Leaves:
    games = root.value.shape[0]
    nothing = jnp.zeros(games, jnp.float32)
    return Leaves(
        states=root.embedding,
        logits=root.prior_logits,
        value=root.value,
        over=jnp.zeros(games, bool),  # the model knows no end, it only discounts
        seat=jnp.zeros(games, jnp.int8),
        healthy=jnp.ones(games, bool),
        reward=nothing,
        discount=nothing,
    )


def _expanded(said: Any, before: Any, shape: tuple[int, int]) -> Leaves:
    """What the model said, once it is sure to fit."""
    if not (isinstance(said, tuple | list) and len(said) == 2 and _has(said[0], RecurrentFnOutput)):
        raise UsageError("recurrent_fn must give two things: a RecurrentFnOutput, and the embedding after the moves")
    (output, embedding), games = said, shape[:1]
    for name, wanted in (("reward", games), ("discount", games), ("value", games), ("prior_logits", shape)):
        if jnp.shape(getattr(output, name)) != wanted:
            found = jnp.shape(getattr(output, name))
            raise UsageError(f"recurrent_fn gave {name} of shape {found}, where {wanted} is needed")
    old, new = (parts(x) for x in (before, embedding))
    if old != new:
        raise UsageError(f"recurrent_fn gave an embedding of {told(new)}, where the root has {told(old)}")
    for ours, theirs in zip(jax.tree.leaves(before), jax.tree.leaves(embedding), strict=True):
        kept, given = ours.dtype, jnp.result_type(theirs)
        whole = jnp.issubdtype(kept, jnp.integer) and jnp.issubdtype(given, jnp.integer)
        if kept != given and not whole and not np.can_cast(given, kept, "same_kind"):
            raise UsageError(
                f"recurrent_fn gave an embedding of {given}, where the root has {kept}, which "
                "would cut it; give both the same"
            )
    logits, value, reward, discount = (
        _floats(f"{name} of recurrent_fn", getattr(output, name))
        for name in ("prior_logits", "value", "reward", "discount")
    )
    return _leaves(RootFnOutput(logits, value, embedding))._replace(reward=reward, discount=discount)


def _output_tree(tree: trees.Tree, invalid_actions: Any, extra_data: Any) -> Tree:
    invalid = jnp.zeros_like(tree.logits[:, ROOT]) if invalid_actions is None else jnp.asarray(invalid_actions)
    return Tree(tree, invalid, extra_data)


def _checked(
    key: Any, root: Any, num_simulations: Any, invalid_actions: Any, max_depth: Any
) -> tuple[RootFnOutput, Bool[Array, "B A"] | None]:
    """The root and the mask as float32 and bool; a UsageError on what cannot be searched."""
    keys.check_one(key, "rng_key")
    if not _has(root, RootFnOutput):
        raise UsageError(f"the root is a RootFnOutput, and {type(root).__name__} is none")
    if _whole("num_simulations", num_simulations) < 1:
        raise UsageError(f"num_simulations is {num_simulations}; it must be at least 1")
    if max_depth is not None and _whole("max_depth", max_depth) < 1:
        raise UsageError(f"max_depth is {max_depth}; it must be at least 1, or None for no limit")
    logits, value = (_floats(f"{name} of the root", getattr(root, name)) for name in ("prior_logits", "value"))
    if logits.ndim == 2 and not logits.size:
        raise UsageError(
            f"the root has {logits.shape[0]} games of {logits.shape[1]} actions; give at least one of each"
        )
    if logits.ndim != 2 or value.shape != logits.shape[:1]:
        raise UsageError(
            f"the root has prior_logits of shape {logits.shape} and a value of shape {value.shape}; "
            "give [games, actions] and [games]"
        )
    check_spread(logits, "the games of the root")
    embedding = jax.tree.map(jnp.asarray, root.embedding)
    if any(leaf.shape[:1] != value.shape for leaf in jax.tree.leaves(embedding)):
        raise UsageError(f"every array of root.embedding must begin with the axis of the {value.shape[0]} games")
    if invalid_actions is not None and jnp.shape(invalid_actions) != logits.shape:
        raise UsageError(
            f"invalid_actions has the shape {jnp.shape(invalid_actions)}, where prior_logits has {logits.shape}"
        )
    invalid = None if invalid_actions is None else jnp.asarray(invalid_actions) != 0
    return RootFnOutput(logits, value, embedding), invalid


def _whole(name: str, number: Any) -> int:
    """A whole number that is known while programs are compiled, since trees have room by it."""
    try:
        if not isinstance(number, bool | np.bool_):
            return operator.index(number)
    except TypeError:
        pass
    raise UsageError(f"{name}={number} is not a plain whole number; give one of Python or numpy")


def _has(value: Any, like: Any) -> bool:
    """Whether it has all fields of this tuple; mctx's own dataclasses are taken, too."""
    return all(hasattr(value, field) for field in like._fields)


def _floats(name: str, value: Any) -> Array:
    try:
        return floats(value)
    except (TypeError, ValueError):
        raise UsageError(f"{name} must be an array of real numbers, not {kind(value)}") from None


def _best(score: Array, invalid: Bool[Array, "L A"] | None) -> Int32[Array, " L"]:
    """The valid action of the highest score, the first of equals; 0 where none is valid."""
    return first_max(score if invalid is None else jnp.where(invalid, -jnp.inf, score))


def _masked(logits: Float32[Array, "B A"], invalid: Bool[Array, "B A"] | None) -> Float32[Array, "B A"]:
    if invalid is None:
        return logits
    return jnp.where(invalid, ILLEGAL, logits - logits.max(axis=-1, keepdims=True))


def _log(share: Float32[Array, "B A"]) -> Float32[Array, "B A"]:
    return jnp.log(jnp.maximum(share, jnp.finfo(share.dtype).tiny))


def _cooled(logits: Float32[Array, "B A"], temperature: Any) -> Float32[Array, "B A"]:
    logits = logits - logits.max(axis=-1, keepdims=True)
    return logits / jnp.maximum(jnp.finfo(logits.dtype).tiny, temperature)


__all__ = [
    "GumbelMuZeroExtraData",
    "LoopFn",
    "PolicyOutput",
    "RecurrentFn",
    "RecurrentFnOutput",
    "RecurrentState",
    "RootFnOutput",
    "SearchSummary",
    "Tree",
    "gumbel_muzero_policy",
    "muzero_policy",
    "qtransform_by_min_max",
    "qtransform_by_parent_and_siblings",
    "qtransform_completed_by_mix_value",
]
