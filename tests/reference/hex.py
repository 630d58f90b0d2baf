"""Hex in plain Python, after the rules: sets of (row, column), and a walk from one edge to the other."""

import functools


@functools.cache
def around(place: tuple[int, int]) -> frozenset[tuple[int, int]]:
    """A rhombus whose rows shift to the right: beside a cell in its row, two above, two below."""
    row, column = place
    beside = {(row, column - 1), (row, column + 1)}
    above, below = {(row - 1, column), (row - 1, column + 1)}, {(row + 1, column - 1), (row + 1, column)}
    return frozenset(beside | above | below)


class Hex:
    """A state is (red stones, blue stones, seat to move, plies)."""

    def __init__(self, size: int = 11, swap: bool = True):
        self.size = size
        self.swap = swap
        self.places = [(row, column) for row in range(size) for column in range(size)]

    def initial(self):
        return frozenset(), frozenset(), 0, 0

    def to_move(self, state) -> int:
        return state[2]

    def cells(self, state) -> str:
        return "".join("R" if place in state[0] else "B" if place in state[1] else "." for place in self.places)

    def joined(self, stones, axis: int) -> bool:
        """Whether stones lead from the first row to the last one, or from column to column."""
        reached, todo = set(), [place for place in stones if place[axis] == 0]
        while todo:
            place = todo.pop()
            if place not in reached:
                reached.add(place)
                todo += around(place) & stones
        return any(place[axis] == self.size - 1 for place in reached)

    def result(self, state) -> int | None:
        red, blue = (self.joined(state[seat], seat) for seat in (0, 1))
        return 1 if red else -1 if blue else None

    def legal(self, state) -> list[int]:
        if self.result(state) is not None:
            return []
        stones = state[0] | state[1]
        places = [number for number, place in enumerate(self.places) if place not in stones]
        return places + [self.size**2] * (self.swap and state[3] == 1)

    def step(self, state, action: int):
        red, blue, seat, plies = state
        if action == self.size**2:
            return frozenset(), frozenset((column, row) for row, column in red), 0, 2
        stone = {self.places[action]}
        return (red, blue | stone, 0, plies + 1) if seat else (red | stone, blue, 1, plies + 1)
