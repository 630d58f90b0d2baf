"""A run on two devices: one trace for each program, no host in the way, and the same numbers after it was resumed."""

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgo.arena import program, records
from jaxgo.arena.openings import random_openings
from jaxgo.arena.schedule import Schedule
from jaxgo.core.errors import UsageError
from jaxgo.games import make
from jaxgo.nets import Mlp
from jaxgo.players import load_player
from jaxgo.search import Greedy
from jaxgo.search.health import EvaluatorError
from jaxgo.selfplay import SelfplayConfig, Tally
from jaxgo.system import devices
from jaxgo.system.metrics import read_rows
from jaxgo.system.rundir import RunDir
from jaxgo.system.weights import weight_steps
from jaxgo.training import inherit, learner, targets
from jaxgo.training import loop as loops
from jaxgo.training import trainer as trainers
from jaxgo.training.config import (
    Budget,
    JudgeConfig,
    LearnerConfig,
    ReplayConfig,
    TargetsConfig,
    TrainConfig,
    WatchConfig,
    to_json,
)
from jaxgo.training.judge import Judge, opponents
from jaxgo.training.loop import CollapsedError, DivergedError, Loop, Underway, about, train
from jaxgo.training.report import Report
from jaxgo.training.trainer import Best, Trainer, TrainState
from jaxgo.training.watchdog import Collapse


@dataclasses.dataclass(frozen=True)
class Quick(Greedy):
    """The search is not what is tested here, and this one compiles at once; one without simulations is refused."""

    simulations: int = 1


CONFIG = TrainConfig(
    game="tictactoe",
    net=Mlp(width=16, blocks=1),
    search=Quick(),
    selfplay=SelfplayConfig(games=16, steps=6, opening_plies=2, book="balanced", book_share=0.5),
    targets=TargetsConfig(heads=("short", "reply")),
    replay=ReplayConfig(capacity=512, start=64),
    learner=LearnerConfig(batch=32, reuse=1.0, warmup=2, cooldown=0.5, patience=3),
    judge=JudgeConfig(every=0.0, final=("random",), final_pairs=3, past=1),
    budget=Budget(iterations=6),
    save_every=0.0,
)


def copied(tree: Any) -> Any:
    """On the host, keys as words."""

    def word(x: Any) -> Any:
        key = jnp.issubdtype(x.dtype, jax.dtypes.prng_key)
        return np.array(jax.random.key_data(x) if key else x)

    return jax.tree.map(word, tree)


def same(one: Any, two: Any) -> None:
    jax.tree.map(np.testing.assert_array_equal, copied(one), copied(two))


@pytest.fixture(scope="module")
def trainer() -> Trainer:
    return Trainer(CONFIG, devices.make_mesh())


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs") / "smoke"


@pytest.fixture(scope="module")
def traces() -> dict[str, int]:
    """How often a part of each program was traced; `states` fills it in."""
    return {}


@pytest.fixture(scope="module")
def states(trainer: Trainer, path: Path, traces: dict[str, int]) -> Iterator[dict[int, Any]]:
    """What a run was after some iterations, one of which is saved."""

    def counted(name: str, function: Any) -> Any:
        def call(*args: Any) -> Any:
            traces[name] = traces.get(name, 0) + 1
            return function(*args)

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(targets, "make_samples", counted("play", targets.make_samples))
        patch.setattr(learner, "make_batch", counted("learn", learner.make_batch))
        state, seen = trainer.begin(), {}
        with RunDir(path.with_name("resumed"), to_json(CONFIG)) as run:
            for iteration in range(1, 7):
                state, _ = trainer.play(state)
                state, told = trainer.learn(state, (iteration - 1) / 6)
                seen[iteration] = copied((state, told))
                if iteration == 1:
                    traces["first"] = traces["play"] + traces["learn"]
                if iteration == 3:
                    run.checkpoints.save(3, state)
        traces["last"] = traces["play"] + traces["learn"]
        yield seen


@pytest.fixture(scope="module")
def run(path: Path, states: dict[int, Any]) -> tuple[list[Report], TrainState]:
    """A whole run; after `states`, which counts the traces of the programs that both use."""
    reports: list[Report] = []
    with RunDir(path, to_json(CONFIG)) as folder:
        state = train(CONFIG, folder, reports.append)
    return reports, state


