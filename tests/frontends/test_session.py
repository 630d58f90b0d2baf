"""The session: rules, undo and redo, searches beside a board that goes on, trees that are kept and thrown away."""

import json
import threading
import time

import numpy as np
import pytest

from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.frontends import board as boards
from jaxgo.frontends import compiled
from jaxgo.frontends.analysis import AnalysisEngine
from jaxgo.frontends.gomocup import open_table
from jaxgo.frontends.session import Session
from jaxgo.frontends.thinking import Mind
from jaxgo.games import make
from jaxgo.records import formats
from jaxgo.search import think
from jaxgo.search.think import Limit

GAME = make("tictactoe")
WAIT = 60.0


@pytest.fixture(scope="module")
def session():
    opened = Session(GAME, "tictactoe")
    opened.set_player(0, "uct:40,evaluator=uniform,solver=no").result(WAIT)
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def _fresh(session):
    session.new_game()


@pytest.mark.slow
def test_a_player_with_a_temperature_draws_its_moves_and_gives_no_hints():
    opened, drawn = Session(GAME, "tictactoe"), set()
    try:
        opened.set_player(0, "uct:4,evaluator=uniform,temperature=10").result(WAIT)
        for _ in range(12):
            drawn.add(opened.think().result(WAIT).action)
            opened.new_game()
        assert len(drawn) > 2
        assert opened.player_of(0).temperature == 10
        assert opened.player_of(1).asked == "best"
    finally:
        opened.close()


def drawn(session):
    return session.text.split()[0]


@pytest.mark.slow
def test_what_is_compiled_is_let_go_where_many_games_were_on_the_board(monkeypatch):
    """A process of Linux may have so many memory maps; `komi` and `boardsize` of a referee make another game each."""
    swept = []
    monkeypatch.setattr(compiled, "MOST", play.compiled() + think.compiled() + 3)
    monkeypatch.setattr(compiled.jax, "clear_caches", lambda: swept.append(1))  # the programs of other tests
    opened = Session(make("tictactoe", width=2, height=3), "tictactoe")
    try:
        opened.new_game(make("tictactoe", width=2, height=6))
        assert not swept
        opened.new_game(make("tictactoe", width=2, height=7))
        assert swept
    finally:
        opened.close()
    talk = AnalysisEngine(GAME, "tictactoe", "random", swept.append)
    swept.clear()
    talk.take(json.dumps({"id": "q", "moves": [], "rules": "cgos", "boardXSize": 3, "boardYSize": 3}))
    talk.close()
    assert swept[0] == 1
    swept.clear()
    open_table(make("gomoku", size=7), "random").close()
    assert swept == [1]


# -- the board -------------------------------------------------------------------------------------------------------
def test_moves_are_played_taken_back_and_played_again(session):
    assert session.play("b2") == 4
    assert session.play(0) == 0
    assert (list(session.board.actions), session.board.moves, drawn(session)) == ([4, 0], ["b2", "a3"], "O../.X./...")
    session.undo(2)
    assert (list(session.board.actions), drawn(session), len(session.legal())) == ([], ".../.../...", 9)
    session.redo()
    session.redo()
    assert drawn(session) == "O../.X./..."
    session.undo()
    session.play("c1")  # another move: the old one cannot be played again
    with pytest.raises(UsageError, match="0 moves can be"):
        session.redo()
    session.play("a1")
    session.undo(2)
    session.play("c1")  # the same again: the one after it can still be played again
    session.redo()
    assert session.board.moves == ["b2", "c1", "a1"]
    session.undo(2)
    session.play("a1")
    with pytest.raises(UsageError, match="0 moves can be"):
        session.redo()


@pytest.mark.parametrize("move", ["b2", 4, 9, -1, "z9", ""])
def test_what_is_refused_changes_nothing(session, move):
    session.play("b2")
    before = session.number, list(session.board.actions), session.text
    with pytest.raises(UsageError):
        session.play(move)
    with pytest.raises(UsageError, match="1 move can be"):
        session.undo(2)
    with pytest.raises(UsageError):
        session.setup("X../... 0")
    assert (session.number, list(session.board.actions), session.text) == before


@pytest.mark.parametrize(
    ("gain", "said"), [(1.0, "solved"), (0.4, "not solved: by the rules"), (-1.0, "not solved: no move is left")]
)
def test_the_end_of_a_puzzle_is_told(gain, said):
    game = make("latincross")
    position = play.begin(game)
    view = play.View(position, np.zeros(game.num_actions, bool), True, 0, (gain,), np.zeros(1, np.int8))
    assert boards.Board(game, (view,)).result().text == said


def test_a_win_by_the_last_move_that_there_is_is_a_win_by_the_rules():
    game = make("tictactoe")
    for moves, said in (
        ("b2 b3 a3 a2 b1 a1 c2 c3 c1", "seat 0 wins: by the rules"),
        ("b2 b3 a3 c1 b1 a1 c2 a2 c3", "a draw: no more moves are allowed"),
    ):
        assert boards.from_text(game, f"start {moves}").result().text == said


