"""Exact values of small games by working backwards from the ends, over any reference game."""

from collections import deque
from typing import Any, NamedTuple


class Solution(NamedTuple):
    """Every state that can be reached, its value for the mover (0: nobody can force a win) and plies to the end."""

    values: dict[Any, int]
    distances: dict[Any, int]
    children: dict[Any, list[tuple[int, Any]]]

    def after(self, state: Any) -> dict[int, tuple[int, int]]:
        """Value and distance of each action's position, for who moves there."""
        return {action: (self.values[child], self.distances[child]) for action, child in self.children[state]}


def reachable(game: Any, roots: list[Any]) -> dict[Any, list[tuple[int, Any]]]:
    """Every state that play from `roots` can reach, with its actions and what they lead to."""
    children: dict[Any, list[tuple[int, Any]]] = {}
    waiting = list(roots)
    while waiting:
        state = waiting.pop()
        if state in children:
            continue
        children[state] = [(action, game.step(state, action)) for action in game.legal(state)]
        waiting += [child for _, child in children[state] if child not in children]
    return children


def solve(game: Any, *roots: Any) -> Solution:
    """Wins and losses with their distances; what is left undecided is a draw. Seats must alternate."""
    children = reachable(game, list(roots))
    parents: dict[Any, list[Any]] = {state: [] for state in children}
    undecided = {state: len(moves) for state, moves in children.items()}
    values, distances = dict.fromkeys(children, 0), dict.fromkeys(children, 0)
    queue: deque[Any] = deque()
    for state, moves in children.items():
        for _, child in moves:
            parents[child].append(state)
        result = game.result(state)
        if result:
            values[state] = result if game.to_move(state) == 0 else -result
            queue.append(state)
    done = set(queue)
    while queue:
        child = queue.popleft()
        for state in parents[child]:
            if state in done:
                continue
            undecided[state] -= 1
            if values[child] == -1 or undecided[state] == 0:
                values[state] = -values[child]
                distances[state] = distances[child] + 1
                done.add(state)
                queue.append(state)
    return Solution(values, distances, children)
