"""Maharajah and the Sepoys in plain Python, after the rules: strings, one square and one ray at a time.

Squares 0..63 row by row from a8 to h1; letters P R N B Q K of the army, M a Maharaja. Action = from * 64 + to, castling
is the king's move of two squares. The king, and the last Maharaja, are royal.
"""

import functools

KNIGHT = ((-2, -1), (-2, 1), (-1, -2), (-1, 2), (1, -2), (1, 2), (2, -1), (2, 1))
STRAIGHT = ((-1, 0), (1, 0), (0, -1), (0, 1))
OBLIQUE = ((-1, -1), (-1, 1), (1, -1), (1, 1))
ALL = STRAIGHT + OBLIQUE
SLIDERS = {"R": STRAIGHT, "B": OBLIQUE, "Q": ALL}
STARTS = {
    "dagaz": "......../......../......../....M.../......../......../PPPPPPPP/RNBQKBNR",
    "classic": "RNBQKBNR/PPPPPPPP/......../......../......../......../......../....M...",
    "two": "RNBKQBNR/PPPPPPPP/......../......../......../......../.M....M./........",
}


@functools.cache
def leaps(cell: int, steps) -> list[int]:
    row, column = divmod(cell, 8)
    return [(row + r) * 8 + column + c for r, c in steps if 0 <= row + r < 8 and 0 <= column + c < 8]


@functools.cache
def rays(cell: int, steps) -> list[list[int]]:
    """The squares along each ray to the edge of the board."""
    lines = []
    for r, c in steps:
        row, column, line = cell // 8 + r, cell % 8 + c, []
        while 0 <= row < 8 and 0 <= column < 8:
            line.append(row * 8 + column)
            row, column = row + r, column + c
        lines.append(line)
    return lines


def slides(cells: str, cell: int, steps) -> list[int]:
    """The squares along rays up to and with the first piece."""
    found = []
    for line in rays(cell, steps):
        for square in line:
            found.append(square)
            if cells[square] != ".":
                break
    return found


def seen(cells: str, cell: int, steps, men: str) -> bool:
    """Whether the first piece along a ray is one of these."""
    for line in rays(cell, steps):
        for square in line:
            if cells[square] != ".":
                if cells[square] in men:
                    return True
                break
    return False


class Maharajah:
    """A state is (cells, seat to move, castling rights as letters, plies, result or None)."""

    def __init__(self, layout: str = "dagaz", goal: str = "capture", castling: bool = True, max_plies: int = 300):
        self.layout, self.goal, self.max_plies = layout, goal, max_plies
        self.castling = castling and layout != "two"
        self.army = 1 if layout == "classic" else 0
        self.forward = -1 if layout == "dagaz" else 1
        self.back = 56 if layout == "dagaz" else 0

    def initial(self):
        return self.at(STARTS[self.layout], 0)

    def at(self, rows: str, seat: int):
        cells = rows.replace("/", "")
        rights = ""
        if self.castling and cells[self.back + 4] == "K":
            rights = "K" * (cells[self.back + 7] == "R") + "Q" * (cells[self.back] == "R")
        return cells, seat, rights, 0, None

    def to_move(self, state) -> int:
        return state[1]

    def cells(self, state) -> str:
        return state[0]

    def result(self, state) -> int | None:
        return state[4]

    def _maharaja_targets(self, cells: str, cell: int) -> set[int]:
        return set(slides(cells, cell, ALL)) | set(leaps(cell, KNIGHT))

    def _maharaja_attacks(self, cells: str, target: int) -> bool:
        return any(cells[c] == "M" for c in leaps(target, KNIGHT)) or seen(cells, target, ALL, "M")

    def _army_attacks(self, cells: str, target: int) -> bool:
        if any(cells[c] == "P" for c in leaps(target, ((-self.forward, -1), (-self.forward, 1)))):
            return True
        if any(cells[c] == "N" for c in leaps(target, KNIGHT)):
            return True
        if any(cells[c] == "K" for c in leaps(target, ALL)):
            return True
        return seen(cells, target, STRAIGHT, "RQ") or seen(cells, target, OBLIQUE, "BQ")

    def _royal_attacked(self, cells: str, seat: int) -> bool:
        if seat == self.army:
            return self._maharaja_attacks(cells, cells.index("K"))
        return cells.count("M") == 1 and self._army_attacks(cells, cells.index("M"))

    def _pawn_targets(self, cells: str, cell: int) -> list[int]:
        row, home = cell // 8, self.back // 8 + self.forward
        found = [t for t in leaps(cell, ((self.forward, 0),)) if cells[t] == "."]
        if found and row == home and cells[cell + 16 * self.forward] == ".":
            found.append(cell + 16 * self.forward)
        return found + [t for t in leaps(cell, ((self.forward, -1), (self.forward, 1))) if cells[t] == "M"]

    def _castlings(self, cells: str, rights: str) -> list[tuple[int, int]]:
        found, king = [], self.back + 4
        for letter, side, between in (("K", 1, (5, 6)), ("Q", -1, (1, 2, 3))):
            clear = all(cells[self.back + c] == "." for c in between)
            path = [king, king + side, king + 2 * side]
            if letter in rights and clear and not any(self._maharaja_attacks(cells, c) for c in path):
                found.append((king, king + 2 * side))
        return found

    def _moves(self, state) -> list[tuple[int, int]]:
        cells, seat, rights = state[:3]
        moves = []
        if seat != self.army:
            for cell in (m for m in range(64) if cells[m] == "M"):
                moves += [(cell, t) for t in self._maharaja_targets(cells, cell) if cells[t] != "M"]
            return moves
        for cell, man in enumerate(cells):
            if man in SLIDERS:
                targets = slides(cells, cell, SLIDERS[man])
            elif man in "NK":
                targets = leaps(cell, KNIGHT if man == "N" else ALL)
            else:
                targets = self._pawn_targets(cells, cell) if man == "P" else []
            moves += [(cell, t) for t in targets if cells[t] in ".M"]
        return moves + self._castlings(cells, rights)

    def _moved(self, cells: str, source: int, target: int) -> str:
        after = list(cells)
        after[target], after[source] = after[source], "."
        if cells[source] == "K" and abs(target - source) == 2:
            corner, beside = (7, 5) if target > source else (0, 3)
            after[self.back + corner], after[self.back + beside] = ".", "R"
        return "".join(after)

    def legal(self, state) -> list[int]:
        if state[4] is not None:
            return []
        return sorted(source * 64 + target for source, target in self._lawful(state))

    def _lawful(self, state):
        """The moves that the goal allows, one by one."""
        for move in self._moves(state):
            if self.goal == "capture" or not self._royal_attacked(self._moved(state[0], *move), state[1]):
                yield move

    def step(self, state, action: int):
        cells, seat, rights, plies, _ = state
        source, target = divmod(action, 64)
        taken = cells[target]
        cells = self._moved(cells, source, target)
        for letter, column in (("K", 7), ("Q", 0)):
            if {source, target} & {self.back + column, self.back + 4}:
                rights = rights.replace(letter, "")
        win = 1 if seat == 0 else -1
        if taken == "K" or (taken == "M" and "M" not in cells):
            return cells, 1 - seat, rights, plies + 1, win
        after = cells, 1 - seat, rights, plies + 1, None
        result = None
        if not any(True for _ in self._lawful(after)):
            result = win if self.goal == "mate" and self._royal_attacked(cells, 1 - seat) else 0
        elif plies + 1 >= self.max_plies:
            result = 0
        return (*after[:4], result)
