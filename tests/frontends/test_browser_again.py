"""A page in a real browser that is read or connected again: it goes on with its game, wherever the player looked."""

import asyncio
import json
import re
import threading
import time

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api")
from browsing import WAIT, opened, served
from page_hands import Mouse, begin, moves, sit, touch
from playwright.sync_api import expect
from starlette.websockets import WebSocket

from jaxgo.frontends import session
from jaxgo.frontends.web import protocol, server, table
from jaxgo.frontends.web.offers import Offers
from jaxgo.frontends.web.shared import Shared

pytestmark = pytest.mark.slow


@pytest.fixture
def page(page):
    begin(page, "tictactoe")
    return page


def test_a_page_that_is_read_or_connected_again_goes_on_with_its_game(browser, monkeypatch):
    app = server.create(Shared(Offers({}, ("random",))), "tictactoe")
    with served(app) as address:
        page, faults = opened(browser, address, 1200, 900)
        begin(page, "tictactoe")
        sit(page, "", "")
        touch(page, 4, 0, 8)
        page.reload()
        expect(moves(page)).to_have_count(3)
        expect(page.locator("#seat1 b")).to_have_text("you")
        page.locator("#files summary").click()
        page.locator("#copy").click()
        linked = f"{address}#game=tictactoe&moves=4.0.8"
        expect(page).to_have_url(linked)
        port = int(address.rstrip("/").rpartition(":")[2])
    expect(page.locator("#link")).to_contain_text("not connected")
    Mouse().choose(page, None, [1])
    expect(page.locator("#error")).to_contain_text("not connected")
    page.select_option("#game", "go5")
    expect(page.locator("#game")).to_have_value("tictactoe")
    put_up = table.HANDLERS[protocol.Setup]
    # as on a busy machine: no button takes a click until the game is there again
    monkeypatch.setitem(table.HANDLERS, protocol.Setup, lambda *asked: (time.sleep(1), put_up(*asked)))
    with served(app, port):
        expect(page.locator("#link")).to_be_empty()
        expect(page.locator("#error")).to_be_empty()
        assert page.url == linked
        page.locator("#back").click()
        expect(moves(page)).to_have_count(2)  # though its number may be that of a position from before
        page.locator("#on").click()
        expect(moves(page)).to_have_count(3)
        touch(page, 1)
        page.locator("#new").click()
        expect(moves(page)).to_have_count(0)
        page.reload()
        expect(page.locator("#moves-now option")).to_have_count(9)
        expect(moves(page)).to_have_count(0)
        touch(page, 4)
        page.locator("#resign").click()
        expect(page.locator("#status")).to_contain_text("resigned")
        page.reload()
        expect(page.locator("#status")).to_contain_text("first wins: second resigned")
        expect(moves(page)).to_have_count(1)
        assert not [fault for fault in faults if "WebSocket" not in fault]
        page.close()


def test_a_page_that_is_read_again_while_its_game_is_put_up_keeps_it(page, monkeypatch):
    touch(page, 4, 0)
    put_up, go_on, asked = table.HANDLERS[protocol.Setup], threading.Event(), threading.Event()

    def slowly(sat, request):
        asked.set()
        assert go_on.wait(WAIT / 1000)
        put_up(sat, request)

    monkeypatch.setitem(table.HANDLERS, protocol.Setup, slowly)
    heard = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda message: heard.append(message)))
    try:
        page.reload()
        assert asked.wait(WAIT / 1000)
        while not any('"position"' in str(message)[:40] for message in heard):
            page.wait_for_timeout(20)
        expect(page.locator("#moves-now option")).to_have_count(0)  # a click on what is there before would be lost
        page.reload()
    finally:
        go_on.set()
    expect(moves(page)).to_have_count(2)


def test_moves_that_were_taken_back_are_there_again_and_so_is_who_gave_up(page):
    touch(page, 4, 0, 8)
    page.locator("#resign").click()
    expect(page.locator("#status")).to_contain_text("first wins: second resigned")
    page.press("body", "ArrowLeft")
    page.press("body", "ArrowLeft")
    expect(moves(page)).to_have_count(1)
    page.reload()
    expect(moves(page)).to_have_count(1)
    expect(page.locator("#status")).to_contain_text("Your move")
    page.press("body", "End")
    expect(moves(page)).to_have_count(3)
    expect(page.locator("#status")).to_contain_text("first wins: second resigned")


def test_a_limit_and_game_after_game_are_kept(page):
    page.fill("#amount", "7")
    page.press("#amount", "Enter")
    expect(page.locator("#unit")).to_have_value("seconds")
    page.fill("#delay", "20")
    page.locator("#loop").check()
    touch(page, 4)
    page.reload()
    expect(moves(page)).to_have_count(1)
    expect(page.locator("#amount")).to_have_value("7")
    expect(page.locator("#loop")).to_be_checked()
    expect(page.locator("#delay")).to_have_value("20")


