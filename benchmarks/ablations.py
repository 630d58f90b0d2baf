"""What does a setting of training buy? Pairs of runs that differ in it, seed by seed, until their matches tell.

uv run benchmarks/ablations.py                                                   # every variant: some hours
uv run benchmarks/ablations.py --only ema,surprise --minutes 1                   # some variants
uv run benchmarks/ablations.py --change learner.rate=0.006 targets.heads=short,reply --change search=puct
uv run benchmarks/ablations.py --preset dodgem3-cpu --only short --positions 500 # and against the truth

For each seed there is one run as the preset says, which all variants share, and one of each variant, all for the same
time, so a setting that costs time pays for it. The two of a seed meet over random openings from both seats with equal
search. Seeds are added until a sequential test says `better`, `worse` or `no such difference`, or to `--seeds`; bars
hold what seeds differ (seed_bars.py). All is kept below `--runs`, and the same command goes on where it was killed.
"""

import dataclasses
import functools
import re
import sys
from pathlib import Path
from typing import Any

import harness
import jax
import kept_runs
import numpy as np
import oracle
import seed_bars
import tyro
from variants import VARIANTS, changed

from jaxgo.arena.match import play_match
from jaxgo.arena.openings import random_openings
from jaxgo.arena.sprt import Sprt
from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.games.connect4 import ConnectFour
from jaxgo.system import devices
from jaxgo.training import ready
from jaxgo.training.config import TrainConfig
from jaxgo.training.loop import DivergedError
from jaxgo.training.presets import preset
from jaxgo.training.sizes import MOST_CORES
from jaxgo.training.trainer import Trainer

SAVE_EVERY = 60.0  # seconds that a killed run loses at most
PLAIN = "plain"


@dataclasses.dataclass(frozen=True)
class Ablations:
    """Measure what settings buy."""

    only: str = ""
    """Variants by name, parted by commas; empty: all, or none where there is a --change."""
    change: tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]] = ()
    """Settings of one more variant, such as learner.rate=0.006 targets.heads=short,reply."""
    preset: str = "connect4-cpu"
    """Of a game of two seats."""
    minutes: float = 2.0
    """Of training, for each run; compiling comes on top."""
    seeds: int = 6
    """Of each variant at most; at least 2."""
    pairs: int = 64
    """Openings of each match, played from both seats."""
    simulations: int = 64
    """Of the players when they meet."""
    elo0: float = 0.0
    """Elo of the test's H0."""
    elo1: float = 30.0
    """Elo of its H1, of who is better."""
    positions: int = 0
    """Whose truth is known, to ask each run about, by its policy alone and with its simulations."""
    runs: Path = Path("runs/ablations")
    """The folder in which all runs are kept."""


def wanted(options: Ablations) -> dict[str, tuple[str, ...]]:
    """The settings of the variants that are asked for, by name."""
    names = [word.strip() for word in options.only.split(",") if word.strip()]
    for name in names:
        if name not in VARIANTS:
            raise unknown_name("variant", name, VARIANTS)
    if not all(options.change):
        raise UsageError("--change has no settings; write them behind it, such as --change learner.rate=0.006")
    typed = {" ".join(settings): settings for settings in options.change}
    return {name: VARIANTS[name] for name in names or ([] if typed else VARIANTS)} | typed


def configs(options: Ablations, root: Path) -> dict[str, TrainConfig]:
    """What is trained, by variant, the plain runs first; a UsageError where anything of it could not be."""
    if not (options.minutes > 0 and options.seeds >= 2 and options.pairs >= 1 and options.simulations >= 1):
        raise UsageError("--minutes is above 0, --seeds at least 2, and --pairs and --simulations are at least 1")
    if options.positions < 0:
        raise UsageError("--positions is at least 0; 0 asks for no truth")
    if preset(options.preset).config.make_game().players != 2:
        raise UsageError(f"{options.preset} is a puzzle for one; matches need a game of two seats")
    made: dict[str, TrainConfig] = {}
    for name, settings in {PLAIN: (), **wanted(options)}.items():
        config = kept_runs.for_minutes(changed(options.preset, settings, root / PLAIN / "0"), options.minutes)
        made[name] = dataclasses.replace(config, save_every=SAVE_EVERY)
        if name != PLAIN and made[name] == made[PLAIN]:
            if not (options.only or options.change):  # of all variants those that are any here
                del made[name]
                continue
            raise UsageError(f"{' '.join(settings)} changes nothing, as {options.preset} has it so; leave it out")
    for config in made.values():
        ready.check(Trainer(config, devices.make_mesh()))
        kept_runs.starts(config, root, preset(options.preset).init_from)
        kept_runs.quiet(config, simulations=options.simulations)
    return made


def folder_name(text: str) -> str:
    return re.sub(r"[^\w.=,+-]+", "_", text)


@dataclasses.dataclass
class Row:
    """What the seeds of a variant have told so far."""

    counts: list[list[int]] = dataclasses.field(default_factory=list)  # pairs by outcome
    iterations: list[tuple[int, int]] = dataclasses.field(default_factory=list)  # of the changed and the plain run
    kept: list[list[float]] = dataclasses.field(default_factory=list)  # how much more value than the plain run


