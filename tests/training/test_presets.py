"""Presets: every game has one, and each could run."""

import dataclasses
from pathlib import Path

import pytest

from jaxgo.games import GAMES
from jaxgo.nets import NETS
from jaxgo.training.command import settings
from jaxgo.training.config import from_json, to_json
from jaxgo.training.presets import PRESETS, default_preset

NAMED = {"tictactoe-smoke", "connect4-cpu", "gomoku9-cpu", "go5-cpu", "connect3d", "gomoku15", "go9", "go19"}


def test_every_game_has_a_preset_and_the_named_ones_exist():
    assert set(PRESETS) >= NAMED
    assert {preset.config.game for preset in PRESETS.values()} == set(GAMES)
    assert all(PRESETS[game].config.game == game for game in GAMES)
    assert default_preset() == "connect4-cpu"  # no accelerator here


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_preset_could_run(name):
    preset = PRESETS[name]
    config = preset.config
    assert config.budget.seconds == 60 * preset.minutes > 0
    assert from_json(to_json(config)) == config
    hash(config)
    samples = config.selfplay.games * config.selfplay.steps
    assert config.replay.start <= config.replay.capacity
    assert config.learner.batch <= config.replay.start, "learning would begin on a batch that is mostly repeats"
    assert 2 * samples <= config.replay.capacity, "an iteration would overwrite itself"
    for count in (config.selfplay.games, config.learner.batch, config.replay.capacity, config.replay.start):
        assert count % 8 == 0, "it could not be shared by eight devices"
    assert config.search.budget > config.selfplay.cheap
    assert dataclasses.replace(config, seed=1) != config


def test_every_setting_is_explained():
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text()
    configs = (dataclasses.replace(PRESETS["go9"].config, net=net) for net in NETS.values())
    for config in configs:
        missing = [name for name in settings(config) if f"`{name}`" not in page]
        assert missing == [], "docs/training.md does not explain them"
