"""A table by itself: what goes on behind a request, and what is told where something fails."""

import json
import threading
import time

import pytest

pytest.importorskip("starlette")
from support import mostly_slow
from visitor import FIRST_WON, QUICK, SECOND_WON, WAIT, guest

from jaxgo.core.errors import UsageError
from jaxgo.core.lanes import alone
from jaxgo.frontends import board as boards
from jaxgo.frontends.session import Session
from jaxgo.frontends.thinking import Mind, Thinking, Thought
from jaxgo.frontends.web import table
from jaxgo.frontends.web.offers import Offers
from jaxgo.frontends.web.shared import Shared
from jaxgo.frontends.web.table import LOG
from jaxgo.games import make
from jaxgo.players import best_spec, load_player
from jaxgo.system.weights import shipped
from jaxgo.ui import heat

WON = (4, 0, 3, 1, 5)


def test_a_game_that_is_taken_back_in_the_pause_is_not_replaced_by_the_next():
    with guest() as sat:
        sat.ask("loop", on=True, delay=60)
        sat.play(*WON)
        pause = sat.table._rounds.pause
        assert not pause.finished.is_set()
        sat.ask("undo")
        assert pause.finished.is_set()
        sat.play(5)
        assert not sat.table._rounds.pause.finished.is_set(), "the next game comes behind this one"
        assert sat.last["position"]["score"] == FIRST_WON, "which counts once"
        for count in (5, 5):
            sat.ask("undo", count=count)
            sat.ask("redo", count=count)
        assert not sat.table._rounds.pause.finished.is_set(), "who has looked through it sees the next game, too"


def test_a_game_that_is_taken_back_as_the_pause_ends_is_not_replaced_either():
    with guest() as sat:
        sat.ask("loop", on=True, delay=0.1)
        sat.play(*WON[:-1])
        with sat.table._lock:  # a request that takes its time: the next game waits for it
            sat.play(WON[-1])
            pause = sat.table._rounds.pause
            time.sleep(0.3)
            sat.ask("undo")
        pause.join(WAIT)
        assert len(sat.table.session.board.actions) == len(WON) - 1


def test_a_finished_game_that_was_put_up_is_not_replaced_by_the_next():
    with guest() as sat:
        sat.ask("setup", actions=list(WON))
        sat.ask("loop", on=True, delay=0)
        for count in (5, 2):
            sat.ask("undo", count=count)
            sat.ask("redo", count=count)
        assert sat.table._rounds.pause is None
        assert sat.last["position"]["actions"] == list(WON)
        sat.ask("setup", actions=list(WON), undo=2)
        sat.ask("redo", count=2)
        assert sat.table._rounds.pause is None, "nor where it was looked at in its middle"


def test_another_pause_between_games_begins_anew_and_the_next_game_behind_it():
    with guest() as sat:
        sat.play(*WON)
        sat.ask("loop", on=True, delay=60)
        assert sat.last["position"]["actions"] == [], "who asks for game after game behind one does not wait"
        sat.play(*WON)
        first = sat.table._rounds.pause
        sat.ask("loop", on=True, delay=50)
        assert sat.last["position"]["actions"] == list(WON)
        assert first.finished.is_set()
        assert sat.table._rounds.pause.interval == 50
        sat.ask("loop", on=False, delay=50)
        assert sat.table._rounds.pause is None


def test_a_game_that_is_put_up_with_its_file_is_that_of_its_players():
    file = json.dumps({"jaxgo": 1, "game": "tictactoe", "moves": ["b2", "a1"], "players": ["Ada", "Ben"]})
    with guest() as sat:
        sat.ask("setup", actions=[4, 6], source=file)
        assert sat.table.session.record().players == ("Ada", "Ben")
        sat.play(0)
        assert sat.table.session.record().players == ("human", "human")


def test_a_game_that_was_given_up_before_a_move_and_put_up_again_counts_once():
    with guest() as sat:
        sat.ask("resign")
        assert sat.last["position"]["score"] == SECOND_WON
        sat.ask("setup", players=["", ""], resigned=0)
        assert sat.last["position"]["paused"]
        assert sat.last["position"]["score"] == SECOND_WON


def test_who_looks_while_another_game_is_put_up_sees_one_of_both(monkeypatch):
    """The server's loop looks at any time: also when the seats are those of a puzzle, and the board is not yet."""
    begin, looked = boards.begin, []

    def looks(*what, **more):
        looked.append(sat.table.tick())
        return begin(*what, **more)

    with guest() as sat:
        sat.play(4)
        monkeypatch.setattr(boards, "begin", looks)
        sat.ask("new", game="slide8")
        assert len(looked) >= 2


