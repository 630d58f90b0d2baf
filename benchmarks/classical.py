"""The classical engines: alpha-beta beside one lane and beside C, its tricks, proofs beside plain Python, threats.

uv run benchmarks/classical.py                    # ratios of one run; times mean little beside other work
uv run benchmarks/classical.py ladder             # all bots of a game against the next two above them, in Elo
uv run benchmarks/classical.py proofs --lanes 1000
"""

import argparse
import dataclasses
import functools
import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from jaxgo.arena import elo
from jaxgo.arena.match import play_match
from jaxgo.arena.openings import random_openings
from jaxgo.arena.records import PairResult
from jaxgo.evaluators import Heuristic
from jaxgo.games import GAMES
from jaxgo.games.gomoku.rules import Gomoku
from jaxgo.players import load_player
from jaxgo.search import AlphaBeta, Model, threats
from jaxgo.system import devices
from jaxgo.ui import tables

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "tests"))
PLAIN = AlphaBeta(depth=4, breadth=12, deepening=False, pvs=False, ordering=True, table=0, threats=False)


@functools.cache
def positions(game: Gomoku, lanes: int, plies: int) -> Any:
    """Games after moves drawn by the square root of their weights, so that fights begin."""
    model = Model(game, Heuristic())

    def move(ply: Any, position: Any) -> Any:
        weights = jnp.log(jnp.minimum(jax.vmap(game.move_weights)(position.state), 1e4)) / 2
        among = jnp.where(model.legal(position), weights, -jnp.inf)
        action = jax.random.categorical(jax.random.fold_in(jax.random.key(1), ply), among).astype(jnp.int32)
        return model.play(position, action)[0]

    return jax.jit(lambda: jax.lax.fori_loop(0, plies, move, model.start(jax.random.key(1), lanes)))()


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
        _, black, white = np.split(game.knowledge(), 3)  # white's is what it is to Black
        given = np.stack([black, -white]).astype(np.float32).tobytes() + cells.tobytes()
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


@dataclasses.dataclass(frozen=True)
class ByWeights(AlphaBeta):
    """Tries the whole list of moves in the order of their weights, as Zero+ keeps it for every position.

    The list follows from the position alone; `best` and `cuts` say whether what was found before goes before it.
    """

    best: bool = False
    cuts: bool = False

    def _candidates(self, logits: Any, mask: Any, history: Any, first: Any) -> Any:
        history = history if self.cuts else jnp.zeros_like(history)
        return super()._candidates(logits, mask, history, first if self.best else jnp.full_like(first, -1))


def tricks(lanes: int, size: int) -> None:
    """How many nodes each trick saves: the same numbers in every run, on any machine."""
    game = Gomoku(size)
    root = positions(game, lanes, 10)
    whole = {"depth": 6, "breadth": 8, "threats": False}
    direct = {"deepening": False, "table": 14, **whole}
    found = {
        "none": AlphaBeta(deepening=False, pvs=False, ordering=False, table=0, **whole),
        "the whole list, table of values": ByWeights(**direct),
        "the same, what cut first": ByWeights(**direct, cuts=True),
        "the same, the table's move first": ByWeights(**direct, best=True),
        "ordering and table, direct": AlphaBeta(**direct),
        "the whole list, deepening": ByWeights(table=14, **whole),
        "all, deepening": AlphaBeta(table=14, **whole),
        "all, with threats": AlphaBeta(table=14, **{**whole, "threats": True}),
    }
    nodes = {name: searched(search, game, root)[1] for name, search in found.items()}
    print(f"nodes at depth 6, breadth 8, {lanes} positions, {size}x{size}")
    for name, count in nodes.items():
        print(f"  {name:33} {count:12,}  {nodes['none'] / count:6.1f} times fewer")


class Patience(list[int]):
    """What a plain solver counts its attempts down in: spent where they are, and where its processor seconds are.

    Not seconds by the clock: beside other work fewer positions would be finished.
    """

    def __init__(self, attempts: int, seconds: float) -> None:
        super().__init__([attempts])
        self.until = time.process_time() + seconds

    def __setitem__(self, place: Any, left: Any) -> None:
        super().__setitem__(place, left if time.process_time() < self.until else -1)


def plainly(reference: Any, text: str, stone: str, first: int, depth: int, quiet: bool, patience: Patience) -> bool:
    """Whether plain Python says that it is won: by fours; or by threes too, against every reply there is.

    Ours ends a proof by threes where two threats cannot be met at once, so a win is followed for some plies more.
    """
    from reference import fours, threes
    from reference.gomoku import put

    if not quiet:
        return fours.wins(reference, text, stone, depth, patience) is not None
    if first < 0:
        return threes.wins(reference, text, stone, depth, patience) is not None
    after = put(text, first, stone)
    won = reference.wins(after, first) or threes.answered(reference, after, first, stone, depth + 4, patience)
    return bool(won)


