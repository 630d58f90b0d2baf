"""Samples in the memory of the host: the same rule, nothing lost, the same numbers after a resumption, two devices."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgo.core.errors import UsageError
from jaxgo.nets import Mlp
from jaxgo.search import Greedy
from jaxgo.selfplay import SelfplayConfig
from jaxgo.system import devices
from jaxgo.system.rundir import RunDir
from jaxgo.training import replay
from jaxgo.training.config import LearnerConfig, ReplayConfig, TargetsConfig, TrainConfig, to_json
from jaxgo.training.replay import HostReplay
from jaxgo.training.trainer import Trainer

CONFIG = TrainConfig(
    game="tictactoe",
    net=Mlp(width=16, blocks=1),
    search=Greedy(),
    selfplay=SelfplayConfig(games=16, steps=6),
    targets=TargetsConfig(heads=("short",)),
    replay=ReplayConfig(capacity=512, start=64, memory="host"),
    learner=LearnerConfig(batch=32, reuse=1.0),
)


def copied(tree: Any) -> Any:
    def word(x: Any) -> Any:
        return np.array(jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x)

    return jax.tree.map(word, tree)


@pytest.fixture(scope="module")
def trainer(two_devices: None) -> Iterator[Trainer]:
    """On two devices, whose samples are kept on the other one each: what is not carried over shows."""
    mesh = devices.make_mesh()
    assert mesh.devices.size == 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(devices, "beside", lambda mesh: devices.make_mesh(list(mesh.devices.flat)[::-1]))
        trainer = Trainer(CONFIG, mesh)
        assert isinstance(trainer.replay, HostReplay)
        yield trainer


@pytest.fixture(scope="module")
def states(trainer, tmp_path_factory) -> dict[int, Any]:
    """A run of six iterations, and what was fresh in each; the third is saved."""
    path, seen = tmp_path_factory.mktemp("runs") / "host", {}
    state = trainer.begin()
    with RunDir(path, to_json(CONFIG)) as run:
        for iteration in range(1, 7):
            state, _ = trainer.play(state)
            fresh = copied(state.replay.pending)
            with jax.transfer_guard("disallow"):
                state, told = trainer.learn(state)
            seen[iteration] = copied(state), told, fresh
            if iteration == 3:
                run.checkpoints.save(3, state)
    return seen | {0: path}


@pytest.mark.slow
def test_the_samples_lie_beside_the_devices_that_play(trainer, states):
    state = trainer.begin()
    for leaf in jax.tree.leaves(state.replay.ring):
        assert [part.device for part in leaf.addressable_shards] != list(trainer.mesh.devices.flat)
        assert leaf.sharding.mesh == trainer.replay.home
    assert {leaf.shape[0] for leaf in jax.tree.leaves(state.replay.ring.samples)} == {512}


@pytest.mark.slow
def test_every_sample_comes_into_the_ring_of_its_device(states):
    for device in range(2):
        half = slice(96 * device, 96 * (device + 1))
        ring, wanted, count = states[6][0].replay.ring, np.zeros(256, np.float32), 0
        for iteration in range(1, 7):
            fresh = states[iteration][2]
            values = fresh.samples.value[half][fresh.present[half]]
            wanted[np.arange(count, count + len(values)) % 256] = values
            count += len(values)
        np.testing.assert_array_equal(ring.samples.value[256 * device : 256 * (device + 1)], wanted)
        assert ring.seen[device] == count > 64
        assert len(fresh.present) == 2 * 96
        assert states[6][0].replay.pending is None


@pytest.mark.slow
def test_learning_begins_when_there_is_enough(states):
    """It learns from what was kept before its own iteration."""
    steps = [int(states[iteration][1]["step"]) for iteration in range(1, 7)]
    seen = [0, *(states[iteration][0].replay.ring.seen.sum() for iteration in range(1, 6))]
    assert [float(states[iteration][1]["samples"]) for iteration in range(1, 7)] == seen
    assert [bool(step) for step in steps] == [count >= 64 for count in seen]
    assert steps[0] == 0 < steps[-1], "this run shows both"
    assert np.isfinite(float(states[6][1]["loss"]))


@pytest.mark.slow
def test_batches_are_drawn_by_the_rule_of_the_ring(trainer, states):
    """Each device draws from its own half what `replay.draw` says, for all batches at once."""
    kept = trainer.begin().replay
    ring = jax.device_put(states[6][0].replay.ring, kept.ring.samples.value.sharding)
    after, drawn = trainer.replay.draw(kept._replace(ring=ring, draws=jax.device_put(5, kept.draws.sharding)))
    assert int(after.draws) == 6
    assert drawn.samples.value.shape == (CONFIG.updates, 32)
    key = jax.random.wrap_key_data(copied(kept.key))
    draw = jax.jit(replay.draw, static_argnums=(0, 3, 4, 5))
    for device in range(2):
        mine = jax.tree.map(lambda x, d=device: jnp.asarray(np.split(x, 2)[d]), copied(ring))
        own = jax.random.fold_in(jax.random.fold_in(key, 5), device)
        place = draw(CONFIG.replay, mine, own, CONFIG.updates, 16, 2)
        np.testing.assert_array_equal(
            drawn.samples.value[:, 16 * device : 16 * (device + 1)], np.asarray(mine.samples.value)[np.asarray(place)]
        )


@pytest.mark.slow
def test_a_resumed_run_is_the_same_run(trainer, states):
    with RunDir(states[0], to_json(CONFIG)) as run:
        found = run.checkpoints.restore(trainer.begin())
    assert found is not None
    state = found[1]
    assert state.replay.ring.samples.value.sharding.mesh == trainer.replay.home
    for _ in range(3):
        state, _ = trainer.play(state)
        state, told = trainer.learn(state)
    jax.tree.map(np.testing.assert_array_equal, copied((state, told)), copied(states[6][:2]))


def test_an_unknown_memory_is_refused():
    with pytest.raises(UsageError, match=r"unknown replay.memory 'disk'; choose one of: device, host"):
        dataclasses.replace(CONFIG.replay, memory="disk")


def test_each_accelerator_needs_a_cpu_device_of_its_own_process():
    @dataclasses.dataclass(frozen=True)
    class Device:
        name: str
        process_index: int

    free = [Device("cpu0", 0), Device("cpu1", 0), Device("cpu2", 1)]
    wanted = [Device("gpu0", 1), Device("gpu1", 0)]
    assert [one.name for one in devices.neighbours(wanted, free)] == ["cpu2", "cpu0"]
    with pytest.raises(UsageError, match=r"a CPU device for each accelerator.*JAX_NUM_CPU_DEVICES=3"):
        devices.neighbours([*wanted, Device("gpu2", 1)], free)
