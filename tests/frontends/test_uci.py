"""UCI: what it says of itself, positions that go on, searches that are held and ended, the clock, and nonsense."""

import dataclasses
import queue
import random
import re
import subprocess
import sys
import time
import types

import pytest

from jaxgo.cli.main import main
from jaxgo.core.errors import UsageError
from jaxgo.frontends import uci
from jaxgo.frontends.clock import fischer
from jaxgo.frontends.gomocup_clock import MatchClock
from jaxgo.frontends.session import Session
from jaxgo.frontends.several import SLICE, Several
from jaxgo.frontends.thinking import Mind, Thinking, Thought
from jaxgo.frontends.uci import Uci
from jaxgo.games import make
from jaxgo.search import analysis
from jaxgo.search.think import Limit

WAIT = 300.0  # seconds, of a busy machine that compiles
START = "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1"
MATED = "2R1k/R4/5/5/K4 b - - 0 1"
MATE = "4k/R4/2R2/5/K4 w - - 0 1"

TOKENS = "startpos fen moves a2a3 b4a3 e2e3 infinite ponder -1 7 99999999999 x é value name"


class Talk:
    def __init__(self, player="random", **options):
        self.said = queue.Queue()
        self.engine = Uci(make("gardner", **options), "gardner", player, self._hear)

    def _hear(self, text):
        for line in text.splitlines():
            self.said.put(line)

    def tell(self, *lines):
        for line in lines:
            self.engine.take(line)

    def until(self, word):
        """What is said up to a line that begins so."""
        lines = [self.said.get(timeout=WAIT)]
        while not lines[-1].startswith(word):
            lines.append(self.said.get(timeout=WAIT))
        return lines

    def ask(self, *lines, end="bestmove"):
        self.tell(*lines)
        return self.until(end)

    def rest(self):
        """What has been said and not been heard."""
        lines = []
        while not self.said.empty():
            lines.append(self.said.get())
        return lines


@pytest.fixture(scope="module")
def started():
    talk = Talk()
    assert talk.ask("isready", end="readyok") == ["readyok"]
    yield talk
    talk.engine.session.close()


@pytest.fixture
def talk(started):
    started.tell("stop", "setoption name Agent value random", "setoption name MultiPV value 1", "ucinewgame")
    started.ask("isready", end="readyok")
    started.rest()
    return started


def moves(talk):
    return talk.engine.session.board.moves


def test_it_says_who_it_is_before_anything_is_compiled():
    talk = Talk()
    said = talk.ask("uci", end="uciok")
    assert said[0].startswith("id name jaxgo ")
    assert said[1] == "id author the authors of jaxgo"
    assert said[2:] == [
        "option name Agent type string default random",
        "option name MultiPV type spin default 1 min 1 max 256",
        "option name Ponder type check default false",
        "option name UCI_Variant type combo default gardner var gardner",
        "uciok",
    ]
    assert talk.engine._session is None


def test_a_game_goes_on_by_positions(talk):
    played, draw = [], random.Random(1)
    for _ in range(6):
        last = talk.ask(f"position startpos moves {' '.join(played)}", "go movetime 50")[-1]
        name = last.split()[1]
        assert talk.engine.session.board.read(name) in talk.engine.session.board.legal()
        assert moves(talk) == played, "who answers plays nothing: the next position tells what was played"
        before = talk.engine.session.board
        played.append(name)
        talk.tell(f"position startpos moves {' '.join(played)}")
        played.append(before.game.action_name(draw.choice(talk.engine.session.board.legal())))
    talk.tell(f"position startpos moves {' '.join(played)}")
    board = talk.engine.session.board
    assert board.views[len(before.actions)] is before.now, "it goes on, so that a tree is kept"
    talk.tell(f"position startpos moves {' '.join(played[:2])}")
    assert moves(talk) == played[:2]
    for line in ("a2a3 b4a3 b2a3", "b2b3 a4b3 a2b3"):
        talk.tell(f"position startpos moves {line}")
        assert moves(talk) == line.split()
    talk.tell("position startpos")
    assert moves(talk) == []


