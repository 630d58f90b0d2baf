"""What the page has for who does not know the game, sits at the other side, or uses keys: in a real browser."""

import re

import pytest

pytest.importorskip("playwright", reason="the tests of the page in a browser need playwright")
from browsing import opened
from page_hands import begin, moves, touch
from playwright import sync_api

from jaxgo.frontends.web import server
from jaxgo.games import GAMES
from jaxgo.ui import how_to_play

expect = sync_api.expect
pytestmark = pytest.mark.slow


def test_the_rules_open_and_close_by_keys(page):
    begin(page, "dodgem3")
    words = page.locator("#rules")
    for opener in ("?", "Enter"):
        if opener == "Enter":
            page.locator("#rules-open").focus()
        page.keyboard.press(opener)
        expect(words).to_be_visible()
        expect(words).to_contain_text("How to play dodgem3")
        expect(words).to_contain_text(how_to_play.rules(GAMES["dodgem3"]))
        assert words.locator("code").all_inner_texts() == ["c1-forward", "c1-left", "c1-right"]
        page.keyboard.press("ArrowLeft")  # what is behind it hears no key
        page.keyboard.press("n")
        page.keyboard.press("Escape")
        expect(words).to_be_hidden()
    expect(page.locator("#rules-open")).to_be_focused()
    page.locator("#rules-open").click()
    page.locator("#rules-close").click()
    expect(words).to_be_hidden()


def test_the_rules_fit_a_phone(browser, address):
    page, faults = opened(browser, f"{address}#game=kamisado-match", 360, 640)
    expect(page).to_have_title("jaxgo: kamisado-match")
    page.locator("#rules-open").click()
    box = page.locator("#rules").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360
    assert box["height"] <= 640
    page.locator("#rules-close").scroll_into_view_if_needed()
    page.locator("#rules-close").click()
    page.close()
    assert not faults


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
