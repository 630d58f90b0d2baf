"""The strategy: CMA-ES moves a cloud of candidates to where games are won, and writes every generation down.

The candidates of a generation play each other, paired anew in every round, all games at once in one program. A run that
was stopped goes on: the strategy is told the generations of the log again, which gives the same state.
"""

import dataclasses
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxgo.arena.match import MOST_PAIRS, Pool
from jaxgo.arena.openings import Openings
from jaxgo.core.errors import MOST_SEED, UsageError
from jaxgo.core.names import package
from jaxgo.system.files import append, may_begin, read_json, write_whole
from jaxgo.tuning.space import Space, Vector

HEADS = (b'{"game"', b'{"generation"')  # how lines of the log begin
TRIES = 1000  # to draw a candidate that the search would take
MOST_CANDIDATES = 1000  # each is an agent of the one program that plays a generation


@dataclasses.dataclass(frozen=True)
class Plan:
    """How a player is tuned."""

    generations: int = 30
    population: int = 16  # candidates of a generation
    pairs: int = 32  # openings of each match, played with both seats
    rounds: int = 2  # matches of each candidate in a generation
    sigma: float = 0.5  # the first step of a number, as a share of it
    seed: int = 0
    plies: int | None = None  # random moves of an opening; else as many as it takes

    def __post_init__(self) -> None:
        if min(self.generations, self.pairs, self.rounds) < 1:
            raise UsageError("tuning needs generations, pairs and rounds of at least 1")
        if self.population < 4 or self.population % 2:
            raise UsageError(f"a population of {self.population} cannot be paired; take an even number of at least 4")
        if self.population > MOST_CANDIDATES:
            raise UsageError(
                f"a population of {self.population} is too large for one program; take at most {MOST_CANDIDATES}"
            )
        if self.pairs > MOST_PAIRS:
            raise UsageError(f"{self.pairs} pairs are too many for a match of tuning; take at most {MOST_PAIRS:,}")
        if not 0.0 < self.sigma < 10.0 or not 0 <= self.seed < MOST_SEED:  # the ladder takes the one after
            raise UsageError(f"tuning needs a sigma above 0 and below 10, and a seed from 0 to {MOST_SEED - 1}")


@dataclasses.dataclass(frozen=True)
class Generation:
    """What one generation found: a line of the log."""

    generation: int
    candidates: list[list[float]]
    scores: list[float]  # the share of points that each candidate got
    mean: list[float]  # where the cloud is after it
    values: dict[str, float]  # what this stands for
    sigma: float
    games: int
    seconds: float


def check_cma() -> None:
    """A UsageError where the library is missing."""
    package("cma", "tuning", "tune")


