"""What a person does at the page, for the tests that look at it in a browser: sits down, chooses, touches, drags."""

import numpy as np
from playwright.sync_api import expect

from jaxgo.core import play
from jaxgo.games import GAMES
from jaxgo.ui import clicks

ARROWS = {"ArrowLeft": (0, -1), "ArrowRight": (0, 1), "ArrowUp": (-1, 0), "ArrowDown": (1, 0)}


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


def moves(page):
    """Those so far, without what was taken back."""
    return page.locator("#moves li:not(.ahead)")


def touch(page, *cells):
    """Chooses cells one after the other, each of them a move."""
    for cell in cells:
        before = moves(page).count()
        Mouse().choose(page, None, [cell])
        expect(moves(page)).to_have_count(before + 1)


class Referee:
    """Plays along by the rules, so that the test knows what to touch."""

    def __init__(self, name):
        self.game = GAMES[name]
        self.view = play.look(self.game, play.begin(self.game))

    def legal(self):
        return [] if self.view.over else np.flatnonzero(self.view.legal).tolist()

    def choice(self, action):
        return clicks.choices(self.game, self.view.position.state, [action])[0]

    def play(self, action):
        self.view = play.look(self.game, self.view.position, action)


def play_on(page, name, hand, seed, most=None):
    """Plays by chance, every move chosen cell by cell, so many moves or until the banner tells the result."""
    begin(page, name)
    if GAMES[name].players == 2:
        sit(page, "", "")
    if GAMES[name].levels > 1:
        page.locator("#space").set_checked(hand.in_space)
    referee, rng, ply = Referee(name), np.random.default_rng(seed), 0
    while (legal := referee.legal()) and ply != most:
        action = int(rng.choice(legal))
        choice = referee.choice(action)
        for step in choice.steps:
            hand.choose(page, referee.game, (choice.at, *step) if choice.at in step else step)
        button = page.locator(f"#menu button[data-action='{action}']")
        if moves(page).count() == ply and button.count():
            hand.press(page, button)
        ply += 1
        expect(moves(page)).to_have_count(ply)
        expect(moves(page).last).to_contain_text(choice.name)
        referee.play(action)
    if not referee.legal():
        expect(page.locator("#banner")).to_be_visible()
        expect(page.locator("#status")).to_contain_text("Game over")
    return referee


class Mouse:
    """Clicks in the middle of cells, on the plane."""

    in_space = False

    def choose(self, page, game, cells):
        page.locator(f".hit[data-cell='{cells[0]}']").click(force=True)

    def press(self, page, button):
        button.click()


class MouseInSpace(Mouse):
    """Clicks where something of a stack is seen, and turns the board where nothing is."""

    in_space = True
    seen = """(cells) => {
      for (const one of [...document.querySelectorAll("#board [data-cell]")].reverse()) {
        const box = one.getBoundingClientRect();
        for (const [right, down] of [[0.5, 0.5], [0.5, 0.2], [0.2, 0.5], [0.8, 0.5], [0.5, 0.8]]) {
          const place = [box.x + right * box.width, box.y + down * box.height];
          const top = document.elementsFromPoint(...place).find((hit) => hit.dataset?.cell);
          if (top && cells.includes(Number(top.dataset.cell))) return place;
        }
      }
      return null;
    }"""

    def choose(self, page, game, cells):
        for _ in range(20):
            place = page.evaluate(self.seen, list(cells))
            if place is not None:
                page.mouse.click(*place)
                return
            self.turn(page, 40, 5)
        raise AssertionError(f"nothing of {cells} is seen from any side")

    def turn(self, page, right, down):
        box = page.locator("#board svg").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] - 10
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + right, y + down, steps=4)
        page.mouse.up()


class Keys:
    """Walks over the board with the arrow keys, over what is no part of it, and chooses by Enter."""

    in_space = False
    at = """() => {
      const middle = (one) => {
        const { x, y, width, height } = one.getBoundingClientRect();
        return [x + width / 2, y + height / 2];
      };
      const [x, y] = middle(document.querySelector("#board .cursor .corner"));
      const near = (hit) => Math.hypot(middle(hit)[0] - x, middle(hit)[1] - y) < 1;
      const found = [...document.querySelectorAll(".hit")].find(near);
      return Number(found.dataset.cell);
    }"""

    def choose(self, page, game, cells):
        page.locator("#board").focus()
        start, (height, width), goal = page.evaluate(self.at), game.picture, cells[0]
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

    def press(self, page, button):
        button.focus()
        page.keyboard.press("Enter")


def middle(page, cell):
    """The middle of a cell on the screen, and how wide it is."""
    box = page.locator(f".hit[data-cell='{cell}']").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, box["width"]


def drag(page, cell, right, down):
    """Drags what is on a cell by so many cells, with the mouse."""
    x, y, wide = middle(page, cell)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + wide * right, y + wide * down, steps=6)
    page.mouse.up()


def swipe(page, cell, right, down):
    """The same with a finger."""
    x, y, wide = middle(page, cell)
    wire = page.context.new_cdp_session(page)
    for part in range(7):
        point = {"x": x + part / 6 * wide * right, "y": y + part / 6 * wide * down}
        kind = "touchMove" if part else "touchStart"
        wire.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point]})
        page.wait_for_timeout(20)
    wire.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    wire.detach()
