"""What does a setting of training buy? Runs of a preset that differ in one setting, played against runs as they are.

uv run --extra benchmark benchmarks/ablations.py                      # every variant, 2 seeds each, 2 minutes a run
uv run --extra benchmark benchmarks/ablations.py --only ema,surprise  # some variants

All runs have the same time, so a setting that costs time pays for it. The players meet over random openings from both
seats with equal search; each run of a variant meets each plain run. Two seeds differ by more than the error bars of
games say, so the lowest and the highest of these matches are told beside their mean.
"""

import dataclasses
import itertools
import sys
import tempfile
from pathlib import Path
from typing import Any

import harness
import jax
import numpy as np
import tyro
from training import elo, player, train_ours

from jaxgo.arena.match import play_match
from jaxgo.arena.openings import random_openings
from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.players import Player
from jaxgo.training.config import TrainConfig
from jaxgo.training.presets import preset

# what is changed, as it is written after `train.py`
VARIANTS: dict[str, dict[str, Any]] = {
    "span": {"search.min_value_range": 0.0},
    "openings": {"selfplay.opening": 0.0},
    "cap": {"selfplay.fast_simulations": 8, "selfplay.full_share": 0.25},
    "trust": {"targets.td_lambda": 1.0},
    "surprise": {"targets.surprise": 0.0},
    "short": {"targets.heads": ()},
    "ema": {"learner.ema": 0.0},
    "reuse": {"learner.reuse": 2.0},
    "sgd": {"learner.optimizer": "sgd", "learner.rate": 0.05},
}


@dataclasses.dataclass(frozen=True)
class Ablations:
    """Measure what settings buy."""

    only: str = ""
    """Variants, parted by commas; empty: all."""
    preset: str = "connect4-cpu"
    """Of a game of two seats."""
    minutes: float = 2.0
    """Of training, for each run."""
    seeds: int = 2
    """Runs of each variant."""
    pairs: int = 64
    """Openings of each match, played from both seats."""
    simulations: int = 64
    """Of the players when they meet."""


def changed(config: TrainConfig, changes: dict[str, Any]) -> TrainConfig:
    """The config with settings such as `learner.ema` changed."""
    for place, value in changes.items():
        part, field = place.split(".")
        inner: Any = getattr(config, part)
        config = dataclasses.replace(config, **{part: dataclasses.replace(inner, **{field: value})})
    return config


def players(options: Ablations, config: TrainConfig, name: str) -> list[Player]:
    """The last players of runs with different seeds."""
    made = []
    for seed in range(options.seeds):
        jax.clear_caches()  # a run is some hundred programs, and a process has a limited number of memory maps
        with tempfile.TemporaryDirectory() as folder:
            run = Path(folder) / "run"
            params, _ = train_ours(dataclasses.replace(config, seed=seed), options.minutes, run)
        made.append(player(f"{name} {seed}", config, params, options.simulations))
    return made


def compare(options: Ablations, ours: list[Player], plain: list[Player]) -> dict[str, float]:
    """How the first runs score against the second."""
    game = plain[0].model.game
    shares, errors = [], []
    for number, (one, other) in enumerate(itertools.product(ours, plain)):
        openings = random_openings(game, seed=number).positions(range(options.pairs))
        score = play_match(one, other, jax.random.key(number), openings)
        shares.append(score.mean)
        errors.append(score.error)
    return {
        "elo": elo(float(np.mean(shares))),
        "elo_lowest": elo(min(shares)),
        "elo_highest": elo(max(shares)),
        "score": float(np.mean(shares)),
        "error_95_of_games": 1.96 * float(np.sqrt(np.square(errors).sum()) / len(errors)),
    }


def main() -> None:
    options = tyro.cli(Ablations)
    try:
        names = [word.strip() for word in options.only.split(",") if word.strip()] or list(VARIANTS)
        for name in names:
            if name not in VARIANTS:
                raise unknown_name("variant", name, VARIANTS)
        config = preset(options.preset).config
        plain = players(options, config, "plain")
        harness.report("ablation/plain", **compare(options, plain[:1], plain[1:] or plain))
        for name in names:
            ours = players(options, changed(config, VARIANTS[name]), name)
            harness.report(f"ablation/{name}", change=str(VARIANTS[name]), **compare(options, ours, plain))
    except UsageError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
