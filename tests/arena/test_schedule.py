"""Who plays whom: counts, disjoint rounds, and games where they shrink the error bars most."""

import dataclasses
import itertools

import numpy as np
import pytest
import support

from jaxgo.arena import elo
from jaxgo.arena.records import PairResult
from jaxgo.arena.schedule import Schedule, disjoint, errors, first_meetings, gains, groups
from jaxgo.core.errors import UsageError

NAMES = ("p", "q", "r", "s")


def pairs(a: str, b: str, *outcomes: float) -> list[PairResult]:
    return [
        PairResult("go9", a, b, min(1.0, o), max(0.0, o - 1.0), f"{a}{b}{n}{len(outcomes)}")
        for n, o in enumerate(outcomes)
    ]


def run(plan: Schedule, agents: int, chunk: int) -> dict[tuple[int, int], int]:
    """Plays a schedule without games; every round must be of disjoint matches."""
    played: dict[tuple[int, int], int] = {}
    for _ in range(1000):
        this = plan.round(played, None, NAMES[:agents], chunk)
        if not this:
            return played
        busy = [agent for match in this for agent in match]
        assert len(busy) == len(set(busy))
        assert all(0 < count <= chunk for count in this.values())
        for match, count in this.items():
            played[match] = played.get(match, 0) + count
    raise AssertionError("the schedule does not end")


def test_everybody_meets_everybody_so_often():
    assert run(Schedule("round-robin", 10), 4, chunk=4) == dict.fromkeys(itertools.combinations(range(4), 2), 10)
    assert run(Schedule("gauntlet", 7), 4, chunk=7) == {(0, 1): 7, (0, 2): 7, (0, 3): 7}
    assert Schedule("gauntlet", 7).most(4) == 21


def test_a_round_has_as_many_matches_as_fit():
    first = Schedule("round-robin", 5).round({}, None, NAMES, 5)
    assert len(first) == 2
    assert disjoint({(0, 1): 1.0, (1, 2): 3.0, (2, 3): 1.0, (0, 3): 2.0}) == [(1, 2), (0, 3)]
    assert disjoint({(0, 1): 0.0}) == []


def test_no_more_pairs_are_asked_for_than_there_is_room_for():
    plan = Schedule("round-robin", 10)
    assert plan.round({}, None, ("a", "b"), 8, {(0, 1): 3}) == {(0, 1): 3}
    assert plan.round({(0, 1): 8}, None, ("a", "b"), 8, {(0, 1): 3}) == {(0, 1): 2}
    assert plan.round({}, None, ("a", "b"), 8, {(0, 1): 0}) == {}


def test_strangers_meet_first():
    assert first_meetings(5, {}) == [(0, 1), (2, 3)]
    assert first_meetings(5, {(0, 1): 2, (2, 3): 2}) == [(0, 2)]
    assert first_meetings(5, {(0, 1): 2, (2, 3): 2, (1, 3): 1}) == [(0, 4)]
    assert first_meetings(4, {(0, 1): 1, (1, 2): 1, (2, 3): 1}) == []


def test_gains_are_what_the_covariance_loses():
    """By brute force: the inverse of the precision plus what the games tell, with as many pairs of every match."""
    results = [
        *pairs("p", "q", 2.0, 1.0, 1.0, 0.0, 1.5, 0.5),
        *pairs("q", "r", 2.0, 1.0, 0.0, 1.0),
        *pairs("r", "s", 1.0, 0.5, 2.0, 0.0, 1.0, 1.0, 1.5, 0.5),
    ]
    table = elo.rate(results)
    found = gains(table, NAMES, 3)
    order = [table.index(name) for name in NAMES]
    covariance, ratings = table.covariance[np.ix_(order, order)], table.elo[order]
    wide = covariance + 1e-3 * np.eye(4)  # the mean of the pool has no variance, so there is no inverse without this
    for (a, b), gain in found.items():
        chance = 1 / (1 + 10 ** ((ratings[b] - ratings[a]) / 400))
        direction = np.zeros(4)
        direction[[a, b]] = 1.0, -1.0
        told = 3 * 2 * chance * (1 - chance) * (np.log(10) / 400) ** 2
        after = np.linalg.inv(np.linalg.inv(wide) + told * np.outer(direction, direction))
        assert gain == pytest.approx(np.trace(wide) - np.trace(after), rel=1e-3)
    assert max(found, key=found.__getitem__) == (0, 3), "the ends of a chain know least of each other"


