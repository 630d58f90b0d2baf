"""What the tests of front ends share."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def resident() -> Callable[[], int]:
    """Bytes of memory that this process has."""
    pages = Path("/proc/self/statm")
    if not pages.exists():
        pytest.skip("looks at memory in /proc")
    return lambda: int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(scope="module")
def browser():
    """A headless browser."""
    sync_api = pytest.importorskip("playwright.sync_api")
    from browsing import CHROMIUM, WAIT

    if not CHROMIUM:
        pytest.skip("no chromium on this machine (apt-get install chromium)")
    sync_api.expect.set_options(timeout=WAIT)

    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def app():
    """The page's server, which begins with tic-tac-toe and offers one player."""
    pytest.importorskip("starlette")
    from jaxgo.frontends.web import server
    from jaxgo.frontends.web.offers import Offers
    from jaxgo.frontends.web.shared import Shared

    return server.create(Shared(Offers({}, ("random",))), "tictactoe")


@pytest.fixture(scope="module")
def client(app):
    """The page's server, without a network."""
    testclient = pytest.importorskip("starlette.testclient")
    from visitor import HOME

    with testclient.TestClient(app, base_url=HOME) as client:
        yield client


@pytest.fixture(scope="module")
def address(app):
    """Where the page's server is."""
    from browsing import served

    with served(app) as at:
        yield at


@pytest.fixture
def page(browser, address):
    """The page in a browser, with humans in both seats; its scripts may tell no error."""
    from browsing import opened
    from page_hands import sit

    page, faults = opened(browser, address, 1200, 900)
    sit(page, "", "")
    yield page
    page.close()
    assert not faults
