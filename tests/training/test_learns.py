"""The whole of it: from nothing to play that never loses."""

import dataclasses

import jax
import pytest
from training import Walk, quiet

from jaxgo.system import devices
from jaxgo.training.presets import preset
from jaxgo.training.trainer import Trainer


@pytest.mark.slow  # half a minute of compilation, some seconds of learning
def test_tic_tac_toe_is_learnt_from_nothing():
    config = dataclasses.replace(preset("tictactoe-cpu").config, seed=1)
    trainer = Trainer(config, devices.make_mesh())
    state = trainer.begin()
    for _ in range(40):
        state, _ = trainer.play(state)
        state, told = trainer.learn(state)
    assert int(told["skipped"]) == 0
    walk = Walk(trainer.model, jax.device_get(state.learner.average), quiet(config))
    assert [walk.lost(seat) for seat in (0, 1)] == [0, 0]
