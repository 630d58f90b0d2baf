"""The live view of a tournament: a table in a terminal, plain lines elsewhere."""

import collections
import sys
import time
from collections.abc import Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

    from jaxgo.arena.contest import Progress
    from jaxgo.arena.sprt import Sprt, Verdict
    from jaxgo.arena.tournament import Tournament

EVERY = 5.0  # seconds between two plain lines
SHARE = 10  # times as long as a fit took pass before the next, since large pools take seconds


def status(progress: "Progress") -> str:
    """One line: how much is played, and how fast."""
    if progress.doing:
        return f"{progress.pairs:,} of {progress.most:,} pairs; {progress.doing} ..."
    speed = f", {_speed(progress)}" if progress.games else ""
    return f"{progress.pairs:,} of {progress.most:,} pairs; {progress.games:,} games in this run{speed}"


def _speed(progress: "Progress") -> str:
    return f"{progress.speed:,.1f} games/s"


def follow(steps: "Iterable[Progress]", quiet: bool = False) -> "Progress":
    """Shows every step and returns the last. Quiet: shows nothing."""
    if quiet:
        return collections.deque(steps, maxlen=1).pop()  # each has all results so far, so no other is kept
    return _live(steps) if sys.stdout.isatty() else _lines(steps)


def _live(steps: "Iterable[Progress]") -> "Progress":
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    from jaxgo.ui import tables as report

    table: RenderableType = ""
    due = 0.0
    with Live(auto_refresh=False, transient=True) as view:
        for progress in steps:
            began = time.monotonic()
            if began >= due and (rated := progress.table()):
                table = report.ranking(rated)
                due = time.monotonic() + SHARE * (time.monotonic() - began)
            view.update(Group(table, Text(status(progress))), refresh=True)
    return progress


def _lines(steps: "Iterable[Progress]") -> "Progress":
    last, shown = 0.0, ""
    for progress in steps:
        now = time.monotonic()
        if progress.doing or now - last >= EVERY:
            shown = _line(progress)
            print(shown, flush=True)
            last = now
    if _line(progress) != shown:
        print(_line(progress), flush=True)
    return progress


def _line(progress: "Progress") -> str:
    table = progress.table()
    best = f"; best so far {table.agents[0]} {table.rating(table.agents[0])}" if table else ""
    return status(progress) + best


def decide(play: "Tournament", test: "Sprt", quiet: bool = False) -> "Verdict":
    """Plays until the test knows, and shows how it goes. The verdict rests on the pairs in their order.

    Pairs that end early are mostly short games; a verdict on whatever has ended would lean to who wins those.
    """
    from rich.live import Live

    shown = 0.0
    with Live(auto_refresh=False, transient=True) if not quiet and sys.stdout.isatty() else nullcontext() as view:
        for progress in play.run():
            verdict = test.judge(play.ledger.outcomes())
            doing = progress.doing or (_speed(progress) if progress.games else "")
            line = f"{verdict}; {doing}" if doing else str(verdict)  # nothing is played where all pairs are there
            if view is not None:
                view.update(line, refresh=True)
            elif not quiet and time.monotonic() - shown >= EVERY:
                print(line, flush=True)
                shown = time.monotonic()
            if verdict.accepted:
                break
    return verdict
