"""Lines of stones on bit boards: the patterns of all games of five in a row.

A set of cells is `uint32[n]`, one word a row, column c in bit c. A pattern is written once, for one cell of a line, and
runs on all cells at a time: `own[k]` holds the cells that see one of their own stones k steps ahead. Along a row this
is a shift of bits. Down the board it is a shift of rows, after every row has been turned so far that the cells of a
diagonal stand in one column; a word has so many more bits than the board has columns that nothing wraps.
"""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Integer, UInt32

from jaxgo.core.board import AXES

Rows = UInt32[Array, " n"]
Near = dict[int, Array]  # what every cell sees k steps ahead, k = -5..5
# What wins: five or more; exactly five; the same two, but not a five between two enemies
Rule = Literal["free", "exact", "caro", "caro5"]
EXACT = ("exact", "caro5")

REACH = 5
MIDDLE = REACH  # the bit of the cell itself in a word of `star`


# -- sets -------------------------------------------------------------------------------------------------------
def all_cells(n: int) -> Rows:
    """The whole board."""
    return jnp.full(n, (1 << n) - 1, jnp.uint32)


def pack(member: Bool[Array, " cells"], n: int) -> Rows:
    """The set of the cells where `member` holds."""
    bits = member.reshape(n, n).astype(jnp.uint32) << jnp.arange(n, dtype=jnp.uint32)[None]
    return bits.sum(axis=1, dtype=jnp.uint32)


def unpack(rows: UInt32[Array, "*k n"]) -> Bool[Array, "*k cells"]:
    """A set as one bool a cell."""
    n = rows.shape[-1]
    columns = jnp.arange(n, dtype=jnp.uint32).reshape((1,) * rows.ndim + (n,))
    rows = jax.lax.optimization_barrier(rows)  # else every cell would work out its row anew
    return (rows[..., None] >> columns & 1 != 0).reshape(*rows.shape[:-1], n * n)


def one_cell(cell: Integer[Array, ""], n: int) -> Rows:
    """The set of one cell; the empty set for a number beyond the board."""
    row, column = jnp.divmod(cell.astype(jnp.int32), n)
    return jnp.where(jnp.arange(n) == row, jnp.uint32(1) << column.astype(jnp.uint32), jnp.uint32(0))


def around(cells: Rows, reach: int) -> Rows:
    """Where a cell of the set is seen within reach, along rows, columns and diagonals; mask what is off the board."""
    seen = jnp.zeros_like(cells)
    for k in range(1, reach + 1):
        row = cells << k | cells >> k
        other_rows = row | cells
        seen |= row | jnp.pad(other_rows[k:], (0, k)) | jnp.pad(other_rows[:-k], (k, 0))
    return seen


def union(sets: Sequence[Array]) -> Array:
    return functools.reduce(operator.or_, sets)


def common(sets: Sequence[Array]) -> Array:
    return functools.reduce(operator.and_, sets)


def at_least(most: int, sets: Sequence[Array]) -> list[Array]:
    """The cells in at least 1, 2, ... `most` of the sets."""
    result = [jnp.zeros_like(sets[0])] * most
    for cells in sets:
        for i in reversed(range(most)):
            result[i] |= cells & result[i - 1] if i else cells
    return result


# -- four directions ---------------------------------------------------------------------------------------------
class Look(NamedTuple):
    """What the cells see along the rows (words `[h]`), and down the board and its diagonals (words `[3, h]`)."""

    flat: Near
    tall: Near


def _turns(h: int) -> np.ndarray:
    """How far every row turns to the right for the columns, the diagonals and the anti-diagonals, `uint32[3, h]`."""
    return (np.array([[0], [1], [-1]]) * np.arange(h) % 32).astype(np.uint32)


def _turn(words: UInt32[Array, "k h"], right: np.ndarray) -> UInt32[Array, "k h"]:
    return words >> jnp.asarray(right) | words << jnp.asarray((32 - right) % 32)