def test_a_fen_goes_on_as_well(talk):
    fen = "4k/4p/5/P4/K4 b - - 3 9"
    talk.tell(f"position fen {fen}")
    before = talk.engine.session.board
    assert talk.engine.game.to_fen(before.now.position.state).split()[:5] == fen.split()[:5]
    talk.tell(f"position fen {fen} moves e4e3")
    board = talk.engine.session.board
    assert (board.moves, board.views[0]) == (["e4e3"], before.now)
    assert talk.ask("go nodes 1")[-1].startswith("bestmove a")


def test_what_is_refused_is_told_and_not_thought_about(talk):
    for line in (
        "position startpos moves a2a3 a2a3",
        "position fen 4k/5/5/5/5 w - - 0 1",
        "position fen",
        "position",
        "position somewhere",
        "position startpos moves 0000",
    ):
        talk.tell("position startpos", line)
        (said,) = talk.rest()
        assert said.startswith("info string "), line
        assert talk.ask("go nodes 1")[-1] == "bestmove 0000", line
    talk.tell("position startpos")
    assert talk.ask("go nodes 1")[-1] != "bestmove 0000"


def test_where_the_game_is_over_no_move_is_played(talk):
    assert talk.ask(f"position fen {MATED}", "go nodes 1") == ["info string the game is over", "bestmove 0000"]
    talk.tell("go infinite")
    assert talk.rest() == ["info string the game is over"]
    assert talk.ask("stop") == ["bestmove 0000"]


def test_a_draw_that_nobody_claims_is_played_on(talk):
    """GUIs may ask on behind a position that came back, or fifty quiet moves."""
    around = "a1a2 e5e4 a2a1 e4e5 " * 2
    line = f"position fen 4k/5/5/5/R3K w - - 0 1 moves {around}"
    talk.tell(line)
    assert talk.rest() == []
    assert not talk.engine.session.board.over
    assert talk.ask("go nodes 1")[-1] != "bestmove 0000"
    talk.tell(f"{line} a1b1")
    assert talk.rest() == []
    assert moves(talk)[-1] == "a1b1"
    assert talk.ask("position fen 4k/5/5/5/R3K w - - 100 80", "go nodes 1")[-1] != "bestmove 0000"


def test_nothing_is_answered_before_stop_where_that_was_asked(talk):
    for line in ("go infinite", "go ponder movetime 1000"):
        talk.tell(line)
        talk.engine.session.warm_up().result(WAIT)  # behind the search, which has ended by itself
        assert not any(said.startswith("bestmove") for said in talk.rest())
        assert len(talk.ask("stop")) == 1
    talk.tell("go ponder movetime 1000")
    talk.engine.session.warm_up().result(WAIT)
    assert len([said for said in talk.ask("ponderhit") if said.startswith("bestmove")]) == 1
    talk.tell("stop", "ponderhit")
    assert talk.rest() == []


def test_words_that_nobody_knows_are_passed_over(talk):
    talk.tell(
        "", "joho", "debug on", "register later", "setoption", "setoption name Hash value 16", "stop", "ponderhit"
    )
    talk.tell("setoption name Ponder value true", "setoption name Agent")
    assert talk.rest() == []
    assert talk.ask("joho isready", end="readyok") == ["readyok"]
    assert talk.ask("go depth 8 searchmoves a2a3 b2b3 mate 2 nodes x wtime")[-1].startswith("bestmove ")


def test_only_the_moves_that_are_named_are_searched(talk):
    start = "position startpos"
    for moves in ("a2a3", "c2c3 e2e3", "b1a3 a2a3 c2c3"):
        for _ in range(5):
            last = talk.ask(start, f"go nodes 1 searchmoves {moves} movetime 50")[-1]
            assert last.split()[1] in moves.split()
    assert talk.ask(start, "go searchmoves a2a4 d2d3 b2b3b2 nodes 1")[-1] == "bestmove d2d3"
    said = talk.ask(start, "go searchmoves e2e5 0000")
    assert said[0] == "info string not legal here, and so not searched: e2e5 0000"
    assert said[-1] != "bestmove 0000", "nothing is left, so all moves are"
    assert len(talk.engine.session.board.legal()) == 7, "the board is as it was"


