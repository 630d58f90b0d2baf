"""What the page answers, in a real browser: while another game is set up, and to clicks, files and keys."""

import contextlib
import threading

import pytest

pytest.importorskip("playwright.sync_api")
from browsing import WAIT, needs_browser
from page_hands import Mouse, begin, moves, sit
from playwright.sync_api import expect

from jaxgo.frontends.web import protocol, table

pytestmark = [needs_browser, pytest.mark.slow]


@pytest.fixture
def page(page):
    begin(page, "tictactoe")
    sit(page, "", "")
    return page


def touch(page, *cells):
    for cell in cells:
        before = moves(page).count()
        Mouse().choose(page, None, [cell])
        expect(moves(page)).to_have_count(before + 1)


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
