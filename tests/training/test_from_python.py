"""Runs that a program trains, not the command: what is interrupted is saved, and a folder has what was trained."""

import dataclasses
import os
import signal

import pytest

from jaxgo.core.errors import UsageError
from jaxgo.nets import Mlp
from jaxgo.search import Gumbel
from jaxgo.selfplay import SelfplayConfig
from jaxgo.system.rundir import RunDir
from jaxgo.training.config import Budget, JudgeConfig, LearnerConfig, ReplayConfig, TrainConfig, to_json
from jaxgo.training.loop import train

CONFIG = TrainConfig(
    game="tictactoe",
    net=Mlp(width=8, blocks=1),
    search=Gumbel(simulations=2),
    selfplay=SelfplayConfig(games=16, steps=4),
    replay=ReplayConfig(capacity=512, start=64),
    learner=LearnerConfig(batch=32),
    judge=JudgeConfig(every=0.0, final=()),
    budget=Budget(iterations=10_000),
)


@pytest.mark.slow
def test_ctrl_c_saves_before_it_interrupts_the_program(tmp_path):
    def watch(report):
        if report.phase == "play" and report.iteration == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), RunDir(tmp_path / "run", to_json(CONFIG)) as run:
        train(CONFIG, run, watch)
    with RunDir(tmp_path / "run", to_json(CONFIG)) as run:
        assert run.checkpoints.steps()[-1] >= 3


def test_a_folder_is_of_the_config_that_is_trained(tmp_path):
    with RunDir(tmp_path / "run", to_json(CONFIG)) as run:
        with pytest.raises(UsageError, match=r"was made for a run with net\.width=8, not 16; make the RunDir with"):
            train(dataclasses.replace(CONFIG, net=Mlp(width=16, blocks=1)), run)
        assert not run.checkpoints.steps()
