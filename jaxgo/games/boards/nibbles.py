"""An 8x8 board as eight words of eight nibbles, and what can be seen along the queen lines from every square at once.

Word `r` is row `r` from the top; nibble `c` (bits 4c to 4c+3) is column `c` from the left. One operation on such words
treats 64 squares, so a look along a ray costs a few dozen operations for the whole board, without any gather.
Arrays of several boards put their axes before the axis of the eight rows. Directions are those of `core.board`.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Integer, UInt8, UInt32

from jaxgo.core.board import STEPS

Board = UInt32[Array, "8"]
Boards = UInt32[Array, "*boards 8"]
EACH = np.uint32(0x11111111)  # the lowest bit of every nibble
# rays run over rows in one direction or within a row: N NE NW, then S SE SW, then E W
_ORDER = np.array([0, 4, 7, 2, 5, 6, 1, 3])
_BACK = np.argsort(_ORDER)
_RIGHT = np.array([0, 4, 0], np.uint32)  # how nibbles move so that a square meets its eastern neighbour
_LEFT = np.array([0, 0, 4], np.uint32)  # and its western one
OPPOSITE = np.array([STEPS.index((-r, -c)) for r, c in STEPS])


def pack(codes: Integer[Array, "*boards 64"]) -> Boards:
    """The words of boards given square by square, codes 0 to 15."""
    nibbles = codes.astype(jnp.uint32).reshape(*codes.shape[:-1], 8, 8)
    return (nibbles << _columns(nibbles.ndim)).sum(-1, dtype=jnp.uint32)


def unpack(boards: Boards) -> UInt8[Array, "*boards 64"]:
    """The code of every square."""
    nibbles = (boards[..., None] >> _columns(boards.ndim + 1)) & 15
    return nibbles.astype(jnp.uint8).reshape(*boards.shape[:-1], 64)


def _columns(ndim: int) -> UInt32[Array, "..."]:
    return jnp.arange(0, 32, 4, dtype=jnp.uint32).reshape((1,) * (ndim - 1) + (8,))


def nonzero(boards: Boards) -> Boards:
    """1 where a square has any bit."""
    either = boards | boards >> 2
    return (either | either >> 1) & EACH


def equal(boards: Boards, code: int) -> Boards:
    """1 where a square has this code."""
    return nonzero(boards ^ EACH * np.uint32(code)) ^ EACH


def widen(ones: Boards) -> Boards:
    """15 where a square has 1."""
    return ones * 15


def any_square(boards: Boards) -> Bool[Array, "*boards"]:
    """Whether any square has any bit."""
    return (boards != 0).any(-1)


@functools.cache
def square(cell: int) -> np.ndarray:
    """The board with 1 on one square, by number."""
    return squares((cell,))


@functools.cache
def squares(cells: tuple[int, ...]) -> np.ndarray:
    """The board with 1 on these squares, by number."""
    words = np.zeros(8, np.uint32)
    for cell in cells:
        words[cell // 8] |= np.uint32(1 << 4 * (cell % 8))
    words.flags.writeable = False
    return words


def at(cell: Integer[Array, ""]) -> Board:
    """The board with 1 on one square, by a traced number."""
    here = jnp.uint32(1) << (4 * (cell % 8)).astype(jnp.uint32)
    return jnp.where(jnp.arange(8) == cell // 8, here, jnp.uint32(0))


def code_at(board: Board, cell: Integer[Array, ""]) -> UInt32[Array, ""]:
    """The code of one square, by a traced number."""
    word = jnp.where(jnp.arange(8) == cell // 8, board, jnp.uint32(0)).sum(dtype=jnp.uint32)
    return (word >> (4 * (cell % 8)).astype(jnp.uint32)) & 15


def shift(boards: Boards, rows: int, columns: int) -> Boards:
    """What lies so many rows down and columns right of every square; 0 beyond the edge."""
    if rows:
        edge = jnp.zeros((*boards.shape[:-1], abs(rows)), jnp.uint32)
        kept = boards[..., rows:] if rows > 0 else boards[..., :rows]
        boards = jnp.concatenate([kept, edge] if rows > 0 else [edge, kept], -1)
    return boards >> 4 * columns if columns >= 0 else boards << -4 * columns


def leaps(boards: Boards, steps: tuple[tuple[int, int], ...]) -> Boards:
    """The bits that lie at any of these steps from every square."""
    return functools.reduce(jnp.bitwise_or, [shift(boards, r, c) for r, c in steps])


def look(shown: Boards, passed: Boards) -> UInt32[Array, "8 8"]:
    """What every square sees in each of the eight directions, `[direction, row]`.

    A square sees what its neighbour shows plus what the neighbour sees itself, as far as the neighbour lets bits pass:
    `seen = (neighbour's seen & passed) + shown`. With `shown` 1 on empty squares that pass all bits, it counts the
    empty squares up to the first piece; with `shown` a code on pieces that pass nothing, it is the first piece.
    """
    shown, passed = jnp.broadcast_arrays(shown, passed)
    rising = _rising(jnp.stack([shown, shown[::-1]]), jnp.stack([passed, passed[::-1]]))
    beside = jnp.zeros((2, 8), jnp.uint32)
    for _ in range(7):
        met = (beside & passed[None]) + shown[None]
        beside = jnp.stack([met[0] >> 4, met[1] << 4])
    return jnp.concatenate([rising[0], rising[1][:, ::-1], beside])[_BACK]


def _rising(shown: UInt32[Array, "2 8"], passed: UInt32[Array, "2 8"]) -> UInt32[Array, "2 3 8"]:
    """Looks upwards, straight and to both sides, on the board and on the board upside down."""
    seen = jnp.zeros((2, 3), jnp.uint32)
    rows = [seen]
    for r in range(7):
        met = (seen & passed[:, r, None]) + shown[:, r, None]
        seen = (met >> _RIGHT[None]) << _LEFT[None]
        rows.append(seen)
    return jnp.stack(rows, -1)


AXES = (0, 1, 4, 5)  # N, E, NE, SE: each with its opposite makes a line
KNIGHT_STEPS = tuple((r, c) for r in (-2, -1, 1, 2) for c in (-2, -1, 1, 2) if abs(r) != abs(c))


@functools.cache
def _offsets() -> np.ndarray:
    """`uint8[line, from, to]`: steps along N, E, NE, SE (mod 256), 64 where `to` is not on that line.

    A fifth table has 0 where `to` is a knight's jump away.
    """
    cell = np.arange(64)
    down = cell[None, :] // 8 - cell[:, None] // 8
    right = cell[None, :] % 8 - cell[:, None] % 8
    table = np.full((5, 64, 64), 64, np.uint8)
    for axis, direction in enumerate(AXES):
        for distance in (*range(-7, 0), *range(1, 8)):
            r, c = STEPS[direction]
            table[axis][(down == distance * r) & (right == distance * c)] = distance % 256
    table[4][abs(down * right) == 2] = 0
    table.flags.writeable = False
    return table


def within(
    reach: UInt32[Array, "n 8 8"],
    landing: UInt32[Array, "n 8"],
    jumpers: Board | None = None,
    jump_landing: Board | None = None,
) -> Bool[Array, "64 64"]:
    """Which squares each square reaches, `[from, to]`: up to `reach` steps in each direction, onto `landing` ones.

    Several sets of reaches and landings are united, and knight's jumps of `jumpers`, where given. The loops are loops
    because what they read is then in memory: XLA on CPU would otherwise fuse all that led to a mask into each of its
    4096 squares, and work it out as often.
    """
    axes = np.array(AXES)
    ahead, back = reach[:, axes], reach[:, OPPOSITE[axes]]
    # -back <= offset <= ahead is one unsigned comparison
    words = jnp.stack([back, back + ahead, jnp.broadcast_to(landing[:, None], back.shape)], 2).reshape(-1, 3, 8)
    tables = np.tile(_offsets()[:4], (reach.shape[0], 1, 1))
    if jumpers is not None and jump_landing is not None:
        jumps = jnp.stack([widen(jumpers ^ EACH), jnp.zeros_like(jumpers), jump_landing])
        words = jnp.concatenate([words, jumps[None]])
        tables = np.concatenate([tables, _offsets()[4:]])

    def spread(line: UInt32[Array, "3 8"]) -> tuple[UInt8[Array, "64"], UInt8[Array, "64"], Bool[Array, "64"]]:
        return unpack(line[0]), unpack(line[1]), unpack(line[2]) != 0

    def add_line(hit: Bool[Array, "64 64"], line: Any) -> tuple[Bool[Array, "64 64"], None]:
        offset, (start, length, lands) = line
        return hit | ((offset + start[:, None] <= length[:, None]) & lands[None]), None

    lines = (jnp.asarray(tables), jax.lax.map(spread, words))
    return jax.lax.scan(add_line, jnp.zeros((64, 64), bool), lines)[0]
