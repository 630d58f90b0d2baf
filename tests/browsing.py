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


@contextlib.contextmanager
def served(app, port=0):
    """The address of an application while it is served."""
    config = listen.config(app)
    config.port = port
    running = uvicorn.Server(config)
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


def opened(browser, address, width, height, **more):
    """A page of this size at an address, and the errors that its scripts have told so far."""
    page = browser.new_page(viewport={"width": width, "height": height}, **more)
    page.set_default_timeout(WAIT)
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.goto(address)
    return page, faults
