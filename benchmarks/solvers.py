"""How fast do the solvers look at positions, beside plain Python; and do they agree with a solver of others?

uv run benchmarks/solvers.py                         # everything
uv run benchmarks/solvers.py --only connect4      # against bitbully: uv pip install bitbully
"""

import time
from collections import deque
from dataclasses import dataclass

import harness
import jax
import jax.numpy as jnp
import numpy as np

from jaxgo.core.errors import UsageError
from jaxgo.games import make
from jaxgo.games.sliding import SlidingBlocks
from jaxgo.solvers.connect4 import Solver
from jaxgo.solvers.explore import Room
from jaxgo.solvers.puzzles import solve_puzzle

EIGHT = ("867/254/3.1", "123/456/78.")  # 31 moves, as far away as it gets: nearly all 181,440 arrangements are seen


@dataclass(frozen=True)
class Solvers:
    """Measure the solvers."""

    only: str = ""
    """Questions, parted by commas: breadth, connect4. Empty: all."""
    positions: int = 1000
    """Of Connect Four."""
    first_ply: int = 14
    """No position of Connect Four comes earlier."""
    seed: int = 0
    """Of these positions."""


def plain_breadth(rows: str, goal: str) -> tuple[int, int, float]:
    """Moves, positions seen and seconds of a breadth-first search in plain Python: strings and a set."""
    width = rows.index("/")
    start, end = rows.replace("/", ""), goal.replace("/", "")
    neighbours = [
        [
            n
            for n, ok in (
                (i - width, i >= width),
                (i + width, i + width < len(start)),
                (i - 1, i % width),
                (i + 1, (i + 1) % width),
            )
            if ok
        ]
        for i in range(len(start))
    ]
    began, seen, queue = time.perf_counter(), {start}, deque([(start, 0)])
    while queue:
        cells, depth = queue.popleft()
        hole = cells.index(".")
        for other in neighbours[hole]:
            low, high = min(hole, other), max(hole, other)
            child = cells[:low] + cells[high] + cells[low + 1 : high] + cells[low] + cells[high + 1 :]
            if child == end:
                return depth + 1, len(seen) + 1, time.perf_counter() - began
            if child not in seen:
                seen.add(child)
                queue.append((child, depth + 1))
    raise AssertionError("the 8-puzzle of this benchmark has a solution")


def ask_breadth(options: Solvers) -> None:
    game = SlidingBlocks(*EIGHT)
    room = Room(batch=8192, slots=1 << 17, places=1 << 20)
    solve_puzzle(game, method="breadth", room=room)  # compiles
    began = time.perf_counter()
    found = solve_puzzle(game, method="breadth", room=room)
    seconds = time.perf_counter() - began
    moves, seen, plain = plain_breadth(*EIGHT)
    harness.report(
        "solvers/breadth/slide8",
        moves=len(found.moves or []),
        plain_moves=moves,
        jaxgo_states_s=found.seen / seconds,
        plain_states_s=seen / plain,
        ratio=(found.seen / seconds) / (seen / plain),
        bar=50.0,
    )


def ask_connect4(options: Solvers) -> None:
    """Random positions, all their moves, and the same by bitbully."""
    try:
        from bitbully import BitBully, Board
    except ImportError:
        raise UsageError("bitbully is missing; run: uv pip install bitbully") from None
    game, rng = make("connect4"), np.random.default_rng(options.seed)
    step, over = jax.jit(game.step), jax.jit(game.over)
    lines, states = [], []
    while len(lines) < options.positions:
        state, moves = game.init(jax.random.key(0)), []
        for _ in range(int(rng.integers(options.first_ply, 41))):
            moves.append(int(rng.choice(np.flatnonzero(np.asarray(game.legal(state))))))
            state = step(state, jnp.int32(moves[-1]))
            if bool(over(state)):
                break
        else:
            lines.append(moves)
            states.append(jax.tree.map(np.asarray, state))
    batch = jax.tree.map(lambda *x: jnp.asarray(np.stack(x)), *states)
    Solver(game).moves(batch)  # compiles
    solver = Solver(game)
    began = time.perf_counter()
    ours = solver.moves(batch)
    seconds = time.perf_counter() - began
    theirs, began = BitBully(), time.perf_counter()
    scores = [theirs.score_all_moves(Board(moves)) for moves in lines]
    other = time.perf_counter() - began
    wrong = sum(
        {c: int(np.sign(score)) for c, score in scored.items()} != {c: int(v) for c, v in enumerate(row) if v > -2}
        for scored, row in zip(scores, ours, strict=True)
    )
    harness.report(
        "solvers/connect4",
        positions=len(lines),
        wrong=wrong,
        seconds=seconds,
        bitbully_seconds=other,
        nodes=solver.nodes,
        nodes_s=solver.nodes / seconds,
    )


ASK = {"breadth": ask_breadth, "connect4": ask_connect4}


if __name__ == "__main__":
    harness.ask(Solvers, ASK)
