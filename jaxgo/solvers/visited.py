"""Which positions have been seen: a hash table of keys in the memory of the host, filled by whole batches at once.

A key is all that is kept of a position. Two positions with equal 64-bit keys would be taken for one; among a hundred
million positions that happens once in four thousand solutions, and never in games whose keys are a mixing of at most
64 bits of board.

The table lies on the host because a processor finds its way through one faster than programs of XLA do: what is not
settled at the first look is looked at again alone, and not in a batch of the same size.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int32, UInt64

NOBODY = -1
FULLEST = 2  # one place in so many may be filled
WIDER = 4  # how much more room a table gets that is full
CHUNK = 1 << 15  # keys that move to a wider table at once; more would leave the caches
MIX = np.uint64(0x9E3779B97F4A7C15)


class Found(NamedTuple):
    number: Int32[np.ndarray, " M"]
    fresh: Bool[np.ndarray, " M"]  # the lane whose position was new; of equal ones, one


class Visited:
    """Open addressing over a power of two of places. Positions are numbered in the order of their discovery."""

    def __init__(self, places: int) -> None:
        if places & (places - 1) or places < 2:
            raise ValueError(f"{places} places are no power of two")
        self._blank(places)
        self.total = 0

    def _blank(self, places: int) -> None:
        self.keys = np.zeros(places, np.uint64)
        self.numbers = np.full(places, NOBODY, np.int32)
        self._shift = np.uint64(64 - (places.bit_length() - 1))

    def insert(self, keys: UInt64[np.ndarray, " M"]) -> Found:
        """Looks keys up and adds those that are new, each once."""
        if FULLEST * (self.total + len(keys)) > len(self.keys):
            self._widen(self.total + len(keys))
        found = Found(np.empty(len(keys), np.int32), np.zeros(len(keys), bool))
        lanes, wanted, place = np.arange(len(keys), dtype=np.int32), keys, self._home(keys)
        while True:
            number = self.numbers[place]
            vacant = np.flatnonzero(number < 0)
            if len(vacant):
                number[vacant] = self._claim(place[vacant], wanted[vacant], lanes[vacant], found.fresh)
            same = (self.keys[place] == wanted) & (number >= 0)
            found.number[lanes] = number  # of those that go on, it is written again
            on = np.flatnonzero(~same)
            if not len(on):
                return found
            # who found another key goes to the next place; who lost the race for an empty one looks again
            place = (place[on] + (number[on] >= 0)) & (len(self.keys) - 1)
            lanes, wanted = lanes[on], wanted[on]

    def _claim(
        self, place: np.ndarray, keys: np.ndarray, lanes: np.ndarray, fresh: Bool[np.ndarray, " M"]
    ) -> Int32[np.ndarray, " V"]:
        """Of the lanes that want one empty place the last gets it. Their numbers; NOBODY for those that did not."""
        self.numbers[place] = lanes
        won = self.numbers[place] == lanes
        winners = place[won]
        self.keys[winners] = keys[won]
        number = np.full(len(place), NOBODY, np.int32)
        number[won] = np.arange(self.total, self.total + len(winners), dtype=np.int32)
        self.numbers[winners] = number[won]
        fresh[lanes[won]] = True
        self.total += len(winners)
        return number

    def _home(self, keys: UInt64[np.ndarray, " M"]) -> np.ndarray:
        return ((keys * MIX) >> self._shift).astype(np.int64)

    def _widen(self, count: int) -> None:
        """The same positions with the same numbers in more places."""
        places = len(self.keys)
        while FULLEST * count > places:
            places *= WIDER
        # in the order of their old places they meet the new ones in order, too
        filled = self.numbers >= 0
        keys, old = self.keys[filled], self.numbers[filled]
        self._blank(places)
        self.total = 0
        number = np.empty_like(old)
        for begin in range(0, len(keys), CHUNK):
            number[self.insert(keys[begin : begin + CHUNK]).number] = old[begin : begin + CHUNK]
        filled = self.numbers >= 0
        self.numbers[filled] = number[self.numbers[filled]]

    def by_number(self) -> UInt64[np.ndarray, " N"]:
        """The key of each position."""
        filled = self.numbers >= 0
        out = np.zeros(self.total, np.uint64)
        out[self.numbers[filled]] = self.keys[filled]
        return out
