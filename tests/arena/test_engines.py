"""Engines: every fault loses one game and nothing else, no process stays behind, the protocols say what they should."""

import dataclasses
import os
import re
import shutil
import time
from pathlib import Path

import jax
import numpy as np
import pytest
from engine_tables import GO, GOMOKU, PATIENT, STRICT, gomocup, gtp, play, told
from support import mostly_slow

from jaxgo.arena.engines import referee
from jaxgo.arena.engines import specs as engines
from jaxgo.arena.engines.played import PlayedPair
from jaxgo.arena.engines.process import Fault, Process
from jaxgo.arena.engines.protocols import Limits
from jaxgo.arena.engines.specs import read_engine
from jaxgo.arena.openings import book
from jaxgo.core.errors import UsageError
from jaxgo.games import make
from jaxgo.players import load_player
from jaxgo.records.record import winner

PLACES = os.pathsep.join([os.environ.get("PATH", ""), *engines.MORE_PATHS])


def alive(pid: int) -> bool:
    """Whether a process is there and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


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
    assert pair.problems() == ["game 1: a resigned"], "by which the page knows that it did not end on the board"


def test_chatter_is_passed_over(openings):
    (pair,) = play(openings, gtp("chatty"))
    assert not any(game.forfeit for game in pair.games)


# -- faults ---------------------------------------------------------------------------------------------------------
FAULTS = [
    ("crash", "its process ended with status 3 (out of cheese)"),
    ("mute", "it closed its output"),
    ("hang", "no answer to genmove b in time"),
    ("garbage", "garbage instead of an answer to genmove b: ?[31m lorem ipsum \N{REPLACEMENT CHARACTER}"),
    ("flood", "a flood of output instead of an answer to genmove b"),
    ("illegal", "illegal move C3"),
    ("outside", "illegal move Z99"),
    ("nonsense", "illegal move over there"),
    ("error", "it refuses to move: I would rather not"),
]


@pytest.mark.parametrize(
    ("fault", "reason"), mostly_slow(FAULTS, [one for one in FAULTS if one[0] in ("crash", "illegal")])
)
def test_a_fault_loses_one_game(openings, hurry, fault, reason):
    """The engine does wrong at its second move, in the first game of its process: a fresh one plays the next game."""
    if fault == "hang":
        hurry()
    first, second = play(openings, gtp(fault), pairs=2)
    assert first.games[0].forfeit == (0, reason)
    assert first.games[0].result == 0.0  # it had seat 0
    assert first.games[1].forfeit
    assert first.games[1].result == 1.0
    assert first.problems() == [f"game 1: a forfeits, {reason}", f"game 2: a forfeits, {first.games[1].forfeit[1]}"]
    assert second.games[0].moves  # the match went on


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("slow", "no answer to list_commands in time"),
        ("size", "it refuses boardsize 5: unacceptable size"),
        ("gomoku", "it plays Gomoku, not Go"),
    ],
)
def test_an_engine_that_has_never_been_ready_ends_the_match(openings, fault, reason):
    """Its games would be rated as losses for ever, though none was played."""
    patience = 0.3 if fault == "slow" else 60.0
    with pytest.raises(UsageError, match=re.escape(f"does not start ({reason}); try its command alone, or")):
        play(openings, gtp(fault), limits=Limits(move=0.3, start=patience, grace=0.1))


def test_an_answer_that_came_in_time_counts_though_it_is_looked_at_late():
    """On a busy machine a thread that waits may be woken behind the deadline; the line was there before."""
    child = Process(["cat"])
    child._news.wait = lambda left: child._lines.append(b"= D4") or time.sleep(left)
    try:
        assert child.read(time.monotonic() + 0.5, "genmove b") == "= D4"
        with pytest.raises(Fault, match="in time"):
            child.read(time.monotonic(), "genmove b")
    finally:
        child.close()


@pytest.mark.slow
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
    engine, last = read_engine(gtp("stuck"), openings.game).open(openings.game, PATIENT), time.monotonic() + 60
    try:
        engine.begin([])
        engine.choose(0)
        engine.limits = STRICT  # from now on it hangs
        with pytest.raises(Fault, match="in time"):
            engine.choose(0)
        while b"\n" not in engine.process._last_words:
            assert time.monotonic() < last
            time.sleep(0.01)
        child = int(engine.process._last_words.split()[-1])
        assert alive(child)
    finally:
        engine.kill()
    while alive(child):
        assert time.monotonic() < last
        time.sleep(0.01)
    assert not alive(engine.process.pid)
    with pytest.raises(Fault, match="stopped"):
        engine.choose(0)


# -- what engines are told ------------------------------------------------------------------------------------------
def test_rules_time_and_handicap(tmp_path):
    log = tmp_path / "log"
    game = make("go9", handicap=2, ko="situational", komi=0.5)
    engine = read_engine(gtp("timed", log), game).open(game, Limits(move=7.5))
    engine.begin([])
    engine.close()
    unasked = tmp_path / "unasked"
    engine = read_engine(gtp("timed", unasked), game).open(game, Limits())
    engine.begin([])
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


def test_who_thinks_as_long_as_it_was_told_is_in_time():
    """GTP tells whole seconds, so an engine with a part of one is told 1."""
    engine = read_engine(gtp("slowly"), GO).open(GO, Limits(move=0.1, grace=0.2))
    read, given = engine.process.read, []

    def patient(deadline, command):
        """As ever, on a machine that is busy for a minute."""
        given.append(deadline - time.monotonic())
        return read(deadline + 60, command)

    engine.process.read = patient
    try:
        engine.begin([])
        given.clear()
        assert engine.choose(0) >= 0
        assert given[0] > 1.0
    finally:
        engine.kill()


def test_dead_stones_are_taken_off_before_a_pass(tmp_path):
    log = tmp_path / "log"
    engine = read_engine(gtp("tidy", log), GO).open(GO, PATIENT)
    engine.begin([])
    assert engine.choose(0) == GO.parse_action("a1")
    engine.told(1, GO.points)
    engine.close()
    assert told(log)[-5:] == ["genmove b", "undo", "kgs-genmove_cleanup b", "play w pass", "quit"]


def test_gomoku_by_gtp():
    engine = read_engine(gtp("gomoku"), GOMOKU).open(GOMOKU, PATIENT)
    engine.begin([(0, GOMOKU.parse_action("d4")), (1, GOMOKU.parse_action("e5"))])
    action = engine.choose(0)
    assert 0 <= action < GOMOKU.points
    assert engine.verdict() == ""
    engine.close()
    engine = read_engine(gtp(), GOMOKU).open(GOMOKU, PATIENT)
    with pytest.raises(Fault, match="it plays Go, not Gomoku"):
        engine.begin([])
    engine.kill()


def test_othello_by_gtp(tmp_path):
    """Squares have the names of Othello, and who passes unasked may refuse to hear of it."""
    log, game = tmp_path / "log", make("othello")
    engine = read_engine(gtp("othello", log), game).open(game, PATIENT)
    engine.begin([(0, game.parse_action("d3")), (1, game.parse_action("c5"))])
    engine.told(0, game.parse_action("pass"))
    assert engine.verdict() == ""
    with pytest.raises(Fault, match="it refuses play w pass"):
        engine._must("play w pass")
    engine.close()
    assert told(log)[:-2] == [
        *("list_commands", "list_games", "set_game Othello", "clear_board", "boardsize 8", "clear_board"),
        *("play b d3", "play w c5", "play b pass"),
    ]
    engine = read_engine(gtp(), game).open(game, PATIENT)
    with pytest.raises(Fault, match="it plays Go, not Othello"):
        engine.begin([])
    engine.kill()


@pytest.mark.parametrize("swap", [True, False])
def test_hex_by_gtp(swap, tmp_path):
    """Engines for HexGui know that a stone may be swapped, but do not exchange it themselves."""
    log, game = tmp_path / "log", make("hex5", swap=swap)
    engine = read_engine(gtp("hex", log), game).open(game, PATIENT)
    engine.begin([(0, game.parse_action("b1")), *([(1, game.parse_action("swap"))] if swap else [])])
    engine.told(0, game.parse_action("c4"))
    engine.close()
    exchange = ["play w swap-pieces", "param_game allow_swap 0", "clear_board", "play w a2"]
    assert told(log)[1:-1] == [
        *("clear_board", "boardsize 5", "clear_board", f"param_game allow_swap {int(swap)}", "play b b1"),
        *(exchange if swap else []),
        "play b c4",
    ]


def test_the_stone_that_an_engine_swaps_is_exchanged(tmp_path):
    log, game = tmp_path / "log", make("hex5")
    engine = read_engine(gtp("hex", log), game).open(game, PATIENT)
    engine.begin([(0, game.parse_action("b1"))])
    assert engine.choose(1) == game.points
    engine.close()
    assert told(log)[-5:] == ["genmove w", "param_game allow_swap 0", "clear_board", "play w a2", "quit"]


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


def test_what_a_brain_suggests_is_played(gomoku_openings, tmp_path):
    log = tmp_path / "log"
    (pair,) = play(gomoku_openings, gomocup("suggest", log))
    assert not any(game.forfeit for game in pair.games)
    assert "PLAY 0,0" in log.read_text().splitlines()


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("hang", "no answer to "),
        ("error", "it refuses "),
        ("outside", "illegal move 0,99"),
        ("illegal", "illegal move a7"),
        ("nonsense", "garbage instead of an answer to "),
    ],
)
def test_faults_of_gomocup(gomoku_openings, hurry, fault, reason):
    if fault == "hang":
        hurry()
    (pair,) = play(gomoku_openings, gomocup(fault))
    assert pair.games[0].forfeit
    assert pair.games[0].forfeit[1].startswith(reason)
    assert pair.games[0].result == 0.0


def test_a_brain_that_refuses_the_board_ends_the_match(gomoku_openings):
    with pytest.raises(UsageError, match=r"does not start \(it refuses START 7: ERROR unsupported size\); try"):
        play(gomoku_openings, gomocup("size"))


# -- real engines ---------------------------------------------------------------------------------------------------
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
    assert [winner(game.verdicts[0]) for game in pair.games] == [(1.0, -1.0), (-1.0, 1.0)]
    assert pair.problems() == []


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("gtp-rhino", path=PLACES), reason="no GRhino; on Debian: apt-get install grhino")
def test_grhino_plays_othello(tmp_path):
    """Four games against random, which have forced passes: GRhino wins all."""
    game = make("othello")
    lines = tmp_path / "book"
    lines.write_text("f5 d6\nf5 f6\n")
    pairs = play(book(game, lines), 'gtp:"gtp-rhino --level 1"', pairs=2)
    assert [[one.result for one in pair.games] for pair in pairs] == [[1.0, 0.0]] * 2
    assert [pair.problems() for pair in pairs] == [[], []]
    assert any(game.squares in one.moves for pair in pairs for one in pair.games)
