"""How strong after how long, beside a loop on pgx and mctx? Both learn Connect Four from nothing, then meet.

uv run --extra benchmark benchmarks/time_to_strength.py                 # 2 hours: three seeds, 10 minutes against 30
uv run --extra benchmark benchmarks/time_to_strength.py --only theirs --seeds 0 1     # these runs alone

A seed is a pair of runs, their match from both seats of the same openings, and the truth of the same positions for
both, by the book of bitbully. All is kept below `--runs`, and the same command goes on where it was killed, so the
runs may be trained one beside the other, each on a core of its own. Minutes are of training; compiling comes on top.
"""

import dataclasses
import time
from pathlib import Path
from typing import Any

import cores  # noqa: F401  before pgx
import harness
import jax
import kept_runs
import numpy as np
import oracle
import peers_alphazero
import seed_bars
from flax import serialization

from jaxgo.arena.match import play_match
from jaxgo.arena.openings import random_openings
from jaxgo.core.errors import UsageError
from jaxgo.evaluators.network import Network
from jaxgo.games import make
from jaxgo.players import Player, load_player
from jaxgo.search.gumbel import Gumbel
from jaxgo.search.model import Model
from jaxgo.system import devices
from jaxgo.system.files import write_whole
from jaxgo.training import ready
from jaxgo.training.config import TrainConfig
from jaxgo.training.presets import preset
from jaxgo.training.trainer import Trainer

GAME = make("connect4")


@dataclasses.dataclass(frozen=True)
class TimeToStrength:
    """Measure what minutes of training buy, here and with pgx and mctx."""

    only: str = ""
    """Parted by commas: theirs, ours (training alone), match (all that a row needs). Empty: all three."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Of both runs of each pair."""
    minutes_ours: float = 10.0
    """Of training connect4-cpu."""
    minutes_theirs: float = 30.0
    """Of training the peer."""
    pairs: int = 200
    """Openings of each match, played from both seats."""
    simulations: int = 64
    """Of both players when they meet."""
    positions: int = 2000
    """From ply 2 on whose truth both are asked for, by policy alone and with their simulations; 0: none."""
    runs: Path = Path("runs/time_to_strength")
    """The folder in which all runs are kept."""

    def __post_init__(self) -> None:
        if not (self.minutes_ours > 0 and self.minutes_theirs > 0 and self.pairs >= 1 and self.simulations >= 1):
            raise UsageError("--minutes-ours and --minutes-theirs are above 0, --pairs and --simulations at least 1")
        if self.positions < 0 or not self.seeds or min(self.seeds) < 0 or len(set(self.seeds)) < len(self.seeds):
            raise UsageError("--positions is at least 0, and --seeds are one or more different numbers from 0 on")


def config_of(options: TimeToStrength, seed: int) -> TrainConfig:
    config = dataclasses.replace(preset("connect4-cpu").config, seed=seed)
    return kept_runs.for_minutes(config, options.minutes_ours)


def our_run(options: TimeToStrength, seed: int) -> Path:
    return options.runs / f"ours_{options.minutes_ours:g}" / str(seed)


def their_run(options: TimeToStrength, seed: int) -> Path:
    return options.runs / f"theirs_{options.minutes_theirs:g}" / str(seed)


def train_ours(options: TimeToStrength) -> None:
    for seed in options.seeds:
        jax.clear_caches()  # a run is some hundred programs, and a process has a limited number of memory maps
        config = config_of(options, seed)
        ready.check(Trainer(config, devices.make_mesh()))
        began = time.perf_counter()
        folder = our_run(options, seed)
        iterations = kept_runs.trained(config, folder)
        passed = (time.perf_counter() - began) / 60
        minutes = kept_runs.found(folder, "minutes with compiling", lambda passed=passed: passed)
        harness.report(f"train/ours/{seed}", iterations=iterations, minutes_with_compiling=minutes)


def train_theirs(options: TimeToStrength) -> None:
    for seed in options.seeds:
        folder = their_run(options, seed)

        def train(seed: int = seed, folder: Path = folder) -> dict[str, float]:
            loop = peers_alphazero.PeerLoop(peers_alphazero.Peer(), seed)
            minutes = loop.run(60 * options.minutes_theirs) / 60
            write_whole(folder / "variables.msgpack", serialization.to_bytes(jax.device_get(loop.learnt.variables)))
            return {"minutes": minutes, "positions": float(loop.frames)}

        folder.mkdir(parents=True, exist_ok=True)
        harness.report(f"train/theirs/{seed}", **kept_runs.found(folder, "training", train))


def their_player(options: TimeToStrength, seed: int) -> Player:
    peer = peers_alphazero.Peer()
    net = peers_alphazero.OnOurPlanes(peers_alphazero.PeerNet(GAME.num_actions, peer.channels, peer.blocks))
    variables = serialization.msgpack_restore((their_run(options, seed) / "variables.msgpack").read_bytes())
    search = Gumbel(simulations=options.simulations, gumbel_scale=0.0)
    return Player(search, Model(GAME, Network(net)), variables, "pgx + mctx")


def matches(options: TimeToStrength) -> None:
    """A row for each seed, and one of all."""
    train_theirs(options)
    train_ours(options)
    settings = oracle.Oracle(positions=options.positions, first_ply=2, truth="bitbully", seed=21)
    asked = oracle.questions(GAME, load_player("gumbel@connect4-cpu", GAME), settings) if options.positions else None
    counts, shares = [], []
    for seed in options.seeds:
        ours = kept_runs.last_player(our_run(options, seed), options.simulations)
        theirs = their_player(options, seed)
        openings = random_openings(GAME, seed=1 + seed).positions(range(options.pairs))
        score = play_match(ours, theirs, jax.random.key(3), openings)
        counts.append([int(count) for count in score.outcomes])
        truth = {}
        if asked:
            shares.append(
                [oracle.shares_kept(player, options.simulations, asked, settings) for player in (ours, theirs)]
            )
            truth = {"kept_ours": shares[-1][0], "kept_theirs": shares[-1][1]}
        elo, error = seed_bars.elo_of_seeds(np.asarray(counts[-1:]))
        bar = seed_bars.NINETY_FIVE * error[0]
        harness.report(f"match/{seed}", games=score.games, score=score.mean, elo=elo[0], error_95=bar, **truth)
    elo, of_seeds, of_games = seed_bars.elo_and_bars(np.asarray(counts))
    told: dict[str, Any] = {"elo": float(elo), "error_95_of_games": float(of_games)}
    means, bars = seed_bars.mean_and_bar(np.moveaxis(np.asarray(shares).reshape(len(options.seeds), -1, 2), 0, -1))
    told |= {f"kept_{name}": row.tolist() for name, row in zip(("ours", "theirs"), means, strict=False)}
    if len(options.seeds) > 1:  # one says nothing of how far seeds lie apart
        told["error_95_of_seeds"] = float(of_seeds)
        told |= {f"kept_{name}_error_95": row.tolist() for name, row in zip(("ours", "theirs"), bars, strict=False)}
    harness.report("time_to_strength/connect4", seeds=list(options.seeds), **told)


if __name__ == "__main__":
    harness.ask(TimeToStrength, {"theirs": train_theirs, "ours": train_ours, "match": matches})
