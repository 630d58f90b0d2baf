"""Presets: every game has one, and each could run, in the memory of the machine that it names."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import jax
import pytest

from jaxgo.cli.main import main
from jaxgo.cli.train_words import parse, settings
from jaxgo.core.errors import UsageError
from jaxgo.games import GAMES
from jaxgo.nets import NETS, Mlp
from jaxgo.nets.base import on_platform
from jaxgo.search import Greedy
from jaxgo.system import devices
from jaxgo.system.rundir import RunDir
from jaxgo.system.weights import shipped
from jaxgo.training import inherit, machine, presets, sizes
from jaxgo.training.config import completed, from_json, to_json
from jaxgo.training.presets import default_preset, preset
from jaxgo.training.shipped import MADE_WITH
from jaxgo.training.trainer import Trainer

NAMED = {"tictactoe-cpu", "connect4-cpu", "gomoku9-cpu", "go5-cpu", "connect3d", "gomoku15", "go9", "go19"}


def test_every_game_has_a_preset_and_the_named_ones_exist():
    assert set(presets.names()) >= NAMED
    assert {preset(name).config.game for name in presets.names()} == set(GAMES)
    assert all(preset(game).config.game == game for game in GAMES)
    assert len(set(presets.names())) == len(presets.names())
    assert default_preset() == ("connect4-cpu" if jax.default_backend() == "cpu" else "connect4-gpu")


@pytest.mark.parametrize("name", sorted(presets.names()))
def test_a_preset_could_run(name):
    config = preset(name).config
    assert config.budget.seconds == 60 * preset(name).minutes > 0
    assert from_json(to_json(config)) == config
    assert hash(from_json(to_json(config))) == hash(config)
    hash(config)
    samples = config.selfplay.games * config.selfplay.steps
    assert config.replay.start <= config.replay.capacity
    assert config.learner.batch <= config.replay.start, "learning would begin on a batch that is mostly repeats"
    assert 2 * samples <= config.replay.capacity, "an iteration would overwrite itself"
    for count in (config.selfplay.games, config.learner.batch, config.replay.capacity, config.replay.start):
        assert count % 8 == 0, "it could not be shared by eight devices"
    assert config.search.budget > config.selfplay.fast_simulations
    assert dataclasses.replace(config, seed=1) != config


@pytest.mark.parametrize("name", sorted(presets.names()))
def test_a_preset_fits_the_machine_that_it_names(name):
    found = preset(name)
    # JAX takes three quarters of a GPU unless it is told otherwise
    assert machine.takes(found.config) <= 0.75 * found.memory * 2**30
    assert f"{found.memory} GB" in found.hardware


@pytest.mark.slow
def test_memory_is_told_to_the_byte():
    """Against the arrays of a run that teaches all there is to learn."""
    config = preset("go5-cpu").config
    targets = dataclasses.replace(config.targets, heads=("short", "reply", "ownership", "score"))
    config = dataclasses.replace(config, net=Mlp(width=8, blocks=1), search=Greedy(), targets=targets)
    trainer = Trainer(config, devices.make_mesh())
    state, needed = jax.eval_shape(trainer.begin), machine.needs(config)
    assert _nbytes(state.replay.ring.samples) == needed.samples
    assert _nbytes(state.window) == needed.waiting


def counted(config, platform: str) -> int:
    """Bytes that a step of the learner is said to keep on such a device."""
    trainer = Trainer(config, devices.make_mesh())
    module = config.network.module(trainer.game, trainer.heads)  # the trainer's suits this processor by now
    learner = dataclasses.replace(trainer.learner, module=on_platform(module, platform))
    params = jax.eval_shape(trainer.model.init, jax.random.key(0))
    return machine.step_bytes(learner, params, machine.blank_batch(trainer), platform)


@pytest.mark.slow  # compiles for seconds
def test_what_a_step_keeps_on_an_accelerator_is_what_xla_takes():
    """The learner of go9 was compiled for an H100, with batches of 2,048: 1.05 GiB beside its arguments."""
    config = sizes.of_games(preset("go9").config, 4096)
    assert config.learner.batch == 2048
    assert 1.05 / 1.3 < counted(config, "gpu") / machine.GIB < 1.05 * 1.3
    for name in ("go9", "connect4", "go19"):
        config = preset(name).config
        layer = 2 * math.prod(config.make_game().shape) * config.net.channels
        sized = config.learner.batch * layer * config.net.blocks * machine.LEARNING
        assert 0.7 < counted(config, "gpu") / sized < 1.4, name


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="asks about the processor that it runs on")
def test_what_a_step_keeps_on_a_processor_is_what_xla_takes():
    config = preset("tictactoe-cpu").config
    config = dataclasses.replace(config, learner=dataclasses.replace(config.learner, batch=4096))
    trainer = Trainer(config, devices.make_mesh())
    params = jax.eval_shape(trainer.model.init, jax.random.key(0))
    state, batch = jax.eval_shape(trainer.learner.begin, params), machine.blank_batch(trainer)
    told = jax.jit(trainer.learner.update).lower(state, batch).compile().memory_analysis()
    assert 1 / 1.3 < counted(config, "cpu") / told.temp_size_in_bytes < 1.3


def test_a_batch_in_parts_keeps_what_a_part_does(monkeypatch):
    config = preset("go5-cpu").config
    config = dataclasses.replace(config, learner=dataclasses.replace(config.learner, batch=4096))
    told = []
    for one in (False, True):
        monkeypatch.setattr("jaxgo.evaluators.network.has_one_core", lambda one=one: one)
        told.append(counted(config, "cpu"))
    assert told[1] < told[0] / 10


def test_a_run_that_does_not_fit_is_refused_in_one_sentence(monkeypatch):
    trainer = Trainer(preset("go5-cpu").config, devices.make_mesh())
    needed, (weights, step) = machine.needs(trainer.config), machine.network(trainer)
    whole = needed.samples + needed.at_once(step) + weights
    monkeypatch.setattr(devices, "memory", lambda mesh: whole)
    machine.check(trainer)
    monkeypatch.setattr(devices, "memory", lambda mesh: whole - 1)
    with pytest.raises(UsageError, match=r"this run needs at least 0\.\d GiB .*lower replay.capacity"):
        machine.check(trainer)


def _nbytes(tree: Any) -> int:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def test_every_setting_is_explained():
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text()
    configs = (dataclasses.replace(preset("go9").config, net=net) for net in NETS.values())
    for config in configs:
        missing = [name for name in settings(config) if f"`{name}`" not in page]
        assert missing == [], "docs/training.md does not explain them"


def test_a_run_of_an_older_version_goes_on(tmp_path):
    """It knew fewer settings; those that it knew must be the same."""
    config = to_json(preset("connect4-cpu").config)
    older = {**config, "search": {name: value for name, value in config["search"].items() if name != "doubles"}}
    RunDir(tmp_path / "run", older).close()
    with pytest.raises(UsageError, match=r"is a run with search\.doubles=None, not False"):
        RunDir(tmp_path / "run", config)
    changed = {**config, "search": {**config["search"], "simulations": 33}}
    with pytest.raises(UsageError, match=r"is a run with search\.simulations=32, not 33"):
        RunDir(tmp_path / "run", changed, completed=completed)
    with RunDir(tmp_path / "run", config, completed=completed) as run:
        assert run.resumed
    gone = {**config, "learner": {**config["learner"], "decay_steps": 0}}
    with pytest.raises(UsageError, match=r"has learner.decay_steps, which is no setting of this version"):
        completed(gone)


@pytest.mark.slow
def test_weights_that_presets_begin_with_fit(tmp_path):
    begun = {name: preset(name).init_from for name in presets.names() if preset(name).init_from}
    assert begun == {
        "connect4-late-cpu": "connect4-long-cpu",
        "connect4-late-gpu": "connect4-gpu",
        "gomoku15-cpu": "gomoku9-cpu",
        "go9-late-cpu": "go9-cpu",
        "go9-later-cpu": "go9-late-cpu",
        "go9-last-cpu": "go9-later-cpu",
        "go9-deep-cpu": "go9-last-cpu",
        "go9-late-gpu": "go9-gpu",
        "go13-gpu": "go9-late-gpu",
        "go13-cpu": "go9-late-cpu",
        "go13-late-cpu": "go13-cpu",
        "othello-late-cpu": "othello-cpu",
    }
    for name, words in begun.items():
        job = parse([name])
        assert job.init_from == words
        assert inherit.find(Trainer(job.config, devices.make_mesh()), words, tmp_path) is not None
        assert not parse([name, "--init-from", ""]).init_from


@pytest.mark.slow
def test_shipped_weights_tell_settings_that_are_others_by_now(capsys):
    """What one types to make them again is not the preset alone, and no longer than it must be."""
    assert set(MADE_WITH) <= set(shipped())
    for name, typed in MADE_WITH.items():
        words = typed.split()
        starts = [i for i, word in enumerate(words) if word.startswith("--")]
        flags = [words[a:b] for a, b in zip(starts, [*starts[1:], len(words)], strict=True)]
        then = parse([name, *words]).config
        for flag in flags:
            rest = [word for other in flags if other != flag for word in other]
            assert parse([name, *rest]).config != then, f"{name} has {flag} today"
    assert main(["weights", "go9-cpu"]) == 0
    assert f"uv run train.py go9-cpu {MADE_WITH['go9-cpu']}\n" in capsys.readouterr().out


def test_a_game_that_is_registered_late_has_a_preset(monkeypatch):
    monkeypatch.setattr("jaxgo.games.GAMES", GAMES | {"tiny": GAMES["tictactoe"]})
    monkeypatch.setattr(presets, "GAMES", GAMES | {"tiny": GAMES["tictactoe"]})
    assert "tiny" in presets.names()
    assert preset("tiny").config.make_game() == GAMES["tictactoe"]
