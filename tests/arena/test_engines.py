"""Engines: every fault loses one game and nothing else, no process stays behind, the protocols say what they should.

The engines are tiny programs in `engines/`. Go on 5x5 with a low limit of moves, so that the same rules are compiled
once for all tests.
"""

import dataclasses
import os
import re
import shutil
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest

from jaxgo.agents import load_agent
from jaxgo.arena import engines, records, referee, report
from jaxgo.arena.contest import Contest
from jaxgo.arena.engines import External, is_engine, open_engine, read_engine
from jaxgo.arena.openings import book
from jaxgo.arena.played import PlayedPair, winner
from jaxgo.arena.players import load_player
from jaxgo.arena.process import Fault
from jaxgo.arena.protocols import Limits
from jaxgo.arena.schedule import Schedule
from jaxgo.arena.tournament import Tournament
from jaxgo.core.errors import UsageError
from jaxgo.games import make

HERE = Path(__file__).parent / "engines"
GO = make("go5", move_limit=10)
GOMOKU = make("gomoku", size=7)
PATIENT = Limits(move=20.0, start=60.0, at_once=1)
PLACES = os.pathsep.join([os.environ.get("PATH", ""), *engines.MORE_PATHS])
STRICT = Limits(move=0.3, start=20.0, grace=0.2, at_once=1)


def spec(program: str, *words: object) -> str:
    return " ".join([f"{program}:{sys.executable} -S -E {HERE / program}_engine.py", *map(str, words)])


def gtp(*words: object) -> str:
    return spec("gtp", *words)


def gomocup(*words: object) -> str:
    return spec("gomocup", *words)


@pytest.fixture(scope="module")
def openings(tmp_path_factory):
    lines = tmp_path_factory.mktemp("book") / "go.txt"
    lines.write_text("c3 b2\nc2 d4\nb3 c4\n")
    return book(GO, lines)


@pytest.fixture(scope="module")
def gomoku_openings(tmp_path_factory):
    lines = tmp_path_factory.mktemp("book") / "gomoku.txt"
    lines.write_text("d4 e5 d5\n-\n")
    return book(GOMOKU, lines)


def play(openings, *specs: str, limits: Limits = PATIENT, pairs: int = 1, heat: float = 0.0):
    """Pairs between an engine and another engine or the random agent, in the order of their openings."""
    game = openings.game
    players = [read_engine(s, game) if is_engine(s) else load_player(s, game) for s in (*specs, "random")[:2]]
    keys = jax.vmap(jax.random.key)(np.arange(pairs))
    lines = [openings.actions(i) for i in range(pairs)]
    found = referee.play_pairs(
        tuple(players), game, lines, openings.positions(range(pairs)), keys, limits=limits, temperature=heat
    )
    return sorted(found, key=lambda pair: pair.number)