def test_another_player_is_an_option(talk):
    talk.tell("setoption name Agent value nobody:5")
    (said,) = talk.rest()
    assert "unknown search 'nobody'" in said
    assert talk.engine.player.name == "random"
    talk.tell("setoption name agent value greedy")
    assert talk.engine.player.name == "greedy"
    assert talk.ask("isready", end="readyok") == ["readyok"]
    assert talk.engine.session.player_of(0).name == "greedy"


def test_several_lines_are_an_option_that_numbers_them(talk):
    for value in ("0", "257", "-1", "x", "1e3", "9" * 5000):
        talk.tell(f"setoption name MultiPV value {value}")
        (said,) = talk.rest()
        assert said.startswith("info string MultiPV is a number of lines from 1 to 256, and '"), value
    talk.tell("setoption name MultiPV value 3")
    assert (talk.engine.lines, talk.rest()) == (3, [])
    assert len(talk.ask("go nodes 1")) == 1, "who looks nowhere tells no line"
    talk.tell("setoption name multipv value 1")
    assert talk.engine.lines == 1
    known = Thought(0, 0, 4, "a2a3", 0.5, False, [], ("a2a3", "b4a3"), 9, 0.5, "", True)
    spent = "nodes 9 nps 18 time 500 pv a2a3 b4a3"
    assert uci.info(talk.engine.session.board, known) == [f"info depth 2 score cp 111 {spent}"]
    assert uci.info(talk.engine.session.board, known, 3) == [f"info depth 2 multipv 1 score cp 111 {spent}"]
    other = analysis.Move(5, "b2b3", 3, 0.3, -0.1, None, False, False, 1.0, 1, ("b2b3",))
    assert len(uci.info(talk.engine.session.board, dataclasses.replace(known, moves=[other, other]), 3)) == 2
    deepens = dataclasses.replace(known, moves=[other, other], depth=2)
    assert len(uci.info(talk.engine.session.board, deepens, 3)) == 1, "it knows a bound of the others alone"


def test_what_was_known_before_is_told_again(talk):
    board, going = talk.engine.session.board, uci.Going({}, False, False, 0.0)
    known = Thought(0, 0, 4, "a2a3", 0.5, False, [], ("a2a3", "b4a3"), 0, 0.5, "", True, depth=2)
    talk.engine._told(going, board, known)
    assert talk.rest() == ["info depth 2 score cp 111 nodes 0 nps 0 time 500 pv a2a3 b4a3"]


def test_a_line_that_is_solved_is_as_deep_as_asked(talk):
    board = talk.engine.session.board
    mate = Thought(0, 0, 4, "a2a3", 1.0, True, [], ("a2a3",), 9, 0.5, "", True, depth=2)
    further = dataclasses.replace(mate, value=0.5, solved=False, depth=6)
    for lines, enough in ((mate, True), (dataclasses.replace(mate, others=(further,)), True), (further, True)):
        assert uci._enough({"depth": 6}, board, lines) == enough
        assert not uci._enough({}, board, lines)
    assert not uci._enough({"depth": 7}, board, dataclasses.replace(mate, others=(further,)))


class Deepening(Mind):
    """A mind that gains a ply with each slice, and knows its best move alone; what moves are worth hangs on the
    depth."""

    def __init__(self, worth, most=9):
        self.player = types.SimpleNamespace(search=types.SimpleNamespace(draws=False, budget=1, resumable=True))
        self.worth, self.most, self.depths = worth, most, {}

    def think(self, job, board, limit, on_snapshot, detail):
        deeper = self.depths.get(id(board), 0) < self.most
        depth = self.depths[id(board)] = self.depths.get(id(board), 0) + deeper
        best = max(board.legal(), key=lambda action: self.worth(depth, action))
        value, name = self.worth(depth, best), board.game.action_name(best)
        nodes = limit.simulations if deeper else 0
        return Thought(0, 0, best, name, value, False, [], (name,), nodes, 0.0, "", True, depth=depth)


