"""A run from its start to its end: what it tells, saves and judges, and how it goes on."""

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_run import CONFIG, copied, same

from jaxgo.arena import program, records
from jaxgo.arena.openings import random_openings
from jaxgo.arena.schedule import Schedule
from jaxgo.core.errors import UsageError
from jaxgo.games import make
from jaxgo.players import load_player
from jaxgo.selfplay import Tally
from jaxgo.system import devices
from jaxgo.system.metrics import read_rows
from jaxgo.system.rundir import RunDir
from jaxgo.system.weights import weight_steps
from jaxgo.training import inherit
from jaxgo.training import loop as loops
from jaxgo.training.config import WatchConfig, to_json
from jaxgo.training.judge import Judge, opponents
from jaxgo.training.loop import CollapsedError, Loop, Underway, about, train
from jaxgo.training.report import Report
from jaxgo.training.trainer import Trainer, TrainState
from jaxgo.training.watchdog import Collapse


@pytest.fixture(scope="module")
def trainer() -> Trainer:
    return Trainer(CONFIG, devices.make_mesh())


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs") / "smoke"


@pytest.fixture(scope="module")
def run(path: Path) -> tuple[list[Report], TrainState]:
    """A whole run."""
    reports: list[Report] = []
    with RunDir(path, to_json(CONFIG)) as folder:
        state = train(CONFIG, folder, reports.append)
    return reports, state


def test_a_run_reports_saves_judges_and_can_be_played_against(run, path):
    reports, state = run
    phases = [report.phase for report in reports]
    assert phases[0] == "start"
    assert phases[-1] == "end"
    assert [report.iteration for report in reports if report.phase == "play"] == [1, 2, 3, 4, 5, 6]
    plain = [value for report in reports for value in report.metrics.values()]
    assert all(isinstance(value, (int, float, str, dict, list)) for value in plain)
    assert int(state.iteration) == 6
    judged = [report.metrics for report in reports if report.phase == "judge" and report.metrics]
    assert len(judged) == 1
    name = judged[0]["player"]
    assert set(judged[0]["elo"]) == {name, "random"}
    told = [(report.phase, report.iteration) for report in reports if report.metrics]
    assert [(row["phase"], row["iteration"]) for row in read_rows(path)] == told, "the folder has what was heard"
    pairs = records.read(path / "matches.jsonl")
    assert len(pairs) == 3
    assert {(pair.a, pair.b) for pair in pairs} == {("random", name)}
    player, random = (load_player(text, make("tictactoe")) for text in (name, "random"))
    assert {pair.checkpoints for pair in pairs} == {(random.fingerprint(), player.fingerprint())}
    assert load_player(f"@{path}", make("tictactoe")) == player, "weights bring the search that they were rated with"
    jax.tree.map(np.testing.assert_array_equal, player.params, copied(_without_heads(state.learner.average, player)))
    with pytest.raises(UsageError, match="they do not fit"):
        load_player(name, make("connect4"))


def _without_heads(params: Any, player: Any) -> Any:
    return {"params": {name: params["params"][name] for name in player.params["params"]}}


def test_a_finished_run_goes_no_further(run, path):
    reports: list[Report] = []
    with RunDir(path, to_json(CONFIG)) as folder:
        assert folder.resumed
        loop = Loop(Trainer(CONFIG, devices.make_mesh()), folder, reports.append)
        assert loop.finished
        assert loop.iteration == 6
        assert loop.seconds > 0


def test_a_run_that_goes_on_meets_the_players_of_earlier_sittings(trainer, run, path):
    """One iteration more than there were. The programs are those of the run: nothing is compiled for it."""
    again = path.with_name("longer")
    shutil.copytree(path, again)
    matches = again / "matches.jsonl"
    matches.write_text(matches.read_text().replace(f"{path}/", "runs/as-it-was/"))
    reports: list[Report] = []
    with RunDir(again, to_json(CONFIG)) as folder:
        loop = Loop(trainer, folder, reports.append)
        assert reports[-1][:2] == ("start", 6)
        loop.advance()
        loop.end()
        assert Judge(trainer, folder, began=5)._past == [], "what was judged later than the checkpoint is not known yet"
        assert [player.name for player in Judge(trainer, folder, began=7)._past] == [f"small_run:Quick:1@{again}/7"]
    (judged,) = (report.metrics for report in reports if report.phase == "judge" and report.metrics)
    mine = [pair for pair in records.read(again / "matches.jsonl") if judged["player"] in (pair.a, pair.b)]
    known = {(pair.b if pair.a == judged["player"] else pair.a).rpartition("/")[2]: all(pair.lines) for pair in mine}
    assert known == {"6": True, "random": False}, "games of players without luck can be told apart"
    rows = [report.metrics for report in reports if report.phase == "play"]
    assert [row["moves"] for row in rows] == [7 * 16 * 6]


