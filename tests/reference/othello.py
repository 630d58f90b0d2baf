"""Othello in plain Python, after the rules: a string of squares, looked at disc by disc.

Squares row by row from a1, which is at the top left; "." empty, "X" Black, "O" White. Action = square; behind the last
one, a pass.
"""

import itertools


class Othello:
    """A state is (squares, seat to move)."""

    def __init__(self, size: int = 8):
        self.size = size
        self.squares = size * size

    def initial(self):
        middle = self.size // 2
        cells = ["."] * self.squares
        for row, column in itertools.product((middle - 1, middle), repeat=2):
            cells[row * self.size + column] = "O" if row == column else "X"
        return "".join(cells), 0

    def at(self, rows: str, seat: int):
        return rows.replace("/", ""), seat

    def to_move(self, state) -> int:
        return state[1]

    def cells(self, state) -> str:
        return state[0]

    def turned(self, cells: str, seat: int, square: int) -> list[int]:
        """The enemy discs that a disc on this square encloses."""
        own, enemy = "XO"[seat], "OX"[seat]
        found = []
        if cells[square] != ".":
            return found
        for down, right in itertools.product((-1, 0, 1), repeat=2):
            line = []
            row, column = divmod(square, self.size)
            while True:
                row, column = row + down, column + right
                if not (0 <= row < self.size and 0 <= column < self.size):
                    break
                disc = cells[row * self.size + column]
                if disc == own:
                    found += line
                if disc != enemy:
                    break
                line.append(row * self.size + column)
        return found

    def places(self, cells: str, seat: int) -> list[int]:
        return [square for square in range(self.squares) if self.turned(cells, seat, square)]

    def legal(self, state) -> list[int]:
        cells, seat = state
        if found := self.places(cells, seat):
            return found
        return [self.squares] if self.places(cells, 1 - seat) else []

    def lead(self, state) -> int:
        """Black's discs less White's."""
        return state[0].count("X") - state[0].count("O")

    def result(self, state) -> int | None:
        if self.legal(state):
            return None
        return (self.lead(state) > 0) - (self.lead(state) < 0)

    def step(self, state, action: int):
        cells, seat = state
        if action == self.squares:
            return cells, 1 - seat
        after = list(cells)
        for square in [action, *self.turned(cells, seat, action)]:
            after[square] = "XO"[seat]
        return "".join(after), 1 - seat
