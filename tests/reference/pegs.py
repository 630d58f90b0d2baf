"""Peg solitaire in plain Python: a position is the set of cells with a peg, on a frame of 7 x 7 cells.

A jump takes a peg over its neighbour into the hole behind and removes the neighbour: from * 4 + direction N E S W.
Forward, one peg on d4 solves; no jump left is a failure. Backward, jumps are taken back from that peg until the
figure has appeared; as many pegs without the figure, or nothing to take back, is a failure.
"""

STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))
CENTRE = 24
HOLES = {
    "english": frozenset(i for i in range(49) if 2 <= i // 7 <= 4 or 2 <= i % 7 <= 4),
    "french": frozenset(i for i in range(49) if abs(i // 7 - 3) + abs(i % 7 - 3) <= 4),
}


def jumps(holes) -> dict[int, tuple[int, int, int]]:
    """(from, over, to) of every jump that the board has room for."""
    found = {}
    for start in sorted(holes):
        row, column = divmod(start, 7)
        for direction, (dr, dc) in enumerate(STEPS):
            r, c = row + 2 * dr, column + 2 * dc
            if 0 <= r < 7 and 0 <= c < 7:
                over, target = (row + dr) * 7 + column + dc, r * 7 + c
                if over in holes and target in holes:
                    found[4 * start + direction] = (start, over, target)
    return found


class Pegs:
    """A state is the frozen set of pegs."""

    def __init__(self, board: str, figure, backward: bool = False):
        self.holes = HOLES[board]
        self.jumps = jumps(self.holes)
        self.figure, self.last = frozenset(figure), frozenset([CENTRE])
        self.backward = backward

    def initial(self):
        return self.last if self.backward else self.figure

    def to_move(self, state) -> int:
        return 0

    def legal(self, state) -> list[int]:
        if self.backward:
            if len(state) >= len(self.figure):
                return []
            return [a for a, (s, o, t) in self.jumps.items() if t in state and s not in state and o not in state]
        return [a for a, (s, o, t) in self.jumps.items() if s in state and o in state and t not in state]

    def result(self, state) -> int | None:
        if self.legal(state):
            return None
        return 1 if state == (self.figure if self.backward else self.last) else -1

    def cells(self, state) -> str:
        return "".join("o" if i in state else "." if i in self.holes else " " for i in range(49))

    def step(self, state, action: int):
        return state ^ frozenset(self.jumps[action])
