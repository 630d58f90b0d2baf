"""Four-Field Kono in plain Python, after the rules: lists of cells, no tricks.

Cells 0..15 row by row from a4 to d1, "." empty, "B" the first mover, "W" the second.
Action = from * 8 + kind * 4 + direction; kind 0 steps, kind 1 jumps; directions N E S W.
"""

from collections import Counter

STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))


def beyond(cell: int, direction: int, distance: int) -> int | None:
    """The cell so many steps away, None off the board."""
    row = cell // 4 + distance * STEPS[direction][0]
    column = cell % 4 + distance * STEPS[direction][1]
    return row * 4 + column if 0 <= row < 4 and 0 <= column < 4 else None


class Kono:
    """A state is (cells, seat to move, plies so far, boards so far); the last two only where rules need them."""

    def __init__(self, alive_min: int = 2, compulsory: bool = False, repetition: str = "none", max_plies: int = 0):
        self.alive_min = alive_min
        self.compulsory = compulsory
        self.repetition = repetition
        self.max_plies = max_plies  # 0: no cap

    def initial(self):
        return self.at("WWWWWWWWBBBBBBBB", 0)

    def at(self, rows: str, seat: int):
        cells = rows.replace("/", "")
        seen = ((cells, seat),) if self.repetition != "none" else ()
        return cells, seat, 0, seen

    def to_move(self, state) -> int:
        return state[1]

    def cells(self, state) -> str:
        return state[0]

    def _moves(self, state) -> list[int]:
        cells, seat = state[:2]
        own, enemy = "BW"[seat], "WB"[seat]
        steps, jumps = [], []
        for cell in range(16):
            if cells[cell] != own:
                continue
            for direction in range(4):
                near, far = beyond(cell, direction, 1), beyond(cell, direction, 2)
                if near is not None and cells[near] == ".":
                    steps.append(cell * 8 + direction)
                if near is not None and far is not None and cells[near] == own and cells[far] == enemy:
                    jumps.append(cell * 8 + 4 + direction)
        return jumps if jumps and self.compulsory else sorted(steps + jumps)

    def result(self, state) -> int | None:
        cells, seat, plies, seen = state
        loss = -1 if seat == 0 else 1
        if self.repetition == "draw" and Counter(seen)[(cells, seat)] >= 3:
            return 0
        if self.repetition == "loss" and Counter(seen)[(cells, seat)] >= 2:
            return -loss  # the other seat has just brought the position back
        if cells.count("BW"[seat]) < self.alive_min:
            return loss
        if cells.count("WB"[seat]) < self.alive_min:
            return -loss
        if not self._moves(state):
            return loss
        return 0 if self.max_plies and plies >= self.max_plies else None

    def legal(self, state) -> list[int]:
        return [] if self.result(state) is not None else self._moves(state)

    def step(self, state, action: int):
        cells, seat, plies, seen = state
        source, kind, direction = action // 8, action // 4 % 2, action % 4
        after = list(cells)
        after[source] = "."
        after[beyond(source, direction, 1 + kind)] = "BW"[seat]
        board = "".join(after)
        plies = plies + 1 if self.max_plies else 0
        seen = (*seen, (board, 1 - seat)) if self.repetition != "none" else ()
        return board, 1 - seat, plies, seen
