"""Streams to tell people things by: one whose faults end nothing, and what is drawn for one."""

import sys
from typing import Any

from rich.console import Console, RenderableType


def show(drawn: RenderableType, console: Console) -> None:
    """Prints what a console draws. Rich itself would answer a pipe whose reader has gone with exit 1."""
    with console.capture() as text:
        console.print(drawn)
    print(text.get(), end="", file=console.file)


class Forgiving:
    """What cannot be written to a stream, as a log on a full disk or a pipe that nobody reads, is lost; standard error
    hears so once."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._lost = stream, False

    def write(self, text: str) -> int:
        self._do(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._do(self._stream.flush)

    def _do(self, act: Any) -> None:
        try:
            act()
        except OSError as fault:
            if not self._lost:
                self._lost = True
                print(f"what is told here cannot be written ({fault.strerror}); training goes on", file=sys.stderr)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
