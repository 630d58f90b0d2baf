"""What goes up a tree after a simulation: its result and a visit for every node on the path, and proofs."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32, Int32

from jaxgo.search.model import ILLEGAL, mover_sign
from jaxgo.search.tree import BLOCK, ROOT, Descent, Tree, games_of, read_now, reader_at

ALMOST = 0.999  # a loss, but not one that can be proven


def backup(
    tree: Tree,
    descent: Descent,
    result: Float32[Array, " L"],
    virtual_loss: float = 0.0,
    on_cpu: bool = True,
    apart: bool = False,
) -> Tree:
    """Adds one visit with `result`, a value of the leaf as the tree keeps it, to every node on the paths.

    Means stay means: `(mean * visits + result) / (visits + 1)`, in the very arithmetic of mctx. What is proven stays
    exact: many times the same result has that mean, but not after rounding. Lanes that share a node add up; where they
    are `apart` they share nothing but the root. With a `virtual_loss` the walks are still under way and count as even,
    less that for who moved there. Paths are added in parts `on_cpu`, and elsewhere in one piece, to the end that the
    longest might have.
    """
    if not on_cpu and tree.reward is None:
        return _add_whole(tree, descent.path, result, virtual_loss)
    games, beyond = tree.visits.shape
    game = games_of(tree, result.shape[0])[:, None]

    def block(carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        level, value, visits, result = carry
        part = jax.lax.dynamic_slice_in_dim(descent.path, level, BLOCK, axis=1)
        gain, result = _gains(tree, game, part, result, virtual_loss)
        # one read and one write of each column: XLA copies a column that is read again after a write
        inside = jnp.maximum(part, 0)
        known, before = value[game, inside], visits[game, inside]
        total, count = _shared(games, part, known * before, gain, apart)
        after = before + count
        mean = total / after
        if not virtual_loss:
            mean = jnp.where(tree.proven[game, inside], known, mean)
        elif tree.reward is None:
            mean = _unlost(tree.proven[game, inside], known, mean)
        at = jnp.where(part >= 0, part, beyond)
        value, visits = value.at[game, at].set(mean, mode="drop"), visits.at[game, at].set(after, mode="drop")
        return level - BLOCK, value, visits, result

    # from the deepest levels to the root, because what a move pays adds up on the way
    deepest = descent.length.max() // BLOCK * BLOCK
    _, value, visits, _ = jax.lax.while_loop(lambda c: c[0] >= 0, block, (deepest, tree.value, tree.visits, result))
    return tree._replace(value=value, visits=visits)


def _shared(
    games: int, part: Int32[Array, "L K"], sums: Float32[Array, "L K"], gain: Float32[Array, "L K"], apart: bool
) -> tuple[Float32[Array, "L K"], Int32[Array, "L K"] | int]:
    """The sums at the nodes of a part of the paths with the gains of all lanes of a game there, and how many these are.

    A node has one depth, so lanes only meet at the same place of their paths. They are added one after the other, as
    in a scatter: rounding is the same on all platforms.
    """
    if part.shape[0] == games:
        return sums + gain, 1
    part, sums, gain = (x.reshape(games, -1, x.shape[1]) for x in (part, sums, gain))
    meeting = 1 if apart else part.shape[2]  # places at which lanes may meet
    first = part[:, :, :meeting]

    def add(carry: tuple[Array, Array], lane: tuple[Array, Array]) -> tuple[tuple[Array, Array], None]:
        total, count = carry
        node, gain = lane
        same = first == node[:, None]
        return (total + jnp.where(same, gain[:, None], 0.0), count + same.astype(jnp.int32)), None

    lanes = jnp.moveaxis(first, 1, 0), jnp.moveaxis(gain[:, :, :meeting], 1, 0)
    none = jnp.zeros_like(first)
    (total, count), _ = jax.lax.scan(add, (sums[:, :, :meeting], none), lanes, unroll=BLOCK)
    total = jnp.concatenate([total, (sums + gain)[:, :, meeting:]], axis=2)
    count = jnp.concatenate([count, jnp.ones_like(part)[:, :, meeting:]], axis=2)
    return total.reshape(-1, part.shape[2]), count.reshape(-1, part.shape[2])


def _add_whole(tree: Tree, path: Int32[Array, "L D"], result: Float32[Array, " L"], virtual_loss: float) -> Tree:
    """The same arithmetic in one scatter, of two columns side by side: no column is longer than float32 counts."""
    game = games_of(tree, result.shape[0])[:, None]
    gain, _ = _gains(tree, game, path, result, virtual_loss)
    sums = jnp.stack([tree.value * tree.visits, tree.visits.astype(jnp.float32)], axis=-1)
    at = jnp.where(path >= 0, path, tree.visits.shape[1])
    sums = sums.at[game, at].add(jnp.stack([gain, jnp.ones_like(gain)], axis=-1), mode="drop")
    visits = sums[..., 1].astype(jnp.int32)
    moved = visits > tree.visits
    if not virtual_loss:
        moved &= ~tree.proven
    value = jnp.where(moved, sums[..., 0] / sums[..., 1], tree.value)
    if virtual_loss:
        value = _unlost(tree.proven, tree.value, value)
    return tree._replace(value=value, visits=visits)


def _unlost(proven: Bool[Array, "*x"], known: Float32[Array, "*x"], mean: Float32[Array, "*x"]) -> Float32[Array, "*x"]:
    """Means of walks under way that nobody takes for a proven loss: the node of a leaf that is not judged yet counts as
    proven, and walks under way alone would make it as bad as can be."""
    return jnp.where(proven & (jnp.abs(known) < 1.0), jnp.clip(mean, -ALMOST, ALMOST), mean)


def _gains(
    tree: Tree, game: Int32[Array, "L 1"], part: Int32[Array, "L K"], result: Float32[Array, " L"], virtual_loss: float
) -> tuple[Float32[Array, "L K"], Float32[Array, " L"]]:
    """What the nodes of a part of the paths get, given what comes from below it; and what goes on above it."""
    inside = jnp.maximum(part, 0)
    if tree.reward is None or tree.discount is None:
        gain = jnp.broadcast_to(result[:, None], part.shape)
        if virtual_loss:
            above = jnp.maximum(tree.parent[game, inside], ROOT).astype(jnp.int32)
            gain = gain - virtual_loss * mover_sign(tree.seat[game, above])
        return gain, result
    reward, discount = tree.reward[game, inside], tree.discount[game, inside]
    if virtual_loss:  # nothing is even where any move may pay: the mean stays what it is, less the loss
        return tree.value[game, inside] - virtual_loss * jnp.sign(discount), result
    gains = []
    for level in reversed(range(part.shape[1])):
        gains.append(result)
        result = jnp.where(part[:, level] >= 0, reward[:, level] + discount[:, level] * result, result)
    return jnp.stack(gains[::-1], axis=1), result


def prove(
    tree: Tree, leaf: Int32[Array, " L"], fresh: Bool[Array, " L"], best: float | None = None, on_cpu: bool = True
) -> Tree:
    """Lets proven results of fresh leaves climb: a win for the mover, or all moves known, closes a node.

    Where moves pay on the way, a win is what reaches `best`; if that is not known, only all moves together close a
    node.
    """
    beyond = tree.visits.shape[1]
    game = games_of(tree, leaf.shape[0])
    most = 1.0 if tree.reward is None else jnp.inf if best is None else best

    def climb(carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        value, proven, node, moving = carry
        sign = mover_sign(tree.seat[game, node])
        child = tree.child[game, node]
        below = jnp.maximum(child, 0).astype(jnp.int32)
        read = reader_at(game[:, None], jnp.concatenate([below, node[:, None]], axis=1))
        worth, closed = read_now(read, (value, proven), moving.any(), on_cpu)
        worth, closed, known = worth[:, :-1], closed[:, :-1] & (child >= 0), closed[:, -1]
        if tree.reward is None or tree.discount is None:
            worth = worth * sign[:, None]
        else:
            worth = tree.reward[game[:, None], below] + tree.discount[game[:, None], below] * worth
        q = jnp.where(closed, worth, -jnp.inf).max(axis=-1)
        complete = (closed | (tree.logits[game, node] <= ILLEGAL)).all(axis=-1)
        settled = moving & ~known & ((q >= most) | complete)
        at = jnp.where(settled, node, beyond)
        value = value.at[game, at].set(q * sign, mode="drop")
        proven = proven.at[game, at].set(True, mode="drop")
        return value, proven, tree.parent[game, node].astype(jnp.int32), settled & (node != ROOT)

    parent = tree.parent[game, leaf].astype(jnp.int32)
    carry = (tree.value, tree.proven, parent, fresh & tree.proven[game, leaf])
    value, proven, _, _ = jax.lax.while_loop(lambda c: c[3].any(), climb, carry)
    return tree._replace(value=value, proven=proven)