def test_learning_begins_when_there_is_enough_to_learn_from(states):
    steps = [int(told["step"]) for _, told in states.values()]
    for (_, told), step, before in zip(states.values(), steps, [0, *steps], strict=False):
        assert step == before + (CONFIG.updates if told["samples"] >= 64 else 0)
        assert np.isfinite([*told.values()]).all(), "`jax_debug_nans` would stop at NaN"
    assert steps[0] == 0 < steps[-1], "this run shows both"
    assert [round(float(states[i][1]["rate"]), 7) for i in (4, 5, 6)] == [2e-3, 1.55e-3, 6.5e-4], "a cosine"


def test_a_state_goes_through_the_run_folder_and_on_as_if_nothing_had_been(trainer, states, path):
    with RunDir(path.with_name("resumed"), to_json(CONFIG)) as run:
        found = run.checkpoints.restore(trainer.begin())
        assert found is not None
        step, state = found
        assert step == 3
        same(state, states[3][0])
        for gone in (3, 4, 5):
            state, _ = trainer.play(state)
            state, told = trainer.learn(state, gone / 6)
        same((state, told), states[6])


@pytest.mark.slow
@pytest.mark.usefixtures("two_devices")
def test_a_run_of_two_devices_goes_on_on_one_and_back(trainer, states, path, tmp_path):
    """All samples and games are there, in other places; a network does not notice."""
    shutil.copytree(path.with_name("resumed"), tmp_path / "moved")
    said: list[str] = []
    single = Trainer(CONFIG, devices.make_mesh(jax.devices()[:1]))
    with RunDir(tmp_path / "moved", to_json(CONFIG), say=said.append) as run:
        one = Loop(single, run, lambda report: None).state
        run.checkpoints.save(4, one._replace(iteration=one.iteration + 1))
        two = copied(Loop(trainer, run, lambda report: None).state)
    (before, _), one = states[3], copied(one)
    assert one.replay.ring.seen.shape == (1,)
    for now in (one, two):
        for part in ("learner", "selfplay", "window", "played", "key"):
            same(getattr(now, part), getattr(before, part))
        assert _rows(now) == _rows(before)
        assert now.replay.ring.seen.sum() == before.replay.ring.seen.sum()
    assert [sentence.split(":")[0] for sentence in said] == [
        "checkpoint 3 is of 2 devices and goes on on 1",
        "checkpoint 4 is of 1 devices and goes on on 2",
    ]


def _rows(state: TrainState) -> list[bytes]:
    """The samples of a ring, whatever their places."""
    rows = zip(*(leaf.reshape(len(leaf), -1) for leaf in jax.tree.leaves(state.replay.ring.samples)), strict=True)
    return sorted(b"".join(part.tobytes() for part in row) for row in rows)


def test_every_program_is_traced_once_and_runs_without_the_host(trainer, states, traces, monkeypatch):
    """An equal trainer is the same to the compiler, whatever is in its book; the steady state needs no host."""
    other = jax.tree.map(lambda x: x[::-1], trainer.book)
    monkeypatch.setattr(trainers, "read_book", lambda *_: other)
    equal = Trainer(CONFIG, devices.make_mesh())
    assert equal == trainer
    assert equal.book is not trainer.book
    before = traces["play"] + traces["learn"]  # a run on one device, in another test, has programs of its own
    state, _ = equal.play(equal.begin())
    state, _ = equal.learn(state)
    jax.block_until_ready(state)
    with jax.transfer_guard("disallow"):
        state, _ = equal.play(state)
        state, _ = equal.learn(state)
    assert traces["play"] + traces["learn"] == before
    assert traces["last"] == traces["first"] > 0


@pytest.mark.usefixtures("two_devices")
def test_games_and_samples_lie_on_both_devices_and_differ(states, trainer):
    state = trainer.begin()
    for part in (state.selfplay, state.replay.ring):
        assert all(len(leaf.sharding.device_set) == 2 for leaf in jax.tree.leaves(part))
    assert trainer.book is not None
    book = np.asarray(trainer.book.state.ply)
    assert book.tolist() == sorted(book), "openings of the arena, the short ones first"
    assert book[0] == 2
    begun = np.asarray(state.selfplay.position.state.ply)
    for half in (begun[:8], begun[8:]):
        assert 0 in half
        assert {*half} - {0}, "half of the games begin in the book"
        assert {*half} - {0} <= {*book}
    samples = states[6][0].replay.ring.samples
    halves = [samples.value[:256], samples.value[256:]]
    assert not np.array_equal(*halves)
    assert (states[6][0].replay.ring.seen > 0).all()


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


