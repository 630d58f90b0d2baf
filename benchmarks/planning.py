"""What is it worth that Gumbel search knows its simulations beforehand? One JSON line a pairing.

uv run benchmarks/planning.py                                   # go9-late-cpu, 384 simulations, 48 openings
uv run benchmarks/planning.py --player gumbel:384@connect4-cpu --game connect4

All sides make the same number of simulations. `planned` halves for all of them; `short` halves for a few and gives the
rest to the last two moves; `again` halves for a few, then for twice as many, and so on, as a search by a clock does.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

import harness
import jax
import jax.numpy as jnp
import tyro

from jaxgo.arena.match import play_match
from jaxgo.arena.openings import random_openings
from jaxgo.core.errors import UsageError
from jaxgo.games import make
from jaxgo.players import load_player
from jaxgo.search import Gumbel

PART = 16  # simulations between two looks at the clock


@dataclass(frozen=True)
class Unplanned(Gumbel):
    """Plans for a few simulations, and makes all of them at once, or in parts."""

    few: int = 32
    parts: int = 1

    def begin(self, model: Any, params: Any, key: Any, root: Any, plan: Any = None) -> Any:
        return Gumbel.begin(self, model, params, key, root, jnp.int32(self.few))

    def extend(self, model: Any, params: Any, key: Any, state: Any, budget: Any) -> Any:
        def part(_: Any, state: Any) -> Any:
            return Gumbel.extend(self, model, params, key, state, budget // self.parts)

        return jax.lax.fori_loop(0, self.parts, part, state)


@dataclass(frozen=True)
class Planning:
    """Let searches with and without a plan play each other."""

    game: str = "go9"
    """The game, as `jaxgo games` lists it."""
    player: str = "gumbel:384@go9-late-cpu"
    """Whose search, simulations and network both sides have."""
    few: int = 32
    """What those who know no better plan for."""
    openings: int = 48
    """Each played from both seats."""
    pairings: tuple[str, ...] = ("planned-short", "again-short")
    """Who plays whom, of planned, again and short."""
    seed: int = 9
    """Of the openings."""


@harness.told
def main() -> None:
    options = tyro.cli(Planning)
    game = make(options.game)
    player = load_player(options.player, game)
    search: Any = player.search.quiet()  # type: ignore[attr-defined]
    if type(search) is not Gumbel:
        raise UsageError(f"--player {options.player} does not search by Gumbel's halving; name one that does")
    settings = {field.name: getattr(search, field.name) for field in dataclasses.fields(search)}
    sides = {
        "planned": search,
        "short": Unplanned(**settings, few=options.few),
        "again": Unplanned(**settings, few=options.few, parts=search.simulations // PART),
    }
    openings = random_openings(game, seed=options.seed).positions(range(options.openings))
    for pairing in options.pairings:
        one, other = (dataclasses.replace(player, search=sides[name]) for name in pairing.split("-"))
        score = play_match(one, other, jax.random.key(1), openings)
        harness.report(f"planning/{pairing}", games=score.games, score=score.mean, error_95=1.96 * score.error)


if __name__ == "__main__":
    main()