def several(talk, count, worth, limit=None, on_snapshot=None, most=9):
    """A whole thought of so many lines."""
    board, mind = talk.engine.session.board, Deepening(worth, most)
    lines = Several(talk.engine._only)
    lines._player, lines._minds = mind.player, [mind] * (count - 1)
    thought = lines.think(count, mind, Thinking(0), board, limit, on_snapshot)
    return [(line.depth, board.legal().index(line.action)) for line in (thought, *thought.others)], thought


def test_further_lines_are_searches_without_the_moves_before(talk):
    order = talk.engine.session.board.legal()

    def worth(depth, action):  # one move looks best until it is seen through
        return -0.1 * order.index(action) if depth < 4 or order.index(action) else -0.15

    lines, thought = several(talk, 3, worth)
    assert lines == [(9, 1), (9, 0), (9, 2)], "as deep as it goes, each move once"
    assert [line.value for line in (thought, *thought.others)] == pytest.approx([-0.1, -0.15, -0.2])
    lines, _ = several(talk, 20, worth, most=2)
    assert lines == [(2, index) for index in range(7)], "no more lines than moves"
    seen = []
    lines, thought = several(talk, 3, worth, Limit(simulations=2 * 3 * SLICE + 1), seen.append)
    assert (lines, thought.simulations) == ([(3, 0), (2, 1), (2, 2)], 6 * SLICE + 1)
    assert all(len(told.others) == 2 and told.simulations >= 3 * SLICE for told in seen)
    lines, thought = several(talk, 3, worth, Limit(seconds=1e-9))
    assert lines == [(1, 0)], "one line, however short the time is"


def test_a_player_that_fails_says_so(talk, monkeypatch):
    def fail(*_):
        raise RuntimeError("no\nroom")

    monkeypatch.setattr("jaxgo.frontends.thinking.Mind.think", fail)
    assert talk.ask("go nodes 1") == ["info string internal error: RuntimeError: no room", "bestmove 0000"]


def test_lines_of_nonsense_do_no_harm(talk):
    known = [word for word in uci.COMMANDS if word not in ("quit", "isready", "uci")]
    words = [*known, *uci.NUMBERS, *TOKENS.split()]
    draw, asked = random.Random(3), 0
    for _ in range(500):
        line = " ".join(draw.choice(words) for _ in range(draw.choice((1, 2, 3, 5))))
        asked += "go" in line.split() and next(word for word in line.split() if word in uci.COMMANDS) == "go"
        talk.tell(line)
    talk.tell("stop")
    talk.engine.session.warm_up().result(WAIT)
    said = talk.rest()
    assert not any("internal" in line for line in said)
    assert sum(line.startswith("bestmove") for line in said) == asked > 0


def test_only_chess_speaks_it(capsys):
    assert main(["uci", "go9"]) == 2
    assert (
        capsys.readouterr().err == "jaxgo: UCI is the protocol of chess, and go9 is none; `jaxgo gtp go9` speaks GTP\n"
    )
    with pytest.raises(UsageError, match="unknown search"):
        Talk("nobody")


# -- numbers ---------------------------------------------------------------------------------------------------------
def test_values_are_told_as_hundredths_of_a_pawn():
    assert [uci.centipawns(value) for value in (0.0, 0.5, -0.5, 1.0, -2.0)] == [0, 111, -111, 12698, -12698]


def test_a_mate_is_told_where_it_is_certain(talk):
    talk.tell(f"position fen {MATE}")
    board = talk.engine.session.board

    def told(value, *line, solved=False, ends=0):
        return uci.score(board, Thought(0, 0, 0, "", value, solved, [], line, 1, 1.0, "", True, ends=ends))

    assert told(1.0, "c3c5") == "mate 1"
    line = "a4b4", "e5d5", "b4a4", "d5e5", "c3c5"
    assert told(1.0, *line) == "cp 12698", "nobody has proven that no other answer holds"
    assert told(1.0, *line, solved=True) == "mate 3"
    assert told(1.0, "a4b4", solved=True) == "cp 12698", "the line does not go to the end"
    assert told(-0.5, "c3c5") == "cp -111"
    assert told(1.0, "a4b4", solved=True, ends=7) == "mate 4", "a search that counts them"
    assert told(-1.0, "a4b4", solved=True, ends=4) == "mate -2"
    assert told(0.0, "a4b4", solved=True) == "cp 0", "a draw that is proven"


