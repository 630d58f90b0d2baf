"""Puzzles, games of one player: the shortest solution, found breadth-first or by A*, forward or from the end.

A* expands first what `least_moves` says may be nearest, and what lies deepest among equals; breadth-first is A* that
knows nothing. Both end only when nothing that waits could lead to a shorter solution.
"""

from typing import Any, Literal, NamedTuple, get_args

import jax
import numpy as np

from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.core.game import SOLVED, Game, without_ply_limit
from jaxgo.core.lanes import alone
from jaxgo.solvers.explore import Explorer, Made, Room

Method = Literal["astar", "breadth"]


class Solution(NamedTuple):
    """What a puzzle's solver found."""

    moves: list[int] | None  # actions from the root; None: there is no solution
    expanded: int  # positions whose moves were made
    seen: int  # positions found, each class of equals once
    made: int  # moves made; those that led to no new position led to one that was seen before

    @property
    def again(self) -> float:
        """The share of moves that led to a position, or to an equal of one, that was seen before."""
        return 1.0 - (self.seen - 1) / self.made if self.made else 0.0


class _Trail:
    """How every position was reached first, or best."""

    def __init__(self) -> None:
        self.parent = np.full(1 << 16, -1, np.int32)
        self.action = np.full(1 << 16, -1, np.int32)

    def extend(self, made: Made) -> None:
        number = made.number[made.better]
        while len(number) and number.max() >= len(self.parent):
            blank = np.full_like(self.parent, -1), np.full_like(self.action, -1)
            self.parent = np.concatenate([self.parent, blank[0]])
            self.action = np.concatenate([self.action, blank[1]])
        self.parent[number] = made.parent[made.better]
        self.action[number] = made.action[made.better]

    def back(self, number: int) -> list[int]:
        """The actions that led here."""
        actions: list[int] = []
        while self.parent[number] >= 0:
            actions.append(int(self.action[number]))
            number = int(self.parent[number])
        return actions[::-1]


def solve_puzzle(
    game: Game[Any], state: Any = None, method: Method = "astar", backward: bool = False, room: Room | None = None
) -> Solution:
    """The shortest solution from a position, or from the start, whatever the ply limit. `backward` searches from the
    end."""
    if game.players != 1:
        raise UsageError("only a puzzle of one player has a solution to find; games of two are solved to a table")
    if method not in get_args(Method):
        raise unknown_name("method of solving", method, get_args(Method))
    if backward:
        turned = game.backwards()
        if turned is None or state is not None:
            raise UsageError("this puzzle cannot be solved backward; only one whose rules say how, from its start, can")
        found = solve_puzzle(turned, None, method, room=room)
        return found._replace(moves=None if found.moves is None else found.moves[::-1])
    ply: Any = getattr(state, "ply", None)
    if state is not None and (ply is None or np.ndim(ply)):
        raise UsageError(
            "a puzzle is solved from one state, without the axis of a batch, such as play.begin(game).state"
        )
    game = without_ply_limit(game)
    root = game.init(jax.random.key(0)) if state is None else state
    trail = _Trail()
    walk = Explorer(game, alone(root), room or Room(), method == "astar")
    best, goal = None, -1
    if bool(walk.roots.over[0]):
        return Solution([] if walk.roots.value[0] >= SOLVED else None, 0, 1, 0)
    walk.wait_roots()
    while walk.next_priority is not None and (best is None or walk.next_priority < best):
        for made in walk.expand():
            trail.extend(made)
            depth = walk.depths[made.number]
            solved = made.better & made.over & (made.value >= SOLVED)
            if solved.any():
                nearest = int(np.where(solved, depth, np.iinfo(np.int32).max).argmin())
                if best is None or depth[nearest] < best:
                    best, goal = int(depth[nearest]), int(made.number[nearest])
            # what is not solved needs one move at least
            priority = depth + np.maximum(made.bound, 1, dtype=np.int64)  # bounds may be huge
            live = made.better & ~made.over
            walk.wait(made, live if best is None else live & (priority < best), priority)
    return Solution(None if best is None else trail.back(goal), walk.expanded, walk.count, walk.made)
