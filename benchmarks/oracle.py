"""How often does a player keep the value of the position? Measured against the truth, by budget and by ply.

uv run benchmarks/oracle.py                                           # the weights that jaxgo ships
uv run benchmarks/oracle.py --player uct --budgets 64 400 1600
uv run --extra benchmark benchmarks/oracle.py --truth bitbully --first-ply 2            # with the openings
uv run benchmarks/oracle.py --game dodgem3 --player gumbel@dodgem3-cpu --positions 0 --budgets 0 64
uv run --extra benchmark benchmarks/oracle.py --truth bitbully --published Test_L1_R3

Positions are drawn by seed: from random moves, from moves that a policy draws, and from both mixed, a third each; or,
with `--positions 0`, they are all that play can reach. No two are of one class, and each has a move that loses value,
so that nothing is given away. `chance` is what a player
scores who chooses blindly. Budget 0 is the policy alone. `--published` takes the positions of files instead, and all of
them count, those where nothing can be lost, too.
"""

import dataclasses
import functools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import harness
import jax
import jax.numpy as jnp
import numpy as np
import peers_bitbully
import published
import tyro

from jaxgo.arena.statistics import wilson
from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.lanes import alone, where_lanes
from jaxgo.core.play import Position
from jaxgo.evaluators import solved
from jaxgo.games import make
from jaxgo.games.connect4 import ConnectFour
from jaxgo.players import Player, load_player
from jaxgo.search import Greedy
from jaxgo.search.base import SearchResult
from jaxgo.solvers.connect4 import ILLEGAL, Solver
from jaxgo.solvers.explore import Explorer, Room
from jaxgo.solvers.retrograde import solve_game

KINDS = {"random": 1.0, "mixed": 0.5, "policy": 0.0}  # the share of random moves on the way to a position
BANDS = 4  # parts of equal size, by ply
Values = np.ndarray  # int8[B, A]: of each move to its mover; ILLEGAL where there is none


@dataclasses.dataclass(frozen=True)
class Oracle:
    """Measure how often players keep the value of positions whose truth is known."""

    game: str = "connect4"
    """A game with exact truth: connect4, or any that `jaxgo solve` works out."""
    player: tuple[str, ...] = ("gumbel@connect4-cpu", "puct@connect4-cpu")
    """Who is asked, without a budget."""
    budgets: tuple[int, ...] = (0, 16, 64, 400, 1600)
    """Simulations; 0: the policy alone."""
    positions: int = 1000
    """Positions, at most; small games have fewer. 0: every position that play can reach, of a small game."""
    first_ply: int = 14
    """No position comes earlier; in connect4 our solver takes longer for earlier ones."""
    policy: str = ""
    """Whose policy draws positions; empty: that of the first player."""
    truth: Literal["ours", "bitbully"] = "ours"
    """Whose word the truth is: our solvers', or that of bitbully, whose book knows the first 12 plies of connect4."""
    table: Path | None = None
    """A table of `jaxgo solve GAME --out FILE`, instead of working the game out."""
    published: tuple[Path, ...] = ()
    """Files of positions of connect4 instead of drawn ones: lines of the columns that were played, and a score."""
    seed: int = 0
    """Of the positions."""
    batch: int = 500
    """Positions that are searched at once."""


def drawn_position(model: Any, params: Any, key: Any, share: Any, ply: Any, plies: int) -> tuple[Position, Any]:
    """Games played with so much chance up to a ply each, and whether they are still going on."""

    def move(position: Position, at: Any) -> tuple[Position, None]:
        number, key = at
        judge, random, policy, mix = jax.random.split(key, 4)
        legal = model.legal(position)
        logits = model.evaluate(params, judge, position.state, legal).logits
        chosen = jax.random.categorical(policy, logits)
        anything = jax.random.categorical(random, jnp.where(legal, 0.0, -1e30))
        action = jnp.where(jax.random.uniform(mix, share.shape) < share, anything, chosen).astype(jnp.int32)
        after, _ = model.play(position, action)
        return where_lanes(number < ply, after, position), None

    position = model.start(key, share.shape[0])
    steps = jnp.arange(plies), jax.random.split(jax.random.fold_in(key, 1), plies)
    position, _ = jax.lax.scan(move, position, steps)
    return position, ~model.over(position)


