"""Gomoku in plain Python, after the rules: boards are strings, every question is answered by looking along lines.

Cells row by row, "." empty, "X" black, "O" white; action = cell. A full board is a draw, and so is renju when Black has
no point left. Renju as the international federation states it: an exact five is always allowed; else a line of six, two
fours or two threes are forbidden. A three is there if one more stone gives a straight four, makes no five and is not
forbidden itself. Caro is Gomocup's rule 8 (caro5: rule 9): a five between two enemy stones does not win.
"""

import functools
from typing import NamedTuple

DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))
ACROSS = DIRECTIONS[0]


def put(cells: str, cell: int, stone: str) -> str:
    return cells[:cell] + stone + cells[cell + 1 :]


@functools.cache
def along(size: int, cell: int, direction, steps: int) -> int | None:
    """The cell so many steps away, None off the board."""
    row, column = cell // size + steps * direction[0], cell % size + steps * direction[1]
    return row * size + column if 0 <= row < size and 0 <= column < size else None


@functools.cache
def line(size: int, cell: int, direction, sign: int) -> list[int]:
    """The cells from this one on, to the edge."""
    places = [along(size, cell, direction, sign * steps) for steps in range(1, size)]
    return [place for place in places if place is not None]


@functools.cache
def through(size: int, cell: int) -> list[range]:
    """The cells of the whole lines through this one, in order, for each direction."""
    lines = []
    for direction in DIRECTIONS:
        places = [*reversed(line(size, cell, direction, -1)), cell, *line(size, cell, direction, 1)]
        lines.append(range(places[0], places[-1] + 1, direction[0] * size + direction[1]))
    return lines


def stones_on(places: range, cells: str) -> str:
    return cells[places.start : places.stop : places.step]


class Look(NamedTuple):
    """What a black stone makes of a line."""

    run: int  # stones in a row with it
    fours: int
    straights: list[int]  # where on the line one more stone gives a straight four


@functools.lru_cache(1 << 18)
def look(text: str, at: int) -> Look:
    """A line of a board is judged once: as the first row of a board of its own."""
    row = Gomoku(len(text), "renju")
    return Look(len(row.run(text, at, ACROSS)), len(row.fours(text, at, ACROSS)), row.straights(text, at, ACROSS))


class Gomoku:
    """A state is (cells, plies, result for Black or None)."""

    def __init__(self, size: int = 15, rules: str = "freestyle"):
        self.size, self.rules = size, rules

    # -- the game -------------------------------------------------------------------------------------------------
    def initial(self):
        return "." * self.size**2, 0, None

    def to_move(self, state) -> int:
        return state[1] % 2

    def result(self, state) -> int | None:
        return state[2]

    def cells(self, state) -> str:
        return state[0]

    def legal(self, state) -> list[int]:
        return [] if state[2] is not None else list(self._free(state))

    def _free(self, state):
        """The points that the mover may take, one by one."""
        cells, plies, _ = state
        for cell, stone in enumerate(cells):
            if stone == "." and not (self.rules == "renju" and plies % 2 == 0 and self.forbidden(cells, cell)):
                yield cell

    def step(self, state, action: int):
        cells, plies, _ = state
        stone = "XO"[plies % 2]
        cells = put(cells, action, stone)
        if self.wins(cells, action):
            return cells, plies + 1, 1 if stone == "X" else -1
        after = cells, plies + 1, None
        return after if any(True for _ in self._free(after)) else (cells, plies + 1, 0)

    def wins(self, cells: str, cell: int) -> bool:
        """Whether the stone on this cell is part of a winning line."""
        return any(self.line_wins(cells, cell, direction) for direction in DIRECTIONS)

    def line_wins(self, cells: str, cell: int, direction) -> bool:
        """Whether the line through this stone in one direction wins."""
        run = self.run(cells, cell, direction)
        length, stone = len(run), cells[cell]
        exact = self.rules in ("standard", "caro5") or (self.rules == "renju" and stone == "X")
        if length < 5 or (exact and length > 5):
            return False
        if self.rules in ("caro", "caro5") and length == 5:
            enemy = "O" if stone == "X" else "X"
            ends = self.along(run[0], direction, -1), self.along(run[-1], direction, 1)
            return not all(end is not None and cells[end] == enemy for end in ends)
        return True

    # -- lines ----------------------------------------------------------------------------------------------------
    def along(self, cell: int, direction, steps: int) -> int | None:
        return along(self.size, cell, direction, steps)

    def run(self, cells: str, cell: int, direction) -> list[int]:
        """The unbroken line of stones through this one, in order."""
        before, beyond = [], []
        for sign, found in ((-1, before), (1, beyond)):
            for place in line(self.size, cell, direction, sign):
                if cells[place] != cells[cell]:
                    break
                found.append(place)
        return [*reversed(before), cell, *beyond]

    # -- renju ----------------------------------------------------------------------------------------------------
    def forbidden(self, cells: str, cell: int) -> str | None:
        """Why Black may not take this free point: "overline", "44", "33"; None if he may."""
        cells = put(cells, cell, "X")
        lines = through(self.size, cell)
        looks = [look(stones_on(places, cells), places.index(cell)) for places in lines]
        runs = [seen.run for seen in looks]
        if 5 in runs:
            return None
        if max(runs) >= 6:
            return "overline"
        if sum(seen.fours for seen in looks) >= 2:
            return "44"
        threes = [[places[at] for at in seen.straights] for places, seen in zip(lines, looks, strict=True)]
        if sum(any(self.may_follow(cells, second) for second in seconds) for seconds in threes) >= 2:
            return "33"
        return None

    def may_follow(self, cells: str, second: int) -> bool:
        """Whether a stone that gives a straight four makes no five and is not forbidden itself."""
        after = put(cells, second, "X")
        return all(len(self.run(after, second, d)) != 5 for d in DIRECTIONS) and not self.forbidden(cells, second)

    def fours(self, cells: str, cell: int, direction) -> set[frozenset[int]]:
        """The sets of four stones, with this one, that one more stone turns into an exact five."""
        found = set()
        for steps in range(-4, 5):
            last = self.along(cell, direction, steps)
            if last is not None and cells[last] == ".":
                five = self.run(put(cells, last, "X"), last, direction)
                if len(five) == 5 and cell in five:
                    found.add(frozenset(five) - {last})
        return found

    def straights(self, cells: str, cell: int, direction) -> list[int]:
        """Where one more stone gives this one a four in this direction that both ends complete."""
        found = []
        for steps in range(-3, 4):
            second = self.along(cell, direction, steps)
            if second is not None and cells[second] == ".":
                after = put(cells, second, "X")
                four = self.run(after, second, direction)
                if cell in four and self.straight(after, four, direction):
                    found.append(second)
        return found

    def straight(self, cells: str, four: list[int], direction) -> bool:
        """Whether a run is a four that both ends complete."""
        if len(four) != 4:
            return False
        ends = self.along(four[0], direction, -1), self.along(four[-1], direction, 1)
        return all(
            end is not None and cells[end] == "." and len(self.run(put(cells, end, "X"), end, direction)) == 5
            for end in ends
        )
