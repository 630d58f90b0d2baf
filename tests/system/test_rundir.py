"""Run folders: what is saved comes back, and no fault of a disk or a kill is believed."""

import gc
import inspect
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxgo.core.errors import UsageError
from jaxgo.system import bundle, devices, manifest, rundir, survey
from jaxgo.system.checkpoints import Checkpoints
from jaxgo.system.rundir import RunDir, read_config

ROOT = Path(__file__).parents[2]
CONFIG = {"game": "connect4", "search": {"simulations": 32}, "iterations": 10}


class Inner(NamedTuple):
    board: Any
    nothing: Any
    key: Any


class State(NamedTuple):
    weights: Any
    optimiser: Any
    games: Inner
    step: Any


def state(seed: int = 0) -> State:
    mesh = devices.make_mesh()
    split, copied = devices.split(mesh), devices.copied(mesh)
    weights = {"params": {"dense": {"kernel": jnp.arange(6.0).reshape(2, 3) + seed, "half": jnp.ones(3, jnp.bfloat16)}}}
    weights = jax.device_put(weights, copied)
    games = Inner(
        jax.device_put(jnp.arange(8, dtype=jnp.int8) + jnp.int8(seed), split),
        jax.device_put(jnp.zeros((8, 0), jnp.float32), split),  # a history that this game does not need
        jax.device_put(jax.random.split(jax.random.key(seed), 8), split),
    )
    return State(weights, optax.adam(1e-3).init(weights), games, jnp.int32(seed))


def equal(a: Any, b: Any) -> None:
    def same(x: Any, y: Any) -> None:
        assert x.dtype == y.dtype
        assert x.sharding.is_equivalent_to(y.sharding, x.ndim)
        if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
            x, y = jax.random.key_data(x), jax.random.key_data(y)
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))

    assert jax.tree.structure(a) == jax.tree.structure(b)
    jax.tree.map(same, a, b)


def test_a_whole_state_comes_back_with_its_keys_and_its_layout(tmp_path):
    with RunDir(tmp_path / "run", CONFIG) as run:
        assert run.checkpoints.restore(state()) is None
        run.checkpoints.save(3, state(3))
    with RunDir(tmp_path / "run", CONFIG) as run:
        assert run.resumed
        step, found = run.checkpoints.restore(state())
        assert step == 3
        equal(found, state(3))
        jax.random.bits(found.games.key[0])  # still a key
        shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding), state())
        equal(run.checkpoints.restore(shapes)[1], state(3))


def test_the_arrays_may_be_given_away_while_they_are_written(tmp_path):
    spoil = jax.jit(lambda x: x * 0 - 1, donate_argnums=0)
    big = jax.device_put(np.arange(1_000_000, dtype=np.int32).reshape(2, -1), devices.split(devices.make_mesh()))
    with RunDir(tmp_path, CONFIG) as run:
        run.checkpoints.save(1, {"big": big})
        spoil(big)
        _, found = run.checkpoints.restore({"big": jax.ShapeDtypeStruct(big.shape, big.dtype)})
        np.testing.assert_array_equal(np.asarray(found["big"]).ravel(), np.arange(1_000_000))


def test_another_number_of_devices_goes_on(tmp_path):
    with RunDir(tmp_path, CONFIG) as run:
        run.checkpoints.save(1, state(1))
        one = jax.tree.map(lambda x: jax.device_put(x, jax.devices()[0]), state(0))
        equal(run.checkpoints.restore(one)[1], jax.tree.map(lambda x: jax.device_put(x, jax.devices()[0]), state(1)))


@pytest.mark.slow
def test_a_save_leaves_nothing_behind(tmp_path):
    """What writes an array keeps a few objects of it for ever; a state of many arrays is written as a few."""
    arrays = {str(index): np.full(3, index, np.float32) for index in range(160)}
    with RunDir(tmp_path, CONFIG) as run:
        seen = []
        for step in range(1, 5):
            run.checkpoints.save(step, jax.tree.map(jnp.asarray, arrays))
            run.checkpoints.wait()
            gc.collect()
            seen.append(sys.getallocatedblocks())
        assert (seen[-1] - seen[1]) / 2 < 500  # array by array it was 1,016
        equal(run.checkpoints.restore(arrays)[1], jax.tree.map(jnp.asarray, arrays))


