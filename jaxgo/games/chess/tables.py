"""The moves that can ever happen on a board of chess, numbered, and what each of them touches: numpy tables.

A move is a pair of squares that a queen or a knight joins, and a promotion one of four more for each pair on which a
pawn may promote: 1,968 on the usual board, all that UCI can name, where a plane for each direction and distance would
have 4,672 places. So nets have few outputs, and none that is never played. Names need no position to be read,
as those of colours that look at the board from their own side would.
"""

import functools
from typing import NamedTuple

import numpy as np

from jaxgo.core.board import square_name

# East and south first, so that the opposite of each direction stands at the same place from the other end
WAYS = ((0, 1), (1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1), (-1, 0), (0, -1))
STRAIGHT = np.array([r * c == 0 for r, c in WAYS])
DOWN = np.arange(8) < 4  # to squares of higher numbers
JUMPS = ((2, 1), (2, -1), (1, 2), (1, -2), (-1, 2), (-1, -2), (-2, 1), (-2, -1))
PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(6)
LETTERS = "pnbrqk"
PROMOTIONS = (QUEEN, ROOK, BISHOP, KNIGHT)
PLIES = 100  # without a capture or a pawn's move: a draw


class Moves(NamedTuple):
    """What each action is, `[A]`."""

    source: np.ndarray
    target: np.ndarray
    promoted: np.ndarray  # the kind that a pawn becomes; 0: no promotion
    group: np.ndarray  # the set of targets that tells whether it is legal: see `groups`


def groups(reach: int) -> tuple[int, int]:
    """The number of the first set of targets of promotions, and how many sets there are.

    Before it come those of moves along each way, a distance after the other, and one of knights. Promotions have one
    for each column step: -1, 0, 1.
    """
    return 8 * reach + 8, 8 * reach + 11


@functools.cache
def moves(height: int, width: int) -> Moves:
    """All moves of a board, ordered by source, then target; promotions last."""
    reach = max(height, width) - 1
    far = {(r * k, c * k): 8 * (k - 1) + way for k in range(1, reach + 1) for way, (r, c) in enumerate(WAYS)}
    far |= {step: 8 * reach + jump for jump, step in enumerate(JUMPS)}
    plain, promoting = [], []
    for source in range(height * width):
        for target in range(height * width):
            (row, column), (to_row, to_column) = divmod(source, width), divmod(target, width)
            step = (to_row - row, to_column - column)
            if step in far:
                plain.append((source, target, 0, far[step]))
            if (row, to_row) in ((1, 0), (height - 2, height - 1)) and abs(step[1]) <= 1:
                promoting += [(source, target, kind, groups(reach)[0] + 1 + step[1]) for kind in PROMOTIONS]
    return Moves(*np.array(plain + promoting, np.int32).T)


@functools.cache
def names(height: int, width: int) -> tuple[str, ...]:
    """The moves as UCI writes them."""
    known = [square_name(cell, height, width) for cell in range(height * width)]
    columns = zip(*(column.tolist() for column in moves(height, width)), strict=True)
    return tuple(known[source] + known[target] + (LETTERS[kind] if kind else "") for source, target, kind, _ in columns)


@functools.cache
def numbers(height: int, width: int) -> dict[str, int]:
    """The action with each name."""
    return {name: action for action, name in enumerate(names(height, width))}


@functools.cache
def squares(height: int, width: int) -> dict[str, int]:
    """The square with each name."""
    return {square_name(cell, height, width): cell for cell in range(height * width)}


@functools.cache
def mirrored(height: int, width: int, cells: tuple[int, ...]) -> np.ndarray:
    """`int32[A]`: the move that each one becomes when the squares change places so."""
    table = moves(height, width)
    known = {key: number for number, key in enumerate(zip(*(x.tolist() for x in table[:3]), strict=True))}
    columns = zip(*(x.tolist() for x in table[:3]), strict=True)
    return np.array([known[cells[source], cells[target], kind] for source, target, kind in columns], np.int32)