class Machine:
    """Pairs of runs below a folder, and what they tell."""

    def __init__(self, options: Ablations) -> None:
        self.options = options
        self.sprt = Sprt(options.elo0, options.elo1)
        self.root = options.runs / folder_name(options.preset)
        self.configs = configs(options, self.root)
        self.game = self.configs[PLAIN].make_game()
        if options.positions:
            first = 14 if isinstance(self.game, ConnectFour) else 0  # before, our solver takes long
            name = self.configs[PLAIN].game_name
            self.oracle = oracle.Oracle(name, positions=options.positions, first_ply=first)
            self.truth = oracle.truth(self.game, self.oracle)

    def folder(self, name: str, seed: int) -> Path:
        return self.root / folder_name(name) / str(seed)

    def train(self, name: str, seed: int) -> int:
        """The iterations of a run, which is there afterwards."""
        # a run is some hundred programs, and a process has a limited number of memory maps
        jax.clear_caches()
        config = dataclasses.replace(self.configs[name], seed=seed)
        return kept_runs.trained(config, self.folder(name, seed), preset(self.options.preset).init_from)

    def match(self, name: str, seed: int) -> list[int]:
        """The pairs of the match between the two runs of a seed, by outcome."""
        options = self.options

        def play() -> list[int]:
            ours, plain = (kept_runs.last_player(self.folder(one, seed), options.simulations) for one in (name, PLAIN))
            openings = random_openings(self.game, seed=seed)
            numbers = openings.numbers(options.pairs, ours.lucky or plain.lucky)
            score = play_match(ours, plain, jax.random.key(seed), openings.positions(numbers))
            return [int(count) for count in score.outcomes]

        question = f"{options.pairs} pairs against {PLAIN} at {options.simulations} simulations"
        return [int(count) for count in kept_runs.found(self.folder(name, seed), question, play)]

    @functools.cached_property
    def questions(self) -> Any:
        """Positions with their truth, the same for all runs; chance and a plain run have made the moves on the way."""
        drawer = kept_runs.last_player(self.folder(PLAIN, 0), self.options.simulations)
        return oracle.questions(self.game, drawer, self.oracle, self.truth)

    def kept(self, name: str, seed: int) -> list[float]:
        """The share of positions whose value a run keeps: by its policy, and with its simulations."""
        most = self.options.simulations

        def ask() -> list[float]:
            player = kept_runs.last_player(self.folder(name, seed), most)
            return oracle.shares_kept(player, most, self.questions, self.oracle)

        question = f"value kept of {self.options.positions} positions at 0 and {most} simulations"
        return [float(share) for share in kept_runs.found(self.folder(name, seed), question, ask)]

    def run(self) -> None:
        """A row for each variant, as soon as it is decided."""
        waiting = {name: Row() for name in self.configs if name != PLAIN}
        for seed in range(self.options.seeds):
            plain = self.train(PLAIN, seed) if waiting else 0
            for name, row in list(waiting.items()):
                try:
                    row.iterations.append((self.train(name, seed), plain))
                except DivergedError as fault:
                    harness.report(f"ablation/{name}", change=self.change(name), seed=seed, verdict=str(fault))
                    del waiting[name]
                    continue
                row.counts.append(self.match(name, seed))
                if self.options.positions:
                    row.kept.append(np.subtract(self.kept(name, seed), self.kept(PLAIN, seed)).tolist())
                answer = seed_bars.judge(self.sprt, row.counts)
                print(f"{name}: {seed + 1} seeds, Elo {answer.elo:+.0f}: {answer.verdict}", file=sys.stderr)
                if answer.verdict != seed_bars.UNDECIDED or seed + 1 == self.options.seeds:
                    harness.report(f"ablation/{name}", change=self.change(name), **self.told(row, answer))
                    del waiting[name]

    def change(self, name: str) -> str:
        return " ".join(VARIANTS.get(name, (name,)))

    def told(self, row: Row, answer: seed_bars.Answer) -> dict[str, Any]:
        """A row as it is printed."""
        ours, plain = np.mean(row.iterations, axis=0).tolist()
        told = {
            "preset": self.options.preset,
            "minutes": self.options.minutes,
            **dataclasses.asdict(answer),
            "elo_of_seeds": [round(elo) for elo in seed_bars.elo_of_seeds(np.asarray(row.counts))[0].tolist()],
            "games": 2 * int(np.sum(row.counts)),
            "simulations": self.options.simulations,
            "iterations": ours,
            "iterations_plain": plain,
        }
        for budget, shares in zip(("policy", f"{self.options.simulations}"), zip(*row.kept, strict=True), strict=False):
            mean, bar = seed_bars.mean_and_bar(shares)
            told |= {f"value_kept_{budget}": float(mean), f"value_kept_{budget}_error_95": float(bar)}
        return told


@harness.told
def main() -> None:
    options = tyro.cli(Ablations)
    devices.use_cores(MOST_CORES)
    Machine(options).run()


if __name__ == "__main__":
    main()
