"""Watchdogs: what they say, when, and once; going back to a checkpoint; a match that a signal ends."""

import threading
import time

import pytest

from jaxgo.core.errors import UsageError
from jaxgo.system import aside
from jaxgo.system.aside import Aside
from jaxgo.system.stop import TRY_AGAIN
from jaxgo.training.config import WatchConfig
from jaxgo.training.watchdog import Collapse, Stall

SOUND = {"entropy": 1.0, "spread": 0.5, "length": 30.0, "draws": 0.1}


def stall(now, **settings):
    said, left = [], []
    return Stall(WatchConfig(**settings), said.append, lambda: now[0], left.append), said, left


def test_a_run_that_does_not_move_is_told_with_what_it_did():
    now = [0.0]
    watch, said, left = stall(now, silent=60.0)
    watch.beat("judge 12")
    for now[0] in (59.0, 60.0, 61.0, 119.0, 120.0):
        watch.look()
    assert said == [
        "nothing has moved for 60 seconds; the last that was heard of is: judge 12",
        "nothing has moved for 120 seconds; the last that was heard of is: judge 12",
    ]
    watch.beat()
    for now[0] in (179.0, 180.0):
        watch.look()
    assert said[2:] == ["nothing has moved for 60 seconds; the last that was heard of is: judge 12"]
    assert left == []


def test_a_run_that_hangs_is_ended_where_that_is_asked_for():
    now = [0.0]
    watch, said, left = stall(now, silent=0.0, give_up=90.0)
    for now[0] in (89.0, 90.0):
        watch.look()
    assert left == [TRY_AGAIN]
    assert said == ["nothing has moved for 90 seconds (watch.give_up): leaving; the last checkpoint stays"]


def test_the_thread_looks_and_ends():
    said = []
    with Stall(WatchConfig(silent=0.01), said.append):
        end = time.monotonic() + 10
        while not said and time.monotonic() < end:
            time.sleep(0.005)
    assert said
    assert not [thread for thread in threading.enumerate() if "Stall" in repr(getattr(thread, "_target", ""))]


@pytest.mark.parametrize(
    ("limits", "wrong", "said"),
    [
        ({"entropy": 0.01}, {"entropy": 0.001}, "entropy 0.001 over 3 iterations is below watch.entropy=0.01"),
        ({"spread": 0.1}, {"spread": 0.01}, "spread 0.01 over 3 iterations is below watch.spread=0.1"),
        ({"length": 5.0}, {"length": 2.0}, "length 2 over 3 iterations is below watch.length=5"),
        ({"draws": 0.9}, {"draws": 1.0}, "draws 1 over 3 iterations is above watch.draws=0.9"),
    ],
)
def test_each_kind_of_collapse_is_told_once_until_it_is_over(limits, wrong, said):
    watch = Collapse(WatchConfig(iterations=3, **limits))
    bad = SOUND | wrong
    fresh = Collapse(WatchConfig(iterations=3, **limits))
    assert [bool(fresh(bad)) for _ in range(3)] == [False, False, True], "a few iterations are no mean of three"
    assert [watch(row) for row in (SOUND, SOUND, SOUND)] == [[], [], []]
    told = [watch(bad) for _ in range(6)]
    assert [bool(one) for one in told] == [False, False, True, False, False, False], "the mean counts, and once"
    assert told[2][0].endswith(said)
    assert [bool(watch(row)) for row in (SOUND, SOUND, SOUND, bad, bad, bad)] == [False] * 5 + [True]


def test_what_is_not_watched_or_not_known_is_no_collapse():
    watch = Collapse(WatchConfig(iterations=1, entropy=0.0, spread=0.0))
    assert watch(dict.fromkeys(SOUND, 0.0)) == watch({}) == []
    with pytest.raises(UsageError, match=r"watch\.draws is a share from 0 to 1, not 2"):
        WatchConfig(draws=2.0)
    with pytest.raises(UsageError, match=r"watch\.iterations is at least 1"):
        WatchConfig(iterations=0)


# -- work beside a main thread ----------------------------------------------------------------------------------------


def test_work_beside_gives_what_it_gives():
    assert Aside(lambda: 7).wait(lambda: False, 0.0) == 7
    with pytest.raises(ZeroDivisionError):
        Aside(lambda: 1 / 0).wait(lambda: False, 0.0)


def test_work_that_does_not_end_is_left_and_the_process_then_ends_by_itself(monkeypatch):
    monkeypatch.setattr(aside, "_left", [])  # sessions of other tests may be open
    go_on, ended = threading.Event(), []
    monkeypatch.setattr(aside.os, "_exit", ended.append)
    try:
        assert Aside(lambda: go_on.wait(20)).wait(lambda: True, 0.01) is None
        assert aside.work_is_left()
        assert aside.leave(143) == 143
        assert ended == [143]
    finally:
        go_on.set()
    end = time.monotonic() + 10
    while aside.work_is_left() and time.monotonic() < end:
        time.sleep(0.01)
    assert aside.leave(0) == 0
    assert ended == [143]


def test_iterations_that_no_machine_counts_are_refused():
    with pytest.raises(UsageError, match=r"watch\.iterations=9{19} is too large; at most 2,147,483,647"):
        WatchConfig(iterations=int("9" * 19))
