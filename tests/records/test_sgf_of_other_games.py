"""SGF of Othello and of Hex: what is written is read again, and so is what other programs write."""

import numpy as np
import pytest

from jaxgo.frontends import board as boards
from jaxgo.games import GAMES, make
from jaxgo.records import sgf
from jaxgo.records.record import GameRecord

OTHELLO = make("othello6")


@pytest.fixture(scope="module")
def othello() -> boards.Board:
    """A game with passes."""
    draw, board = np.random.default_rng(1), boards.begin(OTHELLO)
    while not board.over:
        board = board.play(int(draw.choice(board.legal())))
    assert "pass" in board.moves
    return board


def test_a_game_of_othello_comes_back(othello):
    text = sgf.write(boards.to_record(othello, "othello6"))
    assert text.startswith("(;FF[4]GM[2]CA[UTF-8]AP[jaxgo]SZ[6]")
    assert "AB[dc][cd]AW[cc][dd]PL[B]" in text
    again = sgf.read(text)
    assert (again.game, again.name, again.start, again.moves) == (OTHELLO, "othello6", "", othello.actions)


def test_files_of_othello_need_not_tell_of_the_start_nor_of_passes_and_may_name_squares(othello):
    nodes = []
    for ply, name in enumerate(othello.moves):
        nodes += [f";{'BW'[ply % 2]}[{name.upper()}]"] if name != "pass" else []
    again = sgf.read(f"(;GM[2]SZ[6]{''.join(nodes)})")
    assert (again.start, again.moves) == ("", othello.actions)
    assert sgf.read("(;GM[2];B[dc])").game == make("othello"), "of the usual size"


def test_a_position_of_othello_by_hand_comes_back():
    start = "XO..../....../...O../....../....../...... 1"
    board = boards.from_text(OTHELLO, f"{start} pass c1")
    again = sgf.read(sgf.write(boards.to_record(board, "othello6")))
    assert (again.start, again.moves) == (start, board.actions)


def test_hex_is_written_by_the_names_of_its_points():
    game = GAMES["hex5"]
    record = GameRecord(game=game, name="hex5", moves=tuple(map(game.parse_action, ("d1", "swap", "c3", "e5"))))
    text = sgf.write(record)
    assert "GM[11]" in text
    assert ";B[d1];W[swap-pieces];B[c3];W[e5]" in text
    again = sgf.read(text)
    assert (again.game, again.moves, again.start) == (game, record.moves, "")
    plain = GameRecord(game=make("hex5", swap=False), name="hex5", moves=(3, 4))
    assert sgf.read(sgf.write(plain)).game == plain.game


def test_hex_of_other_programs_is_read():
    record = sgf.read("(;FF[4]AP[HexGui:0.9]GM[11]SZ[5]AB[a1:b1]AW[e5];W[c3];B[aa])", upto=1)
    assert record.start == "RR.../...../...../...../....B 1"
    assert record.moves == (12,)
    assert sgf.read("(;GM[11];B[ba];W[swap])").moves == (1, 121), "11x11 if no size is told"


@pytest.mark.parametrize("word", ["resign", "Forfeit"])
def test_who_resigns_in_hex_has_lost(word):
    game = f"(;GM[11]SZ[5];B[a1];W[b2];B[c3];W[{word}]C[enough];B[a1])"
    record = sgf.read(game)
    assert (record.moves, record.verdict, record.returns) == ((0, 6, 12), "B+R", (1.0, -1.0))
    assert record.comments == {3: "enough"}
    assert sgf.read(game.replace("SZ", "RE[W+F]SZ")).verdict == "W+F", "what the file says stands"
    assert sgf.read(game, upto=3).verdict == ""
