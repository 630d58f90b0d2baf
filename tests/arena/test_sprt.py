"""The sequential test: bounds, the likelihood against a slow solution, error rates in simulated tests."""

import inspect
import math

import numpy as np
import pytest
from support import untyped

from jaxgo.arena import sprt
from jaxgo.arena.records import PairResult
from jaxgo.arena.sprt import POINTS, Sprt, expected_score
from jaxgo.arena.tally import five
from jaxgo.core.errors import UsageError

SPREAD = np.array([1, 4, 10, 4, 1]) / 20  # paired outcomes of two equal agents


def simulate(test, elo, trials, every, seed=0):
    """How often H1 and H0 are accepted when the first agent is `elo` better."""
    rng, chances = np.random.default_rng(seed), sprt._most_likely(SPREAD, expected_score(elo))
    counts, ended = np.zeros((trials, 5)), np.zeros(trials)
    lower, upper = test.bounds
    while (live := np.flatnonzero(ended == 0)).size:
        counts[live] += rng.multinomial(every, chances, live.size)
        llr = test.llr(counts[live])
        ended[live] = np.where(llr >= upper, 1, np.where(llr <= lower, -1, 0))
    return (ended == 1).mean(), (ended == -1).mean()


def test_bounds():
    lower, upper = Sprt(alpha=0.05, beta=0.05).bounds
    assert (lower, upper) == pytest.approx((-2.944, 2.944), abs=1e-3)
    lower, upper = Sprt(alpha=0.01, beta=0.1).bounds
    assert (lower, upper) == pytest.approx((math.log(0.1 / 0.99), math.log(90)))


@pytest.mark.slow
def test_false_positives_stay_under_the_nominal():
    """Where H0 is true, H1 is accepted in less than 5 % of 3000 tests; and H0 where H1 is true."""
    test = Sprt(0.0, 30.0)
    false_positive, right = simulate(test, 0.0, trials=3000, every=4)
    assert 0.02 < false_positive < 0.05
    assert right == pytest.approx(1 - false_positive)
    _, false_negative = simulate(test, 30.0, trials=3000, every=4, seed=1)
    assert 0.02 < false_negative < 0.05


def test_shares_of_a_win_are_no_draws_and_no_wins():
    """62 % in every pair are 85 Elo, and not the 0 of a draw."""
    results = [PairResult("own", "a", "b", 0.7, 0.54, str(number), number=number) for number in range(200)]
    for counts, elo in ((five(results, "a"), 85.0), (five(results, "b"), -85.0)):
        verdict = Sprt(0.0, 10.0).judge(counts)
        assert verdict.pairs == 200
        assert verdict.elo.value == pytest.approx(elo, abs=0.5)
        assert verdict.accepted == ("H1" if elo > 0 else "H0")


def test_the_constrained_likelihood_is_the_best():
    """Of many distributions with the same mean none makes the counts more likely."""
    rng = np.random.default_rng(0)
    counts = np.array([3, 20, 50, 31, 6])
    share, mean = counts / counts.sum(), 0.56
    best = sprt._most_likely(share, mean)
    assert best.sum() == pytest.approx(1)
    assert best @ POINTS == pytest.approx(mean)
    ways = np.linalg.svd(np.stack([np.ones(5), POINTS]))[2][2:]  # keep the sum and the mean
    for _ in range(200):
        other = best + 0.02 * rng.standard_normal(3) @ ways
        if other.min() > 0:
            assert counts @ np.log(other) < counts @ np.log(best)


def test_close_to_the_normal_approximation():
    """With many pairs the ratio is that of two normal means."""
    counts = np.array([500, 2000, 5000, 2100, 550])
    score, pairs = counts @ POINTS / counts.sum(), counts.sum()
    variance = counts @ (POINTS - score) ** 2 / pairs
    s0, s1 = expected_score(0.0), expected_score(10.0)
    approximate = pairs * (s1 - s0) * (2 * score - s0 - s1) / (2 * variance)
    assert float(Sprt(0.0, 10.0).llr(counts)) == pytest.approx(approximate, rel=0.02)


def test_verdicts():
    test = Sprt(0.0, 10.0)
    start = test.judge([0, 0, 0, 0, 0])
    assert start.llr == pytest.approx(0, abs=0.01)
    assert start.accepted is None
    assert "goes on" in str(start)
    better = test.judge(np.array([100, 400, 1000, 600, 200]))
    assert better.accepted == "H1"
    assert 0 < better.elo.value - better.elo.error < better.elo.value
    assert f"Elo {better.elo.value:+.0f} ± {better.elo.error:.0f}: H1 accepted" in str(better)
    assert test.judge([200, 600, 1000, 400, 100]).accepted == "H0"
    assert float(test.llr(np.array([[0, 1, 2, 1, 0]] * 3)).std()) == 0, "tests side by side"


def test_a_score_of_all_or_nothing_is_no_trap():
    won, lost = Sprt(0.0, 10.0).judge([0, 0, 0, 0, 300]), Sprt(0.0, 10.0).judge([300, 0, 0, 0, 0])
    assert won.accepted == "H1"
    assert won.elo.value == math.inf
    assert lost.accepted == "H0"
    assert lost.elo.value == -math.inf
    assert math.isinf(won.elo.error)


def test_mistakes():
    far = ({"elo1": 8000}, {"elo0": -200_000})  # no number holds what is left of the score
    for wrong in ({"elo0": 5, "elo1": 5}, {"elo1": math.nan}, {"alpha": 0.0}, {"beta": 0.7}, *far):
        with pytest.raises(UsageError):
            Sprt(**{k: float(v) for k, v in wrong.items()})
    with pytest.raises(UsageError, match="elo0='0' is not a number"):
        untyped(Sprt, elo0="0")
    for counts in ([1, 2, 3], [1, 2, 3, 4, -5], [1, 2, 3, 4, math.inf]):
        with pytest.raises(UsageError, match="a test judges five counts"):
            inspect.unwrap(Sprt.judge)(Sprt(), counts)
