"""`train.py` from outside: a job of seconds, killed and resumed, and every mistake in one sentence."""

import fcntl
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest
import quick
from rich.console import Console

from jaxgo.cli import train_job
from jaxgo.cli import train_words as command
from jaxgo.cli.main import main
from jaxgo.core.errors import UsageError
from jaxgo.players import spec_text
from jaxgo.system import aside, devices
from jaxgo.system.metrics import read_rows
from jaxgo.system.rundir import RunDir, read_config
from jaxgo.system.weights import load_weights
from jaxgo.training import presets, ready
from jaxgo.training.config import to_json
from jaxgo.training.trainer import Trainer
from jaxgo.ui import run_report, run_summary

ROOT = Path(__file__).parents[2]
# few and small programs: the tests are about the command, not about strength
TINY = shlex.split(
    "tictactoe-cpu --plain --budget.seconds 0 --budget.iterations 8 --save-every 0.00001 --search.simulations 4 "
    "--search.max_considered 2 --selfplay.games 8 --selfplay.steps 4 --net.width 8 --net.blocks 1 --learner.batch 16 "
    "--replay.capacity 256 --replay.start 32 --judge.opponents random --judge.final random --judge.final-pairs 2"
)


# a program that is killed as soon as it has saved for the first time, however slow the machine is that would kill it
KILLED = """
import os, runpy, signal, sys
from jaxgo.system.checkpoints import Checkpoints

finish = Checkpoints._finish

def finish_and_die(*words):
    finish(*words)
    os.kill(os.getpid(), signal.SIGKILL)

Checkpoints._finish = finish_and_die
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def job(run: Path, *more: str, through: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(ROOT / ".cache" / "jax"), "XLA_FLAGS": quick.FLAGS}
    environment["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"  # the same programs thrice
    words = [sys.executable, *through, str(ROOT / "train.py"), *TINY, "--run", str(run), *more]
    return subprocess.Popen(
        words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def finish(child: subprocess.Popen[str], status: int = 0) -> str:
    out, _ = child.communicate(timeout=240)
    assert child.returncode == status, out
    return out


def wait_for(run: Path, pattern: str, child: subprocess.Popen[str], seconds: float = 240) -> None:
    end = time.monotonic() + seconds
    while not any(run.glob(pattern)):
        assert child.poll() is None, child.stdout.read() if child.stdout else ""
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run without interruption: its folder and what it said. Made once, and each worker of pytest has a copy."""
    base = tmp_path_factory.getbasetemp()
    made = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "whole-run"
    with made.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        said = made.with_suffix(".txt")
        if not said.exists():
            said.write_text(finish(job(made)))
    run = tmp_path_factory.mktemp("whole") / "run"
    shutil.copytree(made, run)
    return run, said.read_text().replace(str(made), str(run))


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """The same run, killed as soon as it has saved something, and gone on with; the step that it was killed after."""
    run = tmp_path_factory.mktemp("killed") / "run"
    finish(job(run, through=("-c", KILLED)), -signal.SIGKILL)
    reached = max(int(path.parent.name) for path in (run / "checkpoints").glob("*/MANIFEST.json"))
    return run, finish(job(run)), reached


def learnt(run: Path) -> list[dict]:
    """What the rows say that does not hang on the clock."""
    timed = {"seconds"}
    rows = [row for row in read_rows(run) if row["phase"] == "play"]
    return [{k: v for k, v in row.items() if k not in timed and not re.search("_s$|play_", k)} for row in rows]


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_numbers(whole, killed):
    assert 1 <= killed[2] < 8, "it was killed too late to show anything"
    assert learnt(whole[0]) == learnt(killed[0])
    assert [row["iteration"] for row in learnt(whole[0])] == list(range(1, 9))
    assert any("loss" in row for row in learnt(whole[0]))
    (_, straight), (_, resumed) = load_weights(whole[0], 8), load_weights(killed[0], 8)
    jax.tree.map(np.testing.assert_array_equal, straight, resumed)
    assert "going on in" in killed[1]


