"""What is remembered: a ring of samples for each device, and draws from its newest part.

Letters: N places of the ring, M samples.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32, Int32, UInt32

from jaxgo.core.errors import UsageError, check_finite, unknown_name
from jaxgo.training.targets import Sample

MEMORIES = ("device", "host")
MOST = 2**32 - 1  # samples that are counted


@dataclasses.dataclass(frozen=True)
class ReplayConfig:
    """How much is remembered. The window grows as KataGo's does, by a power of the samples seen so far."""

    capacity: int = 2**17  # samples, all devices together
    start: int = 2**12  # samples before learning begins, and the smallest window
    growth: float = 0.75  # the exponent: 1 keeps a fixed share of all samples, 0 grows as a logarithm
    share: float = 0.6  # by how much the window widens with each new sample, at its start
    memory: str = "device"  # or host, for a window that the accelerators have no room for

    def __post_init__(self) -> None:
        check_finite("replay.", self)
        if self.memory not in MEMORIES:
            raise unknown_name("replay.memory", self.memory, MEMORIES)
        if not 1 <= self.start <= self.capacity:
            raise UsageError(f"replay.start={self.start} is not between 1 and replay.capacity={self.capacity}")
        if not (0.0 <= self.growth <= 1.0 and 0.0 <= self.share <= 1.0):
            raise UsageError("replay.growth and replay.share are from 0 to 1")


class ReplayState(NamedTuple):
    """The ring of one device. Where several lie side by side, every leaf has them along its first axis."""

    samples: Sample  # N rows
    seen: UInt32[Array, " 1"]  # samples since the start; stays at MOST where it would not fit any more
    cursor: Int32[Array, " 1"]  # the row of the next sample


def empty(samples: Sample, capacity: int) -> ReplayState:
    """A ring for samples shaped like these."""
    blank = jax.tree.map(lambda x: jnp.zeros((capacity, *x.shape[1:]), x.dtype), samples)
    return ReplayState(blank, jnp.zeros(1, jnp.uint32), jnp.zeros(1, jnp.int32))


def add(replay: ReplayState, samples: Sample, present: Bool[Array, " M"]) -> ReplayState:
    """Writes the samples over the oldest ones; those that are `present` must come first."""
    capacity = replay.samples.value.shape[0]
    if present.shape[0] > capacity:
        raise UsageError(
            f"replay.capacity is too small: {present.shape[0]} samples may come at once to a device that holds "
            f"{capacity}; raise it, or lower selfplay.games or selfplay.steps"
        )
    place = (replay.cursor + jnp.arange(present.shape[0], dtype=jnp.int32)) % capacity
    place = jnp.where(present, place, capacity)
    ring = jax.tree.map(lambda old, new: old.at[place].set(new, mode="drop"), replay.samples, samples)
    count = present.sum(dtype=jnp.uint32)
    seen = replay.seen + jnp.minimum(count, jnp.uint32(MOST) - replay.seen)
    return ReplayState(ring, seen, (replay.cursor + count.astype(jnp.int32)) % capacity)


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
    age = (replay.cursor - 1 - jnp.arange(capacity, dtype=jnp.int32)) % capacity
    inside = age.astype(jnp.float32) < window(config, replay.seen, devices)
    weight = jnp.where(inside, replay.samples.weight, 0.0)
    # where no sample has a weight, all are alike
    weight = jnp.where((weight > 0).any(), weight, inside.astype(jnp.float32))
    return pick(weight, key, batches, batch)


def pick(
    weight: Float32[Array, " N"], key: Array, batches: int, batch: int, block: int = 4096
) -> Int32[Array, "batches batch"]:
    """Rows by their weight, one from each of `batch` equal parts of it in each batch.

    A float32 cannot tell the rows of a long ring apart by one running sum. So there are two: over blocks of rows, and
    over the rows of each block; and what a number between 0 and 1 is too coarse to say is drawn.
    """
    between, within = jax.random.split(key)
    blocks = -(-weight.shape[0] // block)
    rows = jnp.cumsum(jnp.pad(weight, (0, blocks * block - weight.shape[0])).reshape(blocks, block), axis=1)
    sums = rows[:, -1]
    ends = jnp.cumsum(sums)
    total = ends[-1]
    spread = (jnp.arange(batch)[None] + jax.random.uniform(between, (batches, batch))) / batch * total
    chosen = jnp.searchsorted(ends, spread, side="right").astype(jnp.int32)
    chosen = jnp.minimum(chosen, jnp.searchsorted(ends, total, side="left").astype(jnp.int32))
    grain = total * jnp.finfo(jnp.float32).eps
    rest = spread - jnp.where(chosen > 0, ends[chosen - 1], 0.0) + grain * jax.random.uniform(within, spread.shape)
    rest = jnp.mod(rest, sums[chosen])

    def halve(_: Any, range_: tuple[Array, Array]) -> tuple[Array, Array]:
        """The first row whose running sum is above `rest`, between two rows."""
        low, high = range_
        middle = (low + high) // 2
        above = rows[chosen, middle] > rest
        return jnp.where(above, low, middle + 1), jnp.where(above, middle, high)

    first = jnp.zeros(chosen.shape, jnp.int32), jnp.full(chosen.shape, block - 1, jnp.int32)
    low, _ = jax.lax.fori_loop(0, block.bit_length(), halve, first)
    return jnp.minimum(chosen * block + low, weight.shape[0] - 1)  # for a ring with nothing in it


def read(replay: ReplayState, place: Int32[Array, "*M"]) -> Sample:
    """The samples at these places."""
    return jax.tree.map(lambda x: x[place], replay.samples)
