"""What the page has for who does not know the game, sits at the other side, or uses keys: in a real browser."""

import re

import pytest

pytest.importorskip("playwright", reason="the tests of the page in a browser need playwright")
from browsing import opened
from page_hands import begin, moves, touch
from playwright import sync_api

from jaxgo.frontends.web import server

expect = sync_api.expect
pytestmark = pytest.mark.slow


def test_arrows_are_taken_where_they_are_for_the_game(page):
    begin(page, "tictactoe")
    touch(page, 4)
    page.keyboard.press("ArrowLeft")  # behind a click on the board
    expect(moves(page)).to_have_count(0)
    page.keyboard.press("ArrowRight")
    expect(moves(page)).to_have_count(1)
    page.locator("#move").focus()
    page.keyboard.type("b3")
    for key in ("ArrowLeft", "Home", "End", "ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator("#move")).to_have_value("b3")
    taken = """(key) => {
      const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
      document.activeElement.dispatchEvent(event);
      return event.defaultPrevented;
    }"""
    page.locator("#analyse").focus()
    assert not page.evaluate(taken, "End"), "scrolls the page"
    assert not page.evaluate(taken, "ArrowRight"), "there is nothing to go on to"
    page.locator("#files summary").focus()
    assert not page.evaluate(taken, "Home")
    expect(moves(page)).to_have_count(1)
    page.evaluate("document.querySelector('#roots').style.width = '200rem'")
    page.locator("#roots").evaluate("(one) => { one.parentElement.tabIndex = 0; one.parentElement.focus(); }")
    assert not page.evaluate(taken, "ArrowLeft"), "scrolls the table sideways"
    page.locator("#hint").focus()
    assert page.evaluate(taken, "Home")
    expect(moves(page)).to_have_count(0)


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
