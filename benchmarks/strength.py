"""How strong and how fast are the searches? Each plays paired games of Connect Four against one opponent.

uv run benchmarks/strength.py                                   # the table of docs/search.md
uv run benchmarks/strength.py --agents gumbel:32,evaluator=rollout uct:400 --against uct:100

Agents play both seats from the same random openings. Score is a win or half a draw a game; its error comes from the
pairs, since two games of one opening are not independent. This compares searches; it is no rating.
"""

import sys
import time
from dataclasses import dataclass, field
from typing import Any

import harness
import jax
import jax.numpy as jnp
import numpy as np
import tyro

from jaxgo.agents import Agent, load_agent
from jaxgo.core import choice
from jaxgo.core.errors import UsageError
from jaxgo.core.play import Position
from jaxgo.games import make
from jaxgo.search.model import Model

FIELD = (
    "random",
    "greedy",
    "flat:64",
    "uct:16",
    "uct:64",
    "uct:256",
    "uct:64,leaves=8",
    "uct:64,solver=no",
    "puct:64,evaluator=rollout",
    "gumbel:16,evaluator=rollout,scale=0",
    "gumbel:64,evaluator=rollout,scale=0",
)


@dataclass(frozen=True)
class Strength:
    """Measure the strength of searches against one opponent."""

    agents: tuple[str, ...] = field(default=FIELD)
    """Who plays."""
    against: str = "uct:64"
    """The opponent of all."""
    pairs: int = 128
    """Openings; each is played twice, with seats swapped."""
    opening_plies: int = 3
    """Random moves before a game begins."""


def openings(model: Model, plies: int, count: int) -> Position:
    position = model.start(jax.random.key(0), count)
    for ply in range(plies):
        words = jax.vmap(choice.word, (None, 0))(jnp.int32(ply), jnp.arange(count))
        position, _ = model.play(position, jax.vmap(choice.pick)(model.legal(position), words))
    return position


def mover(agent: Agent) -> Any:
    """One compiled program: this agent moves in every game of a batch."""

    def move(key: Any, position: Position) -> Position:
        result = agent.search.run(agent.model, agent.params, key, position)
        return agent.model.play(position, result.action)[0]

    return jax.jit(move)


def match(options: Strength, ours: Any, theirs: Any, model: Model) -> tuple[np.ndarray, float]:
    """The score of each pair (0 to 2), and how many moves a second we made in games that were live."""
    start = openings(model, options.opening_plies, options.pairs)
    games = [start, start]  # we move first in the one, second in the other
    jax.block_until_ready(ours(jax.random.key(0), start))
    seconds, moves = 0.0, 0
    for ply in range(model.game.max_plies - options.opening_plies):
        key = jax.random.fold_in(jax.random.key(1), ply)
        mine = ply % 2
        moves += int((~model.over(games[mine])).sum())
        began = time.perf_counter()
        games[mine] = jax.block_until_ready(ours(jax.random.fold_in(key, 0), games[mine]))
        seconds += time.perf_counter() - began
        games[1 - mine] = theirs(jax.random.fold_in(key, 1), games[1 - mine])
        if all(bool(model.over(g).all()) for g in games):
            break
    first_seat = options.opening_plies % 2  # who moves after the opening
    results = [np.asarray(jax.vmap(model.game.returns)(g.state)) for g in games]
    ours_won = results[0][:, first_seat] + results[1][:, 1 - first_seat]
    return (ours_won + 2) / 2, moves / seconds


def main() -> None:
    options = tyro.cli(Strength)
    try:
        game = make("connect4")
        opponent = mover(load_agent(options.against, game))
        for spec in options.agents:
            agent = load_agent(spec, game)
            scores, speed = match(options, mover(agent), opponent, agent.model)
            harness.report(
                f"strength/{spec}",
                against=options.against,
                games=2 * options.pairs,
                score=float(scores.mean() / 2),
                error_95=float(1.96 * scores.std(ddof=1) / 2 / np.sqrt(len(scores))),
                batch=options.pairs,
                moves_s=speed,
            )
    except UsageError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
