"""Kamisado in plain Python, after the rules: a round, or a match with sumo towers.

Rows 0 (rank 8) to 7 (rank 1), columns a to h = 0..7; colours 0 orange 1 blue 2 purple 3 pink 4 yellow 5 red 6 green
7 brown. Action = colour * 21 + way * 7 + distance - 1, ways: straight ahead, towards file a, towards file h; 168 forced
pass; in matches 169 and 170: fill from left, fill from right.
"""

from typing import NamedTuple

SQUARES = {  # official list: the squares of each colour
    0: "a8 b7 c6 d5 e4 f3 g2 h1",
    1: "a3 b8 c5 d2 e7 f4 g1 h6",
    2: "a2 b5 c8 d3 e6 f1 g4 h7",
    3: "a5 b6 c7 d8 e1 f2 g3 h4",
    4: "a4 b3 c2 d1 e8 f7 g6 h5",
    5: "a7 b4 c1 d6 e3 f8 g5 h2",
    6: "a6 b1 c4 d7 e2 f5 g8 h3",
    7: "a1 b2 c3 d4 e5 f6 g7 h8",
}
PASS, FILL_LEFT, FILL_RIGHT = 168, 169, 170
FURTHEST = (7, 5, 3, 1)  # by rings
VALUE = (0, 1, 3, 7, 15)


def square(name: str) -> tuple[int, int]:
    return 8 - int(name[1]), "abcdefgh".index(name[0])


COLOUR = {square(name): colour for colour, names in SQUARES.items() for name in names.split()}


class State(NamedTuple):
    towers: tuple  # by seat and colour: (row, column)
    rings: tuple
    seat: int
    required: int | None  # colour that must move; None: any
    passed: tuple = ()  # (seat, colour) of the towers passed over since the last real move
    last: tuple | None = None  # seat and square of the last real move
    choosing: bool = False  # the seat to move has won the round and chooses how to regroup
    result: int | None = None
    plies: int = 0


class Kamisado:
    def __init__(self, points: int = 1, max_plies: int = 128):
        self.points = points
        self.max_plies = max_plies

    def initial(self) -> State:
        home = [[(row, c) for k in range(8) for c in range(8) if COLOUR[row, c] == k] for row in (7, 0)]
        return State(tuple(map(tuple, home)), ((0,) * 8, (0,) * 8), 0, None)

    def to_move(self, state: State) -> int:
        return state.seat

    def result(self, state: State) -> int | None:
        return state.result

    def cells(self, state: State) -> str:
        board = self._board(state)
        towers = [board.get((row, column)) for row in range(8) for column in range(8)]
        return "".join("." if tower is None else ("OBUIYRGW", "obuiyrgw")[tower[0]][tower[1]] for tower in towers)

    def _board(self, state: State) -> dict:
        return {state.towers[seat][k]: (seat, k) for seat in range(2) for k in range(8)}

    def _pushed(self, state: State, seat: int, colour: int) -> list[tuple[int, int]]:
        """The enemy towers that this tower would push, nearest first; none if it cannot push."""
        board, rings = self._board(state), state.rings[seat][colour]
        row, column = state.towers[seat][colour]
        up, row_of_enemies = (-1, 1)[seat], []
        row += up
        while (row, column) in board:
            owner, other = board[row, column]
            if owner == seat or state.rings[owner][other] >= rings:
                return []
            row_of_enemies.append((owner, other))
            row += up
        return row_of_enemies if len(row_of_enemies) <= rings and 0 <= row < 8 else []

    def moves_of(self, state: State, seat: int, colour: int) -> list[int]:
        board, moves = self._board(state), []
        for way, aside in enumerate((0, -1, 1)):
            row, column = state.towers[seat][colour]
            for distance in range(1, FURTHEST[state.rings[seat][colour]] + 1):
                row, column = row + (-1, 1)[seat], column + aside
                if (row, column) in board or not (0 <= row < 8 and 0 <= column < 8):
                    break
                moves.append(colour * 21 + way * 7 + distance - 1)
        return moves + ([colour * 21] if self._pushed(state, seat, colour) else [])

    def legal(self, state: State) -> list[int]:
        if state.result is not None:
            return []
        if state.choosing:
            return [FILL_LEFT, FILL_RIGHT]
        colours = range(8) if state.required is None else [state.required]
        moves = sorted(move for k in colours for move in self.moves_of(state, state.seat, k))
        return moves or [PASS]

    def step(self, state: State, action: int) -> State:
        state = state._replace(plies=state.plies + 1)
        if action == PASS:
            after = self._pass(state)
        elif action in (FILL_LEFT, FILL_RIGHT):
            after = self._regroup(state, action == FILL_LEFT)
        else:
            after = self._move(state, action)
        if after.result is None and after.plies >= self.max_plies:
            after = after._replace(result=0)
        return after

    def _pass(self, state: State) -> State:
        tower = (state.seat, state.required)
        required = COLOUR[state.towers[state.seat][state.required]]
        after = state._replace(seat=1 - state.seat, required=required, passed=(*state.passed, tower))
        if (after.seat, required) not in after.passed:
            return after
        # deadlock: the tower named by the last real move's square gets the ring, if its owner did not make that move
        culprit, last_square = state.last
        return self._win_round(after, 1 - culprit, COLOUR[last_square])

    def _move(self, state: State, action: int) -> State:
        seat, colour = state.seat, action // 21
        way, distance = action % 21 // 7, action % 7 + 1
        up, aside = (-1, 1)[seat], (0, -1, 1)[way]
        row, column = state.towers[seat][colour]
        target = (row + up * distance, column + aside * distance)
        towers = [list(side) for side in state.towers]
        pushed = self._pushed(state, seat, colour) if target in self._board(state) else []
        for owner, other in pushed:
            r, c = towers[owner][other]
            towers[owner][other] = (r + up, c)
        towers[seat][colour] = target
        named = towers[pushed[-1][0]][pushed[-1][1]] if pushed else target
        after = state._replace(
            towers=tuple(map(tuple, towers)),
            seat=seat if pushed else 1 - seat,
            required=COLOUR[named],
            passed=(),
            last=(seat, target),
        )
        return self._win_round(after, seat, colour) if target[0] == (0, 7)[seat] else after

    def _win_round(self, state: State, winner: int, colour: int) -> State:
        """The winner's tower of this colour gains a ring."""
        rings = [list(side) for side in state.rings]
        rings[winner][colour] += 1
        over = self.points == 1 or sum(VALUE[r] for r in rings[winner]) >= self.points
        result = (1 if winner == 0 else -1) if over else None
        return state._replace(rings=tuple(map(tuple, rings)), seat=winner, choosing=True, result=result)

    def _regroup(self, state: State, left: bool) -> State:
        towers = []
        for seat in range(2):
            home, outward = (7, 0)[seat], (-1, 1)[seat]
            hand = list(range(8)) if left == (seat == 0) else list(range(7, -1, -1))  # seat 1's left is file h
            line = [
                colour
                for row in range(home, home + 8 * outward, outward)
                for column in hand
                for colour in range(8)
                if state.towers[seat][colour] == (row, column)
            ]
            towers.append(tuple((home, hand[line.index(colour)]) for colour in range(8)))
        return State(tuple(towers), state.rings, 1 - state.seat, None, plies=state.plies)
