"""Ratings: closed forms, a published example, simulated pools whose truth is known, and what must be said aloud."""

import dataclasses
import inspect
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgo.arena import elo
from jaxgo.arena.elo import ELO, Prior, rate
from jaxgo.arena.ratings import NINETY_FIVE
from jaxgo.arena.records import PairResult
from jaxgo.arena.tally import Tally, five, one_sided, tally
from jaxgo.core.errors import UsageError

FLAT = Prior(pairs=0.0, advantage=1e7, draw=1e4)  # next to no prior: the most likely ratings
RESULTS = (0.0, 0.5, 1.0)


def pair(a, b, first, second, number=0, game="connect4", options=()):
    return PairResult(game, a, b, float(first), float(second), id=f"{game}{options}{a}{b}{number}", options=options)


def match(a, b, seat0, seat1):
    """Pairs whose games were lost, drawn and won so often on each seat, as if independent."""
    counts = np.outer(seat0, seat1) / sum(seat1)
    return Tally((a, b), np.array([0]), np.array([1]), counts[None])


def round_robin(names, table):
    """Games won, drawn and lost, as they are published: half of them on each seat."""
    rows = [(names.index(a), names.index(b), np.diag([lost, drawn, won]) / 2) for a, b, won, drawn, lost in table]
    first, second, counts = zip(*rows, strict=True)
    return Tally(tuple(names), np.array(first), np.array(second), np.array(counts, float))


def chances(lead, draw):
    """Chances that the first mover loses, draws and wins, for its lead in natural units."""
    odds = np.stack([np.exp(-lead / 2), np.full_like(lead, draw), np.exp(lead / 2)], -1)
    return odds / odds.sum(-1, keepdims=True)


def simulate(rng, strengths, pairs, advantage=0.4, draw=0.5, bias=0.0):
    """A round robin in the model, or with openings that favour one seat (`bias`, as a standard deviation)."""
    first, second = np.triu_indices(len(strengths), 1)
    counts = np.zeros((len(first), 3, 3))
    for row, (i, j) in enumerate(zip(first, second, strict=True)):
        opening = bias * rng.standard_normal(pairs)
        ends = []
        for seat in (1, -1):
            chance = chances(strengths[i] - strengths[j] + seat * (advantage + opening), draw)
            ends.append((rng.random(pairs)[:, None] > chance.cumsum(1)).sum(1))
        np.add.at(counts[row], tuple(ends), 1)
    return Tally(tuple(map(str, range(len(strengths)))), first, second, counts)


@pytest.mark.parametrize(("drawn", "won"), [(40, 2), (400, 1), (599, 22)])
def test_a_pool_that_mostly_draws_is_rated(drawn, won):
    """The first steps of the fit went so far that no odds changed any more, and ratings of 300,000 came of it."""
    found = rate(round_robin(("a", "b", "c"), [("a", "b", 0, 2 * drawn, 0), ("a", "c", 2 * won, 0, 0)]))
    (a, _), (b, _), (c, error) = (dataclasses.astuple(found.rating(name)) for name in "abc")
    assert c < min(a, b) < 1000
    assert error < 1000


@pytest.mark.parametrize("points", [2.0, -0.5, math.nan, math.inf, "1", None])
def test_points_that_no_game_gives_are_refused(points):
    for side in ("first", "second"):
        one = pair("a", "b", 1, 0.5)
        object.__setattr__(one, side, points)  # the tests would refuse a text where it is given
        for judge in (elo.rate, lambda results: five(results, "a")):
            with pytest.raises(UsageError, match=r"of a against b is no number from 0 to 1; points of a game are"):
                judge([one])


