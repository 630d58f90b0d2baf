"""What is remembered: a ring of samples for each device, and draws from its newest part.

`Replay` is the contract of the run's memory, and has two back ends: the rings lie on the devices that play and learn,
or on the CPU devices that JAX has beside them, for windows that the accelerators have no room for. Either is moved on
by the same functions. All batches of an iteration are drawn at once.

Letters: N rows of the ring, M samples, U batches, D devices.
"""

import abc
import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Bool, Float32, Int32, UInt32

from jaxgo.core.errors import UsageError
from jaxgo.system import devices
from jaxgo.training.config import ReplayConfig
from jaxgo.training.targets import Sample

EACH, ALL = PartitionSpec(devices.AXIS), PartitionSpec()
LATER = PartitionSpec(None, devices.AXIS)  # the second axis is the one that is shared out
MOST = 2**32 - 1  # samples that are counted
DRAWS = 0x64726177  # its keys are no other program's


class Ring(NamedTuple):
    """The ring of one device. Where several lie side by side, every leaf has them along its first axis."""

    samples: Sample  # N rows
    seen: UInt32[Array, " 1"]  # samples since the start; stays at MOST where it would not fit any more
    cursor: Int32[Array, " 1"]  # the row of the next sample


class NewSamples(NamedTuple):
    """The samples of one iteration of self-play."""

    samples: Sample
    present: Bool[Array, " M"]  # which rows hold one; they come first


class ReplayState(NamedTuple):
    """What a run remembers, and where its draws are."""

    ring: Ring
    key: Array
    draws: Int32[Array, ""]  # iterations that were drawn for
    pending: NewSamples | None = None  # those that are not in the ring yet; between playing and learning only


class Batches(NamedTuple):
    """All batches of one iteration, on the devices that learn."""

    samples: Sample  # U batches, one after another
    seen: UInt32[Array, " D"]


# -- one ring ------------------------------------------------------------------------------------------------------


def empty(samples: Sample, capacity: int, devices: int = 1) -> Ring:
    """Rings for samples shaped like these, of so many rows all together."""
    blank = jax.tree.map(lambda x: jnp.zeros((capacity, *x.shape[1:]), x.dtype), samples)
    return Ring(blank, jnp.zeros(devices, jnp.uint32), jnp.zeros(devices, jnp.int32))


def add(ring: Ring, new: NewSamples) -> Ring:
    """Writes the samples over the oldest ones."""
    capacity, most = ring.samples.value.shape[0], new.present.shape[0]
    if most > capacity:
        raise UsageError(
            f"replay.capacity is too small: {most} samples may come at once to a device that holds "
            f"{capacity}; raise it, or lower selfplay.games or selfplay.steps"
        )
    place = (ring.cursor + jnp.arange(most, dtype=jnp.int32)) % capacity
    place = jnp.where(new.present, place, capacity)
    samples = jax.tree.map(lambda old, new: old.at[place].set(new, mode="drop"), ring.samples, new.samples)
    count = new.present.sum(dtype=jnp.uint32)
    seen = ring.seen + jnp.minimum(count, jnp.uint32(MOST) - ring.seen)
    return Ring(samples, seen, (ring.cursor + count.astype(jnp.int32)) % capacity)


