"""Victory by continuous threats in plain Python: fours and threes, and to each of them every move there is.

A three is a stone that another one turns into four in a row with open ends; it threatens something while one more stone
would leave two winning cells. No reply is left out, so a line found here wins against any defence.
"""

import functools

from reference import fours
from reference.gomoku import DIRECTIONS, Gomoku, put


def makes_three(game: Gomoku, cells: str, cell: int, stone: str) -> bool:
    """Whether a stone here may become four in a row that both ends complete."""
    exact = game.rules == "standard" or (game.rules == "renju" and stone == "X")
    after = put(cells, cell, stone)
    for direction in DIRECTIONS:
        for steps in (-3, -2, -1, 1, 2, 3):
            second = game.along(cell, direction, steps)
            if second is None or after[second] != ".":
                continue
            row = game.run(put(after, second, stone), second, direction)
            ends = game.along(row[0], direction, -1), game.along(row[-1], direction, 1)
            if len(row) != 4 or cell not in row or any(end is None or after[end] != "." for end in ends):
                continue
            beyond = game.along(row[0], direction, -2), game.along(row[-1], direction, 2)
            if not (exact and any(far is not None and after[far] == stone for far in beyond)):
                return True
    return False


@functools.lru_cache(100_000)
def fives(game: Gomoku, cells: str, stone: str) -> tuple[int, ...]:
    return tuple(fours.fives(game, cells, stone))


def doubles(game: Gomoku, cells: str, stone: str) -> list[int]:
    """Where one more stone would leave two winning cells."""
    free = [cell for cell, there in enumerate(cells) if there == "." and near(game, cells, cell, stone)]
    found = [cell for cell in free if len(fives(game, put(cells, cell, stone), stone)) >= 2]
    return [cell for cell in found if fours.may(game, cells, cell, stone)]


def near(game: Gomoku, cells: str, cell: int, stone: str) -> bool:
    """Whether two own stones stand in line within four cells: no four is there without."""
    seen = [game.along(cell, d, k) for d in DIRECTIONS for k in range(-4, 5) if k]
    return sum(cells[there] == stone for there in seen if there is not None) >= 2


def wins(game: Gomoku, cells: str, stone: str, depth: int, budget: list[int]) -> list[int] | None:
    """A line of moves by which `stone`, to move, wins in at most `depth` plies; None where there is none.

    `budget` holds how many attacks may still be tried; it turns negative where the answer is not known.
    """
    at_once = fives(game, cells, stone)
    if at_once:
        return [at_once[0]]
    if depth < 3:
        return None
    enemy = "O" if stone == "X" else "X"
    stops, best = fives(game, cells, enemy), doubles(game, cells, stone)
    for cell in [*best, *(c for c in range(len(cells)) if c not in best)]:
        if cells[cell] != "." or (stops and cell not in stops):
            continue
        after = put(cells, cell, stone)
        four = bool(fives(game, after, stone))
        if not (four or stops or makes_three(game, cells, cell, stone)) or not fours.may(game, cells, cell, stone):
            continue
        budget[0] -= 1
        if budget[0] < 0:
            return None
        if fives(game, after, enemy) or not (four or doubles(game, after, stone)):
            continue
        line = answered(game, after, cell, stone, depth, budget)
        if line is not None:
            return [cell, *line]
    return None


def answered(game: Gomoku, cells: str, last: int, stone: str, depth: int, budget: list[int]) -> list[int] | None:
    """How it goes on after the attack `last` where every legal reply loses; those beside it are tried first."""
    enemy, size = "O" if stone == "X" else "X", game.size
    longest: list[int] = []
    for reply in sorted(
        range(len(cells)), key=lambda c: max(abs(c // size - last // size), abs(c % size - last % size))
    ):
        if fours.may(game, cells, reply, enemy):
            line = wins(game, put(cells, reply, enemy), stone, depth - 2, budget)
            if line is None:
                return None
            longest = max(longest, [reply, *line], key=len)
    return longest
