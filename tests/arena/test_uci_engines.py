"""Engines of chess: what they are told of games, limits and options, what is refused, and what they do wrong."""

import os
import re
import shutil
import sys

import pytest
from engine_tables import GARDNER, PATIENT, play, uci
from support import mostly_slow

from jaxgo.arena.engines import specs as engines
from jaxgo.arena.engines.protocols import TURN, Limits
from jaxgo.arena.engines.specs import is_engine, read_engine
from jaxgo.arena.openings import book
from jaxgo.core.errors import UsageError
from jaxgo.games import make

PLACES = os.pathsep.join([os.environ.get("PATH", ""), *engines.MORE_PATHS])


def said(log):
    """What was said to an engine that played, without what it was asked when its spec was read."""
    lines = log.read_text().splitlines()
    assert lines[:2] == ["uci", "quit"]
    return lines[2:]


# -- games that go well ---------------------------------------------------------------------------------------------
def test_a_pair_against_an_engine(gardner_openings, tmp_path):
    """Both go to and fro with their knights, until the position has been there three times."""
    logs = tmp_path / "a", tmp_path / "b"
    specs = (
        uci("well", logs[0], settings="nodes=100,skill level=3"),
        uci("chatty", logs[1], settings="depth=2,seconds=20"),
    )
    first, second = play(gardner_openings, *specs, pairs=2)
    assert [len(game.moves) for pair in (first, second) for game in pair.games] == [6, 6, 8, 8]
    assert {game.result for pair in (first, second) for game in pair.games} == {0.5}
    assert [first.problems(), second.problems()] == [[], []]
    lines = said(logs[0])
    assert lines[:9] == [
        *("uci", "setoption name UCI_Variant value gardner", "setoption name Skill Level value 3"),
        *("ucinewgame", "isready"),
        *("position startpos moves b1c3 b5a3", "go nodes 100 movetime 20000"),
        *("position startpos moves b1c3 b5a3 c3b1 a3b5", "go nodes 100 movetime 20000"),
    ]
    assert lines.count("uci") == 1, "one process plays all games that it loses none of"
    assert lines.count("ucinewgame") == lines.count("isready") == 4
    assert "position startpos" in lines, "the second opening is the start of the game"
    assert "position startpos moves b1c3" in lines
    assert lines[-1] == "quit"
    assert "go depth 2 movetime 20000" in said(logs[1])


def test_a_game_that_begins_elsewhere_is_told_by_fen(tmp_path):
    game, log = make("gardner", fen="rnbqk/ppppp/5/PPPPP/RNBQK_b"), tmp_path / "log"
    engine = read_engine(uci("well", log), game).open(game, PATIENT)
    engine.begin([])
    assert game.action_name(engine.choose(1)) == "b5a3"
    engine.told(0, game.parse_action("b1c3"))
    assert game.action_name(engine.choose(1)) == "a3b5"
    assert engine.verdict() == ""
    engine.close()
    fen = "position fen rnbqk/ppppp/5/PPPPP/RNBQK b - - 0 1"
    assert [line for line in said(log) if line.startswith("position")] == [fen, f"{fen} moves b5a3 b1c3"]


@pytest.mark.parametrize(
    ("settings", "seconds", "told", "print_of_it"),
    [
        ("", None, f"go movetime {1000 * TURN:.0f}", "5 s"),
        ("", 2.5, "go movetime 2500", "2.5 s"),
        ("depth=3", None, "go depth 3", "untold"),
        ("depth=3,nodes=50", 2.0, "go depth 3 nodes 50 movetime 2000", "2 s"),
        ("seconds=.25", 2.0, "go movetime 250", "0.25 s"),
    ],
)
def test_limits_of_a_move(tmp_path, settings, seconds, told, print_of_it):
    log, limits = tmp_path / "log", Limits(move=seconds)
    player = read_engine(uci("well", log, settings=settings), GARDNER)
    assert player.fingerprint(limits) == print_of_it
    engine = player.open(GARDNER, limits)
    engine.begin([])
    engine.choose(0)
    engine.close()
    assert said(log)[-2:] == [told, "quit"]


