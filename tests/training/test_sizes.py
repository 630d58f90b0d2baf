"""Sizes of a run on accelerators: the same for each device, in the memory of it, and those of a run that goes on."""

import dataclasses
import json
from pathlib import Path

import jax
import pytest
from support import unchecked

from jaxgo.cli.train_words import parse
from jaxgo.core.errors import UsageError
from jaxgo.nets import ResNet
from jaxgo.system import devices
from jaxgo.system.rundir import RunDir
from jaxgo.training import machine, presets, sizes
from jaxgo.training.config import FREE, TrainConfig, to_json
from jaxgo.training.presets import preset

BY_DEVICE = [name for name in presets.names() if preset(name).by_device]
GIB = 2**30
MEMORIES = [gb * GIB * 3 // 4 for gb in (16, 24, 40, 80)]  # what JAX takes of a GPU


def of(config: TrainConfig) -> tuple[int, ...]:
    return tuple(sizes.read(to_json(config)).values())


def chosen(words: list[str]) -> TrainConfig:
    """The config of the run that `jaxgo train` makes of these words."""
    job = parse(words)
    return sizes.chosen(job.config, job.open, Path(job.run))


def test_presets_with_a_name_of_their_own_have_no_sizes_to_choose():
    assert {name for name in presets.names() if name.endswith(("-cpu", "-gpu"))} == set(presets.NAMED)
    assert not any(preset(name).by_device for name in presets.NAMED)
    assert len(BY_DEVICE) == len(presets.names()) - len(presets.NAMED)


@unchecked()
def test_each_of_eight_devices_does_what_one_would_do():
    """Also in how many steps it learns, how much each ring holds, and when learning begins."""
    for name in BY_DEVICE:
        one, eight = (sizes.fitted(preset(name).config, count) for count in (1, 8))
        assert one == preset(name).config
        assert of(eight) == tuple(8 * size for size in of(one))
        assert eight.updates == one.updates
        assert dataclasses.replace(eight, selfplay=one.selfplay, replay=one.replay, learner=one.learner) == one


@unchecked()
def test_games_of_a_device_are_enough_to_hide_its_launches_where_memory_allows():
    assert [sizes.fitted(preset("go9").config, 1, memory).selfplay.games for memory in MEMORIES] == [8192] * 4
    for name in BY_DEVICE:
        config = preset(name).config
        found = [sizes.fitted(config, 1, memory) for memory in MEMORIES]
        games = [one.selfplay.games for one in found]
        assert games == sorted(games)
        for one, memory in zip(found, MEMORIES, strict=True):
            assert machine.takes(one) <= 7 / 8 * memory
            if one.selfplay.games < found[-1].selfplay.games:
                assert machine.takes(sizes.of_games(one, 2 * one.selfplay.games)) > 7 / 8 * memory, "it could have more"


def test_memory_is_what_xla_takes_of_programs_for_an_h100():
    """Programs that `benchmarks/scale.py` compiled: GiB with the samples, at their highest."""
    for name, games, gib in (
        ("go9", 8192, 8.87),
        ("connect4", 16384, 2.32),
        ("connect3d", 16384, 4.82),
        ("gomoku15", 1024, 3.23),
        ("go19", 1024, 6.69),
    ):
        config = sizes.fitted(preset(name).config, 1, MEMORIES[-1])
        assert config.selfplay.games == games
        if name == "connect4":  # as it was compiled, before it had further heads
            config = dataclasses.replace(config, targets=dataclasses.replace(config.targets, heads=("short",)))
        assert 0.9 < machine.takes(config) / GIB / gib < 1.1, name


def test_a_tpu_has_room_for_what_its_padding_takes():
    for name in ("go9", "connect4", "go19"):
        config, memory = preset(name).config, MEMORIES[0]
        one = sizes.fitted(config, 1, memory, "tpu")
        assert sizes.PADDED * machine.takes(one) <= 7 / 8 * memory
        assert one.selfplay.games <= sizes.fitted(config, 1, memory).selfplay.games
    # self-play of connect4 with 4,096 games was compiled for a v5e: GiB without the samples
    config = sizes.of_games(preset("connect4").config, 4096)
    told = (machine.takes(config) - machine.needs(config).samples) / GIB
    assert 1 < sizes.PADDED * told / 1.11 < 1.3


def test_a_larger_net_has_fewer_games_where_memory_is_short():
    config = dataclasses.replace(preset("go9").config, net=ResNet(channels=384, blocks=20, precision="bfloat16"))
    small, large = (sizes.fitted(config, 1, memory).selfplay.games for memory in (MEMORIES[0], MEMORIES[-1]))
    assert small < large == 8192


@pytest.fixture
def eight_accelerators(monkeypatch):
    """The two devices of the tests are said to be of a machine with eight."""

    class Mesh:
        class devices:  # noqa: N801
            size = 8

    monkeypatch.setattr(devices, "make_mesh", Mesh)
    monkeypatch.setattr(devices, "platform", lambda mesh: "gpu")
    monkeypatch.setattr(devices, "memory", lambda mesh: 8 * MEMORIES[-1])


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="asks about the processor that it runs on")
def test_a_processor_begins_with_few_games_whatever_the_preset_is_for():
    whole = chosen(["go9", "--run", "nowhere"])
    assert of(whole) == (sizes.ON_CPU, 512 * sizes.ON_CPU, 32 * sizes.ON_CPU, sizes.ON_CPU // 2)
    assert whole.updates == preset("go9").config.updates
    assert chosen(["go9", "--run", "nowhere", "--selfplay.games", "64"]).selfplay.games == 64
    for capacity in (65536, 2048):  # less than a large machine begins with, which nobody has asked for
        replay = chosen(["go9", "--run", "nowhere", "--replay.capacity", str(capacity)]).replay
        assert (replay.capacity, replay.start) == (capacity, min(capacity, whole.replay.start))


def test_sizes_of_a_config_that_was_edited_are_refused(tmp_path):
    (tmp_path / "config.json").write_text('{"format": 1, "selfplay": {"games": 64}}')
    with pytest.raises(UsageError, match="was edited or is of another version"):
        chosen(["go9", "--run", str(tmp_path)])


@pytest.mark.usefixtures("eight_accelerators")
def test_a_run_begins_with_sizes_for_its_devices_but_those_that_were_typed(tmp_path):
    words = ["maharajah", "--run", str(tmp_path / "new")]
    whole = chosen(words)
    assert of(whole) == tuple(8 * size for size in of(sizes.fitted(whole, 1, MEMORIES[-1])))
    assert whole.selfplay.games > 8 * preset("maharajah").config.selfplay.games, "there is more memory than usual"
    some = chosen([*words, "--learner.batch=512", "--selfplay.games", "1024"])
    assert of(some) == (1024, whole.replay.capacity, whole.replay.start, 512)
    assert chosen(["go9-cpu"]) == preset("go9-cpu").config


def test_a_run_goes_on_with_its_sizes_on_any_number_of_devices(tmp_path, request):
    """It was begun on eight devices, and goes on on the two of this machine, and on eight again."""
    run = tmp_path / "run"
    begun = sizes.fitted(preset("go9").config, 8, MEMORIES[-1])
    with RunDir(run, to_json(begun)):
        pass
    words = ["go9", "--run", str(run)]
    here = chosen(words)
    assert to_json(here) == to_json(begun)
    request.getfixturevalue("eight_accelerators")
    assert to_json(chosen(words)) == to_json(begun)
    with RunDir(run, to_json(here), free=FREE) as folder:
        assert folder.resumed
    (run / "config.json").write_text(json.dumps({"format": 1, **to_json(sizes.of_games(begun, 640))}))
    assert chosen(words).selfplay.games == 640, "whatever it was begun with"
    assert chosen([*words, "--selfplay.games", "1280"]).selfplay.games == 1280, "which is refused later"
