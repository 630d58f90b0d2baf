"""`eval.py` from outside: what it prints and writes, what it says to mistakes, and that killing it costs nothing."""

import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jaxgo.arena import records
from jaxgo.arena.contest import Progress
from jaxgo.arena.sprt import Sprt
from jaxgo.cli import eval as evaluate
from jaxgo.cli.main import main
from jaxgo.ui import match_screen

ROOT = Path(__file__).parents[2]
TWO = ("tictactoe", "--agents", "random", "greedy", "--pairs", "6")  # one program for most of these tests


def run(*words: object) -> int:
    return main(["eval", *map(str, words)])


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory):
    """Nothing is left in the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_COMPILATION_CACHE_DIR", str(ROOT / ".cache" / "jax"))
        yield


def test_a_first_table(tmp_path, capsys):
    out = tmp_path / "matches.jsonl"
    assert run(*TWO, "--out", out, "--games", tmp_path / "games", "--plot", tmp_path / "ladder.svg") == 0
    said = capsys.readouterr().out
    assert "6 of 6 pairs; 12 games in this run" in said
    assert "games/s" in said
    assert "±" in said
    assert f"6 pairs are in {out}" in said
    assert len(records.read(out)) == 6
    assert len(list((tmp_path / "games").iterdir())) == 12
    assert (tmp_path / "ladder.svg").read_text().startswith("<svg")
    # again: nothing is played, and the machine's answer is JSON alone
    assert run(*TWO, "--out", out, "--json", "--anchor", "random=1000") == 0
    answer = json.loads(capsys.readouterr().out)
    assert {agent["name"] for agent in answer["agents"]} == {"random", "greedy"}
    assert answer["anchor"] == "random"
    assert {a["name"]: a["elo"] for a in answer["agents"]}["random"] == 1000
    assert len(records.read(out)) == 6
    assert any("6 pairs are in" in line for line in answer["remarks"])


def test_files_are_rated_together(tmp_path, capsys):
    one, two, both = (tmp_path / f"{name}.jsonl" for name in ("one", "two", "both"))
    assert run(*TWO, "--out", one, "--json") == 0
    assert run(*TWO, "--out", two, "--json", "--seed", 1) == 0
    capsys.readouterr()
    assert run("ratings", one, two, one, "--out", both, "--json") == 0
    assert json.loads(capsys.readouterr().out)["pairs"] == 12
    assert len(records.read(both)) == 12
    assert run("ratings", both, one, "--out", both) == 0
    assert len(records.read(both)) == 12
    assert "±" in capsys.readouterr().out
    other = tmp_path / "other.jsonl"
    records.append(other, [records.PairResult("connect4", "a", "b", 0.5, 0.5, "id")])
    for files in ((other,), (other, one)):
        assert run("ratings", *files, "--out", both) == 2
        assert "make no common rating; use one file for each" in capsys.readouterr().err
        assert len(records.read(both)) == 12, "the file is as it was"


class Gone(io.StringIO):
    """A pipe whose reader has seen enough."""

    def write(self, text):
        if text:
            raise BrokenPipeError
        return 0


def test_a_page_is_written_though_nobody_reads_the_table_to_its_end(tmp_path, monkeypatch):
    results, page = tmp_path / "results.jsonl", tmp_path / "page.html"
    records.append(results, [records.PairResult("tictactoe", "random", "greedy", 0.5, 0.0, "id")])
    with open(os.devnull, "w") as nowhere, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Gone())
        patch.setattr(sys.stdout, "fileno", nowhere.fileno)
        assert run("ratings", results, "--html", page) == 0
    assert "</html>" in page.read_text()


def test_a_sequential_test_stops_when_it_knows(tmp_path, capsys):
    words = ("sprt", "greedy", "random", "--game", "tictactoe", "--pairs", 6, "--out", tmp_path / "m.jsonl")
    bounds = ("--elo0", -2000, "--elo1", 2000, "--alpha", 0.4, "--beta", 0.4)
    assert run(*words, *bounds, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["accepted"] in ("H0", "H1")
    assert answer["a"] == "greedy"
    pairs = records.read(tmp_path / "m.jsonl")
    known = len(pairs)
    assert 0 < answer["pairs"] <= known <= 6
    assert run(*TWO, "--out", tmp_path / "tournament.jsonl") == 0
    before = {pair.id for pair in records.read(tmp_path / "tournament.jsonl")}
    assert before.isdisjoint(pair.id for pair in pairs), "games that suggest a test decide it"
    capsys.readouterr()
    assert run(*words, *bounds) == 0
    assert "LLR" in capsys.readouterr().out
    assert len(records.read(tmp_path / "m.jsonl")) == known


def test_a_verdict_of_wins_alone_is_json_that_everybody_reads(tmp_path, capsys, monkeypatch):
    """All games won are infinitely many Elo, for which JSON has no number."""
    monkeypatch.setattr(match_screen, "decide", lambda *_, **__: Sprt().judge([0, 0, 0, 0, 3]))
    assert run("sprt", "greedy", "random", "--game", "tictactoe", "--out", tmp_path / "m.jsonl", "--json") == 0
    answer = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert answer["elo"] is None
    assert answer["error95"] is None


@pytest.mark.slow  # compiles for seconds
def test_games_until_the_error_bars_are_small(tmp_path, capsys):
    out = tmp_path / "m.jsonl"
    assert run(*TWO[:-1], 64, "--until", "±300", "--out", out, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert max(agent["error95"] for agent in answer["agents"]) <= 300
    assert 0 < len(records.read(out)) <= 64
    assert "not reached" not in str(answer["remarks"])
    assert run(*TWO[:-1], 64, "--until", "±300", "--anchor", "random", "--out", out, "--json") == 0
    held = json.loads(capsys.readouterr().out)
    assert max(agent["error95"] for agent in held["agents"]) <= 300
    assert run(*TWO[:-1], 2, "--until", "±20", "--out", tmp_path / "few.jsonl", "--json") == 0
    assert "±20 was not reached: a bar of ±" in str(json.loads(capsys.readouterr().out)["remarks"])


@pytest.mark.parametrize(("text", "elo"), [("±15", 15.0), ("+-15", 15.0), (" 7.5 ", 7.5), ("", 0.0)])
def test_a_precision(text, elo):
    assert evaluate.precision(text) == elo


def test_results_have_a_home():
    assert evaluate.home("tictactoe", ()) == Path("runs/eval/tictactoe/matches.jsonl")
    assert evaluate.home("connect4", ("height=5", "k=3")) == Path("runs/eval/connect4_height=5_k=3/matches.jsonl")
    warm = evaluate.Setting(temperature=0.5, hot_plies=4).contest("tictactoe", ("random", "greedy"))
    assert evaluate.home(warm.name, warm.terms) == Path("runs/eval/tictactoe_temperature=0.5_hot_plies=4/matches.jsonl")
    plain, named = evaluate.Setting(), evaluate.Setting(option=("k=3",))
    for setting in (plain, named):
        found = setting.contest("tictactoe", ("random", "greedy"))
        assert evaluate.home(found.name, found.terms) == evaluate.home("tictactoe", ()), "an equal game"
    assert evaluate.home("minerace", ("board=../x",)).parts[:2] == ("runs", "eval")
    assert len(evaluate.home("minerace", ("board=../x",)).parts) == 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("shogi",), "unknown game 'shogi'; choose one of: go5"),
        (("tictactoe", "--agents", "random"), "at least two agents"),
        (("tictactoe", "--pairs", "0"), "at least 1 pair"),
        (("tictactoe", "--until", "±-5"), "--until ±-5 is no precision"),
        (("tictactoe", "--temperature", "-1"), "temperature and hot plies are numbers that cannot be below 0"),
        (("tictactoe", "--temperature", "nan"), "temperature and hot plies"),
        (("tictactoe", "--hot-plies", "-1"), "temperature and hot plies"),
        (("tictactoe", "--temperature", "0.5"), "so many hot plies: give both, or neither"),
        (("tictactoe", "--hot-plies", "4"), "so many hot plies: give both, or neither"),
        (("tictactoe", "--book", "my.book", "--plies", "2"), "--plies is for random openings"),
        (
            ("tictactoe", "--book", "my.book", "--fair", "uct:9"),
            "--fair is for random openings, and --book has its own",
        ),
        (
            ("tictactoe", "--plies", "0", "--balance", "0.5"),
            "--balance chooses among random openings, and --plies 0 has",
        ),
        (("tictactoe", "--seed", "-1"), "the seed is a whole number from 0"),
        (
            ("tictactoe", "--anchor", "nosuch"),
            "--anchor nosuch names nobody who plays; choose one of: greedy, gumbel:32",
        ),
        (("tictactoe", "--anchor", "uct:50=abc"), "'abc' is no rating; write a number, as in uct:50=1500"),
        (("tictactoe", "--anchor", "uct:50=inf"), "must be a finite number"),
        (("tictactoe", "--anchor", "uct:50=1e308"), "must be a finite number, 1e+06 either way at most"),
        (("tictactoe", "--plot", "ladder.pdf"), "saved as .svg or .png, not as 'ladder.pdf'"),
        (("tictactoe", "--plot", "/proc/no/x.svg"), "cannot write /proc/no/x.svg"),
        (("tictactoe", "--html", "/proc/x.html"), "cannot write /proc/x.html"),
        (("tictactoe", "--out", "/proc/x.jsonl"), "cannot write /proc/x.jsonl"),
        (("tictactoe", "--games", "/proc/x"), "cannot write /proc/x/games"),
        (("tictactoe", "--engines", "0"), "1 to 1000 games with engines can be played at once, not 0"),
        (("tictactoe", "--slots", "0"), "at least one slot, a game that is under way, not 0"),
        (("tictactoe", "--agents", "random", "uct:99999999999"), "Uct: simulations=99999999999 is too large"),
        (("tictactoe", "--agents", "random", "gumbel:16,gumbel_scale=nan"), "gumbel_scale=nan is not a finite number"),
        (("sprt", "random", "greedy", "--game", "tictactoe", "--pairs", "0"), "at least 1 pair"),
        (("sprt", "random", "greedy", "--game", "tictactoe", "--out", "/proc/x"), "cannot write /proc/x"),
        (("tictactoe", "--agents", "random", "threats:5"), "threats:5 cannot play: Mnk knows no threats; use a search"),
        (("tictactoe", "--agents", "random", "threats:1s"), "threats:1s cannot play: Mnk knows no threats; use a"),
        (("sprt", "random", "bfs", "--game", "tictactoe"), "bfs:1000 cannot play: bfs looks for the solution of a"),
        (("sprt", "random", "greedy", "--game", "tictactoe", "--slots", "0"), "at least one slot"),
        (("tictactoe", "--agents", "random", "minimax"), "unknown search 'minimax'"),
        (("tictactoe", "--agents", "random", "random"), "random is given twice"),
        (("tictactoe", "--agents", "random", "@runs/no*/*"), "'runs/no*/*' is no step of a run with weights, nor such"),
        (("tictactoe", "--agents", "random", "greedy", "--steps", "8"), "8 steps of which run? None of the agents has"),
        (("tictactoe", "--agents", "random", "@runs/*", "--steps", "0"), "at least one step of each run plays, not 0"),
        (("sprt", "random", "@runs/no*", "--game", "tictactoe"), "; a star names several, which only the agents of a"),
        (("tictactoe", "--pairs", "-1"), "at least 1 pair"),
        (("tictactoe", "--until", "soon"), "--until soon is no precision"),
        (("tictactoe", "--option", "kk=4"), "unknown option of tictactoe 'kk'"),
        (("tictactoe", "--book", "no/such/file"), "cannot read the book no/such/file"),
        (("tictactoe", "--plies", "99"), "0 to 16 random plies"),
        (("tictactoe", "--balance", "1.5"), "above 0 and up to 1, not 1.5"),
        (("tictactoe", "--fair", "random"), "random has no word on positions"),
        (("tictactoe", "--fair", "utc:100"), "utc"),
        (("pegs", "--agents", "random", "greedy", "--plies", "0"), "Pegs is for one"),
        (("ratings", "no/such/file"), "cannot read the matches in no/such/file"),
        (("ratings",), "ratings of what?"),
        (("ratings", "m.jsonl", "--games", "nowhere"), "--games nowhere is a folder of games for a page"),
        (("sprt", "random", "greedy", "--elo0", "5", "--elo1", "5"), "elo0 must be below elo1"),
        (("sprt", "go9", "random", "uct:5"), "another order: `jaxgo eval sprt random uct:5 --game go9 --out"),
        (("sprt", "random", "gtp:gnugo -x", "go9"), "another order: `jaxgo eval sprt random 'gtp:gnugo -x' --game go9"),
        (("go9", "sprt", "random", "uct:5"), "another order: `jaxgo eval sprt random uct:5 --game go9 --out"),
        (("random", "sprt", "uct:5"), "another order: `jaxgo eval sprt random uct:5 --out"),
        (("m.jsonl", "ratings", "--out", "x"), "another order: `jaxgo eval ratings m.jsonl --out x`"),
        (("go9", "random", "uct:5", "--pairs", "2"), "order: `jaxgo eval go9 --agents random uct:5 --pairs 2 --out"),
    ],
)
def test_a_mistake_is_one_sentence(words, said, tmp_path, capsys, monkeypatch):
    for played in ("openings._wander", "program.begin"):
        monkeypatch.setattr(f"jaxgo.arena.{played}", None)  # it is refused before anything compiles
    where = () if words[0] == "ratings" or "--out" in words else ("--out", tmp_path / "m.jsonl")
    assert run(*words, *where) == 2
    out, error = capsys.readouterr()
    assert not out
    assert said in error
    assert error.startswith("jaxgo: ")
    assert error.count("\n") == 1


def test_eval_py_is_short_and_helps_without_waiting_for_jax():
    text = (ROOT / "eval.py").read_text()
    assert len(text.splitlines()) <= 10
    code = (
        "import sys, runpy\nsys.argv = ['eval.py', '--help']\n"
        "try:\n    runpy.run_path('eval.py', run_name='__main__')\nexcept SystemExit as end:\n    assert not end.code\n"
        "assert 'jax' not in sys.modules, 'imported too much'"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr
    for words in ("jaxgo eval tictactoe", "jaxgo eval sprt", "jaxgo eval ratings"):
        assert words in ran.stdout


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on(tmp_path):
    out = tmp_path / "matches.jsonl"
    words = [sys.executable, "eval.py", *TWO[:-1], "1000", "--out", str(out), "--json"]
    running = subprocess.Popen(words, cwd=ROOT, env=dict(os.environ), stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while not (out.exists() and out.stat().st_size) and running.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        running.kill()
        running.wait()
    before = records.read(out)
    assert before, "it was killed before it wrote anything"
    again = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    after = [records.from_line(line) for line in out.read_text().splitlines()]
    assert after[: len(before)] == before
    assert len({pair.id for pair in after}) == len(after) == 1000, "something was played twice"
    assert json.loads(again.stdout)["pairs"] == 1000


def test_a_terminal_gets_a_live_table(monkeypatch, capsys):
    results = tuple(
        records.PairResult("go9", "ann", "bob", one, 0.5, str(i)) for i, one in enumerate((1.0, 1.0, 0.5, 0.0))
    )
    steps = [Progress(0, 8, 0, 0.0, (), "compiling"), Progress(4, 8, 8, 2.0, results)]
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes any output for a terminal
    assert match_screen._live(iter(steps)) is steps[-1]
    said = capsys.readouterr().out
    assert "4 of 8 pairs; 8 games in this run, 4.0 games/s" in said
    assert "ann" in said
    assert "±" in said
    assert match_screen.follow(iter(steps), quiet=True) is steps[-1]
    assert not capsys.readouterr().out


def test_no_page_is_written_over_results(tmp_path, capsys):
    out, page = tmp_path / "m.jsonl", tmp_path / "x.svg"
    assert run(*TWO, "--out", out) == 0
    before = out.read_bytes()
    for words in (
        (*TWO, "--out", out, "--html", tmp_path / "." / "m.jsonl"),
        ("ratings", out, "--html", out),
        ("ratings", out, "--plot", page, "--html", page),
    ):
        assert run(*words) == 2
        assert "is named for two things" in capsys.readouterr().err
    assert out.read_bytes() == before
    assert not page.exists()
