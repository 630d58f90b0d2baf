"""Drawn positions: a line that stands on the board has won, so the text of a finished game is read as one."""

import jax
import numpy as np
import pytest

from jaxgo.core import play, position_text
from jaxgo.core.board import in_a_row
from jaxgo.core.errors import UsageError
from jaxgo.games import GAMES, make

FIVE, SIX = ".XXXXX...", "XXXXXX..."
EMPTY = ["." * 9] * 7
WON, LOST = (1.0, -1.0), (-1.0, 1.0)  # for seat 0


def gomoku(row: str, other: str = "." * 9) -> str:
    return "/".join([row, *EMPTY, other])


@pytest.mark.parametrize(
    ("name", "options", "rows", "seat", "result"),
    [
        ("tictactoe", {}, "XXX/OO./...", 1, WON),
        ("tictactoe", {}, "O.X/XO./X.O", 0, LOST),
        ("tictactoe", {}, "O.X/XO./X..", 1, None),
        ("tictactoe", {}, "XOX/XOO/OXX", 1, (0.0, 0.0)),
        ("tictactoe", {}, "XXX/OOO/...", 0, LOST),  # cannot come up; who moved last has won
        ("tictactoe", {}, "XXX/OOO/...", 1, WON),
        ("connect4", {}, "......./......./...X.../..XO.../.XOO.../XOOX...", 1, WON),
        ("connect4", {}, "......./......./......./O....../O....../OXXX...", 0, None),
        ("scorefour", {}, "XO.. .O.. .... ..../.... .... .... ..../.... .... .... ..../XXXX OOO. .... ....", 1, WON),
        ("gomoku9", {}, gomoku(FIVE), 1, WON),
        ("gomoku9", {}, gomoku(SIX), 1, WON),
        ("gomoku9", {"rules": "standard"}, gomoku(SIX), 1, None),
        ("gomoku9", {"rules": "standard"}, gomoku(FIVE), 1, WON),
        ("gomoku9", {"rules": "caro"}, gomoku("OXXXXXO.."), 1, None),
        ("gomoku9", {"rules": "caro"}, gomoku("OXXXXXXO."), 1, WON),
        ("gomoku9", {"rules": "caro"}, gomoku(FIVE), 1, WON),
        ("gomoku9", {}, gomoku("....XXXX.", FIVE.replace("X", "O")), 0, LOST),
    ],
)
def test_a_line_that_is_drawn_has_won(name, options, rows, seat, result):
    game = make(name, **options)
    codes = [position_text.symbols(game).index(sign) for sign in rows.replace(" ", "_").replace("/", "")]
    state = game.place(np.array(codes, np.int8), seat)
    assert bool(game.over(state)) == (result is not None)
    if result is not None:
        assert np.asarray(game.returns(state)).tolist() == list(result)


@pytest.mark.parametrize(
    ("name", "text", "cell"),
    [
        ("minerace", "@...-....-....IIIII 1", "'I' cannot be cell 15 of row 1"),  # the road has another mine
        ("minerace", "*...-....-....-IIII 0", "cell 1 of row 1"),  # the token on a mine, where none is
        (
            "scorefour",
            "/".join(["...._...._...._...."] * 3 + ["....X...._...._...."]) + " 0",
            "a stone is drawn beside the boards",
        ),
    ],
)
def test_a_drawing_that_a_game_cannot_keep_is_refused(name, text, cell):
    with pytest.raises(UsageError, match=cell):
        position_text.read(make(name), text)


@pytest.mark.parametrize(
    ("cells", "seat", "said"),
    [
        (lambda size: np.zeros(size - 1, np.int8), 0, r"whole numbers, row by row, not by an array of shape"),
        (lambda size: np.zeros((1, size, 1), np.int8), 0, "row by row, not by an array of shape"),
        (lambda size: np.zeros(size), 0, "row by row, not by an array of shape .* and type float64"),
        (lambda size: np.full(size, 100, np.int8), 0, "have codes from 0 to"),
        (lambda size: np.full(size, -1, np.int8), 0, "have codes from 0 to"),
        (lambda size: np.zeros(size, np.int8), 2, "seat 2 is none of"),
    ],
)
def test_what_is_no_board_of_a_game_is_refused(cells, seat, said):
    for game in GAMES.values():
        with pytest.raises(UsageError, match=said):
            game.place(cells(game.picture[0] * game.picture[1]), seat)


def test_a_board_may_be_drawn_row_by_row_or_as_it_is_seen():
    cells = np.zeros((6, 7), np.int8)
    cells[5, 3] = 1
    one, other = (make("connect4").place(drawn, 1) for drawn in (cells, cells.reshape(-1)))
    assert np.asarray(one.stones).tolist() == np.asarray(other.stones).tolist()


def test_lines_are_found_in_every_direction():
    """Against a look at every cell, one by one."""
    codes = np.asarray(jax.random.randint(jax.random.key(0), (20, 6, 7), 0, 3))
    for board in codes:
        wanted = np.zeros(board.shape, bool)
        for (row, column), code in np.ndenumerate(board):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                line = [(row + i * down, column + i * right) for i in range(3)]
                if code and all(0 <= r < 6 and 0 <= c < 7 and board[r, c] == code for r, c in line):
                    wanted[tuple(zip(*line, strict=True))] = True
        np.testing.assert_array_equal(in_a_row(board, 3), wanted)


def test_what_is_known_of_games_is_kept_of_some_alone():
    """Visitors of a page name games without end."""
    for kept in (position_text.symbols, position_text.example, play.keeping):
        assert kept.cache_info().maxsize
