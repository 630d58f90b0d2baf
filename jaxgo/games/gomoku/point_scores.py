"""Threat scores of single points, after the program Zero+: what would a stone here make in each of its four lines?

Along a line one looks outward from the point, both ways: at most five cells, up to an enemy stone, the edge (which is
as good as one, but in caro) or the second empty cell. What is seen is named by the number of stones and their shape:
`s` straight or `b` blocked on a side, `p` poked (with a gap inside), `5` a win. All that can be seen is a table, so a
score is one look-up.

Two faults of the original are mended where five or more win: a line of six is a win, and `SSS.SS`, which one stone
turns into a win, is a poked four.
"""

import functools
import itertools
import operator
from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int8, Int32, UInt32

from jaxgo.core.board import AXES
from jaxgo.games.gomoku.lines import EXACT, Rule

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
LINES = ARMS * ARMS
NEAR = 2  # steps


def classify(line: str, rule: Rule) -> list[str]:
    """The threats of a line of `S` (own), `.`, `E` (enemy) and `#` (the edge of the board), by what wins."""
    blocked = line[0] in "E#", line[-1] in "E#"
    first, last = int(blocked[0]), len(line) - 1 - int(blocked[1])
    # in caro five cells between two enemies hold no line that wins; between an enemy and the edge they do
    least = 6 if rule.startswith("caro") and line[0] == line[-1] == "E" else 5
    if all(blocked) and last - first + 1 < least:
        return []
    names = []
    for start, end, sizes in _groups(line):
        kind = _kind(sizes, rule in EXACT)
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
    return cells if length == REACH else cells + "#"


@functools.cache
def line_counts(colour: int, rule: Rule) -> np.ndarray:
    """`int8[ARMS, ARMS, len(WEIGHTS)]`: how many threats of each name two arms give to a colour (1 or 2)."""
    seen = [_seen(arm, colour) for arm in range(ARMS)]
    kinds = sorted(set(seen))
    number = np.array([kinds.index(s) for s in seen])
    names = list(WEIGHTS)
    table = np.zeros((len(kinds), len(kinds), len(names)), np.int8)
    for (i, one), (j, other) in itertools.product(enumerate(kinds), repeat=2):
        for name in classify(one[::-1] + "S" + other, rule):
            table[i, j, names.index(name)] += 1
    return table[number[:, None], number[None]]


@functools.cache
def line_scores(rules: tuple[Rule, Rule]) -> np.ndarray:
    """`float32[ARMS * ARMS, 2]`: the weights of the threats of Black and of White together, by what wins for them."""
    return tables(tuple(WEIGHTS.values()), rules)


def tables(weights: Sequence[float], rules: tuple[Rule, Rule]) -> np.ndarray:
    """The same for other weights, in the order of `WEIGHTS`."""
    worth = np.array(weights, np.float32)
    counts = [line_counts(colour + 1, rules[colour]).reshape(-1, len(worth)) for colour in (0, 1)]
    return np.stack([count @ worth for count in counts], axis=1)


def worths(scores: Float32[np.ndarray, "lines 2"], apart: bool = False) -> np.ndarray:
    """`float32[3 * lines]`: what a line is worth through an empty point, to both colours together; through a black
    stone, to Black; and through a white one, which is as much less to him. `apart`: `float32[3 * lines, 2]`, Black's
    and White's side by side."""
    black, white = scores.T
    if not apart:
        return np.concatenate([black + white, black, -white])
    none = np.zeros_like(black)
    each = [black, white], [black, none], [none, -white]
    return np.concatenate([np.stack(one, axis=1) for one in each])


@functools.cache
def fives(rule: Rule) -> np.ndarray:
    """`bool[2 * lines]`: the lines that a stone of Black, a stone of White on an empty point wins by."""
    arm = np.arange(ARMS)
    length = np.searchsorted(FIRST, arm, side="right") - 1
    digits = (arm - FIRST[length])[:, None] // 3 ** np.arange(REACH + 1) % 3  # beyond the edge 0, which is no enemy
    found = []
    for own in (1, 2):
        run = np.cumprod(digits == own, axis=1).sum(axis=1)
        stopped = np.take_along_axis(digits, run[:, None], axis=1)[:, 0] == 3 - own
        stones, between = 1 + run[:, None] + run[None], stopped[:, None] & stopped[None]
        five = stones == 5 if rule in EXACT else stones >= 5
        found.append(five & ~(between & (stones == 5)) if rule.startswith("caro") else five)
    return np.stack(found).reshape(-1)


@functools.cache
def _bases(n: int) -> np.ndarray:
    """`uint32[4, cells]`: the number of two arms of empty cells."""
    row, column = np.divmod(np.arange(n * n), n)
    table = []
    for dr, dc in AXES:
        ahead = _room(row, dr, n), _room(column, dc, n)
        behind = _room(row, -dr, n), _room(column, -dc, n)
        table.append(FIRST[np.minimum(*ahead)] * ARMS + FIRST[np.minimum(*behind)])
    return np.stack(table).astype(np.uint32)


@functools.cache
def _around(n: int) -> np.ndarray:
    """`int32[cells, 4, 11]`: the cells of the four lines through a cell, up to five steps away; itself for what is off
    the board."""
    cell = np.arange(n * n)[:, None]
    row, column = np.divmod(cell, n)
    k = np.arange(-REACH, REACH + 1)
    table = []
    for dr, dc in AXES:
        r, c = row + k * dr, column + k * dc
        inside = (r >= 0) & (r < n) & (c >= 0) & (c < n)
        table.append(np.where(inside, r * n + c, cell))
    return np.stack(table, axis=1).astype(np.int32)