def test_play_stops_at_the_wanted_precision():
    results = pairs("p", "q", *[1.0, 1.5, 0.5] * 60)
    table = elo.rate(results)
    error = table.rating("p").error
    played = {(0, 1): 180}
    assert not Schedule("round-robin", 500, until=error * 1.01).round(played, table, ("p", "q"), 32)
    assert Schedule("round-robin", 500, until=error * 0.99).round(played, table, ("p", "q"), 32) == {(0, 1): 32}
    assert Schedule("informative", 500, until=error * 0.99).round(played, table, ("p", "q"), 32) == {(0, 1): 32}
    assert not Schedule("informative", 180, until=1.0).round(played, table, ("p", "q"), 32), "all is played"
    assert Schedule("informative", 200, until=1.0).round(played, table, ("p", "q"), 32) == {(0, 1): 20}, (
        "all that is left"
    )
    # somebody without a game has no error bar at all
    assert Schedule("informative", 500, until=1000.0).round(played, table, ("p", "q", "r"), 8) == {(0, 2): 8}
    assert Schedule("informative", 1).round({}, None, NAMES, 8) == {(0, 1): 6}, "six matches of one pair on average"


def test_informative_games_go_where_they_help():
    """Three agents, two of them known well: the third one plays."""
    results = [*pairs("p", "q", *[1.0, 1.5, 0.5] * 40), *pairs("q", "r", 1.0, 0.5)]
    table = elo.rate(results)
    plan = Schedule("informative", 500, until=5.0).round({(0, 1): 120, (1, 2): 2}, table, ("p", "q", "r"), 8)
    ((match, count),) = plan.items()
    assert 2 in match
    assert count == 8


def played_out(plan: Schedule, truth: dict[str, float], seed: int, chunk: int = 32):
    """The schedule over games drawn by the strengths of `truth`: pairs of each match, and the last ratings."""
    rng, names, results = np.random.default_rng(seed), tuple(truth), []
    played: dict[tuple[int, int], int] = {}
    table = None
    while this := plan.round(played, table, names, chunk):
        for (a, b), count in this.items():
            chance = 1 / (1 + 10 ** ((truth[names[b]] - truth[names[a]]) / 400))
            for won in rng.binomial(1, chance, (count, 2)).tolist():
                results.append(PairResult("go9", names[a], names[b], float(won[0]), float(won[1]), str(len(results))))
            played[a, b] = played.get((a, b), 0) + count
        table = elo.rate(results)
    return played, table


@pytest.mark.parametrize("seed", range(4))
def test_a_match_that_is_won_99_times_in_100_gets_few_games(seed):
    """Its games tell a 25th of what even games tell. Before, five in six went there: 1,216 of 1,440."""
    truth = {"uct": 0.0, "gumbel": 120.0, "random": -800.0}
    played, table = played_out(Schedule("informative", 1000, until=60.0), truth, seed)
    assert played.get((0, 2), 0) + played.get((1, 2), 0) <= 160
    assert played[0, 1] >= 32
    assert [sorted(group) for group in groups(table, tuple(truth))] == [[0, 1], [2]]
    assert table.difference("gumbel", "uct").error <= 121, "each of the two is within 60 of their mean"
    assert abs(table.difference("gumbel", "uct").value - 120) <= 2 * table.difference("gumbel", "uct").error


def test_a_pool_of_others_in_the_same_file_keeps_nobody_playing():
    known = pairs("p", "q", *[1.0, 1.5, 0.5] * 500)
    table = elo.rate([*known, *pairs("r", "s", 1.0, 0.5)])
    assert table.pool.max() == 1
    assert Schedule(until=50.0).enough(table, ("p", "q"))
    assert not Schedule(until=50.0).enough(table, ("p", "r")), "who never met has no precision"
    assert not Schedule(until=20.0).enough(table, ("r", "s"))


@pytest.mark.parametrize("names", [NAMES[:3], NAMES[1:3]])
def test_a_bar_against_the_anchor_is_that_of_the_table(names):
    """It was measured against the mean, which is nearer: a match ended at half the precision that was asked."""
    results = [*pairs("p", "q", *[1.0, 1.5, 0.5] * 9), *pairs("q", "r", *[1.0, 1.5, 0.5] * 3)]
    table = elo.rate(results, "p")
    assert len(groups(table, NAMES[:3])) == 1
    np.testing.assert_allclose(errors(table, names), [table.rating(name).error for name in names], atol=1e-9)
    worst = float(errors(table, names).max())
    assert Schedule(until=worst).enough(table, names)
    assert not Schedule(until=0.99 * worst).enough(table, names)
    assert max(errors(elo.rate(results), names)) < 0.9 * worst
    found = gains(table, names, 8)
    assert names.index("r") in max(found, key=found.__getitem__)