class Evolution:
    """A run of the strategy, with its log."""

    def __init__(self, space: Space, plan: Plan, openings: Openings, log: Path) -> None:
        check_cma()
        self.space, self.plan, self.openings, self.log = space, plan, openings, log
        self._luck = np.random.default_rng(plan.seed)
        self.done = self._read()
        self._strategy = self._begun()

    def _about(self) -> dict[str, Any]:
        """What a log must agree in to be gone on with; more generations are allowed."""
        plan = dataclasses.asdict(self.plan)
        del plan["generations"]
        return {
            "game": repr(self.space.player.model.game),
            "player": self.space.player.name,
            "checkpoint": self.space.player.fingerprint(),
            "names": list(self.space.names),
            "start": list(self.space.start),
            **plan,
        }

    def _read(self) -> list[Generation]:
        """The generations of the log; a line that was cut off is dropped."""
        if not self.log.exists():
            return []
        try:
            *lines, torn = self.log.read_text(encoding="utf-8").split("\n")
            found: list[Any] = [read_json(line) for line in lines]
            done = [Generation(**line) for line in found[1:]]
            if not any(may_begin(torn.encode(), head) for head in HEADS):
                raise ValueError("its last line is none of ours that was cut off")
        except (ValueError, TypeError):
            raise UsageError(f"{self.log} is no log of jaxgo tune; name another folder with --out") from None
        if found and found[0] != self._about():
            # by settings that were refused, or stopped at once, nothing was found out
            if not done and isinstance(found[0], dict) and found[0].keys() == self._about().keys():
                write_whole(self.log, "")
                return []
            raise UsageError(
                f"{self.log} was written by other settings; repeat those, or name another folder with --out"
            )
        for number, one in enumerate(done, 2):
            if not self._fits(one, number - 1):
                raise UsageError(f"{self.log}, line {number} was damaged; name another folder with --out")
        if torn:
            write_whole(self.log, "".join(line + "\n" for line in lines))
        return done

    def _fits(self, one: Generation, number: int) -> bool:
        """Whether this is the generation of such a number, all of its numbers are there, and are finite."""
        count, size = self.plan.population, len(self.space.names)
        wanted = ((one.candidates, (count, size)), (one.scores, (count,)), (one.mean, (size,)))
        try:
            arrays = [(np.asarray(said, float), shape) for said, shape in wanted]
        except (ValueError, TypeError):
            return False
        whole = all(array.shape == shape and np.isfinite(array).all() for array, shape in arrays)
        return whole and one.generation == number and self.space.allows(np.asarray(one.mean, float))

    def _write(self, line: dict[str, Any]) -> None:
        with open(self.log, "ab", buffering=0) as file:
            append(file, json.dumps(line).encode() + b"\n")

    def _begun(self) -> Any:
        """The strategy as the log left it."""
        import cma

        settings = {
            "popsize": self.plan.population,
            "randn": lambda *shape: self._luck.standard_normal(shape),
            "seed": np.nan,  # all luck comes from the line above
            "verbose": -9,
            "verb_log": 0,
            "tolflatfitness": 10**9,  # the noise of games says little about the end
        }
        strategy = cma.CMAEvolutionStrategy(self.space.origin(), self.plan.sigma, settings)
        for generation in self.done:
            self._ask(strategy, generation.generation)
            self._tell(strategy, [np.array(x) for x in generation.candidates], generation.scores)
        return strategy

    def _ask(self, strategy: Any, number: int) -> list[Vector]:
        """The candidates of a generation, the same whenever it is asked for."""
        self._luck = np.random.default_rng([self.plan.seed, number])
        found: list[Vector] = []
        for _ in range(TRIES):
            found += [x for x in strategy.ask() if self.space.allows(x)]
            if len(found) >= self.plan.population:
                return found[: self.plan.population]
        raise UsageError("hardly any candidate is a player; begin nearer to what is allowed, or with a smaller --sigma")

    def _tell(self, strategy: Any, candidates: list[Vector], scores: list[float]) -> None:
        strategy.tell(candidates, [-score for score in scores])  # it looks for the least

    def run(self) -> Iterator[Generation]:
        """Plays the generations that are left, and tells what each found."""
        if not self.log.exists() or not self.log.stat().st_size:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            self._write(self._about())
        while len(self.done) < self.plan.generations:
            began, number = time.perf_counter(), len(self.done) + 1
            candidates = self._ask(self._strategy, number)
            scores = self._play(candidates, number)
            self._tell(self._strategy, candidates, scores)
            mean = np.asarray(self._strategy.mean, float)
            generation = Generation(
                generation=number,
                candidates=[[float(value) for value in x] for x in candidates],
                scores=scores,
                mean=mean.tolist(),
                values=self.space.values(mean),
                sigma=float(self._strategy.sigma),
                games=self.plan.population * self.plan.pairs * self.plan.rounds,
                seconds=round(time.perf_counter() - began, 3),
            )
            self._write(dataclasses.asdict(generation))
            self.done.append(generation)
            yield generation

    def mean(self, generation: int) -> Vector:
        """Where the cloud was after a generation; 0: the start."""
        return np.array(self.done[generation - 1].mean) if generation else self.space.origin()

    def _play(self, candidates: list[Vector], number: int) -> list[float]:
        """The share of points of each candidate over the rounds of a generation."""
        agents = [self.space.agent(x, f"candidate {i}") for i, x in enumerate(candidates)]
        pool = Pool(agents, self.plan.pairs)
        luck = np.random.default_rng([self.plan.seed, number, 1])
        points = np.zeros(len(agents))
        for turn in range(self.plan.rounds):
            order = luck.permutation(len(agents)).tolist()
            matches = list(zip(order[::2], order[1::2], strict=True))
            first = ((number - 1) * self.plan.rounds + turn) * self.plan.pairs
            positions = self.openings.positions(range(first, first + self.plan.pairs))
            key = jax.random.fold_in(jax.random.key(self.plan.seed), first)
            keys = jax.random.split(key, self.plan.pairs)
            pool.begin(matches, [positions] * len(matches), [keys] * len(matches))
            for _ in pool.slices():  # one program that plays to the end would not hear Ctrl-C
                pass
            for i, (a, b) in enumerate(matches):
                share = pool.score(i).mean
                points[a] += share
                points[b] += 1.0 - share
        return (points / self.plan.rounds).tolist()