PROOFS = {"fours": ("freestyle", False), "fours-renju": ("renju", False), "threes-caro": ("caro", True)}


def proofs(name: str, lanes: int, limit: float) -> None:
    """Every position by our search and by plain Python, which has so many seconds for each."""
    from reference.gomoku import Gomoku as Reference

    rules, quiet = PROOFS[name]
    game, most, depth = Gomoku(15, rules), 2000, 7 if quiet else 15
    root = positions(game, lanes, 16 if quiet else 30)

    def run(states: Any) -> Any:
        live = ~jax.vmap(game.over)(states)
        legal = jax.vmap(game.legal)(states) & live[:, None]
        prover = threats.begin(game, states, legal, live, depth, quiet)
        prover = threats.go_on(game, prover, jnp.full(lanes, most, jnp.int32), quiet)
        return prover.won, prover.ended & live, prover.line[:, 0, 0], live

    program = jax.jit(run)
    jax.block_until_ready(program(root.state))
    began = time.perf_counter()
    won, known, first, live = (np.asarray(x) for x in program(root.state))
    seconds = time.perf_counter() - began
    print(f"{name}, 15x15: {lanes / seconds:,.0f} positions/s, {won.sum()} of {live.sum()} won, {known.sum()} decided")
    reference, asked, right, began = Reference(15, rules), [0, 0], [0, 0], time.perf_counter()
    cells, seats = np.asarray(jax.vmap(game.cells)(root.state)), np.asarray(root.state.to_play)
    for i in np.flatnonzero(known).tolist():
        text, patience = "".join(".XO"[c] for c in cells[i]), Patience(10**6, limit)
        said = plainly(reference, text, "XO"[seats[i]], int(first[i]) if won[i] else -1, depth, quiet, patience)
        if patience[0] >= 0:
            asked[int(won[i])] += 1
            right[int(won[i])] += said == won[i]
    theirs = time.perf_counter() - began
    print(
        f"  plain Python finishes {sum(asked)} within {limit} s each, {sum(asked) / theirs:,.1f} positions/s;", end=""
    )
    print(f" it agrees in {right[1]} of {asked[1]} wins and in {right[0]} of {asked[0]} others")


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
    "pruning": ("connect3d", "nycu3d-puct:64", "nycu3d-puct:64,prune=no", 0.55),
    # without the weights of moves, which the seed did not have: with them a bandit of 64 playouts is as strong
    "kamisado": ("kamisado", "uct:64,weighted=no", "flat:64,weighted=no,weight=1", 0.65),
    "kono": ("kono", "flat:100", "flat:100,weighted=no", 0.50),
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


PERSONALITIES = (
    "greedy",
    "zerosum",
    "threats:50",
    "zeromax:2000",
    "alphabeta:2000,depth=4,breadth=12",
    "zeroplus:50",
    "gobang:200",
)


def personalities(pairs: int) -> None:
    """What the bots of Gomoku 9x9 take from random play: a seed asks for everything."""
    game = GAMES["gomoku9"]
    begin, random = random_openings(game).positions(range(pairs)), load_player("random", game)
    for name in PERSONALITIES:
        score = play_match(load_player(name, game), random, jax.random.key(0), begin)
        print(f"{name}: {score.mean:.1%} of {score.games} games against random")


CENTRE = ("22", "23", "32", "33")


