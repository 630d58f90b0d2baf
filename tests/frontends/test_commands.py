"""The commands of the front ends: what the program's words lead to."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jaxgo.cli.main import main, parse
from jaxgo.cli.play import Play
from jaxgo.cli.play_text import PlayText
from jaxgo.core import position_text
from jaxgo.core.replay import replay
from jaxgo.frontends import session, terminal
from jaxgo.games import make


def test_play_opens_the_page_or_the_terminal():
    assert isinstance(parse(["play", "go9"]), Play)
    assert isinstance(parse(["play", "--text", "go9"]), PlayText)


def test_a_folder_of_runs_that_was_typed_must_be_there(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    offers, looked = pytest.importorskip("jaxgo.frontends.web.offers"), []
    monkeypatch.setattr(offers, "find", lambda folders: looked.append([*map(str, folders)]) or offers.Offers({}))
    monkeypatch.setattr(Play, "serve", lambda *_: 0)
    assert main(["play", "tictactoe"]) == 0, "the usual folder need not be there"
    (tmp_path / "mine").mkdir()
    assert main(["play", "tictactoe", "--runs", "mine"]) == 0
    assert looked == [["runs"], ["mine"]]
    assert main(["play", "tictactoe", "--runs", "mine", "nosuch"]) == 2
    assert "--runs nosuch is no folder" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["/proc/x", "http://box.local", " "])
def test_a_name_of_a_machine_is_no_address(name, monkeypatch, capsys):
    pytest.importorskip("uvicorn")
    monkeypatch.setattr(Play, "serve", lambda *_: 0)
    assert main(["play", "tictactoe", "--names", name]) == 2
    assert f"--names {name!r} is no name of a machine" in capsys.readouterr().err
    assert main(["play", "tictactoe", "--names", "box.local"]) == 0


def test_a_position_is_shown_and_analysed(capsys):
    assert main(["show", "tictactoe", "--position", "XX./OO./... 0", "--moves", "a1"]) == 0
    shown = capsys.readouterr().out
    assert "1 X . .\n" in shown
    assert "--position 'XX./OO./X.. 1'\n" in shown
    assert main(["analyse", "tictactoe", "--position", "XX./OO./... 0", "--agent", "uct:30,evaluator=uniform"]) == 0
    assert capsys.readouterr().out.splitlines()[2].startswith("c3 ")
    assert main(["show", "tictactoe", "--position", "XX. 0"]) == 2
    assert "this board has 3" in capsys.readouterr().err


@pytest.mark.slow
def test_a_start_is_drawn_alike_by_show_and_solve(capsys):
    assert main(["solve", "slide8", "--seed", "3"]) == 0
    solved = capsys.readouterr().out
    board = solved[: solved.index("--position")]
    assert main(["show", "slide8", "--seed", "3"]) == 0
    shown = capsys.readouterr().out
    assert board in shown
    assert next(line for line in solved.splitlines() if line.startswith("--position")) in shown
    assert main(["show", "slide8"]) == 0
    assert board not in capsys.readouterr().out
    assert main(["show", "slide8", "--seed", "3", "--random", "4"]) == 0
    first, *drawn = capsys.readouterr().out.splitlines()
    again = first.split()
    assert again[2:] == ["--seed", "3"]
    assert main(["show", "slide8", *again]) == 0
    assert capsys.readouterr().out.splitlines() == drawn
    (position,) = (shlex.split(line) for line in drawn if line.startswith("--position"))
    assert main(["show", "slide8", *position]) == 0
    assert main(["show", "slide8", *position, "--seed", "3"]) == 2
    capsys.readouterr()
    assert main(["show", "slide8", *position]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == drawn[1:]


def test_analyse_begins_where_the_seed_says(capsys):
    said = []
    for seed in ("0", "3"):
        assert main(["analyse", "slide8", "--agent", "flat:4", "--seed", seed, "--json"]) == 0
        records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        said.append({record["name"] for record in records if record["kind"] == "move"})
    assert said[0] != said[1], "other moves are legal there"


def test_random_moves_are_those_that_are_printed(capsys):
    words = ["show", "tictactoe", "--moves", "b2", "--seed", "3"]
    assert main(words) == 2
    assert "--seed 3 draws nothing here" in capsys.readouterr().err
    assert main([*words, "--random", "20"]) == 0
    first, *drawn = capsys.readouterr().out.splitlines()
    moves = first.removeprefix("--moves ").split(",")
    assert moves[0] == "b2"
    assert 5 <= len(moves) <= 9, "until the game is over"
    assert main(["show", "tictactoe", "--moves", ",".join(moves)]) == 0
    assert capsys.readouterr().out.splitlines() == drawn
    assert main([*words, "--random", "-1"]) == 2
    assert "--random -1 is below 0" in capsys.readouterr().err


@pytest.mark.slow
def test_positions_go_on_from_a_text():
    game = make("kamisado")
    position, _ = replay(game, [], "start orange-ahead-3")
    text = position_text.write(game, position, ["orange-ahead-3"])
    again, _ = replay(game, [], text)
    assert (game.cells(again.state) == game.cells(position.state)).all()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--text", "--no-text"], "--text is the terminal; leave --no-text out"),
        (["--text", "--agent", "none", "--seat", "1"], "--seat is yours against a player, and --agent none has two"),
    ],
)
def test_words_of_the_terminal_that_do_nothing_are_refused(words, said, capsys):
    assert main(["play", "tictactoe", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("agent", ["random", "uct:30,temperature=1", "uct:30"])
def test_a_weak_opponent_gives_no_hints(agent, monkeypatch, capsys):
    """As on the page: who does not search, or draws its moves, is no adviser."""
    hints = []
    monkeypatch.setattr(session, "BEST", "uct:50")
    monkeypatch.setattr(terminal.Terminal, "run", lambda self: hints.append(self.session.player_of(0).name))
    assert main(["play", "--text", "tictactoe", "--agent", agent]) == 0
    assert f"{agent} plays against you." in capsys.readouterr().out
    assert hints == ["uct:30" if agent == "uct:30" else "uct:50"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "said", "heard"),
    [
        (["gtp", "tictactoe", "--agent", "random"], "1 name\n", "=1 jaxgo\n\n"),
        (["analysis", "tictactoe", "--agent", "random"], '{"id":"a","action":"clear_cache"}\n', '{"id":"a",'),
        (["gomocup", "--agent", "random"], "ABOUT\nNONSENSE\nEND\n", "UNKNOWN command 'NONSENSE'\n"),
        (["uci", "gardner", "--agent", "random"], "uci\nNONSENSE\nquit\n", "\nuciok\n"),
        (["play", "--text", "tictactoe", "--agent", "none"], "b2\nquit\n", "2 . X .\n"),
    ],
)
def test_the_program_talks_on_its_streams_and_ends_with_them(command, said, heard):
    words = [sys.executable, "-m", "jaxgo", *command]
    done = subprocess.run(words, input=said, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert heard in done.stdout


@pytest.mark.slow
def test_ctrl_c_while_a_player_compiles_or_thinks_ends_the_program_in_one_line():
    """Python crashes where it tidies up under a thread that computes."""
    player = "uct:200000,solver=no,evaluator=uniform"
    # jobs in a shell's background ignore it; and what runs between fork and exec may hang in a process with threads
    heeds = "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    begin = f"{heeds}; runpy.run_module('jaxgo', run_name='__main__', alter_sys=True)"
    words = [sys.executable, "-u", "-c", begin, "play", "--text", "tictactoe", "--agent", player, "--seat", "1"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    child = subprocess.Popen(words, **pipes, text=True)
    try:
        assert any("warming up" in line for line in iter(child.stdout.readline, ""))
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=120)
    finally:
        child.kill()
    assert (child.returncode, said) == (130, "jaxgo: stopped\n")


@pytest.mark.slow  # compiles for seconds
def test_the_code_of_the_page_of_protocols_runs(capsys):
    text = (Path(__file__).parents[2] / "docs" / "protocols.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    for code in blocks:
        exec(compile(code, "protocols.md", "exec"), {})
    said = capsys.readouterr().out
    assert "go9 ['E5', 'C7']" in said
    assert "['b2', '" in said


def test_the_tests_that_the_page_of_protocols_names_are_there():
    tests = Path(__file__).parents[1]
    named = re.findall(r"`(\w+/test_\w+\.py)::(test_\w+)`", (tests.parent / "docs" / "protocols.md").read_text())
    assert len(named) > 15
    for file, name in named:
        assert f"def {name}(" in (tests / file).read_text(), f"{file} has no {name}"


@pytest.mark.slow
def test_the_one_file_for_managers_starts():
    script = Path(__file__).parents[2] / "tools" / "pbrain-jaxgo"
    places = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "JAXGO_AGENT": "random"}
    said = "START 7\nBEGIN\nEND\n"
    words = {"input": said, "capture_output": True, "text": True, "timeout": 240, "env": os.environ | places}
    done = subprocess.run([str(script)], **words)
    assert re.fullmatch(r"OK\n\d,\d\n", done.stdout), done.stderr


@pytest.mark.parametrize(
    ("words", "missing", "said"),
    [
        (
            ("play", "--no-browser"),
            "starlette",
            "the page needs starlette: `uv sync --extra web` in a clone of jaxgo, `pip install 'jaxgo[web]'` elsewhere",
        ),
        (
            ("show", "tictactoe", "--png", "board.png"),
            "resvg_py",
            "PNG needs resvg_py: `uv sync --extra png` in a clone of jaxgo, `pip install 'jaxgo[png]'` elsewhere",
        ),
    ],
)
def test_a_package_that_is_missing_is_named(words, missing, said, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, missing, None)
    assert main(list(words)) == 2
    assert said in capsys.readouterr().err