def test_what_no_ratings_can_be_made_of_is_refused():
    results = [pair("a", "b", 1, 0.5, 1), pair("a", "b", 1, 0, 2)]
    judge, count = inspect.unwrap(elo.rate), inspect.unwrap(tally)  # without the types that the tests check
    assert judge(results + results).pairs == 2, "a pair that is there twice counts once"
    assert count(results[0]).pairs == 1
    for wrong in (None, [(1, 2)], {"a": 1}):
        with pytest.raises(UsageError, match=r"ratings are of PairResult, as records\.read gives them"):
            count(wrong)
    for anchor in (3, ("a", 1, 2)):
        with pytest.raises(UsageError, match="the anchor is the name of an agent, or a name and its rating"):
            judge(results, anchor=anchor)
    for level in ("1500", None, math.inf, 1e308):
        with pytest.raises(UsageError, match="the rating of the anchor must be a number"):
            judge(results, anchor=("a", level))
    for wrong in ({"pairs": -1.0}, {"draw": 1e-8}, {"advantage": 0.0}, {"draw": 1e8}, {"advantage": 1e9}):
        with pytest.raises(UsageError, match="of a prior are at least 1e-06, and pairs at least 0"):
            elo.Prior(**wrong)
    for mean in (700.0, 50.0):
        with pytest.raises(UsageError, match="draw_mean of a prior is from -25"):
            elo.Prior(draw_mean=mean)
    drawn = [pair("a", "b", 0.5, 0.5, number) for number in range(4)]
    assert np.isfinite(judge(drawn, prior=elo.Prior(draw=1e7, draw_mean=25.0)).elo).all(), "as far as a prior may go"
    with pytest.raises(UsageError, match="the prior is a Prior"):
        judge(results, prior=None)
    for field, wrong in (("a", 1), ("id", [1]), ("time", None), ("checkpoints", ("x",))):
        odd = dataclasses.replace(results[0])
        object.__setattr__(odd, field, wrong)
        with pytest.raises(UsageError, match="id, a, b, time and both checkpoints of a PairResult are texts"):
            count([odd])


def test_options_are_the_same_however_they_are_typed():
    """A run writes suicide=True where jaxgo eval writes what was typed: their files made no common rating."""
    go = [("go9", ()), ("go9", ("komi=7",)), ("go5", ("size=9", "komi=7.0"))]
    for games in (go, [("gomoku", ()), ("gomoku15", ("rules=freestyle",))]):
        assert len({pair("a", "b", 1, 1, 0, *game).rules for game in games}) == 1
    assert pair("a", "b", 1, 1, 0, "nosuch:Game", ("x=1",)).rules == ("nosuch:Game", ("x", 1))
    run, typed = ("suicide=True", "komi=7"), ("komi=7.0", "suicide=yes")
    results = [pair("a", "b", 1, 0.5, 1, "go5", run), pair("a", "b", 1, 0, 2, "go5", typed)]
    assert elo.rate(results).pairs == 2
    with pytest.raises(UsageError, match=r"make no common rating"):
        elo.rate([*results, pair("a", "b", 1, 0.5, 3, "go5", ("komi=7.5", "suicide=yes"))])


def test_games_of_another_temperature_make_no_common_rating():
    cold = [pair("a", "b", 1, 0.5, 1), dataclasses.replace(pair("a", "b", 1, 0, 2), temperature=0.5)]  # for no move
    warm = [dataclasses.replace(pair("a", "b", 0, 0, n), temperature=0.5, hot_plies=4) for n in (3, 4)]
    assert elo.rate(cold).pairs == elo.rate(warm).pairs == 2
    with pytest.raises(UsageError, match=r"of .* hot_plies=4 temperature=0.5 and of .* make no common rating"):
        elo.rate([*cold, *warm])


def test_two_players_without_draws():
    """The strengths and the advantage are half the sum and half the difference of two log odds."""
    table = rate(match("a", "b", [2000, 0, 6000], [5000, 0, 3000]), prior=FLAT)
    seat0, seat1 = math.log(3), math.log(3 / 5)
    lead = table.difference("a", "b")
    assert lead.value == pytest.approx(ELO * (seat0 + seat1) / 2, abs=0.05)
    assert table.advantage.value == pytest.approx(ELO * (seat0 - seat1) / 2, abs=0.05)
    error = ELO * math.sqrt(1 / 2000 + 1 / 6000 + 1 / 5000 + 1 / 3000) / 2
    assert lead.error == pytest.approx(NINETY_FIVE * error, rel=2e-3)
    assert table.draws.value < 0.01


def test_two_players_with_draws():
    """Without an advantage: log odds of wins against losses, and draws against their geometric mean."""
    table = rate(match("a", "b", [100, 300, 600], [100, 300, 600]), prior=FLAT)
    v = 300 / math.sqrt(600 * 100)
    assert table.difference("a", "b").value == pytest.approx(ELO * math.log(6) * 2 / (2 + v), abs=0.01)
    assert table.advantage.value == pytest.approx(0, abs=1e-6)
    assert table.draws.value == pytest.approx(100 * v / (2 + v))


