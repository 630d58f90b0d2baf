"""Small arrays as one, for a checkpoint.

A state has a hundred arrays of a few bytes to a few hundred kilobytes. To write one takes a millisecond of a processor
whatever its size, and TensorStore, which does it for Orbax, never gives back some 300 bytes for each (seen in 0.1.78 to
0.1.86: what it makes of JSON for Python is counted once too often). So those that are small are written as one.
"""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jaxgo.system import devices

SMALL = 2**20  # bytes of an array that goes with others: they are held twice until they are written


def is_small(array: Any) -> bool:
    """Whether an array goes with others; this host must have all of it."""
    here = getattr(array, "is_fully_addressable", True) or array.is_fully_replicated
    return bool(here) and array.nbytes <= SMALL


def join(arrays: Sequence[Any]) -> np.ndarray:
    """The bytes of arrays, one after another; a copy."""
    return np.frombuffer(b"".join(array.tobytes() for array in jax.device_get(list(arrays))), np.uint8)


def length(like: Sequence[Any]) -> int:
    """How many bytes arrays of these shapes have together."""
    return sum(one.size * one.dtype.itemsize for one in like)


def part(joined: np.ndarray, like: Sequence[Any], shardings: Sequence[Any]) -> list[jax.Array]:
    """The arrays again, each of its shape and laid out in its way."""
    ends = np.cumsum([length([one]) for one in like])
    return [
        devices.lay(joined[end - length([one]) : end].view(one.dtype).reshape(one.shape), sharding)
        for one, sharding, end in zip(like, shardings, ends, strict=True)
    ]
