"""The page in a real browser: whole games by clicking and by keyboard, the search's numbers, files, a phone."""

import re
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("playwright", reason="the tests of the page in a browser need playwright")
from browsing import WAIT, needs_browser, opened, served
from playwright import sync_api

from jaxgo.core import play
from jaxgo.frontends.web import server
from jaxgo.frontends.web.offers import Offers
from jaxgo.frontends.web.shared import Shared
from jaxgo.games import GAMES
from jaxgo.ui import clicks

expect = sync_api.expect
pytestmark = [pytest.mark.slow, needs_browser]


@pytest.fixture(scope="module")
def address():
    with served(server.create(Shared(Offers({}, ("random",))), "tictactoe")) as at:
        yield at


@pytest.fixture
def page(browser, address):
    page, faults = opened(browser, address, 1200, 900)
    sit(page, "", "")
    yield page
    page.close()
    assert not faults


def begin(page, name):
    if page.title() != f"jaxgo: {name}":
        page.select_option("#game", name)
    expect(page).to_have_title(f"jaxgo: {name}")
    page.locator("#moves-now option").first.wait_for(state="attached")


def sit(page, *players):
    for seat, spec in enumerate(players):
        box = page.locator(f"#player{seat}")
        box.locator("option").first.wait_for(state="attached")
        if box.input_value() == spec:
            continue
        if spec in box.locator("option").evaluate_all("all => all.map((one) => one.value)"):
            box.select_option(spec)
        else:
            box.select_option("other")
            page.fill(f"#player{seat}-spec", spec)
            page.press(f"#player{seat}-spec", "Enter")
        expect(page.locator(f"#seat{seat} b")).to_have_text(spec or "you")


def sit_badly(page, spec):
    page.select_option("#player1", "other")
    page.fill("#player1-spec", spec)
    page.press("#player1-spec", "Enter")


def moves(page):
    return page.locator("#moves li")


class Referee:
    """Plays along by the rules, so that the test knows what to touch."""

    def __init__(self, name):
        self.game = GAMES[name]
        self.position = play.start(self.game, jax.random.key(0))
        self.look = jax.jit(lambda p: (play.legal(self.game, p), play.over(self.game, p)))
        self.step = jax.jit(lambda p, a: play.play(self.game, p, a)[0])

    def legal(self):
        legal, over = self.look(self.position)
        return [] if over else np.flatnonzero(legal).tolist()

    def choice(self, action):
        return clicks.choices(self.game, self.position.state, [action])[0]

    def play(self, action):
        self.position = self.step(self.position, jnp.int32(action))


def touch(page, cell):
    """A click in the middle of a cell, in space or on the plane."""
    flat = page.locator(f".hit[data-cell='{cell}']")
    (flat if flat.count() else page.locator(f"circle[data-cell='{cell}']").last).click(force=True)


def walk(page, game, goal):
    """Walks to a cell with the arrow keys, over what is no part of the board, and touches it by Enter."""
    at = """() => {
      const corner = document.querySelector("#board .cursor .corner");
      const near = (hit, axis) => Math.abs(Number(hit.getAttribute(axis)) + 2 - Number(corner.getAttribute(axis))) < 1;
      const found = [...document.querySelectorAll(".hit")].find((hit) => near(hit, "x") && near(hit, "y"));
      return Number(found.dataset.cell);
    }"""
    start, (height, width) = page.evaluate(at), game.picture
    there = set(page.locator(".hit").evaluate_all("all => all.map((one) => Number(one.dataset.cell))"))
    ways, reached = [(start, [])], {start}
    for cell, keys in ways:
        if cell == goal:
            break
        for key, (down, right) in ARROWS.items():
            row, column = cell // width + down, cell % width + right
            while 0 <= row < height and 0 <= column < width and row * width + column not in there:
                row, column = row + down, column + right
            following = row * width + column
            if 0 <= row < height and 0 <= column < width and following not in reached:
                reached.add(following)
                ways.append((following, [*keys, key]))
    else:
        raise AssertionError(f"no keys lead to {goal}")
    for key in [*keys, "Enter"]:
        page.keyboard.press(key)


def play_on(page, name, most, choose):
    """Plays by chance, every move chosen cell by cell, until the game is over or so long."""
    begin(page, name)
    if GAMES[name].players == 2:
        sit(page, "", "")
    if GAMES[name].levels > 1:  # in space one slot may hide another
        page.locator("#space").uncheck()
    referee, rng, ply = Referee(name), np.random.default_rng(1), 0
    while (legal := referee.legal()) and ply < most:
        action = int(rng.choice(legal))
        choice = referee.choice(action)
        for step in choice.steps:
            choose(choice.at if choice.at in step else step[0])
        button = page.locator(f"#menu button[data-action='{action}']")
        if moves(page).count() == ply and button.count():
            button.click()
        ply += 1
        expect(moves(page)).to_have_count(ply)
        expect(moves(page).last).to_contain_text(choice.name)
        referee.play(action)
    if not referee.legal():
        expect(page.locator("#banner")).to_be_visible()