def test_scale_is_the_usual_elo_between_near_equals():
    """55 % with many draws are the 35 Elo that 55 % without draws are."""
    table = rate(match("a", "b", [100, 700, 200], [100, 700, 200]), prior=FLAT)
    assert table.difference("a", "b").value == pytest.approx(400 * math.log10(0.55 / 0.45), abs=1)


def test_slope_and_curvature_are_those_of_the_model():
    """JAX derives them from the log-likelihood, written once more."""
    rng = np.random.default_rng(0)
    counted = simulate(rng, rng.standard_normal(4), 5)
    posterior = elo._posterior(counted, Prior())
    weight, middle, counts = posterior.weight, posterior.middle, posterior.counted.counts
    x = rng.standard_normal(6)

    def model(x):
        off = x - middle
        total = -0.5 * off @ weight @ off
        for seat, ends in ((1, counts.sum(2)), (-1, counts.sum(1))):
            lead = x[counted.first] - x[counted.second] + seat * x[-2]
            logits = jnp.stack([-lead / 2, jnp.full(len(ends), x[-1]), lead / 2], -1)
            total += (ends * jax.nn.log_softmax(logits)).sum()
        return total

    with jax.enable_x64(True):
        slope, curvature = jax.jit(jax.grad(model))(x), -np.asarray(jax.jit(jax.hessian(model))(x))
        np.testing.assert_allclose(elo._slope(posterior, x), slope, rtol=1e-9)
        hold = elo._curvature(posterior, x) - curvature
        np.testing.assert_allclose(hold[:4, :4], 0.25, atol=1e-9)  # holds the mean of the pool, and nothing else
        np.testing.assert_allclose(hold[4:], 0, atol=1e-9)
    assert jnp.asarray(x).dtype == jnp.float32, "the global switch is as it was"


def test_published_example():
    """Three engines that score 75 %, 75 % and 90 %: 30 games each, as given by K. Laskos on TalkChess in 2012.

    Ordo gave +190.1, 0 and -190.1. It counts a draw as half a win and half a loss; with these our model is Ordo's.
    """
    names = ["Houdini", "Strelka", "Komodo"]
    ours = rate(
        round_robin(
            names,
            [
                ("Houdini", "Strelka", 22.5, 0, 7.5),
                ("Strelka", "Komodo", 22.5, 0, 7.5),
                ("Houdini", "Komodo", 27, 0, 3),
            ],
        )
    )
    assert ours.agents == tuple(names)
    np.testing.assert_allclose(ours.elo, [190.1, 0.0, -190.1], atol=2)
    drawn = rate(
        round_robin(
            names,
            [("Houdini", "Strelka", 18, 9, 3), ("Strelka", "Komodo", 18, 9, 3), ("Houdini", "Komodo", 24, 6, 0)],
        )
    )
    np.testing.assert_allclose(drawn.elo, [190.1, 0.0, -190.1], atol=5)


@pytest.mark.slow
def test_intervals_cover_the_truth():
    """400 pools: 95 % of the 95 % intervals hold the true rating, around the mean and around another agent."""
    rng, inside, against = np.random.default_rng(7), [], []
    for _ in range(400):
        strengths = 0.8 * rng.standard_normal(5)
        table = rate(simulate(rng, strengths, 20))
        truth = ELO * 2 / 2.5 * strengths
        for agent, true in zip("01234", truth, strict=True):
            found, lead = table.rating(agent), table.difference(agent, "0")
            inside.append(abs(found.value - (true - truth.mean())) < found.error)
            if agent != "0":
                against.append(abs(lead.value - (true - truth[0])) < lead.error)
    assert 0.93 < np.mean(inside) < 0.97
    assert 0.93 < np.mean(against) < 0.97


@pytest.mark.slow
def test_intervals_know_that_paired_games_are_not_independent():
    """Openings that favour a seat: the seats swapped, ratings vary less than independent games would let them."""
    rng, values, errors, independent = np.random.default_rng(3), [], [], []
    for _ in range(300):
        counted = simulate(rng, np.array([0.1, -0.1]), 100, bias=2.0)
        lead = rate(counted).difference("0", "1")
        values.append(lead.value)
        errors.append(lead.error / NINETY_FIVE)
        seats = counted.counts.sum((0, 2)), counted.counts.sum((0, 1))
        independent.append(rate(match("0", "1", *seats)).difference("0", "1").error / NINETY_FIVE)
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.1)
    assert np.mean(independent) > 1.15 * np.std(values)


