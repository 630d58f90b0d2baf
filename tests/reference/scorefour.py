"""Score Four in plain Python: 4 x 4 pegs of tuples of seats from the bottom up.

Action = x + 4 y. The first of the 76 straight lines of four in the cube wins; a full cube is a draw.
"""

import itertools


def _lines() -> list[frozenset]:
    found = set()
    for start in itertools.product(range(4), repeat=3):
        for step in itertools.product((-1, 0, 1), repeat=3):
            line = [tuple(start[axis] + i * step[axis] for axis in range(3)) for i in range(4)]
            if any(step) and all(0 <= v <= 3 for cell in line for v in cell):
                found.add(frozenset(line))
    return list(found)


LINES = _lines()


class ScoreFour:
    """A state is (pegs, plies, result for player 0 or None)."""

    def initial(self):
        return ((),) * 16, 0, None

    def to_move(self, state) -> int:
        return state[1] % 2

    def result(self, state) -> int | None:
        return state[2]

    def legal(self, state) -> list[int]:
        return [] if state[2] is not None else [a for a in range(16) if len(state[0][a]) < 4]

    def cells(self, state) -> str:
        """Rows y of the four levels side by side."""
        pegs = state[0]
        rows = []
        for y in range(4):
            levels = [
                "".join("XO"[pegs[x + 4 * y][z]] if z < len(pegs[x + 4 * y]) else "." for x in range(4))
                for z in range(4)
            ]
            rows.append(" ".join(levels))
        return "".join(rows)

    def step(self, state, action: int):
        pegs, plies, _ = state
        seat = plies % 2
        pegs = (*pegs[:action], (*pegs[action], seat), *pegs[action + 1 :])
        new = (action % 4, action // 4, len(pegs[action]) - 1)
        own = {(a % 4, a // 4, z) for a, peg in enumerate(pegs) for z, who in enumerate(peg) if who == seat}
        result = None
        if any(new in line and line <= own for line in LINES):
            result = 1 if seat == 0 else -1
        elif plies + 1 == 64:
            result = 0
        return pegs, plies + 1, result
