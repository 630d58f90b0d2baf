"""Every registered game can be played: by a session and by the messages of the page, saved, and held in a link."""

import numpy as np
import pytest

pytest.importorskip("starlette")
from support import mostly_slow
from visitor import Guest

from jaxgo.frontends import board as boards
from jaxgo.frontends.web import drawing
from jaxgo.games import GAMES
from jaxgo.records import formats

QUICK = ("tictactoe",)
MACHINES = ("tictactoe", "slide8", "go5", "kamisado", "maharajah")  # where a player moves, too; it compiles
NAMES = mostly_slow(sorted(GAMES), QUICK)
PLIES = 24
WAIT = 60.0


def visitor(name):
    page = Guest(name)
    page.table.open()
    page.ask("seats", players=[""] * GAMES[name].players)
    return page


@pytest.mark.parametrize("name", NAMES)
def test_a_game_by_the_messages_of_the_page(name):
    page, rng = visitor(name), np.random.default_rng(3)
    other = visitor(name)
    try:
        told = page.ask("new")  # puzzles are drawn anew
        shown = [told["codes"]]
        while told["choices"] and len(shown) <= PLIES:
            choice = told["choices"][rng.integers(len(told["choices"]))]
            told = page.ask("play", action=choice["action"], number=told["number"])
            assert told["moves"][-1] == choice["name"]
            assert choice["at"] < 0 or choice["at"] in told["last"]
            shown.append(told["codes"])
        assert bool(told["result"]) == (not told["choices"])
        count = len(told["moves"])
        back = page.ask("undo", count=count)
        assert (back["codes"], back["undone"]) == (shown[0], count)
        assert page.ask("redo", count=count)["codes"] == shown[-1]

        linked = other.ask("setup", text=told["start"], actions=told["actions"])
        assert (linked["codes"], linked["moves"], linked["seat"]) == (shown[-1], told["moves"], told["seat"])
        assert other.ask("undo", count=count)["codes"] == shown[0], "the link holds where the game began"

        session = page.table.session
        before = session.text
        other.table.session.setup(before)
        assert other.table.session.board.now.cells.tolist() == shown[-1]
        other.ask("load", text=formats.write(session.record(), "json"))
        assert other.table.session.board.now.cells.tolist() == shown[-1]
        if name not in MACHINES:
            return
        if told["result"]:
            session.undo()
        session.set_player(session.board.now.seat, "random")
        moves = len(session.board.actions)
        session.genmove().result(WAIT)
        assert len(session.board.actions) == moves + 1
    finally:
        page.table.close()
        other.table.close()


@pytest.mark.parametrize(
    ("name", "moves", "lost"),
    [
        pytest.param("go5", "B1 A1 A2", [0, 1], marks=pytest.mark.slow),
        pytest.param(
            "breakthrough",
            "a2-right h7-forward b3-right h6-forward c4-right h5-forward d5-right h4-forward e6-right",
            [0, 1],
            marks=pytest.mark.slow,
        ),
        ("othello6", "c2 b2 b3 d2", [0, 0]),
        ("hex5", "d1 swap a1", [0, 0]),
    ],
)
def test_pieces_that_are_lost_have_left_the_board(name, moves, lost):
    game = GAMES[name]
    board = boards.begin(game)
    for move in moves.split():
        board = board.play(board.read(move))
    assert drawing.captured(board) == lost
