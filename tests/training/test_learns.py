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
    for iteration in range(1, 101):
        state, _ = trainer.play(state)
        state, told = trainer.learn(state)
        if iteration < 40 or iteration % 20:  # processors round in ways of their own, and play other games by that
            continue
        walk = Walk(trainer.model, jax.device_get(state.learner.average), quiet(config))
        lost = [walk.lost(seat) for seat in (0, 1)]
        if lost == [0, 0]:
            break
    assert int(told["skipped"]) == 0
    assert lost == [0, 0]