def test_somebody_else_sits_down_where_a_folder_is_gone(monkeypatch):
    shared = Shared(Offers({"tictactoe-cpu": "tictactoe"}, ("random",)))
    load = shared.player

    def loads(spec, game):
        if "@" in spec:
            raise UsageError("there is no such run")
        return load(spec, game)

    monkeypatch.setattr(shared, "player", loads)
    monkeypatch.setattr(LOG, "warning", lambda *words: None)
    with guest(shared=shared) as sat:
        sat.table.open()
        assert sat.last["position"]["players"] == ["", "random"]


def test_a_search_that_was_dropped_is_heard_no_more(monkeypatch, caplog):
    """A hint for the next position was lost when it answered, and what it had failed at paused the next game."""
    with guest() as sat:
        sat.play(4)
        thought, begun = Thought(0, 0, 4, "b2", 0.0, False, [], ("b2",), 8, 0.1, "random", True), []
        monkeypatch.setattr(sat.table.shared.searches, "ask", lambda who, begin, compiled: begun.append(begin))
        sat.ask("hint")
        monkeypatch.setattr(sat.table.shared.searches, "forget", lambda who: begun.clear())
        heard = len(sat.heard)
        for ending in (
            lambda late: late.set_result(thought),
            lambda late: late.set_exception(OSError()),
        ):
            late = Thinking(0)  # it had thought of the move that was played meanwhile
            late.drop()
            ending(late.future)
            sat.table._answered(False, late)
        assert len(begun) == 1, "the hint is still to come"
        assert sat.heard[heard:] == []
        assert not sat.table._paused
        assert [record.exc_info[0] for record in caplog.records if record.name == LOG.name] == [OSError]


def test_a_page_hears_that_a_search_which_failed_pauses_the_game(monkeypatch):
    failed = threading.Event()

    def think(*what):
        failed.set()
        raise RuntimeError("no memory")

    monkeypatch.setattr(Session, "_warm", think)
    monkeypatch.setattr(LOG, "error", lambda *words, **more: None)
    with guest() as sat:
        sat.ask("seats", players=["random", ""])
        assert failed.wait(WAIT)
        until = time.monotonic() + WAIT
        while not (sat.last["position"]["paused"] and "error" in sat.last):
            assert time.monotonic() < until
            time.sleep(0.01)
        assert "failed" in sat.last["error"]["text"]


@pytest.mark.slow
def test_another_game_seats_its_own_best_player_unless_one_was_chosen(monkeypatch):
    for name in ("warm_up", "_warm_up"):
        monkeypatch.setattr(Session, name, lambda *seat: None)  # nobody thinks here
    with guest("dodgem7", Shared(Offers(dict.fromkeys(shipped(), "")))) as sat:
        sat.table.open()
        assert sat.last["position"]["players"] == ["", best_spec(make("dodgem7"))]
        for name in ("go9", "go19"):
            assert sat.ask("new", game=name)["players"] == ["", best_spec(make(name))]
        sat.ask("seats", players=["", "uct:1600"])
        assert sat.ask("new", game="dodgem7")["players"] == ["", "uct:1600"]
        assert sat.ask("new", game="go9")["players"] == ["", "uct:1600"], "it was chosen"
        sat.ask("seats", players=["", "easy"])
        assert sat.ask("new", game="kono")["players"] == ["", "gumbel:1,temperature=3@kono-long-cpu"]


@pytest.mark.parametrize("spec", mostly_slow(["gumbel:4@connect4-long-cpu", "uct:4"], ["uct:4"]))
def test_a_thought_tells_whose_the_points_will_be_where_a_net_has_learnt_it(spec):
    with guest("connect4") as sat:
        session = sat.table.session
        player = load_player(spec, session.game)
        session.set_adviser(player)
        sat.play(3)
        sat.ask("hint")
        until = time.monotonic() + WAIT
        while not sat.last.get("thought", {}).get("final"):
            assert time.monotonic() < until
            time.sleep(0.01)
        known = heat.learnt(player, alone(session.board.now.position.state))
        assert (known is None) == (spec == "uct:4")
        assert sat.last["thought"]["owned"] == pytest.approx([] if known is None else known.tolist(), abs=0.006)