def test_tests_of_a_gate_are_no_matches_of_the_ratings(trainer, run, path, tmp_path):
    with RunDir(tmp_path / "run", to_json(CONFIG)) as folder:
        judge, weights = Judge(trainer, folder), run[1].learner.average
        openings = random_openings(trainer.game, plies=2, seed=1)
        players = [judge.player(6, weights), judge.player(4, jax.tree.map(jnp.zeros_like, weights))]
        before = program.advance._cache_size()
        play = judge.tournament(
            players, [*opponents(CONFIG).values()], Schedule(pairs=5), openings, "gate.jsonl", seed=1
        )
        assert list(play.run())
        assert program.advance._cache_size() == before > 0, "a test is the program of the judge"
        pairs = play.ledger.line()
        assert [(pair.number, pair.seed) for pair in pairs] == [(number, 1) for number in range(5)]
        assert [pair.opening for pair in pairs] == [openings.names(number) for number in range(5)]
        assert {(pair.a, pair.b) for pair in pairs} == {tuple(sorted(player.name for player in players))}
        assert {pair.id for pair in records.read(tmp_path / "run" / "gate.jsonl")} == {pair.id for pair in pairs}
        assert not (tmp_path / "run" / "matches.jsonl").exists()


def test_a_run_can_be_stopped_and_saves(path):
    asked: list[int] = []
    with RunDir(path.with_name("stopped"), to_json(CONFIG)) as folder:
        state = train(
            CONFIG, folder, lambda report: asked.append(report.iteration), stop=lambda: max(asked, default=0) >= 2
        )
        folder.checkpoints.wait()
        last = folder.checkpoints.steps()[-1]
        assert 2 <= int(state.iteration) == last < CONFIG.budget.iterations  # it hears of it late


def test_a_run_begins_with_the_weights_of_another(trainer, run, path, monkeypatch):
    """All of them, heads too, in both places of the learner; a run that is killed at once begins so again."""
    weights = run[1].learner.average
    with RunDir(path.with_name("heir"), to_json(CONFIG)) as folder:
        start = inherit.find(trainer, str(path), folder.path)
        said: list[str] = []
        folder.say = said.append
        with monkeypatch.context() as full:
            full.setattr(folder, "save_weights", lambda *_: None)
            with pytest.raises(UsageError, match="cannot keep the weights that it is to begin with; make room"):
                inherit.keep(folder, start, about(CONFIG))
        assert not said, "new weights would be trained under the name of these"
        inherit.keep(folder, start, about(CONFIG))
        assert said == [f"begins with the weights of {path}/{max(weight_steps(path))}"], "a damaged step is not meant"
        assert inherit.find(trainer, str(path), folder.path) is None, "the weights are here by now"
        with pytest.raises(
            UsageError, match=r"has begun with .*smoke and not with other; go on with --init-from '', or name"
        ):
            inherit.keep(folder, start._replace(words="other"), about(CONFIG))
        for _ in range(2):
            loop = Loop(trainer, folder, lambda report: None)
            same(loop.state.learner.params, weights)
            same(loop.state.learner.average, weights)
        assert int(loop.state.learner.step) == 0
        loop.save()
        assert inherit.find(trainer, str(path), folder.path) is None, "stopped at once it goes on, too"
        loop.advance()
        loop.save()
    with RunDir(path.with_name("heir"), to_json(CONFIG)) as folder:
        assert Loop(trainer, folder, lambda report: None).iteration == 1, "its own checkpoint comes first"


def test_weights_say_which_heads_they_have_learnt():
    assert about(CONFIG)["heads"] == ["short", "reply"]


@pytest.mark.parametrize(
    ("handed", "free", "fetched", "waits", "rounds", "seconds"),
    [
        ((10.0, 10.1, 10.2), 12.0, (15.0, 16.0), False, False, (3.0, 4.0)),  # the device was at the iteration before
        ((10.0, 10.1, 10.2), 8.0, (15.0, 16.0), False, True, (5.0, 6.0)),  # a match was played before it
        (
            (10.0, 13.0, 14.0),
            14.0,
            (18.0, 18.0),
            False,
            True,
            (3.0, 4.0),
        ),  # handed over round by round, heard after the next
        ((10.0, 13.0, 14.0), 14.0, (14.01, 14.01), False, True, (3.0, 4.0)),  # and the last one of a run
        # a processor works beside who hands over, who may wait for the other program to end
        ((10.0, 10.001, 14.0), 10.0, (13.0, 14.0), False, False, (3.0, 4.0)),
        ((10.0, 13.0, 14.0), 10.0, (14.5, 30.0), True, False, (3.0, 4.0)),
    ],
)
def test_an_iteration_is_timed_by_what_the_device_does(handed, free, fetched, waits, rounds, seconds):
    nothing = Tally(*[jnp.zeros(())] * len(Tally._fields))
    one = Underway(1, nothing, {}, None, *handed)
    assert one.clock(free, *fetched, waits, rounds) == pytest.approx(seconds)


def test_a_collapse_is_said_and_ends_the_run_where_it_shall(trainer, path, monkeypatch):
    said: list[str] = []
    config = dataclasses.replace(CONFIG, watch=WatchConfig(iterations=1, length=100.0, stop=True))
    told = r"games are very short \(plies\): length .* is below watch\.length=100; .* and it is saved"
    with RunDir(path.with_name("collapsed"), to_json(config), say=said.append) as folder:
        loop = Loop(trainer, folder, lambda report: None)
        loop.config, loop._collapse = config, Collapse(config.watch)
        monkeypatch.setattr(loops, "Loop", lambda *_: loop)  # whose programs are compiled
        with pytest.raises(CollapsedError, match=told):
            train(config, folder)
        assert (folder.checkpoints.steps(), weight_steps(folder.path), len(said)) == ([1], [1], 1)
