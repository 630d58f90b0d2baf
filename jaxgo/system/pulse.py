"""Whether all hosts of a run are alive: each says so every second, and each listens.

A program that waits for another host may wait for ever and hears no signal. So threads beside it listen, and end the
process with a sentence. JAX listens too (`devices.LOST`), later and without a sentence of ours.
"""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, runtime_checkable

import jax

from jaxgo.core.errors import UsageError, first_line
from jaxgo.system.stop import TRY_AGAIN

BEAT = 1.0  # seconds between two signs of life
SILENT = 25.0  # seconds without one after which a host counts as lost
LEFT = "left"  # the last sign of a host that is done
FAILED = "failed: "  # how that of a host begins that cannot go on, and why
REFUSED = 2  # the exit status of the others then
PLACE = "jaxgo/pulse"


@runtime_checkable
class Store(Protocol):
    """What all hosts read and write; it lies on the first host."""

    def key_value_set(self, key: str, value: str, allow_overwrite: bool = False) -> None: ...

    def key_value_dir_get(self, key: str) -> list[tuple[str, str]]: ...


def _say(sentence: str) -> None:
    """On every host: where one is lost, nobody knows whose words are looked at."""
    print(f"jaxgo: {sentence}", file=sys.stderr, flush=True)


class Pulse:
    """Signs of life of this host, and a look at those of the others. Use it as a context."""

    def __init__(
        self,
        store: Store | None,
        say: Callable[[str], None] = _say,
        now: Callable[[], float] = time.monotonic,
        leave: Callable[[int], Any] = os._exit,
        again: str = "goes on from the last checkpoint",
        tells: bool = True,
    ) -> None:
        """Without a store, as on a host alone, it does nothing. `again` is what the same command does then. `tells`:
        whether a fault of this host is told to the others, who have no other way to hear of it."""
        self._say, self._now, self._leave, self._again = say, now, leave, again
        self._store, self._tells = store, tells
        self._mine = f"{PLACE}/{jax.process_index()}"
        self._count = 0
        self._answered = self._looked = now()  # when the first host last did, and when this one last looked
        self._seen: dict[str, tuple[str, float]] = {}  # the last sign of each host, and when it came
        self._over = threading.Event()
        self._beating = threading.Lock()

    def beat(self, last: str = "") -> None:
        """Gives a sign and hears the others'; this hangs or fails where the first host is lost. None comes after the
        `last` one."""
        if self._store is None:
            return
        with self._beating:  # a sign that was under way must not come after it
            if self._over.is_set() and not last:
                return
            self._count += 1
            self._store.key_value_set(self._mine, last or str(self._count), allow_overwrite=True)
        for name, sign in self._store.key_value_dir_get(PLACE):
            if name not in self._seen or self._seen[name][0] != sign:
                self._seen[name] = sign, self._now()
        self._answered = self._now()

    def look(self) -> None:
        """Ends the process if a host is lost, or cannot go on."""
        lost, failed = self._lost(), self._failed()
        if failed:
            self._say(f"{failed}; all hosts leave")
        elif lost:
            self._say(f"{lost}: leaving; the same command on every host {self._again}")
        if failed or lost:
            sys.stdout.flush()
            self._leave(REFUSED if failed else TRY_AGAIN)

    def _failed(self) -> str:
        """Which host cannot go on, and why; empty where all can."""
        for name, (sign, _) in list(self._seen.items()):
            if name != self._mine and sign.startswith(FAILED):
                return f"host {name.rsplit('/', 1)[-1]}: {sign.removeprefix(FAILED)}"
        return ""

    def _lost(self) -> str:
        """What is wrong, in words; empty where all are alive."""
        now, looked, silent = self._now(), self._looked, f"has given no sign of life for {SILENT:.0f} seconds"
        self._looked = now
        if now - looked >= SILENT:
            return f"this host stood still for {now - looked:.0f} seconds, and the others have left it"
        if now - self._answered >= SILENT:
            return f"the first host {silent}"
        for name, (sign, when) in list(self._seen.items()):  # the other thread adds to it
            # when nobody answered, nobody could be heard
            if name != self._mine and sign != LEFT and now - when >= SILENT:
                return f"host {name.rsplit('/', 1)[-1]} {silent}"
        return ""

    def _speak(self) -> None:
        while not self._over.wait(BEAT):
            try:
                self.beat()
            except Exception:  # it is lost, or does not answer yet: `look` tells by the clock
                continue

    def _listen(self) -> None:
        while not self._over.wait(BEAT):
            self.look()

    def __enter__(self) -> "Pulse":
        if self._store is not None:
            for work in (self._speak, self._listen):  # two: the first may hang
                threading.Thread(target=work, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        """Where a program failed, as they do in many ways when a host is lost, what is seen within a while is the
        reason. A fault of this host's own is told to the hosts that wait for it."""
        if self._store is not None and isinstance(fault, Exception) and not isinstance(fault, UsageError):
            self._over.wait(SILENT + 4 * BEAT)
        self._over.set()
        if self._store is None:
            return
        if fault is None:
            self.beat(last=LEFT)
        elif isinstance(fault, Exception) and self._tells:
            with contextlib.suppress(jax.errors.JaxRuntimeError):  # of a store that is lost
                self.beat(last=f"{FAILED}{first_line(fault)}")
            if jax.process_index() == 0:
                time.sleep(3 * BEAT)  # the store is its own: the others must have heard
