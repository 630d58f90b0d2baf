"""Threat scores of single points, after the program Zero+: what would a stone here make in each of its four lines?

Along a line one looks outward from the point, both ways: at most five cells, up to an enemy stone (the edge counts as
one) or to the second empty cell. What is seen is named by the number of stones and their shape: `s` straight or `b`
blocked on a side, `p` poked (with a gap inside), `5` a win. All that can be seen is a table, so a score is one look-up.

Two faults of the original are mended where five or more win: a line of six is a win, and `SSS.SS`, which one stone
turns into a win, is a poked four.
"""

import functools
import itertools
import operator
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32, Int8, Int32, UInt8, UInt32

# the original gives a five 1e15, which leaves nothing of the others in 32 bits
WEIGHTS = {
    "5": 1e9, "s4": 1e5, "sp4": 1e4, "b4": 1e4, "bp4": 1e4, "s3": 5000.0, "sp3": 5000.0, "b3": 1670.0, "bp3": 1670.0,
    "s2": 1500.0, "sp2": 1500.0, "b2": 500.0, "bp2": 300.0,
}  # fmt: skip
REACH = 5
# An arm is what stands on the cells from a point to the edge, at most five, as digits of base 3 (the nearest lowest;
# 0 empty, 1 black, 2 white); arms of each length have their own numbers.
FIRST = np.array([0, 1, 4, 13, 40, 121])  # the first number of the arms of 0..5 cells
ARMS = 364
DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


def classify(line: str, exact: bool) -> list[str]:
    """The threats of a line of `S` (own), `.` and `E` (enemy or edge); `exact`: only five win, not more."""
    blocked = line[0] == "E", line[-1] == "E"
    first, last = int(blocked[0]), len(line) - 1 - int(blocked[1])
    if all(blocked) and last - first + 1 < 5:
        return []
    names = []
    for start, end, sizes in _groups(line):
        kind = _kind(sizes, exact)
        if kind == "5":
            names.append("5")
        elif kind:
            side = (blocked[0] and start == first) or (blocked[1] and end == last)
            names.append(("b" if side else "s") + kind)
    return names


def _groups(line: str) -> list[tuple[int, int, list[int]]]:
    """First and last cell and the blocks of every group: a block alone, or two with one empty cell between."""
    blocks = []
    for own, cells in itertools.groupby(enumerate(line), lambda item: item[1] == "S"):
        if own:
            found = [index for index, _ in cells]
            blocks.append((found[0], found[-1]))
    pairs = [(a, b) for a, b in itertools.pairwise(blocks) if b[0] - a[1] == 2]
    joined = {block for pair in pairs for block in pair}
    alone = [(*block, [block[1] - block[0] + 1]) for block in blocks if block not in joined]
    return alone + [(a[0], b[1], [a[1] - a[0] + 1, b[1] - b[0] + 1]) for a, b in pairs]


def _kind(sizes: list[int], exact: bool) -> str:
    """`2` to `5`, with a `p` before it if poked; nothing for what is no threat."""
    stones = sum(sizes)
    if max(sizes) == 5 or (max(sizes) > 5 and not exact):
        return "5"
    if len(sizes) == 1:
        return str(stones) if 2 <= stones <= 4 else ""
    if stones >= 5:
        return "" if exact else "p4"
    return f"p{stones}"


def _seen(arm: int, colour: int) -> str:
    """What this colour sees along an arm."""
    length = int(np.searchsorted(FIRST, arm, side="right")) - 1
    digits, cells = arm - int(FIRST[length]), ""
    for _ in range(length):
        digits, cell = divmod(digits, 3)
        cells += "." if cell == 0 else "S" if cell == colour else "E"
        if cells[-1] == "E" or cells.count(".") == 2:
            return cells
    return cells if length == REACH else cells + "E"


@functools.cache
def line_counts(colour: int, exact: bool) -> np.ndarray:
    """`int8[ARMS, ARMS, len(WEIGHTS)]`: how many threats of each name two arms give to a colour (1 or 2)."""
    seen = [_seen(arm, colour) for arm in range(ARMS)]
    kinds = sorted(set(seen))
    number = np.array([kinds.index(s) for s in seen])
    names = list(WEIGHTS)
    table = np.zeros((len(kinds), len(kinds), len(names)), np.int8)
    for (i, one), (j, other) in itertools.product(enumerate(kinds), repeat=2):
        for name in classify(one[::-1] + "S" + other, exact):
            table[i, j, names.index(name)] += 1
    return table[number[:, None], number[None]]


@functools.cache
def line_scores(exact: tuple[bool, bool]) -> np.ndarray:
    """`float32[ARMS * ARMS, 2]`: the weights of the threats of Black and of White together, by what wins for them."""
    return tables(tuple(WEIGHTS.values()), exact)


def tables(weights: Sequence[float], exact: tuple[bool, bool]) -> np.ndarray:
    """The same for other weights, in the order of `WEIGHTS`."""
    worth = np.array(weights, np.float32)
    counts = [line_counts(colour + 1, exact[colour]).reshape(-1, len(worth)) for colour in (0, 1)]
    return np.stack([count @ worth for count in counts], axis=1)