@pytest.mark.slow
def test_a_run_ends_with_a_table_a_report_and_what_to_do(whole):
    run, said = whole
    assert re.search(r"random +\+0 ± 0 \(anchor\) +4 ", said), said
    assert re.search(r"[+-]\d+ ± \d+ +4 ", said), said
    assert f"\n  uv run jaxgo analyse tictactoe --agent @{run}\n" in said
    assert "Traceback" not in said
    page = (run / "report.html").read_text()
    for words in ("<h2>Ratings", "<h2>Openings", "What the network thinks", "<h2>Games", "search.simulations", "<svg"):
        assert words in page, words
    assert "<script" not in page
    games = sorted(run.glob("games/tictactoe-*.txt"))
    assert len(games) == 4, "both pairs of the last judgement"
    assert "gumbel:4 @ 8 against random" in page
    assert "random against gumbel:4 @ 8" in page
    assert (run / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert read_config(run)["search"]["simulations"] == 4


@pytest.mark.slow
def test_a_report_is_made_from_the_files_alone(whole, monkeypatch):
    run, _ = whole
    (run / "report.html").unlink()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    said = run_report.write(run)
    assert "matplotlib is missing" in said[0]
    assert "<h2>Ratings" in (run / "report.html").read_text()
    rows = read_rows(run)
    assert [minutes for minutes, _, _ in run_summary.ladder(rows)] == [rows[-1]["seconds"] / 60]


@pytest.mark.slow
def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path):
    run = tmp_path / "run"
    child = job(run, "--budget.iterations", "100000", "--save-every", "1000")
    wait_for(run, "metrics.jsonl", child)
    os.kill(child.pid, signal.SIGINT)
    said = finish(child, 130)
    assert "stopping: saving first" in said
    again = re.search(f"stopped and saved in {run}; go on with: uv run train.py (.*)", said)
    assert again, said
    typed = [*TINY, "--run", str(run), "--budget.iterations", "100000", "--save-every", "1000"]
    assert command.parse(shlex.split(again[1])).config == command.parse(typed).config
    (step,) = (int(path.parent.name) for path in (run / "checkpoints").glob("*/MANIFEST.json"))
    assert step >= 1
    assert load_weights(run)[0]["step"] == step


@pytest.mark.slow
def test_a_signal_while_a_judgement_compiles_is_answered(tmp_path):
    """A judgement of hours has begun, its programs are being compiled; what was learnt is saved within 30 seconds."""
    run = tmp_path / "run"
    child = job(run, *shlex.split("--judge.every 0.001 --judge.pairs 250 --judge.opponents uct:3000 --judge.slots 1"))
    try:
        assert any(re.match(r"\d+:\d+ judge", line) for line in iter(child.stdout.readline, ""))
        began = time.monotonic()
        os.kill(child.pid, signal.SIGTERM)
        said = finish(child, 143)
        assert time.monotonic() - began < 30
    finally:
        child.kill()
    assert f"stopped and saved in {run}" in said
    (step,) = (int(path.parent.name) for path in (run / "checkpoints").glob("*/MANIFEST.json"))
    assert 1 <= step < 8


# -- the command line -------------------------------------------------------------------------------------------------


def test_a_preset_and_its_settings_are_read():
    job = command.parse(shlex.split("go9 --search.simulations 64 --option komi=5.5 --run here --seed 3"))
    assert job.preset == "go9"
    assert job.run == "here"
    assert job.config.search.simulations == 64
    assert job.config.options == (("komi", 5.5),)
    assert job.config.make_game().komi == 5.5
    assert job.config.net == presets.preset("go9").config.net
    assert command.parse(["connect4-cpu"]).again == "uv run train.py connect4-cpu"
    assert command.parse([]).preset == presets.default_preset()
    assert command.parse([]).again == f"uv run train.py {presets.default_preset()}"


def test_the_commands_to_go_on_with_are_typed_as_they_are_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    job = command.parse(["go9"])
    assert job.again == "jaxgo train go9"
    assert train_job.then(job)["its thoughts"] == "jaxgo analyse go9 --agent @runs/go9"
    words = shlex.split(train_job.then(command.parse(["go9", "--run", "runs/a:3"]))["its thoughts"])
    assert spec_text.parse(words[-1]).weights == "runs/a:3", "and not 3 simulations"


def test_the_commands_that_go_on_have_all_settings():
    """A run goes on with its own settings alone, so a command without them would be refused."""
    job = command.parse(shlex.split("go9 --search.simulations 64 --option komi=5.5 --run 'a folder' --net=mlp"))
    assert job.again == "uv run train.py go9 --search.simulations 64 --option komi=5.5 --run 'a folder' --net=mlp"
    further = command.parse(shlex.split(job.further)[3:])
    assert further.config.budget.seconds == round(2 * job.config.budget.seconds)
    assert (further.run, further.config.search) == (job.run, job.config.search)
    counted = command.parse(shlex.split("go9 --budget.seconds 0 --budget.iterations 8"))
    assert counted.further == "uv run train.py go9 --budget.iterations 16 --budget.seconds 0"
    budget = command.parse(shlex.split(counted.further)[3:]).config.budget
    assert (budget.iterations, budget.seconds) == (16, 0.0)


