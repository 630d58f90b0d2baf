"""The report of a run: curves with one axis of time, readable on light and on dark, and who won its games."""

import dataclasses

import pytest

from jaxgo.arena import games_file, records
from jaxgo.games import make
from jaxgo.training.config import TrainConfig
from jaxgo.ui import run_report, run_summary

pytest.importorskip("matplotlib")


def test_curves_have_the_colour_of_the_words_and_no_ground():
    rows = [
        {
            "phase": "play",
            "iteration": i,
            "seconds": 6.0 * i,
            "loss": {"policy": 1.0 / i},
            "length": 9.0,
            "moves_s": 5.0,
        }
        for i in range(1, 5)
    ]
    rows.append(
        {"phase": "judge", "iteration": 4, "seconds": 72.0, "player": "me", "elo": {"me": [10.0, 5.0], "x": [0.0, 5.0]}}
    )
    png, svg = run_report._curves(rows)
    assert png.startswith(b"\x89PNG")
    assert "currentColor" in svg
    assert "fill: #ffffff" not in svg
    assert "#000000" not in svg


def test_rows_of_others_have_no_place_on_the_ladder():
    assert run_summary.ladder([{"iteration": 1, "seconds": 1.0, "elo": None}, {"iteration": 2, "seconds": 2.0}]) == []


@pytest.mark.slow
def test_games_of_the_last_judgement_say_who_won(tmp_path):
    """The second mover won both games: once the run's own player, and once the other one."""
    game, moves = make("tictactoe"), [0, 4, 1, 3, 8, 5]
    pair = records.PairResult("tictactoe", "me", "random", 0.0, 1.0, "x")
    records.append(tmp_path / "matches.jsonl", [dataclasses.replace(pair, id="unsaved", number=5), pair])
    games_file.save(tmp_path / "games", game, pair, moves[:1], [moves[1:]] * 2)
    # lines come as pairs end, games of the first openings are saved, and names say who is `a`
    other = records.PairResult("tictactoe", "greedy", "me", 0.0, 1.0, "y")
    records.append(tmp_path / "matches.jsonl", [other])
    games_file.save(tmp_path / "games", game, other, moves[:1], [moves[1:]] * 2)
    found = run_summary.judged_games(tmp_path, TrainConfig(game="tictactoe"), [{"iteration": 1, "player": "me"}])
    assert [one.result for one in found[2:]] == ["greedy against me: me won", "me against greedy: greedy won"]
    found = found[:2]
    assert [one.result for one in found] == ["me against random: random won", "random against me: me won"]
    assert [one.moves for one in found] == [[game.action_name(move) for move in moves]] * 2
