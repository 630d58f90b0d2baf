"""The frame of the house: imports, the command line, the lock files."""

import ast
import errno
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import lock
import numpy as np
import pytest

import jaxgo
from jaxgo.cli import main as cli
from jaxgo.core.errors import UsageError
from jaxgo.games.names import read_game

ROOT = Path(__file__).parents[1]


def python(code: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Runs code in a fresh interpreter, without the type checks that tests/conftest.py switches on."""
    command = [sys.executable, "-c", code, *args]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


# -- imports --------------------------------------------------------------------------------------------------------


def test_importing_jaxgo_costs_no_more_than_importing_jax():
    code = (
        "import time; began = time.process_time(); import jax, jax.numpy; "  # a busy machine does not count
        "between = time.process_time(); import jaxgo; assert jaxgo.GAMES; "
        "print((time.process_time() - between) / (between - began))"
    )
    assert min(float(python(code).stdout) for _ in range(2)) < 1


def test_no_import_starts_a_backend():
    """A backend that starts at import would come before `jax.distributed.initialize`."""
    code = (
        "import importlib, pkgutil, jaxgo\n"
        "names = [m.name for m in pkgutil.walk_packages(jaxgo.__path__, 'jaxgo.')]\n"
        "for name in names:\n    importlib.import_module(name)\n"
        "import jax, jax._src.xla_bridge as bridge\n"
        "print(len(names), len(bridge._backends)); jax.devices(); print(len(bridge._backends))"
    )
    ran = python(code)
    (modules, before), (after,) = (map(int, line.split()) for line in ran.stdout.splitlines())
    assert modules > 15, ran.stderr
    assert before == 0, "some module of jaxgo starts a JAX backend when it is imported"
    assert after > 0, "this test looks for backends in the wrong place"


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_and_version_do_not_wait_for_jax(argument):
    code = (
        "import sys\nfrom jaxgo.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as end:\n    assert not end.code\n"
        "assert not {'jax', 'numpy', 'flax'} & set(sys.modules), 'imported too much'"
    )
    ran = python(code, argument)
    assert ran.returncode == 0, ran.stderr
    assert "jaxgo" in ran.stdout


def test_public_names_exist():
    assert {"GAMES", "make", "UsageError", "__version__"} <= set(dir(jaxgo))
    for name in jaxgo.__all__:
        assert getattr(jaxgo, name) is not None
    documented = re.findall(r"^@ (\w+)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)
    assert sorted(documented) == sorted(jaxgo.HOMES), "docs/api.md lists other names than jaxgo exports"
    with pytest.raises(AttributeError, match="nonsense"):
        jaxgo.nonsense  # noqa: B018


def test_type_checkers_know_the_public_names():
    """They took all of them for Any, and whoever inherits `jaxgo.Evaluator` for a mistake."""
    found = ast.walk(ast.parse(Path(jaxgo.__file__).read_text()))
    told = {n.asname: one.module for one in found if isinstance(one, ast.ImportFrom) for n in one.names if n.asname}
    assert told == jaxgo.HOMES


# -- the command line -----------------------------------------------------------------------------------------------


def test_games_lists_every_game(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert cli.main(["games"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(jaxgo.GAMES)
    assert "tictactoe 3x3 2 9 9 21 8" in [" ".join(line.split()) for line in lines]


def test_show_plays_moves_and_writes_a_picture(capsys, tmp_path):
    picture = tmp_path / "board.svg"
    assert cli.main(["show", "tictactoe", "--moves", "b2,A1,c3", "--svg", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "tictactoe height=3 width=3 k=3" in out
    assert "ply 3, seat 1 to move, 6 legal actions" in out
    assert picture.read_text().startswith("<svg")


def test_show_takes_options_and_tells_the_result(capsys):
    assert cli.main(["show", "tictactoe", "--option", "k=2", "--moves", "a1,c3,b1"]) == 0
    assert "over after 3 plies; result for each seat: +1, -1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense"], "unknown command 'nonsense'; choose one of: train, eval,"),
        (["show", "shogi"], "unknown game 'shogi'; choose one of: go"),
        (
            ["show", "tictactoe", "--option", "kk=4"],
            "unknown option of tictactoe 'kk'; choose one of: height, width, k",
        ),
        (["show", "tictactoe", "--option", "k"], "'k' is not of the form name=value"),
        (["show", "tictactoe", "--option", "k=four"], "option k of tictactoe is 3 by default; 'four'"),
        (["show", "examples.own_game:Nim", "--option", "most=0"], "with most=0 has no cells or no actions"),
        (["show", "tictactoe", "--option", "k=9"], "k=9 in a row do not fit"),
        (["show", "tictactoe", "--moves", "b2,z9"], "'z9', names no move of this game; legal moves are: a3, b3, c3"),
        (["show", "tictactoe", "--moves", "b2,b2"], "move 2, 'b2', is not legal; legal moves are: a3, b3"),
        (["show", "tictactoe", "--moves", "a1,a2,b1,b2,c1,c2"], "move 6, 'c2', is not legal"),
        (["show", "tictactoe", "--svg", "README.md/x.svg"], "cannot write README.md/x.svg: "),
        (["show", "tictactoe", "--svg", "x.png"], "--svg x.png is no name of such a picture; end it in .svg"),
        (["show", "tictactoe", "--svg", ""], "end it in .svg"),
        (
            ["analyse", "tictactoe", "--agent", "uct:4", "--position", "XXX/OO./... 1"],
            "the game is over in this position; begin where",
        ),
        (["doctor", "--batch", "0"], "--batch must be at least 1"),
        (["doctor", "--game", "shogi"], "unknown game 'shogi'"),
        (["doctor", "--game", "tictactoe", "--batch", "99999999999"], "do not fit into the device's memory; name at"),
        (["solve", "tictactoe", "--out", "/proc/x"], "cannot write /proc/x"),
        (["solve", "slide8", "--seed", "99999999999999999999"], "the seed is a whole number from 0 to"),
        (["analyse", "tictactoe", "--seed", "-1"], "the seed is a whole number from 0 to"),
    ],
)
def test_a_mistake_is_one_sentence(arguments, words, capsys):
    assert cli.main(arguments) == 2
    out, error = capsys.readouterr()
    assert not out
    assert words in error
    assert error.startswith("jaxgo: ")
    assert error.count("\n") == 1
    assert error.endswith("\n")


@pytest.mark.parametrize("arguments", [["show", "tictactoe", "--nonsense", "1"], ["doctor", "--batch", "x"]])
def test_a_wrong_flag_exits_2(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(arguments)
    assert end.value.code == 2
    assert capsys.readouterr().err


def test_a_device_that_is_not_there_is_one_sentence(monkeypatch, capsys):
    def fail():
        raise RuntimeError("Unable to initialize backend 'toaster'")

    monkeypatch.setattr(jax, "devices", fail)
    monkeypatch.setenv("JAX_PLATFORMS", "toaster")
    assert cli.main(["doctor", "--game", "tictactoe"]) == 2
    assert capsys.readouterr().err.startswith("jaxgo: JAX_PLATFORMS=toaster names a device that JAX cannot use here;")
    monkeypatch.delenv("JAX_PLATFORMS")
    with pytest.raises(RuntimeError, match="toaster"):  # a fault of another kind
        cli.main(["doctor", "--game", "tictactoe"])


def test_a_full_disk_is_one_sentence(monkeypatch, capsys):
    def write():
        raise error

    monkeypatch.setattr(cli, "parse", lambda words: SimpleNamespace(run=write))
    error = OSError(errno.ENOSPC, "No space left on device")
    assert cli.main(["tune"]) == 2
    assert capsys.readouterr().err.startswith("jaxgo: the disk is full (No space left on device); make room")
    error = PermissionError(errno.EACCES, "Permission denied", "np/x.jsonl")
    assert cli.main(["tune"]) == 2
    assert capsys.readouterr().err.startswith("jaxgo: np/x.jsonl: Permission denied; name another place")
    error = OSError(errno.EIO, "Input/output error")  # a fault of another kind
    with pytest.raises(OSError, match="Input/output"):
        cli.main(["tune"])


def test_a_device_without_memory_is_one_sentence(monkeypatch, capsys):
    for where, run in {
        "the device": lambda: jnp.zeros(2**50).block_until_ready(),
        "this machine": lambda: np.zeros(2**50),
    }.items():
        monkeypatch.setattr(cli, "parse", lambda words, run=run: SimpleNamespace(run=run))
        assert cli.main(["tune"]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"jaxgo: {where} has no memory left for this; ")
        assert error.count("\n") == 1


def test_doctor_reports_machine_and_speed(capsys):
    assert cli.main(["doctor", "--game", "tictactoe", "--seconds", "0.05", "--batch", "8"]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["jaxgo"] == jaxgo.__version__
    assert {"python", "jax", "devices", "speed"} <= set(lines)
    assert "steps/s" in lines["speed"]


def test_doctor_tells_where_compiled_programs_are_kept(capsys, monkeypatch, tmp_path):
    before = jax.config.jax_compilation_cache_dir
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    try:
        jax.config.update("jax_compilation_cache_dir", None)
        assert cli.main(["doctor", "--game", "tictactoe", "--seconds", "0.01", "--batch", "8"]) == 0
    finally:
        jax.config.update("jax_compilation_cache_dir", before)
    (said,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("compile cache"))
    assert str(tmp_path / "jaxgo" / "compiled") in said


def test_a_closed_pipe_is_quiet():
    command = f"{sys.executable} -m jaxgo games | true"
    ran = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert ran.stderr == ""


def test_streams_that_are_closed_lead_nowhere(monkeypatch):
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    assert cli.main(["weights"]) == 0
    assert cli.main(["nonsense"]) == 2
    assert sys.stdin.read() == ""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        stream.close()


def test_what_a_stream_cannot_write_is_a_question_mark(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    assert cli.main(["weights"]) == 0
    assert b"Elo ? 95 %" in stream.buffer.getvalue()


def test_what_a_stream_cannot_read_ends_no_game(monkeypatch, capsys):
    """Half a letter, as a terminal leaves it behind by a backspace, or a pipe of other letters."""
    stream = io.TextIOWrapper(io.BytesIO(b"b2\n\xc3\ntext\nquit\n"), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", stream)
    assert cli.main(["play", "--text", "tictactoe", "--agent", "none"]) == 0
    said = capsys.readouterr().out
    assert "'\ufffd' is neither a move nor a word" in said
    assert ".../.X./... 1" in said, "the game goes on"


def test_names_of_games_stay_whole_on_a_narrow_terminal(monkeypatch, capsys):
    monkeypatch.setattr("jaxgo.games.GAMES", {"tictactoe": jaxgo.make("tictactoe")})
    monkeypatch.setenv("COLUMNS", "10")
    assert cli.main(["games"]) == 0
    assert "tictactoe" in capsys.readouterr().out


def test_options_take_the_kind_of_their_default():
    assert read_game("tictactoe", ["width = 4", "k=2"]) == jaxgo.make("tictactoe", width=4, k=2)
    with pytest.raises(UsageError, match="another kind"):
        read_game("tictactoe", ["k=true"])


# -- the tree -------------------------------------------------------------------------------------------------------


def test_nothing_runs_text_as_code():
    banned = ("pickle", " eval(", "torch.load", "exec(")
    files = [*ROOT.glob("*.py"), *(f for top in ("jaxgo", "tools", "benchmarks") for f in (ROOT / top).rglob("*.py"))]
    found = [(f.name, word) for f in files for word in banned if word in f.read_text()]
    assert len(files) > 20
    assert found == []


def test_lock_files_agree():
    assert lock.faults() == []


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        ("requirements.lock", "jaxtyping==", "jaxtyping==9.", "is in only one of"),
        ("requirements.lock", "    # via", "    # from https://host", "requirements.lock holds an address"),
        ("pyproject.toml", '  "rich>=14",', '  "rich>=14",  # http://host', "pyproject.toml holds an address"),
        ("pyproject.toml", '  "rich>=14",', '  "rich>=14",\n  "trueskill",', "trueskill is not locked"),
        *(
            ("pyproject.toml", f"\n{group} = [", f'\n{group} = ["trueskill", ', "trueskill is not locked")
            for group in ("test", "lint", "docs", "dev")
        ),
        ("pyproject.toml", "\nplot = [", '\nelo = ["trueskill"]\nplot = [', "trueskill is not locked"),
    ],
)
def test_lock_faults_are_found(name, old, new, fault, tmp_path, monkeypatch):
    for file in ("pyproject.toml", *lock.LOCKS):
        shutil.copy(ROOT / file, tmp_path / file)
    text = (tmp_path / name).read_text()
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new, 1))
    monkeypatch.setattr(lock, "ROOT", tmp_path)
    monkeypatch.setattr(lock, "PROJECT", tmp_path / "pyproject.toml")
    assert any(fault in found for found in lock.faults())
