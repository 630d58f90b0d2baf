"""What is due in a run by a clock of our own, on one host and on several."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgo.selfplay import Tally
from jaxgo.system import devices
from jaxgo.training import due
from jaxgo.training.config import Budget, JudgeConfig, TrainConfig
from jaxgo.training.due import Due, Word
from jaxgo.training.trainer import _share

CONFIG = TrainConfig(game="tictactoe", budget=Budget(seconds=100.0), judge=JudgeConfig(every=10.0), save_every=25.0)


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(due.time, "monotonic", lambda: now[0])
    return now


def told(some: Due) -> tuple[float, bool, bool, bool, bool]:
    return some.seconds, some.judgement, some.save, some.spent(0) >= 1, some.stop


def test_one_host_goes_by_its_own_clock(clock):
    asked = [False]
    some = Due(CONFIG, lambda: asked[0], 50.0)
    clock[0] += 500  # it compiles
    assert not some.started
    assert told(some) == (50.0, False, False, False, False)
    some.start(clock[0] - 1)
    assert some.started
    assert told(some) == (51.0, False, False, False, False)
    clock[0] += 9
    assert told(some) == (60.0, True, False, False, False)
    clock[0] += 3
    some.judged()
    assert told(some) == (63.0, False, False, False, False)
    clock[0] += 12
    assert told(some) == (75.0, True, True, False, False)
    some.saved()
    assert told(some) == (75.0, True, False, False, False)
    clock[0] += 24.9
    assert told(some)[2:4] == (False, False)
    clock[0] += 0.1
    asked[0] = True
    assert told(some)[2:] == (True, True, True)


def test_sittings_that_are_shorter_than_the_interval_judge_all_the_same(clock):
    some = Due(CONFIG, lambda: False, 58.0)
    some.start(clock[0])
    clock[0] += 1
    assert not some.judgement
    clock[0] += 1
    assert some.judgement


def test_nothing_is_due_that_nobody_wants(clock):
    never = TrainConfig(game="tictactoe", budget=Budget(seconds=0.0), judge=JudgeConfig(every=0.0), save_every=0.0)
    some = Due(never, lambda: False, 0.0)
    some.start(clock[0])
    clock[0] += 10**6
    assert told(some) == (1e6, False, False, False, False)


@pytest.mark.parametrize(
    ("iterations", "seconds", "shares"),
    [(0, 100.0, (0.5, 0.75, 1.0)), (8, 0.0, (0.5, 0.5, 0.5)), (8, 200.0, (0.5, 0.5, 0.6)), (0, 0.0, (0.0, 0.0, 0.0))],
)
def test_of_two_budgets_the_one_that_ends_first_counts(clock, iterations, seconds, shares):
    some = Due(TrainConfig(game="tictactoe", budget=Budget(iterations, seconds)), lambda: False, 50.0)
    some.start(clock[0])
    seen = []
    for _ in shares:
        seen.append(some.spent(4))
        clock[0] += 25 if len(seen) == 1 else 45
    assert seen == list(shares)


def test_several_hosts_go_by_what_they_heard(clock, monkeypatch):
    """Two hosts with clocks that differ: what is due is due on both with the same word."""
    monkeypatch.setattr(devices, "several_hosts", lambda: True)
    first, second = (Due(CONFIG, lambda: False, 50.0) for _ in range(2))
    first.start(clock[0])
    second.start(clock[0] + 7)
    clock[0] += 12
    assert first.say() == Word(False, 62.0, 1, 0)
    assert second.say() == Word(False, 55.0, 0, 0)
    assert told(first) == told(second) == (50.0, False, False, False, False), "nobody has heard anything"
    word = Word(*map(float, first.say()))
    for host in (first, second):
        host.hear(word)
        assert told(host) == (62.0, True, False, False, False)
        host.judged()
        assert told(host) == (62.0, False, False, False, False), "the same word is not heard twice"
        host.hear(Word(stop=1.0, seconds=100.0, judgements=1.0, saves=1.0))
        assert told(host) == (100.0, False, True, True, True)


def test_any_host_may_stop_and_the_first_one_says_the_rest():
    """A row of words for each device, as if each were another host's."""
    said = [Word(0.0, 62.0, 1.0, 0.0), Word(1.0, 55.0, 7.0, 9.0)]
    mesh = devices.make_mesh()
    tally = Tally(*(jnp.arange(2, dtype=jnp.float32) + number for number in range(len(Tally._fields))))
    sums, word = jax.device_get(_share(mesh, *jax.device_put((tally, np.array(said, np.float32)), devices.split(mesh))))
    assert Word(*map(float, word)) == Word(1.0, 62.0, 1.0, 0.0)
    assert [float(x) for x in sums] == [2 * number + 1 for number in range(len(Tally._fields))]