def test_who_comes_back_to_the_page_finds_boxes_that_tell_what_is_drawn(page):
    """Browsers tick again what was ticked when the page was left."""
    page.locator("#legal").check()
    page.locator("#line").uncheck()
    page.select_option("#overlay", "prior")
    page.goto("about:blank")
    page.go_back()
    page.locator("#moves-now option").first.wait_for(state="attached")
    expect(page.locator("#legal")).not_to_be_checked()
    expect(page.locator("#line")).to_be_checked()
    expect(page.locator("#overlay")).to_have_value("share")


def test_a_file_that_is_saved_behind_a_page_that_was_read_again_keeps_who_played_it(page):
    def saved():
        with page.expect_download() as download:
            page.locator("[data-save=json]").click()
        return json.loads(download.value.path().read_text())

    told = {"jaxgo": 1, "game": "tictactoe", "moves": ["b2", "a1"], "players": ["Ada", "Ben"], "comments": {"1": "ah"}}
    page.set_input_files("#file", {"name": "g.json", "mimeType": "", "buffer": json.dumps(told).encode()})
    expect(moves(page)).to_have_count(2)
    page.locator("#back").click()
    expect(moves(page)).to_have_count(1)
    for _ in range(2):
        page.reload()
        expect(moves(page)).to_have_count(1)
    page.set_input_files("#file", {"name": "g.json", "mimeType": "", "buffer": b"no game"})
    expect(page.locator("#error")).not_to_be_empty()
    page.reload()
    page.locator("#files summary").click()
    page.locator("#on").click()
    expect(moves(page)).to_have_count(2)
    assert {key: saved()[key] for key in ("players", "comments")} == {key: told[key] for key in ("players", "comments")}
    touch(page, 8)
    page.reload()
    expect(moves(page)).to_have_count(3)
    page.locator("#files summary").click()
    assert saved()["players"] == ["human", "human"]
    bare = told | {"moves": [], "comments": {}}
    page.set_input_files("#file", {"name": "g.json", "mimeType": "", "buffer": json.dumps(bare).encode()})
    expect(moves(page)).to_have_count(0)
    page.locator("#resign").click()
    expect(page.locator("#banner")).to_be_visible()
    page.press("body", "u")
    expect(page.locator("#banner")).to_be_hidden()
    page.reload()
    page.locator("#files summary").click()
    page.locator("#moves-now option").first.wait_for(state="attached")
    assert saved()["players"] == told["players"]


def test_a_finished_game_that_was_put_up_stays_in_game_after_game_and_one_that_was_played_does_not(page):
    page.locator("#files summary").click()
    page.fill("#text", "XXX/OO./... 1")
    page.locator("#position button").click()
    expect(page.locator("#banner")).to_be_visible()
    page.locator("#loop").check()
    page.fill("#delay", "0")
    page.press("#delay", "Enter")
    # the tab keeps what the server has answered: a page that is read again before that knows of no box
    page.wait_for_function("() => JSON.parse(sessionStorage.getItem('game') ?? '{}').loop?.on")
    page.reload()
    expect(page.locator("#loop")).to_be_checked()
    expect(page.locator("#banner")).to_be_visible()
    page.wait_for_timeout(500)
    expect(page.locator("#banner")).to_be_visible()
    page.locator("#new").click()
    page.fill("#delay", "4")
    page.press("#delay", "Enter")
    touch(page, 4, 0, 3, 1, 5)
    page.reload()
    expect(page.locator("#banner")).to_be_visible()
    expect(page.locator("#banner")).to_be_hidden()


def test_a_game_outlives_a_player_that_is_on_offer_no_more(page):
    sit(page, "", "uct:8")
    page.locator("#stop").click()
    sit(page, "", "")
    touch(page, 4, 0)
    page.evaluate(
        """() => {
          const kept = JSON.parse(sessionStorage.getItem("game"));
          kept.setup.players[1] = "gumbel:8@gone";
          sessionStorage.setItem("game", JSON.stringify(kept));
        }"""
    )
    page.reload()
    expect(moves(page)).to_have_count(2)
    expect(page.locator("#error")).to_contain_text("'gumbel:8@gone' names a network that is not on offer here")


