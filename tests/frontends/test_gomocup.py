"""Gomocup's protocol: transcripts, refusals that change nothing, the clock, rules, and lines of nonsense."""

import gc
import random
import re
import threading
from concurrent.futures import wait
from types import SimpleNamespace

import pytest
from support import compiling

from jaxgo.core.errors import UsageError
from jaxgo.frontends import gomocup
from jaxgo.frontends.gomocup import Gomocup
from jaxgo.frontends.gomocup_clock import MatchClock
from jaxgo.frontends.gomocup_opening import Opener, answer_swap2
from jaxgo.games import make

MOVE = r"\d+,\d+"


class Talk:
    def __init__(self, player="random", **options):
        self.said = []
        self.brain = Gomocup(make("gomoku", **options), player, self.said.append)

    def ask(self, *lines):
        """The answers to some lines."""
        self.said.clear()
        for line in lines:
            self.brain.take(line)
        return "".join(self.said).rstrip("\n")


@pytest.fixture(scope="module")
def started():
    talk = Talk()
    assert talk.ask("START 7") == "OK"
    return talk


@pytest.fixture
def talk(started):
    assert started.ask("INFO rule 0", "INFO timeout_turn 30000", "INFO timeout_match 0", "RESTART") == "OK"
    return started


def stones(talk):
    return talk.brain.table.board.actions


def test_nothing_is_played_before_the_start():
    fresh = Talk()
    for line in ("BEGIN", "TURN 1,1", "BOARD", "YXBOARD", "SWAP2BOARD", "TAKEBACK 1,1", "RESTART", "PLAY 1,1"):
        assert fresh.ask(line) == "ERROR there is no board yet; send START"
    assert fresh.ask("ABOUT").startswith('name="jaxgo", version="')
    assert fresh.ask("INFO timeout_turn 100", "INFO max_memory 0", "INFO pony 7", "") == ""
    assert fresh.ask("DANCE") == "UNKNOWN command 'DANCE'"


@pytest.mark.slow
def test_rules_of_an_option_are_those_that_start_compiles():
    fresh = Talk(rules="standard")
    assert fresh.brain.session is None, "before START nobody knows for which size"
    assert fresh.ask("START 7") == "OK"
    assert fresh.brain.table.game == make("gomoku", size=7, rules="standard")
    assert fresh.brain._coming is None, "and nothing is compiled beside the game"


@pytest.mark.parametrize("size", ["4", "21", "100", "", "x", "-7", "7 7", "99999999999"])
def test_sizes_that_are_not_there_are_refused(talk, size):
    assert talk.ask(f"START {size}") == "ERROR unsupported size; boards have 5 to 20 points a side"
    assert talk.brain.game.size == 7


def test_boards_that_are_not_square_are_refused(talk):
    assert talk.ask("RECTSTART 7,8") == "ERROR rectangular boards are not supported"
    assert talk.ask("RECTSTART 7,7") == "OK"


def test_a_game_goes_to_its_end_without_an_illegal_move(talk):
    draw, answer = random.Random(1), talk.ask("BEGIN")
    while not talk.brain.table.board.over:
        assert re.fullmatch(MOVE, answer)
        action = draw.choice(talk.brain.table.board.legal())
        point = talk.brain.name_of(action)
        if talk.brain.table.board.play(action).over:
            before = stones(talk)
            assert talk.ask(f"TURN {point}") == "ERROR the game is over; send RESTART"
            assert stones(talk) == before
            break
        answer = talk.ask(f"TURN {point}")
    assert talk.ask("RESTART") == "OK"
    assert stones(talk) == ()


def test_what_is_refused_changes_nothing(talk):
    first = talk.ask("BEGIN")
    before = talk.brain.table.board
    for line in (f"TURN {first}", "TURN 7,0", "TURN 0,7", "TURN -1,0", "TURN", "TURN a,b", "TURN 1;1", "BEGIN"):
        assert talk.ask(line).startswith("ERROR "), line
    other = "0,0" if first != "0,0" else "1,0"
    assert talk.ask(f"TAKEBACK {other}") == "ERROR only the last stone can be taken back"
    for rows in (["1,1,1", "1,1,2"], ["1,1,1"], ["1,1,2", "2,2,2"], ["9,9,2"], ["x"], ["1,1,7"]):
        assert talk.ask("BOARD", *rows, "DONE").startswith("ERROR "), rows
    assert talk.brain.table.board is before
    assert talk.ask(f"TAKEBACK {first}") == "OK"
    assert stones(talk) == ()