def _room(at: np.ndarray, step: int, n: int) -> np.ndarray:
    """How many steps there are to the edge, at most five."""
    free = {-1: at, 0: np.full_like(at, REACH), 1: n - 1 - at}[step]
    return np.clip(free, 0, REACH)


class Board(NamedTuple):
    """What can be seen from every point."""

    # in every direction the two arms, behind what stands on the point: stone * LINES + ahead * ARMS + behind
    lines: Int32[Array, "4 cells"]  # stone: 0 empty, 1 black, 2 white
    near: Bool[Array, " cells"]  # a stone stands within two steps in some direction


def looked_at(stones: UInt32[Array, "2 n"]) -> Board:
    """`stones` are the sets of `lines`."""
    n, above = stones.shape[1], REACH + 1
    rows = jnp.pad(stones, ((0, 0), (above, above)))
    columns = jnp.arange(n, dtype=jnp.uint32)[None, None]
    # one long row of cells: a step in any direction is a shift
    black, white = (rows[:, :, None] >> columns & 1).astype(jnp.uint8).reshape(2, -1)
    cells = black + white * jnp.uint8(2)
    first, size, column = above * n, n * n, np.arange(n * n) % n

    def seen(k: int, dr: int, dc: int) -> Array:
        """What stands k steps away; nothing off the board, where a shift sees another row."""
        at, there = first + k * (dr * n + dc), column + k * dc
        inside = np.where((there >= 0) & (there < n), 3, 0).astype(np.uint8)
        return cells[at : at + size] & jnp.asarray(inside) if dc else cells[at : at + size]

    def arm(dr: int, dc: int) -> Array:
        ahead = [seen(k, dr, dc) for k in range(REACH, 0, -1)]
        return functools.reduce(lambda number, cell: number * jnp.uint8(3) + cell, ahead).astype(jnp.uint32)

    here = cells[first : first + size].astype(jnp.uint32) * LINES
    found = [arm(dr, dc) * ARMS + arm(-dr, -dc) + (here + base) for (dr, dc), base in zip(AXES, _bases(n), strict=True)]
    ways = [*AXES, *((-dr, -dc) for dr, dc in AXES)]
    near = functools.reduce(operator.or_, [seen(k, *way) for k in range(1, NEAR + 1) for way in ways])
    # XLA writes a stack down, and so looks once, if what is done with it is more than to take it apart again: hence
    # words that are made numbers here, and not before
    board = jnp.stack([*found, near.astype(jnp.uint32)]).astype(jnp.int32)
    return Board(board[:4], board[4] > 0)


def _look_up(table: Array, at: Int32[Array, "*s"]) -> Array:
    """All lines have a place in their table, so nobody need ask."""
    return table.at[at].get(mode="promise_in_bounds", wrap_negative_indices=False)


class Judged(NamedTuple):
    lead: Float32[Array, ""]  # the scores of all black stones less those of the white ones
    scores: Float32[Array, " cells"]  # of a point for both colours; 0 where a stone stands
    near: Bool[Array, " cells"]  # within two steps of a stone


def judged(stones: UInt32[Array, "2 n"], worth: Float32[Array, "*lines"]) -> Judged:
    """What a table of `worths` says of a board. A point is worth what it is to both colours, or, where the table keeps
    them apart, to the one that gains more from it."""
    board = looked_at(stones)
    total, taken = _totals(board, worth)
    together, score = (total, total) if worth.ndim == 1 else (total.sum(axis=1), total.max(axis=1))
    return Judged(jnp.where(taken, together, 0.0).sum(), jnp.where(taken, 0.0, score), board.near)


def _totals(board: Board, worth: Float32[Array, "*lines"]) -> tuple[Float32[Array, "*cells"], Bool[Array, " cells"]]:
    """The four lines of every point together, and where stones stand."""
    return functools.reduce(operator.add, [_look_up(worth, line) for line in board.lines]), board.lines[0] >= LINES


class Tried(NamedTuple):
    lead: Float32[Array, " K"]  # the scores of all black stones less those of the white ones, after each move
    won: Bool[Array, " K"]


def tried(
    stones: UInt32[Array, "2 n"],
    worth: Float32[Array, "*lines"],
    rule: Rule,
    points: Int32[Array, " K"],
    colour: Int8[Array, ""],
) -> Tried:
    """What a stone of a colour leads to on each of some empty points, where this wins for both colours. It adds its own
    scores, and changes those of the stones in its four lines."""
    board = looked_at(stones)
    worth = worth if worth.ndim == 1 else worth.sum(axis=1)  # stones alone count, and each has one colour
    total, taken = _totals(board, worth)
    stone = colour.astype(jnp.int32) + 1
    k = np.tile(np.arange(-REACH, REACH + 1), len(AXES))[None]
    # the new stone stands behind what is ahead of it, and on its own point
    digit = np.where(k == 0, LINES, 3 ** np.maximum(np.abs(k) - 1, 0) * np.where(k > 0, 1, ARMS))
    around = _look_up(jnp.asarray(_around(stones.shape[1])), points)
    # direction by direction: all lines in one row would have to be put into one first
    seen = [_look_up(lines, around[:, way]) for way, lines in enumerate(board.lines)]
    line = jnp.concatenate(seen, axis=1)
    after = _look_up(worth, line + stone * jnp.asarray(digit, jnp.int32))
    change = jnp.where(line >= LINES, after - _look_up(worth, line), 0.0)
    lead = jnp.where(taken, total, 0.0).sum() + jnp.where(k == 0, after, change).sum(axis=1)
    own = line[:, np.flatnonzero(k[0] == 0)] + colour.astype(jnp.int32) * LINES
    return Tried(lead, _look_up(jnp.asarray(fives(rule)), own).any(axis=1))
