"""Ratings from results of pairs: Bradley-Terry with draws (Davidson) and the advantage of the first mover.

With the strengths `t` of the two agents, the advantage `g` of seat 0 and the ease of drawing `v`, a game between `a`
on seat 0 and `b` on seat 1 ends as won : drawn : lost = e^(u/2) : v : e^(-u/2), where u = t[a] - t[b] + g. This is a
logistic model with linear terms in t, g and log v, so its log-likelihood is concave: Newton's method finds the one
maximum. A small prior (see `Prior`) keeps whoever won everything finite.

Error bars treat a pair of games as one observation (a sandwich estimate clustered by pairs), since the two games of
one opening are not independent. The formulas and their sources: docs/evaluation.md.

Plain numpy, not JAX: the system is small and solved once, in float64, which JAX has only behind a global switch; and
a program compiled for each number of agents would cost more than the fit.
"""

import dataclasses
import math
import numbers
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int64

from jaxgo.arena.ratings import NINETY_FIVE, Estimate, RatingTable
from jaxgo.arena.records import PairResult
from jaxgo.arena.tally import Tally, one_sided, pools, tally
from jaxgo.core.errors import UsageError, check_settings

ELO = 400 / math.log(10)  # an Elo point is 1/ELO of a natural unit of log odds
MIXED = 4.0  # pairs of the pool's average spread that are mixed into the spread of each two agents
# what a pair of equals that draw nothing tells about their difference; of pairs that tell less more are mixed in
TOLD = 0.5
MOST_LEVEL = 1e6  # of an anchor, either way
NARROWEST, BROADEST, FARTHEST = 1e-6, 1e7, 25.0  # what a prior may say, or the fit has no numbers for it
STEPS = 100  # of Newton's method; a dozen is usual
FAR = 3.0  # natural logarithms of the odds that one of them changes at most

Vector = Float64[np.ndarray, " p"]
Square = Float64[np.ndarray, "p p"]


@dataclasses.dataclass(frozen=True)
class Prior:
    """What is believed before any game. It matters only where results say next to nothing."""

    # every agent has played so many more pairs, spread over its opponents as its real ones, that one seat won twice:
    # half of a game won and half of a game lost for each two pairs
    pairs: float = 0.25
    advantage: float = 400.0  # Elo of moving first: normal around 0, the standard deviation
    draw: float = 2.0  # log v: normal around `draw_mean`, the standard deviation
    draw_mean: float = -1.0  # e^-1: between equals, 16 % of games are drawn

    def __post_init__(self) -> None:
        check_settings("", self)
        if self.pairs < 0 or not all(NARROWEST <= spread <= BROADEST for spread in (self.advantage, self.draw)):
            raise UsageError(
                f"advantage and draw of a prior are at least {NARROWEST}, and pairs at least 0; the first two "
                f"are at most {BROADEST:g}"
            )
        if abs(self.draw_mean) > FARTHEST:
            raise UsageError(f"draw_mean of a prior is from -{FARTHEST} to {FARTHEST}, not {self.draw_mean}")


