"""The gate: who makes self-play changes by a test alone, also after a resume, and ratings never hear of its games."""

import contextlib
import dataclasses
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgo.arena import records
from jaxgo.arena.openings import Openings
from jaxgo.arena.schedule import Schedule
from jaxgo.arena.sprt import Sprt
from jaxgo.arena.tally import five
from jaxgo.core.errors import UsageError
from jaxgo.games import make
from jaxgo.players import Player
from jaxgo.search import Greedy
from jaxgo.search.health import EvaluatorError
from jaxgo.selfplay import Tally
from jaxgo.system import devices
from jaxgo.system.metrics import read_rows
from jaxgo.system.rundir import RunDir
from jaxgo.system.weights import find_weights, load_weights, read_weights, weight_steps
from jaxgo.training import due, judge, loop
from jaxgo.training.config import FREE, Budget, GateConfig, JudgeConfig, TrainConfig, to_json
from jaxgo.training.loop import Loop, train
from jaxgo.training.report import Recorder
from jaxgo.training.trainer import Best, Trainer, TrainState

CONFIG = TrainConfig(
    game="tictactoe",
    gate=GateConfig(every=2, elo=50.0, pairs=200),
    judge=JudgeConfig(every=0.0, final=(), past=0),
    budget=Budget(iterations=7),
    save_every=0.0,
)


class Weights(NamedTuple):
    """Stands for a LearnerState, of which the loop reads the average alone."""

    average: Any


class Counted(Trainer):
    """A run whose weights are the number of iterations they have learnt; nothing is played and nothing compiled."""

    played: ClassVar[list[int]] = []  # whose weights played, iteration by iteration

    def begin(self) -> TrainState:
        zero, blank = jnp.int32(0), cast(Any, ())
        weights = {"params": {"w": jnp.zeros(2)}}
        best, count = Best(weights, zero, zero), jnp.zeros((2, 2), jnp.int32)
        learner = cast(Any, Weights(weights))
        return TrainState(learner, blank, blank, blank, zero, jnp.float32(0), count, best, jax.random.key(0))

    def deal(self, state: TrainState) -> tuple[TrainState, int]:
        return state, self.mesh.devices.size

    def play(self, state: TrainState) -> tuple[TrainState, Tally]:
        assert state.best is not None
        self.played.append(int(state.player["params"]["w"][0]))
        sums = dict.fromkeys(Tally._fields, np.zeros(1)) | {"plies": np.full(1, 2.0**30), "games": np.full(1, 3.0)}
        return state, Tally(**cast(Any, sums))

    def learn(self, state: TrainState, spent: float) -> tuple[TrainState, dict[str, jax.Array]]:
        learner = cast(Any, Weights(jax.tree.map(lambda w: w + 1, state.learner.average)))
        said = dict.fromkeys(
            ("samples", "window", "step", "skipped", "broken", "rate", "ready", "loss", "gradient", "targets"), 0.0
        )
        return state._replace(learner=learner, iteration=state.iteration + 1), cast(Any, said)


CLOSE = 0.75  # stands for results of which no test can be sure


