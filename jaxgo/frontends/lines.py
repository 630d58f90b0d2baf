"""Lines that come in from programs that may send anything."""

from collections.abc import Iterator
from typing import Any

LONGEST = 2**16  # bytes of a line


def read_lines(stream: Any) -> Iterator[str]:
    """The lines of a binary stream as text. Of one that is too long the first part comes, longer than `LONGEST`."""
    while line := stream.readline(LONGEST + 2):
        rest = line
        while len(rest) > LONGEST and not rest.endswith(b"\n"):
            rest = stream.readline(LONGEST + 2)
        yield line.decode("latin-1").rstrip("\r\n")
