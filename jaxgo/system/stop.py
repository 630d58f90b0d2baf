"""Stopping gently: the first Ctrl-C or SIGTERM asks, the second insists.

Python hears of a signal between two of its own steps, and XLA may compile for minutes in one of them. So a thread
hears, too, and ends the process where it insists and nobody answers.
"""

import contextlib
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
STOPPED = 128 + signal.SIGTERM  # the exit status of a program that was asked to stop on another host
GRACE = 3.0  # seconds that Python has to hear of a second signal
# seconds in which signals are one request: `timeout` tells its child and then the group that the child is in, and what
# starts programs for somebody passes on what they have heard from the terminal
TOGETHER = 0.2
TRY_AGAIN = 75  # the exit status of a program that shall be started again as it was: EX_TEMPFAIL


@contextlib.contextmanager
def at_once() -> Iterator[None]:
    """While this is open, and no `Stop` in it, Ctrl-C ends the process then and there. An exception would do so with a
    traceback of the import that it met, or not at all: what is raised in a callback of JAX is lost."""

    def leave(number: int, frame: FrameType | None) -> None:
        with contextlib.suppress(OSError, RuntimeError):  # the stream may be in the midst of a line
            print("jaxgo: stopped", file=sys.stderr, flush=True)
        os._exit(128 + number)

    # who was started with signals off, or has a handler, keeps it; other threads hear none
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler or not _in_main_thread():
        yield
        return
    signal.signal(signal.SIGINT, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


class Stop:
    """While this is open, the first signal only sets a flag, which a loop reads by calling it.

    `told` is called then; `parting` is what is said where the process is ended by the second.
    """

    def __init__(self, told: Callable[[], None] | None = None, parting: str = "left at once") -> None:
        self._asked = threading.Event()
        self._signal: int = signal.SIGINT
        self._since = 0.0  # when it was heard
        self._told, self._parting = told, parting
        self._before: dict[signal.Signals, Any] = {}
        self._left = threading.Event()  # what raises in a callback of JAX is lost, so this is set at the end alone
        self._ear, self._wakeup = -1, -1  # where the system writes the numbers of signals, and where it did before

    def __call__(self) -> bool:
        """Whether to stop."""
        return self._asked.is_set()

    @property
    def status(self) -> int:
        """The exit status of a program that was asked to stop, as shells count: 130 after Ctrl-C."""
        return 128 + self._signal

    def pass_on(self) -> None:
        """Sends the signal that was heard once more, to whoever hears signals now."""
        if self():
            signal.raise_signal(self._signal)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self._asked.is_set():
            if now - self._since < TOGETHER:
                return
            self._restore()
            raise KeyboardInterrupt
        self._signal, self._since = number, now
        self._asked.set()
        if self._told is not None:
            # the signal may have come within a write to the same stream
            with contextlib.suppress(OSError, RuntimeError):
                self._told()

    def __enter__(self) -> "Stop":
        if _in_main_thread():  # only there can signals be caught
            self._before = {which: signal.signal(which, self._hear) for which in SIGNALS}
            heard, self._ear = os.pipe()
            os.set_blocking(self._ear, False)
            self._wakeup = signal.set_wakeup_fd(self._ear, warn_on_full_buffer=False)
            threading.Thread(target=self._insist, args=(heard,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._left.set()
        self._restore()
        if self._ear >= 0:
            signal.set_wakeup_fd(self._wakeup)
            os.close(self._ear)  # the thread reads an end
            self._ear = -1

    def _insist(self, heard: int) -> None:
        """Ends the process by the second signal, unless Python hears of it soon."""
        since = math.inf
        with os.fdopen(heard, "rb", buffering=0) as stream:
            while number := stream.read(1):
                if number[0] not in SIGNALS:
                    continue
                now = time.monotonic()
                since = min(since, now)
                if now - since >= TOGETHER and not self._left.wait(GRACE):
                    print(self._parting, file=sys.stderr, flush=True)
                    os._exit(128 + number[0])

    def _restore(self) -> None:
        for which, handler in self._before.items():
            signal.signal(which, handler)
        self._before = {}
