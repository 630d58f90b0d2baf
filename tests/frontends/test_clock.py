"""Clocks: what a move may take of them, and that none is ever spent."""

import random

import pytest

from jaxgo.frontends import gtp
from jaxgo.frontends.clock import LAG, LEAST_MOVES, SAFE, Clock, fischer
from jaxgo.frontends.gtp_engine import GtpEngine
from jaxgo.games import make


def test_clocks_tell_what_a_move_may_take():
    clock = Clock()
    assert clock.budget(30) is None
    clock.begin(0.0, 1.0, 0)  # a period without stones: no limit
    assert clock.budget(30) is None
    clock.begin(60.0)
    assert 1.0 < clock.budget(30) < 2.0
    clock.left(0.1, 0)
    assert clock.budget(30) == 0.0
    clock.begin(0.0, 10.0, 5)
    assert 1.0 < clock.budget(30) <= 2.0
    clock.left(1.0, 4)
    assert clock.budget(30) < 0.25
    clock.begin(10.0, 5.0, 1)
    assert 4.0 < clock.budget(10) < 10.0
    clock.spend(9.0)
    clock.spend(4.0)  # one second of the main time, three of the period, which comes back
    assert clock.period_left == 5.0
    assert 4.0 < clock.budget(10) < 5.0


def test_clocks_by_hand():
    """Shares of a main time, and periods for one move (which come back whole) and for several."""
    clock = Clock()
    clock.begin(100.0)
    assert clock.budget(50) == pytest.approx(100 / 50 - LAG)
    assert clock.budget(3) == clock.budget(LEAST_MOVES) == pytest.approx(100 / LEAST_MOVES - LAG)
    clock.begin(20.0, 6.0, 3)
    assert clock.budget(40) == pytest.approx(20 / 40 + SAFE * 6 / 3 - LAG), "what comes later may be used as well"
    clock.begin(1.0, 5.0, 2)
    clock.spend(3.0)  # two seconds of the period, and one of its moves
    assert (clock.main, clock.period_left, clock.stones_left) == (0.0, 3.0, 1)
    assert clock.budget(40) == pytest.approx(SAFE * 3 - LAG)
    clock.spend(1.0)  # the last one: another period
    assert (clock.period_left, clock.stones_left) == (5.0, 2)
    assert clock.budget(40) == pytest.approx(SAFE * 5 / 2 - 0.02 * 5), "of little time a part is kept back"
    clock.begin(0.0, 5.0, 1)
    clock.left(4.0, 3)  # three periods of byo-yomi, each for one move
    assert clock.budget(40) == pytest.approx(SAFE * 4 - LAG)
    clock = Clock()
    clock.left(30.0, 5)  # a period that no settings told of
    assert clock.budget(40) == pytest.approx(SAFE * 30 / 5 - LAG)
    clock.begin(60.0)
    clock.left(20.0, 2)
    assert clock.budget(40) == pytest.approx(SAFE * 20 / 2 - LAG)


def test_little_time_is_thought_in_and_not_kept_back():
    """Without increments all of the last seconds were: each move was made at once."""
    for left in (3.0, 1.0):
        clock = Clock()
        clock.begin(left)
        assert 0.02 < clock.budget(20) < left / 20
        assert 0.02 < clock.budget(LEAST_MOVES) < left / LEAST_MOVES
        assert 0.02 < fischer(left, 0.0, 0, 20) < left / 20
        assert 0.02 < fischer(left, 0.0, 20, 20) < left / 20
    clock.begin(0.0, 2.0, 1)
    assert clock.budget(20) == pytest.approx(SAFE * 2 - LAG), "who comes too late here has lost"
    assert fischer(1.0, 10.0, 0, 20) == fischer(1.0, 0.0, 1, 20) == pytest.approx(SAFE - LAG)


@pytest.mark.slow
def test_another_game_begins_with_the_times_that_were_set():
    engine = GtpEngine(make("go5"), "go5", "random", write=lambda text: None)
    gtp.take(engine, "time_settings 60 5 2")
    for command in ("clear_board", "boardsize 5"):
        engine.clocks[0].spend(64.0)
        engine.clocks[1].left(3.0, 1)
        gtp.take(engine, command)
        assert [(clock.main, clock.period_left, clock.stones_left) for clock in engine.clocks] == [(60.0, 5.0, 2)] * 2
    engine.session.close()


def test_no_clock_is_ever_spent_whatever_is_told():
    draw = random.Random(1)
    for _ in range(300):
        clock, main = Clock(), draw.choice([0.0, 0.5, 5.0, 300.0])
        period, stones = draw.choice([(0.0, 0), (1.0, 1), (5.0, 1), (10.0, 25)])
        clock.begin(main, period, stones)
        left = main + period
        for ply in range(200):
            wanted = clock.budget(60 - ply)
            if clock.main is None:
                break
            in_period = clock.main <= 0
            have = clock.period_left if in_period else left
            assert wanted <= have
            if in_period and not stones:
                break
            clock.spend(wanted)
            left = clock.main + period
