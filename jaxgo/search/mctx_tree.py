"""A tree as an `mctx.Tree`, for the tools that read one."""

import jax
import jax.numpy as jnp
import mctx
from jaxtyping import Array

from jaxgo.search import tree as trees
from jaxgo.search.model import ILLEGAL, Model
from jaxgo.search.tree import ROOT, Tree


def to_mctx(model: Model, tree: Tree) -> mctx.Tree:
    """The same nodes under the same numbers; values for the side to move, rewards on the edges.

    A node that ends the game has its result as the reward of the edge to it, and is worth 0 itself. Nodes that the
    solver has closed carry their exact values, where mctx would have means.
    """
    games, nodes = tree.visits.shape
    sign = trees.mover_sign(tree.seat)
    rank = jnp.arange(nodes)[None]
    over = jax.vmap(jax.vmap(model.game.over))(tree.states) & (rank < tree.used[:, None])
    game = jnp.arange(games)[:, None, None]
    known = tree.child >= 0
    below = jnp.maximum(tree.child, 0).astype(jnp.int32)

    def at_child(column: Array) -> Array:
        return jnp.where(known, column[game, below], jnp.zeros((), column.dtype))

    ended = at_child(over)
    turn = jnp.where(at_child(tree.seat) == tree.seat[..., None], 1.0, -1.0)
    return mctx.Tree(
        node_visits=tree.visits,
        raw_values=jnp.where(over, 0.0, tree.raw * sign),
        node_values=jnp.where(over, 0.0, tree.value * sign),
        parents=tree.parent.astype(jnp.int32),
        action_from_parent=tree.action.astype(jnp.int32),
        children_index=tree.child.astype(jnp.int32),
        children_prior_logits=tree.logits,
        children_visits=at_child(tree.visits),
        children_rewards=jnp.where(ended, at_child(tree.value) * sign[..., None], 0.0),
        children_discounts=jnp.where(known & ~ended, turn, 0.0),
        children_values=jnp.where(ended, 0.0, at_child(tree.value * sign)),
        embeddings=tree.states,
        root_invalid_actions=tree.logits[:, ROOT] <= ILLEGAL,
        extra_data=None,
    )
