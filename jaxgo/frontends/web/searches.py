"""Whose search runs: a few at a time, whoever asked first first, and nobody for long while others wait."""

import dataclasses
import functools
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any

from jaxgo.frontends.thinking import Thinking
from jaxgo.system import devices

SLICE = 8.0  # seconds that a search may go on while others wait
Ending = Callable[[Thinking], None]
Begin = Callable[[], Thinking | None]  # None: it is not wanted any more


@dataclasses.dataclass
class _Asked:
    """A search that has not begun; its player is compiled first, which takes nobody's place."""

    begin: Begin
    compiled: Future[Any] | None
    ending: Ending | None = None  # what it meets with as soon as it begins

    @property
    def ready(self) -> bool:
        return self.compiled is None or self.compiled.done()


class Searches:
    """The searches of all visitors. Each visitor has at most one that waits and one that runs."""

    def __init__(self, most: int = 0) -> None:
        self.most = most or max(1, devices.cores() // 2)
        self._lock = threading.Lock()
        self._waiting: OrderedDict[Hashable, _Asked] = OrderedDict()
        self._running: dict[Hashable, Thinking | None] = {}  # None: it is about to begin
        self._endings: dict[Hashable, Ending] = {}  # of those that were ended while they were about to begin

    def ask(self, who: Hashable, begin: Begin, compiled: Future[Any] | None = None) -> None:
        """Begins a search as soon as its player is `compiled` and there is room. Another one that this visitor waits
        for is forgotten."""
        with self._lock:
            self._waiting[who] = _Asked(begin, compiled)
        if compiled is not None:
            compiled.add_done_callback(lambda _: self._advance())
        self._advance()

    def forget(self, who: Hashable) -> None:
        """Ends what a visitor waits for or runs; nothing is played."""
        with self._lock:
            self._waiting.pop(who, None)
            self._end(who, Thinking.drop)
        self._advance()

    def stop(self, who: Hashable) -> None:
        """Ends what a visitor runs, or will when its player is compiled; it answers with what it has found."""
        with self._lock:
            if who in self._waiting and not self._waiting[who].ready:
                self._waiting[who].ending = Thinking.stop
            self._end(who, Thinking.stop)

    def _end(self, who: Hashable, ending: Ending) -> None:
        if who in self._running:
            thinking = self._running[who]
            if thinking is None:
                self._endings[who] = ending
            else:
                self._end_now(who, thinking, ending)

    def _end_now(self, who: Hashable, thinking: Thinking, ending: Ending) -> None:
        ending(thinking)
        # compiling (again, where all that was compiled has been let go) cannot be cut short, and who is dropped before
        # it thinks never searches: its place is free. What compiles on is bounded by the sockets, each of which is held
        # until its session has ended.
        if thinking.dropped and thinking.began == math.inf:
            del self._running[who]

    def waits(self, who: Hashable) -> bool:
        """Whether a visitor's search has to wait for another one."""
        asked = self._waiting.get(who)
        return asked is not None and asked.ready

    def asks(self, who: Hashable) -> bool:
        """Whether a visitor's search has not begun."""
        return who in self._waiting

    def tick(self) -> None:
        """Ends searches that have thought for their time while others wait; called now and then."""
        late = time.monotonic() - SLICE
        with self._lock:
            if self._next() is not None:
                for thinking in self._running.values():
                    if thinking is not None and thinking.began < late:
                        thinking.stop()

    def _next(self) -> Hashable | None:
        """Who may begin when there is room."""
        free = (who for who, asked in self._waiting.items() if asked.ready and who not in self._running)
        return next(free, None)

    def _advance(self) -> None:
        while True:
            with self._lock:
                who = self._next()
                if who is None or len(self._running) >= self.most:
                    return
                asked = self._waiting.pop(who)
                self._running[who] = None
                self._endings.pop(who, None)
                if asked.ending is not None:
                    self._endings[who] = asked.ending
            try:
                thinking = asked.begin()  # without the lock: it may have to wait for the visitor's session
            except BaseException:
                with self._lock:
                    del self._running[who]  # or its place would be taken for ever
                raise
            with self._lock:
                if thinking is None:
                    del self._running[who]
                    continue
                self._running[who] = thinking
                if (ending := self._endings.pop(who, None)) is not None:
                    self._end_now(who, thinking, ending)
            thinking.future.add_done_callback(functools.partial(self._ended, who, thinking))

    def _ended(self, who: Hashable, thinking: Thinking, answer: Future[Any]) -> None:
        with self._lock:
            if self._running.get(who) is thinking:  # or the place is that of the visitor's next search by now
                del self._running[who]
        self._advance()
