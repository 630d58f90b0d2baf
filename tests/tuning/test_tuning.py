"""Tuning: candidates that are players, a log that goes on, weights that beat those they began with."""

import dataclasses
import json
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from support import Host

from jaxgo.arena import match, program, records
from jaxgo.arena.match import play_match
from jaxgo.arena.openings import random_openings
from jaxgo.cli.main import main
from jaxgo.core.errors import UsageError
from jaxgo.core.lanes import alone
from jaxgo.games import make
from jaxgo.players import Player, load_player
from jaxgo.search import Uct
from jaxgo.system.files import Lock
from jaxgo.tuning import evolve
from jaxgo.tuning.evolve import Evolution, Plan
from jaxgo.tuning.space import Space, space_of
from jaxgo.tuning.traced import Arguments, Traced

NOWHERE = random_openings(make("tictactoe"), plies=0)  # nothing is drawn before somebody plays
SMALL = Plan(generations=6, population=6, pairs=1, rounds=1, seed=3)


def space(*names: str) -> Space:
    player = load_player("uct:4", make("tictactoe"))
    return Space(player, names, (), tuple(float(getattr(player.search, name)) for name in names))


class Known(Evolution):
    """Scores that are known: the nearer to c = 0.5 and weight = 0.2 the better."""

    def _play(self, candidates, number):
        found = [self.space.values(x) for x in candidates]
        return [1.0 / (1.0 + abs(v["c"] - 0.5) + 2 * abs(v["weight"] - 0.2)) for v in found]


@pytest.mark.slow
def test_a_run_goes_on_as_if_it_had_not_been_stopped(tmp_path):
    whole = Known(space("c", "weight"), SMALL, NOWHERE, tmp_path / "whole.jsonl")
    list(whole.run())
    path = tmp_path / "parts.jsonl"
    parts = Known(space("c", "weight"), SMALL, NOWHERE, path)
    for generation in parts.run():
        if generation.generation == 2:
            break
    with open(path, "a") as file:
        file.write('{"generation": 3, "cand')  # killed while it wrote
    again = Known(space("c", "weight"), SMALL, NOWHERE, path)
    assert [generation.generation for generation in again.done] == [1, 2]
    list(again.run())
    assert [g.candidates for g in again.done] == [g.candidates for g in whole.done]
    assert again.mean(6).tolist() == whole.mean(6).tolist()
    elsewhere = dataclasses.replace(space("c", "weight"), player=load_player("uct:4", make("connect4")))
    openings = dataclasses.replace(SMALL, plies=2)
    for other, plan in ((space("c"), SMALL), (elsewhere, SMALL), (space("c", "weight"), openings)):
        with pytest.raises(UsageError, match="written by other settings"):
            Known(other, plan, NOWHERE, path)
    path.write_text(path.read_text().split("\n")[0] + "\n")
    assert Known(space("c"), SMALL, NOWHERE, path).done == [], "of settings that found out nothing nothing is kept"
    assert not path.read_text()
    about, first, *_ = whole.log.read_text().splitlines()
    for damage in (
        *({"candidates": [[0.1]]}, {"scores": [1.0]}, {"candidates": [[0.1], [0.1, 0.2]]}),
        *({"generation": 2}, {"generation": -1}, {"mean": []}, {"mean": [0.1]}, {"mean": [1e6, 1e6]}),
    ):
        path.write_text(f"{about}\n{json.dumps(json.loads(first) | damage)}\n")
        with pytest.raises(UsageError, match="line 2 was damaged"):
            Known(space("c", "weight"), SMALL, NOWHERE, path)
    path.write_text(about.replace(space("c").player.fingerprint(), "another") + f"\n{first}\n")
    with pytest.raises(UsageError, match="written by other settings"):  # other weights of the same name
        Known(space("c", "weight"), SMALL, NOWHERE, path)
    for strange in (b"{}\nnonsense\n", b"\xff\xfe\n", b"a list\nof words", b"notes, without an end"):
        path.write_bytes(strange)
        with pytest.raises(UsageError, match="no log of jaxgo tune"):
            Known(space("c"), SMALL, NOWHERE, path)
        assert path.read_bytes() == strange


