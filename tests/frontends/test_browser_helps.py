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


def places(page):
    """Where the cells are, and where the labels: the middle of each on the screen."""
    middle = "const { x, y, width, height } = one.getBoundingClientRect(); const at = [x + width / 2, y + height / 2];"
    cells, names = (
        page.locator(which).evaluate_all(f"all => all.map((one) => {{ {middle} return [{word}, at]; }})")
        for which, word in ((".hit", "one.dataset.cell"), (".flat .name", "one.textContent"))
    )
    return dict(cells), dict(names)


@pytest.mark.parametrize("name", ["dodgem3", "hex5"])
def test_a_board_is_turned_with_its_names_and_its_players(page, name):
    game = GAMES[name]
    begin(page, name)
    cells, names = places(page)
    height, width = game.picture
    page.keyboard.press("t")
    expect(page.locator("#turn")).to_have_attribute("aria-pressed", "true")
    turned, labels = places(page)
    assert set(labels) == set(names)
    for cell, place in cells.items():
        opposite = str(height * width - 1 - int(cell))
        assert turned[opposite] == pytest.approx(place, abs=1.5), cell
    for label, (x, y) in labels.items():  # beside its row, below its column: where that of the opposite one was
        opposite = next(other for other, place in names.items() if place == pytest.approx([x, y], abs=3))
        order = sorted(found for found in names if found.isdigit() == label.isdigit())
        assert order.index(opposite) == len(order) - 1 - order.index(label)
    strips = page.locator(".seat").evaluate_all("all => all.map((one) => [one.id, one.getBoundingClientRect().y])")
    assert [name for name, _ in sorted(strips, key=lambda strip: strip[1])] == ["seat0", "seat1"]


def test_a_turned_board_is_played_by_mouse_and_keys_and_stays_turned(page):
    begin(page, "tictactoe")
    page.locator("#turn").click()
    touch(page, 0)
    assert moves(page).all_inner_texts() == ["a3"]
    last = page.locator("#board .last .last").bounding_box()
    hit = page.locator(".hit[data-cell='0']").bounding_box()
    assert hit["x"] < last["x"] < hit["x"] + hit["width"]
    assert hit["y"] < last["y"] < hit["y"] + hit["height"]
    page.locator("#board").blur()
    page.locator("#board").focus()
    for key in ("ArrowLeft", "ArrowUp", "Enter"):  # the corner of a3 is at the bottom right now
        page.keyboard.press(key)
    expect(moves(page)).to_have_count(2)
    assert moves(page).all_inner_texts() == ["a3", "b2"]
    page.locator("#new").click()
    expect(moves(page)).to_have_count(0)
    expect(page.locator("#turn")).to_have_attribute("aria-pressed", "true")
    page.reload()
    expect(page.locator("#moves-now option")).to_have_count(9)  # a click on what is there before would be lost
    expect(page.locator("#turn")).to_have_attribute("aria-pressed", "true")
    touch(page, 8)
    assert moves(page).all_inner_texts() == ["c1"]
    begin(page, "connect4")  # which has no other side
    expect(page.locator("#turn")).to_be_hidden()
    begin(page, "tictactoe")
    expect(page.locator("#turn")).to_have_attribute("aria-pressed", "false")


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
