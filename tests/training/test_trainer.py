"""The programs of a run on two devices: one trace for each, no host in the way, and the same numbers after it was
resumed."""

import dataclasses
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import small_run
from small_run import copied, same

from jaxgo.core.errors import UsageError
from jaxgo.selfplay import Selfplay
from jaxgo.system import devices
from jaxgo.system.rundir import RunDir
from jaxgo.training import learner, targets
from jaxgo.training import trainer as trainers
from jaxgo.training.config import JudgeConfig, to_json
from jaxgo.training.loop import Loop, train
from jaxgo.training.trainer import Best, Trainer, TrainState

# without judgements, and so with programs of its own: their traces are counted here
CONFIG = dataclasses.replace(small_run.CONFIG, judge=JudgeConfig(every=0.0, final=()))


@pytest.fixture(scope="module")
def trainer() -> Trainer:
    return Trainer(CONFIG, devices.make_mesh())


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs") / "smoke"


@pytest.fixture(scope="module")
def traces() -> dict[str, int]:
    """How often a part of each program was traced; `states` fills it in."""
    return {}


@pytest.fixture(scope="module")
def states(trainer: Trainer, path: Path, traces: dict[str, int]) -> Iterator[dict[int, Any]]:
    """What a run was after some iterations, one of which is saved."""

    def counted(name: str, function: Any) -> Any:
        def call(*args: Any) -> Any:
            traces[name] = traces.get(name, 0) + 1
            return function(*args)

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(targets, "make_samples", counted("play", targets.make_samples))
        patch.setattr(learner, "make_batch", counted("learn", learner.make_batch))
        patch.setattr(Selfplay, "collect", counted("search", Selfplay.collect))
        state, seen = trainer.begin(), {}
        with RunDir(path.with_name("resumed"), to_json(CONFIG)) as run:
            for iteration in range(1, 7):
                state, _ = trainer.play(state)
                state, told = trainer.learn(state, (iteration - 1) / 6)
                seen[iteration] = copied((state, told))
                if iteration == 1:
                    traces["first"] = traces["play"] + traces["learn"]
                if iteration == 3:
                    run.checkpoints.save(3, state)
        traces["last"] = traces["play"] + traces["learn"]
        yield seen


def test_learning_begins_when_there_is_enough_to_learn_from(states):
    steps = [int(told["step"]) for _, told in states.values()]
    for (_, told), step, before in zip(states.values(), steps, [0, *steps], strict=False):
        assert step == before + (CONFIG.updates if told["samples"] >= 64 else 0)
        assert np.isfinite([*told.values()]).all(), "`jax_debug_nans` would stop at NaN"
    assert steps[0] == 0 < steps[-1], "this run shows both"
    assert [round(float(states[i][1]["rate"]), 7) for i in (4, 5, 6)] == [2e-3, 1.55e-3, 6.5e-4], "a cosine"


def test_a_state_goes_through_the_run_folder_and_on_as_if_nothing_had_been(trainer, states, path):
    with RunDir(path.with_name("resumed"), to_json(CONFIG)) as run:
        found = run.checkpoints.restore(trainer.begin())
        assert found is not None
        step, state = found
        assert step == 3
        same(state, states[3][0])
        for gone in (3, 4, 5):
            state, _ = trainer.play(state)
            state, told = trainer.learn(state, gone / 6)
        same((state, told), states[6])


@pytest.mark.slow
@pytest.mark.usefixtures("two_devices")
def test_a_run_of_two_devices_goes_on_on_one_and_back(trainer, states, path, tmp_path):
    """All samples and games are there, in other places; a network does not notice."""
    shutil.copytree(path.with_name("resumed"), tmp_path / "moved")
    said: list[str] = []
    single = Trainer(CONFIG, devices.make_mesh(jax.devices()[:1]))
    with RunDir(tmp_path / "moved", to_json(CONFIG), say=said.append) as run:
        one = Loop(single, run, lambda report: None).state
        run.checkpoints.save(4, one._replace(iteration=one.iteration + 1))
        two = copied(Loop(trainer, run, lambda report: None).state)
    (before, _), one = states[3], copied(one)
    assert one.replay.ring.seen.shape == (1,)
    for now in (one, two):
        for part in ("learner", "selfplay", "window", "played", "key"):
            same(getattr(now, part), getattr(before, part))
        assert _rows(now) == _rows(before)
        assert now.replay.ring.seen.sum() == before.replay.ring.seen.sum()
    assert [sentence.split(":")[0] for sentence in said] == [
        "checkpoint 3 is of 2 devices and goes on on 1",
        "checkpoint 4 is of 1 devices and goes on on 2",
    ]


def _rows(state: TrainState) -> list[bytes]:
    """The samples of a ring, whatever their places."""
    rows = zip(*(leaf.reshape(len(leaf), -1) for leaf in jax.tree.leaves(state.replay.ring.samples)), strict=True)
    return sorted(b"".join(part.tobytes() for part in row) for row in rows)


