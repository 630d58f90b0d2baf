"""The page in a real browser: whole games by clicking and by keyboard, the search's numbers, files, a phone."""

import json
import re
import time

import pytest

pytest.importorskip("playwright", reason="the tests of the page in a browser need playwright")
from browsing import WAIT, opened
from page_hands import Keys, Mouse, MouseInSpace, begin, drag, moves, play_on, sit, swipe
from playwright import sync_api

from jaxgo.frontends.web import drawing
from jaxgo.games import GAMES

expect = sync_api.expect
pytestmark = pytest.mark.slow


def sit_badly(page, spec):
    page.select_option("#player1", "other")
    page.fill("#player1-spec", spec)
    page.press("#player1-spec", "Enter")


def touch(page, cell):
    Mouse().choose(page, None, [cell])


# games by chance that are short, all kinds of choosing moves among them: columns, points, from and to, jumps, stacks
WHOLE = {
    "tictactoe": 5,
    "connect4": 111,
    "go5": 2,
    "kamisado": 9,
    "scorefour": 34,
    "musketeers": 79,
    "dodgem3": 3,
    "pegs": 3,
    "hex5": 1,
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_game_by_clicking(page, name):
    referee = play_on(page, name, Mouse(), WHOLE[name])
    assert not referee.legal()


def test_a_whole_game_in_space(page):
    referee = play_on(page, "connect3d", MouseInSpace(), 1)
    assert not referee.legal()
    assert page.locator("#board .space .last").count()


def test_a_level_that_is_dimmed_takes_no_click(page):
    begin(page, "connect3d")
    shown = "() => [...document.querySelectorAll('#board .slot')].map((one) => Number(one.dataset.cell))"
    hit = """(cell) => {
      const box = document.querySelector(`#board .slot[data-cell="${cell}"]`).getBoundingClientRect();
      const hits = document.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2);
      return hits.some((one) => one.matches(".slot") && Number(one.dataset.cell) === cell);
    }"""
    cells = page.evaluate(shown)
    assert cells
    for level, reached in (("1", True), ("2", False), ("all", True)):
        page.select_option("#level", label=level)
        assert {page.evaluate(hit, cell) for cell in cells} == {reached}
    page.locator("#space").uncheck()
    expect(page.locator("#levels")).to_be_hidden()  # all of them lie side by side
    page.locator("#space").check()
    expect(page.locator("#levels")).to_be_visible()


@pytest.mark.parametrize("name", WHOLE)
def test_a_game_by_arrows_and_enter(page, name):
    whole = name in ("connect4", "kamisado", "dodgem3")
    referee = play_on(page, name, Keys(), WHOLE[name], None if whole else 8)
    assert not (whole and referee.legal())


@pytest.mark.parametrize("hand", [drag, swipe])
def test_a_puzzle_is_solved_by_dragging(browser, address, hand):
    """With the mouse, and with a finger on a phone, where the page must not move along."""
    page, faults = opened(browser, f"{address}#game=slide8&start=.12/453/786 0", 360, 740, has_touch=hand is swipe)
    expect(page.locator("[data-block]")).to_have_count(8)
    for count, (cell, right, down) in enumerate(((1, -1, 0), (2, -1, 0), (5, 0, -1), (8, 0, -1)), 1):
        hand(page, cell, right, down)
        expect(moves(page)).to_have_count(count)
    expect(page.locator("#banner")).to_contain_text("solved")
    assert page.evaluate("[window.scrollX, window.scrollY]") == [0, 0]
    page.close()
    assert not faults


def test_a_whole_game_by_keyboard(page):
    begin(page, "tictactoe")
    page.locator("#board").focus()
    for keys, count in (("Enter", 1), ("ArrowRight Enter", 2), ("ArrowDown Enter", 3), ("ArrowRight Enter", 4)):
        for key in keys.split():
            page.keyboard.press(key)
        expect(moves(page)).to_have_count(count)
    assert moves(page).all_inner_texts() == ["a3", "b3", "b2", "c2"]
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#said")).to_contain_text("b2")
    page.keyboard.press("ArrowRight")
    for key in ("ArrowDown", "Enter"):
        page.keyboard.press(key)
    expect(page.locator("#banner")).to_contain_text("first wins")


def test_back_and_on_by_keys_and_buttons(page):
    begin(page, "tictactoe")
    for cell in (4, 0, 8):
        count = moves(page).count()
        touch(page, cell)
        expect(moves(page)).to_have_count(count + 1)
    page.locator("h1").click()
    page.keyboard.press("ArrowLeft")
    expect(moves(page)).to_have_count(2)
    page.keyboard.press("Home")
    expect(moves(page)).to_have_count(0)
    page.keyboard.press("End")
    expect(moves(page)).to_have_count(3)
    page.locator("#undo").click()
    expect(moves(page)).to_have_count(2)
    page.locator("#redo").click()
    expect(moves(page)).to_have_count(3)


def test_numbers_change_while_it_thinks(page):
    begin(page, "tictactoe")
    page.locator("#analyse").check()
    words = page.locator("#thinking")
    expect(words).to_contain_text("simulations")
    seen = set()
    until = time.monotonic() + 20
    while len(seen) < 3 and time.monotonic() < until:
        seen.add(words.inner_text())
        page.wait_for_timeout(150)
    assert len(seen) >= 2, "the numbers of a search that goes on change"
    assert page.locator("#board .heat").count() > 1
    assert page.locator("#roots tbody tr").count() > 3
    assert page.locator("#board .ghost").count() > 0
    page.locator("#analyse").uncheck()


def test_a_game_after_the_other(page):
    begin(page, "tictactoe")
    sit(page, "random", "random")
    page.fill("#delay", "0")
    page.locator("#delay").dispatch_event("change")
    page.locator("#files summary").click()
    page.locator("#loop").click()  # its state is what the server says
    expect(page.locator("#kept li").nth(2)).to_be_visible()
    page.locator("#loop").dispatch_event("click")  # the table of moves comes and goes above it, so it never rests
    expect(page.locator("#loop")).not_to_be_checked()
    expect(page.locator("#score tbody td:first-child")).to_have_text(["random (first)", "random (second)"])


def test_sgf_comes_down_and_goes_up(page, tmp_path):
    begin(page, "go5")
    sit(page, "", "")
    for name in ("C3", "B2", "pass"):
        page.fill("#move", name)
        page.press("#move", "Enter")
        expect(moves(page).last).to_contain_text(name)
    page.locator("#files summary").click()
    expect(page.locator("[data-save=json]")).to_be_visible()
    expect(page.locator("[data-save=pgn]")).to_be_hidden()  # which cannot tell of Go
    with page.expect_download() as download:
        page.locator("[data-save=sgf]").click()
    path = tmp_path / "game.sgf"
    download.value.save_as(path)
    assert ";B[cc]" in path.read_text()
    path.write_text(re.sub(r"PB\[[^\]]*\]", "PB[<img src=x onerror=alert(1)>]", path.read_text()))
    page.locator("#new").click()
    expect(moves(page)).to_have_count(0)
    page.set_input_files("#file", path)
    expect(moves(page)).to_have_count(3)
    assert page.locator("img").count() == 0
    bad = tmp_path / "bad.sgf"
    bad.write_text("(;GM[1]FF[4]SZ[5];B[zz])")
    page.set_input_files("#file", bad)
    expect(page.locator("#error")).not_to_be_empty()
    expect(moves(page)).to_have_count(3)


def test_chess_is_played_and_saved_in_the_words_of_its_players(page, tmp_path):
    begin(page, "tictactoe")
    sit(page, "", "")  # before chess comes, so that no player of it is compiled
    begin(page, "chess")
    page.locator("#files summary").click()
    page.fill("#text", "r3k2r/8/8/3pP3/8/8/8/R3K2R w Kq d6")
    page.locator("#position button").click()
    page.locator("#moves-now option[value=e5d6]").wait_for(state="attached")
    for name, told in (("exd6", "e5d6"), ("Kf8", "e8f8"), ("0-0", "e1g1")):
        page.fill("#move", name)
        page.press("#move", "Enter")
        expect(moves(page).last).to_contain_text(told)
    page.fill("#move", "Kh8")
    page.press("#move", "Enter")
    expect(page.locator("#error")).to_contain_text("'Kh8' is not legal")
    with page.expect_download() as download:
        page.locator("[data-save=pgn]").click()
    path = tmp_path / "game.pgn"
    download.value.save_as(path)
    assert '[FEN "r3k2r/8/8/3pP3/8/8/8/R3K2R w Kq d6 0 1"]' in path.read_text()
    assert "\n1. exd6 Kf8 2. O-O+ *\n" in path.read_text()
    page.locator("#new").click()
    expect(moves(page)).to_have_count(0)
    page.set_input_files("#file", path)
    expect(moves(page)).to_have_count(3)


def test_a_link_holds_the_position(page, address):
    begin(page, "tictactoe")
    touch(page, 4)
    expect(moves(page)).to_have_count(1)
    page.locator("#files summary").click()
    page.locator("#copy").click()
    expect(page).to_have_url(f"{address}#game=tictactoe&moves=4")
    page.reload()
    expect(moves(page)).to_have_count(1)


def test_a_game_outlives_the_step_back_to_the_address_without_it(page):
    begin(page, "tictactoe")
    page.evaluate("location.hash = 'game=tictactoe&moves=4.0'")
    expect(moves(page)).to_have_count(2)
    page.go_back()
    expect(page).to_have_url(re.compile("/$"))
    page.reload()
    expect(moves(page)).to_have_count(2)


def test_a_board_that_is_set_up_takes_no_clicks(page):
    """What is there of the game before cannot be gone back in: its position is gone, and there is none yet."""
    begin(page, "tictactoe")
    touch(page, 4)
    expect(moves(page)).to_have_count(1)
    page.evaluate(
        """() => {
          const click = (what) => document.querySelector(what).click();
          const buttons = ["#back", "#first", "#copy", "#moves button"];
          const looking = new MutationObserver(() => buttons.forEach(click)); // the title changes before the position
          looking.observe(document.querySelector("title"), { childList: true });
        }"""
    )
    page.select_option("#game", "go5")
    expect(page).to_have_title("jaxgo: go5")
    expect(moves(page)).to_have_count(0)


def test_what_is_refused_leaves_the_page_as_it_was(page, address):
    begin(page, "tictactoe")
    touch(page, 4)
    expect(moves(page)).to_have_count(1)
    page.goto(f"{address}#game=connect5&moves=3.3")
    expect(page.locator("#error")).to_contain_text("connect5")
    expect(moves(page)).to_have_count(1)
    sit_badly(page, "nobody:5")
    expect(page.locator("#error")).to_contain_text("nobody")
    expect(page.locator("#player1")).to_have_value("")
    page.fill("#delay", "1000000")
    page.locator("#loop").click()
    expect(page.locator("#error")).to_contain_text("the pause must be")
    expect(page.locator("#loop")).not_to_be_checked()
    page.locator("#files summary").click()
    page.fill("#text", "X" * 300_000)
    page.locator("#position button").click()
    expect(page.locator("#error")).to_contain_text("too long")
    page.fill("#move", "b" * 300_000)
    page.press("#move", "Enter")
    expect(page.locator("#error")).to_contain_text("no action is called")
    assert len(page.locator("#error").inner_text()) < 100
    expect(moves(page)).to_have_count(1)


def test_moves_of_another_position_cannot_be_chosen_in_the_table(page):
    begin(page, "tictactoe")
    page.locator("#hint").click()
    first = page.locator("#roots button").first
    expect(first).to_be_enabled()
    touch(page, 4)
    expect(moves(page)).to_have_count(1)
    expect(first).to_be_disabled()


def test_a_block_is_dragged(page):
    begin(page, "klotski")
    drag(page, 16, 1, 0)
    expect(moves(page).last).to_contain_text("i-E")


def test_a_phone_sees_it_without_scrolling_sideways(browser, address):
    for scheme in ("light", "dark"):
        phone = browser.new_page(viewport={"width": 360, "height": 740}, color_scheme=scheme, has_touch=True)
        phone.set_default_timeout(WAIT)
        phone.goto(address)
        phone.locator(".hit").first.wait_for(timeout=WAIT)
        assert phone.evaluate("document.documentElement.scrollWidth") <= 360
        for seat in (0, 1):
            phone.locator(f"#player{seat}").select_option("")
            expect(phone.locator(f"#seat{seat} b")).to_have_text("you")
        for count, cell in enumerate((4, 0, 3, 1, 5), 1):
            phone.locator(f".hit[data-cell='{cell}']").tap()
            expect(moves(phone)).to_have_count(count)
        expect(phone.locator("#banner")).to_contain_text("first wins")
        phone.close()


def test_both_seats_chosen_faster_than_the_server_answers(browser, address):
    page, faults = opened(browser, address, 1200, 900)
    expect(page.locator("#seat1 b")).to_have_text("random")
    page.evaluate(
        """() => ["random", ""].forEach((spec, seat) => {
            const list = document.getElementById(`player${seat}`);
            list.value = spec;
            list.dispatchEvent(new Event("change"));
        })"""
    )
    expect(page.locator("#seat1 b")).to_have_text("you")
    expect(page.locator("#seat0 b")).to_have_text("random")
    page.close()
    assert not faults


def test_long_names_fit_a_phone(browser, address):
    page, faults = opened(browser, address, 360, 740)
    expect(moves(page)).to_have_count(0)
    spec = "random:0,and=a-name-as-long-as-this-one-is-not-one-of-a-player"
    sit_badly(page, spec)
    expect(page.locator("#error")).to_contain_text("random")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    sit(page, "uct:8,solver=no,evaluator=uniform", "uct:9,solver=no,evaluator=uniform")
    expect(page.locator("#score tbody tr")).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.close()
    assert not faults


def test_a_button_that_is_pressed_while_it_thinks_is_still_there_when_it_is_let_go(page):
    begin(page, "tictactoe")
    page.locator("#analyse").check()
    button = page.locator("#roots button").first
    expect(button).to_be_enabled()
    box = button.bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    # moves keep their places from here on, and another than the first one looked at may have come under the pointer
    name = page.evaluate("([x, y]) => document.elementFromPoint(x, y).textContent", [box["x"] + 5, box["y"] + 5])
    words = page.locator("#thinking")
    before = words.inner_text()
    page.mouse.down()
    expect(words).not_to_have_text(before)
    page.mouse.up()
    expect(moves(page)).to_have_count(1)
    assert moves(page).first.inner_text() == name
    page.locator("#analyse").uncheck()


def test_a_box_that_was_ticked_stays_so_when_an_older_position_comes(browser, address):
    """It was on its way when somebody ticked the box, and showed that there was nothing to tick."""
    page, faults = opened(browser, "about:blank", 1200, 900)
    late, held = [], []

    def between(socket):
        server = socket.connect_to_server()

        def pass_on(words):
            if json.loads(words)["do"] == "analyse" and not held:
                held.append(lambda: server.send(words))
                socket.send(json.dumps(late[-1] | {"status": "an older position"}))
            else:
                server.send(words)

        def tell(words):
            message = json.loads(words)
            late.extend([message] if message["tell"] == "position" else [])
            socket.send(words)

        socket.on_message(pass_on)
        server.on_message(tell)

    page.route_web_socket(re.compile("."), between)
    page.goto(address)
    begin(page, "tictactoe")
    sit(page, "", "")
    box = page.locator("#analyse")
    box.click()
    expect(page.locator("#status")).to_have_text("an older position")
    assert box.is_checked()
    held[0]()
    expect(page.locator("#roots button").first).to_be_enabled()  # it analyses
    box.click()
    expect(box).not_to_be_checked()
    page.close()
    assert not faults


def test_the_focus_stays_on_a_move_that_was_gone_back_to(page):
    begin(page, "tictactoe")
    for count, cell in enumerate((4, 0, 8), 1):
        touch(page, cell)
        expect(moves(page)).to_have_count(count)
    page.locator("#moves button").first.focus()
    page.keyboard.press("Enter")
    expect(moves(page)).to_have_count(1)
    expect(page.locator("#moves button").first).to_be_focused()
    expect(page.locator("#moves button").first).to_have_attribute("aria-current", "true")


def test_a_hand_that_is_not_steady_plays_as_well(page):
    for name, cell, aside in (("tictactoe", 4, 4), ("connect4", 3, 24)):
        begin(page, name)
        sit(page, "", "")
        start, end = (page.locator(f".hit[data-cell='{one}']").bounding_box() for one in (cell, aside))
        page.mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
        page.mouse.down()
        page.mouse.move(end["x"] + 0.8 * end["width"], end["y"] + 0.7 * end["height"], steps=4)
        page.mouse.up()
        expect(moves(page)).to_have_count(1)


def test_a_limit_is_a_number_or_a_unit(page):
    begin(page, "tictactoe")
    amount, unit = page.locator("#amount"), page.locator("#unit")

    def told(number, of):
        page.locator("h1").click()
        expect(unit).to_have_value(of)
        expect(amount).to_have_value(number)

    for of, usual in (("simulations", "400"), ("seconds", "1")):  # 400 seconds are too many
        unit.select_option(of)
        told(usual, of)
    amount.fill("0")
    told("0", "")
    amount.fill("2.5")
    told("2.5", "seconds")


def test_a_board_without_a_position_can_be_touched(page):
    """It is shown while its first position may still be compiled."""
    shape = {"game": "tictactoe", **drawing.board(GAMES["tictactoe"], [0] * 9)}
    page.evaluate(
        """async (shape) => {
          const { Board } = await import("/board.js");
          const stage = document.querySelector("main");
          new Board(stage, { play() {}, say() {}, ask() {} }).begin({ ...shape, grid: "blocks" });
        }""",
        shape,
    )
    page.locator("main #board").focus()
    for key in ("ArrowDown", "Enter", "Escape"):
        page.keyboard.press(key)
    drag(page, 4, 1, 0)
    touch(page, 0)


def test_words_on_a_board_keep_a_size_that_can_be_read(browser, address):
    measure = """() => [...document.querySelectorAll(".flat .name")].map((one) => one.getBoundingClientRect().height)"""
    for width, height, options in ((360, 900, "&o.width=19&o.height=3"), (1200, 900, ""), (1200, 300, "")):
        page, faults = opened(browser, f"{address}#game=tictactoe{options}", width, height)
        expect(page.locator(".hit")).to_have_count(57 if options else 9)
        heights = page.evaluate(measure)
        assert heights
        assert all(9 < height < 30 for height in heights), heights
        page.close()
        assert not faults


def test_a_page_from_elsewhere_opens_no_socket(browser, address):
    stranger = browser.new_page()
    asked = """(address) => new Promise((answer) => {
      const socket = new WebSocket(address.replace("http", "ws") + "socket");
      socket.onopen = () => answer("open");
      socket.onclose = () => answer("refused");
    })"""
    assert stranger.evaluate(asked, address) == "refused"
    stranger.close()