@pytest.mark.parametrize(("pairs", "bar"), [(32, 12), (128, 3)])
def test_pairs_that_are_all_drawn_are_no_certainty(pairs, bar):
    """Where three pairs in a hundred are won, 32 are all drawn more often than not; a bar of ±2 came of that."""
    found = rate([pair("a", "b", 0.5, 0.5, number) for number in range(pairs)]).difference("a", "b")
    assert found.value == pytest.approx(0, abs=1e-6)
    assert found.error == pytest.approx(bar, rel=0.1)
    won = [pair("a", "b", 1.0 if number == 0 else 0.5, 0.5, number) for number in range(pairs)]
    assert rate(won).difference("a", "b").error == pytest.approx(bar, rel=0.3), "one game tells little"


def test_openings_that_one_seat_always_wins_tell_next_to_nothing():
    """The players may be 190 Elo apart where moving first is worth 1000; a bar of ±6 came of it."""
    found = rate([pair("a", "b", 1.0, 0.0, number) for number in range(200)])
    assert found.advantage.value > 800
    assert found.difference("a", "b").error > 100


def test_anchor():
    counted = simulate(np.random.default_rng(0), np.array([0.5, 0.0, -0.5]), 50)
    free, fixed = rate(counted), rate(counted, anchor=("1", 1500.0))
    assert fixed.rating("1").value == 1500
    assert fixed.rating("1").error == 0
    assert str(fixed.rating("1")) == "+1500 ± 0"
    for a, b in [("0", "1"), ("0", "2")]:
        assert fixed.difference(a, b).value == pytest.approx(free.difference(a, b).value)
        assert fixed.difference(a, b).error == pytest.approx(free.difference(a, b).error)
    assert fixed.rating("0").error == pytest.approx(fixed.difference("0", "1").error)
    with pytest.raises(UsageError, match="anchor 'nobody' has no results"):
        rate(counted, anchor="nobody")


def test_superiority():
    table = rate(simulate(np.random.default_rng(0), np.array([0.3, 0.0]), 100))
    lead = table.difference("0", "1")
    normal = 0.5 * math.erfc(-lead.value / (lead.error / NINETY_FIVE) / math.sqrt(2))
    assert table.superiority("0", "1") == pytest.approx(normal)
    assert table.superiority("1", "0") == pytest.approx(1 - normal)
    assert table.superiority("0", "0") == 0.5


def test_pools_that_never_met_are_not_compared():
    results = [pair("a", "b", 1, 0, 0), pair("a", "b", 1, 0.5, 1), pair("c", "d", 0.5, 0.5, 0)]
    table = rate(results, anchor="d")
    assert table.agents[0] in ("c", "d"), "the pool of the anchor comes first"
    assert math.isnan(table.difference("a", "c").value)
    assert math.isinf(table.difference("a", "c").error)
    assert math.isnan(table.superiority("a", "c"))
    assert any("2 pools that never met: a, b; c, d" in note for note in table.notes)
    assert table.rating("a").value == pytest.approx(-table.rating("b").value)


def test_the_rating_of_an_anchor_moves_its_own_pool_and_no_other():
    results = [pair(a, b, 1, n % 2, n) for a, b in (("a", "b"), ("c", "d")) for n in range(6)]
    plain, held = rate(results), rate(results, anchor=("b", 1500.0))
    assert held.rating("b").value == 1500
    assert held.difference("a", "b").value == pytest.approx(plain.difference("a", "b").value)
    for agent in ("c", "d"):
        assert held.rating(agent).value == pytest.approx(plain.rating(agent).value)


def test_seats_are_those_of_the_first_mover():
    """The second game of a pair begins with the other agent, whoever of the two is named first."""
    assert tally([pair("a", "b", 1, 1)]).seats().tolist() == [1, 0, 1]
    assert tally([pair("a", "b", 1, 0)]).seats().tolist() == [0, 0, 2]
    assert tally([pair("a", "b", 0.5, 1)]).seats().tolist() == [1, 1, 0]
    assert tally([pair("a", "b", 1, 1), pair("b", "a", 0, 1, 1)]).seats().tolist() == [3, 0, 1]


