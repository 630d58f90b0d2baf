"""The classical engines: alpha-beta beside one lane and beside C, its tricks, proofs beside plain Python, threats.

`uv run benchmarks/classical.py` prints ratios of one run; times mean little on a machine that has other work.
"""

import argparse
import functools
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from jaxgo.arena.match import play_match
from jaxgo.arena.openings import random_openings
from jaxgo.evaluators import Heuristic
from jaxgo.games import GAMES
from jaxgo.games.gomoku.rules import Gomoku
from jaxgo.players import load_player
from jaxgo.search import AlphaBeta, Model, threats
from jaxgo.system import devices

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "tests"))
PLAIN = AlphaBeta(depth=4, breadth=12, deepening=False, pvs=False, ordering=True, table=0, threats=False)


@functools.cache
def positions(game: Gomoku, lanes: int, plies: int) -> Any:
    """Games after moves drawn by the square root of their weights, so that fights begin."""
    model = Model(game, Heuristic())

    def walk(key: Any) -> Any:
        position = model.start(key, lanes)
        for ply in range(plies):
            weights = jnp.log(jnp.minimum(jax.vmap(game.move_weights)(position.state), 1e4)) / 2
            among = jnp.where(model.legal(position), weights, -jnp.inf)
            action = jax.random.categorical(jax.random.fold_in(key, ply), among).astype(jnp.int32)
            position = model.play(position, action)[0]
        return position

    return jax.jit(walk)(jax.random.key(1))


def searched(search: AlphaBeta, game: Gomoku, root: Any) -> tuple[np.ndarray, int, float, float]:
    """Values, nodes of all lanes and seconds of a whole search, compiled before; devices share what they can.

    Seconds by the clock and of processors: where a machine has other work, only the second tell something.
    """
    model, key, mesh = Model(game, Heuristic()), jax.random.key(0), devices.make_mesh()

    def run(root: Any, budget: Any) -> tuple[Any, Any]:
        state = search.extend(model, (), key, search.begin(model, (), key, root), budget)
        return state.value, state.done

    if len(root.state.ply) % mesh.size == 0:
        each = PartitionSpec(devices.AXIS)
        run = jax.shard_map(run, mesh=mesh, in_specs=(each, PartitionSpec()), out_specs=each, check_vma=False)
        root = jax.device_put(root, NamedSharding(mesh, each))
    program = jax.jit(run)
    jax.block_until_ready(program(root, jnp.int32(1)))
    began, worked = time.perf_counter(), time.process_time()
    value, done = jax.block_until_ready(program(root, jnp.int32(10**6)))
    seconds, work = time.perf_counter() - began, time.process_time() - worked
    return np.asarray(value), int(done.sum()), seconds, work


