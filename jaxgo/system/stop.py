"""Stopping gently: the first Ctrl-C or SIGTERM asks, the second insists."""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
STOPPED = 128 + signal.SIGTERM  # the exit status of a program that was asked to stop on another host
TRY_AGAIN = 75  # the exit status of a program that shall be started again as it was: EX_TEMPFAIL


class Stop:
    """While this is open, the first signal only sets a flag, which a loop reads by calling it."""

    def __init__(self, told: Callable[[], None] | None = None) -> None:
        self._asked = threading.Event()
        self._signal: int = signal.SIGINT
        self._told = told
        self._before: dict[signal.Signals, Any] = {}

    def __call__(self) -> bool:
        """Whether to stop."""
        return self._asked.is_set()

    @property
    def status(self) -> int:
        """The exit status of a program that was asked to stop, as shells count: 130 after Ctrl-C."""
        return 128 + self._signal

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self._asked.is_set():
            self._restore()
            raise KeyboardInterrupt
        self._signal = number
        self._asked.set()
        if self._told is not None:
            self._told()

    def __enter__(self) -> "Stop":
        if threading.current_thread() is threading.main_thread():  # only there can signals be caught
            self._before = {which: signal.signal(which, self._hear) for which in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    def _restore(self) -> None:
        for which, handler in self._before.items():
            signal.signal(which, handler)
        self._before = {}
