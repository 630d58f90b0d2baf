"""An engine as a child process: lines in, lines out before a deadline, and nothing of it left at the end.

Threads read what the child says, so that it can neither block on a full pipe nor hold anybody up. The child has a
process group of its own, which is killed as a whole.
"""

import collections
import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from typing import Any

from jaxgo.core.errors import UsageError
from jaxgo.core.words import printable

MOST_UNREAD = 2**20  # bytes that wait to be read; more is a flood
READ = 2**16
LAST_WORDS = 2**11  # bytes of the error stream that are remembered
SHOWN = 60  # characters of a line that are shown in a message
PARTING = 0.5  # seconds that a child gets to end by itself


class Fault(Exception):  # noqa: N818 - an engine's, and no error of the program
    """Why an engine loses the game that it is playing."""


class Process:
    """A child that talks in lines. Everything that it does wrong is a Fault."""

    def __init__(self, words: Sequence[str]) -> None:
        try:
            self._child = subprocess.Popen(
                list(words),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise UsageError(f"cannot start the engine {words[0]!r}: {error.strerror}") from None
        self._news = threading.Condition()
        self._lines: collections.deque[bytes] = collections.deque()
        self._unread = 0
        self._ended = self._flooded = self._closed = False
        self._last_words = b""
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._listen, self._drain)]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        return self._child.pid

    def send(self, line: str) -> None:
        """Says one line (or several)."""
        try:
            _of(self._child.stdin).write(line.encode() + b"\n")
        except (OSError, ValueError):  # nobody reads any more; closed here
            raise Fault(self._ending()) from None

    def read(self, deadline: float, doing: str) -> str:
        """The next line, without its end; `deadline` is by the monotonic clock."""
        with self._news:
            while not (self._lines or self._flooded or self._ended):
                left = deadline - time.monotonic()
                if left <= 0:
                    raise Fault(f"no answer to {doing} in time")
                self._news.wait(left)  # whatever it says: a line may have come while this thread waited to be woken
            if self._flooded:
                raise Fault(f"a flood of output instead of an answer to {doing}")
            if self._lines:
                line = self._lines.popleft()
                self._unread -= len(line)
                return line.decode(errors="replace").strip()
        raise Fault(self._ending())

    def close(self, parting: str = "") -> None:
        """Ends the child: with a word of parting and a moment to go by itself, or at once; and all that it started."""
        with self._news:
            if self._closed:
                return
            self._closed = True
        if parting:
            with contextlib.suppress(Fault):
                self.send(parting)
            with self._news:
                self._news.wait_for(lambda: self._ended, PARTING)
        # not waited for yet, so its number cannot be another's
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self.pid, signal.SIGKILL)
            else:
                self._child.kill()
        self._child.wait()
        for thread in self._threads:
            thread.join(PARTING)
        for stream in (self._child.stdin, self._child.stdout, self._child.stderr):
            with contextlib.suppress(OSError):
                _of(stream).close()

    def _ending(self) -> str:
        """How it ended, in words."""
        lives = self._linger()
        if self._closed:
            return "its process was stopped"
        self.close()
        if lives:
            return "it closed its output"
        code = self._child.returncode
        how = f"killed by signal {-code}" if code < 0 else f"with status {code}"
        words = self._last_words.decode(errors="replace").strip().splitlines()
        return f"its process ended {how}" + (f" ({shown(words[-1])})" if words else "")

    def _linger(self) -> bool:
        """A child that closed its streams is about to end: its own status is better than that of being killed.

        Whether it lives on all the same.
        """
        if not hasattr(os, "waitid"):
            return False
        last = time.monotonic() + PARTING
        with contextlib.suppress(OSError):  # it was waited for already
            while not os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
                if time.monotonic() >= last:
                    return True
                time.sleep(0.01)
        return False

    # -- threads ---------------------------------------------------------------------------------------------------
    def _listen(self) -> None:
        rest = b""
        for data in _pieces(self._child.stdout):
            *lines, rest = (rest + data).split(b"\n")
            with self._news:
                self._lines.extend(lines)
                self._unread += sum(map(len, lines))
                self._flooded |= max(self._unread, len(self._lines), len(rest)) > MOST_UNREAD
                if self._flooded:
                    self._lines.clear()
                    rest = b""
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    def _drain(self) -> None:
        for data in _pieces(self._child.stderr):
            self._last_words = (self._last_words + data)[-LAST_WORDS:]


def shown(text: str) -> str:
    """A line of an engine as it can stand in a message."""
    text = printable(text)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def _of(stream: Any) -> Any:
    if stream is None:
        raise AssertionError("a child without streams")
    return stream


def _pieces(stream: Any) -> Any:
    """What comes out of a pipe until it ends."""
    with contextlib.suppress(OSError, ValueError):
        while data := _of(stream).read(READ):
            yield data
