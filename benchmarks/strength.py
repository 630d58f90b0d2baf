"""How strong and how fast are the searches? Each plays paired games of Connect Four against one opponent.

uv run benchmarks/strength.py                                   # the table of docs/search.md
uv run benchmarks/strength.py --agents gumbel:32,evaluator=rollout uct:400 --against uct:100

Score is a win or half a draw a game; its error comes from the pairs, since two games of one opening are not
independent. This compares searches; it is no rating.
"""

from dataclasses import dataclass, field

import harness
import jax
import tyro

from jaxgo.arena.match import play_match
from jaxgo.arena.openings import random_openings
from jaxgo.core.play import Position
from jaxgo.games import make
from jaxgo.players import Player, load_player

FIELD = (
    "random",
    "greedy",
    "flat:64",
    "uct:16",
    "uct:64",
    "uct:256",
    "uct:64,parallel_leaves=8",
    "uct:64,solver=no",
    "puct:64,evaluator=rollout",
    "gumbel:16,evaluator=rollout,gumbel_scale=0",
    "gumbel:64,evaluator=rollout,gumbel_scale=0",
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
    plies: int = 4
    """Random moves before a game begins."""
    seconds: float = 1.0
    """How long the speed of each agent is measured."""


def speed(agent: Player, root: Position, seconds: float) -> float:
    """Moves a second in all these positions at once."""
    search = jax.jit(lambda key, root: agent.search.run(agent.model, agent.params, key, root).action)
    jax.block_until_ready(search(jax.random.key(0), root))
    games = root.state.ply.shape[0]
    return harness.rate(float(games), lambda: search(jax.random.key(1), root), seconds)()


@harness.told
def main() -> None:
    options = tyro.cli(Strength)
    game = make("connect4")
    opponent = load_player(options.against, game)
    openings = random_openings(game, plies=options.plies).positions(range(options.pairs))
    for spec in options.agents:
        agent = load_player(spec, game)
        score = play_match(agent, opponent, jax.random.key(1), openings)
        harness.report(
            f"strength/{spec}",
            against=options.against,
            games=score.games,
            score=score.mean,
            error_95=1.96 * score.error,
            batch=options.pairs,
            moves_s=speed(agent, openings, options.seconds),
        )


if __name__ == "__main__":
    main()