@pytest.mark.slow
def test_damaged_scores_are_told_where_there_are_as_many_candidates_as_numbers(tmp_path):
    class Even(Evolution):
        def _play(self, candidates, number):
            return [0.5] * len(candidates)

    game = make("gomoku9")
    tuned = Space(load_player("greedy", game), (), tuple(game.weights())[:4], tuple(game.weights().values())[:4])
    plan, log = Plan(generations=1, population=4, pairs=1, rounds=1), tmp_path / "log.jsonl"
    list(Even(tuned, plan, NOWHERE, log).run())
    about, line = log.read_text().splitlines()
    for scores in ([0.5], [0.5] * 5, []):
        log.write_text(f"{about}\n{json.dumps(json.loads(line) | {'scores': scores})}\n")
        with pytest.raises(UsageError, match="line 2 was damaged"):
            Even(tuned, plan, NOWHERE, log)


@pytest.mark.slow
def test_every_round_of_every_generation_has_openings_and_luck_of_its_own(monkeypatch, tmp_path):
    asked, lucks = [], []

    class Openings:
        def positions(self, numbers):
            asked.append(list(numbers))
            return numbers

    class Pool:
        def __init__(self, agents, pairs):
            self.agents = agents

        def begin(self, matches, positions, keys):
            assert sorted(i for match in matches for i in match) == list(range(4)), "everybody plays once a round"
            lucks.append(jax.random.key_data(keys[0]).tolist())

        def slices(self):
            return ()

        def score(self, match):
            return SimpleNamespace(mean=0.75)

    monkeypatch.setattr(evolve, "Pool", Pool)
    plan = Plan(generations=2, population=4, pairs=3, rounds=2)
    run = Evolution(space("c"), plan, NOWHERE, tmp_path / "log.jsonl")
    run.openings = Openings()
    candidates = [np.array([0.1 * i]) for i in range(4)]
    assert [sum(run._play(candidates, number)) for number in (1, 2)] == [2.0, 2.0], "half of the points, on average"
    assert asked == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]
    assert len({str(luck) for luck in lucks}) == 4


@pytest.mark.slow
def test_the_strategy_finds_what_is_best_and_asks_nobody_who_is_not_allowed(tmp_path):
    run = Known(space("c", "weight"), Plan(25, 8, 1, 1, seed=1), NOWHERE, tmp_path / "log.jsonl")
    asked = [run.space.values(np.array(x)) for generation in run.run() for x in generation.candidates]
    assert all(0 < values["weight"] <= 1 for values in asked)
    assert run.space.values(run.mean(0)) == {"c": np.float32(1.4), "weight": np.float32(0.7)}
    assert run.done[-1].values == pytest.approx({"c": 0.5, "weight": 0.2}, abs=0.05)


@pytest.mark.parametrize(
    ("agent", "names", "words"),
    [
        ("puct:4", ("noise",), "noise of puct decides what is compiled"),
        ("uct:4", ("c", "weight"), "weight of uct changes nothing with the other settings of this player"),
        ("uct:4", ("cc",), "unknown number of uct:4.* 'cc'; choose one of: virtual_loss, c"),
        ("uct:4", (), "tune what of uct:4"),
        ("uct:4", ("c", "c"), "c is named twice"),
        ("random", ("c",), "has no number to tune"),
    ],
)
def test_what_cannot_be_tuned_is_refused(agent, names, words):
    with pytest.raises(UsageError, match=words):
        space_of(load_player(agent, make("tictactoe")), names)


def test_plans_and_games_are_refused_before_anything_is_compiled(tmp_path, capsys):
    with pytest.raises(UsageError, match="cannot be paired"):
        Plan(population=5)
    with pytest.raises(UsageError, match="take at most 1000"):
        Plan(population=1_000_000)
    with pytest.raises(UsageError, match="at least 1"):
        Plan(pairs=0)
    with pytest.raises(UsageError, match="1000000000 pairs are too many"):
        Plan(pairs=10**9)
    with pytest.raises(UsageError, match="sigma above 0"):
        Plan(sigma=0.0)
    with pytest.raises(UsageError, match="a seed from 0 to 2147483646"):
        Plan(seed=2**31 - 1)  # the ladder would be refused when all is played
    assert main(["tune", "hughe", "greedy", "--out", str(tmp_path)]) == 2
    assert "puzzle for one" in capsys.readouterr().err
    with Lock(tmp_path / "lock"):
        assert main(["tune", "gomoku9", "greedy", "--numbers", "weights", "--out", str(tmp_path)]) == 2
    assert f"{tmp_path} is in use by process" in capsys.readouterr().err


