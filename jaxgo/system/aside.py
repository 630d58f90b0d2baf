"""Long work beside a main thread that stays awake.

Python hears signals in its main thread only, between two steps of it; a compiler or a barrier is one step of minutes.
"""

import math
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

LOOK = 0.05  # seconds between two looks
_left: list[threading.Thread] = []  # at work where nobody may wait for them


class Aside(Generic[T]):
    """Work that goes on in a thread of its own."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._found: list[T] = []
        self._fault: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[], T]) -> None:
        try:
            self._found.append(work())
        except BaseException as fault:
            self._fault.append(fault)

    def wait(self, look: Callable[[], bool], patience: float) -> T | None:
        """What the work gives, or raises. Once `look` is true the work has so many seconds left; then it is None."""
        asked = math.inf
        try:
            while self._thread.is_alive() and time.monotonic() - asked <= patience:
                self._thread.join(LOOK)
                if asked == math.inf and look():
                    asked = time.monotonic()
        finally:  # a second signal does not wait
            if self._thread.is_alive():
                leave_alone(self._thread)
        if self._thread.is_alive():
            return None
        if self._fault:
            raise self._fault[0]
        return self._found[0]


def leave_alone(thread: threading.Thread) -> None:
    """Remembers a thread that may still compile or search when the program ends."""
    _left[:] = [other for other in _left if other.is_alive() and other is not thread] + [thread]


def work_is_left() -> bool:
    """Whether something is still at work that nobody waits for: a compiler cannot be interrupted."""
    return any(thread.is_alive() for thread in _left)


def leave(status: int, at_once: bool = False) -> int:
    """The status to return with; where work is left the process ends here, as it would crash while it tidies up.

    So it may where somebody leaves `at_once`, in the midst of a compilation perhaps.
    """
    if at_once or work_is_left():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return status