@dataclasses.dataclass
class Played:
    """Stands for a tournament of two players: each pair has the same result, and nothing is compiled."""

    judge: judge.Judge
    players: Sequence[Player]
    plan: Schedule
    file: Path
    seed: int
    result: float | None

    def __post_init__(self) -> None:
        self.known: list[records.PairResult] = []
        self.ledger = types.SimpleNamespace(line=lambda: self.known)

    def run(self) -> Iterator[None]:
        a, b = self.players
        for player in self.players:
            assert f"{float(player.params['params']['w'][0]):.0f}" == player.name.rpartition("/")[2], (
                "weights and names belong together"
            )
        for number in range(self.plan.pairs):
            if self.result is None:
                self.judge.stop = lambda: True
                yield
                return
            id = f"{a.name}-{number}"
            result = float(number % 2) if self.result == CLOSE and number % 7 else self.result
            pair = records.PairResult("tictactoe", a.name, b.name, result, result, id, seed=self.seed)
            self.known.append(pair)
            records.append(self.file, [pair])
            yield


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[int, float | None]:
    """What a candidate gets from each game, by its iteration, half unless told otherwise; None: stopped in its test."""
    results: dict[int, float | None] = {}
    lines = [((i, j), bytes([i, j])) for i in range(9) for j in range(9) if i != j]

    def tournament(
        self: judge.Judge,
        players: Sequence[Player],
        others: Sequence[Player],
        plan: Schedule,
        openings: Openings,
        file: str,
        seed: int = 0,
    ) -> Any:
        result = results.get(int(players[0].name.rpartition("/")[2]), 0.5)
        return Played(self, players, plan, self.folder / file, self.config.seed + seed, result)

    monkeypatch.setattr(judge.Judge, "tournament", tournament)
    monkeypatch.setattr(judge, "_gate_openings", lambda game, seed: Openings(game, [lines]))
    Counted.played.clear()
    return results


def sitting(script: dict[int, float | None], path: Path, iterations: int) -> TrainState:
    config = dataclasses.replace(CONFIG, budget=Budget(iterations=iterations))
    recorder = Recorder(path, print)
    with RunDir(path, to_json(config), free=FREE) as run:
        going = Loop(Counted(config, devices.make_mesh()), run, recorder)
        while not going.finished:
            going.advance()
            if None in script.values():
                break
        going.end()
    recorder.close()
    return going.state


def told(path: Path) -> list[tuple[int, bool]]:
    return [(row["iteration"], row["gate"]["accepted"]) for row in read_rows(path) if "gate" in row]


def test_only_who_wins_its_test_makes_self_play_also_after_a_resume(script, tmp_path):
    script.update({2: 1.0, 4: 0.0, 6: 1.0})
    path = tmp_path / "run"
    state = sitting(script, path, 5)
    assert Counted.played == [0, 0, 2, 2, 2]
    assert state.best is not None
    assert (int(state.best.step), int(state.best.tested)) == (2, 4)
    best = path / "players" / "best.npz"
    assert read_weights(best)[0]["step"] == 2
    best.unlink()  # whatever a sitting left there that was killed later than its last checkpoint
    sitting(script, path, 7)
    assert Counted.played == [0, 0, 2, 2, 2, 2, 6]
    assert told(path) == [(2, True), (4, False), (6, True)]
    about, weights = read_weights(best)
    assert about["step"] == 6
    assert weights["params"]["w"].tolist() == [6.0, 6.0]
    assert weight_steps(path)[-1] == 7, "ratings and runs go by the newest weights"


def test_games_of_tests_are_kept_apart_from_those_of_ratings(script, tmp_path):
    script.update({2: 1.0, 4: 0.5})
    sitting(script, tmp_path / "run", 5)
    assert not (tmp_path / "run" / judge.MATCHES).exists()
    pairs = records.read(tmp_path / "run" / judge.TESTS)
    assert {(pair.a.rpartition("/")[2], pair.b.rpartition("/")[2]) for pair in pairs} == {("2", "0"), ("4", "2")}
    assert {pair.seed for pair in pairs} == {CONFIG.seed + 1}, "from openings of their own"
    assert 0 < sum(pair.a.endswith("/2") for pair in pairs) < 72, "it was known before all openings were played"


def test_a_test_that_ends_undecided_leaves_the_old_weights(script, tmp_path):
    script[2] = CLOSE
    state = sitting(script, tmp_path / "run", 3)
    assert state.best is not None
    assert (int(state.best.step), int(state.best.tested)) == (0, 2)
    assert told(tmp_path / "run") == [(2, False)]
    pairs = records.read(tmp_path / "run" / judge.TESTS)
    verdict = Sprt(0.0, CONFIG.gate.elo).judge(five(pairs, pairs[0].a))
    assert verdict.accepted is None
    assert 0 < verdict.llr < verdict.upper, "whoever leads has not won"