def test_small_arrays_and_large_ones_come_back_together(tmp_path):
    large = jnp.arange(bundle.SMALL // 4 + 1)
    mixed = {"a": jnp.float32(1.5), "b": large, "c": jnp.ones((2, 3), jnp.bfloat16), "d": jnp.array([True, False])}
    with RunDir(tmp_path, CONFIG) as run:
        run.checkpoints.save(1, mixed)
        equal(run.checkpoints.restore(mixed)[1], mixed)


def test_the_last_ones_stay(tmp_path):
    with RunDir(tmp_path, CONFIG, last=2) as run:
        for step in range(1, 8):
            run.checkpoints.save(step, {"x": jnp.int32(step)})
        run.checkpoints.wait()
        assert run.checkpoints.steps() == [6, 7]
        assert len(list((tmp_path / "checkpoints").iterdir())) == 2


def test_a_copy_that_somebody_laid_beside_the_checkpoints_stays(tmp_path):
    with RunDir(tmp_path, CONFIG, last=1) as run:
        run.checkpoints.save(1, {"x": jnp.int32(1)})
        run.checkpoints.wait()
        copy = tmp_path / "checkpoints" / "a good one"
        shutil.copytree(tmp_path / "checkpoints" / "00000001", copy)
        (tmp_path / "checkpoints" / "00000009").write_text("a note")
        run.checkpoints.save(2, {"x": jnp.int32(2)})
        run.checkpoints.wait()
        assert run.checkpoints.steps() == [2]
        assert not run.checkpoints.unsaved
        assert (copy / "MANIFEST.json").exists()
        assert (tmp_path / "checkpoints" / "00000009").read_text() == "a note"


def test_checkpoints_of_earlier_versions_are_read(tmp_path, monkeypatch):
    """Theirs have an array each, and a manifest that says nothing of it nor of itself."""
    monkeypatch.setattr(bundle, "is_small", lambda array: False)
    with RunDir(tmp_path, CONFIG) as run:
        run.checkpoints.save(1, state(1))
        run.checkpoints.wait()
        file = tmp_path / "checkpoints" / "00000001" / "MANIFEST.json"
        said = json.loads(file.read_text())
        assert said.pop("bundled") == []
        del said["sha256"]
        file.write_text(json.dumps(said))
        equal(run.checkpoints.restore(state())[1], state(1))


# -- faults -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "run"
    with RunDir(path, CONFIG) as run:
        run.checkpoints.save(1, state(1))
        run.checkpoints.save(2, state(2))
    return path


def test_no_damage_to_any_file_is_silent(saved, tmp_path):
    """Every file of the newest checkpoint in turn: flipped, cut, emptied, gone."""
    step = Path("checkpoints") / "00000002"
    names = [p.relative_to(saved / step) for p in (saved / step).rglob("*") if p.is_file()]
    assert len(names) > 5
    said: list[str] = []
    for number, name in enumerate(names):
        run_path = tmp_path / str(number)
        shutil.copytree(saved, run_path)
        file = run_path / step / name
        data = file.read_bytes()
        flipped = bytes([data[0] ^ 1]) + data[1:] if data else b"x"
        for damage in {flipped, data[: len(data) // 2] if data else b"y", b"" if data else b"z", None}:
            file.unlink() if damage is None else file.write_bytes(damage)
            with RunDir(run_path, CONFIG, say=said.append) as run:
                found, whole = run.checkpoints.restore(state())
            assert found == 1, (name, damage)
            np.testing.assert_array_equal(np.asarray(whole.step), 1)
    assert any("checkpoint 2 of" in sentence and "going back" in sentence for sentence in said)


@pytest.mark.parametrize(
    ("old", "new"), [("", ""), ('"leaves"', '"laeves"'), ('"bundled"', '"bundlfd"'), ("[0,", "[1,"), ("int8", "uint8")]
)
def test_a_manifest_that_says_something_else_is_damage(saved, tmp_path, old, new):
    shutil.copytree(saved, tmp_path / "run")
    file = tmp_path / "run" / "checkpoints" / "00000002" / "MANIFEST.json"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1) if old else "[]")
    said: list[str] = []
    with RunDir(tmp_path / "run", CONFIG, say=said.append) as run:
        assert run.checkpoints.restore(state())[0] == 1
    assert "checkpoint 2 of" in said[0]
    assert survey.look(tmp_path / "run").checkpoints[1].fault == "MANIFEST.json is not what was written"


def _flip(run: Path, step: int) -> None:
    """Damages one checkpoint."""
    files = [path for path in (run / "checkpoints" / f"{step:08d}" / "state").rglob("*") if path.is_file()]
    file = max(files, key=lambda path: path.stat().st_size)
    data = file.read_bytes()
    file.write_bytes(bytes([data[0] ^ 1]) + data[1:])


def test_a_damaged_checkpoint_takes_no_place_of_a_sound_one(tmp_path):
    """Its step is higher than those that are saved next, which must not go in its stead."""
    like = {"x": jnp.int32(0)}
    with RunDir(tmp_path / "run", CONFIG) as run:
        for step in (5, 200):
            run.checkpoints.save(step, {"x": jnp.int32(step)})
    _flip(tmp_path / "run", 200)
    with RunDir(tmp_path / "run", CONFIG, say=lambda _: None) as run:
        assert run.checkpoints.restore(like)[0] == 5
        for step in (10, 15):
            run.checkpoints.save(step, {"x": jnp.int32(step)})
            run.checkpoints.wait()
            assert run.checkpoints.steps() == [step - 5, step]
        assert run.checkpoints.restore(like)[0] == 15


def test_a_run_with_nothing_but_damaged_checkpoints_is_not_begun_anew(saved, tmp_path):
    path = tmp_path / "run"
    shutil.copytree(saved, path)
    for step in (1, 2):
        _flip(path, step)
    before = sorted(path.rglob("*"))
    said = r"run cannot go on: all its checkpoints are damaged; name another folder, or remove .*checkpoints to train"
    with RunDir(path, CONFIG, say=lambda _: None) as run, pytest.raises(UsageError, match=said):
        run.checkpoints.restore(state())
    assert sorted(path.rglob("*")) == before


def test_a_run_whose_checkpoints_lost_their_manifests_is_not_begun_anew(saved, tmp_path):
    """One alone may be a first save that was cut short; it began anew over two, too, and cleared them away."""
    path, said = tmp_path / "run", list[str]()
    shutil.copytree(saved, path)
    for file in path.glob("checkpoints/*/MANIFEST.json"):
        file.unlink()
    with (
        RunDir(path, CONFIG, say=said.append) as run,
        pytest.raises(UsageError, match="run cannot go on: all its check"),
    ):
        run.checkpoints.restore(state())
    assert [sentence.partition(" of ")[0] for sentence in said] == ["checkpoint 2", "checkpoint 1"]
    assert all("has no MANIFEST.json: it was never finished, or has lost it" in sentence for sentence in said)
    shutil.rmtree(path / "checkpoints" / "00000002")
    with RunDir(path, CONFIG, say=said.append) as run:
        assert run.checkpoints.restore(state()) is None


def test_a_folder_that_cannot_be_written_is_one_sentence():
    with pytest.raises(UsageError, match=r"^/proc/x cannot be made or written \(.*\); name another folder"):
        RunDir("/proc/x", CONFIG)


def test_what_a_kill_left_is_not_believed_and_is_cleared(saved, tmp_path):
    path = tmp_path / "run"
    shutil.copytree(saved, path)
    torn = path / "checkpoints" / "00000003" / "state"
    shutil.copytree(path / "checkpoints" / "00000002" / "state", torn)  # no manifest yet
    with RunDir(path, CONFIG) as run:
        assert run.checkpoints.restore(state())[0] == 2
        run.checkpoints.save(3, state(3))
        run.checkpoints.save(4, state(4))
        run.checkpoints.wait()
        assert run.checkpoints.steps() == [3, 4]
        equal(run.checkpoints.restore(state())[1], state(4))


def test_kills_in_first_saves_leave_one_of_them_at_the_most(tmp_path, monkeypatch):
    """Two looked as if somebody had taken the manifests away, and the run was refused for good."""
    for step in (3, 4, 5):
        with RunDir(tmp_path, {}) as run, monkeypatch.context() as patch:
            assert run.checkpoints.restore(state()) is None
            patch.setattr(Checkpoints, "_finish", lambda mine, *_: mine._checkpointer().wait_until_finished())
            run.checkpoints.save(step, state(step))
            run.checkpoints.wait()
        assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == [f"{step:08d}"]
    with RunDir(tmp_path, {}) as run:
        run.checkpoints.save(6, state(6))
        run.checkpoints.wait()
        assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["00000006"]


def test_a_full_disk_is_one_sentence_and_keeps_the_old(saved, tmp_path, monkeypatch):
    path = tmp_path / "run"
    shutil.copytree(saved, path)
    said: list[str] = []
    with RunDir(path, CONFIG, say=said.append) as run:
        with monkeypatch.context() as patch:
            patch.setattr(
                run.checkpoints, "_checkpointer", lambda: (_ for _ in ()).throw(OSError(28, "No space left on device"))
            )
            run.checkpoints.save(3, state(3))
        run.checkpoints.wait()
        assert run.checkpoints.unsaved
        assert said == [
            f"checkpoint 3 could not be saved in {path} ([Errno 28] No space left on device); the older ones are kept"
        ]
        assert run.checkpoints.restore(state())[0] == 2
        run.checkpoints.save(4, state(4))
        run.checkpoints.wait()
        assert not run.checkpoints.unsaved


def test_a_config_that_is_no_json_and_a_name_that_is_too_long_are_refused(tmp_path):
    for config in ({"rate": math.nan}, {"rate": math.inf}, {"net": object()}, None, [1]):
        with pytest.raises(UsageError, match=r"the config of a run is .*to_json"):
            inspect.unwrap(rundir._plain)(config)
    with pytest.raises(UsageError, match="cannot be made or written"):
        RunDir(tmp_path / ("x" * 300), CONFIG)


@pytest.mark.parametrize("words", ["[Errno 28] No space left", "RESOURCE_EXHAUSTED: Error writing"])
def test_nothing_stays_of_a_save_that_failed(tmp_path, monkeypatch, words):
    """Or a disk that was full for an hour would be filled by what the saves of that hour left."""
    said: list[str] = []
    with RunDir(tmp_path, CONFIG, say=said.append) as run:
        run.checkpoints.save(1, {"x": jnp.int32(1)})
        run.checkpoints.wait()

        def full(place, about):
            raise RuntimeError(words)

        with monkeypatch.context() as patch:
            patch.setattr(manifest, "write", full)
            run.checkpoints.save(2, {"x": jnp.int32(2)})
            run.checkpoints.wait()
        assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["00000001"]
        assert ("no space is left on the disk" in said[0]) == words.startswith("RESOURCE")
        run.checkpoints.save(3, {"x": jnp.int32(3)})
        run.checkpoints.wait()
        assert run.checkpoints.steps() == [1, 3]


def test_players_that_are_set_aside_twice_are_all_kept(tmp_path, monkeypatch):
    with RunDir(tmp_path, CONFIG) as run:
        (tmp_path / "players").mkdir(exist_ok=True)
        for text in ("first", "second", "third"):
            (tmp_path / "players" / "00000006.npz").write_text(text)
            run.set_aside(4)
        kept = [(tmp_path / "players" / f"00000006-aside{number}.npz").read_text() for number in ("", 2, 3)]
        assert kept == ["first", "second", "third"]
        (tmp_path / "players" / "00000006.npz").write_text("fourth")
        monkeypatch.setattr("pathlib.Path.rename", lambda *_: (_ for _ in ()).throw(PermissionError(13, "denied")))
        with pytest.raises(UsageError, match="cannot be set aside as 00000006-aside4"):
            run.set_aside(4)


def test_a_step_that_is_saved_again_is_whole_at_every_moment(tmp_path, monkeypatch):
    """A run that saved and then judged saves the same step at its end; the first one was removed before that."""

    def cut(*_):
        raise KeyboardInterrupt("a kill")

    def restored():
        with RunDir(tmp_path, CONFIG) as run:
            return float(run.checkpoints.restore({"x": jnp.zeros(3)})[1]["x"][0])

    def saves(value):
        with RunDir(tmp_path, CONFIG) as run:
            run.checkpoints.save(7, {"x": jnp.full(3, value)})
            run.checkpoints.wait()

    saves(1.0)
    for name, left in (("write", 1.0), ("tidy", 2.0)):  # before the new one counts, and just behind it
        with RunDir(tmp_path, CONFIG) as run, monkeypatch.context() as patch:
            finish = run.checkpoints._finish

            def finish_until(*given, finish=finish, patch=patch, name=name):
                patch.setattr(manifest, name, cut)
                with pytest.raises(KeyboardInterrupt):
                    finish(*given)

            patch.setattr(run.checkpoints, "_finish", finish_until)
            run.checkpoints.save(7, {"x": jnp.full(3, 2.0)})
            run.checkpoints.wait()
        assert restored() == left
    for value in (3.0, 4.0):
        saves(value)
        assert restored() == value
        assert len(list((tmp_path / "checkpoints" / "00000007").iterdir())) == 2, "its files, and its manifest"


def test_another_net_is_refused_by_name(saved):
    half = jnp.zeros(3, jnp.bfloat16)
    other = state()._replace(weights={"params": {"dense": {"kernel": jnp.zeros((2, 4)), "half": half}}})
    with RunDir(saved, CONFIG) as run, pytest.raises(UsageError, match=r"kernel.*float32\[2, 3\] there.*\[2, 4\] here"):
        run.checkpoints.restore(other)


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_a_sound_checkpoint(tmp_path):
    """A child saves without a pause; it is killed; what is there is complete and resumes."""
    code = (
        "import sys, jax.numpy as jnp\nfrom jaxgo.system.rundir import RunDir\n"
        "run = RunDir(sys.argv[1], {})\n"
        "found = run.checkpoints.restore({'x': jnp.zeros(200_000)})\n"
        "step = found[0] if found else 0\n"
        "assert not found or float(found[1]['x'].min()) == float(found[1]['x'].max()) == step\n"
        "print('from', step, flush=True)\n"
        "while True:\n    step += 1\n    run.checkpoints.save(step, {'x': jnp.full(200_000, float(step))})\n"
        "    print(step, flush=True)\n"
    )
    begun, reached = [], []
    for moment in range(2):
        child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "run")], cwd=ROOT, stdout=subprocess.PIPE)
        begun.append(int(child.stdout.readline().split()[1]))
        lines = [int(child.stdout.readline()) for _ in range(6)]
        time.sleep(0.013 * (moment + 1))  # somewhere within a save
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        reached.append(lines[-1])
    assert begun[0] == 0
    assert begun[1] >= reached[0] - 1  # at most the one that was being written is lost
    with RunDir(tmp_path / "run", {}) as run:
        step, found = run.checkpoints.restore({"x": jnp.zeros(200_000)})
        assert step >= reached[1] - 1
        np.testing.assert_array_equal(np.asarray(found["x"]), step)


