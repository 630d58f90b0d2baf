"""Weights that come with jaxgo: each is whole, loads as the player it names, and says what made it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
import zoo
from support import mostly_slow

from jaxgo.arena.match import play_match
from jaxgo.arena.openings import random_openings
from jaxgo.cli.main import main
from jaxgo.core.errors import UsageError
from jaxgo.games import find
from jaxgo.players import load_player
from jaxgo.system import weights
from jaxgo.system.weights import digest, find_weights, load_weights, name_of_run, save_weights, shipped
from jaxgo.training.presets import preset

ABOUT = {"step": 7, "game": "tictactoe", "options": {}, "net": {"kind": "mlp", "width": 8, "blocks": 1}}
PARAMS = {"params": {"stem": {"kernel": np.arange(6, dtype=np.float32).reshape(2, 3)}}}
PLAYED = {"phase": "play", "iteration": 7, "seconds": 90.4, "samples": 1234.0}
JUDGED = {
    "phase": "judge",
    "iteration": 7,
    "seconds": 91.0,
    "player": "gumbel:64@runs/zoo/tictactoe-cpu/7",
    "elo": {
        "gumbel:64@runs/zoo/tictactoe-cpu/7": [50.04, 9.0],
        "gumbel:64@runs/zoo/x/3": [40.0, 9.0],
        "random": [0, 0],
    },
}


@pytest.mark.parametrize("name", mostly_slow(shipped(), ("connect4-cpu", "go9-cpu")))
def test_shipped_weights_are_the_player_of_their_note(name):
    about, params = load_weights(name)
    made = about["made"]
    assert made["sha256"] == digest(params)
    assert made["command"] == f"uv run train.py {name}"
    assert preset(name).config.game == about["game"]
    player = load_player(f"@{name}", find(about["game"]))
    assert player.name == made["player"]
    assert made["elo"][player.name][0] > made["elo"]["random"][0]
    assert (weights.SHIPPED / f"{name}.npz").stat().st_size <= zoo.most(name)


# each game's match is a program of its own, which takes long to compile
@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_shipped_policies_play_better_than_chance(name):
    game = find(load_weights(name)[0]["game"])
    score = play_match(
        load_player(f"greedy@{name}", game),
        load_player("random", game),
        jax.random.key(0),
        random_openings(game).positions(range(16)),
    )
    assert score.mean - 2 * score.error > 0.5


@pytest.mark.slow
def test_the_network_of_gomoku_beats_the_weights_that_people_set_for_its_threats(tmp_path):
    """By programs as users have them: those of the suite would play for three times as long."""
    words = ["eval", "gomoku9", "--agents", "@gomoku9-cpu", "greedy", "--pairs", "32", "--json", "--out"]
    ran = subprocess.run(
        [sys.executable, "-m", "jaxgo", *words, str(tmp_path / "pairs.jsonl")],
        env={**os.environ, "XLA_FLAGS": "", "JAX_NUM_CPU_DEVICES": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    network = json.loads(ran.stdout)["agents"][0]
    assert network["name"] == "gumbel:64@gomoku9-cpu"
    assert network["elo"] > network["error95"]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run that has come to its end."""
    folder = tmp_path / "tictactoe-cpu"
    (folder / "players").mkdir(parents=True)
    save_weights(folder / "players" / "7.npz", PARAMS, ABOUT)
    (folder / "metrics.jsonl").write_text(f"{json.dumps(PLAYED)}\n{json.dumps(JUDGED)}\n")
    return folder


