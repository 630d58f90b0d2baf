"""Archimedes in plain Python, after the rules: strings and lists, one ray at a time.

Squares 0..63 row by row from a8 to h1, "." empty, "B" Black (moves first, port a1), "W" White (port h8).
Action = from * 64 + to; from the own port it rebuilds a destroyed ship and sails it out (original rules).
"""

STEPS = ((-1, 0), (1, 0), (0, 1), (0, -1), (-1, -1), (1, -1), (-1, 1), (1, 1))
PORTS = (56, 7)
START = "....WWW./....WWWW/.....WWW/......WW/BB....../BBB...../BBBB..../.BBB...."


def rays(cell: int) -> list[list[int]]:
    lines = []
    for down, right in STEPS:
        row, column = cell // 8 + down, cell % 8 + right
        line = []
        while 0 <= row < 8 and 0 <= column < 8:
            line.append(row * 8 + column)
            row, column = row + down, column + right
        lines.append(line)
    return lines


RAYS = [rays(cell) for cell in range(64)]


def attackers(cells: str, cell: int, enemy: str) -> int:
    """How many ships of the enemy are the first ship on a line from this square."""
    count = 0
    for line in RAYS[cell]:
        for there in line:
            if cells[there] != ".":
                count += cells[there] == enemy
                break
    return count


def moved(cells: str, source: int, target: int, ship: str) -> str:
    after = list(cells)
    after[source] = "."
    after[target] = ship
    return "".join(after)


def without(cells: str, gone: list[int]) -> str:
    return "".join("." if cell in gone else ship for cell, ship in enumerate(cells))


class Archimedes:
    """A state is (cells, seat to move, destroyed ships of seat 0, of seat 1, plies, result or None)."""

    def __init__(self, rules: str = "original", max_plies: int = 300):
        self.original = rules == "original"
        self.max_plies = max_plies

    def initial(self):
        return self.at(START, 0)

    def at(self, rows: str, seat: int, destroyed: tuple[int, int] = (0, 0)):
        return rows.replace("/", ""), seat, *destroyed, 0, None

    def to_move(self, state) -> int:
        return state[1]

    def cells(self, state) -> str:
        return state[0]

    def result(self, state) -> int | None:
        return state[5]

    def legal(self, state) -> list[int]:
        if state[5] is not None:
            return []
        return sorted(source * 64 + target for source, target in self._lawful(state))

    def _lawful(self, state):
        """The moves that the rules allow, one by one."""
        return self._original_moves(state) if self.original else self._dagaz_moves(state)

    def _sail(self, cells: str, source: int) -> list[tuple[int, int]]:
        found = []
        for line in RAYS[source]:
            for target in line:
                if cells[target] != ".":
                    break
                found.append((source, target))
        return found

    def _ship_moves(self, cells: str, seat: int) -> list[tuple[int, int]]:
        own = [cell for cell in range(64) if cells[cell] == "BW"[seat]]
        return [move for cell in own for move in self._sail(cells, cell) if move[1] != PORTS[seat]]

    def _original_moves(self, state) -> list[tuple[int, int]]:
        cells, seat = state[:2]
        moves = self._ship_moves(cells, seat)
        if state[2 + seat] and cells[PORTS[seat]] == ".":
            moves += self._sail(cells, PORTS[seat])
        return moves

    def _dagaz_moves(self, state):
        cells, seat = state[:2]
        own, enemy = "BW"[seat], "WB"[seat]
        for source, target in self._ship_moves(cells, seat):
            after = moved(cells, source, target, own)
            if attackers(after, target, enemy) >= 3:
                continue
            replies = self._ship_moves(after, 1 - seat) if target == PORTS[1 - seat] else []
            if not any(attackers(moved(after, x, y, enemy), target, enemy) >= 3 for x, y in replies):
                yield source, target

    def step(self, state, action: int):
        cells, seat, *destroyed, plies, _ = state
        source, target = divmod(action, 64)
        destroyed[seat] -= cells[source] == "."
        cells = moved(cells, source, target, "BW"[seat])
        win = 1 if seat == 0 else -1
        result = None
        if self.original:
            while gone := self._vulnerable(cells, 1 - seat):
                destroyed[1 - seat] += len(gone)
                cells = without(cells, gone)
            if cells[PORTS[seat]] == "WB"[seat]:
                result = -win
        else:
            gone = [self._vulnerable(cells, each) for each in range(2)]
            destroyed = [destroyed[each] + len(gone[each]) for each in range(2)]
            cells = without(cells, gone[0] + gone[1])
            if target == PORTS[1 - seat]:
                result = win
        if result is None and plies + 1 >= self.max_plies:
            result = 0
        after = (cells, 1 - seat, *destroyed, plies + 1, result)
        stuck = result is None and not any(True for _ in self._lawful(after))
        return (*after[:5], win) if stuck else after

    def _vulnerable(self, cells: str, seat: int) -> list[int]:
        return [cell for cell in range(64) if cells[cell] == "BW"[seat] and attackers(cells, cell, "WB"[seat]) >= 3]