# -- the folder -------------------------------------------------------------------------------------------------------


def test_a_config_is_readable_and_a_run_resumes_only_with_its_own(tmp_path):
    with RunDir(tmp_path / "run", CONFIG):
        assert read_config(tmp_path / "run") == CONFIG
    with RunDir(tmp_path / "run", {**CONFIG, "iterations": 20}, free=("iterations",)) as run:
        assert run.resumed
        assert read_config(tmp_path / "run")["iterations"] == 20
    with pytest.raises(UsageError, match=r"is a run with search\.simulations=32, not 64; resume it with its own"):
        RunDir(tmp_path / "run", {**CONFIG, "search": {"simulations": 64}}, free=("iterations",))
    # a setting is free by its whole name, and with what is below it
    with pytest.raises(UsageError, match=r"is a run with search\.simulations=32, not 64"):
        RunDir(tmp_path / "run", {**CONFIG, "search": {"simulations": 64}}, free=("iterations", "search.sim", "sea"))
    RunDir(tmp_path / "run", {**CONFIG, "search": {"simulations": 64}}, free=("iterations", "search")).close()


def test_a_run_that_was_killed_while_it_wrote_its_config_begins_again(tmp_path):
    (tmp_path / "lock").write_text("process 77 on a machine")
    (tmp_path / ".config.json.77.tmp").write_text("{")
    with RunDir(tmp_path, CONFIG) as run:
        assert not run.resumed


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (lambda path: (path.mkdir(), (path / "thesis.tex").write_text("x")), "is not empty and is not a run to resume"),
        (lambda path: path.write_text("x"), "is a file; name a folder"),
        (lambda path: (path.mkdir(), (path / "config.json").write_text("{")), "is not JSON any more"),
        (lambda path: (path.mkdir(), (path / "config.json").write_text('{"format": 99}')), "another version of jaxgo"),
    ],
)
def test_no_folder_is_ever_erased(prepare, words, tmp_path):
    path = tmp_path / "run"
    prepare(path)
    before = {p: p.read_bytes() for p in ([path] if path.is_file() else path.iterdir()) if p.name != "lock"}
    with pytest.raises(UsageError, match=words):
        RunDir(path, CONFIG)
    assert {p: p.read_bytes() for p in before} == before


def test_two_at_once_are_refused_and_a_dead_one_is_not_waited_for(tmp_path):
    with RunDir(tmp_path, CONFIG), pytest.raises(UsageError, match=rf"is in use by process {os.getpid()}"):
        RunDir(tmp_path, CONFIG)
    RunDir(tmp_path, CONFIG).close()  # the file is still there, its holder is gone
