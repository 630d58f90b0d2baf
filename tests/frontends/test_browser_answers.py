"""What the page answers, in a real browser: while another game is set up, and to clicks, files and keys."""

import contextlib
import threading

import pytest

pytest.importorskip("playwright.sync_api")
from browsing import WAIT, opened
from page_hands import Mouse, begin, moves, sit, touch
from playwright.sync_api import expect

from jaxgo.frontends.web import protocol, table

pytestmark = pytest.mark.slow


@pytest.fixture
def page(page):
    begin(page, "tictactoe")
    sit(page, "", "")
    return page


@contextlib.contextmanager
def slowly(kind):
    """Requests of a kind are answered at the end of the block only."""
    answer, go_on = table.HANDLERS[kind], threading.Event()

    def wait(sat, request):
        assert go_on.wait(WAIT / 1000)
        answer(sat, request)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(table.HANDLERS, kind, wait)
        try:
            yield
        finally:
            go_on.set()


def put_up(page, what):
    """Asks for another game, in one of the ways in which the page does so."""
    if what == "a game":
        page.select_option("#game", "go5")
    elif what == "a link":
        page.evaluate("location.hash = 'game=go5&moves=3'")
    else:
        file = {"name": "g.sgf", "mimeType": "", "buffer": b"(;GM[1]FF[4]SZ[5];B[cc])"}
        page.set_input_files("#file", file)


@pytest.mark.parametrize(
    ("what", "kind", "count"),
    [("a game", protocol.New, 0), ("a link", protocol.Setup, 1), ("a file", protocol.Load, 1)],
)
def test_a_game_that_is_set_up_is_told_and_the_one_before_takes_no_clicks(page, what, kind, count):
    touch(page, 4)
    with slowly(kind):
        put_up(page, what)
        expect(page.locator("#status")).to_contain_text("setting up")
        expect(page.locator("#undo")).to_be_disabled()
        Mouse().choose(page, None, [0])
        page.wait_for_timeout(500)  # the state of a search that has ended is told meanwhile
        expect(page.locator("#status")).to_contain_text("setting up")
    expect(page).to_have_title("jaxgo: go5")
    expect(moves(page)).to_have_count(count)
    expect(page.locator("#status")).to_contain_text("Your move")
    expect(page.locator("#error")).to_be_empty()


def test_a_game_that_is_refused_gives_the_one_before_back(page):
    touch(page, 4)
    page.set_input_files("#file", {"name": "g.sgf", "mimeType": "", "buffer": b"(;GM[1]FF[4]SZ[5];B[zz])"})
    expect(page.locator("#error")).not_to_be_empty()
    expect(page.locator("#status")).to_contain_text("Your move")
    touch(page, 0)
    page.locator("#new").click()  # the same game: no other board is told
    expect(moves(page)).to_have_count(0)
    touch(page, 0)


def test_what_the_page_says_of_clicks_is_seen_until_the_board_changes(page):
    touch(page, 4)
    said = page.locator("#said")
    Mouse().choose(page, None, [4])
    expect(said).to_have_text("no move at b2")
    assert said.bounding_box()["height"] > 10
    page.locator("#hint").click()
    expect(said).to_contain_text("hint: ")
    touch(page, 0)
    expect(said).to_be_empty()


def test_a_promotion_shows_its_choices_and_keeps_them(page):
    page.evaluate("location.hash = 'game=gardner&start=5/P3k/5/5/K4 w - - 0 1'")
    expect(page).to_have_title("jaxgo: gardner")
    page.locator("#moves-now option").first.wait_for(state="attached")
    board = page.locator("#board").bounding_box()
    page.set_viewport_size({"width": 1200, "height": int(board["y"] + board["height"])})  # its menu is out of sight
    for cell in (5, 0):
        Mouse().choose(page, None, [cell])
    choices = page.locator("#menu button")
    expect(choices).to_have_count(4)
    expect(choices.first).to_be_in_viewport()
    page.locator("#amount").fill("2")
    page.press("#amount", "Enter")  # the same position is told once more
    expect(page.locator("#unit")).to_have_value("seconds")
    expect(choices).to_have_count(4)
    choices.first.click()
    expect(moves(page)).to_have_count(1)
    expect(choices).to_have_count(0)


