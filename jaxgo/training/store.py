"""The ring in the memory of the hosts, for windows that the accelerators have no room for.

It lies on the CPU devices that JAX has beside the accelerators, one for each of them, and is moved on by the same
functions as a ring on an accelerator. What all batches of an iteration need goes to the accelerators at once, and is
drawn before the samples of that iteration have come back: so it is drawn and sent while they still play, and their
samples come home while they learn.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Bool, Int32, UInt32

from jaxgo.system import devices
from jaxgo.training import replay
from jaxgo.training.replay import ReplayConfig, ReplayState
from jaxgo.training.targets import Sample

EACH, ALL = PartitionSpec(devices.AXIS), PartitionSpec()
LATER = PartitionSpec(None, devices.AXIS)  # the second axis is the one that is shared out
PROGRAM = 2  # after self-play and learning; no two programs of an iteration have the same key


class Fresh(NamedTuple):
    """The samples of one iteration, on the accelerators."""

    samples: Sample
    present: Bool[Array, " M"]


class Store(NamedTuple):
    """The ring on the hosts, and what has yet to come into it."""

    ring: ReplayState
    key: Array
    draws: Int32[Array, ""]  # iterations that were drawn for
    fresh: Fresh | None = None  # between playing and learning only


class Drawn(NamedTuple):
    """All batches of one iteration."""

    samples: Sample  # U batches, one after another
    seen: UInt32[Array, " D"]


def begin(like: Sample, capacity: int, mesh: Mesh, key: Array) -> Store:
    """An empty ring for samples shaped like these."""
    each, whole = NamedSharding(mesh, EACH), NamedSharding(mesh, ALL)

    @functools.partial(jax.jit, out_shardings=each)
    def make() -> ReplayState:
        count = mesh.devices.size
        ring = replay.empty(like, capacity)
        return ring._replace(seen=jnp.zeros(count, jnp.uint32), cursor=jnp.zeros(count, jnp.int32))

    words, draws = jax.device_put((np.asarray(jax.random.key_data(key)), np.int32(0)), whole)
    return Store(make(), jax.random.wrap_key_data(words), draws)


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3))
def draw(
    config: ReplayConfig, mesh: Mesh, batches: int, batch: int, ring: ReplayState, key: Array, draws: Int32[Array, ""]
) -> tuple[Drawn, Int32[Array, ""]]:
    """The batches of the next iteration, `batch` samples of each on every device; they still lie on the hosts."""

    def local(ring: ReplayState, key: Array) -> Drawn:
        mine = jax.random.fold_in(key, jax.lax.axis_index(devices.AXIS))
        place = replay.draw(config, ring, mine, batches, batch, mesh.devices.size)
        return Drawn(replay.read(ring, place), ring.seen)

    spread = jax.shard_map(local, mesh=mesh, in_specs=(EACH, ALL), out_specs=Drawn(LATER, EACH), check_vma=False)  # type: ignore[arg-type]
    return spread(ring, jax.random.fold_in(jax.random.fold_in(key, draws), PROGRAM)), draws + 1


@functools.partial(jax.jit, static_argnums=0, donate_argnums=1)
def keep(mesh: Mesh, ring: ReplayState, fresh: Fresh) -> ReplayState:
    """The ring with the samples in it, which came to the hosts before."""
    spread = jax.shard_map(replay.add, mesh=mesh, in_specs=(EACH, EACH, EACH), out_specs=EACH, check_vma=False)
    return spread(ring, fresh.samples, fresh.present)