# -- settings -------------------------------------------------------------------------------------------------------
def test_options_are_told_as_the_engine_spells_them(tmp_path):
    log = tmp_path / "log"
    settings = 'skill level=0,USE BOOK=no,Style="very risky",EvalFile="a, b.nnue",UCI_Elo=1400,UCI_LimitStrength=true'
    engine = read_engine(uci("well", log, settings=settings), GARDNER).open(GARDNER, PATIENT)
    engine.begin([])
    engine.begin([])
    engine.close()
    assert [line.removeprefix("setoption name ") for line in said(log)[1:-1]] == [
        "UCI_Variant value gardner",
        "Skill Level value 0",
        "Use Book value false",
        "Style value Very Risky",
        "EvalFile value a, b.nnue",
        "UCI_Elo value 1400",
        "UCI_LimitStrength value true",
        *["ucinewgame", "isready"] * 2,
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("skil=3", "unknown option of Knight 1.0 'skil'; choose one of: Skill Level, Use Book, Style, EvalFile, UCI_"),
        ("Skill Level=21", "Skill Level=21 is refused: Skill Level of Knight 1.0 is a whole number from 0 to 20"),
        ("Skill Level=x", "Skill Level of Knight 1.0 is a whole number"),
        ("use book=maybe", "use book=maybe is refused: Use Book of Knight 1.0 is true or false"),
        ("Style=Wild", "Style of Knight 1.0 is one of Solid, Very Risky"),
        (r'EvalFile="a\nquit"', "EvalFile of Knight 1.0 is one line"),
        ("clear hash=1", "Clear Hash of Knight 1.0 is a button, which has no value"),
        ("UCI_Elo=1400", "UCI_Elo of Knight 1.0 holds only with UCI_LimitStrength=true"),
        ("UCI_Variant=shogi", "UCI_Variant of Knight 1.0 is one of chess, gardner"),
        ("depth=0", "depth=0 of an engine is a whole number above 0"),
        ("nodes=1e3", "nodes=1e3 of an engine is a whole number above 0"),
        ("seconds=-1", "seconds=-1 of an engine is a number above 0 and up to 3600"),
        ("seconds=4000", "up to 3600"),
        ("nodes", "'nodes' in .* is not of the form name=value, such as nodes=1000"),
        ("nodes=1,nodes=2", "gives nodes twice"),
    ],
)
def test_settings_that_are_refused(settings, message):
    with pytest.raises(UsageError, match=message):
        read_engine(uci(settings=settings), GARDNER)