def test_two_clicks_on_one_move_go_to_it_once(page):
    touch(page, 4, 0, 8, 1, 2)
    page.locator("#moves button").nth(2).dblclick()
    expect(moves(page)).to_have_count(3)
    page.evaluate("for (let i = 0; i < 2; i++) document.querySelector('#back').click()")
    expect(moves(page)).to_have_count(1)  # each press counts, though the server had not answered the first one
    page.evaluate("for (let i = 0; i < 3; i++) document.querySelector('#on').click()")
    expect(moves(page)).to_have_count(4)
    page.evaluate("for (let i = 0; i < 9; i++) document.querySelector('#back').click()")
    page.press("body", "Home")
    expect(moves(page)).to_have_count(0)
    expect(page.locator("#error")).to_be_empty()


def test_after_a_choice_in_the_list_of_games_keys_are_for_the_game(page):
    page.select_option("#game", "go5")
    begin(page, "go5")
    page.locator("#game").focus()
    page.select_option("#game", "tictactoe")
    expect(page).to_have_title("jaxgo: tictactoe")
    touch(page, 4)
    page.locator("#legal").click()
    page.keyboard.press("u")
    expect(moves(page)).to_have_count(0)
    expect(page).to_have_title("jaxgo: tictactoe")


def test_after_a_choice_in_the_menu_keys_are_for_the_board(page):
    begin(page, "swap2-15")
    touch(page, 0, 1, 2)
    button = page.locator("#menu button").first
    button.focus()
    page.keyboard.press("Enter")
    expect(moves(page)).to_have_count(4)
    expect(button).to_be_hidden()
    expect(page.locator("#board")).to_be_focused()
    page.keyboard.press("ArrowLeft")  # on the board, and not one move back
    page.wait_for_timeout(300)
    expect(moves(page)).to_have_count(4)


def test_who_walks_through_a_list_has_not_chosen_yet(page):
    """Browsers tell of a change at each arrow: another game began, and the one under way was gone."""
    touch(page, 4)
    page.locator("#game").focus()
    page.keyboard.press("ArrowDown")
    walked = page.locator("#game").input_value()
    assert walked != "tictactoe"
    page.keyboard.press("Tab")
    expect(page.locator("#game")).to_have_value("tictactoe")
    expect(moves(page)).to_have_count(1)
    page.locator("#game").focus()
    page.keyboard.press("g")
    assert page.locator("#game").input_value().startswith("g")
    page.keyboard.press("Tab")
    expect(page.locator("#game")).to_have_value("tictactoe")
    page.locator("#game").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_title(f"jaxgo: {walked}")


def test_who_opens_a_list_chooses_by_enter(page):
    for key, way in (("Space", "ArrowUp"), ("Alt+ArrowDown", "ArrowDown"), ("F4", "ArrowUp")):
        page.locator("#game").focus()
        before = page.title()
        for one in (key, way, "Enter"):
            page.keyboard.press(one)
            page.wait_for_timeout(100)  # a list that opens takes no key yet
        expect(page).not_to_have_title(before)


def test_who_cannot_see_the_board_is_told_what_the_other_one_plays(page):
    sit(page, "", "random")
    Mouse().choose(page, None, [4])
    expect(moves(page)).to_have_count(2)
    expect(page.locator("#said")).to_have_text(f"random plays {moves(page).nth(1).inner_text()}")


def test_what_the_other_one_plays_is_told_though_both_moves_come_at_once(page, monkeypatch):
    """A page that is behind is told the newest position only."""
    send = WebSocket.send_text

    async def slowly(self, text):
        await asyncio.sleep(0.5)
        await send(self, text)

    sit(page, "", "random")
    monkeypatch.setattr(WebSocket, "send_text", slowly)
    page.fill("#amount", "5")
    page.press("#amount", "Enter")  # its answer is on the way meanwhile
    Mouse().choose(page, None, [4])
    expect(moves(page)).to_have_count(2)
    expect(page.locator("#said")).to_have_text(f"random plays {moves(page).nth(1).inner_text()}")


def test_what_is_refused_is_shown_as_it_is(page):
    page.fill("#amount", "500")
    page.press("#amount", "Enter")
    expect(page.locator("#error")).to_contain_text("between 0 and 120")
    expect(page.locator("#amount")).to_have_value("0")
    page.locator("#options-open").click()
    page.fill("#options input[name=width]", "abc")
    page.press("#options input[name=width]", "Enter")
    expect(page.locator("#error")).to_contain_text("width")
    expect(page.locator("#options input[name=width]")).to_have_value("abc")  # to be mended, with all beside it


