"""Victory by continuous fours in plain Python: every attacking move wins or threatens to, every answer is tried."""

import functools

from reference.gomoku import ACROSS, Gomoku, put, through


@functools.cache
def lines(size: int, cell: int | None = None) -> list[tuple[range, slice]]:
    """The cells of every line that has room for five, or of those through a cell, and which part of a board it is."""
    cells = range(size * size) if cell is None else [cell]
    found = {places for there in cells for places in through(size, there) if len(places) >= 5}
    return [(places, slice(places.start, places.stop, places.step)) for places in found]


@functools.lru_cache(1 << 18)
def wins_on(rules: str, text: str, stone: str) -> list[int]:
    """Where on a line this stone wins; a line is judged once, as the first row of a board of its own."""
    row = Gomoku(len(text), rules)
    free = [at for at, there in enumerate(text) if there == "."]
    return [at for at in free if row.line_wins(put(text, at, stone), at, ACROSS)]


def fives(game: Gomoku, cells: str, stone: str) -> list[int]:
    """Where this stone wins at once. An exact five is never forbidden."""
    return sorted({p[at] for p, part in lines(game.size) for at in wins_on(game.rules, cells[part], stone)})


def fives_with(game: Gomoku, cells: str, cell: int, stone: str) -> list[int]:
    """Where this stone wins at once after it was put on a cell, and nowhere before: on a line through it."""
    return sorted({p[at] for p, part in lines(game.size, cell) for at in wins_on(game.rules, cells[part], stone)})


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
        threats = fives_with(game, after, cell, stone)
        if not threats or not may(game, cells, cell, stone):
            continue
        budget[0] -= 1
        if budget[0] < 0:
            return None
        if stops and fives(game, after, enemy):  # a stone gives the other side no five that it had not
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
