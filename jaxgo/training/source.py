"""Where the batches of an iteration come from: a ring on the devices that learn, or what the hosts have sent."""

from typing import Any, cast

import jax
from jax.sharding import Mesh
from jaxtyping import Array, Bool

from jaxgo.core.game import Game
from jaxgo.nets.base import Head
from jaxgo.system import devices
from jaxgo.training import augment, replay
from jaxgo.training.config import TrainConfig
from jaxgo.training.replay import ReplayConfig, ReplayState
from jaxgo.training.store import ALL, EACH, LATER, Drawn
from jaxgo.training.targets import Sample


def ready(config: ReplayConfig, mesh: Mesh, kept: ReplayState | Drawn) -> Bool[Array, ""]:
    """Whether there is enough to learn from."""
    return (kept.seen >= config.start / mesh.devices.size).all()


def batches(config: TrainConfig, mesh: Mesh, kept: ReplayState | Drawn, key: Array) -> Array | Sample:
    """All batches of an iteration; of a ring, their places in it."""
    if isinstance(kept, Drawn):
        return kept.samples
    count = mesh.devices.size

    def draw(ring: ReplayState, key: Array) -> Array:
        mine = jax.random.fold_in(key, jax.lax.axis_index(devices.AXIS))
        return replay.draw(config.replay, ring, mine, config.updates, config.learner.batch // count, count)

    return jax.shard_map(draw, mesh=mesh, in_specs=(EACH, ALL), out_specs=LATER, check_vma=False)(kept, key)


def batch(
    game: Game[Any],
    heads: tuple[Head, ...],
    mesh: Mesh,
    kept: ReplayState | Drawn,
    at: Array | Sample,
    key: Array,
) -> augment.Batch:
    """One of the batches, each device its part."""

    def make(ring: ReplayState | None, at: Array | Sample, key: Array) -> augment.Batch:
        mine = jax.random.fold_in(key, jax.lax.axis_index(devices.AXIS))
        samples = at if isinstance(at, Sample) else replay.read(cast(ReplayState, ring), at)
        return augment.make_batch(game, heads, mine, samples)

    spread = jax.shard_map(make, mesh=mesh, in_specs=(EACH, EACH, ALL), out_specs=EACH, check_vma=False)
    return spread(None if isinstance(kept, Drawn) else kept, at, key)
