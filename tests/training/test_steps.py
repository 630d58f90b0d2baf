"""Networks with convolutions on a CPU: steps that the host tells one by one are the steps of the loop."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgo.nets import ResNet
from jaxgo.search import Greedy
from jaxgo.selfplay import SelfplayConfig
from jaxgo.system import devices
from jaxgo.training import trainer as programs
from jaxgo.training.config import LearnerConfig, ReplayConfig, TargetsConfig, TrainConfig
from jaxgo.training.trainer import Trainer

CONFIG = TrainConfig(
    game="tictactoe",
    net=ResNet(channels=4, blocks=1),
    search=Greedy(),
    selfplay=SelfplayConfig(games=16, steps=2),
    targets=TargetsConfig(heads=("short",)),
    replay=ReplayConfig(capacity=128, start=64),
    learner=LearnerConfig(batch=32, reuse=4.0, warmup=0),
)


@pytest.fixture(scope="module")
def trainer() -> Trainer:
    return Trainer(CONFIG, devices.make_mesh())


@pytest.fixture(scope="module")
def begun(trainer) -> Any:
    """A run whose ring is full of made-up samples."""
    state = trainer.begin()
    ring, kept = state.replay, state.replay.samples
    value = jnp.linspace(-1, 1, len(kept.value))
    ones = {name: jnp.ones_like(getattr(kept, name)) for name in ("policy", "policy_weight", "value_weight", "weight")}
    return state._replace(replay=ring._replace(samples=kept._replace(value=value, **ones), seen=ring.seen + 100))


def test_single_steps_are_the_steps_of_the_loop(trainer, begun, monkeypatch):
    looped = programs._learn(trainer, _copied(begun.learner), begun.replay, begun.key, begun.iteration)
    monkeypatch.setattr(programs, "_learn", None)  # it is not called
    state, told = trainer.learn(begun._replace(learner=_copied(begun.learner)))
    assert int(state.learner.step) == CONFIG.updates == 4
    assert int(state.iteration) == 1
    assert told.keys() == looped[2].keys()
    for one, other in zip(jax.tree.leaves((state.learner, told)), jax.tree.leaves((looped[0], looped[2])), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_without_samples_no_step_is_taken(trainer, begun):
    young = begun._replace(learner=_copied(begun.learner), replay=begun.replay._replace(seen=begun.replay.seen * 0))
    state, told = trainer.learn(young)
    assert (int(state.learner.step), int(state.iteration), float(told["samples"])) == (0, 1, 0.0)
    assert np.isnan(float(told["loss"]))
    jax.tree.map(np.testing.assert_array_equal, state.learner.params, begun.learner.params)


def _copied(tree: Any) -> Any:
    return jax.tree.map(jnp.copy, tree)
