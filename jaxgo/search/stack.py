"""The stack of alpha-beta: the nodes from the root to the one that is searched, for each game of a batch."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32, Int32, UInt32

from jaxgo.core.lanes import column_of

BEYOND = 2.0  # no value is outside (-2, 2)


class Frames(NamedTuple):
    """The nodes from the root to the one that is searched: the stack of every game. K moves are tried of each."""

    states: Any
    moves: Int32[Array, "B D K"]
    score: Float32[Array, "B D K"]  # the order of the moves; -inf: tried, or none
    alpha: Float32[Array, "B D"]
    beta: Float32[Array, "B D"]
    low: Float32[Array, "B D"]  # alpha as it was at first
    best: Float32[Array, "B D"]
    move: Int32[Array, "B D"]  # the best one
    far: Int32[Array, "B D"]  # plies to the end of the game, where the best move is proven to win, or all to lose
    sure: Bool[Array, "B D"]  # the value of the best move is final
    all_sure: Bool[Array, "B D"]  # all legal moves are among the K, and those tried are final
    slot: Int32[Array, "B D"]  # which of the K is searched now
    null: Bool[Array, "B D"]  # ... with a null window
    again: Bool[Array, "B D"]  # ... and must be searched again, with a full one
    untried: Int32[Array, "B D"]
    left: Int32[Array, "B D"]  # plies to the horizon; below 0 only forcing moves are tried
    sign: Float32[Array, "B D"]  # -1 where the mover is another than at the node above
    seat: Int32[Array, "B D"]
    key: UInt32[Array, "B D 2"]
    # of nodes just above the horizon, where moves are judged before they are made (else N is 0): see `lastply`
    ahead: Float32[Array, "B D N"]  # what each of the K moves leads to, for who makes it
    ends: Bool[Array, "B D N"]  # ... and whether it ends the game


class Ahead(NamedTuple):
    """What the moves of a new node lead to, for who makes them; N is K, or 0 where nobody knows."""

    value: Float32[Array, "B N"]
    over: Bool[Array, "B N"]


class Known(NamedTuple):
    """What is known of a node when it is put on the stack, for who moves there."""

    low: Float32[Array, " B"]  # the window
    high: Float32[Array, " B"]
    best: Float32[Array, " B"]  # what it is worth at least
    left: Int32[Array, " B"]  # plies to go
    sign: Float32[Array, " B"]  # -1 where the mover has changed
    seat: Int32[Array, " B"]
    key: UInt32[Array, "B 2"]


def planted(
    states: Any,
    levels: int,
    moves: Int32[Array, "B K"],
    score: Float32[Array, "B K"],
    whole: Bool[Array, " B"],
    seat: Int32[Array, " B"],
    left: int,
    ahead: Ahead,
) -> Frames:
    """Stacks with room for so many nodes, which hold a root."""
    games = moves.shape[0]

    column = functools.partial(column_of, places=levels)

    def flat(value: float | bool | int, dtype: Any) -> Array:
        return jnp.full((games, levels), value, dtype)

    return Frames(
        states=jax.tree.map(column, states),
        moves=column(moves),
        score=column(score),
        alpha=flat(-BEYOND, jnp.float32),
        beta=flat(BEYOND, jnp.float32),
        low=flat(-BEYOND, jnp.float32),
        best=flat(-BEYOND, jnp.float32),
        move=flat(0, jnp.int32),
        far=flat(0, jnp.int32),
        sure=flat(False, bool),
        all_sure=column(whole),
        slot=flat(0, jnp.int32),
        null=flat(False, bool),
        again=flat(False, bool),
        untried=column((score > -jnp.inf).sum(axis=-1, dtype=jnp.int32)),
        left=flat(left, jnp.int32),
        sign=flat(1.0, jnp.float32),
        seat=column(seat),
        key=jnp.zeros((games, levels, 2), jnp.uint32),
        ahead=column(ahead.value),
        ends=column(ahead.over),
    )


def descended(
    f: Frames,
    on: Bool[Array, " B"],
    top: Int32[Array, " B"],
    slot: Int32[Array, " B"],
    null: Bool[Array, " B"],
    again: Bool[Array, " B"],
) -> Frames:
    """The stacks once the top has made the move in `slot`, with a null window or not, for the first time or again."""
    rows, levels = jnp.arange(on.shape[0]), f.best.shape[1]
    on_top = (jnp.arange(levels)[None] == top[:, None]) & on[:, None]
    return f._replace(
        score=f.score.at[rows, jnp.where(on, top, levels), slot].set(-jnp.inf, mode="drop"),
        slot=jnp.where(on_top, slot[:, None], f.slot),
        null=jnp.where(on_top, null[:, None], f.null),
        again=f.again & ~on_top,
        untried=f.untried - (on_top & ~again[:, None]),
    )


def pushed(
    f: Frames,
    push: Bool[Array, " B"],
    top: Int32[Array, " B"],
    states: Any,
    known: Known,
    moves: Int32[Array, "B K"],
    score: Float32[Array, "B K"],
    whole: Bool[Array, " B"],
    ahead: Ahead,
) -> Frames:
    """The stacks with a new node above the old top, in the games that `push` one."""
    levels, rows = f.best.shape[1], jnp.arange(push.shape[0])
    below = (jnp.arange(levels)[None] == (top + 1)[:, None]) & push[:, None]
    target = jnp.where(push, top + 1, levels)

    def put(column: Array, new: Array) -> Array:
        return jnp.where(below, new[:, None], column)

    def write(column: Array, new: Array) -> Array:
        return column.at[rows, target].set(new.astype(column.dtype), mode="drop")

    return f._replace(
        states=jax.tree.map(write, f.states, states),
        moves=write(f.moves, moves),
        score=write(f.score, score),
        alpha=put(f.alpha, jnp.maximum(known.low, known.best)),
        beta=put(f.beta, known.high),
        low=put(f.low, known.low),
        best=put(f.best, known.best),
        move=put(f.move, moves[:, 0]),
        far=put(f.far, jnp.zeros_like(known.left)),
        sure=put(f.sure, jnp.zeros_like(push)),
        all_sure=put(f.all_sure, whole),
        again=put(f.again, jnp.zeros_like(push)),
        untried=put(f.untried, (score > -jnp.inf).sum(axis=-1, dtype=jnp.int32)),
        left=put(f.left, known.left),
        sign=put(f.sign, known.sign),
        seat=put(f.seat, known.seat),
        key=write(f.key, known.key),
        ahead=write(f.ahead, ahead.value),
        ends=write(f.ends, ahead.over),
    )


def finished(f: Frames, level: Int32[Array, " B"]) -> Bool[Array, " B"]:
    rows = jnp.arange(level.shape[0])
    spent = (f.untried[rows, level] == 0) | (f.best[rows, level] >= f.beta[rows, level])
    return spent & ~f.again[rows, level]
