"""Runs that a program trains, not the command: what is interrupted is saved, and a folder has what was trained."""

import dataclasses
import inspect
import json
import os
import signal

import jax
import numpy as np
import pytest
from support import untyped

from jaxgo.arena.schedule import Schedule
from jaxgo.core.errors import UsageError
from jaxgo.nets import Mlp
from jaxgo.search import AlphaBeta, Greedy, Gumbel
from jaxgo.selfplay import SelfplayConfig
from jaxgo.system import devices
from jaxgo.system.metrics import read_rows
from jaxgo.system.rundir import RunDir
from jaxgo.system.weights import load_weights
from jaxgo.training import ready
from jaxgo.training.config import (
    Budget,
    JudgeConfig,
    LearnerConfig,
    ReplayConfig,
    TargetsConfig,
    TrainConfig,
    from_json,
    to_json,
)
from jaxgo.training.loop import train
from jaxgo.training.trainer import Trainer

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

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which workers of pytest have not
    try:
        with pytest.raises(KeyboardInterrupt), RunDir(tmp_path / "run", to_json(CONFIG)) as run:
            train(CONFIG, run, watch)
    finally:
        signal.signal(signal.SIGINT, before)
    with RunDir(tmp_path / "run", to_json(CONFIG)) as run:
        assert run.checkpoints.steps()[-1] >= 3


@pytest.mark.slow
@pytest.mark.parametrize("error", [ZeroDivisionError("mine"), SystemExit(3)], ids=repr)
def test_an_error_of_a_watcher_is_raised_when_all_is_saved(error, tmp_path):
    heard = []

    def watch(report):
        heard.append(report.phase)
        if report.phase == "play" and report.iteration == 3:
            raise error

    with RunDir(tmp_path / "run", to_json(CONFIG)) as run:
        with pytest.raises(type(error)) as caught:
            train(CONFIG, run, watch)
        assert caught.value is error
        saved = run.checkpoints.steps()[-1]
        assert 3 <= saved < 10
        assert load_weights(run.path)[0]["step"] == saved
        assert [row["iteration"] for row in read_rows(run.path)] == list(range(1, saved + 1))
    assert heard.count("play") == 3
    assert heard[-1] == "play", "it is asked no more"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: untyped(TrainConfig, options=("komi",)), "options has 'komi', which is no name with a value"),
        (lambda: untyped(TrainConfig, options=((1, 2),)), r"options has \(1, 2\), which is no name with a value"),
        (lambda: untyped(TargetsConfig, heads=([1],)), r"\[1\] is no name of a head"),
        (lambda: Trainer(CONFIG, jax.make_mesh((1,), ("x",))), "a mesh of one axis, 'data'"),
    ],
)
def test_parts_that_a_program_gets_wrong_are_named(wrong, said):
    with pytest.raises(UsageError, match=said):
        wrong()


def test_an_error_of_a_watcher_before_anything_is_learnt_is_raised_at_once(tmp_path, monkeypatch):
    def watch(report):
        raise ZeroDivisionError

    monkeypatch.setattr(Trainer, "begin", None)  # which would compile
    with RunDir(tmp_path / "run", to_json(CONFIG)) as run:
        with pytest.raises(ZeroDivisionError):
            train(CONFIG, run, watch)
        assert not run.checkpoints.steps()


def test_a_folder_is_of_the_config_that_is_trained(tmp_path):
    with RunDir(tmp_path / "run", to_json(CONFIG)) as run:
        with pytest.raises(UsageError, match=r"was made for a run with net\.width=8, not 16; make the RunDir with"):
            train(dataclasses.replace(CONFIG, net=Mlp(width=16, blocks=1)), run)
        assert not run.checkpoints.steps()


def test_what_is_no_config_and_no_folder_is_refused(tmp_path):
    for wrong in ((CONFIG, str(tmp_path)), (None, None)):
        with pytest.raises(UsageError, match="train takes a TrainConfig and a RunDir"):
            inspect.unwrap(train)(*wrong)


def test_what_is_no_watcher_is_refused_before_anything_is_written(tmp_path):
    with RunDir(tmp_path / "run", to_json(CONFIG)) as run:
        before = sorted(run.path.rglob("*"))
        for wrong in ({"watch": None}, {"stop": False}):
            with pytest.raises(UsageError, match="watch is a function of a report, and stop one of nothing; leave out"):
                inspect.unwrap(train)(CONFIG, run, **wrong)
        assert sorted(run.path.rglob("*")) == before
    with pytest.raises(UsageError, match="a dict is no path of a folder, which comes before the config"):
        inspect.unwrap(RunDir.__init__)(object.__new__(RunDir), to_json(CONFIG), tmp_path / "run")


def test_a_setting_of_the_wrong_kind_is_named():
    for wrong, said in (
        ({"learner": {"batch": 64}}, "no LearnerConfig, which learner= takes"),
        ({"selfplay": {"games": 64}}, "no SelfplayConfig, which selfplay= takes"),
    ):
        with pytest.raises(UsageError, match=said):
            untyped(TrainConfig, **wrong)
    with pytest.raises(UsageError, match="'4' is no number of plies"):
        untyped(TargetsConfig, horizons=("4",))
    with pytest.raises(UsageError, match="'x' is no precision in Elo"):
        untyped(Schedule, until="x")


def test_numbers_of_numpy_are_written_down_as_others():
    """`to_json` gave them back as they were, and RunDir asked for what to_json makes."""
    config = untyped(
        TrainConfig,
        search=untyped(Gumbel, simulations=np.int64(2)),
        net=untyped(Mlp, width=np.int32(8)),
        learner=untyped(LearnerConfig, rate=np.float32(0.5)),
        targets=untyped(TargetsConfig, horizons=(np.float32(4.5),)),
        seed=np.uint32(3),
    )
    written = json.loads(json.dumps(to_json(config)))
    assert from_json(written) == config
    assert written["seed"] == 3
    assert written["learner"]["rate"] == 0.5


def test_a_game_that_is_over_at_its_start_teaches_nothing():
    config = dataclasses.replace(CONFIG, game="hughe", options=(("rows", "1."), ("goal", "1.")))
    with pytest.raises(UsageError, match="hughe is over at its start, so there is nothing to learn"):
        ready.check(Trainer(config, devices.make_mesh()))


def test_a_search_that_finds_one_move_is_given_other_starts():
    play = dataclasses.replace(CONFIG.selfplay, temperature=0.0, final_temperature=0.0, opening=0.5)
    for selfplay, said in (
        (CONFIG.selfplay, "alphabeta finds one move, so say selfplay.temperature=0"),
        (play, "the same game from the same start, so say selfplay.opening=1"),
    ):
        config = dataclasses.replace(CONFIG, search=AlphaBeta(simulations=8, depth=3), selfplay=selfplay)
        with pytest.raises(UsageError, match=said):
            ready.check(Trainer(config, devices.make_mesh()))
    config = dataclasses.replace(config, selfplay=dataclasses.replace(play, opening=1.0))
    ready.check(Trainer(config, devices.make_mesh()))


def test_what_could_not_begin_is_refused_by_name(tmp_path):
    """A search that teaches nothing trained, and a judge that cannot play was found out at the first judgement."""
    for wrong, said in (
        ({"search": Greedy()}, "search greedy makes no simulations"),
        ({"judge": JudgeConfig(opponents=("threats:9",))}, "has threats:9: Mnk knows no threats"),
    ):
        config = dataclasses.replace(CONFIG, **wrong)
        with RunDir(tmp_path / next(iter(wrong)), to_json(config)) as folder, pytest.raises(UsageError, match=said):
            train(config, folder)
