"""What is remembered: a ring of samples for each device, and draws from its newest part.

Letters: N places of the ring, M samples.
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32, Int32, UInt32

from jaxgo.core.errors import UsageError, choose
from jaxgo.training.targets import Sample

MEMORIES = ("device", "host")


@dataclasses.dataclass(frozen=True)
class ReplayConfig:
    """How much is remembered. The window grows as KataGo's does, by a power of the samples seen so far."""

    capacity: int = 2**17  # samples, all devices together
    start: int = 2**12  # samples before learning begins, and the smallest window
    growth: float = 0.75  # the exponent: 1 keeps a fixed share of all samples, 0 grows as a logarithm
    share: float = 0.6  # by how much the window widens with each new sample, at its start
    memory: str = "device"  # or host, for a window that the accelerators have no room for

    def __post_init__(self) -> None:
        if self.memory not in MEMORIES:
            raise choose("replay.memory", self.memory, MEMORIES)
        if not 1 <= self.start <= self.capacity:
            raise UsageError(f"replay.start={self.start} is not between 1 and replay.capacity={self.capacity}")
        if not (0.0 <= self.growth <= 1.0 and 0.0 <= self.share <= 1.0):
            raise UsageError("replay.growth and replay.share are from 0 to 1")


class ReplayState(NamedTuple):
    """The ring of one device. Where several lie side by side, every leaf has them along its first axis."""

    samples: Sample  # N rows
    seen: UInt32[Array, " 1"]  # samples since the start; the next one goes to `seen % N`


def empty(samples: Sample, capacity: int) -> ReplayState:
    """A ring for samples shaped like these."""
    blank = jax.tree.map(lambda x: jnp.zeros((capacity, *x.shape[1:]), x.dtype), samples)
    return ReplayState(blank, jnp.zeros(1, jnp.uint32))


def add(replay: ReplayState, samples: Sample, present: Bool[Array, " M"]) -> ReplayState:
    """Writes the samples over the oldest ones; those that are `present` must come first."""
    capacity = replay.samples.value.shape[0]
    if present.shape[0] > capacity:
        raise UsageError(
            f"replay.capacity is too small: {present.shape[0]} samples may come at once to a device that holds "
            f"{capacity}; raise it, or lower selfplay.games or selfplay.steps"
        )
    place = (replay.seen + jnp.arange(present.shape[0], dtype=jnp.uint32)) % capacity
    place = jnp.where(present, place.astype(jnp.int32), capacity)
    ring = jax.tree.map(lambda old, new: old.at[place].set(new, mode="drop"), replay.samples, samples)
    return ReplayState(ring, replay.seen + present.sum(dtype=jnp.uint32))


def window(config: ReplayConfig, seen: UInt32[Array, "*d"], devices: int) -> Float32[Array, "*d"]:
    """How many of the newest samples of a device to draw from."""
    start = config.start / devices
    ratio = jnp.maximum(seen.astype(jnp.float32) / start, 1.0)
    grown = (ratio**config.growth - 1.0) / config.growth if config.growth else jnp.log(ratio)
    wanted = start * (1.0 + config.share * grown)
    return jnp.minimum(jnp.minimum(wanted, seen.astype(jnp.float32)), float(config.capacity // devices))


def draw(
    config: ReplayConfig, replay: ReplayState, key: Array, batches: int, batch: int, devices: int
) -> Int32[Array, "batches batch"]:
    """Places to learn from, by weight. Each batch has one draw in every equal part of the window's weight.

    One pass over the weights serves all the batches; the spread keeps batches alike, old and new in proportion.
    """
    capacity = replay.samples.value.shape[0]
    age = (replay.seen - 1 - jnp.arange(capacity, dtype=jnp.uint32)) % capacity
    inside = age.astype(jnp.float32) < window(config, replay.seen, devices)
    total = jnp.cumsum(jnp.where(inside, replay.samples.weight, 0.0))
    spread = (jnp.arange(batch)[None] + jax.random.uniform(key, (batches, batch))) / batch
    place = jnp.searchsorted(total, spread * total[-1], side="right")
    return jnp.minimum(place, capacity - 1).astype(jnp.int32)


def read(replay: ReplayState, place: Int32[Array, "*M"]) -> Sample:
    """The samples at these places."""
    return jax.tree.map(lambda x: x[place], replay.samples)
