"""The mine race in plain Python: a board of safe cells and mines "I", one token, moves of 1 to 4 cells.

Action = cells - 1. Who lands on a mine loses; nobody may run over the end of the board.
"""


class MineRace:
    """A state is (cell of the token, seat to move)."""

    def __init__(self, board: str):
        self.board = board

    def initial(self):
        return 0, 0

    def to_move(self, state) -> int:
        return state[1]

    def result(self, state) -> int | None:
        """The seat to move is not the one that stepped on the mine."""
        return None if self.board[state[0]] != "I" else (1 if state[1] == 0 else -1)

    def legal(self, state) -> list[int]:
        if self.result(state) is not None:
            return []
        return [a for a in range(4) if state[0] + a + 1 < len(self.board)]

    def cells(self, state) -> str:
        token = "*" if self.board[state[0]] == "I" else "@"
        return self.board[: state[0]] + token + self.board[state[0] + 1 :]

    def step(self, state, action: int):
        return state[0] + action + 1, 1 - state[1]


def lost_cells(board: str) -> list[int]:
    """Cells from which the side to move loses: all four cells ahead are mines or won for the other."""
    lost: list[int] = []
    for cell in reversed(range(len(board))):
        if board[cell] != "I" and not any(cell + m in lost for m in (1, 2, 3, 4)):
            lost.append(cell)
    return sorted(lost)
