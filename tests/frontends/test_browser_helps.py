"""What the page has for who does not know the game, sits at the other side, or uses keys: in a real browser."""

import re

import pytest

pytest.importorskip("playwright", reason="the tests of the page in a browser need playwright")
from browsing import opened
from playwright import sync_api

from jaxgo.frontends.web import server

expect = sync_api.expect
pytestmark = pytest.mark.slow


def test_a_page_too_many_says_why_and_comes_in_when_there_is_room(browser, address, monkeypatch):
    monkeypatch.setattr(server, "SOCKETS", 1)
    first, faults = opened(browser, address, 800, 600)
    expect(first).to_have_title(re.compile("tictactoe"))
    second, more = opened(browser, address, 800, 600)
    expect(second.locator("#link")).to_have_text(server.FULL)
    first.close()
    expect(second).to_have_title(re.compile("tictactoe"))
    expect(second.locator("#link")).to_have_text("")
    second.close()
    assert not faults + more
