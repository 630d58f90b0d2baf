"""What was freed is given back to the system."""

import ctypes
import sys

import pytest

from jaxgo.system import heap

PIECES, SIZE = 60_000, 1000


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
    before = heap.held()
    heap.give_back()
    after = heap.held()
    library.free(last)
    assert before - after > PIECES * SIZE / 2
