"""Stopping gently."""

import os
import signal

import pytest

from jaxgo.system.stop import Stop


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
