"""Go with plain sets: the rules of Tromp and Taylor, with the other usual rules for ko and suicide.

Point = row * width + column, pass = number of points. A board is bytes: a point is 0 empty, 1 Black's, 2 White's. The
state is a tuple (board, player, passes in a row, keys of all positions so far, simple-ko point or -1, ply).
"""

from typing import NamedTuple

STONES = bytes([1]), bytes([2])
GLYPHS = bytes.maketrans(bytes([0, 1, 2]), b".XO")


class Capture(NamedTuple):
    board: bytes
    taken: list  # enemy stones
    drowned: int  # stones of the mover's own chain, where that was taken


class Go:
    """`ko` is simple, positional or situational; two passes or `max_plies` end the game."""

    def __init__(self, height=9, width=None, ko="positional", suicide=False, komi=0.0, max_plies=None):
        self.height, self.width = height, width or height
        self.points = self.height * self.width
        self.ko, self.suicide, self.komi, self.max_plies = ko, suicide, komi, max_plies
        self.near = []
        for point in range(self.points):
            row, column = divmod(point, self.width)
            steps = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
            inside = [(r, c) for r, c in steps if 0 <= r < self.height and 0 <= c < self.width]
            self.near.append(frozenset(r * self.width + c for r, c in inside))

    def initial(self, board=None, player=0):
        board = bytes(board or self.points)
        return board, player, 0, self.remember(frozenset(), board, 1 - player), -1, 0

    def key(self, board, moved):
        """What may not come again."""
        return board if self.ko == "positional" else (board, moved)

    def remember(self, seen, board, moved):
        return seen if self.ko == "simple" else seen | {self.key(board, moved)}

    def to_move(self, state):
        return state[1]

    def cells(self, state):
        return state[0].translate(GLYPHS).decode()

    def chain(self, board, point):
        """The stones of a chain and its liberties."""
        stones, liberties, todo = {point}, set(), [point]
        while todo:
            for other in self.near[todo.pop()]:
                if board[other] == 0:
                    liberties.add(other)
                elif board[other] == board[point] and other not in stones:
                    stones.add(other)
                    todo.append(other)
        return stones, liberties

    def breathes(self, board, point):
        """Whether a chain has a liberty; it looks no further than the first."""
        known, todo = {point}, [point]
        while todo:
            for other in self.near[todo.pop()]:
                if board[other] == 0:
                    return True
                if board[other] == board[point] and other not in known:
                    known.add(other)
                    todo.append(other)
        return False

    def put(self, board, point, player):
        """A stone on an empty point; None where it would have no liberty and suicide is forbidden."""
        placed = board[:point] + STONES[player] + board[point + 1 :]
        taken = set()
        for other in self.near[point]:
            if placed[other] == 2 - player and not self.breathes(placed, other):
                taken |= self.chain(placed, other)[0]
        if not taken and any(board[other] == 0 for other in self.near[point]):
            return Capture(placed, [], 0)
        cells = bytearray(placed)
        for stone in taken:
            cells[stone] = 0
        if self.breathes(cells, point):
            return Capture(bytes(cells), sorted(taken), 0)
        if not self.suicide:
            return None
        stones = self.chain(cells, point)[0]
        for stone in stones:
            cells[stone] = 0
        return Capture(bytes(cells), [], len(stones))

    def attempt(self, state, point):
        """What a legal move does; None where it is illegal."""
        board, player, _, seen, ko, _ = state
        if board[point] or (self.ko == "simple" and point == ko):
            return None
        move = self.put(board, point, player)
        if move is None or self.key(move.board, player) in seen:
            return None
        if self.ko == "simple" and move.drowned == 1:
            return None  # a pass in disguise
        return move

    def quiet(self, state):
        """The points of legal moves that take nothing and have a liberty left, by a look at every chain."""
        board, player, _, seen, ko, _ = state
        empty = {point for point in range(self.points) if board[point] == 0}
        found, takes = {point for point in empty if not self.near[point].isdisjoint(empty)}, {ko}
        stones = {point for point in range(self.points) if board[point]}
        while stones:
            chain, liberties = self.chain(board, first := stones.pop())
            stones -= chain
            if board[first] == player + 1 and len(liberties) > 1:
                found |= liberties
            elif board[first] == 2 - player and len(liberties) == 1:
                takes |= liberties
        found -= takes
        if self.ko == "simple":
            return found
        after = {point: board[:point] + STONES[player] + board[point + 1 :] for point in found}
        return {point for point in found if self.key(after[point], player) not in seen}

    def legal(self, state):
        if self.result(state) is not None:
            return []
        # on small boards every move is tried, so that the array rules meet both ways
        quiet = self.quiet(state) if self.points > 25 else ()
        empty = [point for point in range(self.points) if state[0][point] == 0]
        return [*(p for p in empty if p in quiet or self.attempt(state, p) is not None), self.points]

    def step(self, state, action):
        board, player, passes, seen, _, ply = state
        if action == self.points:
            return board, 1 - player, passes + 1, self.remember(seen, board, player), -1, ply + 1
        move = self.attempt(state, action)
        ko = -1
        if len(move.taken) == 1 and self.chain(move.board, action) == ({action}, set(move.taken)):
            ko = move.taken[0]
        return move.board, 1 - player, 0, self.remember(seen, move.board, player), ko, ply + 1

    def owners(self, board):
        """1 or -1 where Black or White has a stone or surrounds the empty region, else 0."""
        out = [{0: 0, 1: 1, 2: -1}[code] for code in board]
        left = {point for point in range(self.points) if board[point] == 0}
        while left:
            region, colours, todo = set(), set(), [left.pop()]
            while todo:
                point = todo.pop()
                region.add(point)
                for other in self.near[point]:
                    if board[other]:
                        colours.add(board[other])
                    elif other in left:
                        left.discard(other)
                        todo.append(other)
            if len(colours) == 1:
                for point in region:
                    out[point] = 1 if colours == {1} else -1
        return out

    def score(self, board):
        return sum(self.owners(board))

    def result(self, state):
        if state[2] >= 2 or (self.max_plies and state[5] >= self.max_plies):
            value = self.score(state[0]) - self.komi
            return (value > 0) - (value < 0)
        return None


def parse(rows):
    return bytes(".XO".index(glyph) for glyph in rows.replace("/", ""))
