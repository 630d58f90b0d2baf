"""Gomoku in plain Python, after the rules: boards are strings, every question is answered by looking along lines.

Cells row by row, "." empty, "X" black, "O" white; action = cell. A full board is a draw, and so is renju when Black has
no point left. Renju as the international federation states it: an exact five is always allowed; else a line of six, two
fours or two threes are forbidden. A three is there if one more stone gives a straight four, makes no five and is not
forbidden itself. Caro is Gomocup's rule 8 (caro5: rule 9): a five between two enemy stones does not win.
"""

DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


def put(cells: str, cell: int, stone: str) -> str:
    return cells[:cell] + stone + cells[cell + 1 :]


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
        cells, plies, result = state
        if result is not None:
            return []
        free = [cell for cell, stone in enumerate(cells) if stone == "."]
        if self.rules == "renju" and plies % 2 == 0:
            free = [cell for cell in free if not self.forbidden(cells, cell)]
        return free

    def step(self, state, action: int):
        cells, plies, _ = state
        stone = "XO"[plies % 2]
        cells = put(cells, action, stone)
        if self.wins(cells, action):
            return cells, plies + 1, 1 if stone == "X" else -1
        after = cells, plies + 1, None
        return after if self.legal(after) else (cells, plies + 1, 0)

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
        """The cell so many steps away, None off the board."""
        row, column = cell // self.size + steps * direction[0], cell % self.size + steps * direction[1]
        return row * self.size + column if 0 <= row < self.size and 0 <= column < self.size else None

    def run(self, cells: str, cell: int, direction) -> list[int]:
        """The unbroken line of stones through this one, in order."""
        found = [cell]
        for sign in (-1, 1):
            end = self.along(cell, direction, sign)
            while end is not None and cells[end] == cells[cell]:
                found = [end, *found] if sign < 0 else [*found, end]
                end = self.along(end, direction, sign)
        return found

    # -- renju ----------------------------------------------------------------------------------------------------
    def forbidden(self, cells: str, cell: int) -> str | None:
        """Why Black may not take this free point: "overline", "44", "33"; None if he may."""
        cells = put(cells, cell, "X")
        lengths = [len(self.run(cells, cell, direction)) for direction in DIRECTIONS]
        if 5 in lengths:
            return None
        if max(lengths) >= 6:
            return "overline"
        if sum(len(self.fours(cells, cell, direction)) for direction in DIRECTIONS) >= 2:
            return "44"
        if sum(self.three(cells, cell, direction) for direction in DIRECTIONS) >= 2:
            return "33"
        return None

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

    def three(self, cells: str, cell: int, direction) -> bool:
        """Whether the stone on this cell has a three in this direction."""
        for steps in range(-3, 4):
            second = self.along(cell, direction, steps)
            if second is None or cells[second] != ".":
                continue
            after = put(cells, second, "X")
            four = self.run(after, second, direction)
            fives = [d for d in DIRECTIONS if len(self.run(after, second, d)) == 5]
            if (
                cell in four
                and self.straight(after, four, direction)
                and not fives
                and not self.forbidden(cells, second)
            ):
                return True
        return False

    def straight(self, cells: str, four: list[int], direction) -> bool:
        """Whether a run is a four that both ends complete."""
        ends = self.along(four[0], direction, -1), self.along(four[-1], direction, 1)
        return len(four) == 4 and all(
            end is not None and cells[end] == "." and len(self.run(put(cells, end, "X"), end, direction)) == 5
            for end in ends
        )