def alive(pid: int) -> bool:
    """Whether a process is there and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def told(log: Path) -> list[str]:
    """What was said to a GTP engine, without the numbers of commands."""
    return [re.sub(r"^\d+ ", "", line) for line in log.read_text().splitlines()]


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")


# -- games that go well ---------------------------------------------------------------------------------------------
def test_a_pair_against_an_engine(openings, tmp_path):
    log = tmp_path / "log"
    (pair,) = play(openings, gtp("none", log))
    assert pair.number == 0
    assert [len(game.moves) for game in pair.games] == [8, 8]
    assert all(game.forfeit is None and game.resigned is None for game in pair.games)
    assert [game.verdicts for game in pair.games] == [("W+0.5", "")] * 2
    said = told(log)
    assert said[:7] == [
        "list_commands",
        "clear_board",
        "boardsize 5",
        "clear_board",
        "komi 24.5",
        "play b C3",
        "play w B2",
    ]
    assert said[7] == "genmove b"  # it has seat 0 in the first game, and seat 1 in the second
    assert said.count("genmove b") == said.count("genmove w") == 4
    assert said.count("final_score") == 2
    assert said[-1] == "quit"


def test_results_do_not_hang_on_how_many_play_at_once(openings):
    one = play(openings, gtp(), pairs=3)
    many = play(openings, gtp(), pairs=3, limits=Limits(20.0, 60.0, at_once=3))
    assert one == many


def test_two_engines(openings):
    (pair,) = play(openings, gtp(), gtp("pass"))
    assert not pair.problems() or "counts" in pair.problems()[0]
    assert [game.verdicts for game in pair.games] == [("W+0.5", "W+0.5")] * 2


def test_a_dispute_is_told(openings):
    """Komi is 24.5: with `c3 b2` and passes, White wins, so an engine that says so is right."""
    (pair,) = play(openings, gtp("pass"), gtp("pass"))
    assert [game.result for game in pair.games] == [0.0, 0.0]
    assert [len(game.moves) for game in pair.games] == [2, 2]
    assert pair.problems() == []
    other = PlayedPair(0, tuple(dataclasses.replace(g, result=1.0) for g in pair.games))
    assert other.problems()[0] == "game 1: a counts W+0.5, and the rules here B"
    assert len(other.problems()) == 4


def test_resigning_is_no_fault(openings):
    (pair,) = play(openings, gtp("resign"))
    assert pair.games[0].resigned == 0
    assert pair.games[0].result == 0.0
    assert pair.games[0].forfeit is None
    assert pair.games[1].resigned is None  # its process goes on, and it resigns once


def test_chatter_is_passed_over(openings):
    (pair,) = play(openings, gtp("chatty"))
    assert not any(game.forfeit for game in pair.games)


# -- faults ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("crash", "its process ended with status 3 (out of cheese)"),
        ("hang", "no answer to genmove b in time"),
        ("garbage", "garbage instead of an answer to genmove b: ?[31m lorem ipsum \N{REPLACEMENT CHARACTER}"),
        ("flood", "a flood of output instead of an answer to genmove b"),
        ("illegal", "illegal move C3"),
        ("outside", "illegal move Z99"),
        ("nonsense", "illegal move over there"),
        ("error", "it refuses to move: I would rather not"),
    ],
)
def test_a_fault_loses_one_game(openings, fault, reason):
    """The engine does wrong at its second move, in the first game of its process: a fresh one plays the next game."""
    limits = STRICT if fault == "hang" else PATIENT
    first, second = play(openings, gtp(fault), pairs=2, limits=limits)
    assert first.games[0].forfeit == (0, reason)
    assert first.games[0].result == 0.0  # it had seat 0
    assert first.games[1].forfeit
    assert first.games[1].result == 1.0
    assert first.problems() == [f"game 1: a forfeits, {reason}", f"game 2: a forfeits, {first.games[1].forfeit[1]}"]
    assert second.games[0].moves  # the match went on


def test_a_start_that_takes_too_long(openings):
    (pair,) = play(openings, gtp("slow"), limits=Limits(move=0.3, start=0.3, grace=0.1))
    assert [game.forfeit for game in pair.games] == [(0, "no answer to list_commands in time")] * 2
    assert [game.result for game in pair.games] == [0.0, 1.0]
    assert [game.moves for game in pair.games] == [(), ()]


def test_a_size_that_is_refused(openings):
    (pair,) = play(openings, gtp("size"))
    assert pair.games[0].forfeit == (0, "it refuses boardsize 5: unacceptable size")


def test_an_engine_of_another_game(openings):
    (pair,) = play(openings, gtp("gomoku"))
    assert pair.games[0].forfeit == (0, "it plays Gomoku, not Go")


@needs_proc
def test_no_process_stays(openings, monkeypatch):
    """Neither after a good game nor after a hang, nor where a match is given up; children of engines included."""
    pids = []
    start = engines.PROTOCOLS["gtp"].__init__

    def noted(self, *args):
        start(self, *args)
        pids.append(self.process.pid)

    monkeypatch.setattr(engines.PROTOCOLS["gtp"], "__init__", noted)
    play(openings, gtp())
    play(openings, gtp("hang"), limits=STRICT)
    game = openings.game
    players = (read_engine(gtp("stuck"), game), load_player("random", game))
    lines, positions = [openings.actions(0)], openings.positions([0])
    match = referee.play_pairs(players, game, lines, positions, jax.vmap(jax.random.key)(np.arange(1)), limits=STRICT)
    next(match)
    match.close()
    assert len(pids) == 1 + 2 + 2
    assert not any(map(alive, pids))


@needs_proc
def test_children_of_an_engine_are_killed(openings):
    engine = open_engine(gtp("stuck"), openings.game, STRICT)
    engine.begin(0, [])
    engine.choose(0)
    with pytest.raises(Fault, match="in time"):
        engine.choose(0)
    child = int(engine.process._last_words.split()[-1])
    assert alive(child)
    engine.kill()
    last = time.monotonic() + 5
    while alive(child) and time.monotonic() < last:
        time.sleep(0.01)
    assert not alive(child)
    assert not alive(engine.process.pid)
    with pytest.raises(Fault, match="stopped"):
        engine.choose(0)


# -- what engines are told ------------------------------------------------------------------------------------------
def test_rules_time_and_handicap(tmp_path):
    log = tmp_path / "log"
    game = make("go9", handicap=2, ko="situational", komi=0.5)
    engine = open_engine(gtp("timed", log), game, Limits(move=7.5))
    engine.begin(1, [])
    engine.close()
    unasked = tmp_path / "unasked"
    engine = open_engine(gtp("timed", unasked), game)
    engine.begin(1, [])
    engine.close()
    assert not any(line.startswith("time") for line in told(unasked))
    rules = 'kata-set-rules {"ko":"SITUATIONAL","scoring":"AREA","tax":"NONE","suicide":false}'
    assert told(log)[1:-1] == [
        "clear_board",
        "boardsize 9",
        "clear_board",
        "komi 0.5",
        rules,
        "time_settings 0 7 1",
        "play b G7",
        "play b C3",
    ]


def test_dead_stones_are_taken_off_before_a_pass(tmp_path):
    log = tmp_path / "log"
    engine = open_engine(gtp("tidy", log), GO, PATIENT)
    engine.begin(0, [])
    assert engine.choose(0) == GO.parse_action("a1")
    engine.told(1, GO.points)
    engine.close()
    assert told(log)[-5:] == ["genmove b", "undo", "kgs-genmove_cleanup b", "play w pass", "quit"]


def test_gomoku_by_gtp():
    engine = open_engine(gtp("gomoku"), GOMOKU, PATIENT)
    engine.begin(0, [(0, GOMOKU.parse_action("d4")), (1, GOMOKU.parse_action("e5"))])
    action = engine.choose(0)
    assert 0 <= action < GOMOKU.points
    assert engine.verdict() == ""
    engine.close()
    engine = open_engine(gtp(), GOMOKU, PATIENT)
    with pytest.raises(Fault, match="it plays Go, not Gomoku"):
        engine.begin(0, [])
    engine.kill()


# -- Gomocup --------------------------------------------------------------------------------------------------------
def test_a_pair_of_gomocup(gomoku_openings, tmp_path):
    log = tmp_path / "log"
    first, second = play(gomoku_openings, gomocup("none", log), pairs=2)
    assert not any(game.forfeit for pair in (first, second) for game in pair.games)
    said = log.read_text().splitlines()
    assert said[0] == "START 7"
    assert {"INFO timeout_turn 20000", "INFO rule 0", "INFO timeout_match 0"} <= set(said)
    # after d4 e5 d5 White is to move: the random agent in the first game, the engine in the second
    board = said.index("BOARD")
    assert said[board + 1 : board + 4] == ["3,3,1", "4,2,2", "3,2,1"]
    assert said[board + 5] == "DONE"
    again = said.index("BOARD", board + 1)
    assert said[again + 1 : again + 5] == ["3,3,2", "4,2,1", "3,2,2", "DONE"]
    assert "BEGIN" in said  # the second opening is the start of the game
    assert said[said.index("BEGIN") + 1].startswith("TURN ")
    assert said[-1] == "END"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("hang", "no answer to "),
        ("error", "it refuses "),
        ("outside", "illegal move 0,99"),
        ("illegal", "illegal move a7"),
        ("nonsense", "garbage instead of an answer to "),
        ("size", "it refuses START 7: ERROR unsupported size"),
    ],
)
def test_faults_of_gomocup(gomoku_openings, fault, reason):
    (pair,) = play(gomoku_openings, gomocup(fault), limits=STRICT if fault == "hang" else PATIENT)
    assert pair.games[0].forfeit
    assert pair.games[0].forfeit[1].startswith(reason)
    assert pair.games[0].result == 0.0


# -- specs ----------------------------------------------------------------------------------------------------------
def test_specs():
    assert is_engine('gtp:"gnugo --mode gtp"')
    assert is_engine(" gomocup:engine ")
    assert not is_engine("uct:400")
    assert not is_engine("gtps:x")
    plain = read_engine(f"gtp:{sys.executable} -c pass", GO)
    assert plain == External(f"gtp:{sys.executable} -c pass", "gtp", (sys.executable, "-c", "pass"))
    assert read_engine(f'gtp:"{sys.executable} -c pass"', GO) == plain


def test_a_path_with_blanks(tmp_path):
    program = tmp_path / "my engine"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert read_engine(f'gomocup:"{program}"', GOMOKU).words == (str(program),)


@pytest.mark.parametrize(
    ("text", "game", "message"),
    [
        ("gtp:", GO, "names no program"),
        ("gtp:'gnugo", GO, "cannot read the command"),
        ("gtp:/no/gnugo --mode gtp", GO, "apt-get install gnugo"),
        ("gomocup:/no/such", GOMOKU, "there is no program '/no/such'"),
        ("gtp:sh", make("connect4"), "not ConnectFour"),
        ("gtp:sh", make("go9", width=7), "square boards"),
        ("gomocup:sh", GO, "engines of Gomocup play Gomoku"),
        ("gomocup:sh", make("swap2-15"), "without opening rules"),
    ],
)
def test_specs_that_are_refused(text, game, message):
    with pytest.raises(UsageError, match=message):
        read_engine(text, game)


def test_a_file_that_is_no_program(tmp_path):
    program = tmp_path / "engine"
    program.write_bytes(b"\x7fELF no program")
    program.chmod(0o755)
    with pytest.raises(UsageError, match="cannot start the engine"):
        open_engine(f"gomocup:{program}", GOMOKU)


def test_what_breaks_on_a_table_is_raised_by_the_match(openings, tmp_path):
    program = tmp_path / "engine"
    program.write_bytes(b"\x7fELF no program")
    program.chmod(0o755)
    with pytest.raises(UsageError, match="cannot start the engine"):
        play(openings, f"gtp:{program}")


def test_one_engine_in_two_spellings_is_one_agent(openings):
    name = f"gtp:{sys.executable} -c pass"
    with pytest.raises(UsageError, match="given twice"):
        Tournament(contest(name, name.replace(":", ':"') + '"'), Schedule(pairs=1), openings)


def test_outside_the_arena():
    with pytest.raises(UsageError, match=r"only eval\.py can play"):
        load_agent("gtp:gnugo --mode gtp", GO)


@pytest.mark.parametrize("wrong", [{"move": 0.0}, {"start": float("nan")}, {"at_once": 0}])
def test_limits_are_checked(wrong):
    with pytest.raises(UsageError):
        Limits(**wrong)


# -- tournaments ----------------------------------------------------------------------------------------------------
def contest(*agents: str) -> Contest:
    return Contest("go5", GO, agents, options=("move_limit=10",))


@pytest.mark.slow
def test_a_tournament_with_an_engine(openings, tmp_path):
    """An engine among agents: matches of agents are played as ever, and everything lies in one file."""
    path, agents = tmp_path / "matches.jsonl", (gtp("crash"), "random", "greedy")
    event = Tournament(contest(*agents), Schedule(pairs=2), openings, path, tmp_path / "games", limits=PATIENT)
    *_, last = event.run()
    pairs = records.read(path)
    assert len(pairs) == last.pairs == last.most == 6
    assert last.games == 12
    with_engine = [pair for pair in pairs if "gtp:" in pair.a + pair.b]
    assert len(with_engine) == 4
    assert all(len(pair.problems) == 2 for pair in with_engine)
    assert [pair.problems for pair in pairs if pair not in with_engine] == [(), ()]
    assert len(list((tmp_path / "games").glob("*.sgf"))) == 12
    (note,) = report.incidents(pairs)
    assert note.startswith(f"{gtp('crash')} forfeited 8 games: its process ended with status 3 (out of cheese) (8)")
    table = last.table()
    assert table is not None
    assert table.agents[-1] == gtp("crash")

    again = Tournament(contest(*reversed(agents)), Schedule(pairs=2), openings, path, limits=PATIENT)
    *_, last = again.run()
    assert last.games == 0  # nothing is played twice

    alone = Tournament(contest("random", "greedy"), Schedule(pairs=2), openings, tmp_path / "alone.jsonl")
    *_, last = alone.run()
    assert {pair.id for pair in last.results} == {pair.id for pair in pairs if pair not in with_engine}


def test_a_match_that_was_killed_goes_on(openings, tmp_path):
    """Stopped after the first pair, and resumed: every pair is there once, with the openings of a whole run."""
    path, agents = tmp_path / "matches.jsonl", (gtp(), "random")

    def event() -> Tournament:
        return Tournament(contest(*agents), Schedule(pairs=3), openings, path, limits=PATIENT)

    run = event().run()
    while next(run).pairs < 1:
        pass
    run.close()
    there = len(records.read(path))
    assert 1 <= there < 3
    *_, last = event().run()
    assert last.games == 2 * (3 - there)
    pairs = records.read(path)
    assert sorted(pair.number for pair in pairs) == [0, 1, 2]
    whole = Tournament(contest(*agents), Schedule(pairs=3), openings, tmp_path / "whole.jsonl", limits=PATIENT)
    *_, last = whole.run()
    assert {(p.id, p.score, p.plies) for p in last.results} == {(p.id, p.score, p.plies) for p in pairs}


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("gnugo", path=PLACES), reason="no GNU Go; on Debian: apt-get install gnugo")
def test_gnu_go(tmp_path):
    """Two games against random: GNU Go wins both, by our rules and by its own count, with all dead stones taken."""
    game = make("go9")
    name = 'gtp:"gnugo --mode gtp --level 1"'
    lines = tmp_path / "book"
    lines.write_text("e5 c3\n")
    (pair,) = play(book(game, lines), name)
    assert [game.result for game in pair.games] == [1.0, 0.0]
    assert [winner(game.verdicts[0]) for game in pair.games] == [1.0, 0.0]
    assert pair.problems() == []
