"""Which moves could bring an earlier board of a Go game back? Almost always none, and that can be told at a glance.

Superko compares the board after a move with all boards before. Here two stamps for each point rule out nearly every
move, so that only a few suspects are ever compared: no ko fight, no suspect. Nothing is missed, as every step below
only uses what must hold for a board that comes back.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int16, UInt32

from jaxgo.games.go.board import GoState, Grid


class GoTrace(NamedTuple):
    """What a game remembers of its stones."""

    born: Int16[Array, " bits"]  # the ply that put the stone that stands here, or stood here last
    left: Int16[Array, "2 bits"]  # the last ply that removed a stone of this colour from here; 0: none did
    suspects: UInt32[Array, " W"]  # where the next stone might bring a board back


def begin(lines: Grid) -> GoTrace:
    """The trace of a game without moves."""
    never = jnp.zeros(lines.bits, jnp.int16)
    return GoTrace(never, jnp.stack([never, never]), jnp.zeros(lines.words, jnp.uint32))


def extend(lines: Grid, trace: GoTrace, before: GoState, after: GoState) -> GoTrace:
    """The trace after a move."""
    had, has = before.chain != lines.nowhere, after.chain != lines.nowhere
    born = jnp.where(has & ~had, after.ply, trace.born)
    loser = jnp.where((before.stones[0] & ~after.stones[0] != 0).any(), 0, 1)
    lost = (had & ~has)[None] & (jnp.arange(2) == loser)[:, None]
    left = jnp.where(lost, after.ply, trace.left)
    # On a board that comes back a stone of the mover stood on the point; it was removed later, so after the floor.
    mine = jnp.where(after.to_play == 0, left[0], left[1])
    return GoTrace(born, left, lines.pack(mine > _floor(lines, after, born, left, has)))


def _floor(
    lines: Grid,
    state: GoState,
    born: Int16[Array, " bits"],
    left: Int16[Array, "2 bits"],
    stands: Bool[Array, " bits"],
) -> Int16[Array, ""]:
    """A ply such that no board from before it can come back with the next stone, as late as is cheap to tell.

    A board that comes back looks like the board after the move. Where a stone stands, it is therefore not older than
    the stone, or it is from before the last removal of this colour from there. The latter is out of the question if
    it means before the floor, and then the floor rises to the birth of the stone. The same holds for points that
    became empty, if the stone removed there was born before the floor; the move fills one of them at most, so the
    second latest counts. Stones in atari that the move might take tell nothing.
    """
    facing = jnp.arange(2, dtype=jnp.int8) != state.to_play
    safe = state.stones & ~jnp.where(facing[:, None], state.atari[None], jnp.uint32(0))
    black, white = lines.lanes(safe[0]), lines.lanes(safe[1])
    removed, none = jnp.where(black, left[0], left[1]), jnp.int16(0)

    def rise(floor: Int16[Array, ""]) -> Int16[Array, ""]:
        return jnp.maximum(floor, jnp.where((black | white) & (removed <= floor), born, none).max())

    floor = rise(none)
    freed = jnp.where(~stands & (born <= floor), jnp.maximum(left[0], left[1]), none)
    latest = jnp.arange(lines.bits) == jnp.argmax(freed)
    floor = jnp.maximum(floor, jnp.where(latest, none, freed).max())
    return rise(rise(floor))  # further rounds find next to nothing