def test_a_game_ends_with_a_reason(session):
    for move in ("b2", "a3", "a2", "b3"):
        session.play(move)
    assert session.board.result() is None
    session.play("c2")
    result = session.board.result()
    assert (result.returns, result.reason) == ((1.0, -1.0), "by the rules")
    assert result.text == "seat 0 wins: by the rules"
    assert session.legal() == []
    with pytest.raises(UsageError, match="the game is over"):
        session.think()
    session.undo()
    session.resign(0)
    assert session.board.result().returns == (-1.0, 1.0)
    with pytest.raises(UsageError, match="game is over"):
        session.play("c2")
    session.undo()
    assert session.board.result() is None


def test_a_file_in_which_nobody_can_have_resigned_is_refused():
    told = {"jaxgo": 1, "game": "slide8", "moves": [], "returns": [-1.0], "reason": "resigned"}
    with pytest.raises(UsageError, match="nobody can resign in a game of one player"):
        boards.of_record(formats.read(json.dumps(told)))


def test_a_draw_is_no_loss_whatever_a_file_says_of_its_end():
    told = {"jaxgo": 1, "game": "tictactoe", "moves": ["b2"], "returns": [0, 0], "reason": "resigned"}
    board = boards.of_record(formats.read(json.dumps(told)))
    assert (board.resigned, board.over) == (None, False)


def test_positions_are_set_up_from_text(session):
    session.setup("XO./.X./..O 0 c3")
    assert list(session.board.actions) == [2]
    assert session.text == "XOX/.X./..O 1"
    session.setup("start b2 a3")
    assert session.board.moves == ["b2", "a3"]
    with pytest.raises(UsageError, match="move 2: 'b2' is not legal"):
        session.setup("start b2 b2")
    with pytest.raises(UsageError, match="which seat moves"):
        session.setup("XO./.X./..O")
    with pytest.raises(UsageError, match="row 2 of the position has '#'"):
        session.setup("XO./.#./..O 0")


def test_a_text_goes_on_from_where_the_game_began():
    session = Session(make("kono"), "kono")
    drawn = "WWWW/..../..../BBBB 0"
    session.setup(drawn)
    session.play(session.legal()[0][0])
    assert session.text == f"{drawn} {session.board.moves[0]}"
    session.close()


# -- searches --------------------------------------------------------------------------------------------------------
def test_a_thought_names_a_legal_move_and_plays_nothing(session):
    number = session.number
    thought = session.think(Limit(simulations=30)).result(WAIT)
    assert list(session.board.actions) == []
    assert (thought.number, thought.seat, thought.simulations, thought.final) == (number, 0, 30, True)
    assert thought.name in [name for _, name in session.legal()]
    assert thought.moves[0].best
    assert thought.variation[0] == thought.name
    assert sum(move.visits for move in thought.moves) == 30


def test_a_generated_move_is_played(session):
    thought = session.genmove().result(WAIT)
    assert list(session.board.actions) == [thought.action]
    assert thought.simulations == 40


def test_a_win_at_hand_is_found(session):
    session.setup("XX./OO./... 0")
    assert session.genmove().result(WAIT).name == "c3"
    assert session.board.result().returns == (1.0, -1.0)


def test_the_tree_is_kept_while_the_game_goes_on_and_not_after_undo(session):
    first = session.genmove(Limit(simulations=200)).result(WAIT)
    reply = first.variation[1]
    session.play(reply)
    kept = session.think(Limit(simulations=1), seat=0).result(WAIT)
    assert sum(move.visits for move in kept.moves) > 1
    session.undo(2)
    session.play(first.action)
    session.play(next(name for _, name in session.legal() if name != reply))
    other = session.think(Limit(simulations=1), seat=0).result(WAIT)
    assert sum(move.visits for move in other.moves) == 1


def test_snapshots_come_while_it_thinks_and_carry_the_number_of_their_position(session):
    seen, enough = [], threading.Event()

    def look(thought):
        seen.append(thought)
        if len(seen) == 3:
            enough.set()

    thinking = session.analyse(None, look)
    assert enough.wait(WAIT)
    assert session.state == "thinking"
    number = session.number
    session.play("b2")  # is on the board at once, and ends the search
    assert session.number > number
    last = thinking.result(WAIT)
    assert {thought.number for thought in [*seen, last]} == {number}
    assert [thought.final for thought in seen] == [False] * len(seen)
    counts = [thought.simulations for thought in seen]
    assert counts == sorted(counts)
    assert session.board.moves == ["b2"]


def test_a_move_found_for_a_position_that_is_gone_is_not_played(session):
    began = threading.Event()
    thinking = session.genmove(Limit(seconds=100.0), lambda _: began.set())
    assert began.wait(WAIT)
    session.play("a1")
    thinking.result(WAIT)
    assert session.board.moves == ["a1"]


