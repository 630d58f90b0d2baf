"""What a fit of ratings leaves: numbers that carry their error bars, and a table of them."""

import dataclasses
import math

import numpy as np
from jaxtyping import Float64, Int64

from jaxgo.core.errors import UsageError

NINETY_FIVE = 1.959964  # standard deviations on each side of a 95 % interval


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A number with half of its 95 % interval. There is no way to print the one without the other."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:+.0f} ± {self.error:.0f}"


@dataclasses.dataclass(frozen=True, eq=False)
class RatingTable:
    """Ratings of agents, pool by pool and the best first. Elo is on the usual scale (see docs/evaluation.md)."""

    agents: tuple[str, ...]
    elo: Float64[np.ndarray, " n"]
    covariance: Float64[np.ndarray, "n n"]  # of elo
    pool: Int64[np.ndarray, " n"]  # only ratings of one pool can be compared
    results: Float64[np.ndarray, "n n 3"]  # games lost, drawn and won against each other
    advantage: Estimate  # Elo of moving first
    draws: Estimate  # per cent of games between equals, without an advantage, that are drawn
    seats: Float64[np.ndarray, " 3"]  # games that the first mover lost, drew and won
    pairs: float
    anchor: str | None = None  # whose rating is given; else the mean of each pool is 0
    notes: tuple[str, ...] = ()  # what a reader must know before he believes the numbers

    def index(self, agent: str) -> int:
        if agent not in self.agents:
            raise UsageError(f"no results of {agent!r}; there are {', '.join(self.agents)}")
        return self.agents.index(agent)

    def rating(self, agent: str) -> Estimate:
        i = self.index(agent)
        return Estimate(float(self.elo[i]), NINETY_FIVE * math.sqrt(max(float(self.covariance[i, i]), 0.0)))

    def difference(self, a: str, b: str) -> Estimate:
        """How much better `a` is; not a number if they are in different pools."""
        i, j = self.index(a), self.index(b)
        if self.pool[i] != self.pool[j]:
            return Estimate(math.nan, math.inf)
        spread = self.covariance[i, i] + self.covariance[j, j] - 2 * self.covariance[i, j]
        return Estimate(float(self.elo[i] - self.elo[j]), NINETY_FIVE * math.sqrt(max(float(spread), 0.0)))

    def superiority(self, a: str, b: str) -> float:
        """The likelihood that `a` is the better player, from 0 to 1; not a number across pools."""
        difference = self.difference(a, b)
        if difference.error == 0:
            return 0.5
        return 0.5 * (1 + math.erf(difference.value / difference.error * NINETY_FIVE / math.sqrt(2)))

    def games(self, agent: str) -> Float64[np.ndarray, " 3"]:
        """Games that the agent lost, drew and won against others."""
        return np.delete(self.results[self.index(agent)], self.index(agent), axis=0).sum(0)