def test_boards_are_set_in_the_order_of_the_moves(talk):
    answer = talk.ask("BOARD", "1,1,2", "2,2,1", "3,3,2", "DONE")
    assert re.fullmatch(MOVE, answer)
    assert stones(talk)[:3] == (8, 16, 24)
    assert len(stones(talk)) == 4
    assert talk.ask("YXBOARD", "1,1,1", "2,2,2", "DONE") == ""
    assert stones(talk) == (8, 16)
    assert talk.ask("YXBOARD", "1,1,1", "DONE") == ""  # the other's turn: nothing is asked for
    assert stones(talk) == (8,)
    assert talk.ask("YXBOARD", "1,1,1", "2,2,2", "DONE") == ""
    assert talk.ask("TAKEBACK 2,2") == "OK"
    assert talk.ask("PLAY 5,5") == "5,5"
    assert stones(talk) == (8, 40)
    assert talk.ask("YXBOARD", "1,1,2", "2,2,1", "DONE") == ""
    assert stones(talk) == (8, 16), "the other one began, and is to move"


@pytest.mark.slow
def test_stones_may_be_listed_in_another_order_than_that_of_the_game():
    """Six in a row are nothing by the rules of Gomocup's standard, and listed from the left they were five before."""
    talk = Talk(rules="standard")
    assert talk.ask("START 7") == "OK"
    own, other = [f"{x},0" for x in range(6)], ["0,2", "2,2", "4,2", "6,2", "0,4", "2,4"]
    rows = [*(f"{point},1" for point in own), *(f"{point},2" for point in other)]
    with compiling() as compiled:
        assert re.fullmatch(MOVE, talk.ask("BOARD", *rows, "DONE"))
    assert len(compiled) <= 2, "on the clock; START has compiled how boards are put"
    assert talk.brain.table.board.now.cells.astype(bool).sum() == 13
    assert re.fullmatch(MOVE, talk.ask("BOARD", "3,3,2", "DONE")), "a board of another game"
    assert talk.brain.table.board.now.cells.astype(bool).sum() == 2
    assert talk.ask("BOARD", "3,3,2", "1,1,3", "DONE").startswith("ERROR x,y,3 is a point of a continuous game")


def test_a_board_that_goes_on_keeps_what_is_known(talk):
    talk.ask("BOARD", "1,1,2", "DONE")
    before = talk.brain.table.board
    own = talk.brain.name_of(stones(talk)[1])
    point = talk.brain.name_of(before.legal()[0])
    talk.ask("BOARD", "1,1,2", f"{own},1", f"{point},2", "DONE")
    assert talk.brain.table.board.views[2] is before.now


def test_swap2(talk):
    before = stones(talk)
    points = talk.ask("SWAP2BOARD", "DONE").split()
    assert len(set(points)) == 3
    assert all(re.fullmatch(MOVE, point) for point in points)
    three = talk.ask("SWAP2BOARD", *points, "DONE")
    assert re.fullmatch(rf"SWAP|{MOVE}|{MOVE} {MOVE}", three)
    free = [point for point in ("6,6", "0,6", "6,0", "0,0", "5,5") if point not in points]
    five = talk.ask("SWAP2BOARD", *points, *free[:2], "DONE")
    assert re.fullmatch(rf"SWAP|{MOVE}", five)
    assert talk.ask("SWAP2BOARD", "1,1", "DONE") == "ERROR SWAP2BOARD has 0, 3 or 5 stones, not 1"
    assert talk.ask("SWAP2BOARD", "1,1", "1,1", "2,2", "DONE") == "ERROR two stones stand on one point"
    assert stones(talk) == before


class Thinker(Opener):
    """An opener that thinks what it is told to."""

    def __init__(self, *values, moves=()):
        self.values, self.game, self.moves = list(values), make("gomoku"), moves
        self.board = SimpleNamespace(over=False)

    @property
    def table(self):
        return SimpleNamespace(board=self.board, play=lambda action: None)

    def restore(self, board):
        assert board is self.board

    def name_of(self, action):
        return f"point {action}"

    def played(self, line):
        return self.board

    def think(self, share=1.0):
        return SimpleNamespace(value=self.values.pop(0), action=7, moves=self.moves)


