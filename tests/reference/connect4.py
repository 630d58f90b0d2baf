"""Connect Four in plain Python: columns are tuples of seats from the bottom up.

Action = column from the left. The first run of k discs (across, up, two diagonals) wins; a full board is a draw.
"""


class ConnectFour:
    """A state is (columns, plies, result for player 0 or None)."""

    def __init__(self, width: int = 7, height: int = 6, k: int = 4):
        self.width, self.height, self.k = width, height, k

    def initial(self):
        return ((),) * self.width, 0, None

    def after(self, columns):
        """The state after these drops."""
        state = self.initial()
        for column in columns:
            state = self.step(state, column)
        return state

    def to_move(self, state) -> int:
        return state[1] % 2

    def result(self, state) -> int | None:
        return state[2]

    def legal(self, state) -> list[int]:
        columns, _, result = state
        return [] if result is not None else [c for c in range(self.width) if len(columns[c]) < self.height]

    def cells(self, state) -> str:
        rows = []
        for row in reversed(range(self.height)):
            rows += ["XO"[column[row]] if row < len(column) else "." for column in state[0]]
        return "".join(rows)

    def step(self, state, action: int):
        columns, plies, _ = state
        seat = plies % 2
        columns = (*columns[:action], (*columns[action], seat), *columns[action + 1 :])
        result = None
        if self._wins(columns, action, seat):
            result = 1 if seat == 0 else -1
        elif plies + 1 == self.width * self.height:
            result = 0
        return columns, plies + 1, result

    def _wins(self, columns, column: int, seat: int) -> bool:
        row = len(columns[column]) - 1
        for dc, dr in ((1, 0), (0, 1), (1, 1), (1, -1)):
            run = 1
            for sign in (1, -1):
                x, y = column + sign * dc, row + sign * dr
                while 0 <= x < self.width and 0 <= y < len(columns[x]) and columns[x][y] == seat:
                    run, x, y = run + 1, x + sign * dc, y + sign * dr
            if run >= self.k:
                return True
        return False


def value(game: ConnectFour, state, known: dict) -> int:
    """The value for the side to move with best play."""
    if state[2] is not None:
        return state[2] if game.to_move(state) == 0 else -state[2]
    if state[0] not in known:
        best = -1
        children = [game.step(state, action) for action in game.legal(state)]
        for child in sorted(children, key=lambda s: s[2] is None):  # what ends at once comes first
            best = max(best, -value(game, child, known))
            if best == 1:
                break
        known[state[0]] = best
    return known[state[0]]
