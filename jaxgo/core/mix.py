"""Mixing of words, so that each bit of the result hangs on all bits of the word; different words stay different.

Words are unsigned numbers of JAX or numpy, and are mixed by rounds of xor, shift and multiply. Which mixer stands where
does not change, for random numbers and keys of positions follow from it.
"""

from typing import TypeVar

import numpy as np
from jaxtyping import Array

W = TypeVar("W", Array, np.ndarray)  # words


def stir(words: W, shift: int, factor: int) -> W:
    """One round."""
    number = words.dtype.type
    return (words ^ words >> number(shift)) * number(factor)


def mixed(words: W) -> W:
    """Words of 32 bits mixed, for luck and for places in tables."""
    words = stir(stir(words, 15, 0x2C1B3C6D), 12, 0x297A2D39)
    return words ^ words >> words.dtype.type(15)


def well_mixed(words: W) -> W:
    """Words of 32 bits mixed with less bias, for keys of positions and for numbers drawn from counts."""
    words = stir(stir(words, 16, 0x7FEB352D), 15, 0x846CA68B)
    return words ^ words >> words.dtype.type(16)


def wide_mixed(words: W) -> W:
    """Words of 64 bits mixed, as SplitMix64 does."""
    words = stir(stir(words, 30, 0xBF58476D1CE4E5B9), 27, 0x94D049BB133111EB)
    return words ^ words >> words.dtype.type(31)
