"""A server of the page and a browser for the tests that look at it."""

import contextlib
import os
import shutil
import threading
import time

import pytest

pytest.importorskip("uvicorn")
import uvicorn

from jaxgo.frontends.web import listen

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
WAIT = 60_000  # milliseconds; machines of tests are busy
needs_browser = pytest.mark.skipif(not CHROMIUM, reason="no chromium on this machine (apt-get install chromium)")


@contextlib.contextmanager
def served(app):
    """The address of an application while it is served."""
    running = uvicorn.Server(listen.config(app))
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    until = time.monotonic() + 30
    while not running.started and time.monotonic() < until:
        time.sleep(0.05)
    try:
        yield f"http://localhost:{running.servers[0].sockets[0].getsockname()[1]}/"
    finally:
        running.should_exit = True
        thread.join(10)
