"""Geometry of rectangular boards as numpy tables: neighbours, rays, square names, symmetries.

Cells are numbered row-major from the top-left. Directions are numbered N E S W, then NE SE SW NW.
"""

import functools
from typing import NamedTuple

import numpy as np

NORTH, EAST, SOUTH, WEST = range(4)
STEPS: tuple[tuple[int, int], ...] = ((-1, 0), (0, 1), (1, 0), (0, -1), (-1, 1), (1, 1), (1, -1), (-1, -1))
AXES = ((0, 1), (1, 0), (1, 1), (1, -1))  # a step along each line through a cell: its row, column and diagonals


class Symmetries(NamedTuple):
    """Symmetries of a game in gather form; row 0 is the identity.

    The transformed board is `board[cells[g]]`, the transformed policy or mask is `policy[actions[g]]`.
    """

    cells: np.ndarray  # int32[G, H*W]
    actions: np.ndarray  # int32[G, A]


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


@functools.cache
def rays(height: int, width: int) -> np.ndarray:
    """`int32[cells, 8, max(height, width) - 1]`: cells met from each cell in each direction; off-board = cells."""
    n, reach = height * width, max(height, width) - 1
    out = np.full((n, 8, max(reach, 1)), n, np.int32)
    for cell in range(n):
        for d, (dr, dc) in enumerate(STEPS):
            r, c = divmod(cell, width)
            for k in range(reach):
                r, c = r + dr, c + dc
                if not (0 <= r < height and 0 <= c < width):
                    break
                out[cell, d, k] = r * width + c
    return _frozen(out)


@functools.cache
def neighbours(height: int, width: int) -> np.ndarray:
    """`int32[cells, 4]`: the next cell in each direction; off-board = cells."""
    return _frozen(np.ascontiguousarray(rays(height, width)[:, :4, 0]))


@functools.cache
def symmetries(height: int, width: int) -> np.ndarray:
    """Gather tables `int32[G, cells]`: 8 for a square board, 4 for a rectangle; row 0 is the identity.

    Order: identity, flip left-right, flip top-bottom, half turn, then (squares) these four transposed.
    """
    grid = np.arange(height * width, dtype=np.int32).reshape(height, width)
    four = [grid, grid[:, ::-1], grid[::-1], grid[::-1, ::-1]]
    if height == width:
        four += [g.T for g in four]
    return _frozen(np.stack([np.ascontiguousarray(g).reshape(-1) for g in four]))


@functools.cache
def direction_symmetries(height: int, width: int) -> np.ndarray:
    """Gather tables `int32[G, 4]` that go with `symmetries`: where each direction comes from.

    If the transformed board shows an arrow `d`, the original shows `direction_symmetries[g, d]`.
    """
    # each symmetry as a map of step vectors, from the transformed board back to the original
    four = [lambda r, c: (r, c), lambda r, c: (r, -c), lambda r, c: (-r, c), lambda r, c: (-r, -c)]
    maps = list(four)
    if height == width:
        maps += [(lambda r, c, f=f: f(c, r)) for f in four]  # type: ignore[misc]
    table = [[STEPS.index(f(*STEPS[d])) for d in range(4)] for f in maps]
    return _frozen(np.array(table, np.int32))


def identity(cells: int, actions: int) -> Symmetries:
    """The group of a game without symmetry."""
    return Symmetries(np.arange(cells, dtype=np.int32)[None], np.arange(actions, dtype=np.int32)[None])


def of_cell_actions(cells: np.ndarray, extra: int = 0) -> Symmetries:
    """Symmetries of a game whose actions are its cells, followed by `extra` actions that never move (pass)."""
    group, n = cells.shape
    tail = np.broadcast_to(np.arange(n, n + extra, dtype=np.int32), (group, extra))
    return Symmetries(cells, np.concatenate([cells, tail], axis=1))


def of_from_to_actions(cells: np.ndarray) -> Symmetries:
    """Symmetries of a game whose actions are `source * cells + target`."""
    group, n = cells.shape
    return Symmetries(cells, (cells[:, :, None] * n + cells[:, None, :]).reshape(group, n * n))


def in_a_row(codes: np.ndarray, k: int) -> np.ndarray:
    """`bool[H, W]`: which stones of a drawn board stand in a straight line of at least k of their own code."""
    height, width = codes.shape
    found = np.zeros(codes.shape, bool)
    for down, right in AXES:
        high, wide, left = height - (k - 1) * down, width - (k - 1) * abs(right), (k - 1) * (right < 0)
        if high < 1 or wide < 1:
            continue
        parts = [np.s_[i * down : i * down + high, left + i * right : left + i * right + wide] for i in range(k)]
        line = np.logical_and.reduce([codes[part] == codes[parts[0]] for part in parts]) & (codes[parts[0]] > 0)
        for part in parts:
            found[part] |= line
    return found


def winner(codes: np.ndarray, k: int, to_play: int) -> int:
    """The code of the seat that has k in a row on a drawn board, who moved last before the other; 0: nobody."""
    standing = set(codes[in_a_row(codes, k)].tolist())
    last = 2 - to_play
    return last if last in standing else max(standing, default=0)


FILES = "abcdefghijklmnopqrstuvwxyz"


def square_name(cell: int, height: int, width: int) -> str:
    """Chess-like name: file letter and rank, rank 1 at the bottom (`a1` is the bottom-left square)."""
    row, column = divmod(cell, width)
    return f"{FILES[column]}{height - row}"