EIGHT = ["tictactoe", "connect4", "go5", "kamisado", "scorefour", "musketeers", "dodgem3", "pegs"]
ARROWS = {"ArrowLeft": (0, -1), "ArrowRight": (0, 1), "ArrowUp": (-1, 0), "ArrowDown": (1, 0)}


@pytest.mark.parametrize("name", EIGHT)
def test_a_whole_game_by_clicking(page, name):
    play_on(page, name, 40, lambda cell: touch(page, cell))


@pytest.mark.parametrize("name", EIGHT)
def test_a_game_by_arrows_and_enter(page, name):
    def choose(cell):
        page.locator("#board").focus()
        walk(page, GAMES[name], cell)

    play_on(page, name, 8, choose)


def test_a_whole_game_by_keyboard(page):
    begin(page, "tictactoe")
    page.locator("#board").focus()
    for keys, count in (("Enter", 1), ("ArrowRight Enter", 2), ("ArrowDown Enter", 3), ("ArrowRight Enter", 4)):
        for key in keys.split():
            page.keyboard.press(key)
        expect(moves(page)).to_have_count(count)
    assert moves(page).all_inner_texts() == ["a3", "b3", "b2", "c2"]
    expect(page.locator("#said")).to_contain_text("c2")
    for key in ("ArrowDown", "Enter"):
        page.keyboard.press(key)
    expect(page.locator("#banner")).to_contain_text("seat 0 wins")


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
    expect(page.locator("#score tbody tr")).to_have_count(1)


def test_sgf_comes_down_and_goes_up(page, tmp_path):
    begin(page, "go5")
    sit(page, "", "")
    for name in ("C3", "B2", "pass"):
        page.fill("#move", name)
        page.press("#move", "Enter")
        expect(moves(page).last).to_contain_text(name)
    page.locator("#files summary").click()
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


def test_a_link_holds_the_position(page, address):
    begin(page, "tictactoe")
    touch(page, 4)
    expect(moves(page)).to_have_count(1)
    page.locator("#files summary").click()
    page.locator("#copy").click()
    page.wait_for_timeout(300)
    assert page.url == f"{address}#game=tictactoe&moves=4"
    page.reload()
    expect(moves(page)).to_have_count(1)


def test_a_page_that_is_read_or_connected_again_goes_on_with_its_game(browser):
    app = server.create(Shared(Offers({}, ("random",))), "tictactoe")
    with served(app) as address:
        page, faults = opened(browser, address, 1200, 900)
        begin(page, "tictactoe")
        sit(page, "", "")
        for ply, cell in enumerate((4, 0, 8), 1):
            touch(page, cell)
            expect(moves(page)).to_have_count(ply)
        page.reload()
        expect(moves(page)).to_have_count(3)
        expect(page.locator("#seat1 b")).to_have_text("you")
        port = int(address.rstrip("/").rpartition(":")[2])
    expect(page.locator("#link")).to_contain_text("not connected")
    touch(page, 1)
    expect(page.locator("#error")).to_contain_text("not connected")
    with served(app, port):
        expect(page.locator("#link")).to_be_empty()
        expect(page.locator("#error")).to_be_empty()
        touch(page, 1)
        expect(moves(page)).to_have_count(4)
        page.locator("#new").click()
        expect(moves(page)).to_have_count(0)
        page.reload()
        expect(page.locator("#moves-now option")).to_have_count(9)
        expect(moves(page)).to_have_count(0)
        assert not [fault for fault in faults if "WebSocket" not in fault]
        page.close()


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
    expect(page.locator("#error")).to_contain_text("delay")
    expect(page.locator("#loop")).not_to_be_checked()
    page.locator("#files summary").click()
    page.fill("#text", "X" * 300_000)
    page.locator("#position button").click()
    expect(page.locator("#error")).to_contain_text("too long")
    page.fill("#move", "b" * 300_000)
    page.press("#move", "Enter")
    expect(page.locator("#error")).to_contain_text("no legal move")
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
    box = page.locator(".hit[data-cell='16']").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + box["width"] / 2, middle[1], steps=4)
    page.mouse.move(middle[0] + box["width"], middle[1], steps=4)
    page.mouse.up()
    expect(moves(page).last).to_contain_text("i-E")


def test_a_phone_sees_it_without_scrolling_sideways(browser, address):
    for scheme in ("light", "dark"):
        phone = browser.new_page(viewport={"width": 360, "height": 740}, color_scheme=scheme, has_touch=True)
        phone.goto(address)
        phone.locator(".hit").first.wait_for(timeout=WAIT)
        assert phone.evaluate("document.documentElement.scrollWidth") <= 360
        phone.locator(".hit[data-cell='4']").tap()
        expect(moves(phone).first).to_contain_text("b2")
        phone.close()


def test_words_on_a_board_keep_a_size_that_can_be_read(browser, address):
    measure = """() => [...document.querySelectorAll(".flat .name")].map((one) => one.getBoundingClientRect().height)"""
    for width, options in ((360, "&o.width=19&o.height=3"), (1200, "")):
        page, faults = opened(browser, f"{address}#game=tictactoe{options}", width, 900)
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
