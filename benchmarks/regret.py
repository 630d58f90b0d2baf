"""How much do a player's moves give away? Judged by a deeper search, in games without a known truth.

uv run benchmarks/regret.py                                           # PUCT of several settings in Go 9x9
uv run benchmarks/regret.py --game gomoku9 --judge gumbel:400@gomoku9-cpu --player puct:100@gomoku9-cpu uct:100

Positions are drawn by seed: by the policy of the first player, with a chance move now and then. Each player chooses a
move in all of them. Where they choose otherwise, the judge searches the position after each move that was chosen; what
it says to the mover is what the move is worth. `gain` is the mean worth of a player's moves less that of the first
player's, over all positions, with its 95 % bar. The bars are those of pairs, so they are much narrower than those of a
match that takes as long; but the judge is no truth, and prefers what it would play itself.
"""

import dataclasses
import functools
from typing import Any

import harness
import jax
import jax.numpy as jnp
import numpy as np
import oracle
import tyro

from jaxgo.core.game import Game
from jaxgo.core.play import Position
from jaxgo.games import make
from jaxgo.players import Player, load_player

CHANCE = (0.03, 0.15)  # shares of random moves on the way to a position, half of the positions each
CLEAR = 0.02  # worth by which one move is called better than another


@dataclasses.dataclass(frozen=True)
class Regret:
    """Measure how much the moves of players give away, by the word of a deeper search."""

    game: str = "go9"
    """The game."""
    player: tuple[str, ...] = (
        "puct:400@go9-last-cpu",
        "puct:400,fpu=parent@go9-last-cpu",
        "puct:400,fpu=parent,c_init=0.6@go9-last-cpu",
        "gumbel:400@go9-last-cpu",
    )
    """Who is asked; all are compared with the first, whose policy draws the positions."""
    judge: str = "gumbel:256@go9-deep-cpu"
    """Who says what a move is worth, by a search of the position after it."""
    positions: int = 200
    """Positions, at most."""
    first_ply: int = 6
    """No position comes earlier."""
    last_ply: int = 50
    """No position comes later."""
    seed: int = 5
    """Of the positions."""
    batch: int = 128
    """Moves that are judged at once."""


def draw(game: Game[Any], player: Player, options: Regret) -> Position:
    """Distinct live positions."""
    count, rng = 2 * options.positions, np.random.default_rng(options.seed)
    ply = rng.integers(options.first_ply, options.last_ply + 1, count)
    program = jax.jit(functools.partial(oracle.drawn_position, player.model, plies=options.last_ply + 1))
    share = jnp.asarray(np.resize(CHANCE, count), jnp.float32)
    position, live = program(player.params, jax.random.key(options.seed), share, jnp.asarray(ply))
    keys = np.asarray(jax.jit(jax.vmap(game.hash))(position.state))
    _, first = np.unique(keys, axis=0, return_index=True)
    chosen = np.sort(first[np.asarray(live)[first]])[: options.positions]
    return jax.tree.map(lambda x: x[chosen], position)


def moves_of(player: Player, root: Position, options: Regret) -> np.ndarray:
    """The move that a player chooses in each position."""
    run = jax.jit(functools.partial(player.search.quiet().run, player.model))
    return np.asarray(run(player.params, jax.random.key(options.seed), root).action)


def worths(judge: Player, root: Position, moves: np.ndarray, options: Regret) -> np.ndarray:
    """`float[K, B]`: what the judge says of the moves of K players; 0 where all of them choose the same."""
    model, search = judge.model, judge.search.quiet()

    @jax.jit
    def ask(params: Any, key: Any, root: Position, action: Any) -> Any:
        after, step = model.play(root, action)
        worth = search.run(model, params, key, after).worth
        return step.reward + jnp.where(model.over(after), 0.0, step.discount * worth)

    differ = (moves != moves[0]).any(axis=0)
    asked = sorted({(int(at), int(move)) for row in moves for at, move in enumerate(row) if differ[at]})
    known: dict[tuple[int, int], float] = {}
    for begin in range(0, len(asked), options.batch):
        part = asked[begin : begin + options.batch]
        at, action = (np.resize(x, options.batch) for x in zip(*part, strict=True))  # the last batch is as large
        some = jax.tree.map(lambda x, at=at: x[at], root)
        said = ask(judge.params, jax.random.key(begin), some, jnp.asarray(action, jnp.int32))
        known.update(zip(part, np.asarray(said).tolist(), strict=False))
    return np.array([[known.get((at, int(move)), 0.0) for at, move in enumerate(row)] for row in moves])


@harness.told
def main() -> None:
    options = tyro.cli(Regret)
    game = make(options.game)
    players = [load_player(spec, game) for spec in options.player]
    root = draw(game, players[0], options)
    moves = np.stack([moves_of(player, root, options) for player in players])
    worth = worths(load_player(options.judge, game), root, moves, options)
    for spec, row, move in zip(options.player, worth - worth[0], moves, strict=True):
        bar = 1.96 * row.std() / len(row) ** 0.5
        better, worse = (row > CLEAR).mean(), (row < -CLEAR).mean()
        shares = {"differ": float((move != moves[0]).mean()), "better": float(better), "worse": float(worse)}
        harness.report(f"regret/{spec}", positions=len(row), gain=float(row.mean()), bar_95=float(bar), **shares)


if __name__ == "__main__":
    main()
