"""Matches on several hosts: pairs are dealt out and come back to one record, the same as that of one host alone."""

import dataclasses
import itertools
import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
import several

from jaxgo.arena import hosts, records
from jaxgo.arena.contest import Ended, News
from jaxgo.arena.hosts import Hosts, share
from jaxgo.core.errors import UsageError
from jaxgo.system.devices import LOST
from jaxgo.system.stop import STOPPED, TRY_AGAIN

PLAN = {(0, 1): list(range(7)), (2, 3): [5, 8], (0, 2): [4]}
PATIENCE = 60


class Board:
    """What JAX keeps for all hosts, as far as matches use it."""

    def __init__(self):
        self.there, self.lock = {}, threading.Lock()

    def key_value_set(self, key, value, allow_overwrite=False):
        with self.lock:
            assert allow_overwrite or key not in self.there
            self.there[key] = value

    def key_value_dir_get(self, key):
        with self.lock:
            return [item for item in self.there.items() if item[0].startswith(f"{key}/")]

    def key_value_delete(self, key):
        with self.lock:
            for known in [known for known in self.there if known == key or known.startswith(f"{key}/")]:
                del self.there[known]


def play(plan):
    """Every pair is known at once: its number tells its result."""
    for match, numbers in plan.items():
        for number in numbers:
            yield News([Ended(match, number, (number / 8, 0.5), [[number], list(match)], [f"pair {number}"])], 1.0)


def sign(plan):
    return str(sum(map(len, plan.values())))


def beside(work):
    """A thread that cannot hang the tests, and what comes of it."""
    found = []

    def run():
        try:
            found.append(work())
        except BaseException as fault:
            found.append(fault)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, found


def serve(board, host, count, sign=sign, play=play, stop=lambda: False):
    def work():
        with Hosts(board, host, count, stop) as mine:
            return mine.serve(sign, play)

    return beside(work)


def deal(board, count, rounds, stop=lambda: False):
    """The first host plays these rounds; what has ended, in order."""

    def work():
        with Hosts(board, 0, count, stop) as first:
            return [ended for plan in rounds for news in first.play(plan, sign, play) for ended in news.ended]

    return beside(work)


def end(*threads):
    for thread, _ in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    return [found[0] for _, found in threads]


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(hosts, "LOOK", 0.001)
    monkeypatch.setattr(hosts, "LETTER", 2)


def test_every_pair_is_dealt_once_and_evenly():
    parts = [share(PLAN, host, 3) for host in range(3)]
    for match, numbers in PLAN.items():
        dealt = [part.get(match, []) for part in parts]
        assert sorted(itertools.chain(*dealt)) == sorted(numbers)
        assert max(map(len, dealt)) - min(map(len, dealt)) <= 1
    assert all(part for part in parts)
    assert all(numbers for part in parts for numbers in part.values())


def test_rounds_are_played_by_all_and_come_back_whole():
    board = Board()
    rounds = [PLAN, {(1, 2): [3]}, PLAN]  # the second has nothing for two of them
    first, *others = end(deal(board, 3, rounds), serve(board, 1, 3), serve(board, 2, 3))
    assert others == [0, 0]
    alone = [ended for plan in rounds for news in play(plan) for ended in news.ended]
    assert sorted(first) == sorted(ended._replace(problems=ended.problems) for ended in alone)
    assert not any("/ended/" in key for key in board.there), "what is read is cleared away"


def test_a_host_alone_needs_no_store():
    assert list(Hosts().play(PLAN, sign, play)) == list(play(PLAN))


def test_a_host_that_plays_something_else_ends_all_with_a_sentence():
    board = Board()
    first, other, wrong = end(
        deal(board, 3, [PLAN]), serve(board, 1, 3), serve(board, 2, 3, sign=lambda plan: "other weights")
    )
    assert isinstance(first, UsageError)
    assert str(first).startswith("host 2: this host has other players")
    assert other == 2
    assert isinstance(wrong, UsageError)


