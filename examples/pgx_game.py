"""A game of pgx, trained: `PgxGame` makes a game of any two-player environment, and everything plays it.

    uv run --extra benchmark examples/pgx_game.py

It is pgx's tic-tac-toe, for some seconds; `PgxGame("othello")` with more iterations works the same.
"""

import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp

import jaxgo
from jaxgo.adapters.pgx import PgxGame
from jaxgo.training.config import Budget, JudgeConfig, LearnerConfig, ReplayConfig, to_json

GAME = PgxGame("tic_tac_toe")
CONFIG = jaxgo.TrainConfig(
    game=GAME,
    net=jaxgo.Mlp(width=32, blocks=1),
    search=jaxgo.Gumbel(simulations=8, max_considered=4),
    selfplay=jaxgo.SelfplayConfig(games=32, steps=8, opening_plies=2),
    learner=LearnerConfig(batch=64, warmup=4),
    replay=ReplayConfig(capacity=4096, start=256),
    judge=JudgeConfig(opponents=(), final=()),
    budget=Budget(seconds=0.0, iterations=40),
)


def main() -> None:
    """Trains, and plays a match of what was learnt against chance."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "run"
        with jaxgo.RunDir(place, to_json(CONFIG)) as run:
            state = jaxgo.train(CONFIG, run)
        print(f"{int(state.iteration)} iterations of self-play")
        ours, chance = jaxgo.load_player(f"gumbel:16@{place}", GAME), jaxgo.load_player("random", GAME)
        # every first move is an opening, which both play from both seats
        openings, _ = jax.jit(ours.model.play)(ours.model.start(jax.random.key(1), 9), jnp.arange(9))
        score = jaxgo.play_match(ours, chance, jax.random.key(2), openings)
        print(f"{score.mean:.0%} of the points against chance, ± {1.96 * score.error:.0%}")


if __name__ == "__main__":
    main()
