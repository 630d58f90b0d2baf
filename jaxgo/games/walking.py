"""Walking distance: how many moves an n-puzzle needs at least, by where its tiles are to go up and down.

Look at the rows only: how many tiles of each row belong to which. A move that goes up or down exchanges a tile of the
empty cell's row with the empty cell. The moves that such a table of counts needs are found once, from the solved one,
by plain breadth-first search; those of the columns are counted alike, and no move helps both.
"""

import functools
import itertools
import math
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int8, Int32

MOST = 1 << 20  # entries of the table; larger puzzles go without
FAR = 255

Counts = tuple[int, ...]  # of the tiles of one line: how many belong to each


class Walks(NamedTuple):
    """Moves that tables of counts need, as `least[code of line 0, code of line 1, ...]` without the last line."""

    codes: np.ndarray  # int32[(width + 1) ** lines]: the code of a line, from its counts as digits
    least: np.ndarray  # uint8[codes, codes, ...]


@functools.cache
def walks(lines: int, width: int, home: int) -> Walks | None:
    """For so many lines of so many cells, the empty cell at home in line `home`; None: there are too many."""
    base = width + 1
    # counted before they are listed: what the listing goes through doubles and more with every line
    count = sum(math.comb(lines + tiles - 1, tiles) for tiles in (width - 1, width))
    if count ** (lines - 1) > MOST:
        return None
    found = [c for c in itertools.product(range(base), repeat=lines) if sum(c) in (width - 1, width)]
    codes = np.zeros(base**lines, np.int32)
    for code, counts in enumerate(found):
        codes[_digits(counts, base)] = code
    least = np.full((len(found),) * (lines - 1), FAR, np.uint8)
    solved = tuple(tuple((width - (i == home)) * (i == j) for j in range(lines)) for i in range(lines))
    layer, seen, moves = [solved], {solved}, 0
    while layer:
        for table in layer:
            least[tuple(int(codes[_digits(counts, base)]) for counts in table[:-1])] = moves
        layer = [after for table in layer for after in _after(table, width) if not (after in seen or seen.add(after))]  # type: ignore[func-returns-value]
        moves += 1
    return Walks(codes, least)


def _digits(counts: Counts, base: int) -> int:
    return sum(count * base**i for i, count in enumerate(counts))


def _after(table: tuple[Counts, ...], width: int) -> list[tuple[Counts, ...]]:
    """The tables one move further: a tile of a line beside the empty cell's comes into that."""
    hole = next(i for i, counts in enumerate(table) if sum(counts) < width)
    found = []
    for line in (hole - 1, hole + 1):
        if 0 <= line < len(table):
            for kind, count in enumerate(table[line]):
                if count:
                    rows = [list(counts) for counts in table]
                    rows[line][kind] -= 1
                    rows[hole][kind] += 1
                    found.append(tuple(tuple(row) for row in rows))
    return found


def least_moves(lines_of: np.ndarray, blocks: Int8[Array, "lines width"], home: int) -> Int32[Array, ""] | None:
    """The moves across lines that the tiles need; `lines_of[code]` is the line where a tile belongs."""
    lines, width = blocks.shape
    known = walks(lines, width, home)
    if known is None:
        return None
    worth = np.array([0, *(width + 1) ** lines_of[1:]], np.int32)  # the empty cell counts nowhere
    code = jnp.asarray(known.codes)[jnp.asarray(worth)[blocks].sum(axis=1)]
    place = jnp.int32(0)
    for line in range(lines - 1):
        place = place * known.least.shape[0] + code[line]
    return jnp.asarray(known.least.reshape(-1))[place].astype(jnp.int32)