def draw(game: Game[Any], player: Player, options: Oracle) -> Position:
    """Distinct live positions, as many of each kind as there are."""
    count, rng = 4 * options.positions, np.random.default_rng(options.seed)
    last = min(game.max_plies - 1, options.first_ply + 60)
    ply = rng.integers(min(options.first_ply, last), last + 1, count)
    share = np.resize(list(KINDS.values()), count)
    program = jax.jit(functools.partial(drawn_position, player.model, plies=last))
    position, live = program(
        player.params, jax.random.key(options.seed), jnp.asarray(share, jnp.float32), jnp.asarray(ply)
    )
    keys = solved.as_numbers(np.asarray(jax.jit(jax.vmap(game.class_key))(position.state)))
    _, first = np.unique(keys, return_index=True)
    live = np.asarray(live)
    chosen = np.sort(first[live[first]])
    return jax.tree.map(lambda x: jnp.asarray(np.asarray(x)[chosen]), position)


def every(game: Game[Any]) -> Position:
    """Every live position that play can reach, one of each class, each as if it were a start."""
    walk = Explorer(game, alone(game.init(jax.random.key(0))), Room(batch=512))
    walk.wait_roots()
    found = [walk.roots.states]
    while walk.next_priority is not None:
        for made in walk.expand():
            live = made.better & ~made.over
            walk.wait(made, live, np.zeros(len(live), np.int32))
            found.append(jax.tree.map(lambda x, live=live: x[live], made.states))
    states = jax.tree.map(lambda *x: jnp.asarray(np.concatenate(x)), *found)
    return jax.vmap(functools.partial(play.resume, game))(states)


def by_bitbully(game: Game[Any]) -> Callable[[Any], Values]:
    """An independent solver of Connect Four, one position after the other."""
    if game != ConnectFour():
        raise UsageError("bitbully knows connect4 alone, on its usual board; leave --truth as it is")
    bitbully = peers_bitbully.package()
    solver = bitbully.BitBully("12-ply-dist")

    def ask(states: Any) -> Values:
        cells = np.asarray(jax.jit(jax.vmap(game.cells))(states)).reshape(-1, *game.shape)
        boards = [bitbully.Board(position.tolist()) for position in cells]
        return np.stack([peers_bitbully.move_values(solver, board, game.num_actions) for board in boards])

    return ask


def truth(game: Game[Any], options: Oracle) -> Callable[[Any], Values]:
    """Tells what every move is worth, from a batch of states."""
    if options.truth == "bitbully":
        return by_bitbully(game)
    if isinstance(game, ConnectFour):
        return Solver(game).moves
    table = solved.load(options.table)[0] if options.table else solve_game(game)
    lookup = solved.on_device(table)

    def ask(states: Any) -> Values:
        here, below = jax.device_get(jax.jit(functools.partial(solved.judge, game))(lookup, states))
        if not here.known.all():
            raise UsageError(f"the table does not know all positions of {options.game}; solve it from the start")
        legal = np.asarray(jax.jit(jax.vmap(game.legal))(states))
        # what ends the game at once is not a position of its own in a table that was made from later ones
        return np.where(legal, below.value, ILLEGAL).astype(np.int8)

    return ask


def has_choice(values: Values) -> np.ndarray:
    """`bool[B]`: whether a move of theirs loses value."""
    return ((values > ILLEGAL) & (values < values.max(axis=1, keepdims=True))).any(axis=1)


def questions(
    game: Game[Any], drawer: Player, options: Oracle, ask: Callable[[Any], Values] | None = None
) -> tuple[Position, Values]:
    """Positions in which a move loses value, and what every move of them is worth; `ask` is who knows it already."""
    if not options.positions and isinstance(game, ConnectFour):
        raise UsageError("--positions 0 asks for every position, and Connect Four has too many; say how many")
    position = draw(game, drawer, options) if options.positions else every(game)
    began = time.perf_counter()
    values = (ask or truth(game, options))(position.state)
    seconds = time.perf_counter() - began
    choice = has_choice(values)
    some = np.flatnonzero(choice)[: options.positions or None]
    if not len(some):
        raise UsageError(f"{options.game} has no position with a wrong move among those drawn; draw more of them")
    harness.report("oracle/truth", drawn=len(choice), with_a_choice=int(choice.sum()), seconds=seconds)
    return jax.tree.map(lambda x: x[some], position), values[some]


