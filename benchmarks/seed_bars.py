"""What several seeds say of a change: Elo with bars that hold the difference between seeds, and when that decides.

Each seed is one match between two runs, counted by the five outcomes of a pair of games as `jaxgo.arena.sprt` counts
them. Games of one match share their two runs, so pairs of games are not independent of each other, and their bars are
too narrow by what seeds differ. The test is the arena's all the same: its log-likelihood ratio of all pairs, divided by
how much wider (squared) the bar of seeds is than the bar of games. That bar is Student's, so few seeds weigh little.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import stdtrit

from jaxgo.arena.elo import ELO
from jaxgo.arena.ratings import NINETY_FIVE
from jaxgo.arena.sprt import POINTS, Sprt

Counts = np.ndarray  # [..., seeds, 5]: pairs of each seed, from both games lost to both games won
BETTER, WORSE, NEITHER, UNDECIDED = "better", "worse", "no such difference", "undecided"
UNSEEN = 0.1  # pairs of each outcome, added so that a match without a loss is finitely far


@dataclasses.dataclass(frozen=True)
class Answer:
    """How the changed runs stand against the plain ones."""

    elo: float  # the mean over seeds
    error_95: float  # the wider one of the bars of seeds and of games
    error_95_of_games: float
    llr_better: float  # that they are `elo1` better, against `elo0`
    llr_worse: float  # that the plain ones are
    verdict: str


def mean_and_bar(values: Any) -> tuple[Any, Any]:
    """The mean over the last axis, of seeds, and half of its 95 % interval by Student's t."""
    values = np.asarray(values, float)
    count = values.shape[-1]
    spread = values.std(-1, ddof=1) / math.sqrt(count) if count > 1 else np.full(values.shape[:-1], np.inf)
    return values.mean(-1), stdtrit(max(1, count - 1), 0.975) * spread


def elo_of_seeds(counts: Counts) -> tuple[np.ndarray, np.ndarray]:
    """The Elo of each match, and its standard error by pairs of games."""
    seen = counts + UNSEEN
    pairs = seen.sum(-1)
    score = seen @ POINTS / pairs
    variance = (seen * (POINTS - score[..., None]) ** 2).sum(-1) / pairs**2
    return ELO * np.log(score / (1 - score)), ELO * np.sqrt(variance) / (score * (1 - score))


def elo_and_bars(counts: Counts) -> tuple[Any, Any, Any]:
    """The mean Elo over seeds, and its 95 % bars by seeds and by games."""
    elo, error = elo_of_seeds(counts)
    return *mean_and_bar(elo), NINETY_FIVE * np.sqrt((error**2).sum(-1)) / counts.shape[-2]


def evidence(sprt: Sprt, counts: Counts) -> np.ndarray:
    """Log-likelihood ratios of better and of worse: [..., 2]."""
    _, seeds, games = elo_and_bars(counts)
    wider = np.maximum(1.0, seeds / games)
    pairs = counts.sum(-2)
    return np.stack([sprt.llr(pairs), sprt.llr(pairs[..., ::-1])], -1) / wider[..., None] ** 2


def judge(sprt: Sprt, counts: Sequence[Sequence[int]] | Counts) -> Answer:
    """What the matches of the seeds so far say."""
    found = np.asarray(counts)
    mean, seeds, games = (float(number) for number in elo_and_bars(found))
    better, worse = evidence(sprt, found).tolist()
    return Answer(mean, max(seeds, games), games, better, worse, verdict(sprt, better, worse))


def verdict(sprt: Sprt, better: float, worse: float) -> str:
    """Of three: a test to each side. Both must be lost for it to be neither."""
    lower, upper = sprt.bounds
    if max(better, worse) >= upper:
        return BETTER if better > worse else WORSE
    return NEITHER if max(better, worse) <= lower else UNDECIDED