def test_a_run_is_shipped_with_its_note(run, tmp_path, monkeypatch, capsys):
    file = zoo.ship(run, "tictactoe-cpu", tmp_path, "a machine")
    about, params = load_weights(file)
    assert digest(params) == digest(PARAMS)
    assert about.pop("made") == {
        "command": "uv run train.py tictactoe-cpu",
        "seconds": 90,
        "iterations": 7,
        "positions": 1234,
        "jax": zoo.jax.__version__,
        "machine": "a machine",
        "player": "gumbel:64@tictactoe-cpu",
        "elo": {"gumbel:64@tictactoe-cpu": [50.0, 9.0], "random": [0, 0]},
        "sha256": digest(PARAMS),
    }
    assert about == ABOUT
    monkeypatch.setattr(weights, "SHIPPED", tmp_path)
    assert main(["weights"]) == 0
    assert re.search(r"tictactoe-cpu +tictactoe +\d+ +1\.5 +\+50 ± 9 ", capsys.readouterr().out)
    assert main(["weights", "tictactoe-cpu"]) == 0
    assert f"sha256  {digest(PARAMS)}" in capsys.readouterr().out
    assert main(["weights", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["made"]["iterations"] == 7
    named_by_the_game = zoo.ship(run, "tictactoe", tmp_path, "a machine")
    assert load_weights(named_by_the_game)[0]["made"]["command"] == "uv run train.py tictactoe"


def test_weights_are_made_again_by_the_command_that_made_them(tmp_path, monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(zoo, "jaxgo", lambda words: asked.append(words) or 3)
    monkeypatch.setattr(sys, "argv", ["zoo.py", "kono-cpu", "--runs", str(tmp_path)])
    assert zoo.main() == 3, "as the training ended"
    assert main(["weights", "kono-cpu", "--json"]) == 0
    *_, told = json.loads(capsys.readouterr().out)["made"]["command"].partition("train.py ")
    assert "--seed" in told
    assert asked == [["train", *told.split(), "--plain", "--run", str(tmp_path / "kono-cpu")]]


def test_a_folder_called_like_shipped_weights_does_not_take_their_place(run, tmp_path, monkeypatch):
    monkeypatch.setattr(weights, "SHIPPED", tmp_path)
    zoo.ship(run, "tictactoe-cpu", tmp_path, "a machine")
    monkeypatch.chdir(tmp_path)  # where the run lies
    assert find_weights("tictactoe-cpu")[0] == "tictactoe-cpu"
    assert "made" in load_weights("tictactoe-cpu")[0]
    for folder in ("./tictactoe-cpu", Path("tictactoe-cpu"), "./tictactoe-cpu/7", "tictactoe-cpu/7", str(run)):
        place, about, _ = find_weights(folder)
        assert place == "./tictactoe-cpu/7"
        assert about == ABOUT
    assert name_of_run(Path("tictactoe-cpu")) == "./tictactoe-cpu"
    assert name_of_run(Path("runs/tictactoe-cpu")) == "runs/tictactoe-cpu"
    for spelled in ("./runs/a", "runs/../runs/a", Path.cwd() / "runs/a", f"../{Path.cwd().name}/runs/a"):
        assert name_of_run(Path(spelled)) == "runs/a", "one player has one name"
    assert name_of_run(Path("../elsewhere")) == str(Path.cwd().parent / "elsewhere")
    offers = pytest.importorskip("jaxgo.frontends.web.offers")
    found = offers.find([Path()])
    assert found.networks.keys() == {"tictactoe-cpu", "./tictactoe-cpu"}
    assert found.check("gumbel:64@./tictactoe-cpu:7")
    with pytest.raises(UsageError, match="not on offer"):
        found.check("gumbel:64@tictactoe-cpu:7")  # that would be the folder


def test_shipped_weights_take_two_bytes_a_number_and_are_read_as_they_will_play(run, tmp_path):
    numbers = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)
    save_weights(run / "players" / "7.npz", {"params": {"stem": {"kernel": numbers}}}, ABOUT)
    file = zoo.ship(run, "tictactoe-cpu", tmp_path, "a machine")
    about, params = load_weights(file)
    read = params["params"]["stem"]["kernel"]
    assert read.dtype == np.float32
    assert (read == numbers.astype(np.float16)).all()
    assert about["made"]["sha256"] == digest(params)
    assert file.stat().st_size < 2 * numbers.size + 2_000
    save_weights(tmp_path / "copy.npz", params, about)  # a copy does not round what it is given
    assert digest(load_weights(tmp_path / "copy.npz")[1]) == digest(params)


def test_other_arrays_than_were_shipped_are_told(run, tmp_path, monkeypatch, capsys):
    file = zoo.ship(run, "tictactoe-cpu", tmp_path, "a machine")
    about, _ = load_weights(file)
    save_weights(file, {"params": {"stem": {"kernel": np.zeros((2, 3), np.float32)}}}, about)
    (tmp_path / "cut.npz").write_bytes(file.read_bytes()[:100])
    monkeypatch.setattr(weights, "SHIPPED", tmp_path)
    assert main(["weights"]) == 1
    told = capsys.readouterr().out
    assert "tictactoe-cpu.npz holds other arrays than were shipped" in told
    assert "cut.npz holds no sound weights" in told
    assert main(["weights", "--json"]) == 1
    out, faults = capsys.readouterr()
    assert [json.loads(line)["name"] for line in out.splitlines()] == ["cut", "tictactoe-cpu"]
    assert faults.count("\n") == 2
    assert main(["weights", "nobody"]) == 2
    assert "unknown weights 'nobody'; choose one of: cut, tictactoe-cpu" in capsys.readouterr().err


def test_a_run_without_its_last_judgement_is_not_shipped(run, tmp_path, monkeypatch):
    with (run / "metrics.jsonl").open("a") as file:
        file.write(json.dumps(PLAYED | {"iteration": 8}) + "\n")
    with pytest.raises(UsageError, match="no judgement of its last player yet"):
        zoo.ship(run, "tictactoe-cpu", tmp_path, "")
    monkeypatch.setattr(zoo, "most", lambda name: 100)
    (run / "metrics.jsonl").write_text(f"{json.dumps(PLAYED)}\n{json.dumps(JUDGED)}\n")
    with pytest.raises(UsageError, match=r"take [\d,]+ bytes, more than the 100"):
        zoo.ship(run, "tictactoe-cpu", tmp_path, "")
    assert not (tmp_path / "tictactoe-cpu.npz").exists()
    (tmp_path / "tictactoe-cpu.npz").write_text("older weights")
    with pytest.raises(UsageError, match="more than the 100"):
        zoo.ship(run, "tictactoe-cpu", tmp_path, "")
    assert (tmp_path / "tictactoe-cpu.npz").read_text() == "older weights"


def test_a_place_that_no_file_can_have_is_refused():
    with pytest.raises(UsageError, match=r"cannot look for weights at aaa.*: File name too long"):
        load_weights("a" * 5000)


def test_a_file_of_weights_has_no_steps():
    name = shipped()[0]
    for path in (name, weights.SHIPPED / f"{name}.npz"):
        with pytest.raises(UsageError, match="is one file of weights, so it has no step 999"):
            load_weights(path, 999)
