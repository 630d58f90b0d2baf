"""The swap and swap2 openings in plain Python, around the plain gomoku of `reference.gomoku`.

Actions: the cells, then take White, take Black, and (swap2) put two more stones.
"""

from reference.gomoku import Gomoku, put


class Swap:
    """A state is (cells, what the mover has to do, seat to move, seat of Black or None, result for seat 0 or None)."""

    def __init__(self, size: int, rules: str, more: bool):
        self.gomoku, self.more = Gomoku(size, rules), more

    def initial(self):
        return "." * self.gomoku.size**2, "put three", 0, None, None

    def to_move(self, state) -> int:
        return state[2]

    def result(self, state) -> int | None:
        return state[4]

    def cells(self, state) -> str:
        return state[0]

    def legal(self, state) -> list[int]:
        cells, task, _, _, result = state
        if result is not None:
            return []
        choices = [len(cells), len(cells) + 1, len(cells) + 2]
        if task == "choose":
            return choices if self.more else choices[:2]
        if task == "choose a colour":
            return choices[:2]
        return [cell for cell, stone in enumerate(cells) if stone == "."]

    def step(self, state, action: int):
        cells, task, seat, black, _ = state
        if task.startswith("choose"):
            if action == len(cells) + 2:
                return cells, "put two", seat, None, None
            white = seat if action == len(cells) else 1 - seat
            return cells, "play", white, 1 - white, None
        stones = sum(stone != "." for stone in cells)
        cells = put(cells, action, "XO"[stones % 2])
        if task == "put three":
            return (cells, task, 0, None, None) if stones < 2 else (cells, "choose", 1, None, None)
        if task == "put two":
            return (cells, task, 1, None, None) if stones < 4 else (cells, "choose a colour", 0, None, None)
        result = None
        if self.gomoku.wins(cells, action):
            result = 1 if seat == 0 else -1
        elif "." not in cells:
            result = 0
        return cells, "play", 1 - seat, black, result