def test_swap2_takes_the_better_side_and_leaves_an_even_choice():
    """White is to move after three and after five stones; who is better there stays with White."""
    assert answer_swap2(Thinker(0.3), range(5)) == answer_swap2(Thinker(0.3), range(3)) == "point 7"
    assert answer_swap2(Thinker(-0.3), range(5)) == answer_swap2(Thinker(-0.3), range(3)) == "SWAP"
    assert answer_swap2(Thinker(0.05), range(5)) == "point 7"
    assert answer_swap2(Thinker(-0.05), range(5)) == "SWAP", "after five stones there is nothing else to choose"
    level = [SimpleNamespace(action=a, value=v, visits=n) for a, v, n in ((1, 0.4, 9), (2, -0.1, 5), (3, 0.0, 0))]
    assert answer_swap2(Thinker(-0.05, 0.0, moves=level), range(3)) == "point 7 point 2", "the evenest that was tried"


def test_rules_are_taken_over_when_they_are_ready(talk):
    assert talk.ask("INFO rule 3") == ""  # exact five, in games that follow each other
    assert talk.brain.game.rules == "standard"
    talk.ask("PLAY 0,0")
    talk.brain.settle(60.0)
    assert talk.brain.table.game.rules == "standard"
    assert stones(talk) == (0,)
    assert talk.ask("INFO rule 64") == "ERROR rule 64 is not known; rules are 0, 1, 4, 8, 9"
    assert talk.ask("INFO rule x") == "ERROR a rule is a number"
    assert talk.ask("INFO timeout_turn soon") == "ERROR timeout_turn is a number of milliseconds"


def test_a_game_that_other_rules_would_have_ended_keeps_its_own(talk):
    assert talk.ask("INFO rule 1", "RESTART") == "OK"
    for column in (0, 1, 2, 4, 5, 3):  # six in a row, which is no win by exact five
        assert talk.ask(f"PLAY {column},0", f"PLAY {column},{5 + column % 2}")
    assert talk.ask("INFO rule 0") == ""
    assert wait([talk.brain._coming], 60.0).done
    assert re.fullmatch(MOVE, talk.ask("TURN 2,3")), "the manager waits for a move"
    assert talk.brain.table.game.rules == "standard"
    talk.brain.table.undo(4)
    assert re.fullmatch(MOVE, talk.ask("TURN 3,0")), "and so at the sixth stone itself"
    assert talk.brain.table.game.rules == "standard"
    assert talk.ask("RESTART") == "OK"
    assert talk.brain.table.game.rules == "freestyle"
    assert stones(talk) == ()


def test_rules_that_cannot_be_prepared_leave_the_game_its_own(talk, monkeypatch):
    def fail(game, player):
        raise MemoryError("no\nroom")

    with monkeypatch.context() as patch:
        patch.setattr(gomocup, "open_table", fail)
        assert talk.ask("INFO rule 1") == ""
        assert wait([talk.brain._coming], 60.0).done
    told, answer = talk.ask("TURN 2,3").splitlines()
    assert told == "MESSAGE rules standard could not be prepared: no room"
    assert re.fullmatch(MOVE, answer)
    other = "0,0" if answer != "0,0" else "1,0"
    assert re.fullmatch(MOVE, talk.ask(f"TURN {other}")), "told once"
    assert talk.ask("RESTART") == "OK"


@pytest.mark.slow  # compiles for seconds
def test_rules_that_nobody_wants_any_more_leave_no_thread():
    before, fresh = set(threading.enumerate()), Talk()
    assert fresh.ask("START 5") == "OK"
    ready, late = (fresh.ask(f"INFO rule {rule}") or fresh.brain._coming for rule in (1, 4))
    assert wait([ready], 120.0).done
    fresh.ask("INFO rule 0")  # while those of before compile
    assert fresh.brain._coming is None
    assert wait([late], 120.0).done
    fresh.brain.session.close()
    begun = set(threading.enumerate()) - before
    for thread in begun:
        thread.join(60)
    assert not any(thread.is_alive() for thread in begun)


def test_a_game_that_begins_or_ends_in_a_list_leaves_it(talk, monkeypatch):
    monkeypatch.setattr(talk.brain, "over", False)
    for line in ("RESTART", "START 7", "RECTSTART 7,7"):
        assert talk.ask("BOARD", "1,1,2", line) == "OK"
        assert talk.ask("PLAY 1,1") == "1,1", "the list is not asked for any more"
    assert talk.ask("BOARD", "1,1,2", "END") == ""
    assert talk.brain.over