def test_a_fault_on_another_host_is_told_by_the_first():
    def fail(plan):
        yield News()
        raise ZeroDivisionError("in a search")

    board = Board()
    first, fault = end(deal(board, 2, [PLAN]), serve(board, 1, 2, play=fail))
    assert str(first) == "host 1: in a search"
    assert isinstance(fault, ZeroDivisionError)


@pytest.mark.parametrize("asked", [0, 1])
def test_a_stop_on_one_host_ends_all(asked):
    board, pressed = Board(), threading.Event()

    def slowly(plan):
        for news in play(plan):
            pressed.set()
            yield news
            time.sleep(0.01)

    stops = [pressed.is_set if host == asked else lambda: False for host in range(2)]
    long = {(0, 1): list(range(100_000))}
    first, other = end(deal(board, 2, [long], stops[0]), serve(board, 1, 2, play=slowly, stop=stops[1]))
    assert isinstance(first, KeyboardInterrupt)
    assert isinstance(other, KeyboardInterrupt) if asked else other == STOPPED


def test_a_first_host_that_cannot_begin_ends_the_others():
    board = Board()
    other = serve(board, 1, 2)
    with pytest.raises(UsageError), Hosts(board, 0, 2):
        raise UsageError("cannot write there")
    assert end(other) == [2]


# -- two processes --------------------------------------------------------------------------------------------------

MATCH = ["tictactoe", "--agents", "random", "greedy", "uct:16", "--pairs", "40", "--slots", "2", "--json"]


def start(out: Path, count: int, *more: str) -> list[subprocess.Popen[str]]:
    return several.start(["eval.py", *MATCH, "--out", str(out), *more], count, 1)


def bare(path: Path) -> dict[str, records.PairResult]:
    """Pairs without the time, and without what git says of the source, which somebody may be at work on."""
    return {pair.id: dataclasses.replace(pair, time="", commit="") for pair in records.read(path)}


def wait_for_pairs(out: Path, children: list[subprocess.Popen[str]]) -> None:
    several.wait(children, lambda: out.exists() and out.stat().st_size)


@pytest.mark.slow
def test_two_hosts_write_the_record_of_one_and_go_on_after_a_kill(tmp_path):
    alone, two = tmp_path / "alone.jsonl", tmp_path / "two.jsonl"
    lone = start(alone, 1)
    both = start(two, 2)
    try:
        wait_for_pairs(two, both)
        both[0].kill()
        both[1].kill()
        several.finish(lone)
        known = bare(two)
        said = several.finish(start(two, 2))
        assert bare(two).items() >= known.items()
        assert bare(two) == bare(alone)
        assert len(two.read_text().splitlines()) == 3 * 40, "nothing is played twice"
        assert json.loads(next(line for line in said[0].splitlines() if line.startswith("{")))["pairs"] == 120
        assert several.own_words(said[1]) == [], "only the first host speaks"
    finally:
        for child in [*lone, *both]:
            child.kill()


@pytest.mark.slow
def test_a_lost_host_and_a_signal_end_a_match_on_all_hosts(tmp_path):
    """Beside each other, as most of it is waiting."""
    long = "--pairs", "100000"
    outs = [tmp_path / f"{name}.jsonl" for name in ("stopped", "signal")]
    frozen, asked = [start(out, 2, *long) for out in outs]
    try:
        for out, children in zip(outs, (frozen, asked), strict=True):
            wait_for_pairs(out, children)
        os.kill(frozen[1].pid, signal.SIGSTOP)
        os.kill(asked[1].pid, signal.SIGTERM)
        began = time.monotonic()
        said = [child.communicate(timeout=60)[0] for child in asked]
        assert [child.returncode for child in asked] == [STOPPED, STOPPED], said
        assert "stopped; all finished pairs are kept, the same command goes on" in said[0]
        lost = frozen[0].communicate(timeout=90)[0]
        assert time.monotonic() - began < LOST, "JAX would end it by then"
        assert frozen[0].returncode == TRY_AGAIN
        assert (
            "host 1 has given no sign of life for 25 seconds: leaving; the same command on every host plays what is"
            in lost
        )
    finally:
        for child in [*frozen, *asked]:
            child.kill()