def look(sets: Rows | Sequence[Rows]) -> Look:
    """Looks at a set; with four of them, at another one in each direction."""
    four = [sets] * 4 if isinstance(sets, jax.Array) else sets
    n = four[0].shape[0]
    h = -(-n // 8) * 8  # whole vectors of words are faster, and rows below the board are empty
    flat = jnp.pad(four[0], (0, h - n))
    tall = jnp.pad(_turn(jnp.stack(four[1:]), _turns(n)), ((0, 0), (REACH, REACH + h - n)))
    flat, tall = jax.lax.optimization_barrier((flat, tall))  # else every use would turn the rows again
    down = {k: jax.lax.slice_in_dim(tall, REACH + k, REACH + k + h, axis=1) for k in range(-REACH, REACH + 1)}
    return Look(along(flat), down)


def along(words: Array) -> Near:
    """What the cells see along the bits of a word."""
    return {k: words >> k if k >= 0 else words << -k for k in range(-REACH, REACH + 1)}


def everywhere(pattern: Callable[..., Sequence[Array]], n: int, *looks: Look) -> list[list[Rows]]:
    """The sets that a pattern finds, each in the four directions. They may reach beyond the board: mask them."""
    found = [pattern(*(seen.flat for seen in looks)), pattern(*(seen.tall for seen in looks))]
    flat, tall = jax.lax.optimization_barrier([jnp.stack(x) for x in found])
    back = _turn_back(tall)
    return [[flat[i, :n], *(back[i][d, :n] for d in range(3))] for i in range(flat.shape[0])]


def _turn_back(tall: UInt32[Array, "k 3 h"]) -> list[Array]:
    back = (32 - _turns(tall.shape[-1])) % 32
    return [_turn(words, back) for words in tall]


def star(sets: UInt32[Array, "k n"], cell: Integer[Array, ""]) -> UInt32[Array, "k 4"]:
    """The four lines through a cell, eleven cells of each, the cell itself in bit 5."""
    row, column = jnp.divmod(cell.astype(jnp.int32), sets.shape[-1])
    # five empty cells are added on all sides, so that the cell stands in bit column + 5
    padded = jnp.pad(sets << REACH, ((0, 0), (REACH, REACH)))
    window = jax.lax.dynamic_slice_in_dim(padded, row, 2 * REACH + 1, axis=1)
    index = jnp.arange(2 * REACH + 1)
    words = [window[:, REACH] >> column.astype(jnp.uint32) & jnp.uint32((1 << 2 * REACH + 1) - 1)]
    for _, slope in AXES[1:]:
        at = (column + REACH + slope * (index - REACH)).astype(jnp.uint32)
        bits = window >> at[None] & 1
        words.append((bits << index.astype(jnp.uint32)[None]).sum(axis=1, dtype=jnp.uint32))
    return jnp.stack(words, axis=1)


# -- patterns ----------------------------------------------------------------------------------------------------
def _and(cells: Array, more: Array | None) -> Array:
    return cells if more is None else cells & more


def _wins(own: Near, other: Near, rule: Rule, i: int) -> Array | None:
    """Whether a five counts whose i-th stone stands on the cell; None: always."""
    before, after = -i - 1, 5 - i
    between, longer = other[before] & other[after], own[before] | own[after]
    return {"free": None, "exact": ~longer, "caro": ~between, "caro5": ~(between | longer)}[rule]


def fives(own: Near, other: Near, rule: Rule) -> Array:
    """Where a stone wins."""
    planes = []
    for i in range(5):
        rest = common([own[j - i] for j in range(5) if j != i])
        planes.append(_and(rest, _wins(own, other, rule, i)))
    return union(planes)


def sixes(own: Near) -> Array:
    """Where a stone makes a line of six or more."""
    left, right = [own[-1]], [own[1]]  # at least 1, 2, ... 5 stones on this side
    for k in range(2, 6):
        left.append(left[-1] & own[-k])
        right.append(right[-1] & own[k])
    return union([left[4], right[4], *(left[k] & right[3 - k] for k in range(4))])


def fours(own: Near, other: Near, free: Near, rule: Rule) -> list[Array]:
    """Where a stone leaves a five lines short of one stone, by the place of the stone in that five."""
    planes = []
    for i in range(5):
        a, b, c, d = (j - i for j in range(5) if j != i)
        one_short = (own[a] & own[b]) & (own[c] & free[d] | free[c] & own[d])
        one_short |= (own[a] & free[b] | free[a] & own[b]) & (own[c] & own[d])
        planes.append(_and(one_short, _wins(own, other, rule, i)))
    return planes


def straight(own: Near, free: Near, rule: Rule) -> Array:
    """Where a stone makes four in a row that both ends complete."""
    planes = []
    for i in range(4):
        rest = [own[j - i] for j in range(4) if j != i]
        planes.append(common(rest + _open_ends(own, free, rule, i)))
    return union(planes)


def seconds(own: Near, free: Near, rule: Rule) -> dict[int, Array]:
    """For every offset k: where a stone and another one k steps ahead make four in a row that both ends complete."""
    planes: dict[int, list[Array]] = {k: [] for k in range(-3, 4) if k}
    for i in range(4):
        ends = common(_open_ends(own, free, rule, i))
        for j in range(4):
            if j != i:
                a, b = (m - i for m in range(4) if m not in (i, j))
                planes[j - i].append(own[a] & own[b] & free[j - i] & ends)
    return {k: union(found) for k, found in planes.items()}


def _open_ends(own: Near, free: Near, rule: Rule, i: int) -> list[Array]:
    """Four in a row whose i-th stone stands on the cell: free ends, that do not join a fifth stone where it hurts."""
    ends = [free[-i - 1], free[4 - i]]
    return ends if rule not in EXACT else [*ends, ~(own[-i - 2] | own[5 - i])]


def completions(own: Near, other: Near, free: Near, rule: Rule) -> list[Array]:
    """Where a stone leaves a win at the free cell k steps ahead, for k = -4..-1, 1..4."""
    planes: dict[int, list[Array]] = {k: [] for k in range(-4, 5) if k}
    for i in range(5):
        wins = _wins(own, other, rule, i)
        for j in range(5):
            if j != i:
                rest = common([own[m - i] for m in range(5) if m not in (i, j)])
                planes[j - i].append(_and(rest & free[j - i], wins))
    return [union(found) for found in planes.values()]


def threats(own: Near, other: Near, free: Near, rule: Rule) -> list[Array]:
    """Where a stone wins; leaves at least one, two winning cells in this line; may become four with open ends."""
    one, two = at_least(2, completions(own, other, free, rule))
    return [fives(own, other, rule), one, two, union(list(seconds(own, free, rule).values()))]