def of_file(game: Game[Any], path: Path, ask: Callable[[Any], Values]) -> tuple[Position, Values]:
    """The positions of a file, all of them, and what every move is worth; the file has a word on that, too."""
    position, worth = published.read(game, path)
    began = time.perf_counter()
    values = ask(position.state)
    best = values.max(axis=1)
    harness.report(
        f"oracle/truth/{path.name}",
        positions=len(best),
        as_published=float((best == worth).mean()),
        with_a_choice=int(has_choice(values).sum()),
        seconds=time.perf_counter() - began,
    )
    return position, values


def answers(player: Player, most: int, options: Oracle) -> Callable[[int, Position], tuple[SearchResult, float]]:
    """What the player does with a budget, and how long it took; one program serves all budgets."""
    quiet: Any = player.search.quiet()
    search = dataclasses.replace(quiet, **({"nodes": most + 1} if player.search.nodes >= 0 else {}))

    @jax.jit
    def think(params: Any, key: Any, root: Position, budget: Any) -> SearchResult:
        begin, extend, end = jax.random.split(key, 3)
        state = search.begin(player.model, params, begin, root, budget)
        return search.result(end, search.extend(player.model, params, extend, state, budget))

    @jax.jit
    def policy(params: Any, key: Any, root: Position) -> SearchResult:
        return Greedy(threats=False).run(player.model, params, key, root)

    def run(budget: int, root: Position) -> tuple[SearchResult, float]:
        began, parts, count = time.perf_counter(), [], root.state.ply.shape[0]
        for begin in range(0, count, options.batch):
            # the last batch is as large as the others
            part = np.minimum(np.arange(begin, begin + options.batch), count - 1)
            some = jax.tree.map(lambda x, part=part: x[part], root)
            key = jax.random.fold_in(jax.random.key(options.seed), begin)
            some_answers = (
                think(player.params, key, some, jnp.int32(budget)) if budget else policy(player.params, key, some)
            )
            parts.append(jax.device_get(some_answers))
        whole = jax.tree.map(lambda *x: np.concatenate(x)[:count], *parts)
        return whole, time.perf_counter() - began

    return run


def keeps(values: Values, action: np.ndarray) -> np.ndarray:
    """`bool[B]`: whether these moves keep what the positions are worth."""
    return values[np.arange(len(values)), action] == values.max(axis=1)


def shares_kept(player: Player, most: int, asked: tuple[Position, Values], options: Oracle) -> list[float]:
    """The shares of positions whose value a player keeps: by its policy, and with `most` simulations."""
    position, values = asked
    think = answers(player, most, options)
    moves = [think(budget, position)[0].action for budget in (0, most)]
    return [float(keeps(values, move).mean()) for move in moves]


def report(question: str, result: SearchResult, values: Values, ply: np.ndarray, seconds: float) -> None:
    best = values.max(axis=1)
    kept = keeps(values, result.action)
    share, low, high = wilson(float(kept.sum()), len(best))
    bands = np.array_split(np.argsort(ply, kind="stable"), BANDS)
    harness.report(
        f"oracle/{question}",
        positions=len(best),
        kept=share,
        low_95=low,
        high_95=high,
        chance=float(((values == best[:, None]).sum(axis=1) / (values > ILLEGAL).sum(axis=1)).mean()),
        **{f"plies_{ply[band].min()}_to_{ply[band].max()}": float(kept[band].mean()) for band in bands},
        proven=float(result.solved.mean()),
        proven_wrongly=int((result.solved & (np.round(result.value) != best)).sum()),
        squared_error=float(((result.worth - best) ** 2).mean()),
        squared_error_of_means=float(((result.value - best) ** 2).mean()),
        seconds=seconds,
    )


@harness.told
def main() -> None:
    options = tyro.cli(Oracle)
    game = make(options.game)
    players = [load_player(spec, game) for spec in options.player]
    if options.published:
        knows = truth(game, options)
        asked = {f"/{path.name}": of_file(game, path, knows) for path in options.published}
    else:
        drawer = load_player(options.policy, game) if options.policy else players[0]
        asked = {"": questions(game, drawer, options)}
    for spec, player in zip(options.player, players, strict=True):
        ask = answers(player, max(options.budgets), options)
        for name, (position, values) in asked.items():
            for budget in options.budgets:
                result, spent = ask(budget, position)
                report(f"{spec}/{budget}{name}", result, values, np.asarray(position.state.ply), spent)


if __name__ == "__main__":
    main()
