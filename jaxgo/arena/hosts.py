"""A match on several hosts: the first one deals the pairs out and keeps the record, and all of them play.

No program of one host waits for another's. What hosts tell each other lies in the store that JAX keeps on the first
one: rounds, pairs that have ended, and how all of it ended. What a pair comes to does not hang on who plays it.
"""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, runtime_checkable

import jax

from jaxgo.arena.contest import Ended, News
from jaxgo.arena.schedule import Match
from jaxgo.core.errors import UsageError
from jaxgo.system.pulse import Store
from jaxgo.system.stop import STOPPED

PLACE = "jaxgo/match"
LOOK = 0.2  # seconds between two looks of a host that waits
LETTER = 64  # most pairs in a message
ASKED, FAILED = "stop", "failed: "  # what another host tells the first one, to end all

Plan = Mapping[Match, Sequence[int]]  # the openings of each match in a round
Play = Callable[[Plan], Iterator[News]]


@runtime_checkable
class Letters(Store, Protocol):
    """What all hosts read, write and clear away."""

    def key_value_delete(self, key: str) -> None: ...


def share(plan: Plan, host: int, count: int) -> dict[Match, list[int]]:
    """What one of so many hosts plays of a plan; every match is dealt out, so that all are at it together."""
    mine = {match: list(numbers[host::count]) for match, numbers in plan.items()}
    return {match: numbers for match, numbers in mine.items() if numbers}


class Hosts:
    """This host among those of a match. Use it as a context: where it ends, it ends for all of them.

    Without a store, as on a host alone, it only plays. `stop` tells whether this host was asked to end.
    """

    def __init__(
        self, store: Letters | None = None, host: int = 0, count: int = 1, stop: Callable[[], bool] = lambda: False
    ) -> None:
        self._store, self.host, self.count, self._stop = store, host, count, stop
        self._round = 0  # the number of the last one
        self._read_of = [0] * count  # letters of each host that are read
        self._written = 0

    @property
    def first(self) -> bool:
        """Whether this host deals out, keeps the record and is looked at."""
        return self.host == 0

    def play(self, plan: Plan, sign: Callable[[Plan], str], play: Play) -> Iterator[News]:
        """One round, on all hosts. `sign` tells what is played, and is the same on hosts that agree about it."""
        if self._store is None:
            yield from play(plan)
            return
        self._round += 1
        dealt = [[*match, list(numbers)] for match, numbers in plan.items()]
        self._write("round", json.dumps([self._round, sign(plan), dealt]))
        mine = share(plan, self.host, self.count)
        left = sum(map(len, plan.values())) - sum(map(len, mine.values()))
        for news in play(mine):
            theirs = self._hear()
            left -= len(theirs)
            yield news._replace(ended=[*news.ended, *theirs])
            self._look()
        while left:
            began = time.monotonic()
            time.sleep(LOOK)
            theirs = self._hear()
            left -= len(theirs)
            yield News(theirs, time.monotonic() - began)
            self._look()

    def serve(self, sign: Callable[[Plan], str], play: Play) -> int:
        """Plays what the first host deals to this one, until that says that it is over; gives the exit status."""
        while True:
            while (found := self._next_round()) is None:
                if (status := self._ended()) is not None:
                    return status
                time.sleep(LOOK)
            told, dealt = found
            plan = {(a, b): numbers for a, b, numbers in dealt}
            if sign(plan) != told:
                raise UsageError(
                    "this host has other players, weights, openings or versions than the first one; start the same "
                    "command on every host, with the same files"
                )
            for news in play(share(plan, self.host, self.count)):
                self._send(news.ended)
                if (status := self._ended()) is not None:
                    return status

    # -- what is told ----------------------------------------------------------------------------------------------
    def _write(self, place: str, text: str) -> None:
        if self._store is not None:
            self._store.key_value_set(f"{PLACE}/{place}/text", text, allow_overwrite=True)

    def _read(self, place: str) -> str | None:
        found = self._store.key_value_dir_get(f"{PLACE}/{place}") if self._store is not None else []
        return found[0][1] if found else None

    def _next_round(self) -> tuple[str, Any] | None:
        """The round that was dealt out since; one that had nothing for this host may have been missed."""
        number, told, dealt = json.loads(self._read("round") or "[0, null, null]")
        if number == self._round:
            return None
        self._round = number
        return told, dealt

    def _clear(self, place: str) -> None:
        if self._store is not None:
            self._store.key_value_delete(f"{PLACE}/{place}")

    def _send(self, ended: Sequence[Ended]) -> None:
        """Pairs that ended here, for the record."""
        for some in range(0, len(ended), LETTER):
            self._write(f"ended/{self.host}/{self._written}", json.dumps(ended[some : some + LETTER]))
            self._written += 1

    def _hear(self) -> list[Ended]:
        """Pairs that ended on the other hosts since the last time."""
        ended: list[Ended] = []
        for host in range(1, self.count):
            while text := self._read(place := f"ended/{host}/{self._read_of[host]}"):
                self._clear(place)
                self._read_of[host] += 1
                ended += map(_read_pair, json.loads(text))
        return ended

    def _look(self) -> None:
        """Ends the match where a host was asked to stop, or cannot go on."""
        if self._stop():
            raise KeyboardInterrupt
        for host in range(1, self.count):
            words = self._read(f"asked/{host}")
            if words == ASKED:
                raise KeyboardInterrupt
            if words is not None:
                raise UsageError(f"host {host}: {words.removeprefix(FAILED)}")

    def _ended(self) -> int | None:
        """The exit status that the first host gives to all, once it has ended."""
        if self._stop():
            raise KeyboardInterrupt
        text = self._read("over")
        return None if text is None else int(text)

    # -- the end ---------------------------------------------------------------------------------------------------
    def __enter__(self) -> "Hosts":
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        """The first host ends all of them; another one that ends before asks it to, and stays until it has."""
        if self._store is None:
            return
        with contextlib.suppress(jax.errors.JaxRuntimeError):  # of a store that is lost: the pulse tells
            if self.first:
                self._write("over", str(_status(fault)))
            elif fault is not None:
                stopped = isinstance(fault, KeyboardInterrupt)
                self._write(f"asked/{self.host}", ASKED if stopped else f"{FAILED}{fault or type(fault).__name__}")
                while self._read("over") is None:
                    time.sleep(LOOK)


def _read_pair(told: Any) -> Ended:
    (a, b), number, (first, second), moves, problems = told
    return Ended((a, b), number, (first, second), moves, problems)


def _status(fault: BaseException | None) -> int:
    """The exit status of hosts that all end because of this."""
    if fault is None:
        return 0
    if isinstance(fault, KeyboardInterrupt):
        return STOPPED
    return 2 if isinstance(fault, UsageError) else 1


def gather(store: Letters | None, stop: Callable[[], bool] | None) -> Hosts:
    """This host among all that JAX has joined."""
    if store is None or stop is None:
        return Hosts()
    return Hosts(store, jax.process_index(), jax.process_count(), stop)
