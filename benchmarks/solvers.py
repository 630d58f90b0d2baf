"""How fast do the solvers look at positions, beside plain Python; and do they agree with a solver of others?

uv run --extra benchmark benchmarks/solvers.py                      # everything
uv run --extra benchmark benchmarks/solvers.py --only connect4      # against bitbully
uv run --extra benchmark benchmarks/solvers.py --only connect4 --first-ply 8 --no-every-move
"""

import itertools
import operator
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
import peers_bitbully

from jaxgo.core.game import Game
from jaxgo.core.lanes import alone
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
    last_ply: int = 40
    """Nor later."""
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


class Slide(NamedTuple):
    """One step of a block at one place, in plain Python."""

    more: list[int]  # the cells that must be empty, too
    left: list[int]  # the cells that are empty after it
    taken: list[tuple[int, str]]  # the cells of the block then, and what is written there


def slide_table(game: SlidingBlocks) -> tuple[list[dict[tuple[int, str], Slide]], str]:
    """All slides, by an empty cell and by what lies beside it; and the start.

    A board is a string. Every cell of a block has a letter of its own, the same in equal blocks.
    """
    height, width = game.shape
    drawn, table = game.rows.replace("/", ""), [dict[tuple[int, str], Slide]() for _ in range(height * width)]
    start, signs, used = ["."] * len(drawn), dict[tuple[object, str], str](), ord("A")
    for letter in game.letters:
        own = [divmod(i, width) for i, other in enumerate(drawn) if other == letter]
        shape = [(r - own[0][0], c - own[0][1]) for r, c in own]
        look = (tuple(shape), letter if letter in game.goal else "")
        if look not in signs:
            signs[look], used = "".join(map(chr, range(used, used + len(own)))), used + len(own)
            add_slides(table, height, width, shape, signs[look])
        for (r, c), sign in zip(own, signs[look], strict=True):
            start[r * width + c] = sign
    return table, "".join(start)


def add_slides(table: list[Any], height: int, width: int, shape: list[tuple[int, int]], signs: str) -> None:
    for row, column, (dr, dc) in itertools.product(range(height), range(width), ((-1, 0), (0, 1), (1, 0), (0, -1))):
        own = [(row + r, column + c) for r, c in shape]
        new = [(r + dr, c + dc) for r, c in own]
        if all(0 <= r < height and 0 <= c < width for r, c in own + new):
            first, *more = [r * width + c for r, c in new if (r, c) not in own]
            behind = first - dr * width - dc
            left = [r * width + c for r, c in own if (r, c) not in new]
            taken = [(r * width + c, sign) for (r, c), sign in zip(new, signs, strict=True)]
            table[first][behind, signs[own.index(divmod(behind, width))]] = Slide(more, left, taken)


def blocks(game: SlidingBlocks) -> Callable[[str], list[str]]:
    """Plain Python over strings: what lies beside the empty cells says at once which blocks can move."""
    table, _ = slide_table(game)
    beside = [[(cell, {key[1]: table[hole][key] for key in table[hole] if key[0] == cell}) for cell in cells]
              for hole, cells in enumerate([sorted({cell for cell, _ in keys}) for keys in table])]  # fmt: skip

    def after(cells: str) -> list[str]:
        found, hole = [], cells.find(".")
        while hole >= 0:
            for cell, slides in beside[hole]:
                slide = slides.get(cells[cell])
                if slide is not None and all(cells[other] == "." for other in slide.more):
                    child = list(cells)
                    for other in slide.left:
                        child[other] = "."
                    for other, sign in slide.taken:
                        child[other] = sign
                    found.append("".join(child))
            hole = cells.find(".", hole + 1)
        return found

    return after


PARTS = 11  # holes whose pegs are looked up together


def turned_pegs() -> Callable[[int], list[int]]:
    """Plain Python over bits of a number; of the eight symmetric boards the least, from three tables."""
    from reference.pegs import HOLES, jumps

    at = {cell: i for i, cell in enumerate(sorted(HOLES["english"]))}
    bits = [[1 << at[cell] for cell in jump] for jump in jumps(HOLES["english"]).values()]
    needs = [(start | over, start | over | target) for start, over, target in bits]
    grid = np.arange(49).reshape(7, 7)
    turns = [np.rot90(board, k).reshape(-1) for board in (grid, grid.T) for k in range(4)]
    moved = [[1 << at[int(turn[cell])] for cell in at] for turn in turns]
    low, middle, high = (
        [
            tuple(sum(turn[first + i] for i in range(PARTS) if part >> i & 1) for turn in moved)
            for part in range(1 << PARTS)
        ]
        for first in range(0, len(at), PARTS)
    )
    mask = (1 << PARTS) - 1

    def after(pegs: int) -> list[int]:
        found = []
        for full, three in needs:
            if pegs & three == full:
                child = pegs ^ three
                a, b, c = low[child & mask], middle[child >> PARTS & mask], high[child >> 2 * PARTS]
                found.append(min(map(operator.or_, map(operator.or_, a, b), c)))
        return found

    return after


def all_pegs(state: Any) -> int:
    """The start, which is its own mirror image: every hole but the middle one has a peg."""
    from reference.pegs import CENTRE, HOLES

    return sum(1 << i for i, cell in enumerate(sorted(HOLES["english"])) if cell != CENTRE)


def cases() -> dict[str, Case]:
    eight, fifteen, klotski = SlidingBlocks(*EIGHT), make("slide15"), make("klotski")
    return {
        "slide8": Case(eight, 0, 40, slides(3, 3), drawn(eight)),
        "slide15": Case(fifteen, 1, 17, slides(4, 4), drawn(fifteen)),
        "klotski": Case(klotski, 0, 116, blocks(klotski), lambda state: slide_table(klotski)[1]),
        "pegs": Case(make("pegs"), 0, 9, turned_pegs(), all_pegs),
    }


def walked(case: Case, root: Any) -> tuple[int, float]:
    """Positions seen in the first layers, and the seconds."""
    began = time.perf_counter()
    walk = Explorer(case.game, alone(root), Room())
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
        plies, state = rng.integers(options.first_ply, options.last_ply + 1, count), start
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
    bitbully = peers_bitbully.package()
    game = make("connect4")
    lines, states = drawn_games(options, game)
    solver, theirs = Solver(game), bitbully.BitBully()
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
        boards = [bitbully.Board(moves) for moves in part]
        if options.every_move:
            truth = [peers_bitbully.move_values(theirs, board, game.num_actions) for board in boards]
            same = [np.array_equal(row, found) for row, found in zip(ours, truth, strict=True)]
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