def test_rules_that_are_ready_in_an_opening_stay(talk, monkeypatch):
    think = talk.brain.think

    def late(share):
        talk.brain.settle(60.0)
        return think(share=share)

    monkeypatch.setattr(talk.brain, "think", late)
    before = stones(talk)
    answer = talk.ask("INFO rule 1", "SWAP2BOARD", "1,1", "5,5", "3,1", "DONE")
    assert re.fullmatch(f"{MOVE} {MOVE}", answer)
    assert len({*answer.split(), "1,1", "5,5", "3,1"}) == 5
    assert talk.brain.table.game.rules == "standard"
    assert stones(talk) == before


def test_openings_are_the_managers_business():
    with pytest.raises(UsageError, match="leave the option opening out"):
        Gomocup(make("swap2-15"), "random", print)


def test_the_clock_of_a_match():
    clock = MatchClock()
    for key, seconds in (("timeout_turn", 0.1), ("time_left", 2147483.647)):
        clock.told(key, seconds)
    assert 0.02 < clock.budget(0, 225) <= 0.05
    clock.told("timeout_turn", 0.0)
    assert clock.budget(0, 225) == 0.0
    clock.told("timeout_turn", 30.0)
    clock.told("timeout_match", 60.0)
    left = 60.0
    for ply in range(0, 225, 2):
        budget = clock.budget(ply, 225)
        assert budget < left / 5
        clock.spend(budget, budget)
        left -= budget
    assert left > 0
    clock.told("time_left", 0.0)
    assert clock.budget(0, 225) == 0.0


def test_a_busy_machine_is_given_more_room():
    clock = MatchClock(turn=0.1)
    usual = clock.budget(0, 225)
    clock.spend(usual + 0.02, usual)
    assert clock.budget(0, 225) == usual, "so much is kept back anyway"
    clock.spend(usual + 0.06, usual)
    assert clock.budget(0, 225) == pytest.approx(0.1 - 0.02 - 0.06)
    clock.spend(usual + 5.0, usual)
    assert clock.budget(0, 225) == pytest.approx(0.01), "it thinks a little however late it is"
    for _ in range(8):
        clock.spend(usual, usual)
    assert clock.budget(0, 225) == usual


def test_garbage_is_looked_at_before_a_game_and_not_in_it():
    gc.unfreeze()
    assert Talk("random").ask("START 7") == "OK"
    assert gc.get_freeze_count() > 10_000, "all that was compiled"
    gc.unfreeze()


@pytest.mark.slow
def test_a_move_at_once_is_legal():
    talk = Talk("uct:200,evaluator=uniform")
    assert talk.ask("START 5", "INFO timeout_turn 0", "BEGIN").startswith("OK\n")
    assert len(stones(talk)) == 1
    assert re.fullmatch(MOVE, talk.ask("INFO timeout_turn 200", "BOARD", "2,2,2", "DONE"))


# -- nonsense --------------------------------------------------------------------------------------------------------
TOKENS = """BEGIN TURN BOARD YXBOARD SWAP2BOARD TAKEBACK PLAY DONE INFO RESTART ABOUT rule timeout_turn time_left
START 0 4 7 21 -1 1,1 2,2 6,6 7,7 3,4,1 3,4,2 1,1,1 2,2,2 5,5,3 , x é 99999999999"""
WORDS = TOKENS.split()


def nonsense(draw):
    text = " ".join(draw.choice(WORDS) for _ in range(draw.choice((1, 1, 2, 2, 3))))
    if draw.random() < 0.1:
        text = "".join(chr(draw.randint(0, 255)) if draw.random() < 0.2 else c for c in text)
    # new rules and new sizes compile: not ten thousand times
    return "RESTART" if re.match(r"\s*(info\s+rule|(rect)?start)", text, re.IGNORECASE) else text


def fuzz(talk, count, seed):
    draw = random.Random(seed)
    for _ in range(count):
        line, before = nonsense(draw), talk.brain.table.board
        said = talk.ask(line)
        assert "internal" not in said, f"{line!r}: {said}"
        if said.startswith(("ERROR", "UNKNOWN")):
            assert talk.brain.table.board is before, f"{line!r}: {said}"
    talk.ask("DONE")


def test_lines_of_nonsense_do_no_harm(talk):
    fuzz(talk, 500, 1)
    assert talk.ask("RESTART") == "OK"


@pytest.mark.slow
def test_ten_thousand_lines_of_nonsense_do_no_harm_and_take_no_memory(talk, resident):
    fuzz(talk, 1000, 2)
    before = resident()
    fuzz(talk, 9000, 3)
    assert resident() - before < 50_000_000
