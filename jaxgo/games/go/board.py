"""The Go board as bits: sets of points as a few 32-bit words, so that one shift moves a whole board.

Point (row, column) is bit `row * (width + 1) + column`. The spare column at the end of each row, which no set holds,
keeps shifts from running round the edge; at least one spare bit is left at the very end and is called `nowhere`.
Letters in shapes: W words of a set.
"""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Int8, Int16, Int32, Integer, UInt32

from jaxgo.core import board, zobrist
from jaxgo.core.bitwise import union
from jaxgo.core.errors import UsageError
from jaxgo.games.boards.words import both, either, higher, lower, pack, split, without

Points = UInt32[Array, "*sets W"]
STRIDE = 8  # steps of a flood in one turn of its loop, on accelerators


class GoState(NamedTuple):
    """Sets of points are those of `Grid`, `ko` and `recent` are actions or -1."""

    stones: UInt32[Array, "2 W"]  # of Black, of White
    atari: UInt32[Array, " W"]  # stones whose chain has exactly one liberty
    chain: Integer[Array, " bits"]  # the name of each stone's chain: the bit of its youngest stone; nowhere if empty
    to_play: Int8[Array, ""]
    ply: Int16[Array, ""]
    ko: Int16[Array, ""]  # where the mover may not retake at once
    recent: Int16[Array, " 5"]  # the last actions, the latest first
    key: UInt32[Array, "2"]  # Zobrist key of the stones alone


