"""Victory by continuous fours in plain Python: every attacking move wins or threatens to, every answer is tried."""

import functools

from reference.gomoku import DIRECTIONS, Gomoku, put


@functools.cache
def windows(size: int) -> list[tuple[int, ...]]:
    """Every five cells in a row."""
    game = Gomoku(size)
    rows = [[game.along(cell, d, k) for k in range(5)] for cell in range(size * size) for d in DIRECTIONS]
    return [tuple(row) for row in rows if None not in row]


def fives(game: Gomoku, cells: str, stone: str) -> list[int]:
    """Where this stone wins at once. An exact five is never forbidden."""
    found = set()
    for window in windows(game.size):
        there = [cells[cell] for cell in window]
        if there.count(stone) == 4 and "." in there:
            found.add(window[there.index(".")])
    return sorted(cell for cell in found if game.wins(put(cells, cell, stone), cell))


def may(game: Gomoku, cells: str, cell: int, stone: str) -> bool:
    return cells[cell] == "." and not (game.rules == "renju" and stone == "X" and game.forbidden(cells, cell))


def wins(game: Gomoku, cells: str, stone: str, depth: int, budget: list[int]) -> list[int] | None:
    """A line of moves by which `stone`, to move, wins in at most `depth` plies; None where there is none.

    `budget` holds how many moves may still be tried; it turns negative where the answer is not known.
    """
    at_once = fives(game, cells, stone)
    if at_once:
        return [at_once[0]]
    enemy = "O" if stone == "X" else "X"
    stops = fives(game, cells, enemy)
    for cell in range(len(cells)):
        if depth < 3 or cells[cell] != "." or (stops and cell not in stops):
            continue
        after = put(cells, cell, stone)
        threats = fives(game, after, stone)
        if not threats or not may(game, cells, cell, stone):
            continue
        budget[0] -= 1
        if budget[0] < 0:
            return None
        if fives(game, after, enemy):
            continue
        line = answered(game, after, stone, enemy, threats, depth, budget)
        if line is not None:
            return [cell, *line]
    return None


def answered(game, cells, stone, enemy, threats, depth, budget) -> list[int] | None:
    """How it goes on where every answer loses."""
    longest: list[int] = []
    for reply in threats:
        if may(game, cells, reply, enemy):
            line = wins(game, put(cells, reply, enemy), stone, depth - 2, budget)
            if line is None:
                return None
            longest = max(longest, [reply, *line], key=len)
    return longest