def first_moves(games: int) -> None:
    """Is the centre of Connect Four 3D good for who begins, and for the reply? Two moves at random, then games of the
    network's policy by itself, whose next twelve moves are drawn, so that hardly any two are the same."""
    game = GAMES["connect3d"]
    player = load_player("greedy@connect3d-cpu", game)
    model, rng = player.model, np.random.default_rng(0)
    drawn = rng.integers(0, game.num_actions, (2, games // 2), np.int32)
    begin = jax.jit(lambda key: model.start(key, games // 2))(jax.random.key(0))
    for moves in drawn:
        begin = jax.jit(model.play)(begin, moves)[0]
    score = play_match(player, player, jax.random.key(0), begin, temperature=1.0, hot_plies=12)
    different = {tuple(line) for lane in range(games // 2) for line in score.line(lane)}
    print(f"{games:,} games, {len(different):,} of them different after two moves")
    inside = np.isin([game.action_name(action) for action in range(game.num_actions)], CENTRE)[drawn]
    for first, reply in itertools.product((True, False), repeat=2):
        those = (inside[0] == first) & (inside[1] == reply)
        won = np.concatenate([score.first[those], 1 - score.second[those]])
        error = 1.96 * won.std() / np.sqrt(len(won))
        kinds = " and ".join("the centre" if centre else "elsewhere" for centre in (first, reply))
        print(f"{kinds}: who begins takes {won.mean():.1%} ± {error:.1%} of {len(won):,} games")


AB = "alphabeta:20000,depth=4,breadth=12"
# every match that is asked for is one of neighbours, or of bots two rungs apart: `uct` below alpha-beta, this below the
# same with proofs by fours, `greedy` below `zeroplus`
GOMOKU = ("random", "careful", "uct:400", "greedy", AB, "zeroplus:200")
LADDERS = {  # the game, and its bots from the weakest up
    "connect4": (
        "random",
        "careful",
        "flat:64",
        "uct:64",
        "uct:256",
        "alphabeta:20000,depth=8",
        "gumbel:64@connect4-cpu",
    ),
    "gomoku9": (*GOMOKU, f"{AB},vcf=40", "zeromax:20000"),
    "gomoku15": (*GOMOKU, f"{AB},vcf=200", "zeromax:50000"),
}


def ladder(which: str, pairs: int, minutes: float) -> None:
    """Every bot against the next two above it, from random openings, both seats of each; and what that makes in Elo.

    The neighbours come first; once the minutes are spent no other match begins.
    """
    game, bots = GAMES[which], LADDERS[which]
    begin = random_openings(game).positions(range(pairs))
    players, results = [load_player(spec, game) for spec in bots], []
    matches, start = [(i, i + step) for step in (1, 2) for i in range(len(bots) - step)], time.perf_counter()
    for number, (low, high) in enumerate(matches):
        began = time.perf_counter()
        if results and began - start > 60 * minutes:
            print(f"{which}: {len(matches) - number} of {len(matches)} matches are left out after {minutes:g} minutes")
            break
        score = play_match(players[high], players[low], jax.random.key(0), begin)
        results += [
            PairResult(which, bots[high], bots[low], float(first), float(second), f"{low}-{high}-{i}")
            for i, (first, second) in enumerate(zip(score.first, score.second, strict=True))
        ]
        print(
            f"{which}: {bots[high]} takes {score.mean:.1%} ± {1.96 * score.error:.1%} of {score.games} games from "
            f"{bots[low]}, in {time.perf_counter() - began:.0f} s",
            flush=True,
        )
    table = elo.rate(results)
    for below, above in itertools.pairwise(bot for bot in bots if bot in table.agents):
        gap = table.difference(above, below)
        print(f"  {above}: {table.rating(above)} Elo; {gap} above {below}", end="")
        print("" if gap.value > gap.error else ", which is within the error")
    print("\n".join(tables.remarks(table)))


Part = Callable[[argparse.Namespace], object]
PARTS: dict[str, Part] = {
    "alphabeta": lambda asked: alpha_beta(asked.lanes),
    "tricks": lambda asked: tricks(min(asked.lanes, 32), asked.size),
    "proofs": lambda asked: [proofs(name, asked.lanes, asked.limit) for name in PROOFS],
    "threes": lambda asked: threes(asked.lanes),
    "bots": lambda asked: bots(16 * asked.lanes),
    "evaluations": lambda asked: evaluations(4 * asked.lanes),
    "duels": lambda asked: duels(asked.lanes),
}
SINGLE: dict[str, Part] = {  # parts of parts, and what takes minutes: only where they are asked for
    **{name: lambda asked, name=name: duels(asked.lanes, [name]) for name in DUELS},
    **{f"proofs-{name}": lambda asked, name=name: proofs(name, asked.lanes, asked.limit) for name in PROOFS},
    **{f"ladder-{name}": lambda asked, name=name: ladder(name, asked.pairs, asked.minutes) for name in LADDERS},
    "first-moves": lambda asked: first_moves(10_000),
    "personalities": lambda asked: personalities(asked.pairs),
    "ladder": lambda asked: [ladder(name, asked.pairs, asked.minutes) for name in LADDERS],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=f"of {', '.join({**PARTS, **SINGLE})}")
    parser.add_argument("--lanes", type=int, default=256, help="positions, or pairs of a duel")
    parser.add_argument("--size", type=int, default=15, help="of the board, for tricks")
    parser.add_argument("--pairs", type=int, default=50, help="of each match of a ladder")
    parser.add_argument("--minutes", type=float, default=8, help="of a ladder, before no other match begins")
    parser.add_argument("--limit", type=float, default=0.5, help="processor seconds of plain Python for a position")
    asked, parts = parser.parse_args(), {**PARTS, **SINGLE}
    for part in asked.parts:
        if part not in parts:
            parser.error(f"there is no part {part!r}; choose among: {', '.join(parts)}")
    devices.use_cores()
    for part in asked.parts:
        parts[part](asked)


if __name__ == "__main__":
    main()