@dataclasses.dataclass(frozen=True)
class Grid:
    """Sets of points of one board size."""

    height: int
    width: int

    @property
    def points(self) -> int:
        return self.height * self.width

    @property
    def stride(self) -> int:
        return self.width + 1

    @property
    def words(self) -> int:
        return self.height * self.stride // 32 + 1

    @property
    def bits(self) -> int:
        return 32 * self.words

    @property
    def nowhere(self) -> int:
        """A bit that is no point: the neighbour beyond the edge, the place of a pass."""
        return self.bits - 1

    # -- tables ------------------------------------------------------------------------------------------------
    @property
    def bit(self) -> np.ndarray:
        """`int32[points + 1]`: the bit of each point; behind them nowhere."""
        return _bits_of_points(self)

    @property
    def near(self) -> np.ndarray:
        """`int32[points + 1, 4]`: the four points beside each point; off the board = points."""
        return _near(self)

    @property
    def all(self) -> UInt32[Array, " W"]:
        """The whole board."""
        return jnp.asarray(_board(self))

    @property
    def edge(self) -> UInt32[Array, " W"]:
        """The points at the edge of the board."""
        return jnp.asarray(numpy_set(self, (self.near[:-1] == self.points).any(1)))

    # -- sets --------------------------------------------------------------------------------------------------
    def shift(self, points: Points, by: int) -> Points:
        """Every bit moved up by `by` (down where negative), at most 31; the result may leave the board."""
        gap = jnp.zeros_like(points[..., :1])
        if by >= 0:
            below = jnp.concatenate([gap, points[..., :-1]], axis=-1)
            return (points << jnp.uint32(by)) | (below >> jnp.uint32(32 - by))
        above = jnp.concatenate([points[..., 1:], gap], axis=-1)
        return (points >> jnp.uint32(-by)) | (above << jnp.uint32(32 + by))

    def beside(self, points: Points) -> Points:
        """What lies beside any of the points; may leave the board."""
        up, down, left, right = (self.shift(points, by) for by in (self.stride, -self.stride, 1, -1))
        return up | down | left | right

    def flood(self, seeds: Points, area: Points) -> Points:
        """The points of `area` connected with `seeds`, which lie in it. Costs nothing where there are no seeds."""
        return jax.lax.platform_dependent(seeds, area, cpu=self._flood, default=self._flood_in_strides)

    def _flood(self, seeds: Points, area: Points) -> Points:
        def spread(carry: tuple[Points, Points]) -> tuple[Points, Points]:
            reached, edge = carry
            edge = self.beside(edge) & area & ~reached
            return reached | edge, edge

        return jax.lax.while_loop(lambda carry: (carry[1] != 0).any(), spread, (seeds, seeds))[0]

    def _flood_in_strides(self, seeds: Points, area: Points) -> Points:
        """The same word by word, many steps in one kernel: before each turn of a loop a device waits for its host."""
        within = split(area)

        def stride(carry: tuple[Points, Points]) -> tuple[Points, Points]:
            reached = split(carry[0])
            for _ in range(STRIDE):
                before = reached
                moved = [shift(before, jnp.uint32(by)) for by in (self.stride, 1) for shift in (higher, lower)]
                reached = either(before, both(functools.reduce(either, moved), within))
            return jnp.stack(reached, axis=-1), jnp.stack(without(reached, before), axis=-1)

        return jax.lax.while_loop(lambda carry: (carry[1] != 0).any(), stride, (seeds, seeds))[0]

    def chains_of(self, seeds: Points, area: Points, chain: Integer[Array, " bits"]) -> Points:
        """The chains that hold a seed, of those that make up `area`; `chain` has their names."""
        return jax.lax.platform_dependent(seeds, area, chain, cpu=self._chains_by_flood, default=self._chains_by_name)

    def _chains_by_flood(self, seeds: Points, area: Points, chain: Integer[Array, " bits"]) -> Points:
        return self._flood(seeds, area)

    def _chains_by_name(self, seeds: Points, area: Points, chain: Integer[Array, " bits"]) -> Points:
        """Costs as much without seeds, but no loop."""
        nowhere = chain.dtype.type(self.nowhere)
        name = jnp.where(self.lanes(seeds), chain, nowhere).astype(jnp.int32)[None]
        word = jnp.arange(self.words, dtype=jnp.int32)[:, None]
        bits = jnp.where(name >> 5 == word, jnp.uint32(1) << (name & 31).astype(jnp.uint32), jnp.uint32(0))
        names = union(bits, axis=1)
        return self.pack(self.holds(names, chain.astype(jnp.int32)) & (chain != nowhere))

    def single(self, bit: Int[Array, ""]) -> UInt32[Array, " W"]:
        """The set of one point; nothing for nowhere."""
        mine = (jnp.arange(self.words) == (bit >> 5)) & (bit != self.nowhere)
        return jnp.where(mine, jnp.uint32(1) << (bit & 31).astype(jnp.uint32), jnp.uint32(0))

    def holds(self, points: UInt32[Array, " W"], bits: Int[Array, " k"]) -> Bool[Array, " k"]:
        """Whether each of these bits is in the set."""
        return (points[bits >> 5] >> (bits & 31).astype(jnp.uint32)) & jnp.uint32(1) != 0

    def count(self, points: Points) -> Int32[Array, "*sets"]:
        """How many points a set has."""
        return jax.lax.population_count(points).sum(-1, dtype=jnp.uint32).astype(jnp.int32)

    def first_beyond(self, points: UInt32[Array, " W"], bit: Int32[Array, ""]) -> Int32[Array, ""]:
        """The lowest bit of a set above this one (-1: of all); a number beyond all bits where there is none."""
        word = jnp.arange(self.words)
        above = jnp.uint32(0xFFFFFFFE) << (bit & 31).astype(jnp.uint32)
        left = jnp.where(word > bit >> 5, points, jnp.where(word == bit >> 5, points & above, jnp.uint32(0)))
        place = jnp.int32(31) - jax.lax.clz(left & (~left + jnp.uint32(1))).astype(jnp.int32)
        return jnp.where(left != 0, 32 * word + place, self.bits).min()

    # -- between sets and single points --------------------------------------------------------------------------
    def pack(self, chosen: Bool[Array, "*sets bits"]) -> Points:
        """The set of the chosen bits."""
        return pack(chosen)

    def lanes(self, points: UInt32[Array, " W"]) -> Bool[Array, " bits"]:
        """Which bits are in the set."""
        return ((points[:, None] >> jnp.arange(32, dtype=jnp.uint32)[None]) & jnp.uint32(1) != 0).reshape(-1)

    def on_points(self, lanes: Bool[Array, " bits"]) -> Bool[Array, " points"]:
        """The lanes that are points, row by row."""
        rows = lanes[: self.height * self.stride].reshape(self.height, self.stride)
        return rows[:, : self.width].reshape(-1)

    def unpack(self, points: UInt32[Array, " W"]) -> Bool[Array, " points"]:
        """Which points are in the set, row by row."""
        return self.on_points(self.lanes(points))