@pytest.mark.parametrize(
    "words", ["examples.own_game:Nim --option heaps=5", "connect4-cpu --option heaps=5 --game examples.own_game:Nim"]
)
def test_options_are_read_as_the_kind_that_the_game_has(words):
    assert command.parse(words.split()).config.options == (("heaps", (5,)),), "as every other command reads them"


def test_a_puzzle_is_given_no_match():
    assert list(train_job.then(command.parse(["go9"]))) == ["its thoughts", "a match", "train on"]
    assert list(train_job.then(command.parse(["slide8"]))) == ["its thoughts", "train on"]


def test_net_and_search_change_by_name():
    job = command.parse(shlex.split("connect4-cpu --net mlp --net.width 32 --search=puct --search.simulations 8"))
    assert type(job.config.net).__name__ == "Mlp"
    assert job.config.net.width == 32
    assert type(job.config.search).__name__ == "Puct"
    assert job.config.search.simulations == 8


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("shogi", "unknown preset 'shogi'; choose one of: tictactoe-cpu, connect4-cpu,"),
        ("examples.own_game", "name a game of your own by module and object, as in examples.own_game:Nim\n"),
        ("examples/own_game.py", "by module and object, as in examples.own_game:Nim\n"),
        ("./examples/own_game.py:Nim", "by module and object, as in examples.own_game:Nim\n"),
        ("examples.own_game.Nim", "by module and object, as in examples.own_game:Nim\n"),
        ("go9 --learner.ema 1.5", "learner.ema is at least 0 and below 1, not 1.5"),
        ("go9 --search.simulatons 64", "unknown setting '--search.simulatons'; choose one of: --search."),
        ("go9 --serch.simulations 64", "did you mean --search.simulations?"),
        ("go9 --search.simulations x", "Error parsing --search.simulations: invalid literal for int()"),
        ("go9 --seed", "Missing value for argument '--seed'"),
        ("go9 --search.simulations 0", "search: gumbel needs simulations and max_considered of at least 1"),
        ("go9 --budget.seconds -3", "budget: a budget of 0 iterations and -3.0 seconds cannot be kept"),
        ("go9 foo", "'foo' belongs to no setting"),
        ("go9 --net transformer", "unknown net 'transformer'; choose one of: mlp, resnet"),
        ("go9 --option komi", "--option komi is not of the form NAME=VALUE"),
        ("go9 --option komi=7 --option komi=8", "option komi is given twice, as 7 and 8; name one"),
    ],
)
def test_a_mistake_is_one_sentence(words, sentence, capsys):
    assert main(["train", *words.split()]) == 2
    out, error = capsys.readouterr()
    assert not out
    assert error.startswith("jaxgo: ")
    assert sentence in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        pytest.param(
            "--selfplay.games 9",
            "selfplay.games=9 cannot be shared by 2 devices; say --selfplay.games 8",
            marks=pytest.mark.skipif(jax.device_count() < 2, reason="there is one device"),
        ),
        ("--replay.capacity 48", "replay.capacity=48 is too small for iterations of 32 positions: make it at least 64"),
        ("--option k=9", "k=9 in a row do not fit"),
        ("--option kk=3", "unknown option of tictactoe 'kk'; choose one of: height, width, k"),
        ("--game shogi", "unknown game 'shogi'"),
        ("--targets.heads ownership", "which this game does not teach"),
        (
            "--search.simulations 16000000 --selfplay.games 64 --replay.capacity 512",
            "GiB (samples 0.0, plies that wait 0.0, trees ",
        ),
        ("--net.width 1000000000", "GiB (samples 0.0, plies that wait 0.0, trees 0.0, weights 37252"),
        ("--learner.batch 2000000000 --replay.capacity 2000000000", "a step of the learner "),
        ("--learner.batch 512", "learner.batch=512 is more than the samples of replay.capacity=256; lower it"),
        ("--learner.rate inf", "learner.rate=inf is not a finite number"),
        ("--save-every nan", "save_every=nan is not a finite number"),
        ("--seed 99999999999999999999", "seed=99999999999999999999 is not from 0 to 2147483645"),
        (
            "--selfplay.book nowhere.txt",
            "selfplay.book=nowhere.txt: no such file; name one with an opening in each line",
        ),
        ("--gate.every 5 --gate.pairs 2", "gate.elo=20: not even by winning both games of all 2 openings could new"),
        ("--judge.final uct:x", "simulations=x is not a whole number"),
        ("--log.tensorboard", "--log.tensorboard needs tensorboardX"),
        ("--log.wandb mine", "--log.wandb needs wandb"),
    ],
)
def test_an_impossible_run_is_refused_before_it_leaves_a_trace(words, sentence, tmp_path, capsys, monkeypatch):
    for package in ("tensorboardX", "wandb"):
        monkeypatch.setitem(sys.modules, package, None)
    assert main(["train", *TINY, "--run", str(tmp_path / "run"), *words.split()]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1
    assert not (tmp_path / "run").exists()


def dry_run(run: Path, *words: str, status: int = 0) -> None:
    assert main(["train", *TINY, "--run", str(run), "--dry-run", *words]) == status


def test_a_dry_run_tells_what_it_would_do_and_leaves_no_trace(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(train_job, "train_with", None)
    monkeypatch.setattr(aside, "work_is_left", lambda: True)  # such as an open session, which a caller may go on with
    dry_run(tmp_path / "run", "--judge.every", "60", "--gate.every", "5", "--judge.past", "2")
    said = capsys.readouterr().out
    told = (
        "search.simulations 4 (16 in the preset)",
        "net        418 parameters",
        "8 games; 32 positions of them in an iteration",
        "4 simulations; at most 160 evaluations in an iteration",
        "8 steps of 16 samples in an iteration, from 32 samples on",
        "the last 256 samples",
        "judge      every 60 seconds 32 pairs against each of random, its own last 2\n",
        "at its end 2 pairs against each of random, its own last 2\n",
        "every 5 iterations: up to 200 pairs",
        "begins     with new weights",
    )
    assert [words for words in told if words not in said] == []
    dry_run(tmp_path / "run", "--selfplay.fast-simulations", "2")
    fast = "4 simulations, in 75 % of searches 2; on average at most 112 evaluations in an iteration"
    assert fast in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_heads_that_only_the_net_or_the_targets_have_are_told(tmp_path, capsys):
    typed = ["train", "tictactoe-cpu", "--run", str(tmp_path / "run"), "--dry-run", "--plain"]
    whole = "targets.heads names short, which the net does not give, and the net gives reply, which targets.heads does "
    for net, heads, told in (
        ("Small", "reply", ""),  # it gives that one
        ("Small", "short", f"{whole}not name: what only one of them has is not learnt"),
        ("build", "short", "targets.heads names short, which the net does not give: what only"),
        (None, "short", ""),  # jaxgo's own give what is asked for
    ):
        own = ["--net", f"examples.own_net:{net}"] if net else []
        assert main([*typed, *own, "--targets.heads", heads]) == 0
        said = capsys.readouterr().out
        assert told in said
        assert ("not learnt" in said) == bool(told)


@pytest.mark.parametrize("what", ["file", "stranger", "other", "held", "below", "proc"])
def test_a_dry_run_refuses_a_folder_that_the_run_could_not_have(what, tmp_path, capsys):
    run = tmp_path / "run"
    if what == "file":
        run.write_text("x")
        said = "is a file; name a folder"
    elif what == "below":
        (tmp_path / "text").write_text("x")
        run, said = tmp_path / "text" / "run", "cannot be made or written (Not a directory); name"
    elif what == "proc":  # is writable by its permissions
        run, said = Path("/proc/jaxgo/run"), "cannot be made or written ("
    elif what == "stranger":
        run.mkdir()
        (run / "thesis.tex").touch()
        said = "is not empty and is not a run to resume"
    else:
        folder = RunDir(run, to_json(command.parse(TINY).config))
        if what == "other":
            folder.close()
        said = "is a run with seed=0, not 1; resume it" if what == "other" else f"is in use by process {os.getpid()}"
    before = sorted(tmp_path.rglob("*"))
    dry_run(run, "--seed", "1", status=2)
    assert said in (error := capsys.readouterr().err)
    assert main(["train", *TINY, "--run", str(run), "--seed", "1"]) == 2
    assert capsys.readouterr().err == error, "as the run itself would say it"
    assert sorted(tmp_path.rglob("*")) == before
    if what == "held":
        folder.close()


@pytest.mark.slow
def test_a_dry_run_says_where_a_run_goes_on(whole, capsys):
    dry_run(whole[0])
    said = capsys.readouterr().out
    assert f"going on in {whole[0]} " in said
    assert f"begins     with checkpoint 8 of {whole[0]}\n" in said
    assert f" {sum(leaf.size for leaf in jax.tree.leaves(load_weights(whole[0])[1]))} parameters\n" in said
    dry_run(whole[0], "--init-from", f"{whole[0]}/8", status=2)
    assert "has begun with new weights, or its note of step 0 is gone, and not with" in capsys.readouterr().err


@pytest.mark.slow
def test_a_wrong_value_is_told_before_the_folder_that_has_another(whole, capsys):
    assert main(["train", *TINY, "--run", str(whole[0]), "--learner.rate", "inf"]) == 2
    assert "learner.rate=inf is not a finite number" in capsys.readouterr().err


def check(*words: str) -> None:
    ready.check(Trainer(command.parse(["tictactoe-cpu", *words]).config, devices.make_mesh()))


def test_a_search_without_simulations_cannot_teach():
    with pytest.raises(UsageError, match="search random makes no simulations, so it teaches nothing; say --search"):
        check("--search", "random")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--judge.opponents", "bfs"], "judge.opponents or judge.final has bfs:1000: bfs looks for the solution"),
        (["--judge.final", "threats:9"], "judge.final has threats:9: Mnk knows no threats"),
        (["--search", "chain", "--search.links", "win+uct:9", "--judge.simulations", "64"], "another search"),
    ],
)
def test_a_judgement_that_would_fail_is_refused_before_the_run_begins(words, said):
    """These were found out by the first judgement, or by the first checkpoint: after minutes, or at the very end."""
    with pytest.raises(UsageError, match=said):
        check(*words)


