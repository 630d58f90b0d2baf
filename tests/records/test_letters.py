"""The letters of files: UTF-8, and whatever an SGF names."""

import pytest

from jaxgo.games import make
from jaxgo.records import formats, sgf
from jaxgo.records.record import GameRecord


def test_files_are_utf_8_whatever_names_hold(tmp_path):
    """JSON can name half a character, which no file can hold."""
    told = '{"jaxgo": 1, "game": "tictactoe", "moves": [], "players": ["Zoë", "\\ud800"]}'
    formats.save(tmp_path / "game.json", formats.read(told))
    assert formats.load(tmp_path / "game.json").players == ("Zoë", "?")


@pytest.mark.parametrize("form", ["sgf", "psq", "json"])
def test_a_mark_of_the_order_of_bytes_is_passed_over(form):
    text = formats.write(GameRecord(make("gomoku9"), "gomoku9", (40, 0)), form)
    for marked in ("\ufeff" + text, ("\ufeff" + text).encode()):
        assert formats.read(marked).moves == (40, 0)


def test_bytes_that_are_no_utf_8_are_read():
    assert sgf.read("(;GM[1]SZ[9]PB[caf\xe9])".encode("latin-1")).players[0] == "caf\xe9"


@pytest.mark.parametrize(("charset", "name"), [("Shift_JIS", "表"), ("GB2312", "柯洁乗"), ("KOI8-R", "Игрок")])
def test_an_sgf_is_read_in_the_letters_that_it_names(charset, name):
    """The last byte of the first two names is that of a backslash."""
    text = f"(;GM[1]SZ[9]CA[{charset}]PB[{name}]PW[b];B[aa])"
    record = sgf.read(text.encode({"GB2312": "gb18030"}.get(charset, charset)))
    assert (record.players, record.moves) == ((name, "b"), (0,))


@pytest.mark.parametrize("charset", ["nonsense", "idna", "zip", "utf-16"])
def test_no_sgf_is_read_in_what_is_no_alphabet(charset):
    assert sgf.read(f"(;GM[1]SZ[9]CA[{charset}]PB[caf\xe9])".encode("latin-1")).players[0] == "caf\xe9"
