"""Going back to an earlier checkpoint: when a run does, when it ends instead, and what is other from there on."""

import inspect
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from small_run import CONFIG

from jaxgo.search.health import EvaluatorError
from jaxgo.system import devices
from jaxgo.system.metrics import read_rows
from jaxgo.system.rundir import RunDir
from jaxgo.system.weights import weight_steps
from jaxgo.training import going_back
from jaxgo.training.config import to_json
from jaxgo.training.loop import DivergedError, Loop, train
from jaxgo.training.trainer import Trainer


@pytest.fixture(scope="module")
def trainer() -> Trainer:
    return Trainer(CONFIG, devices.make_mesh())


class Samples(NamedTuple):
    key: Any


class State(NamedTuple):
    key: Any
    replay: Samples


@pytest.mark.usefixtures("two_devices")
def test_random_numbers_are_renewed_where_samples_lie_on_other_devices_than_the_run():
    """As with `replay.memory=host` beside an accelerator: no program takes arrays of both."""
    mine, beside = (
        NamedSharding(Mesh(np.array(order), "x"), PartitionSpec()) for order in (jax.devices(), jax.devices()[::-1])
    )
    state = State(jax.device_put(jax.random.key(1), mine), Samples(jax.device_put(jax.random.key(2), beside)))
    fresh = inspect.unwrap(going_back.renewed)(state)
    assert (fresh.key.sharding, fresh.replay.key.sharding) == (mine, beside)
    for one, other in ((fresh.key, state.key), (fresh.replay.key, state.replay.key)):
        assert (jax.random.key_data(one) != jax.random.key_data(other)).any()


@pytest.mark.slow
def test_a_learner_that_stays_broken_ends_the_run(trainer, tmp_path):
    with RunDir(tmp_path / "broken", to_json(CONFIG)) as folder:
        loop = Loop(trainer, folder, lambda report: None)
        with pytest.raises(DivergedError, match="the last 3 steps of the learner were broken"):
            loop._check({"broken": 0.0, "illegal": 0.0}, {"broken": 3.0})


@pytest.mark.usefixtures("two_devices")  # whose loop hears of an iteration at once
def test_broken_numbers_go_back_once_and_end_the_run_the_second_time(trainer, tmp_path):
    """A checkpoint whose numbers are broken is passed over, and gone: the next sitting must not begin with it."""
    reports, said = [], []

    def spoil(loop: Loop) -> None:
        learner = loop.state.learner
        broken = learner._replace(
            params=jax.tree.map(lambda x: jax.device_put(np.full(x.shape, np.nan, x.dtype), x.sharding), learner.params)
        )
        loop.state = loop.state._replace(learner=broken)

    with RunDir(tmp_path / "gone-back", to_json(CONFIG), say=said.append) as folder:
        loop = Loop(trainer, folder, reports.append)
        for _ in range(3):
            loop.advance()
        loop.save()
        key = jax.random.key_data(loop.state.key)
        loop.advance()
        spoil(loop)
        loop.save()
        folder.checkpoints.wait()
        assert folder.checkpoints.steps() == [3, 4]
        loop.advance()
        (told,) = said
        assert told.startswith("iteration 5: the last 3 steps of the learner were broken (NaN or infinite); the last")
        assert told.endswith("; going back to checkpoint 3, once, with other random numbers")
        assert reports[-1][:2] == ("start", 3)
        assert not any(loop._collapse._seen.values()), "iterations that are made again count once"
        assert folder.checkpoints.steps() == weight_steps(folder.path) == [3]
        renewed = jax.random.key_data(loop.state.key)
        assert not np.array_equal(key, renewed)
    with RunDir(tmp_path / "gone-back", to_json(CONFIG), say=said.append) as folder:
        loop = Loop(trainer, folder, reports.append)  # stopped before the next checkpoint, it begins there again
        assert np.array_equal(jax.random.key_data(loop.state.key), renewed)
        loop.advance()
        assert loop.iteration == 4
        assert np.isfinite(reports[-1].metrics["loss"]["total"])
        spoil(loop)
        with pytest.raises(DivergedError, match=r"iteration 5: .*; it had gone back once already, after iteration 5: "):
            loop.advance()


@pytest.mark.slow
def test_broken_numbers_of_the_last_iteration_go_back_too(trainer, tmp_path, monkeypatch):
    """They are heard after the loop, and ended the run with a sentence: the same command came to them again."""
    said: list[str] = []
    whole, times = Loop._hear, []

    def hear(self: Loop) -> None:
        if self.iteration < 6 or said:
            return whole(self)
        times.append(self.iteration)
        if len(times) > 1:  # the first time is in the loop; on one device it would be behind it
            self._underway.clear()
            raise EvaluatorError("the network gave numbers that are not finite in self-play")
        return None

    with RunDir(tmp_path / "late", to_json(CONFIG), say=said.append) as folder:
        loop = Loop(trainer, folder, lambda report: None)
        for _ in range(3):
            loop.advance()
        loop.save()
    monkeypatch.setattr(Loop, "_hear", hear)
    with RunDir(tmp_path / "late", to_json(CONFIG), say=said.append) as folder:
        state = train(CONFIG, folder)
    assert int(state.iteration) == 6
    played = [row["iteration"] for row in read_rows(tmp_path / "late") if row["phase"] == "play"]
    assert played == [4, 5, 6], "what is made again is told once; the loop alone writes no rows"
    assert [sentence.partition(";")[0] for sentence in said] == [
        "iteration 6: the network gave numbers that are not finite in self-play"
    ]


def test_a_run_without_a_good_checkpoint_ends_at_once(trainer, tmp_path):
    with RunDir(tmp_path / "never-saved", to_json(CONFIG)) as folder:
        loop = Loop(trainer, folder, lambda report: None)
        advice = r"not finite in self-play; train with a lower learner\.rate in another"
        with pytest.raises(DivergedError, match=advice):
            loop._go_back(EvaluatorError("the network gave numbers that are not finite in self-play"))
