"""See `config`."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class ReplayConfig:
    """How much is remembered. The window grows as KataGo's does, by a power of the samples seen so far."""

    capacity: int = 2**17  # samples, all devices together
    start: int = 2**12  # samples before learning begins; also the smallest window
    growth: float = 0.75  # exponent of the window's growth; 1: it grows as fast as `share` of the samples
    share: float = 0.6  # of each new sample that widens the window, at the start
