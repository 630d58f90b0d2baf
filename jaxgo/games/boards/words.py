"""Sets of cells as the bits of a few words: bit `i % 32` of word `i // 32` is cell `i`. For boards of any size.

While sets are worked on, each word is an array of its own: shifts then need no copy of a neighbour, and sets that are
shifted by different distances lie side by side in the word. States hold `UInt32[words]`; `split` parts them.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Int32, UInt32

WORD = 32
Words = tuple[UInt32[Array, "..."], ...]
Distance = UInt32[Array, "..."]  # from 1 to 31


def mask(member: np.ndarray) -> np.ndarray:
    """`uint32[*sets, words]` of sets given cell by cell, `bool[*sets, cells]`."""
    *sets, cells = member.shape
    padded = np.zeros((*sets, -(-cells // WORD) * WORD), np.uint32)
    padded[..., :cells] = member
    shifts = np.arange(WORD, dtype=np.uint32)
    return (padded.reshape(*sets, -1, WORD) << shifts).sum(axis=-1).astype(np.uint32)


def pack(member: Bool[Array, "*sets cells"]) -> UInt32[Array, "*sets words"]:
    """The same of arrays, for a whole number of words."""
    lanes = member.reshape(*member.shape[:-1], -1, WORD)
    weight = (jnp.uint32(1) << jnp.arange(WORD, dtype=jnp.uint32)).reshape((1,) * member.ndim + (WORD,))
    return jnp.where(lanes, weight, jnp.uint32(0)).sum(-1, dtype=jnp.uint32)


def split(sets: UInt32[Array, "*sets words"] | np.ndarray) -> Words:
    """The words one by one."""
    return tuple(jnp.asarray(sets[..., word]) for word in range(sets.shape[-1]))


def unpack(sets: UInt32[Array, "*sets words"], cells: int) -> Bool[Array, "*sets cells"]:
    """Membership of every cell; none beyond the last word belongs."""
    found, cell = jnp.zeros((*sets.shape[:-1], cells), jnp.uint32), np.arange(cells)
    for word in range(sets.shape[-1]):  # no gather and no concatenation, which would be no part of a vectorised loop
        bit = _bits(cell, cell // WORD == word).reshape((1,) * (sets.ndim - 1) + (cells,))
        found |= sets[..., word, None] & jnp.asarray(bit)
    return found != 0


def unpack_long(long: UInt32[Array, " words"], cells: int) -> Bool[Array, " cells"]:
    """Membership of every cell in one set of many words."""
    bits = long[:, None] >> jnp.arange(WORD, dtype=jnp.uint32)[None] & 1
    return bits.reshape(-1)[:cells] != 0


def unpack_by_cell(words: Words, cells: int) -> Bool[Array, " cells_and_sets"]:
    """Membership of every cell in each of the sets [k], those of a cell together; faster than to turn `unpack`."""
    (sets,) = words[0].shape
    found, (cell, chosen) = jnp.zeros(cells * sets, jnp.uint32), np.divmod(np.arange(cells * sets), sets)
    for number, word in enumerate(words):
        for i in range(sets):
            found |= word[i] & jnp.asarray(_bits(cell, (cell // WORD == number) & (chosen == i)))
    return found != 0


def _bits(cells: np.ndarray, there: np.ndarray) -> np.ndarray:
    """The bit of each cell in its word; 0 where it is not there."""
    return there.astype(np.uint32) << (cells % WORD).astype(np.uint32)


def count(sets: UInt32[Array, "*sets words"]) -> Int32[Array, "*sets"]:
    """How many cells each set has."""
    return jax.lax.population_count(sets).sum(axis=-1, dtype=jnp.uint32).astype(jnp.int32)


def single(cell: Int[Array, ""], words: int, there: Bool[Array, ""] | bool = True) -> Words:
    """The set of one cell; nothing where it is not there."""
    bit = jnp.asarray(there).astype(jnp.uint32) << (cell % WORD).astype(jnp.uint32)
    return tuple(jnp.where(cell // WORD == word, bit, jnp.uint32(0)) for word in range(words))


def both(a: Words, b: Words) -> Words:
    return tuple(x & y for x, y in zip(a, b, strict=True))


def either(a: Words, b: Words) -> Words:
    return tuple(x | y for x, y in zip(a, b, strict=True))


def without(a: Words, b: Words) -> Words:
    return tuple(x & ~y for x, y in zip(a, b, strict=True))


def union(words: Words) -> Words:
    """The union of the sets along the last axis, of all words in one pass."""
    start = (np.uint32(0),) * len(words)
    return tuple(jax.lax.reduce(words, start, lambda a, b: either(a, b), (words[0].ndim - 1,)))


def some(words: Words) -> Bool[Array, "..."]:
    """Which of the sets have a cell."""
    return functools.reduce(jnp.bitwise_or, words) != 0


def higher(words: Words, by: Distance) -> Words:
    """Every cell moved to one whose number is higher by so much; what passes the last word is lost."""
    below = (jnp.zeros_like(words[0]), *words[:-1])
    return tuple(x << by | y >> (jnp.uint32(WORD) - by) for x, y in zip(words, below, strict=True))


def lower(words: Words, by: Distance) -> Words:
    """Every cell moved to one whose number is lower by so much; what passes cell 0 is lost."""
    above = (*words[1:], jnp.zeros_like(words[0]))
    return tuple(x >> by | y << (jnp.uint32(WORD) - by) for x, y in zip(words, above, strict=True))
