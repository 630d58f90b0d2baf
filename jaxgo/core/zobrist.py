"""Zobrist keys: fixed random words, one table per name and shape, the same on every machine for ever.

A key is two uint32 words, because JAX runs without 64-bit integers by default.
"""

import functools
import math
import zlib

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Integer, UInt32

from jaxgo.core.bitwise import xor
from jaxgo.core.mix import well_mixed, wide_mixed

Key = UInt32[Array, "2"]


@functools.cache
def table(name: str, *shape: int) -> np.ndarray:
    """Random words `uint32[*shape, 2]`; another name or shape gives unrelated words (SplitMix64 of the seed)."""
    seed = zlib.crc32(repr((name, shape)).encode())
    with np.errstate(over="ignore"):
        counts = np.arange(1, math.prod(shape) + 1, dtype=np.uint64)
        z = (counts + np.uint64(seed << 20)) * np.uint64(0x9E3779B97F4A7C15)
        z = wide_mixed(z)
    words = np.stack([z >> np.uint64(32), z & np.uint64(0xFFFFFFFF)], axis=-1).astype(np.uint32)
    words = words.reshape(*shape, 2)
    words.flags.writeable = False
    return words


def xor_where(words: UInt32[Array, "n 2"] | np.ndarray, chosen: Bool[Array, " n"]) -> Key:
    """The xor of the chosen rows."""
    return xor(jnp.where(chosen[:, None], jnp.asarray(words), jnp.uint32(0)))


def of_cells(words: np.ndarray, codes: Integer[Array, " n"]) -> Key:
    """The key of a board from scratch: `words[cell, code - 1]` for every cell whose code is above 0."""
    cells, kinds = words.shape[:2]
    code = codes.astype(jnp.int32)
    rows = jnp.arange(cells) * kinds + jnp.maximum(code - 1, 0)
    return xor_where(jnp.asarray(words).reshape(-1, 2)[rows], code > 0)


def zero() -> Key:
    """The key of nothing."""
    return jnp.zeros(2, jnp.uint32)


def of_words(words: UInt32[Array, " n"]) -> Key:
    """The key of a state that is a few packed words anyway: mixing them costs less than keeping a key beside them.

    The mixing can be undone step by step, so different boards of one or two words never share a key.
    """
    a, b = jnp.uint32(0x9E3779B9), jnp.uint32(0x85EBCA6B)
    for i in range(words.shape[0]):
        a, b = b, a ^ words[i]
        a, b = _scramble(a, b)
    for _ in range(2):
        a, b = _scramble(b, a)
    return jnp.stack([a, b])


def _scramble(a: UInt32[Array, ""], b: UInt32[Array, ""]) -> tuple[UInt32[Array, ""], UInt32[Array, ""]]:
    b = well_mixed(b)
    return a + b, b
