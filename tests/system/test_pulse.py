"""Signs of life of hosts: which one is lost is said, and ends the process; who is done is not missed."""

import threading
import time

import jax
import pytest

from jaxgo.core.errors import UsageError
from jaxgo.system import pulse
from jaxgo.system.hosts import shared_store
from jaxgo.system.pulse import LEFT, PLACE, SILENT, Pulse
from jaxgo.system.stop import TRY_AGAIN


class Hosts:
    """What the hosts keep together, seen by the first of three; the others speak when a test says so."""

    def __init__(self):
        self.signs, self.reached = {}, True

    def key_value_set(self, key, value, allow_overwrite=False):
        if not self.reached:
            raise jax.errors.JaxRuntimeError("UNAVAILABLE: failed to connect to all addresses")
        assert allow_overwrite or key not in self.signs
        self.signs[key] = value

    def key_value_dir_get(self, key):
        return [item for item in self.signs.items() if item[0].startswith(key)]


@pytest.fixture
def hosts():
    return Hosts()


@pytest.fixture
def clock():
    return [100.0]


@pytest.fixture
def told():
    return []


@pytest.fixture
def mine(hosts, clock, told):
    return Pulse(hosts, told.append, lambda: clock[0], told.append)


def pass_seconds(mine, hosts, clock, seconds, speaking):
    """So many seconds in which these other hosts give signs."""
    for _ in range(round(seconds)):
        clock[0] += 1
        for host in speaking:
            hosts.signs[f"{PLACE}/{host}"] = str(clock[0])
        if hosts.reached:
            mine.beat()
        mine.look()


def test_hosts_that_speak_stay_for_ever(mine, hosts, clock, told):
    pass_seconds(mine, hosts, clock, 10 * SILENT, (1, 2))
    assert told == []


def test_a_host_that_is_silent_ends_this_one_by_its_name(mine, hosts, clock, told):
    pass_seconds(mine, hosts, clock, 50, (1, 2))
    pass_seconds(mine, hosts, clock, SILENT - 1, (1,))
    assert told == []
    pass_seconds(mine, hosts, clock, 1, (1,))
    said, status = told
    assert said.startswith(f"host 2 has given no sign of life for {SILENT:.0f} seconds: leaving")
    assert status == TRY_AGAIN


def test_the_first_host_is_lost_where_nobody_answers(mine, hosts, clock, told):
    pass_seconds(mine, hosts, clock, 50, (1, 2))
    hosts.reached = False
    with pytest.raises(jax.errors.JaxRuntimeError):
        mine.beat()
    pass_seconds(mine, hosts, clock, SILENT, ())
    assert told[0].startswith("the first host has given no sign")
    assert told[1] == TRY_AGAIN


def test_who_is_done_and_who_has_not_begun_are_not_missed(mine, hosts, clock, told):
    pass_seconds(mine, hosts, clock, 5, (1,))
    hosts.signs[f"{PLACE}/1"] = LEFT
    pass_seconds(mine, hosts, clock, 5 * SILENT, ())
    assert told == []


def test_a_short_sleep_of_this_host_is_no_fault_of_the_others(mine, hosts, clock, told):
    pass_seconds(mine, hosts, clock, 50, (1, 2))
    clock[0] += SILENT - 2
    mine.look()
    pass_seconds(mine, hosts, clock, 50, (1, 2))
    assert told == []


def test_a_host_that_stood_still_says_so_itself(mine, hosts, clock, told):
    pass_seconds(mine, hosts, clock, 50, (1, 2))
    clock[0] += SILENT
    mine.look()
    assert told[0].startswith(f"this host stood still for {SILENT:.0f} seconds, and the others have left it: leaving")
    assert told[1] == TRY_AGAIN


def test_threads_give_signs_and_listen_until_the_end(hosts, clock, monkeypatch):
    """The one that gives them may hang; the other one ends the process. A slow machine does no harm here."""
    monkeypatch.setattr(pulse, "BEAT", 0.001)
    left, end = threading.Event(), time.monotonic() + 60
    with Pulse(hosts, lambda sentence: None, lambda: clock[0], lambda status: left.set()):
        while int(hosts.signs.get(f"{PLACE}/0", "0")) < 3:
            assert not left.wait(0.001)
            assert time.monotonic() < end
        hosts.reached = False
        while not left.wait(0.01):
            assert time.monotonic() < end
            clock[0] += 1
        hosts.reached = True
    assert hosts.signs[f"{PLACE}/0"] == LEFT


def test_the_last_sign_comes_after_one_that_was_under_way(hosts, mine):
    begun, go_on, usual = threading.Event(), threading.Event(), hosts.key_value_set

    def slow(key, value, allow_overwrite):
        if value != LEFT:
            begun.set()
            assert go_on.wait(60)
        usual(key, value, allow_overwrite)

    hosts.key_value_set = slow
    one = threading.Thread(target=mine.beat)
    one.start()
    assert begun.wait(60)
    mine._over.set()
    last = threading.Thread(target=mine.beat, args=(LEFT,))
    last.start()
    last.join(0.2)  # it waits for the other
    go_on.set()
    one.join(60)
    last.join(60)
    assert hosts.signs[f"{PLACE}/0"] == LEFT
    mine.beat()
    assert hosts.signs[f"{PLACE}/0"] == LEFT


@pytest.mark.parametrize(
    "fault",
    [
        jax.errors.JaxRuntimeError("connection closed by peer"),
        # of a collective that is begun when the other host is gone already: JAX aborted behind its traceback
        ValueError("UNKNOWN: Gloo all-reduce failed: Connection reset by peer"),
    ],
)
def test_a_program_that_fails_waits_for_the_reason(fault, hosts, monkeypatch):
    monkeypatch.setattr(pulse, "BEAT", 0.001)
    monkeypatch.setattr(pulse, "SILENT", 60.0)  # of a clock that runs a thousand times as fast
    hosts.signs[f"{PLACE}/1"] = "7"
    left = []

    def leave(status):  # a process would be gone; here the wait is over
        left.append(status)
        mine._over.set()

    mine = Pulse(hosts, lambda sentence: None, lambda: 1000 * time.monotonic(), leave)
    with pytest.raises(type(fault)), mine:
        raise fault
    assert left == [TRY_AGAIN]
    assert hosts.signs[f"{PLACE}/0"] != LEFT, "it did not end well"


def test_a_host_that_cannot_go_on_ends_the_others_with_its_words(hosts, clock, told, monkeypatch):
    """It was missed after 25 seconds, or not at all where it had given no sign yet: they waited for five minutes."""
    monkeypatch.setattr(pulse, "BEAT", 0.001)
    monkeypatch.setattr(jax, "process_index", lambda: 1)
    with pytest.raises(UsageError), Pulse(hosts, pytest.fail, lambda: clock[0], pytest.fail):
        raise UsageError("'runs/go7' is no run folder")
    assert hosts.signs[f"{PLACE}/1"] == "failed: 'runs/go7' is no run folder"
    monkeypatch.undo()
    other = Pulse(hosts, told.append, lambda: clock[0], told.append)
    other.look()
    assert told == []
    other.beat()
    other.look()
    assert told == ["host 1: 'runs/go7' is no run folder; all hosts leave", pulse.REFUSED]


def test_one_host_alone_has_no_pulse(monkeypatch):
    monkeypatch.setattr(pulse, "SILENT", 0.0)
    before = threading.active_count()
    assert shared_store() is None
    with Pulse(shared_store(), leave=pytest.fail):
        assert threading.active_count() == before
