"""Exact values of small games by working backwards from the ends, over any reference game."""

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple


class Solution(NamedTuple):
    """Every state that can be reached, its value for the mover (0: nobody can force a win) and plies to the end."""

    values: dict[Any, int]
    distances: dict[Any, int]
    moves: dict[Any, list[tuple[int, int]]]  # actions, and the numbers of the states that they lead to
    states: list[Any]

    def after(self, state: Any) -> dict[int, tuple[int, int]]:
        """Value and distance of each action's position, for who moves there."""
        children = [(action, self.states[child]) for action, child in self.moves[state]]
        return {action: (self.values[child], self.distances[child]) for action, child in children}


def reachable(game: Any, roots: Iterable[Any]) -> tuple[list[Any], list[list[tuple[int, int]]]]:
    """Every state that play from `roots` can reach, and of each the actions and the numbers of what they lead to."""
    numbers = {root: number for number, root in enumerate(dict.fromkeys(roots))}
    states, moves = list(numbers), []
    for state in states:  # which grows
        moves.append([])
        for action in game.legal(state):
            child = game.step(state, action)
            number = numbers.setdefault(child, len(states))
            if number == len(states):
                states.append(child)
            moves[-1].append((action, number))
    return states, moves


def solve(game: Any, *roots: Any) -> Solution:
    """Wins and losses with their distances; what is left undecided is a draw. Seats must alternate."""
    states, moves = reachable(game, roots)
    parents: list[list[int]] = [[] for _ in states]
    undecided = [len(row) for row in moves]
    values, distances, done = [0] * len(states), [0] * len(states), [False] * len(states)
    queue: deque[int] = deque()
    for number, state in enumerate(states):
        for _, child in moves[number]:
            parents[child].append(number)
        result = game.result(state)
        if result:
            values[number], done[number] = result if game.to_move(state) == 0 else -result, True
            queue.append(number)
    while queue:
        child = queue.popleft()
        for number in parents[child]:
            if done[number]:
                continue
            undecided[number] -= 1
            if values[child] == -1 or undecided[number] == 0:
                values[number], distances[number], done[number] = -values[child], distances[child] + 1, True
                queue.append(number)
    by_state = [dict(zip(states, some, strict=True)) for some in (values, distances, moves)]
    return Solution(*by_state, states)
