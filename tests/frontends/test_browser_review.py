"""The review of a game on the page, in a real browser."""

import re

import pytest

pytest.importorskip("playwright.sync_api")
from page_hands import Mouse, begin, moves, sit
from playwright.sync_api import expect

pytestmark = pytest.mark.slow


def test_a_review_marks_moves_and_a_click_in_the_graph_goes_to_one(page):
    begin(page, "tictactoe")
    expect(page.locator("#review")).to_be_disabled()
    for count, cell in enumerate((4, 1, 3, 0, 5), 1):  # the edge gives the draw away
        Mouse().choose(page, None, [cell])
        expect(moves(page)).to_have_count(count)
    page.locator("#review").click()
    expect(page.locator("#reviewed table")).to_be_visible()
    expect(page.locator("#reviewed tbody tr")).to_have_count(6)
    expect(page.locator("#moves button").nth(1)).to_have_attribute("data-kind", "blunder")
    expect(page.locator("#remark")).to_be_empty()
    expect(page.locator("#moves button").nth(1)).to_have_attribute("title", re.compile("^blunder.* was better$"))
    expect(page.locator("#graph [data-kind=blunder]").first).to_be_attached()
    box = page.locator("#graph").bounding_box()
    page.locator("#graph").click(position={"x": box["width"] * (6 + 308 * 2 / 8) / 320, "y": 10})
    expect(moves(page)).to_have_count(2)
    expect(page.locator("#remark")).to_have_text(re.compile("^2. b3: blunder.* was better$"))
    expect(page.locator("#reviewed table")).to_be_visible()
    Mouse().choose(page, None, [8])  # another game
    expect(page.locator("#reviewed table")).to_have_count(0)


def test_a_review_that_was_stopped_is_not_shown_as_going_on(page):
    begin(page, "tictactoe")
    Mouse().choose(page, None, [4])
    expect(moves(page)).to_have_count(1)
    sit(page, "", "uct:150000,solver=no,evaluator=uniform")
    page.locator("#stop").click()
    expect(moves(page)).to_have_count(2)
    page.fill("#amount", "60")
    page.press("#amount", "Enter")
    page.locator("#review").click()
    expect(page.locator("#reviewed")).to_contain_text("reviewing: 0 of")
    page.locator("#stop").click()
    expect(page.locator("#reviewed")).to_be_empty()