def test_what_went_wrong_is_shown_until_the_page_asks_for_something_else(page, monkeypatch):
    """The position that follows a search which failed is no answer to anything."""

    def fails(*words, **more):
        raise ValueError("no room")

    monkeypatch.setattr(session.Mind, "think", fails)
    monkeypatch.setattr(table.LOG, "error", lambda *words, **more: None)
    page.locator("#hint").click()
    expect(page.locator("#error")).to_have_text("the search failed; see the server's log")
    page.wait_for_timeout(300)
    expect(page.locator("#error")).to_have_text("the search failed; see the server's log")
    touch(page, 4)
    expect(page.locator("#error")).to_be_empty()


def look(page, where, what):
    """A computed colour, its three parts from 0 to 1."""
    at = page.locator(where).first if isinstance(where, str) else where
    told = at.evaluate("(one, what) => getComputedStyle(one)[what]", what)
    return [int(part) / 255 for part in re.findall(r"\d+", told)[:3]]


def contrast(*colours):
    """As WCAG counts it, from 1 to 21."""
    lights = sorted(np.dot([0.2126, 0.7152, 0.0722], np.array(one) ** 2.2) for one in colours)
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def assert_seen(page, grounds, *marks):
    """On each ground at least one of the two colours of each mark."""
    for mark in marks:
        target = mark == ".target"  # it is filled; others are rings on wider ones
        light = "#board .target" if target else f"#board .under:has(+ {mark})"
        colours = [look(page, f"#board {mark}", "fill" if target else "stroke"), look(page, light, "stroke")]
        for ground in grounds:
            assert max(contrast(ground, colour) for colour in colours) > 3, (mark, ground, colours)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_where_the_game_is_and_what_may_be_touched_is_seen_in_light_and_dark(browser, address, scheme):
    page, faults = opened(browser, address, 1200, 900, color_scheme=scheme)

    def choose_target():
        box = page.locator("#board .target").first.bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    begin(page, "dodgem3")
    sit(page, "", "")
    page.locator("#legal").check()
    choose_target()
    expect(page.locator("#board .chosen")).to_be_visible()
    board = [look(page, "#board .flat .board", "fill")]
    assert_seen(page, board, ".chosen", ".target")
    choose_target()
    expect(page.locator("#board .last").first).to_be_visible()
    assert_seen(page, board, ".last")
    here = "#moves .here"
    assert contrast(look(page, here, "color"), look(page, here, "backgroundColor")) > 4.5
    begin(page, "kamisado")
    tints = page.locator("#board .flat rect.tint")
    grounds = [look(page, tints.nth(cell), "fill") for cell in range(8)]  # a row has all eight colours
    assert len({tuple(ground) for ground in grounds}) == 8
    choose_target()
    assert_seen(page, grounds, ".chosen", ".target")
    page.locator("h1").click()
    page.keyboard.press("Tab")
    page.locator("#board").focus()
    assert_seen(page, grounds, ".corner")
    page.close()
    assert not faults


def test_seats_are_told_apart_where_the_reader_chooses_the_colours(browser, address):
    page, faults = opened(browser, address, 1200, 900, forced_colors="active")
    begin(page, "tictactoe")
    sit(page, "", "")
    touch(page, 4)
    colours = [look(page, f"#seat{seat} .disc", "backgroundColor") for seat in (0, 1)]
    assert contrast(*colours) > 3
    edges = [look(page, f"#seat{seat}", "borderLeftColor") for seat in (0, 1)]
    assert contrast(*edges) > 3
    here = "#moves .here"
    assert contrast(look(page, here, "color"), look(page, here, "backgroundColor")) > 3
    page.close()
    assert not faults


def test_the_graph_forgets_a_line_that_was_left(page):
    sit(page, "", "")
    touch(page, 4, 0)
    page.locator("#hint").click()
    expect(page.locator("#graph .dot")).to_have_count(1)
    page.press("body", "u")
    expect(moves(page)).to_have_count(1)
    expect(page.locator("#graph .dot")).to_have_count(1)
    touch(page, 1)
    expect(page.locator("#graph .dot")).to_have_count(0)


def test_a_new_game_forgets_what_was_thought_of_the_old_one(page):
    def walk():
        touch(page, 4)
        page.press("body", "Home")
        expect(moves(page)).to_have_count(0)

    sit(page, "", "")
    for walked in (True, False):
        if walked:
            walk()
        page.locator("#hint").click()
        expect(page.locator("#graph .dot")).to_have_count(1)
        page.locator("#resign").click()
        expect(page.locator("#banner")).to_be_visible()
        page.press("body", "u")
        expect(page.locator("#banner")).to_be_hidden()
        expect(page.locator("#graph .dot")).to_have_count(1)  # it is the same game
        if walked:
            walk()
        page.locator("#new").click()
        expect(page.locator("#graph .dot")).to_have_count(0)
        expect(page.locator("#thinking")).to_be_empty()
