"""What goes into a search by mctx's names, and what comes out: outputs, trees and the transforms of q-values.

A tree of any of jaxgo's searches can be shown by these names, too, for tools that read an `mctx.Tree`.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32, Int32, Num

from jaxgo.core.errors import UsageError
from jaxgo.search import tree as trees
from jaxgo.search.edges import Children, read_edges
from jaxgo.search.model import ILLEGAL, Model, mover_sign
from jaxgo.search.tree import ROOT, Spot

Params = Any  # of the model: any arrays
RecurrentState = Any  # an embedding: any arrays, each with a leading axis B


class RootFnOutput(NamedTuple):
    """What is known of the roots."""

    prior_logits: Float[Array, "B A"]
    value: Float[Array, " B"]
    embedding: RecurrentState

    def replace(self, **fields: Any) -> "RootFnOutput":
        return self._replace(**fields)


class RecurrentFnOutput(NamedTuple):
    """What a model says of a move and of where it leads."""

    reward: Float[Array, " B"]
    discount: Float[Array, " B"]  # of the value behind the move
    prior_logits: Float[Array, "B A"]
    value: Float[Array, " B"]

    def replace(self, **fields: Any) -> "RecurrentFnOutput":
        return self._replace(**fields)


RecurrentFn = Callable[[Params, Array, Array, RecurrentState], tuple[Any, RecurrentState]]
LoopFn = Callable[..., Any]  # of the form of jax.lax.fori_loop
QTransform = Callable[[Any, Any], Array]  # a tree without batch axis and a node -> one number an action


class GumbelMuZeroExtraData(NamedTuple):
    root_gumbel: Float32[Array, "B A"]


class SearchSummary(NamedTuple):
    """The root in numbers."""

    visit_counts: Float32[Array, "B A"]
    visit_probs: Float32[Array, "B A"]
    value: Float32[Array, " B"]
    qvalues: Float32[Array, "B A"]


class _Indices:
    """What mctx calls special places of a tree."""

    __slots__ = ()
    ROOT_INDEX: ClassVar[int] = ROOT
    NO_PARENT: ClassVar[int] = trees.NOWHERE
    UNVISITED: ClassVar[int] = trees.NOWHERE


class _TreeArrays(NamedTuple):
    nodes: trees.Tree
    root_invalid_actions: Num[Array, "B A"]
    extra_data: Any


class Tree(_Indices, _TreeArrays):
    """jaxgo's tree by mctx's names. What mctx keeps for each edge is read off the nodes when it is asked for."""

    __slots__ = ()

    @property
    def node_visits(self) -> Array:
        return self.nodes.visits

    @property
    def raw_values(self) -> Array:
        return self.nodes.raw

    @property
    def node_values(self) -> Array:
        return self.nodes.value

    @property
    def parents(self) -> Array:
        return self.nodes.parent.astype(jnp.int32)

    @property
    def action_from_parent(self) -> Array:
        return self.nodes.action.astype(jnp.int32)

    @property
    def children_index(self) -> Array:
        return self.nodes.child.astype(jnp.int32)

    @property
    def children_prior_logits(self) -> Array:
        return self.nodes.logits

    @property
    def children_visits(self) -> Array:
        return at_edges(self.nodes.visits, self.nodes.child)

    @property
    def children_rewards(self) -> Array:
        return at_edges(self.nodes.reward, self.nodes.child)

    @property
    def children_discounts(self) -> Array:
        return at_edges(self.nodes.discount, self.nodes.child)

    @property
    def children_values(self) -> Array:
        return at_edges(self.nodes.value, self.nodes.child)

    @property
    def embeddings(self) -> Any:
        return self.nodes.states

    @property
    def num_actions(self) -> int:
        return self.nodes.child.shape[-1]

    @property
    def num_simulations(self) -> int:
        return self.nodes.visits.shape[-1] - 1

    def qvalues(self, indices: Any) -> Array:
        """The q-values below one node of a tree without batch axis, or below a node of each tree."""
        if jnp.ndim(indices):
            return jax.vmap(lambda tree, index: tree.qvalues(index))(self, indices)
        child = self.nodes.child[indices]
        reward, discount = at_edges(self.nodes.reward, child), at_edges(self.nodes.discount, child)
        return reward + discount * at_edges(self.nodes.value, child)

    def summary(self) -> SearchSummary:
        """What was found at the roots."""
        value = self.nodes.value[:, ROOT]
        visits = at_edges(self.nodes.visits, self.nodes.child[:, ROOT]).astype(value.dtype)
        total = visits.sum(axis=-1, keepdims=True)
        share = jnp.where(total > 0, visits / jnp.maximum(total, 1), 1 / self.num_actions)
        return SearchSummary(visits, share, value, self.qvalues(jnp.full(value.shape, ROOT)))


class PolicyOutput(NamedTuple):
    """What a policy found; the weights are what a network should learn."""

    action: Int32[Array, " B"]
    action_weights: Float32[Array, "B A"]
    search_tree: Tree

    def replace(self, **fields: Any) -> "PolicyOutput":
        return self._replace(**fields)


def at_edges(column: Any, child: Any) -> Array:
    """The numbers of nodes at the edges to them, 0 where there is no node."""
    flat = jnp.maximum(child, 0).astype(jnp.int32).reshape(*column.shape[:-1], -1)
    numbers = jnp.take_along_axis(column, flat, axis=-1).reshape(child.shape)
    return jnp.where(child >= 0, numbers, jnp.zeros((), column.dtype))


def to_mctx(model: Model, tree: trees.Tree) -> Tree:
    """A tree of one of jaxgo's searches by mctx's names: values for the side to move, rewards on the edges.

    A node that ends the game has its result as the reward of the edge to it, and is worth 0 itself. Nodes that the
    solver has closed carry their exact values, where mctx would have means.
    """
    invalid = tree.logits[:, ROOT] <= ILLEGAL
    if tree.reward is not None:
        return Tree(tree, invalid, None)
    rank = jnp.arange(tree.visits.shape[1])[None]
    over = jax.vmap(jax.vmap(model.game.over))(tree.states) & (rank < tree.used[:, None])
    sign = mover_sign(tree.seat)
    game, parent = jnp.arange(tree.visits.shape[0])[:, None], jnp.maximum(tree.parent, ROOT).astype(jnp.int32)
    below = (tree.parent >= 0) & (rank < tree.used[:, None])
    turn = jnp.where(tree.seat == tree.seat[game, parent], 1.0, -1.0)
    paid = tree._replace(
        value=jnp.where(over, 0.0, tree.value * sign),
        raw=jnp.where(over, 0.0, tree.raw * sign),
        seat=jnp.zeros_like(tree.seat),
        reward=jnp.where(over & below, tree.value * sign[game, parent], 0.0),
        discount=jnp.where(below & ~over, turn, 0.0),
    )
    return Tree(paid, invalid, None)


# -- q-values that can be added to priors ------------------------------------------------------------------------


def qtransform_by_min_max(tree: Any, node_index: Any, *, min_value: Any, max_value: Any) -> Array:
    """Q-values between known bounds, scaled to [0, 1]; 0 without visits."""
    q = jnp.where(tree.children_visits[node_index] > 0, tree.qvalues(node_index), min_value)
    return (q - min_value) / (max_value - min_value)


def qtransform_by_parent_and_siblings(tree: Any, node_index: Any, *, epsilon: Any = 1e-8) -> Array:
    """Q-values scaled to [0, 1] among the visited siblings and the node's own value; 0 without visits."""
    seen, q, value = tree.children_visits[node_index] > 0, tree.qvalues(node_index), tree.node_values[node_index]
    known = jnp.where(seen, q, value)
    low, high = jnp.minimum(value, known.min(axis=-1)), jnp.maximum(value, known.max(axis=-1))
    return (jnp.where(seen, q, low) - low) / jnp.maximum(high - low, epsilon)


