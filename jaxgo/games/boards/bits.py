"""Sets of cells as the bits of one word: bit `i` is cell `i`. For boards of at most 32 cells."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt32

from jaxgo.core.board import EAST, NORTH, SOUTH

Word = UInt32[Array, ""]


def bit(cell: Int[Array, ""]) -> Word:
    """The set of one cell."""
    return jnp.uint32(1) << cell.astype(jnp.uint32)


def unpack(words: UInt32[Array, "*sets"], cells: int) -> Bool[Array, "*sets cells"]:
    """Membership of every cell."""
    shifts = jnp.arange(cells, dtype=jnp.uint32).reshape((1,) * words.ndim + (cells,))
    return (words[..., None] >> shifts) & 1 != 0


def pack(member: Bool[Array, " cells"]) -> Word:
    """The word of a set given cell by cell."""
    shifts = jnp.arange(member.shape[0], dtype=jnp.uint32)
    return jnp.sum(member.astype(jnp.uint32) << shifts, dtype=jnp.uint32)


def count(word: Word) -> Int[Array, ""]:
    """How many cells the set has."""
    return jax.lax.population_count(word).astype(jnp.int32)


def facing(word: Word, height: int, width: int, direction: int) -> Word:
    """The cells whose neighbour in this direction (N E S W) belongs to the set."""
    row, column = np.divmod(np.arange(height * width), width)
    if direction == NORTH:
        moved, inside = word << width, row > 0
    elif direction == EAST:
        moved, inside = word >> 1, column < width - 1
    elif direction == SOUTH:
        moved, inside = word >> width, row < height - 1
    else:
        moved, inside = word << 1, column > 0
    return moved & np.uint32(sum(1 << i for i in np.flatnonzero(inside).tolist()))