def window(config: ReplayConfig, seen: UInt32[Array, "*d"], devices: int) -> Float32[Array, "*d"]:
    """How many of the newest samples of a device to draw from."""
    start = config.start / devices
    ratio = jnp.maximum(seen.astype(jnp.float32) / start, 1.0)
    grown = (ratio**config.growth - 1.0) / config.growth if config.growth else jnp.log(ratio)
    wanted = start * (1.0 + config.share * grown)
    return jnp.minimum(jnp.minimum(wanted, seen.astype(jnp.float32)), float(config.capacity // devices))


def draw(
    config: ReplayConfig, ring: Ring, key: Array, batches: int, batch: int, devices: int
) -> Int32[Array, "batches batch"]:
    """Rows to learn from, by weight. Each batch has one draw in every equal part of the window's weight.

    One pass over the weights serves all the batches; the spread keeps batches alike, old and new in proportion.
    """
    capacity = ring.samples.value.shape[0]
    age = (ring.cursor - 1 - jnp.arange(capacity, dtype=jnp.int32)) % capacity
    inside = age.astype(jnp.float32) < window(config, ring.seen, devices)
    weight = jnp.where(inside, ring.samples.weight, 0.0)
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


def read(ring: Ring, place: Int32[Array, "*M"]) -> Sample:
    """The samples of these rows."""
    return jax.tree.map(lambda x: x[place], ring.samples)


def rows_of(
    seen: np.ndarray, cursor: np.ndarray, capacity: int, rings: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For rings dealt out anew, another number of them: the old row of each row (`capacity`: none), `seen`, `cursor`.

    The samples are dealt in turns, the newest first, so that each ring has its part of every age.
    """
    here, there = capacity // len(seen), capacity // rings
    age = np.arange(here)[:, None]
    row = (cursor.astype(np.int64) - 1 - age) % here + here * np.arange(len(seen))
    newest_first = row[age < np.minimum(seen, here)]
    source, held = np.full((rings, there), capacity, np.int32), np.zeros(rings, np.int64)
    for ring in range(rings):
        mine = newest_first[ring::rings]
        held[ring] = mine.size
        source[ring, : mine.size] = mine[::-1]
    share = int(seen.astype(np.uint64).sum()) // rings
    counted = np.where(held == there, np.maximum(share, there), held)
    return source.reshape(-1), np.minimum(counted, MOST).astype(np.uint32), (held % there).astype(np.int32)


# -- the memory of a run -------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Replay(abc.ABC):
    """The memory of a run: `begin`, then in each iteration `add`, `draw` and `settle`. Equal ones share programs."""

    config: ReplayConfig
    updates: int  # batches of an iteration
    batch: int  # samples of one, all devices together
    mesh: Mesh  # that plays and learns

    @property
    @abc.abstractmethod
    def home(self) -> Mesh:
        """Where the rings lie."""

    def begin(self, like: Sample, seed: int) -> ReplayState:
        """Empty rings for samples shaped like these."""
        each, whole = NamedSharding(self.home, EACH), NamedSharding(self.home, ALL)

        @functools.partial(jax.jit, out_shardings=ReplayState(each, whole, whole))  # type: ignore[arg-type]
        def blank() -> ReplayState:
            ring = empty(like, self.config.capacity, self.home.devices.size)
            return ReplayState(ring, jax.random.fold_in(jax.random.key(seed), DRAWS), jnp.int32(0))

        return blank()

    @abc.abstractmethod
    def add(self, state: ReplayState, new: NewSamples) -> ReplayState:
        """Takes the samples of an iteration, which lie on the devices that play."""

    @abc.abstractmethod
    def draw(self, state: ReplayState) -> tuple[ReplayState, Batches]:
        """The batches of an iteration."""

    @abc.abstractmethod
    def settle(self, state: ReplayState) -> ReplayState:
        """After the learner was set to work: nothing is pending any more."""

    def deal(self, state: ReplayState) -> ReplayState:
        """What lay on another number of devices, dealt out among these."""
        rings, old = self.home.devices.size, state.ring
        if len(old.seen) == rings:
            return state
        source, seen, cursor = rows_of(np.asarray(old.seen), np.asarray(old.cursor), self.config.capacity, rings)
        each = NamedSharding(self.home, EACH)
        # one array after another: each is whole on every device for a moment
        samples = jax.tree.map(lambda x: jax.block_until_ready(_taken(each, x, source)), old.samples)
        return state._replace(ring=Ring(samples, *devices.lay((seen, cursor), each)))

    def ready(self, seen: UInt32[Array, " D"]) -> Bool[Array, ""]:
        """Whether there is enough to learn from."""
        return (seen >= self.config.start / self.mesh.devices.size).all()


@dataclasses.dataclass(frozen=True)
class DeviceReplay(Replay):
    """Rings on the devices that play and learn."""

    @property
    def home(self) -> Mesh:
        return self.mesh

    def add(self, state: ReplayState, new: NewSamples) -> ReplayState:
        return state._replace(ring=_add(self.mesh, state.ring, new))

    def draw(self, state: ReplayState) -> tuple[ReplayState, Batches]:
        batches, draws = _draw(self, state.ring, state.key, state.draws)
        return state._replace(draws=draws), batches

    def settle(self, state: ReplayState) -> ReplayState:
        return state


@dataclasses.dataclass(frozen=True)
class HostReplay(Replay):
    """Rings in the memory of the hosts, on a CPU device beside each accelerator.

    Batches are drawn before the samples of their iteration have come back: so they are drawn and sent while the
    accelerators still play, and the samples come home while they learn.
    """

    @property
    def home(self) -> Mesh:
        return devices.beside(self.mesh)

    def add(self, state: ReplayState, new: NewSamples) -> ReplayState:
        return state._replace(pending=new)

    def draw(self, state: ReplayState) -> tuple[ReplayState, Batches]:
        drawn, draws = _draw(self, state.ring, state.key, state.draws)
        samples = devices.carry(drawn.samples, self.home, self.mesh, LATER)
        seen = devices.carry(drawn.seen, self.home, self.mesh, EACH)
        return state._replace(draws=draws), Batches(samples, seen)

    def settle(self, state: ReplayState) -> ReplayState:
        """This waits for self-play, and the learner runs meanwhile."""
        new = devices.carry(state.pending, self.mesh, self.home, EACH)
        return state._replace(ring=_add(self.home, state.ring, new), pending=None)


def make(config: ReplayConfig, updates: int, batch: int, mesh: Mesh) -> Replay:
    """The memory that `replay.memory` asks for."""
    kind = HostReplay if config.memory == "host" else DeviceReplay
    return kind(config, updates, batch, mesh)


@functools.partial(jax.jit, static_argnums=0)
def _taken(sharding: NamedSharding, x: Array, rows: Int32[Array, " N"]) -> Array:
    """These rows, zeros where there is none."""
    return jax.lax.with_sharding_constraint(x.at[rows].get(mode="fill", fill_value=0), sharding)


@functools.partial(jax.jit, static_argnums=0, donate_argnums=1)
def _add(mesh: Mesh, ring: Ring, new: NewSamples) -> Ring:
    spread = jax.shard_map(add, mesh=mesh, in_specs=(EACH, EACH), out_specs=EACH, check_vma=False)
    return spread(ring, new)


@functools.partial(jax.jit, static_argnums=0)
def _draw(replay: Replay, ring: Ring, key: Array, draws: Int32[Array, ""]) -> tuple[Batches, Int32[Array, ""]]:
    """The batches of the next iteration, each device its part, where the rings lie."""
    count = replay.home.devices.size

    def local(ring: Ring, key: Array) -> Batches:
        mine = jax.random.fold_in(key, jax.lax.axis_index(devices.AXIS))
        place = draw(replay.config, ring, mine, replay.updates, replay.batch // count, count)
        return Batches(read(ring, place), ring.seen)

    spread = jax.shard_map(
        local,
        mesh=replay.home,
        in_specs=(EACH, ALL),
        out_specs=Batches(LATER, EACH),  # type: ignore[arg-type]
        check_vma=False,
    )
    return spread(ring, jax.random.fold_in(key, draws)), draws + 1
