"""The frontier of a tree: at each node the likeliest move that has no node yet.

Moves without a node differ in their prior alone. A search that tries them in that order needs, at each node on its way,
the nodes below and this one move; it never reads all edges, of which Go 19x19 has 362.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32, Int, Int32

from jaxgo.core.choice import first_max
from jaxgo.search.model import ILLEGAL

NONE = -1


class Frontier(NamedTuple):
    """What a walk by priors asks at each node."""

    prior: Float32[Array, "B N"]  # of the move that led here, among all moves of the parent
    untried: Int[Array, "B N"]  # the likeliest legal move without a node, or NONE
    untried_prior: Float32[Array, "B N"]


def blank(games: int, nodes: int, move: Any) -> Frontier:
    """Of trees without nodes; `move` is the type of an action."""
    nothing = jnp.zeros((games, nodes), jnp.float32)
    return Frontier(nothing, jnp.full((games, nodes), NONE, move), nothing)


def survey(frontier: Frontier, node: int, logits: Float32[Array, "B A"], child: Int[Array, "B A"]) -> Frontier:
    """With the edges of a node, the same in every game, read anew."""
    game = jnp.arange(child.shape[0])
    prior, untried, untried_prior = _likeliest(logits, child)
    below = jnp.where(child >= 0, child, frontier.prior.shape[1]).astype(jnp.int32)
    return Frontier(
        prior=frontier.prior.at[game[:, None], below].set(prior, mode="drop"),
        untried=frontier.untried.at[:, node].set(untried.astype(frontier.untried.dtype)),
        untried_prior=frontier.untried_prior.at[:, node].set(untried_prior),
    )


def begin(
    frontier: Frontier, game: Int32[Array, " L"], node: Int32[Array, " L"], logits: Float32[Array, "L A"]
) -> Frontier:
    """With new nodes that have no children."""
    _, untried, untried_prior = _likeliest(logits, jnp.full(logits.shape, NONE))
    return frontier._replace(
        untried=frontier.untried.at[game, node].set(untried.astype(frontier.untried.dtype), mode="drop"),
        untried_prior=frontier.untried_prior.at[game, node].set(untried_prior, mode="drop"),
    )


def advance(
    frontier: Frontier,
    game: Int32[Array, " L"],
    parent: Int32[Array, " L"],
    node: Int32[Array, " L"],
    action: Int32[Array, " L"],
    logits: Float32[Array, "L A"],
    child: Int[Array, "L A"],
) -> Frontier:
    """After `action` at each `parent`, whose edges are given, has got its `node`."""
    prior, untried, untried_prior = _likeliest(logits, child)
    taken = prior[jnp.arange(game.shape[0]), action]
    return Frontier(
        prior=frontier.prior.at[game, node].set(taken, mode="drop"),
        untried=frontier.untried.at[game, parent].set(untried.astype(frontier.untried.dtype), mode="drop"),
        untried_prior=frontier.untried_prior.at[game, parent].set(untried_prior, mode="drop"),
    )


def _likeliest(
    logits: Float32[Array, "L A"], child: Int[Array, "L A"]
) -> tuple[Float32[Array, "L A"], Int32[Array, " L"], Float32[Array, " L"]]:
    """All priors; the legal move of the highest one that has no node, the first of equals; and its prior."""
    prior = jax.nn.softmax(logits, axis=-1)
    unknown = jnp.where((child < 0) & (logits > ILLEGAL), prior, -jnp.inf)
    best = unknown.max(axis=-1)
    return prior, jnp.where(jnp.isneginf(best), NONE, first_max(unknown)), best