def in_c(game: Gomoku, root: Any) -> tuple[np.ndarray, int, float]:
    """The same search in C, on one core, in seconds of that core."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "alphabeta"
        subprocess.run(["cc", "-O3", "-march=native", "-o", program, HERE / "alphabeta.c", "-lm"], check=True)
        cells = np.asarray(jax.vmap(game.cells)(root.state), np.int8)
        given = game.knowledge().T.astype(np.float32).tobytes() + cells.tobytes()
        words = [program, str(PLAIN.depth), str(PLAIN.breadth), str(len(cells))]
        out = subprocess.run(words, input=given, capture_output=True, check=True).stdout.decode().split("\n")
    nodes, seconds = out[len(cells)].split()
    return np.array([float(line) for line in out[: len(cells)]]), int(nodes), float(seconds)


def alpha_beta(lanes: int) -> None:
    game = Gomoku(15)
    root = positions(game, lanes, 10)
    first = jax.tree.map(lambda x: x[:1], root)
    value, nodes, seconds, work = searched(PLAIN, game, root)
    alone = searched(PLAIN, game, first)
    theirs, their_nodes, their_seconds = in_c(game, root)
    rate, one, other = nodes / seconds, alone[1] / alone[2], their_nodes / their_seconds
    print(f"alpha-beta, 15x15, depth 4, breadth 12: {rate:,.0f} nodes/s in {lanes} lanes, {one:,.0f} in one")
    print(f"  ratio to one lane {rate / one:.1f}; to C on one core ({other:,.0f} nodes/s) {rate / other:.2f}")
    busy, one_busy = nodes / work, alone[1] / alone[3]
    print(
        f"  a second of one core: {busy:,.0f} nodes; ratio to one lane {busy / one_busy:.1f}; to C {busy / other:.2f}"
    )
    same = np.isclose(value, theirs, atol=1e-3).mean()
    print(f"  nodes {nodes:,}, in C {their_nodes:,}; the same value in {same:.1%} of positions")


def tricks(lanes: int) -> None:
    game = Gomoku(15)
    root = positions(game, lanes, 10)
    whole = {"depth": 6, "breadth": 8, "threats": False}
    found = {
        "none": AlphaBeta(deepening=False, pvs=False, ordering=False, table=0, **whole),
        "ordering and table, direct": AlphaBeta(deepening=False, table=14, **whole),
        "all, deepening": AlphaBeta(table=14, **whole),
        "all, with threats": AlphaBeta(table=14, **{**whole, "threats": True}),
    }
    nodes = {name: searched(search, game, root)[1] for name, search in found.items()}
    print(f"nodes at depth 6, breadth 8, {lanes} positions")
    for name, count in nodes.items():
        print(f"  {name:28} {count:12,}  {nodes['none'] / count:6.1f} times fewer")


def proofs(lanes: int, rules: str) -> None:
    from reference import fours
    from reference.gomoku import Gomoku as Reference

    game, most, depth = Gomoku(15, rules), 2000, 15
    root = positions(game, lanes, 30)

    def run(states: Any) -> Any:
        live = ~jax.vmap(game.over)(states)
        prover = threats.begin(game, states, jax.vmap(game.legal)(states) & live[:, None], live, depth)
        return threats.go_on(game, prover, jnp.full(lanes, most, jnp.int32)), live

    program = jax.jit(run)
    jax.block_until_ready(program(root.state))
    began = time.perf_counter()
    prover, live = jax.block_until_ready(program(root.state))
    seconds = time.perf_counter() - began
    reference, agree, asked, began = Reference(15, rules), 0, 0, time.perf_counter()
    won, sure = np.asarray(prover.won), np.asarray(prover.ended & live)
    for cells, seat, ours, known in zip(
        np.asarray(jax.vmap(game.cells)(root.state)), np.asarray(root.state.to_play), won, sure, strict=True
    ):
        text, budget = "".join(".XO"[c] for c in cells), [200]
        if known and (line := fours.wins(reference, text, "XO"[seat], depth, budget), budget[0] >= 0)[1]:
            asked, agree = asked + 1, agree + ((line is not None) == ours)
    theirs = time.perf_counter() - began
    print(
        f"fours, 15x15 {rules}: {lanes / seconds:,.0f} positions/s, {won.sum()} of {live.sum()} won; plain Python",
        end=" ",
    )
    print(f"{asked / theirs:,.0f} positions/s, agrees in {agree} of {asked}")


def threes(lanes: int) -> None:
    """How many more positions threes win, and what that costs."""
    game, depth = Gomoku(15), 15
    root = positions(game, lanes, 16)
    for quiet, most in ((False, 2000), (True, 2000)):

        def run(states: Any, quiet: bool = quiet, most: int = most) -> Any:
            live = ~jax.vmap(game.over)(states)
            prover = threats.begin(game, states, jax.vmap(game.legal)(states), live, depth, quiet)
            prover = threats.go_on(game, prover, jnp.full(lanes, most, jnp.int32), quiet)
            return prover.won, prover.ended, prover.nodes

        program = jax.jit(run)
        jax.block_until_ready(program(root.state))
        began = time.perf_counter()
        won, ended, nodes = (np.asarray(x) for x in program(root.state))
        seconds = time.perf_counter() - began
        name = "threes and fours" if quiet else "fours"
        print(
            f"{name}, 15x15 after 16 plies: {won.sum()} of {lanes} won, {ended.sum()} decided within {most} nodes",
            end="",
        )
        print(f"; {lanes / seconds:,.0f} positions/s, {nodes.sum() / seconds:,.0f} nodes/s")


def bots(lanes: int) -> None:
    """Moves a second of the bots by rules, where they belong."""
    homes = {"careful": "musketeers", "instinct": "maharajah", "aggressive": "maharajah", "shortest-path": "dodgem3"}
    for spec, name in homes.items():
        player = load_player(spec, GAMES[name])
        root = jax.jit(lambda key, model=player.model: model.start(key, lanes))(jax.random.key(0))
        program = jax.jit(lambda key, root, p=player: p.search.run(p.model, p.params, key, root).action)
        jax.block_until_ready(program(jax.random.key(0), root))
        began = time.perf_counter()
        jax.block_until_ready(program(jax.random.key(1), root))
        print(f"{spec} in {name}: {lanes / (time.perf_counter() - began):,.0f} moves/s in {lanes} lanes")


def evaluations(lanes: int) -> None:
    game = Gomoku(15)
    states = positions(game, lanes, 10).state
    for name in ("heuristic", "move_weights", "threats"):
        program = jax.jit(jax.vmap(getattr(game, name)))
        jax.block_until_ready(program(states))
        taken = []
        for _ in range(5):
            began = time.perf_counter()
            jax.block_until_ready(program(states))
            taken.append(time.perf_counter() - began)
        print(f"{name} of a board, 15x15: {lanes / min(taken):,.0f} a second")


DUELS = {  # the game, who should win, the other one, and the share of points that is asked of the first
    "zeroplus": ("gomoku9", "zeroplus:200", "greedy", 0.60),
    "connect3d": ("connect3d", "nycu3d-puct:64", "nycu3d:64", 0.64),  # 100 Elo
    "kamisado": ("kamisado", "uct:64", "flat:64", 0.65),
    "gobang": ("gomoku9", "puct:64", "uct:64,weighted=no,depth=1000", 0.90),
}


def duels(pairs: int, names: Sequence[str] = tuple(DUELS)) -> None:
    """Matches that a seed asks for, from random openings, both seats of each; games are played to their ends."""
    for name in names:
        which, first, second, asked = DUELS[name]
        game = GAMES[which]
        begin = random_openings(game).positions(range(pairs))
        began = time.perf_counter()
        score = play_match(load_player(first, game), load_player(second, game), jax.random.key(0), begin)
        elo = 400 * np.log10(max(score.mean, 1e-3) / max(1 - score.mean, 1e-3))
        print(
            f"{which}: {first} takes {score.mean:.1%} ± {1.96 * score.error:.1%} of {score.games} games from {second} "
            f"({elo:+.0f} Elo; {asked:.0%} is asked), in {time.perf_counter() - began:.0f} s"
        )


PARTS = {
    "alphabeta": lambda lanes: alpha_beta(lanes),
    "tricks": lambda lanes: tricks(min(lanes, 32)),
    "proofs": lambda lanes: [proofs(lanes, rules) for rules in ("freestyle", "renju")],
    "threes": lambda lanes: threes(lanes),
    "bots": lambda lanes: bots(16 * lanes),
    "evaluations": lambda lanes: evaluations(4 * lanes),
    "duels": lambda lanes: duels(lanes),
    **{name: lambda lanes, name=name: duels(lanes, [name]) for name in DUELS},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=[p for p in PARTS if p not in DUELS], help=f"of {', '.join(PARTS)}")
    parser.add_argument("--lanes", type=int, default=256)
    args = parser.parse_args()
    devices.use_cores()
    for part in args.parts:
        PARTS[part](args.lanes)


if __name__ == "__main__":
    main()
