"""What lies below a node, as its mover sees it: every edge, or only the nodes that are there and the next one to come.

Both readings are dense where trees are small (all nodes of a game are looked at, and no number is looked up by an
index) and look up by index where they are large, so that a node's reading never costs more than it has edges.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32, Int, Int32

from jaxgo.core.choice import below, first_max, number_of
from jaxgo.search.model import CANDIDATE, ILLEGAL, mover_sign
from jaxgo.search.tree import ROOT, Spot, Tree, games_of

CROWD = 4  # times as many nodes as actions: from there on numbers are looked up
LAST = -1e30  # the score of a move to try only when nothing else is left


class Edges(NamedTuple):
    """All edges below chosen nodes."""

    visits: Int32[Array, "L A"]
    q: Float32[Array, "L A"]  # 0 where not visited
    proven: Bool[Array, "L A"]
    lost: Bool[Array, "L A"]  # proven, and as bad as can be
    logits: Float32[Array, "L A"]
    node_visits: Int32[Array, " L"]
    value: Float32[Array, " L"]
    raw: Float32[Array, " L"]
    node: Int32[Array, " L"]
    game: Int32[Array, " L"]

    @property
    def legal(self) -> Bool[Array, "L A"]:
        return self.logits > ILLEGAL

    @property
    def candidate(self) -> Bool[Array, "L A"]:
        return self.logits >= CANDIDATE

    def walked(self, solver: bool) -> Bool[Array, "L A"]:
        """The edges that a search which narrows walks: candidates, or where all of these are lost the others, too."""
        hope = self.candidate & ~self.lost if solver else self.candidate
        return self.legal & (self.candidate | ~hope.any(axis=-1, keepdims=True))

    def best(self, score: Float32[Array, "L A"], solver: bool, narrows: bool = False) -> Int32[Array, " L"]:
        """The legal edge of the highest score. A search that narrows walks other edges than candidates only when all
        of these are lost; one that proves walks a lost edge only when all are."""
        if narrows:
            score = jnp.where(self.walked(solver), score, LAST / 2)
        if solver:
            score = jnp.where(self.lost, LAST, score)
        return first_max(score, self.legal)


class Children(NamedTuple):
    """The nodes below chosen nodes, in K places of which some hold one, and the likeliest move without a node.

    Needs a tree with a frontier. Much less to read than all edges: what has no node differs in its prior alone.
    """

    there: Bool[Array, "L K"]
    action: Int[Array, "L K"]
    visits: Int32[Array, "L K"]
    q: Float32[Array, "L K"]
    lost: Bool[Array, "L K"]
    prior: Float32[Array, "L K"]
    untried: Int32[Array, " L"]  # NONE of `frontier` if every legal move has a node
    untried_prior: Float32[Array, " L"]
    node_visits: Int32[Array, " L"]
    value: Float32[Array, " L"]

    def best(
        self, score: Float32[Array, "L K"], untried_score: Float32[Array, " L"], solver: bool, narrows: bool = False
    ) -> Int32[Array, " L"]:
        """The move of the highest score, the first of equals; of others than candidates, and of lost ones, as above.

        Where all candidates are lost each other move is tried once, and then they go by what they are worth.
        """
        if narrows:  # what is no candidate has no prior
            some, untried = self.prior > 0.0, self.untried_prior > 0.0
            hope = untried | (self.there & some & ~(self.lost & solver)).any(axis=-1)
            score = jnp.where(some | ~hope[:, None], score, LAST / 2)
            untried_score = jnp.where(untried, untried_score, jnp.where(hope, LAST / 2, jnp.finfo(jnp.float32).max))
        if solver:
            score = jnp.where(self.lost, LAST, score)
        score = jnp.where(self.there, score, -jnp.inf)
        untried_score = jnp.where(self.untried >= 0, untried_score, -jnp.inf)
        top = jnp.maximum(score.max(axis=-1), untried_score)
        known = below(score, top[:, None], self.action).min(axis=-1)
        best = number_of(jnp.minimum(known, below(untried_score, top, self.untried)))
        return jnp.where(jnp.isneginf(top), 0, best)


def read_edges(spot: Spot) -> Edges:
    """Reads all edges below the nodes where lanes stand."""
    tree, game, node = spot.tree, spot.game, spot.node
    sign = mover_sign(spot.here(tree.seat))
    nodes, actions = tree.logits.shape[1:]
    read = _children_tell if nodes < CROWD * actions and not spot.everywhere else _edges_ask
    visits, q, proven = read(spot, sign[:, None])
    pays = tree.reward is not None  # then a loss has no number of its own
    return Edges(
        visits=visits,
        q=q if pays else jnp.maximum(q, -1.0),
        proven=proven,
        # what is under way may count as less than a loss, and is none
        lost=jnp.zeros(q.shape, bool) if pays else proven & (q < -1.0),
        logits=spot.here(tree.logits),
        node_visits=spot.here(tree.visits),
        value=spot.here(tree.value) * sign,
        raw=spot.here(tree.raw) * sign,
        node=node,
        game=game,
    )


Read = tuple[Int32[Array, "L A"], Float32[Array, "L A"], Bool[Array, "L A"]]


def _seen_from_above(tree: Tree, read: Callable[[Array], Array], sign: Float32[Array, "L 1"]) -> Float32[Array, "L K"]:
    """What nodes are worth to who moved there."""
    if tree.reward is None or tree.discount is None:
        return read(tree.value) * sign
    return read(tree.reward) + read(tree.discount) * read(tree.value)


def _with_losses(tree: Tree, q: Float32[Array, "*x"], proven: Bool[Array, "*x"]) -> Float32[Array, "*x"]:
    """Values that say by a number below -1 that the loss is proven: one array less to move."""
    return jnp.where(proven & (q <= -1.0), -2.0, q) if tree.reward is None else q


def _children_tell(spot: Spot, sign: Float32[Array, "L 1"]) -> Read:
    """Every child of the node writes its numbers to its edge: dense over nodes, and no look-up for each edge."""
    tree, game, node = spot.tree, spot.game, spot.node
    edge = jnp.where(tree.parent[game] == node[:, None], tree.action[game], tree.logits.shape[2])
    lane = jnp.arange(game.shape[0])[:, None]

    def tell(column: Array) -> Array:
        blank = jnp.zeros((game.shape[0], tree.logits.shape[2]), column.dtype)
        return blank.at[lane, edge].set(column, mode="drop")

    proven = tree.proven[game]
    q = _seen_from_above(tree, lambda column: column[game], sign)
    return tell(tree.visits[game]), tell(_with_losses(tree, q, proven)), tell(proven)


def _edges_ask(spot: Spot, sign: Float32[Array, "L 1"]) -> Read:
    """Every edge looks its child up: costs the same however many nodes there are."""
    tree, game = spot.tree, spot.game
    child = spot.here(tree.child)
    below = jnp.maximum(child, 0).astype(jnp.int32)
    known = child >= 0

    def ask(column: Array) -> Array:
        return jnp.where(known, column[game[:, None], below], jnp.zeros((), column.dtype))

    proven = ask(tree.proven)
    return ask(tree.visits), _with_losses(tree, _seen_from_above(tree, ask, sign), proven), proven


def root_edges(tree: Tree) -> Edges:
    """The edges below the roots, one lane a game."""
    games = tree.visits.shape[0]
    return read_edges(Spot(tree, games_of(tree, games), jnp.full(games, ROOT, jnp.int32)))


def proven_below_root(tree: Tree) -> Bool[Array, " B"]:
    """Whether a move at the root is proven."""
    nodes, actions = tree.logits.shape[1:]
    if nodes < CROWD * actions:
        return (tree.proven & (tree.parent == ROOT)).any(axis=-1)
    child = tree.child[:, ROOT].astype(jnp.int32)
    game = games_of(tree, child.shape[0])[:, None]
    return ((child >= 0) & tree.proven[game, jnp.maximum(child, 0)]).any(axis=-1)


def read_children(spot: Spot) -> Children:
    """Reads the nodes below the nodes where lanes stand, and what is untried there."""
    tree, game, node = spot.tree, spot.game, spot.node
    frontier = tree.frontier
    assert frontier is not None, "only a tree that was planted with a frontier tells what is untried"
    sign = mover_sign(spot.here(tree.seat))
    nodes, actions = tree.logits.shape[1:]
    if nodes < CROWD * actions:
        there, action = spot.around(tree.parent) == node[:, None], spot.around(tree.action)

        def read(column: Array) -> Array:
            return spot.around(column)
    else:
        child = spot.here(tree.child)
        there, action = child >= 0, jnp.broadcast_to(jnp.arange(actions, dtype=jnp.int32), child.shape)
        below = jnp.maximum(child, 0).astype(jnp.int32)

        def read(column: Array) -> Array:
            return column[game[:, None], below]

    q = _seen_from_above(tree, read, sign[:, None])
    return Children(
        there=there,
        action=action,
        visits=read(tree.visits),
        q=q,
        lost=jnp.zeros(q.shape, bool) if tree.reward is not None else read(tree.proven) & (q <= -1.0),
        prior=read(frontier.prior),
        untried=spot.here(frontier.untried).astype(jnp.int32),
        untried_prior=spot.here(frontier.untried_prior),
        node_visits=spot.here(tree.visits),
        value=spot.here(tree.value) * sign,
    )