@functools.cache
def count_tables(exact: tuple[bool, bool]) -> np.ndarray:
    """`float32[lines, 2 * names]`: how many threats of each name two arms give, for Black, then for White."""
    counts = [line_counts(colour + 1, exact[colour]).reshape(-1, len(WEIGHTS)) for colour in (0, 1)]
    return np.concatenate(counts, axis=1).astype(np.float32)


@functools.cache
def _bases(n: int, width: int) -> np.ndarray:
    """`int32[4, n * width]`: the number of two arms of empty cells; columns from n on are no points."""
    row, column = np.divmod(np.arange(n * width), width)
    table = []
    for dr, dc in DIRECTIONS:
        ahead = _room(row, dr, n), _room(column, dc, n)
        behind = _room(row, -dr, n), _room(column, -dc, n)
        table.append(FIRST[np.minimum(*ahead)] * ARMS + FIRST[np.minimum(*behind)])
    return np.where(column < n, np.stack(table), 0).astype(np.int32)


def _room(at: np.ndarray, step: int, n: int) -> np.ndarray:
    """How many steps there are to the edge, at most five."""
    free = {-1: at, 0: np.full_like(at, REACH), 1: n - 1 - at}[step]
    return np.clip(free, 0, REACH)


class Board(NamedTuple):
    """What can be seen from every point, as one long row of cells: five empty columns part the rows of the board, so
    that a step in any direction is a shift."""

    cells: UInt8[Array, " W"]  # 0 empty, 1 black, 2 white; columns from n on are no points
    lines: Int32[Array, "4 W"]  # the two arms in every direction: ahead * ARMS + behind


def looked_at(stones: UInt32[Array, "2 n"]) -> Board:
    """`stones` are the sets of `lines`."""
    n = stones.shape[1]
    width, above = n + REACH, REACH + 1
    rows = jnp.pad(stones, ((0, 0), (above, above)))
    columns = jnp.arange(width, dtype=jnp.uint32)[None, None]
    black, white = (rows[:, :, None] >> columns & 1).astype(jnp.uint8).reshape(2, -1)
    cells = black + white * jnp.uint8(2)
    digits = jax.lax.optimization_barrier([cells * jnp.uint8(3**k) for k in range(REACH)])

    def arm(dr: int, dc: int) -> Array:
        steps = [above * width + (k + 1) * (dr * width + dc) for k in range(REACH)]
        return functools.reduce(operator.add, (digits[k][at : at + n * width] for k, at in enumerate(steps)))

    arms = jax.lax.optimization_barrier([(arm(dr, dc), arm(-dr, -dc)) for dr, dc in DIRECTIONS])
    seen = [ahead.astype(jnp.int32) * ARMS + behind.astype(jnp.int32) for ahead, behind in arms]
    return Board(digits[0][above * width : (above + n) * width], jnp.stack(seen) + _bases(n, width))


def point_scores(stones: UInt32[Array, "2 n"], tables: Float32[Array, "lines k"]) -> Float32[Array, "k cells"]:
    """The score of every point by some tables of lines, which lie side by side, so that one look finds them all."""
    n = stones.shape[1]
    lines = looked_at(stones).lines
    total = functools.reduce(operator.add, [tables[lines[d]] for d in range(len(DIRECTIONS))])
    return total.reshape(n, -1, tables.shape[1])[:, :n].reshape(n * n, -1).T


def leads(
    stones: UInt32[Array, "2 n"], tables: Float32[Array, "lines 2"], points: Int32[Array, " K"], colour: Int8[Array, ""]
) -> Float32[Array, " K"]:
    """The scores of all black stones less those of the white ones, after a stone of a colour on each of some empty
    points. A stone adds its own scores, and changes those of the stones in its four lines."""
    n = stones.shape[1]
    width, edge = n + REACH, REACH * (n + REACH + 1)
    board, barrier = looked_at(stones), jax.lax.optimization_barrier
    cells, lines = board.cells.astype(jnp.int32), barrier(board.lines)

    def signed(both: Array, cell: Array) -> Array:
        """What scores give to the stone on a cell, for Black; 0 where there is none."""
        return jnp.where(cell == 1, both[..., 0], jnp.where(cell == 2, -both[..., 1], 0.0))

    # barriers, because XLA would fuse a look-up with all its uses, and do it again for each of them
    scores = barrier(functools.reduce(operator.add, [tables[lines[d]] for d in range(len(DIRECTIONS))]))
    at, stone = points // n * width + points % n, colour.astype(jnp.int32) + 1
    words = barrier(jnp.pad(lines * 4 + cells[None], ((0, 0), (edge, edge))))  # a line and a cell in one word
    direction = np.repeat(np.arange(len(DIRECTIONS)), 2 * REACH)[None]
    k = np.tile([*range(-REACH, 0), *range(1, REACH + 1)], len(DIRECTIONS))[None]
    step = np.array([dr * width + dc for dr, dc in DIRECTIONS])[direction]
    digit = 3 ** (np.abs(k) - 1) * np.where(k > 0, 1, ARMS)  # the new stone stands behind what is ahead of it
    word = barrier(words[direction, at[:, None] + jnp.asarray(edge + k * step, jnp.int32)])
    line, cell = word >> 2, word & 3
    after = barrier(tables[line + stone * jnp.asarray(digit, jnp.int32)])
    change = signed(after, cell) - signed(barrier(tables[line]), cell)
    return signed(scores, cells).sum() + signed(scores[at], stone) + change.sum(axis=1)