@pytest.mark.parametrize(
    ("text", "game", "message"),
    [
        ("uci:", GARDNER, "names no program; write it as in uci:stockfish,nodes=1000"),
        ("uci:,nodes=1", GARDNER, "names no program"),
        ("uci:'stockfish", GARDNER, "cannot read the command"),
        ("uci:/no/stockfish", GARDNER, "apt-get install stockfish"),
        ("uci:sh", make("go5"), "engines of UCI play chess, not Go"),
        (uci("plain"), GARDNER, "Knight 1.0 plays chess, not gardner; its option UCI_Variant would say so"),
        (uci("chess"), GARDNER, "Knight 1.0 plays chess, not gardner"),
        (uci("bold", settings="x=1"), GARDNER, "choose one of: Skill Level, Use Book, Sty?[1mle, EvalFile"),
        (uci("endless"), GARDNER, "does not start (an endless answer to uci); try its command alone"),
        (uci("garbage"), GARDNER, "does not start (garbage instead of an answer to uci: hello)"),
        (f"uci:{sys.executable} -c pass", GARDNER, "does not start (its process ended with status 0)"),
    ],
)
def test_engines_that_are_refused(text, game, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        read_engine(text, game)


def test_names():
    assert is_engine(" uci:stockfish ")
    command = f"{sys.executable} -S -E"
    program = uci().partition(f"uci:{command} ")[2]
    for text in (f"uci:{command} {program} , nodes = 5", f'uci:"{command} {program}",nodes=5'):
        plain = read_engine(text, GARDNER)
        assert plain.name == f"uci:{command} {program},nodes=5"
        assert plain.settings == (("nodes", "5"),)
    log = os.devnull + ","
    quoted = read_engine(f'uci:"{command} {program} well \\"{log}\\"",Style="Very Risky"', make("chess"))
    assert quoted.words[-1] == log
    assert quoted.name == f'uci:"{command} {program} well \\"{log}\\"",Style="Very Risky"'
    assert read_engine(quoted.name, make("chess")) == quoted, "a name is read as the spec that it is"


# -- faults ---------------------------------------------------------------------------------------------------------
FAULTS = [
    ("crash", "its process ended with status 3 (out of cheese)"),
    ("hang", "no answer to go in time"),
    ("illegal", "illegal move a2a5"),
    ("outside", "illegal move z9z8"),
    ("none", "it makes no move: bestmove (none)"),
    ("null", "it makes no move: bestmove 0000"),
    ("nothing", "it makes no move: bestmove"),
    ("nonsense", "garbage instead of an answer to go: here"),
]


@pytest.mark.parametrize(("fault", "reason"), mostly_slow(FAULTS, [FAULTS[0], FAULTS[2], FAULTS[4]]))
def test_a_fault_loses_one_game(gardner_openings, hurry, fault, reason):
    if fault == "hang":
        hurry()
    (pair,) = play(gardner_openings, uci(fault), uci())
    assert pair.problems() == [f"game {number}: a forfeits, {reason}" for number in (1, 2)]
    assert [game.result for game in pair.games] == [0.0, 1.0]
    assert [len(game.moves) for game in pair.games] == [2, 3]


def test_an_engine_that_is_never_ready_ends_the_match(gardner_openings):
    with pytest.raises(UsageError, match=r"does not start \(its process ended with status 1\); try its command alone"):
        play(gardner_openings, uci("unready"), uci())


# -- real engines ---------------------------------------------------------------------------------------------------
def needs(name):
    return pytest.mark.skipif(not shutil.which(name, path=PLACES), reason=f"no {name}; on Debian: apt-get install it")


@pytest.mark.slow
@needs("stockfish")
def test_stockfish(tmp_path):
    """It mates a random player from either seat, from a position of its own and after moves that castle."""
    game, lines = make("chess", fen="r3k2r/8/8/8/8/8/1P6/R3K2R_w_KQkq"), tmp_path / "book"
    lines.write_text("e1g1 e8c8\n-\n")
    pairs = play(book(game, lines), "uci:stockfish,depth=8,Threads=1,Skill Level=20", pairs=2)
    assert [[one.result for one in pair.games] for pair in pairs] == [[1.0, 0.0]] * 2
    assert [pair.problems() for pair in pairs] == [[], []]


@pytest.mark.slow
@needs("fairy-stockfish")
def test_fairy_stockfish_plays_on_five_by_five(gardner_openings):
    pairs = play(gardner_openings, "uci:fairy-stockfish,nodes=1000", pairs=2)
    assert [[one.result for one in pair.games] for pair in pairs] == [[1.0, 0.0]] * 2
    assert [pair.problems() for pair in pairs] == [[], []]


@pytest.mark.slow
def test_our_own_engine(gardner_openings):
    ours = f"uci:{sys.executable} -m jaxgo uci gardner,Agent=random,nodes=1"
    (pair,) = play(gardner_openings, ours, uci(), limits=Limits(move=60.0, start=300.0, at_once=1))
    assert all(set(game.forfeit or (1,)) >= {1} for game in pair.games), "whose knight was taken forfeits, nobody else"
    assert all(game.moves for game in pair.games)
