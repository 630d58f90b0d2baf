"""What networks, playouts and quick judgements see of a Go position."""

import jax.numpy as jnp
from jaxtyping import Array, Float32, Int32, UInt32

from jaxgo.games.go.board import GoState, Grid

Set = UInt32[Array, " W"]
PASS_WEIGHT, EYE_WEIGHT = 1e-3, 1e-6  # against 1 for other points
REACH = 4  # steps to the nearest stone that count in `influence`


def liberties(lines: Grid, state: GoState) -> Int32[Array, " points"]:
    """How many liberties the chain of each stone has; 0 on empty points."""
    chain = state.chain.astype(jnp.int32)
    near = chain[jnp.asarray(lines.bit[lines.near[:-1]])]
    empty = ~lines.unpack(state.stones[0] | state.stones[1])
    # a chain gains one liberty for each empty point it touches, however often it touches it
    again = jnp.stack([(near[:, :d] == near[:, d, None]).any(1) for d in range(4)], axis=1)
    gains = (empty[:, None] & ~again).astype(jnp.int32)
    count = jnp.zeros(lines.bits, jnp.int32).at[near].add(gains).at[lines.nowhere].set(0)
    return count[chain[jnp.asarray(lines.bit[:-1])]]


def planes(lines: Grid, state: GoState, komi: float) -> Float32[Array, "H W 17"]:
    """Seventeen planes from the mover's side.

    Own and other stones; own and other stones by 1, 2, 3 liberties; the ko point; the last five moves; then whole
    planes: the last move was a pass, Black is to move, what komi gives the mover in tenths of the board.
    """
    black_moves = state.to_play == 0
    stones = jnp.stack([lines.unpack(state.stones[0]), lines.unpack(state.stones[1])])
    own, other = jnp.where(black_moves, stones, stones[::-1])
    breaths = liberties(lines, state)
    by_liberties = [side & (breaths == n) for side in (own, other) for n in (1, 2, 3)]
    point = jnp.arange(lines.points, dtype=jnp.int16)
    marks = [point == state.ko, *(point[None] == state.recent[:, None])]
    everywhere = jnp.ones(lines.points, bool)
    passed = everywhere & (state.recent[0] == lines.points)
    seen = jnp.stack([own, other, *by_liberties, *marks, passed, everywhere & black_moves], axis=-1)
    edge = jnp.where(black_moves, -1.0, 1.0).astype(jnp.float32) * jnp.float32(10 * komi / lines.points)
    whole = jnp.broadcast_to(edge, (lines.points, 1))
    return jnp.concatenate([seen.astype(jnp.float32), whole], -1).reshape(lines.height, lines.width, 17)


def influence(lines: Grid, black: Set, white: Set) -> Int32[Array, ""]:
    """Points nearer to Black's stones than to White's, less the reverse, as far as `REACH` steps."""
    for _ in range(REACH):
        free = lines.all & ~(black | white)
        grown_black, grown_white = lines.beside(black) & free, lines.beside(white) & free
        black, white = black | (grown_black & ~grown_white), white | (grown_white & ~grown_black)
    return lines.count(black) - lines.count(white)


def eyes(lines: Grid, own: Set, other: Set) -> Set:
    """Empty points that are eyes of `own` at first sight: all neighbours own, and the corners mostly not the other's.

    One corner may be the other's, but none at the edge of the board.
    """
    enclosed = lines.all & ~(own | other) & ~lines.beside(lines.all & ~own)
    once = twice = jnp.zeros_like(own)
    for step in (lines.stride + 1, lines.stride - 1):
        for corner in (lines.shift(other, step), lines.shift(other, -step)):
            once, twice = once | corner, twice | (once & corner)
    inside = lines.all & ~lines.edge
    return enclosed & ~twice & ~(once & ~inside)


def weights(lines: Grid, own: Set, other: Set) -> Float32[Array, " A"]:
    """Playouts fill no eyes of their own and pass only when little else is left, so that their end means something."""
    eye = lines.unpack(eyes(lines, own, other))
    point = jnp.where(eye, jnp.float32(EYE_WEIGHT), jnp.float32(1))
    return jnp.append(point, jnp.float32(PASS_WEIGHT))
