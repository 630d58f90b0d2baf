"""3D Connect Four on the octagon of 24 stacks in plain Python.

Six rows and columns without twelve corner cells, six levels, 64 plies. A new stone completes, in each of 13
directions, one window of four for every stone of its run beyond the third (three looked at on each side). The k-th
window of the game is worth floor(100 / k), or 100 / k, to who made it. The higher score wins after the last ply.
"""

import itertools

CORNERS = {(0, 0), (0, 1), (0, 4), (0, 5), (1, 0), (1, 5), (4, 0), (4, 5), (5, 0), (5, 1), (5, 4), (5, 5)}
STACKS = [(x, y) for x in range(6) for y in range(6) if (x, y) not in CORNERS]
INDEX = {stack: i for i, stack in enumerate(STACKS)}
DIRECTIONS = [d for d in itertools.product((-1, 0, 1), repeat=3) if d > (0, 0, 0)]
PLIES = 64


def along(cell, direction, distance):
    """The cell (level, x, y) so far away."""
    return tuple(c + distance * d for c, d in zip(cell, direction, strict=True))


def on_board(cell) -> bool:
    level, x, y = cell
    return 0 <= level < 6 and (x, y) in INDEX


def seat_at(stacks, cell):
    """Who has a stone there; None on an empty cell or off the board."""
    if not on_board(cell):
        return None
    stack = stacks[INDEX[cell[1:]]]
    return stack[cell[0]] if cell[0] < len(stack) else None


def run_through(stacks, cell, direction, seat: int, reach: int) -> int:
    """Stones of `seat` in a row through a cell that counts as his, looking `reach` cells to both sides."""
    run = 1
    for sign in (1, -1):
        for i in range(1, reach + 1):
            if seat_at(stacks, along(cell, direction, sign * i)) != seat:
                break
            run += 1
    return run


def windows():
    """Every four cells in a straight line, by direction."""
    return {
        direction: [
            cell
            for cell in itertools.product(range(6), repeat=3)
            if all(on_board(along(cell, direction, i)) for i in range(4))
        ]
        for direction in DIRECTIONS
    }


class Connect3D:
    """A state is (stacks, plies, lines of both seats, scores of both seats)."""

    def __init__(self, floor: bool = True):
        self.floor = floor

    def initial(self):
        return ((),) * len(STACKS), 0, (0, 0), (0, 0)

    def after(self, places):
        """The state after stones on these (x, y)."""
        state = self.initial()
        for x, y in places:
            state = self.step(state, INDEX[x, y])
        return state

    def to_move(self, state) -> int:
        return state[1] % 2

    def result(self, state) -> int | None:
        black, white = state[3]
        return None if state[1] < PLIES else (black > white) - (black < white)

    def legal(self, state) -> list[int]:
        return [] if state[1] >= PLIES else [i for i, stack in enumerate(state[0]) if len(stack) < 6]

    def cells(self, state) -> str:
        """Rows x of the six levels side by side."""

        def look(cell) -> str:
            return " " if not on_board(cell) else {None: ".", 0: "X", 1: "O"}[seat_at(state[0], cell)]

        rows = [" ".join("".join(look((z, x, y)) for y in range(6)) for z in range(6)) for x in range(6)]
        return "".join(rows)

    def step(self, state, action: int):
        stacks, plies, lines, scores = state
        seat = plies % 2
        cell = (len(stacks[action]), *STACKS[action])
        stacks = (*stacks[:action], (*stacks[action], seat), *stacks[action + 1 :])
        lines, scores = list(lines), list(scores)
        for direction in DIRECTIONS:
            for _ in range(run_through(stacks, cell, direction, seat, 3) - 3):
                lines[seat] += 1
                scores[seat] += 100 // sum(lines) if self.floor else 100 / sum(lines)
        return stacks, plies + 1, tuple(lines), tuple(scores)


def connect_and_block(stacks, seat: int, action: int) -> tuple[int, int]:
    """What a stone there would connect, and what it would block.

    Connect: for each direction the stones of its run beyond the second, two looked at on each side. Block: rays on
    which two of the other's stones come first and then a cell of the board that is not the mover's.
    """
    cell = (len(stacks[action]), *STACKS[action])
    if not on_board(cell):
        return 0, 0
    connect = sum(max(0, run_through(stacks, cell, d, seat, 2) - 2) for d in DIRECTIONS)
    block = 0
    for direction in [*DIRECTIONS, *(along((0, 0, 0), d, -1) for d in DIRECTIONS)]:
        first, second, third = (along(cell, direction, i) for i in (1, 2, 3))
        two = seat_at(stacks, first) == seat_at(stacks, second) == 1 - seat
        block += two and on_board(third) and seat_at(stacks, third) != seat
    return connect, block