def test_a_clock_with_increments_is_never_overspent():
    for left in (0.0, 0.1, 0.5, 1.0, 10.0, 300.0, 1e9):
        for increment in (0.0, 0.1, 2.0, 10.0):
            for togo in (0, 1, 2, 40):
                assert 0.0 <= fischer(left, increment, togo, 30) <= max(0.0, 0.9 * left - 0.1)
    assert fischer(60.0, 0.0, 0, 30) == pytest.approx(60 / 30 - 0.15)
    assert fischer(60.0, 1.0, 0, 30) == pytest.approx(60 / 30 + 0.9 - 0.15)
    assert fischer(60.0, 0.0, 4, 30) == pytest.approx(0.9 * 60 / 4 - 0.15)
    assert fischer(60.0, 2.0, 4, 30) == pytest.approx(0.9 * (60 + 3 * 2) / 4 - 0.15)


def test_go_is_limited_by_its_words(talk):
    def limit(**told):
        limit = talk.engine._limit(uci.Going(told, False, False, 0.0))
        return limit.simulations, limit.seconds

    assert limit(nodes=70) == (70, None)
    assert limit() == (1, None), "what the player itself takes"
    count, seconds = limit(wtime=60_000, btime=1, winc=0, binc=0)
    assert (count, seconds) == (1, pytest.approx(60 / 40 - 0.15))
    assert limit(btime=60_000) == (1, None), "the other side's clock"
    assert limit(wtime=100) == (1, None), "at once"
    assert limit(movetime=1000, nodes=9)[0] == 9
    assert talk.engine._limit(uci.Going({"depth": 5}, False, False, 0.0)) is None, "until it is so deep"
    assert limit(depth=5, nodes=9) == (9, None)
    assert limit(depth=5, movetime=1000)[1] < 1.0
    assert limit(movetime=1000)[1] < 1.0
    talk.tell("position startpos moves a2a3")
    assert limit(wtime=1, btime=60_000)[1] == pytest.approx(60 / 40 - 0.15)


def test_what_is_compiled_first_is_no_lateness(talk, monkeypatch):
    """Else the next eight moves would use a tenth of their time."""
    think, busy = Mind.think, [0.0]

    def compiles(session, mind, board):
        time.sleep(1.0)

    def late(mind, job, *args):
        thought = think(mind, job, *args)
        time.sleep(busy[0])
        return thought

    monkeypatch.setattr(talk.engine, "_turn", MatchClock())
    monkeypatch.setattr(Session, "_warm", compiles)
    monkeypatch.setattr(Mind, "think", late)
    talk.ask("go movetime 10")
    assert max(talk.engine._turn.late) < 1.0
    busy[0] = 0.3
    talk.ask("go movetime 10")
    assert max(talk.engine._turn.late) > 0.25, "a search that ends late is"


