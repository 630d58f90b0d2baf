"""A review on the page: every position of the game is searched, one after another, and each move is told of."""

import time

import pytest

pytest.importorskip("starlette")
from visitor import WAIT, guest

from jaxgo.arena import review
from jaxgo.core.errors import UsageError
from jaxgo.players import load_player

JUDGE = "alphabeta:20000,depth=9"  # which knows the value of every position of tic-tac-toe
# the centre, an edge, which loses, the other edge beside it, a corner that stops nothing, and the win
LOST = (4, 1, 3, 0, 5)


def seen(sat, test, what="review"):
    """Waits for a message of this kind that passes a test."""
    until = time.monotonic() + WAIT
    while time.monotonic() < until:
        found = [message for message in list(sat.heard) if message["tell"] == what and test(message)]
        if found:
            return found[-1]
        time.sleep(0.01)
    raise AssertionError(f"no such {what}; the last words were {sat.heard[-3:]}")


def finished(sat):
    return seen(sat, lambda message: "moves" in message)


@pytest.fixture
def sat():
    with guest() as one:
        one.table.session.set_adviser(JUDGE)
        yield one


def test_what_each_move_gave_away_is_told_when_all_positions_are_searched(sat):
    sat.play(*LOST)
    sat.ask("undo", count=2)
    sat.ask("review")
    told = finished(sat)
    assert (told["done"], told["total"], told["by"], told["first"]) == (5, 5, JUDGE, 0), "the end is not searched"
    bad = next(move for move in told["moves"] if move["ply"] == 2)
    assert bad["kind"] == "blunder"
    assert bad["said"].startswith("blunder: ")
    assert bad["said"].endswith(" was better")
    assert told["chances"][1:3] == [0.5, 1.0]
    assert [player["moves"] for player in told["players"]] == [3, 2]
    assert told["players"][1]["blunder"] >= 1
    assert [message["done"] for message in sat.heard if message["tell"] == "review"] == [0, 1, 2, 3, 4, 5]


@pytest.mark.slow  # compiles the search of a batch
def test_a_game_is_reviewed_as_a_file_of_it_is(sat):
    sat.play(*LOST)
    sat.ask("review")
    told, session = finished(sat), sat.table.session
    (same,) = review.review(load_player(JUDGE, session.game), [review.replayed(session.record())])
    assert [move["ply"] for move in told["moves"]] == [move.number for move in same.moves if move.kind or move.thrown]
    assert told["chances"] == [(value + 1) / 2 for value in same.values]


def test_who_walks_through_the_game_and_who_asks_for_a_hint_do_not_end_a_review(sat):
    sat.play(*LOST[:4])
    sat.ask("review")
    sat.ask("undo", count=1)
    sat.ask("hint")
    finished(sat)
    assert seen(sat, lambda message: message["hint"], "thought")


def test_another_move_and_stop_end_a_review(sat, monkeypatch):
    begun = []
    monkeypatch.setattr(sat.table.shared.searches, "ask", lambda who, begin, compiled: begun.append(begin))
    sat.play(*LOST[:3])
    sat.ask("review")
    assert len(begun) == 1
    sat.ask("stop")
    sat.ask("undo", count=1)
    assert len(begun) == 1
    sat.ask("review")
    assert len(begun) == 2
    sat.play(5)
    assert len(begun) == 2
    assert begun[1]() is None, "a search that waited for its turn is wanted no more"


def test_an_analysis_begins_behind_a_review(sat):
    sat.play(*LOST[:3])
    sat.ask("analyse", on=True)
    sat.ask("review")
    finished(sat)
    count = len(sat.heard)
    assert seen(sat, lambda message: sat.heard.index(message) >= count, "thought")


def test_what_cannot_be_reviewed_is_refused(sat):
    with pytest.raises(UsageError, match="there are no moves to review; play some, or load a game"):
        sat.ask("review")
    sat.table.session.set_player(1, "uct:8,solver=no", warm=False)
    sat.ask("play", action=4, number=sat.table.session.number)
    with pytest.raises(UsageError, match="a player is about to move; a review is for a game that is over, or paused"):
        sat.ask("review")


@pytest.mark.slow
def test_a_player_that_does_not_search_reviews_nothing():
    with guest() as sat:
        sat.ask("seats", players=["", "random"])
        assert sat.table.session.player_of(1).name == "random"
        assert sat.table.session.player_of(0).asked == "best"


def test_a_puzzle_is_for_one():
    with guest("slide8") as sat, pytest.raises(UsageError, match="a puzzle is for one"):
        sat.ask("review")