def test_a_double_click_plays_one_move_and_is_no_mistake(page):
    touch(page, 0)
    page.locator(".hit[data-cell='4']").dblclick(force=True)
    expect(moves(page)).to_have_count(2)
    page.fill("#move", "a1")
    page.evaluate("for (let i = 0; i < 2; i++) document.querySelector('#typed').requestSubmit()")
    expect(moves(page)).to_have_count(3)
    page.wait_for_timeout(300)  # for a refusal
    expect(page.locator("#error")).to_be_empty()
    page.locator("#undo").click()
    expect(moves(page)).to_have_count(2)
    touch(page, 8)


def test_a_file_is_dropped_on_the_page(page):
    page.evaluate(
        """(text) => {
          const files = new DataTransfer();
          files.items.add(new File([text], "g.sgf"));
          const look = { dataTransfer: files, bubbles: true, cancelable: true };
          const over = new DragEvent("dragover", look);
          document.querySelector("#board").dispatchEvent(over);
          if (over.defaultPrevented) document.querySelector("#board").dispatchEvent(new DragEvent("drop", look));
        }""",
        "(;GM[1]FF[4]SZ[5];B[cc])",
    )
    expect(page).to_have_title("jaxgo: go5")
    expect(moves(page)).to_have_count(1)


@pytest.mark.parametrize("game", ["slide8", "connect3d"])
def test_a_phone_held_sideways_scrolls_beside_a_board_that_is_dragged(browser, address, game):
    phone, faults = opened(browser, f"{address}#game={game}", 568, 320, has_touch=True)
    expect(phone).to_have_title(f"jaxgo: {game}")
    phone.locator("#moves-now option").first.wait_for(state="attached")
    phone.locator("#board").scroll_into_view_if_needed()
    wire = phone.context.new_cdp_session(phone)
    scrolled = []
    for across in (0.5, 0.04):  # of the board, which is turned or slid there, and of the margin
        box = phone.locator("#board").bounding_box()
        x, y = box["x"] + across * box["width"], box["y"] + 0.6 * box["height"]
        before = phone.evaluate("scrollY")
        for part in range(8):
            kind = "touchMove" if part else "touchStart"
            wire.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y - 15 * part}]})
            phone.wait_for_timeout(20)
        wire.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        phone.wait_for_timeout(200)
        scrolled.append(phone.evaluate("scrollY") - before)
    assert scrolled[0] == 0
    assert scrolled[1] > 40
    phone.close()
    assert not faults


def test_fields_show_what_is_so(page):
    page.select_option("#player1", "other")
    expect(page.locator("#player1-spec")).to_be_focused()
    page.press("#player1-spec", "Tab")
    expect(page.locator("#player1")).to_have_value("")
    expect(page.locator("#player1-spec")).to_be_hidden()
    page.fill("#amount", "-5")
    page.press("#amount", "Enter")
    expect(page.locator("#amount")).to_have_value("0")
    assert page.locator("#amount").get_attribute("max") == "120"
    page.fill("#move", "b22")
    page.press("#move", "Enter")
    expect(page.locator("#error")).not_to_be_empty()
    expect(page.locator("#move")).to_have_value("b22")  # to be mended
    page.fill("#move", "b2")
    page.press("#move", "Enter")
    expect(moves(page)).to_have_count(1)
    expect(page.locator("#move")).to_have_value("")


def test_moves_that_were_taken_back_are_listed_and_can_be_gone_to(page):
    touch(page, 4, 0, 8)
    page.locator("#first").click()
    every = page.locator("#moves button")
    expect(moves(page)).to_have_count(0)
    expect(every).to_have_text(["b2", "a3", "c1"])
    expect(page.locator("#moves [aria-current]")).to_have_count(0)
    every.nth(1).click()
    expect(moves(page)).to_have_count(2)
    expect(every).to_have_count(3)
    expect(page.locator("#moves [aria-current]")).to_have_text("a3")


def test_who_hears_the_board_is_told_its_keys(page):
    page.locator("#board").focus()
    wire = page.context.new_cdp_session(page)
    wire.send("Accessibility.enable")
    nodes = wire.send("Accessibility.getFullAXTree")["nodes"]
    board = next(node for node in nodes if node.get("role", {}).get("value") == "application")
    assert "arrows walk, Enter chooses" in board["description"]["value"]
    page.locator("#keys summary").click()
    expect(page.locator("#keys p")).to_contain_text("s stop")