def qtransform_completed_by_mix_value(
    tree: Any,
    node_index: Any,
    *,
    value_scale: Any = 0.1,
    maxvisit_init: Any = 50.0,
    rescale_values: bool = True,
    use_mixed_value: bool = True,
    epsilon: Any = 1e-8,
) -> Array:
    """Q-values scaled to logits; actions without visits get the mixed value of appendix D of the Gumbel paper."""
    visits, q, raw = tree.children_visits[node_index], tree.qvalues(node_index), tree.raw_values[node_index]
    seen = visits > 0
    missing = raw
    if use_mixed_value:
        prior = jax.nn.softmax(tree.children_prior_logits[node_index])
        prior = jnp.where(seen, jnp.maximum(jnp.finfo(prior.dtype).tiny, prior), 0.0)
        mass = prior.sum(axis=-1)
        total = visits.sum(axis=-1)
        weighted = jnp.where(seen, prior * q / jnp.where(total > 0, mass, 1.0), 0.0).sum(axis=-1)
        missing = (raw + total * weighted) / (total + 1)
    q = jnp.where(seen, q, missing)
    if rescale_values:
        low = q.min(axis=-1, keepdims=True)
        q = (q - low) / jnp.maximum(q.max(axis=-1, keepdims=True) - low, epsilon)
    return (maxvisit_init + visits.max(axis=-1)) * value_scale * q