@pytest.mark.parametrize(
    ("search", "said"),
    [("bfs", "bfs looks for the solution of a puzzle"), ("threats", "Mnk knows no threats")],
)
def test_a_search_that_cannot_play_the_game_is_refused_before_there_is_a_folder(search, said):
    """The folder stood in the way of the command that was meant."""
    with pytest.raises(UsageError, match=said):
        check("--search", search)


def test_a_reuse_that_whole_steps_do_not_have_is_told():
    out = io.StringIO()
    for words in ("", "--learner.reuse 0.05"):
        job = command.parse(shlex.split(f"connect4-cpu {words}"))
        train_job._greet(Console(file=out, width=200), job, resumed=False)
    (told,) = [line for line in out.getvalue().splitlines() if "reuse" in line]
    assert re.fullmatch(r"learner.reuse=0.05 comes to 0.\d+: one step of 512 samples for the [\d,]+ positions.*", told)


def test_a_run_without_an_end_says_so():
    out = io.StringIO()
    job = command.parse(shlex.split("tictactoe-cpu --budget.seconds 0 --budget.iterations 0"))
    train_job._greet(Console(file=out, width=200), job, resumed=False)
    assert "without an end until Ctrl-C" in out.getvalue()


def test_a_folder_is_named_as_it_is():
    """Words in brackets are for colours: `go on with` named another folder."""
    out = io.StringIO()
    job = command.parse(["tictactoe-cpu", "--run", "runs/a[lr=2e-3][/x]"])
    train_job._greet(Console(file=out, width=200), job, resumed=False)
    assert "runs/a[lr=2e-3][/x]" in out.getvalue()


@pytest.mark.slow
def test_a_run_is_not_resumed_with_other_settings(whole, capsys):
    run, _ = whole
    assert main(["train", *TINY, "--run", str(run), "--net.width", "16"]) == 2
    assert "is a run with net.width=8, not 16; resume it with its own settings" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--list"], ["go9", "--list"]])
def test_the_presets_are_listed(words, capsys):
    assert main(["train", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == presets.names()


@pytest.mark.slow
def test_metrics_are_json_lines(whole):
    for line in (whole[0] / "metrics.jsonl").read_text().splitlines():
        assert json.loads(line)["phase"] in ("play", "judge")


def test_an_unknown_setting_is_a_usage_error():
    with pytest.raises(UsageError):
        command.parse(["tictactoe-cpu", "--nonsense", "1"])


def test_a_run_that_nobody_judged_has_no_table(tmp_path):
    out = io.StringIO()
    train_job._table(Console(file=out, width=200), command.parse([*TINY, "--run", str(tmp_path)]))
    assert out.getvalue() == "nobody was met, so there are no ratings (see --judge.final)\n"