def words(sat):
    """What the page says below the board."""
    said = next(told for told in reversed(sat.heard) if told["tell"] in ("status", "position"))
    return said["status"] if said["tell"] == "position" else said["text"]


def test_a_table_that_waits_says_so_after_a_change_of_seats_too(monkeypatch):
    monkeypatch.setattr(Session, "_warm_up", lambda *seat: None)
    shared = Shared(Offers({}, ("random",)), most_searches=1)
    shared.searches.ask("another", lambda: Thinking(0))
    with guest(shared=shared) as sat:
        for players in (["random", ""], ["random", None]):
            sat.ask("seats", players=players)
            for _ in range(2):
                sat.table.tick()
            assert words(sat) == "random waits until another search has ended"


def test_whose_player_is_compiled_keeps_nobody_waiting(monkeypatch):
    shared = Shared(Offers({}, ("random",)), most_searches=1)
    compiled, warm = threading.Event(), Mind.warm

    def warms(mind, board):
        assert mind.player.name == "random" or compiled.wait(WAIT)
        warm(mind, board)

    def until_it_moves(sat):
        until = time.monotonic() + WAIT
        while not sat.last["position"]["moves"]:
            assert time.monotonic() < until
            time.sleep(0.01)

    monkeypatch.setattr(Mind, "warm", warms)
    with guest(shared=shared) as slow, guest(shared=shared) as quick:
        slow.ask("seats", players=[QUICK, ""])
        quick.ask("seats", players=["random", ""])
        until_it_moves(quick)
        assert words(slow) != f"{QUICK} waits until another search has ended"
        slow.ask("stop")
        compiled.set()
        until_it_moves(slow)


def test_a_page_hears_at_once_that_another_game_is_set_up(monkeypatch):
    """The server's loop looks meanwhile, and what is refused is set up no more."""
    makes, seen = table.read_game, []

    def make_slowly(*what):
        sat.table.tick()
        seen.append(words(sat))
        return makes(*what)

    with guest() as sat:
        monkeypatch.setattr(table, "read_game", make_slowly)
        sat.ask("new", game="slide8")
        assert words(sat) == "Your move"
        sat.ask("setup", game="tictactoe", actions=[4])
        assert seen == ["setting up slide8", "setting up tictactoe"]
        before = words(sat)
        with pytest.raises(UsageError):
            sat.ask("new", options={"width": "x"})
        with pytest.raises(UsageError):
            sat.ask("load", text="no game")
        sat.table.tick()
        assert words(sat) == before


def test_games_are_saved_in_files_of_their_own():
    with guest() as sat:
        names = []
        for moves in (WON, (4,)):
            sat.play(*moves)
            sat.ask("save", kind="json")
            names.append(sat.last["file"]["name"])
            sat.ask("new")
        sat.ask("save", kind="json", game=0)
        assert [*names, sat.last["file"]["name"]] == ["tictactoe-1.json", "tictactoe-2.json", "tictactoe-1.json"]


def test_a_game_that_another_one_replaces_is_kept_unfinished():
    """Its moves that were taken back, too; not one that was only looked through, nor a finished one once more."""
    with guest() as sat:
        sat.play(4, 0)
        sat.ask("undo", count=1)
        sat.ask("redo", count=1)
        sat.ask("undo", count=1)
        told = sat.ask("new")
        assert told["kept"] == [{"players": ["you", "you"], "result": "unfinished", "moves": 2}]
        assert told["score"] == []
        sat.ask("save", kind="json", game=0)
        assert json.loads(sat.last["file"]["text"])["moves"] == ["b2", "a3"]
        sat.play(4)
        sat.ask("setup", actions=[0, 1, 2])
        sat.play(3)
        assert len(sat.ask("new", game="slide8")["kept"]) == 3
        sat.ask("setup", game="tictactoe", actions=[0, 1, 2], undo=1)
        sat.ask("load", text=json.dumps({"jaxgo": 1, "game": "tictactoe", "moves": ["b2"]}))
        assert [game["moves"] for game in sat.ask("new")["kept"]] == [2, 1, 4]
        sat.play(*WON)
        sat.ask("undo", count=2)
        assert [game["result"] for game in sat.ask("new")["kept"]][3:] == ["first wins: by the rules"]
        sat.play(4)
        with pytest.raises(UsageError):
            sat.ask("setup", actions=[4, 4])
        sat.ask("resign")
        assert len(sat.last["position"]["kept"]) == 5