# -- a player that searches -----------------------------------------------------------------------------------------
@pytest.mark.slow  # compiles for half a minute
def test_a_search_is_heard_while_it_thinks():
    talk = Talk("puct:200,solver=no")
    talk.ask("isready", end="readyok")
    said = talk.ask("position startpos", "go nodes 50")
    pattern = r"info depth \d+ score cp -?\d+ nodes 50 nps \d+ time \d+ pv( [a-e][1-5][a-e][1-5][nbrq]?)+"
    assert re.fullmatch(pattern, said[-2])
    line = said[-2].split(" pv ")[1].split()
    assert said[-1] == f"bestmove {line[0]} ponder {line[1]}"
    talk.tell(f"position startpos moves {line[0]} {line[1]}", "go infinite")
    assert talk.until("info")[-1].split()[-1]
    assert not any(said.startswith("bestmove") for said in talk.ask("isready", end="readyok"))
    assert talk.ask("stop")[-1].startswith("bestmove ")
    assert talk.ask("go infinite", "stop")[-1].startswith("bestmove "), "at once"
    talk.tell("go ponder wtime 3000 btime 3000")
    talk.until("info")
    said = talk.ask("ponderhit")
    assert [line.startswith("bestmove") for line in said].count(True) == 1
    talk.engine.session.warm_up().result(WAIT)
    assert talk.rest() == [], "the search that went on has answered, and the one before not"
    talk.tell("setoption name MultiPV value 3")
    said = talk.ask("position startpos", "go nodes 50")
    last = [line.split() for line in said[-4:-1]]
    assert [line[line.index("multipv") + 1] for line in last] == ["1", "2", "3"]
    firsts = [line[line.index("pv") + 1] for line in last]
    assert len({*firsts}) == 3
    assert said[-1].split()[1] == firsts[0]
    talk.engine.session.close()


@pytest.mark.slow
def test_a_search_that_deepens_tells_its_depth_its_line_and_mates():
    talk = Talk("alphabeta:1000000,depth=8,quiescence=2")
    talk.ask("isready", end="readyok")
    said = talk.ask("position startpos", "go depth 3")
    depths = [int(line.split()[2]) for line in said if line.startswith("info depth")]
    assert depths[-1] == 4, "of 2, 4, 6 and 8"
    line = said[-2].split(" pv ")[1].split()
    assert len(line) > 1
    assert said[-1] == f"bestmove {line[0]} ponder {line[1]}"
    talk.tell(f"position startpos moves {' '.join(line)}")
    assert moves(talk) == line, "it is a line of the game"
    said = talk.ask("position fen 4k/5/2K2/5/R4 b - - 0 1", "go")
    assert " score mate -2 " in said[-2]
    forced = said[-2].split(" pv ")[1].split()
    assert len(forced) == 4
    assert " score mate 1 " in talk.ask(f"position fen {MATE}", "go searchmoves c3c5")[-2]
    assert " score mate 1 " not in talk.ask(f"position fen {MATE}", "go nodes 500 searchmoves a1b1")[-2]
    # where a position came twice, a third time may be in the way
    around = "a1b1 e5d5 b1a1 d5e5"
    assert " score mate 1 " in talk.ask(f"position fen {MATE} moves {around}", "go")[-2]
    # a third time is a draw, which who is lost takes
    around = "a1a2 e5e4 a2a1 e4e5 a1a2 e5e4 a2a1"
    said = talk.ask(f"position fen 4k/5/5/5/R3K w - - 0 1 moves {around}", "go depth 2")
    assert " score cp 0 " in said[-2]
    assert said[-1].startswith("bestmove e4e5")
    # the worth of a further line is that of a search of its move alone
    talk.tell("setoption name MultiPV value 3")
    said = talk.ask("position startpos", "go depth 4")
    pattern = r"info depth 4 multipv (\d) score cp (-?\d+) .* pv (\S+)"
    last = [re.match(pattern, line).groups() for line in said[-4:-1]]
    assert [number for number, _, _ in last] == ["1", "2", "3"]
    assert said[-1].split()[1] == last[0][2]
    talk.tell("setoption name MultiPV value 1")
    for _, worth, move in last:
        said = talk.ask("position startpos", f"go depth 4 searchmoves {move}")
        assert f"depth 4 score cp {worth} " in said[-2]
    talk.engine.session.close()


@pytest.mark.slow
def test_the_program_answers_what_has_an_end_when_its_input_ends():
    words = [sys.executable, "-m", "jaxgo", "uci", "gardner", "--agent", "random"]
    said = "uci\nisready\nposition startpos\ngo nodes 5\ngo infinite\n"
    done = subprocess.run(words, input=said, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert "uciok\nreadyok\n" in done.stdout
    assert len(re.findall(r"^bestmove [a-e][1-5]", done.stdout, re.MULTILINE)) == 2
    done = subprocess.run(words, input="isready\nquit\n", capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
