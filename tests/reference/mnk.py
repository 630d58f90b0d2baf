"""k in a row on an m x n board in plain Python. Cells row by row, "." empty, "X" first mover, "O" second."""


class Mnk:
    """A state is (cells, plies, result for player 0 or None)."""

    def __init__(self, height: int = 3, width: int = 3, k: int = 3):
        self.height, self.width, self.k = height, width, k

    def initial(self):
        return "." * (self.height * self.width), 0, None

    def to_move(self, state) -> int:
        return state[1] % 2

    def result(self, state) -> int | None:
        return state[2]

    def cells(self, state) -> str:
        return state[0]

    def legal(self, state) -> list[int]:
        return [] if state[2] is not None else [cell for cell, stone in enumerate(state[0]) if stone == "."]

    def step(self, state, action: int):
        cells, plies, _ = state
        stone = "XO"[plies % 2]
        cells = cells[:action] + stone + cells[action + 1 :]
        if self.wins(cells, stone):
            return cells, plies + 1, 1 if stone == "X" else -1
        return cells, plies + 1, None if "." in cells else 0

    def wins(self, cells: str, stone: str) -> bool:
        """Whether k cells in a line all hold this stone, anywhere."""
        rows = [cells[r * self.width : (r + 1) * self.width] for r in range(self.height)]
        for row in range(self.height):
            for column in range(self.width):
                for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                    line = [(row + i * down, column + i * right) for i in range(self.k)]
                    inside = all(0 <= r < self.height and 0 <= c < self.width for r, c in line)
                    if inside and all(rows[r][c] == stone for r, c in line):
                        return True
        return False