def test_who_is_known_well_enough_gets_no_more_games():
    """p is known a little better than was asked, r a little worse, though games of p and q would tell more in all."""
    names = NAMES[:3]
    table = elo.rate([*pairs("p", "q", *[1.0, 1.5, 0.5] * 5), *pairs("q", "r", *[2.0, 2.0, 1.0, 2.0, 2.0] * 8)])
    p, q, r = errors(table, names)
    assert q < p < r
    found = gains(table, names, 8)
    assert max(found, key=found.__getitem__) == (0, 1)
    plan = Schedule("informative", 1000, until=float(p + r) / 2).round({(0, 1): 15, (1, 2): 40}, table, names, 8)
    assert plan == {(0, 2): 8}


def test_a_difference_counts_for_as_small_as_it_may_be():
    """49 points of 50 may be luck; as many of each 50 in 3,200 games are not."""
    few = pairs("p", "q", *[2.0] * 24, 1.0)
    assert groups(elo.rate(few), ("p", "q")) == [[0, 1]]
    many = [dataclasses.replace(pair, id=f"{pair.id}-{n}") for pair in few for n in range(64)]
    assert groups(elo.rate(many), ("p", "q")) == [[0], [1]]


def test_games_that_tell_next_to_nothing_are_not_played_because_somebody_is_free():
    """The ends of a chain are to meet; its middle two know each other, though nobody else would play them."""
    results = [*pairs("q", "r", *[1.0, 1.5, 0.5] * 140), *pairs("p", "q", *[1.0, 1.5, 0.5] * 10)]
    table = elo.rate([*results, *pairs("r", "s", *[1.0, 1.5, 0.5] * 10)])
    played = {(0, 1): 30, (1, 2): 420, (2, 3): 30}
    assert Schedule("informative", 1000, until=1.0).round(played, table, NAMES, 8) == {(0, 3): 8}


def test_a_match_between_groups_is_worth_nothing():
    won = [dataclasses.replace(pair, id=f"w{n}") for n, pair in enumerate(pairs("p", "q", 2.0) * 400)]
    table = elo.rate([*won, *pairs("q", "r", *[1.0, 1.5, 0.5] * 10)])
    assert groups(table, NAMES[:3]) == [[0], [1, 2]]
    found = gains(table, NAMES[:3], 8)
    assert found[0, 1] == found[0, 2] == 0 < found[1, 2]


def test_precision_costs_no_more_than_by_round_robin():
    """Of agents that meet fairly all bars become as small as was asked, and the truth is inside of most."""
    truth = {"a": 0.0, "b": 100.0, "c": 250.0, "d": -150.0}
    informative, table = played_out(Schedule("informative", 1000, until=35.0), truth, 0, chunk=16)
    everybody, _ = played_out(Schedule("round-robin", 1000, until=35.0), truth, 0, chunk=16)
    assert sum(informative.values()) <= sum(everybody.values())
    assert len(groups(table, tuple(truth))) == 1
    np.testing.assert_allclose(errors(table, tuple(truth)), [table.rating(name).error for name in truth], rtol=1e-6)
    ratings = {name: table.rating(name) for name in truth}
    assert max(rating.error for rating in ratings.values()) <= 35
    mean = np.mean(list(truth.values()))
    assert sum(abs(ratings[name].value - (truth[name] - mean)) <= ratings[name].error for name in truth) >= 3


def test_two_pools_that_are_far_apart_are_each_measured_in_themselves():
    truth = {"a": 0.0, "b": 60.0, "c": -1200.0, "d": -1100.0}
    played, table = played_out(Schedule("informative", 1000, until=50.0), truth, 1)
    assert groups(table, tuple(truth)) == [[0, 1], [2, 3]]
    assert (errors(table, tuple(truth)) <= 50).all()
    across = sum(count for match, count in played.items() if match not in ((0, 1), (2, 3)))
    assert across <= 128


def test_mistakes_are_named():
    with pytest.raises(UsageError, match="at least 1 pair"):
        Schedule(pairs=0)
    with pytest.raises(UsageError, match="precision"):
        Schedule(until=float("nan"))
    with pytest.raises(UsageError, match="whole pairs"):
        support.untyped(Schedule, pairs=2.5)
