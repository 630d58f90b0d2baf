"""Stopping gently."""

import os
import signal
import subprocess
import sys

import pytest

from jaxgo.system.stop import GRACE, Stop


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
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), which)
    assert signal.getsignal(which) is before


def test_the_second_insists_where_python_does_not_hear():
    """As while XLA compiles: a call that lets other threads run, and returns to Python after minutes."""
    program = (
        "import hashlib\nfrom jaxgo.system.stop import Stop\nwith Stop():\n    print('in', flush=True)\n"
        "    hashlib.pbkdf2_hmac('sha256', b'a', b'b', 2**31 - 1)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"in\n"
        child.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(GRACE + 1)
        child.send_signal(signal.SIGTERM)
        assert child.wait(30) == 128 + signal.SIGTERM
        assert child.stderr is not None
        assert b"left at once" in child.stderr.read()