def test_stop_ends_a_search_soon(session):
    began = threading.Event()
    thinking = session.analyse(None, lambda _: began.set())
    assert began.wait(WAIT)
    thinking.stop()
    start = time.monotonic()
    assert thinking.result(WAIT).simulations > 0
    assert time.monotonic() - start < 10.0  # 0.2 s on a machine of its own


def test_a_search_whose_answer_is_there_is_over(session):
    began, told, seen = threading.Event(), threading.Event(), []
    thinking = session.analyse(None, lambda _: began.set())
    thinking.future.add_done_callback(lambda _: (seen.append((session.state, session._open)), told.set()))
    assert began.wait(WAIT)
    thinking.stop()
    assert told.wait(WAIT)
    assert seen == [("idle", [])]


def test_searches_wait_for_each_other(session):
    thoughts = [session.think(Limit(simulations=20)) for _ in range(5)]
    assert [thinking.result(WAIT).simulations for thinking in thoughts] == [20] * 5
    assert session.state == "idle"


def test_human_seats_get_hints_from_somebody(session):
    session.play("b2")
    assert session.seats[1] is None
    assert session.player_of(1) is session.seats[0]
    assert session.think(Limit(simulations=20)).result(WAIT).seat == 1


def test_a_failing_listener_ends_only_its_search(session):
    def fail(_):
        raise RuntimeError("no screen")

    with pytest.raises(RuntimeError, match="no screen"):
        session.analyse(None, fail).result(WAIT)
    assert session.think(Limit(simulations=5)).result(WAIT).simulations == 5


def test_moves_from_many_threads_are_played_once(session):
    played = []

    def hand():
        for action in range(9):
            try:
                session.play(action)
                played.append(action)
            except UsageError:
                pass

    hands = [threading.Thread(target=hand) for _ in range(4)]
    for thread in hands:
        thread.start()
    for thread in hands:
        thread.join(WAIT)
    assert not any(thread.is_alive() for thread in hands)
    # another hand may play between a move and the note of it
    assert sorted(session.board.actions) == sorted(played)
    assert len(set(played)) == len(played)
    assert session.board.result() is not None or len(played) == 9


@pytest.mark.slow
def test_another_game_takes_the_players_along():
    session = Session(GAME, "tictactoe")
    session.set_player(0, "random")
    session.new_game(make("hughe"), "hughe")
    assert [player.name for player in session.seats] == ["random"]
    session.genmove().result(WAIT)
    assert len(session.board.actions) == 1
    session.close()
    with pytest.raises(UsageError, match="closed"):
        session.think()


def test_unknown_players_and_seats_are_refused(session):
    with pytest.raises(UsageError, match="search"):
        session.set_player(0, "nobody")
    with pytest.raises(UsageError, match="no seat 2"):
        session.set_player(2, "random")
    assert session.seats[0].name.startswith("uct:40")
    assert np.asarray(session.board.now.legal).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["go5", "gomoku9", "connect4", "connect3d", "scorefour", "kono", "dodgem3", "musketeers"]
)
def test_games_are_played_saved_and_taken_back_through_the_session(name):
    session = Session(make(name), name)
    for seat in range(session.game.players):
        session.set_player(seat, "random")
    for _ in range(4):
        session.genmove().result(WAIT)
    moves, text, saved = session.board.moves, session.text, formats.write(session.record(), "json")
    session.undo(4)
    assert session.board.moves == []
    session.redo(4)
    assert (session.board.moves, session.text) == (moves, text)
    session.new_game()
    record = formats.read(saved)
    session.restore(boards.of_record(record), record.name, record)
    assert (session.board.moves, session.text) == (moves, text)
    session.setup(text)
    assert session.text == text
    session.close()


def test_a_player_who_has_left_meanwhile_is_not_compiled(monkeypatch):
    warmed, go_on, opened = [], threading.Event(), Session(GAME, "tictactoe")

    def warm(mind, board):
        assert go_on.wait(WAIT)
        warmed.append(mind.player.name)
        mind.ready = True

    monkeypatch.setattr(Mind, "warm", warm)
    try:
        asked = [opened.set_player(0, f"uct:{number}") for number in range(1, 6)]
        last = time.monotonic() + WAIT
        while opened.state != "warming up" and time.monotonic() < last:
            time.sleep(0.01)
        everybody = opened.warm_up()
        go_on.set()
        for thinking in [*asked, everybody]:
            thinking.result(WAIT)
        assert warmed[-1] == "uct:5"
        assert len(warmed) <= 2, "who was begun with, and who sits there"
    finally:
        go_on.set()
        opened.close()


def test_a_board_that_is_drawn_like_the_start_is_kept_as_another_one():
    """Where openings are chosen, a game from a drawn board has nothing to choose."""
    game = make("swap2-15")
    board = boards.from_text(game, f"{'/'.join(['.' * 15] * 15)} 0")
    for action in (10, 20, 30, 40):
        board = board.play(action)
    again = boards.of_record(boards.to_record(board, "swap2-15"))
    assert play.alike(game, again.now.position.state, board.now.position.state)
    assert boards.to_record(boards.begin(game), "swap2-15").start == ""