def test_a_test_that_was_stopped_is_made_again(script, tmp_path):
    sitting(script, tmp_path / "run", 2)
    script[2] = None
    state = sitting(script, tmp_path / "run", 4)
    assert state.best is not None
    assert (int(state.iteration), int(state.best.tested)) == (2, 0), "nobody knows yet who is to play on"
    assert told(tmp_path / "run") == []
    script[2] = 1.0
    sitting(script, tmp_path / "run", 4)
    assert told(tmp_path / "run") == [(2, True)]
    assert Counted.played == [0, 0, 2, 2]


@contextlib.contextmanager
def begun(path: Path, say: Callable[[str], None] = print) -> Iterator[Loop]:
    """A run that has not made an iteration yet."""
    with RunDir(path, to_json(CONFIG), free=FREE, say=say) as run:
        yield Loop(Counted(CONFIG, devices.make_mesh()), run, Recorder(path, lambda text: None))


@pytest.mark.parametrize("saved", [0, 3])
def test_players_that_a_kill_left_behind_the_last_checkpoint_are_set_aside(script, tmp_path, saved):
    """`@RUN` meant a player that the run had not made when it went on."""
    path, said = tmp_path / "run", list[str]()
    if saved:
        sitting(script, path, saved)
    with RunDir(path, to_json(CONFIG), free=FREE) as run:
        for step in (saved, 5, 6):
            run.save_weights(step, {"params": {"w": np.full(2, float(step))}}, {})
    with begun(path, said.append) as going:
        assert going.iteration == saved
        assert find_weights(path)[0] == f"{path}/{saved}"
    with begun(path, said.append):  # once
        pass
    later = f"2 players of {path} are of later iterations than {saved}, where it goes on"
    assert said == [f"{later}; they are kept as players/*-aside.npz"]
    _, kept = load_weights(path / "players" / "00000006-aside.npz")
    assert kept["params"]["w"].tolist() == [6.0, 6.0]


def test_a_stop_and_broken_numbers_in_a_test_are_known_to_all_hosts(script, tmp_path):
    """Nobody makes an iteration after a test that was stopped, so none would carry the word from host to host."""
    with begun(tmp_path / "run") as going:
        assert going.state.best is not None
        going._due.together = True
        script[0] = None
        assert not going.test(going.state.best)
        assert going.stopped
        going._gate = cast(Any, broken)
        with pytest.raises(EvaluatorError, match="in a match of the gate"):
            going.test(going.state.best)


def broken(*_: Any) -> None:
    raise EvaluatorError("uct:8 gave NaN")


def test_broken_numbers_of_whoever_is_met_in_a_judgement_end_no_run(script, tmp_path):
    said: list[str] = []
    with begun(tmp_path / "run", said.append) as going:
        going._judge = cast(Any, broken)
        going.judge(final=True)
    assert said == ["iteration 0 is not judged: uct:8 gave NaN"]


def full(*_: Any) -> None:
    raise UsageError("gate.jsonl: No space left on device")


def test_a_full_disk_under_a_match_ends_no_run(script, tmp_path):
    said: list[str] = []
    with begun(tmp_path / "run", said.append) as going:
        going._judge = going._gate = cast(Any, full)
        going.judge()
        going.iteration = 2
        assert going.state.best is not None
        assert going.test(going.state.best), "training goes on"
        assert going.state.best is not None
        assert [int(x) for x in (going.state.best.step, going.state.best.tested)] == [0, 2]
    assert said == [
        "iteration 0 is not judged: gate.jsonl: No space left on device",
        "iteration 2 is not tested, and the weights of before play on: gate.jsonl: No space left on device",
    ]


def test_a_state_is_made_once_whether_a_run_begins_or_goes_on(script, tmp_path, monkeypatch):
    made: list[TrainState] = []
    begin = Counted.begin
    monkeypatch.setattr(Counted, "begin", lambda self: made.append(begin(self)) or made[-1])
    for sittings in (1, 2):
        sitting(script, tmp_path / "run", sittings)
        assert len(made) == sittings


