"""A sequential test of two agents: play pairs until it is known whether one is better, and stop.

The generalised sequential probability ratio test on the five outcomes of a pair of games. H0 says that the agent is
`elo0` better than the other, H1 that it is `elo1` better; the likelihood of each is the best that any distribution of
the five outcomes with that mean reaches. Sources of the formulas: docs/evaluation.md.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float64, Num

from jaxgo.arena.ratings import NINETY_FIVE, Estimate
from jaxgo.core.errors import UsageError, check_settings

POINTS = np.arange(5) / 4  # a pair's share of its two points
UNSEEN = 1e-3  # pairs of each outcome, so that one that was not seen is not thought impossible
MOST = 2000.0  # Elo of a hypothesis: beyond, the score is nearly 0 or 1, and no pair could tell
HALVINGS = 60  # of the interval in which the multiplier is looked for


def expected_score(elo: float) -> float:
    """The share of points that an agent so much better gets."""
    return 1 / (1 + 10 ** (-elo / 400))


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Where the test stands: it goes on while `llr` is between the bounds."""

    llr: float  # log of the likelihood of H1 over that of H0
    lower: float  # at or below: H0 is accepted
    upper: float  # at or above: H1 is accepted
    pairs: int
    elo: Estimate  # of the score so far

    @property
    def accepted(self) -> Literal["H0", "H1"] | None:
        return "H1" if self.llr >= self.upper else "H0" if self.llr <= self.lower else None

    def __str__(self) -> str:
        return self._told("goes on")

    def ended(self) -> str:
        """The same where no more games follow."""
        return self._told("not decided")

    def _told(self, otherwise: str) -> str:
        state = f"{self.accepted} accepted" if self.accepted else otherwise
        bounds = f"({self.lower:.2f}, {self.upper:.2f})"
        return f"LLR {self.llr:+.2f} {bounds} after {self.pairs} pairs, Elo {self.elo}: {state}"


@dataclasses.dataclass(frozen=True)
class Sprt:
    """The settings of a test: `alpha` is how often it may accept H1 where H0 is true, `beta` the other way round."""

    elo0: float = 0.0
    elo1: float = 10.0
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:
        check_settings("", self)
        if self.elo0 >= self.elo1:
            raise UsageError(f"elo0 must be below elo1, and they are {self.elo0:g} and {self.elo1:g}")
        if max(abs(self.elo0), abs(self.elo1)) > MOST:
            raise UsageError(f"elo0 and elo1 are from {-MOST:g} to {MOST:g}, not {self.elo0:g} and {self.elo1:g}")
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < value < 0.5:
                raise UsageError(f"{name} is a chance between 0 and 0.5, not {value:g}")

    @property
    def bounds(self) -> tuple[float, float]:
        """Wald's bounds of the log-likelihood ratio."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def llr(self, counts: Num[np.ndarray, "... 5"]) -> Float64[np.ndarray, "..."]:
        """The log-likelihood ratio for counts of the five outcomes; tests side by side on the leading axes."""
        seen = np.maximum(counts, UNSEEN)
        share = seen / seen.sum(-1, keepdims=True)
        h0, h1 = (_most_likely(share, expected_score(elo)) for elo in (self.elo0, self.elo1))
        return np.asarray((seen * np.log(h1 / h0)).sum(-1))

    def judge(self, counts: Sequence[int | float] | Num[np.ndarray, " 5"]) -> Verdict:
        """What the pairs so far say; `counts` are those of both games lost up to both games won."""
        five = np.asarray(counts)
        if five.shape != (5,) or five.dtype.kind not in "iuf" or not (np.isfinite(five) & (five >= 0)).all():
            raise UsageError(f"a test judges five counts, from both games lost to both won, and not {counts!r}")
        return Verdict(float(self.llr(five)), *self.bounds, round(float(five.sum())), _elo(five))


def _most_likely(share: Float64[np.ndarray, "... 5"], mean: float) -> Float64[np.ndarray, "... 5"]:
    """Of all distributions of the outcomes with this mean, the one that makes the observed shares most likely.

    It is share / (1 + m (points - mean)) for the one m that gives the mean; the mean falls as m grows.
    """
    off = POINTS - mean
    low = np.full(share.shape[:-1], -1 / off[-1])
    high = np.full(share.shape[:-1], -1 / off[0])
    for _ in range(HALVINGS):
        m = (low + high) / 2
        above = (share * off / (1 + m[..., None] * off)).sum(-1) > 0
        low, high = np.where(above, m, low), np.where(above, high, m)
    return share / (1 + ((low + high) / 2)[..., None] * off)


def _elo(five: Num[np.ndarray, " 5"]) -> Estimate:
    """The score as Elo, with the spread of pairs; an end of the interval beyond 0 or 1 is infinitely far."""
    pairs = float(five.sum())
    if pairs == 0:
        return Estimate(0.0, math.inf)
    mean = float(five @ POINTS) / pairs
    deviation = NINETY_FIVE * math.sqrt(float(five @ (POINTS - mean) ** 2)) / pairs
    low, middle, high = (_elo_of(mean + d) for d in (-deviation, 0.0, deviation))
    return Estimate(middle, (high - low) / 2 if math.isfinite(middle) and deviation > 0 else math.inf)


def _elo_of(score: float) -> float:
    return math.copysign(math.inf, score - 0.5) if not 0 < score < 1 else -400 * math.log10(1 / score - 1)
