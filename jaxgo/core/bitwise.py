"""Bitwise or and xor along an axis."""

import jax
import numpy as np
from jaxtyping import Array, UInt32


def union(sets: UInt32[Array, "..."], axis: int = 0) -> UInt32[Array, "..."]:
    """The bits of any of the sets."""
    return jax.lax.reduce(sets, np.uint32(0), jax.lax.bitwise_or, (axis,))


def xor(words: UInt32[Array, "..."], axis: int = 0) -> UInt32[Array, "..."]:
    """The xor of the words."""
    return jax.lax.reduce(words, np.uint32(0), jax.lax.bitwise_xor, (axis,))
