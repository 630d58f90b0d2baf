"""A stream to tell people things by, whose faults end nothing."""

import sys
from typing import Any


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