@functools.cache
def _bits_of_points(grid: Grid) -> np.ndarray:
    row, column = np.divmod(np.arange(grid.points), grid.width)
    return np.append(row * grid.stride + column, grid.nowhere).astype(np.int32)


@functools.cache
def _near(grid: Grid) -> np.ndarray:
    nothing = np.full((1, 4), grid.points, np.int32)
    return np.concatenate([board.neighbours(grid.height, grid.width), nothing])


@functools.cache
def _board(grid: Grid) -> np.ndarray:
    return numpy_set(grid, np.ones(grid.points, bool))


def numpy_set(grid: Grid, chosen: np.ndarray) -> np.ndarray:
    """The set of the chosen points (bool[points]), without a backend."""
    lanes = np.zeros(grid.bits, np.uint8)
    lanes[grid.bit[:-1]] = chosen
    return np.packbits(lanes, bitorder="little").view("<u4").astype(np.uint32)


def label_chains(grid: Grid, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each point of a drawn board a point that names its chain, and how many liberties the chain has."""
    names, liberties = np.arange(grid.points), np.zeros(grid.points, int)
    done: set[int] = set()
    for start in np.flatnonzero(cells).tolist():
        if start in done:
            continue
        chain, open_points, todo = {start}, set(), [start]
        while todo:
            for point in grid.near[todo.pop()].tolist():
                if point < grid.points and cells[point] == 0:
                    open_points.add(point)
                elif point < grid.points and cells[point] == cells[start] and point not in chain:
                    chain.add(point)
                    todo.append(point)
        done |= chain
        names[list(chain)], liberties[list(chain)] = start, len(open_points)
    return names, liberties


def most_handicap(grid: Grid) -> int:
    """How many stones a handicap may have that stands on the usual points; 0 where a board has none."""
    n = grid.height
    return 0 if n != grid.width or n < 7 else 9 if n % 2 and n > 7 else 4


def handicap_points(grid: Grid, stones: int) -> list[int]:
    """The usual star points, in the order of the Go Text Protocol's `fixed_handicap`."""
    n, most = grid.height, most_handicap(grid)
    if not 2 <= stones <= most:
        usual = f"2 to {most}" if most else "no"
        raise UsageError(f"a board of {grid.height} x {grid.width} takes {usual} handicap stones, not {stones}")
    edge = 3 if n >= 13 else 2
    low, high, mid = n - 1 - edge, edge, n // 2  # rows are counted from the top
    corners = [(low, edge), (high, low), (high, edge), (low, low)]
    sides = [(mid, edge), (mid, low), (high, mid), (low, mid)]
    where = corners[: min(stones, 4)] + sides[: max(0, 2 * ((stones - 4) // 2))]
    if stones > 4 and stones % 2:
        where.append((mid, mid))
    return [row * n + column for row, column in where]


def recolour(key: UInt32[Array, "2"]) -> UInt32[Array, "2"]:
    """The key of white stones from the key of black stones on the same points.

    A linear map without fixed points, so one table and one pass serve both colours at the full 64 bits.
    """
    return jnp.stack([key[1], key[0] ^ key[1]])


@functools.cache
def stone_keys(grid: Grid) -> np.ndarray:
    """`uint32[2, bits]`: the two words of a black stone's key; 0 where no point is."""
    words = np.zeros((2, grid.bits), np.uint32)
    words[:, grid.bit[:-1]] = zobrist.table("go stones", grid.height, grid.width).reshape(-1, 2).T
    return words
