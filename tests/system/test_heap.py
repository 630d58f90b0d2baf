"""What was freed is given back to the system."""

import ctypes
import sys
from pathlib import Path

import pytest

from jaxgo.system import heap

PIECES, SIZE = 60_000, 1000


def held() -> int:
    """Bytes that this process holds of the system."""
    words = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    return 1024 * int(words["VmRSS"].split()[0])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="how much is held is read from /proc")
def test_what_was_freed_in_small_pieces_is_given_back():
    library = ctypes.CDLL(None)
    if not hasattr(library, "malloc_trim"):
        pytest.skip("not glibc")
    library.malloc.restype, library.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    pieces = [library.malloc(SIZE) for _ in range(PIECES)]
    for piece in pieces:
        ctypes.memset(piece, 1, SIZE)
    last = library.malloc(SIZE)  # so that what is below it does not go by itself
    for piece in pieces:
        library.free(piece)
    before = held()
    heap.give_back()
    after = held()
    library.free(last)
    assert before - after > PIECES * SIZE / 2