def test_the_run_is_the_programs_and_nothing_else(run, states):
    _, state = run
    same(state._replace(seconds=jnp.float32(0), played=jnp.zeros((2, 2), jnp.int32)), states[6][0])
    assert state.played[1].tolist() == [0, 6 * 16 * 6], "moves"


def test_a_finished_run_goes_no_further(run, path):
    reports: list[Report] = []
    with RunDir(path, to_json(CONFIG)) as folder:
        assert folder.resumed
        loop = Loop(Trainer(CONFIG, devices.make_mesh()), folder, reports.append)
        assert loop.finished
        assert loop.iteration == 6
        assert loop.seconds > 0


def test_self_play_is_made_by_the_average_or_by_whom_the_gate_let_through():
    state = TrainState(**dict.fromkeys(TrainState._fields))
    state = state._replace(learner=SimpleNamespace(params="newest", average="average"))
    assert state.player == "average"
    assert state._replace(best=Best("best", jnp.int32(0), jnp.int32(0))).player == "best"


def test_who_plays_is_the_best_where_there_is_a_gate(trainer, states):
    """The same games come from weights that are the newest, and from weights that a gate has let through."""
    other = jax.tree.map(lambda x: x + 0.5, trainer.begin().learner.average)
    newest, gated = trainer.begin(), trainer.begin()
    newest = newest._replace(learner=newest.learner._replace(average=other))
    zero = jnp.int32(0)
    played, _ = trainer.play(newest)
    tested, _ = trainer.play(gated._replace(best=Best(other, zero, zero)))
    same(played.window, tested.window)
    usual, _ = trainer.play(trainer.begin())
    assert not np.array_equal(tested.window.plies.value, usual.window.plies.value)


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
        assert [player.name for player in Judge(trainer, folder, began=7)._past] == [f"test_loop:Quick:1@{again}/7"]
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


@pytest.mark.usefixtures("states")  # which count the first traces
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


def test_a_learner_that_stays_broken_ends_the_run(trainer, path):
    with RunDir(path.with_name("broken"), to_json(CONFIG)) as folder:
        loop = Loop(trainer, folder, lambda report: None)
        with pytest.raises(DivergedError, match="the last 3 steps of the learner were broken"):
            loop._check({"broken": 0.0, "illegal": 0.0}, {"broken": 3.0})


@pytest.mark.parametrize(
    ("handed", "free", "fetched", "waits", "seconds"),
    [
        ((10.0, 10.1, 10.2), 12.0, (15.0, 16.0), False, (3.0, 4.0)),  # the device was at the iteration before
        ((10.0, 10.1, 10.2), 8.0, (15.0, 16.0), False, (5.0, 6.0)),  # a match was played before it
        ((10.0, 13.0, 14.0), 14.0, (18.0, 18.0), False, (3.0, 4.0)),  # handed over round by round, heard after the next
        ((10.0, 13.0, 14.0), 14.0, (14.01, 14.01), False, (3.0, 4.0)),  # and the last one of a run
        ((10.0, 13.0, 14.0), 10.0, (14.5, 30.0), True, (3.0, 4.0)),
    ],
)
def test_an_iteration_is_timed_by_what_the_device_does(handed, free, fetched, waits, seconds):
    nothing = Tally(*[jnp.zeros(())] * len(Tally._fields))
    one = Underway(1, nothing, {}, None, *handed)
    assert one.clock(free, *fetched, waits) == pytest.approx(seconds)