def rate(
    results: Iterable[PairResult] | Tally,
    anchor: tuple[str, float] | str | None = None,
    prior: Prior = Prior(),
) -> RatingTable:
    """The most probable ratings. The `anchor` has the rating given with it (or 0), and the others follow."""
    if not isinstance(prior, Prior):
        raise UsageError(f"the prior is a Prior, such as Prior(pairs=0.25), and not {prior!r}")
    counted = results if isinstance(results, Tally) else tally(results)
    name, level = _anchor(anchor)
    if name is not None and name not in counted.agents:
        raise UsageError(f"the anchor {name!r} has no results; choose one of: {', '.join(counted.agents)}")
    pool, star = pools(counted), None if name is None else counted.agents.index(name)
    posterior = _posterior(counted, prior)
    x = _newton(posterior)
    spread = _covariance(posterior, x)
    values, covariance = _to_elo(x, spread, _zero(pool, star))
    if star is not None:
        values[:-1][pool == pool[star]] += level
        pool = np.where(pool == pool[star], -1, pool)  # the pool of the anchor comes first
    order = np.lexsort((-values[:-1], pool))
    v = math.exp(x[-1])
    share = 100 * v / (2 + v)
    return RatingTable(
        agents=tuple(counted.agents[i] for i in order),
        elo=values[order],
        covariance=covariance[np.ix_(order, order)],
        pool=np.unique(pool[order], return_inverse=True)[1].astype(np.int64),
        results=counted.games()[np.ix_(order, order)],
        advantage=Estimate(float(values[-1]), NINETY_FIVE * math.sqrt(covariance[-1, -1])),
        draws=Estimate(share, NINETY_FIVE * math.sqrt(spread[-1, -1]) * share * (1 - share / 100)),
        seats=counted.seats(),
        pairs=counted.pairs,
        anchor=name,
        notes=_notes(counted),
    )


def _anchor(anchor: Any) -> tuple[str | None, float]:
    """Who is held fixed, and where; a UsageError for what is neither a name nor a name and its rating."""
    if anchor is None or isinstance(anchor, str):
        return anchor or None, 0.0
    if not (isinstance(anchor, tuple) and len(anchor) == 2 and isinstance(anchor[0], str)):
        raise UsageError(f"the anchor is the name of an agent, or a name and its rating, and not {anchor!r}")
    name, level = anchor
    if not (isinstance(level, numbers.Real) and abs(float(level)) <= MOST_LEVEL):
        raise UsageError(
            f"the rating of the anchor must be a number from -{MOST_LEVEL:g} to {MOST_LEVEL:g}, not {level!r}"
        )
    return name, float(level)


def _zero(pool: Int64[np.ndarray, " n"], star: int | None) -> Float64[np.ndarray, "n n"]:
    """For each agent, the weights of those whose mean strength is its zero: the anchor, or its whole pool."""
    weights = (pool[:, None] == pool) / np.bincount(pool)[pool][:, None]
    if star is not None:
        weights[pool == pool[star]] = np.eye(len(pool))[star]
    return weights


def _to_elo(
    x: Vector, spread: Square, zero: Float64[np.ndarray, "n n"]
) -> tuple[Float64[np.ndarray, " r"], Float64[np.ndarray, "r r"]]:
    """Ratings and the advantage in Elo, with their covariance.

    They are scaled so that a few Elo points between equals change the expected score as much as without draws.
    """
    v, size = math.exp(x[-1]), len(zero)
    scale = ELO * 2 / (2 + v)
    turn = np.zeros((size + 1, size + 2))
    turn[:size, :size] = np.eye(size) - zero
    turn[size, size] = 1.0
    natural = turn @ x
    turn *= scale
    turn[:, -1] = -scale * v / (2 + v) * natural  # the scale is itself estimated
    return scale * natural, turn @ spread @ turn.T


# -- the model -----------------------------------------------------------------------------------------------------


