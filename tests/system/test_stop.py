"""Stopping gently."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

from jaxgo.system.stop import GRACE, TOGETHER, Stop, at_once


@contextlib.contextmanager
def started(program):
    """A process that has said `in`: it is where signals are to reach it."""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"in\n"
        yield child


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_and_the_second_insists(which):
    told = []
    before = signal.getsignal(which)
    with Stop(lambda: told.append(1)) as stop:
        assert not stop()
        os.kill(os.getpid(), which)
        assert stop()
        assert told == [1]
        assert stop.status == {signal.SIGINT: 130, signal.SIGTERM: 143}[which]
        time.sleep(TOGETHER)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), which)
    assert signal.getsignal(which) is before


def test_a_signal_within_a_write_to_the_same_stream_is_heard():
    """Python lets no handler write there then; the word is left out, and what was asked is done."""

    def reentrant():
        raise RuntimeError("reentrant call inside <_io.BufferedWriter name='<stdout>'>")

    with Stop(reentrant) as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop()


@pytest.mark.slow
def test_signals_that_come_together_are_one_request():
    """As `timeout` sends them: what is saved then has all the time that it needs. On a busy machine they come later."""
    assert 0.1 <= TOGETHER <= 1
    program = (
        "import time\nfrom jaxgo.system import stop as signals\nfrom jaxgo.system.stop import GRACE, Stop\n"
        "signals.TOGETHER = 30\nwith Stop() as stop:\n    print('in', flush=True)\n"
        "    while not stop():\n        time.sleep(0.01)\n"
        "    end = time.monotonic() + GRACE + 1\n"
        "    while time.monotonic() < end:\n        time.sleep(0.01)\n"
        "    print('saved')\n"
    )
    with started(program) as child:
        for which in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT):
            child.send_signal(which)
            time.sleep(0.02)
        assert child.wait(60) == 0
        assert child.stdout is not None
        assert child.stdout.read() == b"saved\n"


@pytest.mark.slow
def test_the_second_insists_where_python_does_not_hear():
    """As while XLA compiles: a call that lets other threads run, and returns to Python after minutes."""
    program = (
        "import hashlib\nfrom jaxgo.system.stop import Stop\nwith Stop():\n    print('in', flush=True)\n"
        "    hashlib.pbkdf2_hmac('sha256', b'a', b'b', 2**31 - 1)\n"
    )
    with started(program) as child:
        child.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(GRACE + 1)
        child.send_signal(signal.SIGTERM)
        assert child.wait(30) == 128 + signal.SIGTERM
        assert child.stderr is not None
        assert b"left at once" in child.stderr.read()


def test_ctrl_c_ends_a_program_that_begins_even_where_an_exception_would_be_lost():
    """As in an import that goes on without what failed, or in a callback of JAX."""
    program = (
        "import signal, time\nfrom jaxgo.system.stop import at_once\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "with at_once():\n    print('in', flush=True)\n    try:\n        time.sleep(60)\n"
        "    except BaseException:\n        time.sleep(60)\n"
    )
    with started(program) as child:
        child.send_signal(signal.SIGINT)
        assert child.wait(30) == 130
        assert child.stderr is not None
        assert child.stderr.read() == b"jaxgo: stopped\n"


@pytest.mark.parametrize("own", [signal.SIG_IGN, lambda number, frame: None], ids=["ignored", "handled"])
def test_who_listens_already_is_left_alone(own):
    before = signal.signal(signal.SIGINT, own)
    try:
        with at_once():
            assert signal.getsignal(signal.SIGINT) is own
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with at_once():
            assert signal.getsignal(signal.SIGINT) not in (own, signal.default_int_handler)
            with Stop() as stop:
                os.kill(os.getpid(), signal.SIGINT)
                assert stop()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