def test_every_program_is_traced_once_and_runs_without_the_host(trainer, states, traces, monkeypatch):
    """An equal trainer is the same to the compiler, whatever is in its book; the steady state needs no host."""
    other = jax.tree.map(lambda x: x[::-1], trainer.book)
    monkeypatch.setattr(trainers, "read_book", lambda *_: other)
    equal = Trainer(CONFIG, devices.make_mesh())
    assert equal == trainer
    assert equal.book is not trainer.book
    before = traces["play"] + traces["learn"]  # a run on one device, in another test, has programs of its own
    state, _ = equal.play(equal.begin())
    state, _ = equal.learn(state)
    jax.block_until_ready(state)
    with jax.transfer_guard("disallow"):
        state, _ = equal.play(state)
        state, _ = equal.learn(state)
    assert traces["play"] + traces["learn"] == before
    assert traces["last"] == traces["first"] > 0
    assert traces.get("search", 0) <= 1, "what a run begins with has its shapes from the trace that plays"


@pytest.mark.usefixtures("two_devices")
def test_games_and_samples_lie_on_both_devices_and_differ(states, trainer):
    state = trainer.begin()
    for part in (state.selfplay, state.replay.ring):
        assert all(len(leaf.sharding.device_set) == 2 for leaf in jax.tree.leaves(part))
    assert trainer.book is not None
    book = np.asarray(trainer.book.state.ply)
    assert book.tolist() == sorted(book), "openings of the arena, the short ones first"
    assert book[0] == 2
    begun = np.asarray(state.selfplay.position.state.ply)
    for half in (begun[:8], begun[8:]):
        assert 0 in half
        assert {*half} - {0}, "half of the games begin in the book"
        assert {*half} - {0} <= {*book}
    samples = states[6][0].replay.ring.samples
    halves = [samples.value[:256], samples.value[256:]]
    assert not np.array_equal(*halves)
    assert (states[6][0].replay.ring.seen > 0).all()


def test_the_run_is_the_programs_and_nothing_else(states, path):
    with RunDir(path, to_json(CONFIG)) as folder:
        state = train(CONFIG, folder)
    same(state._replace(seconds=jnp.float32(0), played=jnp.zeros((2, 2), jnp.int32)), states[6][0])
    assert state.played[1].tolist() == [0, 6 * 16 * 6], "moves"


def test_self_play_is_made_by_the_average_or_by_whom_the_gate_let_through():
    state = TrainState(**dict.fromkeys(TrainState._fields))
    state = state._replace(learner=SimpleNamespace(params="newest", average="average"))
    assert state.player == "average"
    assert state._replace(best=Best("best", jnp.int32(0), jnp.int32(0))).player == "best"


def test_who_plays_is_the_best_where_there_is_a_gate(trainer, states):
    """The same games come from weights that are the newest, and from weights that a gate has let through."""
    other = jax.tree.map(lambda x: x + 0.5, trainer.begin().learner.average)
    newest, gated = trainer.begin(), trainer.begin()
    newest = newest._replace(learner=newest.learner._replace(average=other))
    zero = jnp.int32(0)
    played, _ = trainer.play(newest)
    tested, _ = trainer.play(gated._replace(best=Best(other, zero, zero)))
    same(played.window, tested.window)
    usual, _ = trainer.play(trainer.begin())
    assert not np.array_equal(tested.window.plies.value, usual.window.plies.value)


def changed(config, settings):
    """The config with other settings of its parts."""
    parts = {part: dataclasses.replace(getattr(config, part), **values) for part, values in settings.items()}
    return dataclasses.replace(config, **parts)


@pytest.mark.usefixtures("two_devices")
def test_numbers_that_devices_can_share_are_named_together():
    """One of them alone would be answered by the next refusal."""
    few = 2 * 15 * CONFIG.selfplay.steps + 1  # samples: enough for 15 games, and not for 16
    uneven = {"selfplay": {"games": 15}, "learner": {"batch": 33}, "replay": {"capacity": few}}
    with pytest.raises(UsageError) as refused:
        Trainer(changed(CONFIG, uneven), devices.make_mesh())
    said = str(refused.value)
    assert said.startswith(
        f"selfplay.games=15, learner.batch=33, replay.capacity={few} cannot be shared by 2 devices; say"
    )
    even = {part: {name: int(number)} for part, name, number in re.findall(r"--(\w+)\.(\w+) (\d+)", said)}
    assert even.keys() == uneven.keys()
    Trainer(changed(CONFIG, even), devices.make_mesh())


@pytest.mark.usefixtures("two_devices")
@pytest.mark.parametrize(
    ("part", "change", "said"),
    [
        ("selfplay", {"games": 15}, "selfplay.games=15 cannot be shared by 2 devices"),
        ("learner", {"batch": 33}, "learner.batch=33 cannot be shared by 2 devices"),
        ("replay", {"capacity": 128}, "replay.capacity=128 is too small"),
    ],
)
def test_what_does_not_fit_the_devices_is_refused(part, change, said):
    with pytest.raises(UsageError, match=said):
        Trainer(changed(CONFIG, {part: change}), devices.make_mesh())
