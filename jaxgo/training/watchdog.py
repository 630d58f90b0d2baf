"""What watches a run: whether anything moves at all, and whether self-play still looks like play.

Thresholds are those of `WatchConfig`. A watchdog only speaks, unless the config says that it may end the run.
"""

import collections
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from jaxgo.system.stop import TRY_AGAIN
from jaxgo.training.config import WatchConfig

Say = Callable[[str], None]
LOOK = 1.0  # seconds between two looks at most

KINDS = {  # what is read of an iteration, and what it means where it is too low or too high
    "entropy": "the policy is nearly the same move everywhere (nats a move)",
    "spread": "all positions are worth nearly the same (standard deviation of the values)",
    "length": "games are very short (plies)",
    "draws": "nearly all games are draws (share)",
}
TOO_HIGH = ("draws",)


class Stall:
    """Tells when a run has not moved for long, and what it was doing then. Use it as a context.

    `beat` says that it moves, and with a name what it does from now on. Where `watch.give_up` is set the process ends
    after so many seconds: a program that waits for another host, or for a device that hangs, hears no signal.
    """

    def __init__(
        self,
        config: WatchConfig,
        say: Say,
        now: Callable[[], float] = time.monotonic,
        leave: Callable[[int], Any] = os._exit,
    ) -> None:
        self._config, self._say, self._now, self._leave = config, say, now, leave
        self._moved, self._told, self._doing = now(), 0, "start"
        self._left = threading.Event()
        self._thread: threading.Thread | None = None

    def beat(self, doing: str = "") -> None:
        self._moved, self._told, self._doing = self._now(), 0, doing or self._doing

    def look(self) -> None:
        """One look, as the thread takes them."""
        still, most = self._now() - self._moved, self._config.silent
        if most and still >= most * (self._told + 1):
            self._told = int(still / most)
            self._say(f"nothing has moved for {still:.0f} seconds; the last that was heard of is: {self._doing}")
        if self._config.give_up and still >= self._config.give_up:
            self._say(f"nothing has moved for {still:.0f} seconds (watch.give_up): leaving; the last checkpoint stays")
            sys.stdout.flush()
            self._leave(TRY_AGAIN)

    def _run(self) -> None:
        times = [seconds for seconds in (self._config.silent, self._config.give_up) if seconds]
        while times and not self._left.wait(min(LOOK, *times)):
            self.look()

    def __enter__(self) -> "Stall":
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._left.set()
        if self._thread is not None:
            self._thread.join()


class Collapse:
    """Tells when self-play has stopped to look like play, by the means of the last `watch.iterations` iterations."""

    def __init__(self, config: WatchConfig) -> None:
        self._config = config
        self._seen = {name: collections.deque[float](maxlen=config.iterations) for name in KINDS}
        self._told: set[str] = set()

    def __call__(self, metrics: Mapping[str, Any]) -> list[str]:
        """A sentence for everything that has gone wrong since it was last right."""
        said = []
        for name, meaning in KINDS.items():
            if name not in metrics:
                continue
            seen, limit = self._seen[name], getattr(self._config, name)
            seen.append(float(metrics[name]))
            mean = sum(seen) / len(seen)
            wrong = mean > limit if name in TOO_HIGH else mean < limit
            if not (limit and wrong and len(seen) == seen.maxlen):
                self._told.discard(name)
            elif name not in self._told:
                self._told.add(name)
                where = "above" if name in TOO_HIGH else "below"
                said.append(
                    f"{meaning}: {name} {mean:.4g} over {len(seen)} iterations is {where} watch.{name}={limit:g}"
                )
        return said
