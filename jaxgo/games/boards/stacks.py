"""Boards with gravity, packed into words: each stack is a few neighbouring bits of a uint32.

Adding one to a stack's lowest bit carries through its stones to the first free cell, so a drop is one addition, and
no heights are kept. Several stacks share a word; none is cut by the end of one.
"""

import dataclasses
from collections.abc import Callable, Iterable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int8, Int32, Shaped, UInt32

from jaxgo.core.bitwise import union
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Action, Threats

WORD = 32
Words = UInt32[Array, " words"]
Gaps = Callable[[Words, Words], Words]  # of a seat's stones and all stones: where one more would win, in reach or not


@dataclasses.dataclass(frozen=True)
class Stacks:
    """`count` stacks of `height` cells. Bit 0 of a stack is its lowest cell."""

    count: int
    height: int
    spare: int = 0  # bits that stay empty above each stack, for boards that are shifted as a whole

    @property
    def bits(self) -> int:
        """Bits of one stack."""
        return self.height + self.spare

    @property
    def per_word(self) -> int:
        return WORD // self.bits

    @property
    def words(self) -> int:
        return -(-self.count // self.per_word)

    def mask(self, cells: Iterable[tuple[int, int]]) -> np.ndarray:
        """`uint32[words]` with these (stack, level) cells set."""
        words = np.zeros(self.words, np.uint32)
        for stack, level in cells:
            words[stack // self.per_word] |= np.uint32(1 << (stack % self.per_word * self.bits + level))
        return words

    def landing(self, occupied: UInt32[Array, " words"], stack: Action) -> UInt32[Array, " words"]:
        """The cell where a stone lands on a stack that is not full."""
        lowest = jnp.uint32(1) << (stack % self.per_word * self.bits).astype(jnp.uint32)
        bottom = jnp.where(jnp.arange(self.words) == stack // self.per_word, lowest, jnp.uint32(0))
        return (occupied + bottom) & ~occupied

    def room(self, occupied: UInt32[Array, " words"]) -> Bool[Array, " count"]:
        """Which stacks are not full."""
        tops = np.stack([self.mask([(stack, self.height - 1)]) for stack in range(self.count)])
        return ~holds_any(occupied, tops)

    def unpack(self, words: UInt32[Array, " words"]) -> Bool[Array, "count height"]:
        """Cell by cell."""
        stack = np.arange(self.count)
        shift = (stack % self.per_word * self.bits)[:, None] + np.arange(self.height)
        return (words[stack // self.per_word][:, None] >> jnp.asarray(shift, jnp.uint32)) & jnp.uint32(1) != 0

    def pack(self, stones: np.ndarray) -> np.ndarray:
        """`uint32[words]` of `bool[count, height]`."""
        return self.mask((int(s), int(level)) for s, level in zip(*np.nonzero(stones), strict=True))

    def place(self, codes: np.ndarray, to_play: int) -> np.ndarray:
        """`uint32[2, words]`: the mover's stones, then the other's, from codes 0, 1, 2 [count, height]."""
        if (codes > 2).any():
            raise UsageError("a cell of the board is drawn as a gap between boards; a cell is empty or has a stone")
        if (np.diff((codes > 0).astype(np.int8), axis=1) > 0).any():
            raise UsageError("a stone hangs in the air; fill every stack from the bottom")
        own = np.int8(to_play + 1)
        return np.stack([self.pack(codes == own), self.pack(codes == 3 - own)])


def holds_any(words: UInt32[Array, " words"], masks: np.ndarray) -> Bool[Array, " n"]:
    """Which of the masks `uint32[n, words]` share a cell with the board."""
    shared = jnp.zeros(len(masks), jnp.uint32)
    for i in range(masks.shape[1]):  # word by word: a reduction over so short an axis would not be vectorised
        shared |= words[i] & jnp.asarray(masks[:, i])
    return shared != 0


def holds_all(words: UInt32[Array, " words"], masks: np.ndarray) -> Bool[Array, " n"]:
    """Which of the masks `uint32[n, words]` lie wholly on the board."""
    missing = jnp.zeros(len(masks), jnp.uint32)
    for i in range(masks.shape[1]):
        missing |= ~words[i] & jnp.asarray(masks[:, i])
    return missing == 0


def open_lines(own: UInt32[Array, " words"], other: UInt32[Array, " words"], masks: np.ndarray) -> Int32[Array, " n"]:
    """How many stones are in each of the lines `uint32[n, words]`; 0 where the other seat has one, too."""
    stones = jnp.zeros(len(masks), jnp.int32)
    for i in range(masks.shape[1]):
        stones += jax.lax.population_count(own[i] & jnp.asarray(masks[:, i])).astype(jnp.int32)
    return jnp.where(holds_any(other, masks), 0, stones)


def line_gaps(masks: np.ndarray, own: Words, taken: Words) -> Words:
    """The empty cells, in reach or not, where one stone more fills one of the lines `uint32[n, words]`."""
    missing = jnp.asarray(masks) & ~own[None]
    single = jax.lax.population_count(missing).sum(axis=-1) == 1
    return union(jnp.where(single[:, None], missing & ~taken[None], jnp.uint32(0)))


def lead(own: UInt32[Array, " words"], other: UInt32[Array, " words"], masks: np.ndarray) -> Float32[Array, ""]:
    """The worth of all open lines less that of the other seat's, in [-1, 1]: each stone more is worth four times."""
    sums = [
        jnp.where(count > 0, jnp.int32(4) ** jnp.minimum(count - 1, 8), 0).sum(dtype=jnp.int32)
        for count in (open_lines(own, other, masks), open_lines(other, own, masks))
    ]
    return jnp.tanh((sums[0] - sums[1]).astype(jnp.float32) / 40)


def codes(
    own: Bool[Array, "count height"], other: Bool[Array, "count height"], to_play: Int8[Array, ""]
) -> Int8[Array, "count height"]:
    """0 empty, 1 the first seat's stones, 2 the second's."""
    mine = to_play + jnp.int8(1)
    return jnp.where(own, mine, jnp.where(other, jnp.int8(3) - mine, jnp.int8(0)))


def side_by_side(levels: Shaped[Array, "L H W"], gap: int) -> Shaped[Array, " cells"]:
    """One picture of all levels, the lowest at the left, with a column of `gap` between two of them."""
    padded = jnp.pad(levels, ((0, 0), (0, 0), (0, 1)), constant_values=gap)
    return jnp.concatenate(list(padded), axis=1)[:, :-1].reshape(-1)


def from_side_by_side(cells: np.ndarray, levels: int, height: int) -> np.ndarray:
    """`[levels, height, width]`: the levels of a picture made by `side_by_side`."""
    picture = np.asarray(cells).reshape(height, -1)
    width = (picture.shape[1] + 1) // levels - 1
    check_off(picture[:, width :: width + 1])
    return np.stack([picture[:, i * (width + 1) : i * (width + 1) + width] for i in range(levels)])


def check_off(codes: np.ndarray) -> None:
    """A UsageError where a stone is drawn in one of these cells, which are none of the board."""
    if np.isin(codes, (1, 2)).any():
        raise UsageError("a stone is drawn beside the boards; draw the gaps as the board has them")


class Drops(NamedTuple):
    """Where a stone lands on each stack, and the next one after it; nothing where a stack has no room for it."""

    cells: UInt32[Array, "A words"]
    above: UInt32[Array, "A words"]


def drops(board: Stacks, taken: Words) -> Drops:
    def landing(occupied: Words, stack: Action) -> Words:
        return jnp.where(board.room(occupied)[stack], board.landing(occupied, stack), jnp.uint32(0))

    stack = jnp.arange(board.count)
    cells = jax.vmap(landing, in_axes=(None, 0))(taken, stack)
    return Drops(cells, jax.vmap(landing)(taken[None] | cells, stack))


def wins(board: Stacks, own: Words, taken: Words, gaps: Gaps) -> Bool[Array, " A"]:
    """The drops that fill a gap."""
    return _meet(drops(board, taken).cells, gaps(own, taken))


def safe_or_won(board: Stacks, stones: UInt32[Array, "2 words"], gaps: Gaps) -> Bool[Array, " A"]:
    """The drops that win at once, and those after which the other seat does not."""
    return wins(board, stones[0], stones[0] | stones[1], gaps) | safe(board, stones, gaps)


def safe(board: Stacks, stones: UInt32[Array, "2 words"], gaps: Gaps) -> Bool[Array, " A"]:
    """The drops after which the other seat has no win at once: they take its only one, and none lies on top of them."""
    taken = stones[0] | stones[1]
    found, theirs = drops(board, taken), gaps(stones[1], taken)
    now = _meet(found.cells, theirs)
    alone = jnp.where(now.any(), now & (now.sum(dtype=jnp.int32) == 1), board.room(taken))
    return alone & ~_meet(found.above, theirs)


def threats(board: Stacks, stones: UInt32[Array, "2 words"], gaps: Gaps) -> Threats:
    """What drops do, where four in a row or the like wins. A drop that opens a win to the other seat is no block."""

    def wins_left(own: Words, taken: Words) -> Int32[Array, " A"]:
        """How many drops would win after each drop, if the other seat did nothing."""
        found = drops(board, taken)
        reach = union(found.cells)[None] & ~found.cells | found.above
        ways = jax.vmap(gaps)(own[None] | found.cells, taken[None] | found.cells)
        ways = jax.lax.population_count(ways & reach).sum(axis=-1).astype(jnp.int32)
        return jnp.where(board.room(taken), ways, 0)

    def row(own: Words, taken: Words) -> tuple[Bool[Array, " A"], ...]:
        found, left = drops(board, taken), wins_left(own, taken)
        twice = jax.vmap(wins_left)(own[None] | found.cells, taken[None] | found.cells)
        return wins(board, own, taken, gaps), left >= 1, left >= 2, (twice >= 2).any(axis=-1) & board.room(taken)

    taken = stones[0] | stones[1]
    win, force, double, build = (jnp.stack(both) for both in zip(*(row(own, taken) for own in stones), strict=True))
    unharmed = safe(board, stones, gaps)
    needed = win[1].any() | (unharmed != board.room(taken)).any()
    block = jnp.where(unharmed.any(), unharmed & needed, win[1])
    return Threats(win, force, double, build, block)


def _meet(sets: UInt32[Array, "A words"], cells: Words) -> Bool[Array, " A"]:
    return union((sets & cells[None]).T) != 0