def test_who_won_everything_stays_finite_and_is_named():
    results = [pair("a", "b", 1, 1, i) for i in range(50)] + [pair("b", "c", i % 2, i % 2, i) for i in range(50)]
    table = rate(results)
    assert 400 < table.difference("a", "b").value < 1500
    assert table.difference("a", "b").error > 200
    assert any(note.startswith("a won every game against b:") for note in table.notes), "a never met c"
    assert one_sided(tally(results)) == [({0}, {1})]


@pytest.mark.parametrize(
    "results",
    [
        ([2, 0, 0], [0, 40, 0]),  # one pair lost, then nothing but draws
        ([0, 446000, 40], [0, 0, 10**6]),  # so many that a float64 sees no way to the very top
    ],
)
def test_results_that_are_all_alike_have_ratings(results):
    """The first step of Newton's method leads far away there."""
    games = np.array([np.diag(some) / 2 for some in results], float)
    counted = Tally(("a", "b", "c"), np.array([0, 1]), np.array([1, 2]), games)
    posterior = elo._posterior(counted, Prior())
    slope = elo._slope(posterior, elo._newton(posterior))
    assert np.abs(slope).max() < 1e-3, "the top of the likelihood"
    table = rate(counted)
    assert np.isfinite(table.covariance).all()
    assert np.abs(table.elo).max() < 5000


def test_one_sided_results_are_told_of_those_who_met():
    """a and b took points from each other and so did c and d; only b and c met, and b beat e too."""
    even = [pair("a", "b", 1, 0), pair("c", "d", 0.5, 0)]
    assert one_sided(tally([*even, pair("b", "c", 1, 1, 1), pair("b", "e", 1, 1, 2)])) == [({1}, {2, 4})]
    chain = tally([pair("a", "b", 1, 1), pair("b", "c", 1, 1, 1)])
    assert sorted(one_sided(chain), key=str) == [({0}, {1}), ({1}, {2})], "one sentence each"
    assert one_sided(tally([*even, pair("b", "c", 1, 1, 1), pair("d", "a", 0.5, 0, 2)])) == [], (
        "half a point leads back"
    )


def test_counts():
    """Seats are kept apart, whoever is named first; a share of a win is a mixture."""
    counted = tally([pair("a", "b", 1, 0.5), pair("b", "a", 0, 1, 1), pair("a", "b", 0.75, 0, 2)])
    expected = np.zeros((3, 3))
    expected[2, 1] += 1
    expected[0, 2] += 1
    expected[[1, 2], 0] += 0.5
    np.testing.assert_allclose(counted.counts, expected[None])
    np.testing.assert_allclose(counted.games()[0, 1], [2, 1.5, 2.5])
    np.testing.assert_allclose(counted.seats(), [2, 1.5, 2.5])
    assert five([pair("a", "b", 1, 0.5), pair("b", "a", 0, 0)], "a").tolist() == [0, 0, 0, 1, 1]


def test_order_and_names_do_not_matter():
    rng = np.random.default_rng(5)
    results = [
        pair(*rng.choice(list("abcd"), 2, replace=False).tolist(), *rng.choice(RESULTS, 2), i) for i in range(80)
    ]
    turned = [pair(p.b, p.a, 1 - p.second, 1 - p.first, i) for i, p in enumerate(reversed(results))]
    one, other = rate(results), rate(turned)
    for agent in "abcd":
        assert one.rating(agent).value == pytest.approx(other.rating(agent).value, abs=1e-6)
        assert one.rating(agent).error == pytest.approx(other.rating(agent).error, rel=1e-6)
    assert one.advantage.value == pytest.approx(other.advantage.value, abs=1e-6)


def test_results_of_two_games_are_refused():
    with pytest.raises(UsageError, match="results of tictactoe and of connect4"):
        rate([pair("a", "b", 1, 0), pair("a", "b", 1, 0, game="tictactoe")])
    with pytest.raises(UsageError, match="komi=5"):
        rate([pair("a", "b", 1, 0, game="go9"), pair("a", "b", 1, 0, game="go9", options=("komi=5",))])


def test_nothing_and_hardly_anything():
    assert rate([]).agents == ()
    table = rate([pair("a", "b", 1, 1)])
    assert table.difference("a", "b").error > table.difference("a", "b").value > 0
    assert rate([pair("a", "a", 1, 0)]).rating("a").value == 0
