"""Faults of a machine that no other test has: a folder that is gone, rows on a full disk, a clock that jumps, nonsense
in a cache. docs/durability.md has the list of all of them, with their tests."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jax.numpy as jnp
import pytest

from jaxgo.core.errors import UsageError
from jaxgo.system import metrics
from jaxgo.system.metrics import read_rows
from jaxgo.system.rundir import RunDir, read_config
from jaxgo.training.report import Recorder, Report

ROOT = Path(__file__).parents[2]
CONFIG = {"game": "connect4"}


def test_every_test_that_the_list_names_is_there():
    """A fault without a test would be a promise."""
    text = (ROOT / "docs" / "durability.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", text)
    assert len(named) > 20
    for file, name in named:
        assert re.search(rf"^def {name}\(", (ROOT / file).read_text(), re.MULTILINE), f"{file} has no {name}"


def test_a_folder_that_is_gone_is_told_and_made_anew(tmp_path):
    said: list[str] = []
    with RunDir(tmp_path / "run", CONFIG, say=said.append) as run:
        run.checkpoints.save(1, {"x": jnp.int32(1)})
        run.checkpoints.wait()
        shutil.rmtree(tmp_path / "run")
        run.checkpoints.save(2, {"x": jnp.int32(2)})
        run.checkpoints.wait()
        with pytest.raises(UsageError, match="is in use by process"):  # it is held, as the one before it was
            RunDir(tmp_path / "run", CONFIG)
    gone = "was removed or moved away under the run; it is made anew, without what was in it"
    assert said == [f"{tmp_path / 'run'} {gone}"]
    assert read_config(tmp_path / "run") == CONFIG
    with RunDir(tmp_path / "run", CONFIG) as run:
        step, found = run.checkpoints.restore({"x": jnp.int32(0)})
        assert (step, int(found["x"])) == (2, 2)


def test_a_stop_that_cannot_be_passed_on_ends_no_host(tmp_path):
    """It is heard by all with the next iteration; the error ended the host that was asked, unsaved."""
    with RunDir(tmp_path / "run", CONFIG) as run:
        run.ask_to_stop()
        assert run.asked_to_stop()
        shutil.rmtree(tmp_path / "run")
        run.ask_to_stop()
        assert not run.asked_to_stop()


def test_a_run_whose_folder_was_moved_leaves_another_in_its_place_alone(tmp_path):
    place, said = tmp_path / "run", list[str]()
    with RunDir(place, CONFIG, say=said.append) as moved:
        moved.checkpoints.save(1, {"x": jnp.int32(1)})
        moved.checkpoints.wait()
        place.rename(tmp_path / "elsewhere")
        with RunDir(place, CONFIG) as other:
            for _ in range(2):  # while the other is at work, and once it has ended
                with pytest.raises(UsageError, match="moved away under this run, and another has its place"):
                    moved.checkpoints.save(2, {"x": jnp.int32(2)})
                with pytest.raises(UsageError, match="another has its place"):
                    moved.save_weights(2, {"x": jnp.int32(2)}, {})
                other.close()
    assert not said
    assert not (place / "checkpoints").exists()
    assert not (place / "players").exists()


def test_rows_go_on_in_a_folder_that_is_made_anew(tmp_path):
    recorder = Recorder(tmp_path / "run", lambda _: None)
    (tmp_path / "run").mkdir()
    recorder(Report("play", 1, 1.0, {"games": 1}))
    shutil.rmtree(tmp_path / "run")
    recorder(Report("play", 2, 1.0, {"games": 1}))  # there is no place for it
    (tmp_path / "run").mkdir()
    recorder(Report("play", 3, 1.0, {"games": 1}))
    recorder.close()
    assert [row["iteration"] for row in read_rows(tmp_path / "run")] == [3]


def test_rows_that_a_full_disk_takes_are_told_once_and_cost_nothing_else(tmp_path, monkeypatch):
    """The third row is cut in the middle, the fourth is lost; those before and after are whole."""
    said: list[str] = []
    recorder = Recorder(tmp_path, said.append)
    real, full = os.write, {3: 10, 4: -1}

    def write(file: int, data: bytes) -> int:
        room = full.get(len(asked), len(data))
        if room < 0:
            raise OSError(28, "No space left on device")
        return real(file, data[:room])

    asked: list[int] = []
    monkeypatch.setattr(metrics, "os", SimpleNamespace(**{**vars(os), "write": write}))
    for iteration in range(1, 7):
        asked.append(iteration)
        recorder(Report("play", iteration, 1.0, {"games": iteration}))
    recorder.close()
    assert [row["iteration"] for row in read_rows(tmp_path)] == [1, 2, 5, 6]
    assert said == [f"rows of metrics.jsonl are lost in {tmp_path} (No space left on device); training goes on"]


def test_rows_are_taken_back_where_a_run_goes_back(tmp_path):
    recorder = Recorder(tmp_path, lambda _: None)
    for phase, iteration in (("start", 0), ("play", 1), ("play", 2), ("play", 3), ("start", 1), ("play", 2)):
        recorder(Report(phase, iteration, 1.0, {"games": 1} if phase == "play" else {}))
    recorder.close()
    assert [row["iteration"] for row in read_rows(tmp_path)] == [1, 2]


def test_a_disk_that_is_full_while_a_run_goes_back_costs_rows_and_nothing_else(tmp_path, monkeypatch):
    said, full = [], []
    recorder, write = Recorder(tmp_path, said.append), metrics.write_whole

    def write_whole(*words):
        if full:
            raise OSError(28, "No space left on device")
        write(*words)

    monkeypatch.setattr(metrics, "write_whole", write_whole)
    recorder(Report("start", 0, 1.0, {}))
    for iteration in (1, 2, 3):
        recorder(Report("play", iteration, 1.0, {"games": 1}))
    full.append(True)
    recorder(Report("start", 1, 1.0, {}))
    recorder(Report("play", 2, 1.0, {"games": 2}))
    full.clear()
    recorder(Report("play", 3, 1.0, {"games": 3}))
    recorder.close()
    assert [(row["iteration"], row["games"]) for row in read_rows(tmp_path)] == [(1, 1), (3, 3)]
    assert said == [f"rows of metrics.jsonl are lost in {tmp_path} (No space left on device); training goes on"]


def test_no_clock_that_can_be_set_is_read():
    """What lasts is measured by a clock that only goes forward; dates are for people."""
    for path in (ROOT / "jaxgo").rglob("*.py"):
        assert "time.time(" not in path.read_text(), path


@pytest.mark.slow
def test_a_cache_of_programs_that_is_nonsense_is_no_fault(tmp_path):
    code = "import jax, jax.numpy as jnp; print(jax.jit(lambda x: jnp.sin(x) @ x)(jnp.arange(9.).reshape(3, 3)).sum())"
    environment = {
        **os.environ,
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    said = []
    for damage in (None, b"", b"\x00nonsense" * 99):
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert (damage is None) == (not files)
        for file in files:
            file.write_bytes(damage)
        ran = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120, check=True
        )
        said.append(ran.stdout)
    assert len(set(said)) == 1


def test_a_lock_that_a_dead_process_left_is_taken(tmp_path):
    """The file names a process that may even be another one by now."""
    with RunDir(tmp_path / "run", CONFIG):
        pass
    (tmp_path / "run" / "lock").write_text("process 1 on elsewhere")
    with RunDir(tmp_path / "run", CONFIG) as run:
        assert run.resumed
        with pytest.raises(UsageError, match=rf"is in use by process {os.getpid()} on"):
            RunDir(tmp_path / "run", CONFIG)
