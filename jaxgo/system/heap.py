"""What this process holds of the memory, and what of it nobody uses any more, given back to the system."""

import contextlib
import ctypes
import os
from pathlib import Path


def held() -> int:
    """Bytes of memory that this process holds; 0 where nobody tells, as outside Linux."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def give_back() -> None:
    """Gives back what was freed; other systems than glibc's see to it themselves.

    A compiler takes hundreds of megabytes in small pieces, and glibc keeps them for whoever asks next: they were half
    of what a small run held on a processor.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
