"""Games of two worked out to the end: every position's value and how many moves the end is away.

All positions that play can reach are walked once on the device, each class of equals once. Then the ends are followed
backward on the host: a position is won as soon as a move leads to a lost one, lost when all moves lead to won ones.
The winner hurries and the loser holds out. What is never decided is a draw: nobody can force anything there, so play
may go round for ever.
"""

import functools
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Bool

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game, has_ply_limit, without_ply_limit
from jaxgo.core.lanes import alone
from jaxgo.evaluators.solved import Table
from jaxgo.solvers.explore import Explorer, Made, Room, padded

WINS = (-1.0, 0.0, 1.0)


def solve_game(game: Game[Any], roots: Any = None, room: Room | None = None) -> Table:
    """The table of all positions that play can reach from a batch of roots, or from the start."""
    if game.players != 2:
        raise UsageError("a table is for games of two; a puzzle has a solution instead")
    if game.repetition not in ("none", "draw"):
        raise UsageError(
            f"what {type(game).__name__} says of repetition ({game.repetition}) makes values depend on the way; choose "
            "rules that do not: ko=simple in Go, repetition=none or draw elsewhere"
        )
    game = without_ply_limit(game)
    if roots is None:
        roots = alone(game.init(jax.random.key(0)))
    walk = Explorer(game, roots, room or Room())
    value = _Ends()
    value.read(walk.roots)
    parents: list[np.ndarray] = []
    children: list[np.ndarray] = []
    cut = ways = False  # a game was ended by its plies alone; a position has several numbers of plies
    walk.wait_roots()
    while walk.next_priority is not None:
        for made in walk.expand():
            value.read(made)
            if not has_ply_limit(game):
                late = made.over & (np.asarray(made.states.ply) >= game.max_plies)
                cut = cut or (bool(late.any()) and _by_plies(game, jax.tree.map(lambda x, i=late: x[i], made.states)))
                ways = ways or bool((walk.depths[made.parent] + 1 != walk.depths[made.number]).any())
                if cut and ways:
                    name, limit = type(game).__name__, f"max_plies={game.max_plies}"
                    raise UsageError(
                        f"{name} ends after {limit} plies, so what a position is worth depends on the way to it; make "
                        f"the limit an option ({game.ply_limit}), which a solver lifts"
                    )
            parents.append(made.parent)
            children.append(made.number * 2 + made.same)
            walk.wait(made, made.better & ~made.over, walk.depths[made.number])
    edges = np.concatenate(parents or [np.zeros(0, np.int32)]), np.concatenate(children or [np.zeros(0, np.int32)])
    value.check_moves(game, np.bincount(edges[0], minlength=walk.count))
    values, distances = work_back(value.values[: walk.count], *edges)
    return Table(walk.visited.by_number(), values, distances).ordered()


def _by_plies(game: Game[Any], states: Any) -> bool:
    """Whether one of these finished games would go on if it had just begun."""
    young = states._replace(ply=np.zeros_like(states.ply))
    size = 1 << (len(young.ply) - 1).bit_length()  # few programs
    over = _over(game, jax.tree.map(lambda x: padded(x, size), young))[: len(young.ply)]
    return not np.asarray(over).all()


@functools.partial(jax.jit, static_argnums=0)
def _over(game: Game[Any], states: Any) -> Bool[Array, " B"]:
    return jax.vmap(game.over)(states)


class _Ends:
    """The results of finished positions, by number."""

    def __init__(self) -> None:
        self.values = np.zeros(1 << 16, np.int8)
        self.over = np.zeros(1 << 16, bool)

    def read(self, made: Made) -> None:
        while len(made.number) and made.number.max() >= len(self.values):
            self.values = np.concatenate([self.values, np.zeros_like(self.values)])
            self.over = np.concatenate([self.over, np.zeros_like(self.over)])
        ended = made.better & made.over
        if not np.isin(made.value[ended], WINS).all():
            raise UsageError("only games that end in a win, a loss or a draw can be solved; this one counts points")
        self.values[made.number[ended]] = made.value[ended]
        self.over[made.number[ended]] = True

    def check_moves(self, game: Game[Any], moves: np.ndarray) -> None:
        """A UsageError where a position neither is an end nor has a move, which would count as a draw."""
        stuck = int(((moves == 0) & ~self.over[: len(moves)]).sum())
        if stuck:
            raise UsageError(
                f"{game} has positions that go on and have no legal action, {stuck:,} of {len(moves):,}; let `over` "
                "say that the game ends there, or `legal` give a move, such as a pass"
            )


def work_back(ends: np.ndarray, parent: np.ndarray, child: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values for the mover and moves to the end, from the ends and all moves.

    `child` is twice the number of the position after the move, plus 1 where the same seat moves again.
    """
    count = len(ends)
    order = np.argsort(child >> 1, kind="stable")
    begins = np.concatenate([[0], np.cumsum(np.bincount(child >> 1, minlength=count))])
    parent, again = parent[order], (child[order] & 1).astype(np.int8)
    open_moves = np.bincount(parent, minlength=count).astype(np.int32)
    values, decided = ends.astype(np.int8), ends != 0
    distances = np.zeros(count, np.uint16)
    news, moves = np.flatnonzero(decided), 0
    while len(news):
        moves += 1
        lengths = begins[news + 1] - begins[news]
        edges = np.repeat(begins[news] - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
        edges += np.arange(len(edges))
        before = parent[edges]
        worth = np.repeat(values[news], lengths) * np.where(again[edges], 1, -1)
        undecided = ~decided[before]
        won = np.unique(before[undecided & (worth > 0)])
        decided[won] = True
        worse, times = np.unique(before[undecided & (worth < 0)], return_counts=True)
        open_moves[worse] -= times.astype(np.int32)
        lost = worse[(open_moves[worse] == 0) & ~decided[worse]]
        decided[lost] = True
        values[won], values[lost] = 1, -1
        distances[won], distances[lost] = moves, moves
        news = np.concatenate([won, lost])
    return values, distances
