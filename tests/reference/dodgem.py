"""Dodgem in plain Python, after the rules: sets of cells.

Cells row by row from the top-left. Action = cell * 3 + move; 0 forward, 1 and 2 to the driver's left and right.
"""

import functools
from collections import Counter

DRIVES = (
    ((-1, 0), (0, -1), (0, 1)),  # Blue faces up
    ((0, 1), (-1, 0), (1, 0)),  # Red faces right
)


@functools.cache
def target_of(size: int, seat: int, action: int) -> int | None:
    """Where the move goes; None off the board."""
    row, column = divmod(action // 3, size)
    row, column = row + DRIVES[seat][action % 3][0], column + DRIVES[seat][action % 3][1]
    return row * size + column if 0 <= row < size and 0 <= column < size else None


class Dodgem:
    """A state is (blue cars, red cars, seat to move, plies, positions so far), the last two only where they matter."""

    def __init__(self, size: int = 3, blocked_wins: bool = True, repetition: str = "none", max_plies: int = 0):
        self.size = size
        self.blocked_wins = blocked_wins
        self.repetition = repetition
        self.max_plies = max_plies  # 0: no cap

    def initial(self):
        rows = ["R" + "." * (self.size - 1)] * (self.size - 1) + ["." + "B" * (self.size - 1)]
        return self.at("".join(rows), 0)

    def at(self, rows: str, seat: int):
        text = rows.replace("/", "")
        blue, red = (frozenset(i for i, c in enumerate(text) if c == car) for car in "BR")
        return blue, red, seat, 0, ((blue, red, seat),) if self.repetition != "none" else ()

    def to_move(self, state) -> int:
        return state[2]

    def cells(self, state) -> str:
        return "".join("B" if i in state[0] else "R" if i in state[1] else "." for i in range(self.size**2))

    def _moves(self, state):
        """The moves of the mover's cars, one by one."""
        seat, taken = state[2], state[0] | state[1]
        for action in (car * 3 + move for car in sorted(state[seat]) for move in range(3)):
            target = target_of(self.size, seat, action)
            if (target is None and action % 3 == 0) or (target is not None and target not in taken):
                yield action

    def result(self, state) -> int | None:
        blue, red, seat, plies, seen = state
        mover = 1 if seat == 0 else -1
        if self.repetition == "draw" and Counter(seen)[state[:3]] >= 3:
            return 0
        if self.repetition == "loss" and Counter(seen)[state[:3]] >= 2:
            return mover
        if not blue:
            return 1
        if not red:
            return -1
        if not any(True for _ in self._moves(state)):
            return mover if self.blocked_wins else -mover
        return 0 if self.max_plies and plies >= self.max_plies else None

    def legal(self, state) -> list[int]:
        return [] if self.result(state) is not None else list(self._moves(state))

    def step(self, state, action: int):
        seat = state[2]
        target = target_of(self.size, seat, action)
        mine = state[seat] - {action // 3} | ({target} if target is not None else set())
        blue, red = (mine, state[1]) if seat == 0 else (state[0], mine)
        plies = state[3] + 1 if self.max_plies else 0
        seen = (*state[4], (blue, red, 1 - seat)) if self.repetition != "none" else ()
        return blue, red, 1 - seat, plies, seen
