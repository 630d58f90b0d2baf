"""Sliding blocks in plain Python: a position is its drawing, rows of letters with "." for empty cells.

One action moves one block by one cell: block number (in the order of the letters) * 4 + direction N E S W.
"""

import functools
from collections import deque
from typing import NamedTuple

STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))
AGAIN = functools.lru_cache(2**17)  # random walks come back to boards all the time


@AGAIN
def places(rows) -> dict[str, list[tuple[int, int]]]:
    """The cells of every block, the first in reading order first."""
    found: dict[str, list[tuple[int, int]]] = {}
    for r, row in enumerate(rows):
        for c, letter in enumerate(row):
            if letter != ".":
                found.setdefault(letter, []).append((r, c))
    return found


class SlidingBlocks:
    """A state is (rows, plies)."""

    def __init__(self, rows: str, goal: str, max_plies: int = 500):
        self.rows = tuple(rows.split("/"))
        self.goal = places(tuple(goal.split("/")))
        self.max_plies = max_plies
        self.letters = sorted(places(self.rows))
        self.solved, self.moves, self.slide = map(AGAIN, (self.solved, self.moves, self.slide))

    def initial(self):
        return self.rows, 0

    def to_move(self, state) -> int:
        return 0

    def solved(self, rows) -> bool:
        blocks = places(rows)
        return all(blocks[letter] == cells for letter, cells in self.goal.items())

    def result(self, state) -> int | None:
        if self.solved(state[0]):
            return 1
        return 0 if state[1] >= self.max_plies else None

    def cells(self, state) -> str:
        return "".join(state[0])

    def moves(self, rows) -> list[int]:
        """What can move, whether the puzzle is solved or not."""
        found = []
        blocks = places(rows)
        for number, letter in enumerate(self.letters):
            for direction, (dr, dc) in enumerate(STEPS):
                targets = [(r + dr, c + dc) for r, c in blocks[letter]]
                inside = all(0 <= r < len(rows) and 0 <= c < len(rows[0]) for r, c in targets)
                if inside and all(rows[r][c] in (".", letter) for r, c in targets):
                    found.append(4 * number + direction)
        return found

    def legal(self, state) -> list[int]:
        return [] if self.result(state) is not None else self.moves(state[0])

    def slide(self, rows, action: int):
        letter, (dr, dc) = self.letters[action // 4], STEPS[action % 4]
        grid = [["." if cell == letter else cell for cell in row] for row in rows]
        for r, c in places(rows)[letter]:
            grid[r + dr][c + dc] = letter
        return tuple("".join(row) for row in grid)

    def step(self, state, action: int):
        return self.slide(state[0], action), state[1] + 1

    def kinds(self, rows) -> frozenset:
        """The position with equal blocks taken for one another, the goal's apart."""
        looks = []
        for letter, cells in places(rows).items():
            (r0, c0), owner = cells[0], letter if letter in self.goal else ""
            looks.append((owner, r0, c0, tuple((r - r0, c - c0) for r, c in cells)))
        return frozenset(looks)


class Search(NamedTuple):
    positions: int  # all that moves can reach, the solved ones passed through
    shortest: int  # moves to the first solved one
    expanded: int  # positions taken from the queue until then, itself included
    layers: list[int]  # positions by distance


def breadth_first(game: SlidingBlocks, distinct: bool) -> Search:
    """Every position from the start; `distinct` tells equal blocks apart."""
    key = (lambda rows: rows) if distinct else game.kinds
    seen = {key(game.rows)}
    queue = deque([(game.rows, 0)])
    layers: list[int] = []
    shortest = expanded = taken = 0
    while queue:
        rows, distance = queue.popleft()
        taken += 1
        layers += [0] * (distance + 1 - len(layers))
        layers[distance] += 1
        if not expanded and game.solved(rows):
            shortest, expanded = distance, taken
        for action in game.moves(rows):
            child = game.slide(rows, action)
            if key(child) not in seen:
                seen.add(key(child))
                queue.append((child, distance + 1))
    return Search(len(seen), shortest, expanded, layers)
