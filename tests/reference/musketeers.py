"""Three Musketeers in plain Python, after the rules: sets of cells.

Cells 0..24 row by row from a5 to e1. Action = from * 4 + direction, directions N E S W.
"""

import functools

STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))
CELLS = frozenset(range(25))


@functools.cache
def neighbour(cell: int, direction: int) -> int | None:
    row, column = cell // 5 + STEPS[direction][0], cell % 5 + STEPS[direction][1]
    return row * 5 + column if 0 <= row < 5 and 0 <= column < 5 else None


@functools.lru_cache(2**10)  # asked for the result, too
def moves(state) -> list[int]:
    musketeers, soldiers, seat = state
    goals = soldiers if seat == 0 else CELLS - musketeers - soldiers
    movers = musketeers if seat == 0 else soldiers
    return [i * 4 + d for i in sorted(movers) for d in range(4) if neighbour(i, d) in goals]


class Musketeers:
    """A state is (musketeers, soldiers, seat to move), the pieces as frozen sets of cells."""

    def initial(self):
        return self.at("eeeeM/eeeee/eeMee/eeeee/Meeee", 0)

    def at(self, rows: str, seat: int):
        text = rows.replace("/", "")
        return (
            frozenset(i for i, c in enumerate(text) if c == "M"),
            frozenset(i for i, c in enumerate(text) if c == "e"),
            seat,
        )

    def to_move(self, state) -> int:
        return state[2]

    def cells(self, state) -> str:
        return "".join("M" if i in state[0] else "e" if i in state[1] else "." for i in range(25))

    def result(self, state) -> int | None:
        musketeers = state[0]
        if len({i // 5 for i in musketeers}) == 1 or len({i % 5 for i in musketeers}) == 1:
            return -1
        return None if moves(state) else 1

    def legal(self, state) -> list[int]:
        return [] if self.result(state) is not None else moves(state)

    def step(self, state, action: int):
        musketeers, soldiers, seat = state
        source, target = action // 4, neighbour(*divmod(action, 4))
        if seat == 0:
            return musketeers - {source} | {target}, soldiers - {target}, 1
        return musketeers, soldiers - {source} | {target}, 0


def soldiers_win(game: Musketeers, state, known: dict) -> bool:
    """The exact value. No position comes back, since every other ply captures."""
    if state not in known:
        result = game.result(state)
        if result is not None:
            known[state] = result < 0
        else:
            answers = (soldiers_win(game, game.step(state, action), known) for action in game.legal(state))
            known[state] = all(answers) if game.to_move(state) == 0 else any(answers)
    return known[state]