def test_a_ladder_without_its_log_is_refused_before_all_the_work(tmp_path, capsys):
    records.append(tmp_path / "ladder.jsonl", [records.PairResult("tictactoe", "a", "b", 0.5, 0.5, "id")])
    assert main(["tune", "tictactoe", "uct:4", "--numbers", "c", "--out", str(tmp_path)]) == 2
    assert "ladder.jsonl is of a tuning whose log is gone; move it away" in capsys.readouterr().err


@pytest.mark.slow
def test_ctrl_c_is_heard_within_a_round(monkeypatch, tmp_path, capsys):
    asked = []

    def advance(self, ticks):
        asked.append(int(ticks))
        if len(asked) == 3:
            raise KeyboardInterrupt
        return True

    monkeypatch.setattr(match.Pool, "advance", advance)
    words = ["--numbers", "c", "--population", "4", "--pairs", "1", "--rounds", "1", "--out", str(tmp_path)]
    assert main(["tune", "tictactoe", "uct:4", *words]) == 130
    assert "all finished generations are kept" in capsys.readouterr().err
    assert max(asked) <= 16, "a few moves, and more where these were quick"


def test_weights_are_written_and_load_as_the_same_player(tmp_path):
    game = make("gomoku9")
    tuned = space_of(load_player("greedy,threats=no", game), ("weights",))
    assert tuned.names == tuple(game.weights())
    moved = tuned.origin() + np.linspace(-1, 1, len(tuned.names))
    player = tuned.written(moved, tmp_path / "weights.json")
    again = load_player(player.name, game)
    assert again == player
    assert np.array_equal(again.params, tuned.agent(moved, "candidate").params)
    assert not np.array_equal(again.params, tuned.player.params)
    assert space_of(again, ("weights",)).start == pytest.approx(tuple(tuned.values(moved).values()))
    about = json.loads((tmp_path / "weights.json").read_text())
    for wrong in ({**about, "game": "Go"}, {**about, "weights": {"5": 1.0}}, {}):
        (tmp_path / "wrong.json").write_text(json.dumps(wrong))
        with pytest.raises(UsageError, match=r"wrong\.json"):
            load_player(f"greedy,file={tmp_path / 'wrong.json'}", game)


@pytest.mark.slow
def test_a_traced_option_is_the_option():
    game = make("tictactoe")
    player = load_player("uct:60,evaluator=uniform,solver=no", game)
    root = alone(Host(game).play(0, 1, 3).position)  # cell 6 must be taken

    def visits(search, params):
        return np.asarray(search.run(player.model, params, jax.random.key(1), root).visits)

    traced = jax.jit(lambda c: Traced(player.search, ("c",)).run(player.model, c, jax.random.key(1), root).visits)
    found = [np.asarray(traced(Arguments(np.array([c], np.float32), ()))) for c in (0.1, 3.0)]
    for c, ours in zip((0.1, 3.0), found, strict=True):
        assert np.array_equal(ours, visits(Uct(simulations=60, solver=False, c=c), ()))
    assert not np.array_equal(*found)
    assert traced._cache_size() == 1


@pytest.mark.slow
def test_bad_weights_become_weights_that_beat_them_in_one_program(tmp_path):
    game = make("gomoku", size=7)
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps({"game": "Gomoku", "weights": dict.fromkeys(game.weights(), 1000.0)}))
    tuned = space_of(load_player(f"greedy,threats=no,file={bad}", game), ("weights",))
    run = Evolution(tuned, Plan(4, 8, 16, 1), random_openings(game, plies=4), tmp_path / "log.jsonl")
    before = program.advance._cache_size()
    list(run.run())
    assert program.advance._cache_size() == before + 1
    players: list[Player] = [tuned.agent(run.mean(step), f"generation {step}") for step in (4, 0)]
    score = play_match(*players, jax.random.key(0), run.openings.positions(range(100, 140)))
    assert score.mean - 2 * score.error > 0.6
