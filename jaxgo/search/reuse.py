"""Trees between moves: keep what was judged, keep the subtree of the move that was played, make room for more nodes."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32, Int32

from jaxgo.core import history as histories
from jaxgo.core.lanes import over_axes, where_lanes
from jaxgo.core.play import Position
from jaxgo.evaluators.base import Evaluation, Params
from jaxgo.evaluators.cache import EvalCache, remember
from jaxgo.search import tree as trees
from jaxgo.search.edges import root_edges
from jaxgo.search.model import ILLEGAL, Model, check_moves, mover_sign
from jaxgo.search.tree import NOWHERE, ROOT, Tree


def judged(model: Model, tree: Tree) -> EvalCache:
    """What the judge said of the nodes below the roots, which another search may meet again."""
    node = jnp.arange(tree.visits.shape[1], dtype=jnp.int32)[None]
    known = (node < tree.used[:, None]) & (node > ROOT) & tree.healthy[:, None]
    if histories.judges(model.game):  # of what the past of a game ended nothing was said
        known &= ~tree.proven | (tree.child >= 0).any(axis=-1)
    return remember(model.game, tree.states, Evaluation(tree.logits, tree.raw * mover_sign(tree.seat)), known)


def follow(
    model: Model,
    params: Params,
    key: Array,
    tree: Tree,
    action: Int32[Array, " B"],
    root: Position,
) -> Tree:
    """The trees after `action` led to `root`; a game with action -1, or with a move never tried, begins anew, and so
    does one whose past by now has a position that must not come back.

    The new root has the state of `root`, and its priors are asked for again: of its exact moves, without what a search
    adds to those of nodes.
    """
    action = check_moves(action, root)
    words = None if tree.key is None else model.keys(root.state)
    fresh = trees.plant(model.root(params, key, root), tree.visits.shape[1], tree.frontier is not None, words)
    game = jnp.arange(tree.visits.shape[0])
    child = tree.child[game, ROOT, jnp.maximum(action, 0)].astype(jnp.int32)
    at = jnp.maximum(child, ROOT)
    closed = tree.proven[game, at] & (tree.child[game, at] < 0).all(axis=-1)  # by a proof, which left no move to play
    kept = (action >= 0) & (child >= 0) & ~fresh.proven[:, ROOT] & ~closed & histories.steady(model.game, root.history)
    moved = _restrict(reroot(tree, jnp.where(kept, child, ROOT)), fresh.logits[:, ROOT])
    # what a learned step foresaw is not what came of the move
    come = jax.tree.map(lambda column, state: column.at[:, ROOT].set(state), moved.states, root.state)
    return where_lanes(kept, moved._replace(states=come), fresh)


def _restrict(tree: Tree, logits: Float32[Array, "B A"]) -> Tree:
    """The trees with these logits of the root, and without moves that the real game forbids and that no node could
    know of (superko).

    What such moves had brought in is taken out of the root again; their nodes stay behind, out of reach.
    """
    edges = root_edges(tree)
    exact = logits > ILLEGAL
    legal = edges.legal & exact
    changed = (edges.legal & ~exact).any(axis=-1)
    visits = jnp.where(exact, edges.visits, 0)
    sign = mover_sign(tree.seat[:, ROOT])
    own = edges.node_visits - edges.visits.sum(axis=-1, dtype=jnp.int32)
    count = own + visits.sum(axis=-1, dtype=jnp.int32)
    mean = (own * edges.raw + (visits * edges.q).sum(axis=-1)) / count
    known = jnp.where(legal & edges.proven, edges.q, -jnp.inf).max(axis=-1)  # what the remaining moves prove
    closed = (known >= 1.0) | (edges.proven | ~legal).all(axis=-1)
    value = jnp.where(closed, known, mean) * sign
    banned = (tree.parent == ROOT) & ~exact[jnp.arange(exact.shape[0])[:, None], jnp.maximum(tree.action, 0)]
    return tree._replace(
        visits=tree.visits.at[:, ROOT].set(jnp.where(changed, count, tree.visits[:, ROOT])),
        value=tree.value.at[:, ROOT].set(jnp.where(changed, value, tree.value[:, ROOT])),
        proven=tree.proven.at[:, ROOT].set(jnp.where(changed, closed, tree.proven[:, ROOT])),
        parent=jnp.where(banned, NOWHERE, tree.parent),
        logits=tree.logits.at[:, ROOT].set(logits),
        child=tree.child.at[:, ROOT].set(jnp.where(exact, tree.child[:, ROOT], NOWHERE)),
    )


def reroot(tree: Tree, node: Int32[Array, " B"]) -> Tree:
    """The subtrees below `node`, packed to the front in their old order; counts and values stay as they are."""
    games, nodes = tree.visits.shape
    game = jnp.arange(games)[:, None]
    rank = jnp.arange(nodes, dtype=jnp.int32)[None]
    parent = jnp.where(tree.parent >= 0, tree.parent.astype(jnp.int32), ROOT)

    def spread(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        inside, _ = carry
        wider = inside | (inside[game, parent] & (tree.parent >= 0))
        return wider, (wider != inside).any()

    inside = rank == node[:, None]
    inside, _ = jax.lax.while_loop(lambda c: c[1], spread, (inside, jnp.bool_(True)))
    place = jnp.cumsum(inside, axis=1, dtype=jnp.int32) - 1  # where an old node goes
    source = jnp.argsort(~inside, axis=1, stable=True)  # where a new node comes from
    used = inside.sum(axis=1, dtype=jnp.int32)
    live = rank < used[:, None]

    def move(column: Array, fill: int) -> Array:
        blank = jnp.full((), fill, column.dtype)  # keys of randomness in a state know no astype
        return jnp.where(over_axes(live, column.ndim), column[game, source], blank)

    def relabel(index: Array) -> Array:
        old = jnp.maximum(index, 0).astype(jnp.int32)
        return jnp.where(index >= 0, place[over_axes(game, index.ndim), old], NOWHERE).astype(index.dtype)

    packed = tree.each(move)
    return packed._replace(
        used=used,
        parent=relabel(packed.parent).at[:, ROOT].set(NOWHERE),
        action=packed.action.at[:, ROOT].set(NOWHERE),
        child=relabel(packed.child),
    )


def grow(tree: Tree, nodes: int) -> Tree:
    """The same trees with room for `nodes`."""
    games, before = tree.visits.shape
    if nodes <= before:
        return tree
    index = trees.index_type(nodes)

    def extend(column: Array, fill: int) -> Array:
        room = jnp.full((games, nodes - before, *column.shape[2:]), fill, column.dtype)
        return jnp.concatenate([column, room], axis=1)

    return tree._replace(parent=tree.parent.astype(index), child=tree.child.astype(index)).each(extend)
