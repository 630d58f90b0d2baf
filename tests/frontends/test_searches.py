"""Whose search runs on the page: how many at once, for how long, and what a failure leaves."""

import os
import time
from concurrent.futures import Future

import pytest

pytest.importorskip("starlette")
from jaxgo.frontends.thinking import Thinking
from jaxgo.frontends.web import searches as turns
from jaxgo.frontends.web.searches import Searches


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="cores are given to processes on Linux alone")
def test_as_many_search_at_once_as_half_of_the_cores_that_the_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(6)))
    assert Searches().most == 3


def test_a_search_that_cannot_begin_leaves_its_place_to_others():
    searches, begun = Searches(1), []

    def breaks():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        searches.ask("one", breaks)
    searches.ask("two", lambda: begun.append("two"))
    searches.ask("one", lambda: begun.append("one"))
    assert begun == ["two", "one"]


def test_a_search_has_its_time_from_when_it_thinks(monkeypatch):
    monkeypatch.setattr(turns, "SLICE", 0.0)
    searches, compiling = Searches(1), Thinking(0)
    searches.ask("one", lambda: compiling)
    searches.ask("two", lambda: None)
    searches.tick()
    assert not compiling.stopped.is_set(), "it has not thought yet"
    compiling.began = time.monotonic() - 1
    searches.tick()
    assert compiling.stopped.is_set()


def test_who_is_compiled_takes_no_place_and_begins_then():
    searches, compiling, mine, other = Searches(1), Future(), Thinking(0), Thinking(0)
    searches.ask("one", lambda: mine, compiling)
    searches.ask("two", lambda: other)
    assert searches.asks("one")
    assert not searches.waits("one"), "it waits for nobody"
    assert not searches.asks("two"), "it has begun"
    compiling.set_result(None)
    assert searches.waits("one"), "now it waits for the other one"
    other.future.set_result(None)
    assert not searches.asks("one")
    assert not mine.stopped.is_set()


def test_who_is_stopped_while_its_player_is_compiled_answers_as_soon_as_it_has_begun():
    searches, compiling, mine = Searches(1), Future(), Thinking(0)
    searches.ask("one", lambda: mine, compiling)
    searches.stop("one")
    compiling.set_result(None)
    assert mine.stopped.is_set()
    assert not mine.dropped
    forgotten, later = Thinking(0), Future()
    searches.ask("two", lambda: forgotten, later)
    searches.forget("two")
    later.set_result(None)
    mine.future.set_result(None)
    assert not searches.asks("two")
    assert not forgotten.stopped.is_set(), "it was never begun"


def test_who_leaves_while_its_player_is_compiled_lets_others_search():
    searches, ghost, stays, back = Searches(1), Thinking(0), Thinking(0), Thinking(0)
    searches.ask("ghost", lambda: ghost)
    searches.ask("stays", lambda: stays)
    assert searches.waits("stays")
    searches.forget("ghost")
    assert ghost.dropped
    assert not searches.waits("stays"), "or it waits until the other one is compiled, which nobody needs"
    searches.ask("ghost", lambda: back)
    ghost.future.set_result(None)  # compiled at last: the place is another's
    assert searches.waits("ghost")
    stays.future.set_result(None)
    assert not searches.waits("ghost")


def test_a_search_that_was_forgotten_as_it_began_keeps_no_place():
    searches, ghost = Searches(1), Thinking(0)

    def begins():
        searches.forget("ghost")
        return ghost

    searches.ask("ghost", begins)
    searches.ask("stays", lambda: Thinking(0))
    assert ghost.dropped
    assert not searches.waits("stays")


def test_the_end_of_a_search_that_was_forgotten_frees_no_place_of_the_next():
    searches, first, second = Searches(1), Thinking(0), Thinking(0)
    searches.ask("one", lambda: first)
    searches.forget("one")
    searches.ask("one", lambda: second)
    searches.ask("two", lambda: Thinking(0))
    first.future.set_result(None)
    assert searches.waits("two"), "the second one goes on"
