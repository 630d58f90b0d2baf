"""The last ply of alpha-beta: the moves of a node just above the horizon are all judged at once when it is put on the
stack, and here they are tried in one go, as if one after the other.

What each try would find depends on the best so far, which is the largest value of those tried before: so windows, cuts,
second tries with a full window and the nodes that all this counts are known without a loop.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int32

from jaxgo.search.stack import BEYOND, Frames


class Tried(NamedTuple):
    """What became of the moves of the nodes on top of the stack."""

    nodes: Int32[Array, "B K"]  # visits of each move: two where it was searched again
    known: Bool[Array, "B K"]  # which have their value now
    frames: Frames


def pending(f: Frames, level: Int32[Array, " B"]) -> Bool[Array, " B"]:
    """Whether the node on top of the stack is just above the horizon and has moves to try."""
    rows = jnp.arange(level.shape[0])
    more = (f.untried[rows, level] > 0) & (f.best[rows, level] < f.beta[rows, level])
    return (f.left[rows, level] == 1) & (more | f.again[rows, level])


def tried(f: Frames, level: Int32[Array, " B"], on: Bool[Array, " B"], room: Int32[Array, " B"], pvs: bool) -> Tried:
    """Tries the moves of the nodes on top of the stack, where `on` holds, until a cut or until all `room` is used."""
    rows = jnp.arange(level.shape[0])
    score, value, ends = (x[rows, level] for x in (f.score, f.ahead, f.ends))
    alpha, beta, best = (x[rows, level] for x in (f.alpha, f.beta, f.best))
    slots = jnp.arange(score.shape[1])
    # a move that was to be searched again when the nodes were spent comes first
    resumed = f.again[rows, level][:, None] & (slots[None] == f.slot[rows, level][:, None])
    score = jnp.where(resumed, jnp.inf, score)
    there = (score > -jnp.inf) & on[:, None]
    equal = (score[:, :, None] == score[:, None, :]) & (slots[None, :, None] > slots[None, None, :])
    before = there[:, None, :] & ((score[:, :, None] < score[:, None, :]) | equal)  # [b, i, j]: j is tried before i

    best_before = jnp.maximum(jnp.where(before, value[:, None, :], -BEYOND).max(axis=-1), best[:, None])
    alpha_before = jnp.maximum(alpha[:, None], best_before)
    comes = there & ((best_before < beta[:, None]) | resumed)
    null = comes & ~resumed & (best_before > -BEYOND) & pvs
    again = null & (value > alpha_before) & (value < beta[:, None])
    nodes = jnp.where(comes, 1 + again, 0)
    spent = nodes + jnp.where(before, nodes[:, None, :], 0).sum(axis=-1)
    known = comes & (spent <= room[:, None])
    half = again & (spent == room[:, None] + 1)  # the nodes end between its two searches

    top = jnp.maximum(best, jnp.where(known, value, -BEYOND).max(axis=-1))
    better = top > best
    which = known & (value == top[:, None]) & (best_before < top[:, None])  # the first of the best
    cut_short = half.any(axis=-1)
    here = (jnp.arange(f.best.shape[1])[None] == level[:, None]) & on[:, None]

    def put(column: Array, new: Array, where: Array) -> Array:
        return jnp.where(here & where[:, None], new[:, None], column)

    def chosen(values: Array) -> Array:
        return jnp.where(which, values, 0).sum(axis=-1, dtype=values.dtype)

    gone = known | half
    left = jnp.where(gone, -jnp.inf, f.score[rows, level])
    frames = f._replace(
        score=f.score.at[rows, jnp.where(on, level, f.best.shape[1])].set(left, mode="drop"),
        best=put(f.best, top, better),
        alpha=put(f.alpha, jnp.maximum(alpha, top), better),
        move=put(f.move, chosen(f.moves[rows, level]), better),
        far=put(f.far, jnp.ones_like(level), better),
        sure=put(f.sure, (which & ends).any(axis=-1), better),
        all_sure=put(f.all_sure, jnp.zeros_like(on), (known & ~ends).any(axis=-1)),
        again=put(f.again, cut_short, on),
        null=put(f.null, cut_short, on),
        slot=put(f.slot, jnp.where(half, slots[None], 0).sum(axis=-1, dtype=jnp.int32), cut_short),
        untried=jnp.where(here, f.untried - (gone & ~resumed).sum(axis=-1, dtype=jnp.int32)[:, None], f.untried),
    )
    return Tried(jnp.where(known, nodes, half), known, frames)