# these score an action without visits 0 and read no prior, so PUCT tries such actions in the order of their priors
ZERO_UNVISITED = (qtransform_by_min_max, qtransform_by_parent_and_siblings)


class _NodeArrays(NamedTuple):
    node_visits: Int32[Array, " L"]
    raw_values: Float32[Array, " L"]
    node_values: Float32[Array, " L"]
    children_visits: Int32[Array, "L K"]
    children_prior_logits: Float32[Array, "L K"]
    children_rewards: Float32[Array, "L K"]
    children_discounts: Float32[Array, "L K"]
    children_values: Float32[Array, "L K"]
    children_qvalues: Float32[Array, "L K"]


class Node(_Indices, _NodeArrays):
    """What a q-transform sees: a tree of the one node that it is asked about, with its edges. L lanes."""

    __slots__ = ()

    @property
    def num_actions(self) -> int:
        return self.children_visits.shape[-1]

    def qvalues(self, index: Any) -> Array:
        return self.children_qvalues[index]

    def transformed(self, qtransform: QTransform) -> Array:
        found = jax.vmap(qtransform, in_axes=(0, None))(jax.tree.map(lambda x: x[:, None], self), jnp.int32(0))
        if found.shape != self.children_visits.shape:
            raise UsageError(
                f"qtransform gave values of shape {found.shape[1:]} for a node; {self.children_visits.shape[1:]}, one "
                "for each action, is needed"
            )
        return found


def node_at(spot: Spot) -> Node:
    """The nodes where lanes stand, with all their edges. What the q-transform leaves unread, XLA leaves out."""
    tree, edges = spot.tree, read_edges(spot)
    child = tree.child[spot.game, spot.node]

    def column(nodes: Any) -> Array:
        return at_edges(nodes[spot.game], child)

    return Node(
        node_visits=edges.node_visits,
        raw_values=edges.raw,
        node_values=edges.value,
        children_visits=edges.visits,
        children_prior_logits=edges.logits,
        children_rewards=column(tree.reward),
        children_discounts=column(tree.discount),
        children_values=column(tree.value),
        children_qvalues=edges.q,
    )


def node_of_children(below: Children) -> Node:
    """The same, with no more edges than have nodes."""
    nothing = jnp.zeros_like(below.q)
    return Node(
        node_visits=below.node_visits,
        raw_values=below.value,
        node_values=below.value,
        children_visits=jnp.where(below.there, below.visits, 0),
        children_prior_logits=nothing,
        children_rewards=nothing,
        children_discounts=nothing,
        children_values=nothing,
        children_qvalues=below.q,
    )
