"""The points that renju forbids to Black: overline, double four, double three.

A stone that makes an exact five is always allowed. Else it is forbidden if it makes a line of six or more, two fours
(both may lie in one line) or two threes. A four is four stones, the new one among them, that one more stone turns into
an exact five. There is a three where one more stone gives a straight four together with the new one, makes no five
itself, and is not forbidden: so the rule calls itself, on a board with one more stone.

Nearly all points are decided at once for the whole board: the second stone of a three stands in three other lines,
which are as they are now, and only if it might be a double three itself the question goes deeper. Such points are left
in doubt (one position in a hundred has one, in random games), and a search without limits decides them one by one.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int8, Int16, UInt32

from jaxgo.core.board import AXES
from jaxgo.games.gomoku import lines
from jaxgo.games.gomoku.lines import Near, Rows

OFFSETS = (-3, -2, -1, 1, 2, 3)  # where the second stone of a three may stand
PAIRS = 4 * len(OFFSETS)  # a direction and an offset: a second stone
OTHERS = [[k for k in range(4) if k != d] for d in range(4)]
LANES = 16  # positions of a batch that are searched side by side


# -- the whole board at once --------------------------------------------------------------------------------------
def _shapes(own: Near, free: Near) -> list[Array]:
    """Along a line, where a stone makes: a five; two fours or a six; any of five, six and four; perhaps a three."""
    five = lines.fives(own, own, "exact")
    six = lines.sixes(own)
    one, two, three = lines.at_least(3, lines.fours(own, own, free, "exact"))
    # the two cells that complete a straight four make one four, not two
    double = three | two & ~lines.straight(own, free, "exact")
    perhaps = lines.union(list(lines.seconds(own, free, "exact").values()))
    return [five, double | six, five | six | one, perhaps]


def _threes(own: Near, free: Near, likely: Near, certain: Near) -> list[Array]:
    """Where a stone makes a three, if the second stone may stand on the `likely` cells, on the `certain` ones."""
    seconds = lines.seconds(own, free, "exact")
    return [lines.union([seconds[k] & good[k] for k in OFFSETS]) for good in (likely, certain)]


def forbidden_points(black: Rows, white: Rows) -> Rows:
    """The free cells that Black may not take."""
    n = black.shape[0]
    free = lines.all_cells(n) & ~(black | white)
    own_look, free_look = lines.look(black), lines.look(free)
    five, hard, strong, perhaps = lines.everywhere(_shapes, n, own_look, free_look)
    # strong in two lines: a double four, if it is neither a five nor hard already
    known = lines.union(hard) | lines.at_least(2, strong)[1]
    # A second stone that is strong in another line makes a five, a six or a double four: there is no three.
    likely = [free & ~lines.union([strong[k] for k in rest]) for rest in OTHERS]
    certain = [good & ~_two([perhaps[k] for k in rest]) for good, rest in zip(likely, OTHERS, strict=True)]
    possible, sure = lines.everywhere(_threes, n, own_look, free_look, lines.look(likely), lines.look(certain))
    open_points = free & ~lines.union(five)
    known = open_points & (known | _two(sure))
    doubt = open_points & ~known & _two(possible)
    return jax.lax.optimization_barrier(known | _search(black, free, doubt))


def _two(sets: list[Rows]) -> Rows:
    return lines.at_least(2, sets)[1]


# -- the rest, point by point -------------------------------------------------------------------------------------
class _Stack(NamedTuple):
    """A depth-first search: a point, a second stone of one of its threes, a second stone of a three of that ..."""

    doubt: Rows  # points still to be searched
    found: Rows  # points found forbidden
    black: Rows  # the board, with a stone on every point of the stack but the last
    depth: Int16[Array, ""]
    point: Int16[Array, " m"]
    asked: Int8[Array, " m"]  # the pair whose second stone lies next on the stack
    no: UInt32[Array, " m"]  # pairs whose second stone was found to be bad
    yes: UInt32[Array, " m"]  # pairs whose second stone was found to be good


def _search_one(black: Rows, free: Rows, doubt: Rows) -> Rows:
    """Which of the doubtful points are forbidden."""
    frames = black.shape[0] ** 2  # every step down takes a free cell
    bits = jnp.zeros(frames, jnp.uint32)
    point, asked = bits.astype(jnp.int16), bits.astype(jnp.int8)
    stack = _Stack(doubt, jnp.zeros_like(doubt), black, jnp.int16(0), point, asked, bits, bits)
    done = jax.lax.while_loop(lambda s: (s.doubt != 0).any() | (s.depth > 0), lambda s: _visit(s, free), stack)
    return done.found


_search = jax.custom_batching.custom_vmap(_search_one)


@_search.def_vmap
def _search_batch(size: int, batched: list[bool], *sets: Array) -> tuple[Array, bool]:
    """The same for a batch, a few positions at a time: a plain loop would drag all of them along for one in doubt."""
    black, free, doubt = (x if many else jnp.stack([x] * size) for x, many in zip(sets, batched, strict=True))
    lanes = min(size, LANES)

    def some(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        doubt, found = carry
        chosen = jnp.nonzero((doubt != 0).any(-1), size=lanes, fill_value=size)[0]
        picked = (x.at[chosen].get(mode="fill", fill_value=0) for x in (black, free, doubt))
        result = jax.vmap(_search_one)(*picked)
        return doubt.at[chosen].set(0, mode="drop"), found.at[chosen].set(result, mode="drop")

    return jax.lax.while_loop(lambda c: (c[0] != 0).any(), some, (doubt, jnp.zeros_like(doubt)))[1], True


def _visit(stack: _Stack, free: Rows) -> _Stack:
    """One look at the last point of the stack: either it is decided, or a second stone goes on top of it."""
    n, frames = free.shape[0], jnp.arange(stack.point.shape[0], dtype=jnp.int16)
    fresh = stack.depth == 0  # an empty stack begins with the next point in doubt
    top = jnp.maximum(stack.depth - 1, 0)
    parent = jnp.maximum(top - 1, 0)
    here = jnp.where(fresh, _first(stack.doubt), stack.point[top])
    no, yes = (jnp.where(fresh, 0, bits[top]) for bits in (stack.no, stack.yes))
    stone = lines.one_cell(here, n)
    bad, decided, pair = _judge(stack.black, free & ~stack.black, here, stone, no, yes)

    # a decided second stone is an answer for the point below it
    word = jnp.uint32(1) << stack.asked[parent].astype(jnp.uint32)
    lower = jnp.where(top > 0, stack.point[parent], jnp.int16(n * n))
    answer, child = decided & (frames == parent), ~decided & (frames == top + 1)
    mine = ~decided & (frames == top)
    second = here + jnp.asarray(_pair_steps(n))[pair]
    return _Stack(
        doubt=jnp.where(fresh, stack.doubt & ~stone, stack.doubt),
        found=jnp.where(decided & bad & (top == 0), stack.found | stone, stack.found),
        black=jnp.where(decided, stack.black & ~lines.one_cell(lower, n), stack.black | stone),
        depth=jnp.where(decided, top, top + jnp.int16(2)),
        point=jnp.where(child, second, jnp.where(mine, here, stack.point)),
        asked=jnp.where(mine, pair, stack.asked),
        no=jnp.where(child, 0, jnp.where(mine, no, stack.no | jnp.where(answer & bad, word, 0))),
        yes=jnp.where(child, 0, jnp.where(mine, yes, stack.yes | jnp.where(answer & ~bad, word, 0))),
    )


def _judge(black: Rows, free: Rows, here: Array, stone: Rows, no: Array, yes: Array) -> Any:
    """Whether a point is forbidden as a double three, whether that is decided, and else the pair to be searched."""
    n = black.shape[0]
    pairs = _look(black, free, here)[2]
    cells = here + jnp.asarray(_pair_steps(n))
    hard, deep, _ = jax.vmap(_look, in_axes=(None, None, 0))(black | stone, free & ~stone, cells)
    number = jnp.arange(PAIRS, dtype=jnp.uint32)
    good = yes >> number & 1 != 0
    likely = pairs & ~hard & (no >> number & 1 == 0)
    sure = (good | likely & ~deep).reshape(4, -1).any(1)
    possible = (good | likely).reshape(4, -1).any(1)
    bad = sure.sum(dtype=jnp.int32) >= 2
    decided = bad | (possible.sum(dtype=jnp.int32) < 2)
    ask = likely & deep & ~jnp.repeat(sure, len(OFFSETS))
    return bad, decided, jnp.argmax(ask).astype(jnp.int8)


def _look(
    black: Rows, free: Rows, cell: Int16[Array, ""]
) -> tuple[Bool[Array, ""], Bool[Array, ""], Bool[Array, " pairs"]]:
    """One point: is it no second stone at once; is it perhaps a double three; the pairs of its threes."""
    own, empty = (lines.along(words) for words in lines.star(jnp.stack([black, free]), cell))
    five, hard, strong, perhaps = _shapes(own, empty)
    seconds = lines.seconds(own, empty, "exact")
    planes = jnp.stack([five | hard, strong, perhaps, *(seconds[k] for k in OFFSETS)])
    holds = planes >> lines.MIDDLE & 1 != 0
    counts = holds.sum(1, dtype=jnp.int32)
    return (counts[0] > 0) | (counts[1] >= 2), counts[2] >= 2, holds[3:].T.reshape(-1)


def _first(rows: Rows) -> Int16[Array, ""]:
    """The first cell of a set."""
    row = jnp.argmax(rows != 0)
    word = rows[row]
    column = jax.lax.population_count((word & -word) - 1)
    return (row * rows.shape[0] + column.astype(jnp.int32)).astype(jnp.int16)


@functools.cache
def _pair_steps(n: int) -> np.ndarray:
    """From a point to its second stone, for every pair."""
    return np.array([k * (dr * n + dc) for dr, dc in AXES for k in OFFSETS], np.int16)
