"""Who foresees the end of a game better, a net that has learnt how games end or 128 random playouts?

uv run benchmarks/endings.py                # go9-last-cpu, on games that go9-deep-cpu plays against itself
uv run benchmarks/endings.py --game go5 --player greedy@go5-cpu --plays gumbel:16@go5-cpu

Games begin with two random moves. A JSON line for each quarter of the games and one for all tell mean squared errors
against the final board: of whose each point is (from -1 to 1), and of the lead in points. The lead of playouts is what
`jaxgo analysis` tells of players without such a net: the one that makes the chance of winning, by the search of who
plays, where results spread as they do. `better` is by how much the net's error is smaller in the mean game, and its bar
that of 95 % over games. `images` are the errors of the mean over all symmetric images (`symmetric=yes`).
"""

import dataclasses
from typing import Any

import harness
import jax
import jax.numpy as jnp
import numpy as np
import tyro

from jaxgo.core.errors import UsageError
from jaxgo.evaluators.endings import OWNERSHIP, SCORE, played_out
from jaxgo.frontends.outlook import PLAYOUTS, Outlook
from jaxgo.games import make
from jaxgo.games.go.rules import Go
from jaxgo.players import Player, load_player
from jaxgo.search.model import Model

RANDOM = 2  # plies at the start of a game, points alone
PHASES = 4
KINDS = ("ownership", "lead")


@dataclasses.dataclass(frozen=True)
class Ends:
    """Ask a player and playouts how games of another player end."""

    game: str = "go9"
    """The board, as `jaxgo games` lists it."""
    player: str = "greedy@go9-last-cpu"
    """Whose net is asked."""
    plays: str = "gumbel:16@go9-deep-cpu"
    """Who plays the games, against itself."""
    games: int = 64
    """Games."""
    every: int = 4
    """Every so many plies the games are asked about."""
    seed: int = 5
    """Of the random moves, and of the searches."""


_foresee = jax.jit(Model.foresee, static_argnums=0)


def play_games(game: Go, player: Player, games: int, seed: int) -> tuple[Any, ...]:
    """The states at the ends; and of every ply the states, which games are going on, and what the mover's chance is."""
    model, cells = player.model, jnp.arange(game.num_actions) < game.points

    def move(position: Any, at: Any) -> tuple[Any, Any]:
        ply, key = at
        search, luck = jax.random.split(key)
        found = player.search.run(model, player.params, search, position)
        drawn = jax.random.categorical(luck, jnp.where(model.legal(position) & cells, 0.0, -1e30)).astype(jnp.int32)
        after, _ = model.play(position, jnp.where(ply < RANDOM, drawn, found.action))
        return after, (position.state, ~model.over(position), found.value)

    @jax.jit
    def program(key: Any) -> Any:
        plies = jnp.arange(game.max_plies)
        return jax.lax.scan(move, model.start(key, games), (plies, jax.random.split(key, game.max_plies)))

    end, told = program(jax.random.key(seed))
    return end.state, *told


def errors(player: Player, state: Any, value: np.ndarray, truth: Any) -> dict[str, np.ndarray]:
    """Squared errors for each game of one ply: `ownership net`, `lead playouts` and so on."""
    game: Any = player.model.game
    side = game.points**0.5
    owned, lead = np.asarray(truth[OWNERSHIP]), np.asarray(truth[SCORE]) * side
    net: Any = player.model.evaluator
    found: dict[str, np.ndarray] = {}
    for name, judge in (("net", net), ("images", dataclasses.replace(net, symmetric=True))):
        said = _foresee(dataclasses.replace(player.model, evaluator=judge), player.params, state)
        found[f"ownership {name}"] = ((np.asarray(said[OWNERSHIP]) - owned) ** 2).mean(axis=1)
        found[f"lead {name}"] = (np.asarray(said[SCORE]) * side - lead) ** 2
    played = played_out(game, state, PLAYOUTS)
    found["ownership playouts"] = ((np.asarray(played[OWNERSHIP][0]) - owned) ** 2).mean(axis=1)
    spread, most = np.asarray(played[SCORE][1]) * side, (game.points - game.komi, game.points + game.komi)
    seats = np.asarray(state.to_play)
    told = [
        (1 - 2 * seat) * Outlook((), points, most).lead(chance, seat)
        for chance, seat, points in zip(value.tolist(), seats.tolist(), spread.tolist(), strict=True)
    ]
    found["lead playouts"] = (np.asarray(told) - lead) ** 2
    return found


def tell(phase: str, rows: list[dict[str, np.ndarray]], wanted: np.ndarray) -> None:
    """A JSON line of the positions that are wanted, `[ply, game]`."""
    said: dict[str, Any] = {"positions": int(wanted.sum())}
    counts = wanted.sum(axis=0)
    games = counts > 0
    for kind in KINDS:
        by_game = {
            who: np.where(wanted, [row[f"{kind} {who}"] for row in rows], 0.0).sum(axis=0)[games]
            for who in ("net", "images", "playouts")
        }
        said |= {f"{kind}_{who}": float(sums.sum() / wanted.sum()) for who, sums in by_game.items()}
        gains = (by_game["playouts"] - by_game["net"]) / counts[games]
        said |= {f"{kind}_better": float(gains.mean()), f"{kind}_bar": float(1.96 * gains.std() / games.sum() ** 0.5)}
    harness.report(f"endings/{phase}", **said)


@harness.told
def main() -> None:
    options = tyro.cli(Ends)
    game = make(options.game)
    if not isinstance(game, Go):
        raise UsageError(f"--game {options.game} has no points to foresee; take one of Go")
    player, plays = load_player(options.player, game), load_player(options.plays, game)
    known = jax.eval_shape(player.model.foresee, player.params, player.model.start(jax.random.key(0), 1).state)
    if not {OWNERSHIP, SCORE} <= set(known):
        raise UsageError(f"--player {options.player} has not learnt how games end; name weights that have, of Go")
    end, states, live, values = play_games(game, plays, options.games, options.seed)
    truth = jax.jit(jax.vmap(game.aux_values))(end)
    live = np.asarray(live)
    length = live.sum(axis=0)
    plies = np.arange(RANDOM, length.max(), options.every)
    rows = []
    for ply in plies:
        state = jax.tree.map(lambda x, ply=ply: x[ply], states)
        rows.append(errors(player, state, np.asarray(values[ply]), truth))
    phases = plies[:, None] * PHASES // length
    for phase in range(PHASES):
        tell(f"{options.game}/quarter{phase + 1}", rows, live[plies] & (phases == phase))
    tell(f"{options.game}/all", rows, live[plies])


if __name__ == "__main__":
    main()
