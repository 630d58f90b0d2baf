"""How fast do the solvers look at positions, beside plain Python; and do they agree with a solver of others?

uv run benchmarks/solvers.py                         # everything
uv run --extra benchmark benchmarks/solvers.py --only connect4      # against bitbully
uv run --extra benchmark benchmarks/solvers.py --only connect4 --first-ply 8 --no-every-move
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import harness
import jax
import jax.numpy as jnp
import numpy as np

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.games import make
from jaxgo.games.sliding import SlidingBlocks
from jaxgo.solvers.connect4 import Solver
from jaxgo.solvers.explore import Explorer, Room
from jaxgo.solvers.puzzles import solve_puzzle

sys.path.append(str(Path(__file__).parent.parent / "tests"))
EIGHT = ("867/254/3.1", "123/456/78.")  # 31 moves, as far away as it gets: all 181,440 arrangements are seen


@dataclass(frozen=True)
class Solvers:
    """Measure the solvers."""

    only: str = ""
    """Questions, parted by commas: breadth, optimal, connect4. Empty: all."""
    repetitions: int = 3
    """Of the walks breadth-first, in turns with plain Python."""
    instances: int = 10
    """Of the 15-puzzle."""
    positions: int = 1000
    """Of Connect Four."""
    part: int = 250
    """Positions of Connect Four that are solved together; a line is printed after each part."""
    first_ply: int = 14
    """No position of Connect Four comes earlier."""
    every_move: bool = True
    """Judge every move in these positions, not only the positions."""
    seed: int = 0
    """Of these positions."""


class Case(NamedTuple):
    """A puzzle walked breadth-first, whole or some layers of it, here and in plain Python."""

    game: Game[Any]
    seed: int  # of its start
    layers: int
    plain: Callable[[Any], Iterable[Any]]  # the positions after one, each class of equals by one of them
    start: Callable[[Any], Any]  # a position of the game as one of plain Python


def slides(width: int, height: int) -> Callable[[str], list[str]]:
    """Plain Python over strings, for puzzles of unit squares."""
    cells = range(width * height)
    beside = [[n for n in cells if abs(n % width - i % width) + abs(n // width - i // width) == 1] for i in cells]

    def after(cells: str) -> list[str]:
        hole, found = cells.index("."), []
        for other in beside[hole]:
            low, high = min(hole, other), max(hole, other)
            found.append(cells[:low] + cells[high] + cells[low + 1 : high] + cells[low] + cells[high + 1 :])
        return found

    return after


def drawn(game: SlidingBlocks) -> Callable[[Any], str]:
    return lambda state: "".join((".", *game.letters)[code] for code in np.asarray(state.blocks))


def blocks(game: SlidingBlocks) -> Callable[[Any], list[Any]]:
    """Plain Python over rows of letters, as the tests have it; blocks of one shape are one."""
    from reference.sliding import SlidingBlocks as Plain

    plain = Plain(game.rows, game.goal)

    def after(here: Equal) -> list[Any]:
        return [Equal(plain.slide(here.rows, move), plain) for move in plain.moves(here.rows)]

    return after


class Equal:
    """A drawing that equals another with equal blocks exchanged."""

    def __init__(self, rows: tuple[str, ...], plain: Any) -> None:
        self.rows, self.kinds = rows, plain.kinds(rows)
        self.hash = hash(self.kinds)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal) and self.kinds == other.kinds


def turned_pegs() -> Callable[[frozenset[int]], list[frozenset[int]]]:
    """Plain Python over sets of pegs; of the eight symmetric boards the one whose sorted cells come first."""
    from reference.pegs import Pegs as Plain

    plain = Plain("english", figure=[])
    grid = np.arange(49).reshape(7, 7)
    turns = [np.rot90(board, k).reshape(-1).tolist() for board in (grid, grid.T) for k in range(4)]

    def after(pegs: frozenset[int]) -> list[frozenset[int]]:
        boards = [plain.step(pegs, jump) for jump in plain.legal(pegs)]
        return [frozenset(min(sorted(turn[cell] for cell in board) for turn in turns)) for board in boards]

    return after


def cases() -> dict[str, Case]:
    from reference.sliding import SlidingBlocks as Plain

    eight, fifteen, klotski = SlidingBlocks(*EIGHT), make("slide15"), make("klotski")
    donkey = Plain(klotski.rows, klotski.goal)
    return {
        "slide8": Case(eight, 0, 40, slides(3, 3), drawn(eight)),
        "slide15": Case(fifteen, 1, 17, slides(4, 4), drawn(fifteen)),
        "klotski": Case(klotski, 0, 116, blocks(klotski), lambda state: Equal(donkey.rows, donkey)),
        "pegs": Case(
            make("pegs"),
            0,
            9,
            turned_pegs(),
            lambda state: frozenset(np.flatnonzero(make("pegs")._pegs(state)).tolist()),
        ),
    }


def walked(case: Case, root: Any) -> tuple[int, float]:
    """Positions seen in the first layers, and the seconds."""
    began = time.perf_counter()
    walk = Explorer(case.game, jax.tree.map(lambda x: x[None], root), Room())
    walk.wait_roots()
    while walk.next_priority is not None and walk.next_priority < case.layers:
        for made in walk.expand():
            walk.wait(made, made.better & ~made.over, walk.depths[made.number])
    return walk.count, time.perf_counter() - began


def plainly_walked(case: Case, root: Any) -> tuple[int, float]:
    """The same in plain Python: a set, and a list for each layer."""
    began = time.perf_counter()
    layer = [case.start(root)]
    seen = set(layer)
    for _ in range(case.layers):
        later = []
        for position in layer:
            for child in case.plain(position):
                if child not in seen:
                    seen.add(child)
                    later.append(child)
        layer = later
    return len(seen), time.perf_counter() - began


def ask_breadth(options: Solvers) -> None:
    for name, case in cases().items():
        root = jax.device_get(jax.jit(case.game.init)(jax.random.key(case.seed)))
        compiled = walked(case, root)[1]
        runs = [(walked(case, root), plainly_walked(case, root)) for _ in range(options.repetitions)]
        seen, plain_seen = runs[0][0][0], runs[0][1][0]
        seconds, plain = (statistics.median(run[who][1] for run in runs) for who in range(2))
        harness.report(
            f"solvers/breadth/{name}",
            positions=seen,
            plain_positions=plain_seen,
            compile_seconds=compiled - seconds,
            jaxgo_states_s=seen / seconds,
            plain_states_s=plain_seen / plain,
            ratio=(seen / seconds) / (plain_seen / plain),
            bar=50.0,
        )


def ask_optimal(options: Solvers) -> None:
    """Shortest solutions by A*, the compile time apart."""
    for name, seeds in {"hughe": [0], "klotski": [0], "slide15": list(range(options.instances)), "pegs": [0]}.items():
        game = make(name)
        for seed in seeds:
            root = jax.jit(game.init)(jax.random.key(seed))
            if seed == 0:
                solve_puzzle(game, root)  # compiles
            began = time.perf_counter()
            found = solve_puzzle(game, root)
            seconds = time.perf_counter() - began
            harness.report(
                f"solvers/optimal/{name}",
                seed=seed,
                moves=len(found.moves or []),
                positions=found.seen,
                seconds=seconds,
                states_s=found.seen / seconds,
            )


def drawn_games(options: Solvers, game: Game[Any]) -> tuple[list[list[int]], list[Any]]:
    """Random games that are still open where they stop, and where they stop."""
    rng, count = np.random.default_rng(options.seed), 4 * options.positions
    step, legal, over = (jax.jit(jax.vmap(rule)) for rule in (game.step, game.legal, game.over))
    start = jax.device_get(jax.vmap(game.init)(jax.random.split(jax.random.key(0), count)))
    lines: list[list[int]] = []
    states: list[Any] = []
    while len(lines) < options.positions:
        plies, state = rng.integers(options.first_ply, 41, count), start
        moves = np.zeros((count, plies.max()), np.int32)
        for ply in range(moves.shape[1]):
            moves[:, ply] = (rng.random((count, game.num_actions)) * np.asarray(legal(state))).argmax(axis=1)
            after, on = jax.device_get(step(state, moves[:, ply])), (ply < plies) & ~np.asarray(over(state))
            state = jax.tree.map(
                lambda new, old, on=on: np.where(on.reshape(-1, *[1] * (new.ndim - 1)), new, old), after, state
            )
        for number in np.flatnonzero(~np.asarray(over(state))):
            lines.append(moves[number, : plies[number]].tolist())
            states.append(jax.tree.map(lambda x, number=number: x[number], state))
    return lines[: options.positions], states[: options.positions]


def ask_connect4(options: Solvers) -> None:
    """Random positions, or all their moves, and the same by bitbully; each line tells of all parts up to it."""
    try:
        from bitbully import BitBully, Board
    except ImportError:
        raise UsageError("bitbully is missing; run: uv sync --extra benchmark") from None
    game = make("connect4")
    lines, states = drawn_games(options, game)
    solver, theirs = Solver(game), BitBully()
    ask = "moves" if options.every_move else "values"
    latest = states[int(np.argmax([len(moves) for moves in lines]))]
    getattr(Solver(game), ask)(jax.tree.map(lambda x: jnp.asarray(np.stack([x] * options.part)), latest))  # compiles
    wrong, seconds, other = 0, 0.0, 0.0
    for begin in range(0, len(lines), options.part):
        part = lines[begin : begin + options.part]
        # the last part is as large as the others, with copies
        chosen = np.minimum(np.arange(begin, begin + options.part), len(lines) - 1)
        batch = jax.tree.map(lambda *x: jnp.asarray(np.stack(x)), *[states[i] for i in chosen])
        began = time.perf_counter()
        ours = getattr(solver, ask)(batch)[: len(part)]
        seconds, began = seconds + time.perf_counter() - began, time.perf_counter()
        boards = [Board(moves) for moves in part]
        if options.every_move:
            scores = [theirs.score_all_moves(board) for board in boards]
            truth = [[np.sign(scored.get(c, np.nan)) for c in range(game.num_actions)] for scored in scores]
            same = [np.array_equal(row, np.nan_to_num(found, nan=-2)) for row, found in zip(ours, truth, strict=True)]
        else:
            same = [np.sign(theirs.mtdf(board)) == value for board, value in zip(boards, ours, strict=True)]
        other += time.perf_counter() - began
        wrong += len(part) - sum(bool(agrees) for agrees in same)
        harness.report(
            "solvers/connect4",
            positions=begin + len(part),
            wrong=wrong,
            seconds=seconds,
            bitbully_seconds=other,
            nodes=solver.nodes,
            nodes_s=solver.nodes / seconds,
        )


ASK = {"breadth": ask_breadth, "optimal": ask_optimal, "connect4": ask_connect4}


if __name__ == "__main__":
    harness.ask(Solvers, ASK)