def test_counts_go_on_and_no_row_is_lost(script, tmp_path):
    """Moves of weeks, more than fit into a word of a state; and a run that has nothing left to do loses nothing."""
    for iterations in (3, 7, 7):
        sitting(script, tmp_path / "run", iterations)
    rows = [row for row in read_rows(tmp_path / "run") if row["phase"] == "play"]
    assert [row["iteration"] for row in rows] == [1, 2, 3, 4, 5, 6, 7]
    assert [row["moves"] for row in rows] == [2**30 * n for n in range(1, 8)]
    assert [row["games"] for row in rows] == [3 * n for n in range(1, 8)]


def test_what_the_budget_counts(script, tmp_path, monkeypatch):
    """Judgements and checkpoints on the way, but neither what comes before the first iteration ends nor the end."""
    clock = [1000.0]

    def passes(function: Any, seconds: float) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            clock[0] += seconds
            return function(*args, **more)

        return call

    for module in (loop, due):
        monkeypatch.setattr(module, "time", types.SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(loop, "Trainer", Counted)
    monkeypatch.setattr(Counted, "learn", passes(Counted.learn, 7.0))
    monkeypatch.setattr(judge.Judge, "__call__", passes(lambda *_: {}, 10.0))
    judged = JudgeConfig(every=8.0, final=(), past=0)
    for budget, iterations, seconds in ((30.0, 4, 31.0), (60.0, 8, 72.0)):
        # (7) 7 7 judge 10 7, and in the second sitting, 7 after that judgement, (7) 7 judge 10 7 7 judge 10; the last
        # judgements are left out
        config = dataclasses.replace(CONFIG, judge=judged, gate=GateConfig(99), budget=Budget(seconds=budget))
        with RunDir(tmp_path / "run", to_json(config), free=FREE) as run:
            state = train(config, run, lambda report: None)
        assert (int(state.iteration), float(state.seconds)) == (iterations, seconds)


def test_a_state_with_a_gate_holds_who_plays():
    """Only shapes: the programs are those of every run."""
    config = dataclasses.replace(CONFIG, search=Greedy())
    state = jax.eval_shape(Trainer(config, devices.make_mesh()).begin)
    assert state.best is not None
    assert jax.tree.map(jnp.shape, state.best.params) == jax.tree.map(jnp.shape, state.learner.average)


def test_mistakes(monkeypatch):
    for wrong in ({"every": -1}, {"pairs": 0}, {"elo": 0.0}):
        with pytest.raises(UsageError, match=r"gate\.every is at least 0"):
            GateConfig(**cast(Any, wrong))
    with pytest.raises(UsageError, match=r"gate\.pairs=1000000000 is too large; at most 100,000"):
        GateConfig(1, pairs=10**9)  # whose openings would be drawn for hours
    many = Openings(make("tictactoe"), [[((i, i + 1), bytes([i])) for i in range(36)]])
    monkeypatch.setattr(judge, "_gate_openings", lambda game, seed: many)
    for elo, pairs, said in ((20.0, 200, r"raise gate\.elo$"), (30.0, 35, r"raise gate\.pairs or gate\.elo$")):
        with pytest.raises(UsageError, match=said):
            judge.check_gate(GateConfig(1, elo, pairs), many.game, 0)
    judge.check_gate(GateConfig(1, 30.0, 200), many.game, 0)
    judge.check_gate(GateConfig(0, 20.0, 200), many.game, 0)
    hard = object.__new__(judge.Judge)  # not of the command line: a gate is never made that nobody could pass
    hard.game, hard.config = many.game, dataclasses.replace(CONFIG, gate=GateConfig(1, 20.0, 200))
    with pytest.raises(UsageError, match=r"raise gate\.elo$"):
        judge.Gate(hard)
    with pytest.raises(UsageError, match="pegs has one player, so there is no test"):
        Trainer(dataclasses.replace(CONFIG, game="pegs"), devices.make_mesh())