@pytest.mark.usefixtures("two_devices")  # whose loop hears of an iteration at once
def test_broken_numbers_go_back_once_and_end_the_run_the_second_time(trainer, states, path):
    """A checkpoint whose numbers are broken is passed over, and gone: the next sitting must not begin with it."""
    reports, said = [], []

    def spoil(loop: Loop) -> None:
        learner = loop.state.learner
        broken = learner._replace(
            params=jax.tree.map(lambda x: jax.device_put(np.full(x.shape, np.nan, x.dtype), x.sharding), learner.params)
        )
        loop.state = loop.state._replace(learner=broken)

    with RunDir(path.with_name("gone-back"), to_json(CONFIG), say=said.append) as folder:
        loop = Loop(trainer, folder, reports.append)
        for _ in range(3):
            loop.advance()
        loop.save()
        key = jax.random.key_data(loop.state.key)
        loop.advance()
        spoil(loop)
        loop.save()
        folder.checkpoints.wait()
        assert folder.checkpoints.steps() == [3, 4]
        loop.advance()
        (told,) = said
        assert told.startswith("iteration 5: the last 3 steps of the learner were broken (NaN or infinite); the last")
        assert told.endswith("; going back to checkpoint 3, once, with other random numbers")
        assert reports[-1][:2] == ("start", 3)
        assert folder.checkpoints.steps() == weight_steps(folder.path) == [3]
        renewed = jax.random.key_data(loop.state.key)
        assert not np.array_equal(key, renewed)
    with RunDir(path.with_name("gone-back"), to_json(CONFIG), say=said.append) as folder:
        loop = Loop(trainer, folder, reports.append)  # stopped before the next checkpoint, it begins there again
        assert np.array_equal(jax.random.key_data(loop.state.key), renewed)
        loop.advance()
        assert loop.iteration == 4
        assert np.isfinite(reports[-1].metrics["loss"]["total"])
        spoil(loop)
        with pytest.raises(DivergedError, match=r"iteration 5: .*; it had gone back once already, after iteration 5: "):
            loop.advance()


@pytest.mark.slow
def test_broken_numbers_of_the_last_iteration_go_back_too(trainer, states, path, monkeypatch):
    """They are heard after the loop, and ended the run with a sentence: the same command came to them again."""
    said: list[str] = []
    whole, times = Loop._hear, []

    def hear(self: Loop) -> None:
        if self.iteration < 6 or said:
            return whole(self)
        times.append(self.iteration)
        if len(times) > 1:  # the first time is in the loop; on one device it would be behind it
            self._underway.clear()
            raise EvaluatorError("the network gave numbers that are not finite in self-play")
        return None

    with RunDir(path.with_name("late"), to_json(CONFIG), say=said.append) as folder:
        loop = Loop(trainer, folder, lambda report: None)
        for _ in range(3):
            loop.advance()
        loop.save()
    monkeypatch.setattr(Loop, "_hear", hear)
    with RunDir(path.with_name("late"), to_json(CONFIG), say=said.append) as folder:
        state = train(CONFIG, folder)
    assert int(state.iteration) == 6
    played = [row["iteration"] for row in read_rows(path.with_name("late")) if row["phase"] == "play"]
    assert played == [4, 5, 6], "what is made again is told once; the loop alone writes no rows"
    assert [sentence.partition(";")[0] for sentence in said] == [
        "iteration 6: the network gave numbers that are not finite in self-play"
    ]


def test_a_run_without_a_good_checkpoint_ends_at_once(trainer, states, path):
    with RunDir(path.with_name("never-saved"), to_json(CONFIG)) as folder:
        loop = Loop(trainer, folder, lambda report: None)
        advice = r"not finite in self-play; train with a lower learner\.rate in another"
        with pytest.raises(DivergedError, match=advice):
            loop._go_back(EvaluatorError("the network gave numbers that are not finite in self-play"))


def test_a_collapse_is_said_and_ends_the_run_where_it_shall(trainer, states, path, monkeypatch):
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


@pytest.mark.usefixtures("two_devices")
@pytest.mark.parametrize(
    ("part", "change", "said"),
    [
        ("selfplay", {"games": 15}, "selfplay.games=15 cannot be shared by 2 devices"),
        ("learner", {"batch": 33}, "learner.batch=33 cannot be shared by 2 devices"),
        ("replay", {"capacity": 128}, "replay.capacity=128 is too small"),
    ],
)
def test_what_does_not_fit_the_devices_is_refused(part, change, said):
    config = dataclasses.replace(CONFIG, **{part: dataclasses.replace(getattr(CONFIG, part), **change)})
    with pytest.raises(UsageError, match=said):
        Trainer(config, devices.make_mesh())