def _log_chances(lead: Float64[np.ndarray, " m"], log_draw: float) -> Float64[np.ndarray, "m 3"]:
    """Logarithms of the chances that the first mover loses, draws and wins, for its lead `u` in natural units; also of
    those that are too small for a number."""
    logits = np.stack([-lead / 2, np.full_like(lead, log_draw), lead / 2], -1)
    logits -= logits.max(-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def _log_seats(counted: Tally, x: Vector) -> tuple[Float64[np.ndarray, "m 3"], Float64[np.ndarray, "m 3"]]:
    lead = x[counted.first] - x[counted.second]
    return _log_chances(lead + x[-2], x[-1]), _log_chances(lead - x[-2], x[-1])


def _seats(counted: Tally, x: Vector) -> tuple[Float64[np.ndarray, "m 3"], Float64[np.ndarray, "m 3"]]:
    """Chances that the first agent of each row loses, draws and wins on seat 0, and on seat 1."""
    first, second = _log_seats(counted, x)
    return np.exp(first), np.exp(second)


class Posterior(NamedTuple):
    """What is maximised: the results with those of the prior, and normal priors of g and log v."""

    counted: Tally
    weight: Square  # the precision of the normal priors
    middle: Vector  # their mean
    hold: Square  # keeps the mean strength of each pool in its place, which nothing else does


def _posterior(counted: Tally, prior: Prior) -> Posterior:
    size, pool = len(counted.agents), pools(counted)
    played, each = counted.counts.sum((1, 2)), np.zeros(size)
    for side in (counted.first, counted.second):
        np.add.at(each, side, played)
    more = prior.pairs * played / 2 * (1 / each[counted.first] + 1 / each[counted.second])
    split = np.array([[0.0, 0.0, 0.5], [0.0, 0.0, 0.0], [0.5, 0.0, 0.0]])
    weight, hold, middle = np.zeros((size + 2, size + 2)), np.zeros((size + 2, size + 2)), np.zeros(size + 2)
    weight[-2, -2], weight[-1, -1] = (ELO / prior.advantage) ** 2, prior.draw**-2
    middle[-1] = prior.draw_mean
    hold[:size, :size] = _zero(pool, None)
    counts = counted.counts + more[:, None, None] * split
    return Posterior(dataclasses.replace(counted, counts=counts), weight, middle, hold)


def _scores(chance: Float64[np.ndarray, "m 3"]) -> Float64[np.ndarray, "m 3 2"]:
    """For each result of a game, the slope of its log-likelihood in the lead and in log v."""
    expected = chance[:, 2] - chance[:, 0]
    lead = (np.array([-1.0, 0.0, 1.0]) - expected[:, None]) / 2
    draw = np.array([0.0, 1.0, 0.0]) - chance[:, 1, None]
    return np.stack([lead, draw], -1)


SEAT0, SEAT1 = (np.array([[1.0, sign, 0.0], [0.0, 0.0, 1.0]]) for sign in (1.0, -1.0))


def _pair_scores(counted: Tally, x: Vector) -> Float64[np.ndarray, "m 3 3 3"]:
    """For each of the nine results of a pair, its slope in the difference of strengths, in g and in log v."""
    seat0, seat1 = _seats(counted, x)
    return (_scores(seat0) @ SEAT0)[:, :, None] + (_scores(seat1) @ SEAT1)[:, None, :]


def _information(counted: Tally, x: Vector) -> Float64[np.ndarray, "m 3 3"]:
    """What one pair tells about the difference of strengths, g and log v, if the model is right."""
    total = np.zeros((len(counted.first), 3, 3))
    for chance, place in zip(_seats(counted, x), (SEAT0, SEAT1), strict=True):
        scores = _scores(chance)
        total += place.T @ np.einsum("mr,mra,mrb->mab", chance, scores, scores) @ place
    return total


def _spread_out(counted: Tally, blocks: Float64[np.ndarray, "m 3 3"]) -> Square:
    """The sum of the blocks of all rows as a matrix over strengths, g and log v."""
    size = len(counted.agents)
    out = np.zeros((size + 2, size + 2))
    both, ends = (counted.first, counted.second), (1.0, -1.0)
    for i, plus in zip(both, ends, strict=True):
        for j, sign in zip(both, ends, strict=True):
            np.add.at(out, (i, j), plus * sign * blocks[:, 0, 0])
        for k in (1, 2):
            np.add.at(out[:, size + k - 1], i, plus * blocks[:, 0, k])
            np.add.at(out[size + k - 1], i, plus * blocks[:, k, 0])
    out[size:, size:] += blocks[:, 1:, 1:].sum(0)
    return out


def _slope(posterior: Posterior, x: Vector) -> Vector:
    """The gradient of the log posterior."""
    counted = posterior.counted
    rows = np.einsum("mrs,mrsk->mk", counted.counts, _pair_scores(counted, x))
    out = -posterior.weight @ (x - posterior.middle)
    np.add.at(out, counted.first, rows[:, 0])
    np.add.at(out, counted.second, -rows[:, 0])
    out[-2:] += rows[:, 1:].sum(0)
    return out


def _log(posterior: Posterior, x: Vector) -> float:
    """What is maximised, up to a constant."""
    counts = posterior.counted.counts
    seat0, seat1 = _log_seats(posterior.counted, x)
    fitness = (counts.sum(2) * seat0).sum() + (counts.sum(1) * seat1).sum()
    off = x - posterior.middle
    return float(fitness - 0.5 * off @ posterior.weight @ off)


def _curvature(posterior: Posterior, x: Vector) -> Square:
    """The negative Hessian of the log posterior."""
    pairs = posterior.counted.counts.sum((1, 2))
    rows = pairs[:, None, None] * _information(posterior.counted, x)
    return _spread_out(posterior.counted, rows) + posterior.weight + posterior.hold


def _newton(posterior: Posterior) -> Vector:
    x = posterior.middle.copy()
    here = _log(posterior, x)
    for _ in range(STEPS):
        slope = _slope(posterior, x)
        step = np.linalg.solve(_curvature(posterior, x), slope)
        if slope @ step < 1e-12 * max(1.0, -here):  # less than a float64 can tell apart
            return x
        share = min(1.0, FAR / np.abs(step).max())  # a longer step may end where nothing changes the odds any more
        while (there := _log(posterior, x + share * step)) < here and share > 1e-9:
            share /= 2
        if there < here:  # by no step that a float64 can tell
            return x
        x, here = x + share * step, there
    raise ArithmeticError("the fit of the ratings did not settle; please report the results that did this")


def _covariance(posterior: Posterior, x: Vector) -> Square:
    """The sandwich: how results vary from pair to pair, between two inverses of what they tell.

    Few pairs of two agents say little about how they vary: they get `MIXED` more that vary as the pool does, and the
    pool as many that vary as the model says. A hundred pairs that are all drawn tell less than four others.
    """
    counted, size = posterior.counted, len(x)
    told, scores, each = _information(counted, x), _pair_scores(counted, x), counted.counts.sum((1, 2))
    seen, pairs = np.einsum("mrs,mrsa,mrsb->mab", counted.counts, scores, scores), max(counted.pairs, 1e-9)
    average = np.einsum("m,mkk->k", each, told) / pairs
    mixed = MIXED * max(1.0, TOLD / max(float(average[0]), 1e-300))
    # how much more, or less, than the model says
    excess = (np.einsum("mkk->k", seen) + mixed * average) / np.maximum(average * (pairs + mixed), 1e-300)
    usual = told * np.sqrt(excess[:, None] * excess)
    meat = (seen + mixed * usual) * (each / (each + mixed))[:, None, None]
    meat *= pairs / max(pairs - size, pairs / 2)  # the fit has bent towards the results
    bread = np.linalg.inv(_curvature(posterior, x))
    return bread @ (_spread_out(counted, meat) + posterior.weight) @ bread


# -- what to say ---------------------------------------------------------------------------------------------------


def _notes(counted: Tally) -> tuple[str, ...]:
    pool = pools(counted)
    groups = [_names(counted, np.flatnonzero(pool == p).tolist()) for p in range(int(pool.max(initial=-1)) + 1)]
    notes = []
    if len(groups) > 1:
        listed = "; ".join(groups)
        notes.append(f"{len(groups)} pools that never met: {listed}. Ratings can be compared only within a pool.")
    for above, below in one_sided(counted):
        winners, losers = _names(counted, sorted(above)), _names(counted, sorted(below))
        notes.append(f"{winners} won every game against {losers}: how far they are apart rests on the prior.")
    for name in counted.twins:
        notes.append(f"{name} has been several players; the last one has the name, the others are rated apart (#hash).")
    return tuple(notes)


def _names(counted: Tally, which: Iterable[int]) -> str:
    names = [counted.agents[i] for i in which]
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
