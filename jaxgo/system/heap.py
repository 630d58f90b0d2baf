"""Memory that nobody uses any more, given back to the system."""

import contextlib
import ctypes


def give_back() -> None:
    """Gives back what was freed; other systems than glibc's see to it themselves.

    A compiler takes hundreds of megabytes in small pieces, and glibc keeps them for whoever asks next: they were half
    of what a small run held on a processor.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
