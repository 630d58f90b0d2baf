"""Breakthrough in plain Python, after the rules: sets of (file, rank), counted from the first player's left corner.

Action = square * 3 + move, squares row by row from the top left; 0 forward, 1 and 2 to the player's left and right.
"""


class Breakthrough:
    """A state is (pieces of the first player, of the second one, seat to move)."""

    def __init__(self, height: int = 8, width: int = 8):
        self.height = height
        self.width = width

    def initial(self):
        ranks = range(self.height)
        first, second = (
            frozenset((file, rank) for file in range(self.width) for rank in chosen)
            for chosen in (ranks[:2], ranks[-2:])
        )
        return first, second, 0

    def at(self, rows: str, seat: int):
        first, second = (
            frozenset(
                (file, self.height - 1 - row)
                for row, line in enumerate(rows.split("/"))
                for file, letter in enumerate(line)
                if letter == piece
            )
            for piece in "XO"
        )
        return first, second, seat

    def to_move(self, state) -> int:
        return state[2]

    def cells(self, state) -> str:
        glyphs = {**dict.fromkeys(state[0], "X"), **dict.fromkeys(state[1], "O")}
        ranks = reversed(range(self.height))
        return "".join(glyphs.get((file, rank), ".") for rank in ranks for file in range(self.width))

    def result(self, state) -> int | None:
        first, second, _ = state
        if not second or any(rank == self.height - 1 for _, rank in first):
            return 1
        if not first or any(rank == 0 for _, rank in second):
            return -1
        return None

    def target(self, seat: int, action: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """The square of a piece and the one where it goes, on the board or not."""
        square, move = divmod(action, 3)
        file, rank = square % self.width, self.height - 1 - square // self.width
        forward = 1 if seat == 0 else -1
        right = {0: 0, 1: -1, 2: 1}[move] * forward  # the second player sits opposite
        return (file, rank), (file + right, rank + forward)

    def legal(self, state) -> list[int]:
        if self.result(state) is not None:
            return []
        own, enemy = state[state[2]], state[1 - state[2]]
        found = []
        for action in range(3 * self.height * self.width):
            piece, (file, rank) = self.target(state[2], action)
            inside = 0 <= file < self.width and 0 <= rank < self.height
            blocked = (file, rank) in own or (action % 3 == 0 and (file, rank) in enemy)
            if piece in own and inside and not blocked:
                found.append(action)
        return found

    def step(self, state, action: int):
        piece, target = self.target(state[2], action)
        sides = [state[0], state[1]]
        sides[state[2]] = sides[state[2]] - {piece} | {target}
        sides[1 - state[2]] = sides[1 - state[2]] - {target}
        return sides[0], sides[1], 1 - state[2]
