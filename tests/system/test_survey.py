"""`jaxgo runs`: what a folder holds, told without touching it."""

import json

import jax.numpy as jnp
import pytest

from jaxgo.cli.main import main
from jaxgo.core.errors import UsageError
from jaxgo.system import manifest, survey
from jaxgo.system.metrics import Metrics
from jaxgo.system.rundir import RunDir


@pytest.fixture
def run(tmp_path):
    """A run with two checkpoints and two ratings, of which the last counts."""
    path = tmp_path / "runs" / "one"
    with RunDir(path, {"game": "tictactoe"}) as folder:
        for step in (1, 2):
            folder.checkpoints.save(step, {"x": jnp.arange(100.0) + step})
            folder.checkpoints.wait()
    metrics = Metrics(path)
    metrics.write(1, {"seconds": 10.0, "player": "young", "elo": {"young": [-50.0, 9.0]}})
    metrics.write(1, {"seconds": 30.0, "player": "me", "elo": {"me": [12.0, 3.0]}})
    metrics.write(2, {"seconds": 60.0})
    metrics.close()
    return path


def test_a_run_is_told(run):
    found = survey.look(run)
    assert (found.game, found.state, found.iteration, found.seconds) == ("tictactoe", "stopped", 2, 60.0)
    assert (found.player, found.elo) == ("me", (12.0, 3.0))
    assert [(c.step, c.fault) for c in found.checkpoints] == [(1, ""), (2, "")]
    assert found.size > sum(c.size for c in found.checkpoints) > 0
    assert survey.find(run.parent) == survey.find(run) == [run]


def test_a_run_that_writes_no_rows_is_as_far_as_its_newest_checkpoint(run):
    (run / "metrics.jsonl").unlink()
    assert survey.look(run).iteration == 2


def test_a_run_that_is_open_is_running(run):
    with RunDir(run, {"game": "tictactoe"}):
        assert survey.look(run).state == "running"
    assert survey.look(run).state == "stopped"


def test_a_run_that_writes_and_removes_checkpoints_meanwhile_is_not_damaged(run, capsys, monkeypatch):
    """A folder without a manifest is one that is being written or removed, as long as the run is at work."""
    steps = run / "checkpoints"
    (steps / "00000003").mkdir()
    whole = manifest.checksums

    def late(folder):
        if folder.parent.name == "00000001":  # removed after its manifest was read
            (folder.parent / "MANIFEST.json").unlink()
            return {}
        return whole(folder)

    monkeypatch.setattr(manifest, "checksums", late)
    with RunDir(run, {"game": "tictactoe"}):
        assert [c.step for c in survey.look(run).checkpoints] == [2]
        assert main(["runs", str(run.parent)]) == 0
    capsys.readouterr()
    assert main(["runs", str(run.parent)]) == 1
    assert "checkpoint 3: it was never finished" in capsys.readouterr().out


def test_a_checkpoint_that_is_saved_again_meanwhile_is_not_damaged(run, monkeypatch):
    place, whole = run / "checkpoints" / "00000002", manifest.checksums

    def late(folder):
        if folder == place / "state":
            folder.rename(place / "anew")
            manifest.write(place, manifest.read(place) | {"folder": "anew"})
        return whole(folder)

    monkeypatch.setattr(manifest, "checksums", late)
    assert [checkpoint.fault for checkpoint in survey.look(run).checkpoints] == ["", ""]


def test_damage_is_named(run, capsys):
    victim = max(
        (run / "checkpoints" / "00000002" / "state").rglob("*"), key=lambda p: p.is_file() and p.stat().st_size
    )
    whole = victim.read_bytes()
    victim.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert main(["runs", str(run.parent)]) == 1
    said = capsys.readouterr().out
    assert "2!" in said
    assert "checkpoint 2:" in said
    assert "is not what was written" in said
    victim.unlink()
    name = victim.relative_to(run / "checkpoints" / "00000002" / "state").as_posix()
    assert survey.look(run).checkpoints[1].fault == f"{name} is not what was written", "it is gone"
    victim.write_bytes(whole)
    assert not survey.look(run).checkpoints[1].fault
    (run / "checkpoints" / "00000001" / "MANIFEST.json").unlink()
    assert "never finished" in survey.look(run).checkpoints[0].fault


def test_what_cannot_be_read_is_told_beside_the_json(run, capsys, monkeypatch):
    def fails(path):
        raise PermissionError(13, "Permission denied", f"{path}/metrics.jsonl")

    monkeypatch.setattr(survey, "read_rows", fails)
    assert main(["runs", str(run.parent), "--json"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"cannot read {run}/metrics.jsonl: Permission denied\n"


def test_json_and_nothing(run, tmp_path, capsys):
    assert main(["runs", str(run.parent), "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["elo"] == [12.0, 3.0]
    (tmp_path / "empty").mkdir()
    assert main(["runs", str(tmp_path / "empty")]) == 0
    assert "no runs below" in capsys.readouterr().out
    (tmp_path / "empty" / "damaged" / "checkpoints").mkdir(parents=True)
    (tmp_path / "empty" / "damaged" / "config.json").write_text("{")
    assert main(["runs", str(tmp_path / "empty")]) == 1
    assert "no runs below" not in capsys.readouterr().out
    with pytest.raises(UsageError, match="no folder"):
        survey.find(tmp_path / "nowhere")


def test_a_manifest_that_is_none_is_told(run):
    for text in ("[]", "[" * 100_000, '{"files": []}'):
        (run / "checkpoints" / "00000002" / "MANIFEST.json").write_text(text)
        assert [c.fault for c in survey.look(run).checkpoints] == ["", "MANIFEST.json is not what was written"]


@pytest.mark.parametrize(
    "row",
    [
        {"iteration": None, "seconds": "x"},
        {"iteration": 3, "seconds": 1.0, "elo": "high"},
        {"iteration": [1], "seconds": float("nan"), "player": [3], "elo": {"[3]": [None, 2]}},
    ],
)
def test_rows_that_say_something_else_are_no_fault_of_the_run(run, row):
    (run / "metrics.jsonl").write_text(json.dumps(row) + "\n")
    found = survey.look(run)
    assert (found.elo, found.seconds) == (None, 1.0 if row["iteration"] == 3 else 0.0)
