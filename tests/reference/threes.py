"""Victory by continuous threats in plain Python: fours and threes, and to each of them every move there is.

A three is a stone that another one turns into four in a row with open ends; it threatens something while one more stone
would leave two winning cells. No reply is left out, so a line found here wins against any defence.
"""

import functools

from reference import fours
from reference.gomoku import ACROSS, DIRECTIONS, Gomoku, along, put, stones_on, through


def makes_three(game: Gomoku, cells: str, cell: int, stone: str) -> bool:
    """Whether a stone here may become four in a row that both ends complete."""
    lines = through(game.size, cell)
    return any(three_on(game.rules, stones_on(p, cells), p.index(cell), stone) for p in lines)


@functools.lru_cache(1 << 18)
def three_on(rules: str, text: str, at: int, stone: str) -> bool:
    """As `makes_three`, on a single line, which is judged once."""
    exact = rules == "standard" or (rules == "renju" and stone == "X")
    row, after = Gomoku(len(text), rules), put(text, at, stone)
    for second in range(max(0, at - 3), min(len(text), at + 4)):
        if after[second] != ".":
            continue
        run = row.run(put(after, second, stone), second, ACROSS)
        ends = row.along(run[0], ACROSS, -1), row.along(run[-1], ACROSS, 1)
        if len(run) != 4 or at not in run or any(end is None or after[end] != "." for end in ends):
            continue
        beyond = row.along(run[0], ACROSS, -2), row.along(run[-1], ACROSS, 2)
        if not (exact and any(far is not None and after[far] == stone for far in beyond)):
            return True
    return False


@functools.lru_cache(100_000)
def fives(game: Gomoku, cells: str, stone: str) -> tuple[int, ...]:
    return tuple(fours.fives(game, cells, stone))


def doubles(game: Gomoku, cells: str, stone: str) -> list[int]:
    """Where one more stone would leave two winning cells, on a board on which there is none."""
    free = [cell for cell, there in enumerate(cells) if there == "." and near(game, cells, cell, stone)]
    found = [cell for cell in free if len(fours.fives_with(game, put(cells, cell, stone), cell, stone)) >= 2]
    return [cell for cell in found if fours.may(game, cells, cell, stone)]


def near(game: Gomoku, cells: str, cell: int, stone: str) -> bool:
    """Whether two own stones stand in line within four cells: no four is there without."""
    return [cells[there] for there in within_four(game.size, cell)].count(stone) >= 2


@functools.cache
def within_four(size: int, cell: int) -> list[int]:
    seen = [along(size, cell, d, k) for d in DIRECTIONS for k in range(-4, 5) if k]
    return [there for there in seen if there is not None]


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
        four = bool(fours.fives_with(game, after, cell, stone))
        if not (four or stops or makes_three(game, cells, cell, stone)) or not fours.may(game, cells, cell, stone):
            continue
        budget[0] -= 1
        if budget[0] < 0:
            return None
        if (stops and fives(game, after, enemy)) or not (four or doubles(game, after, stone)):
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
