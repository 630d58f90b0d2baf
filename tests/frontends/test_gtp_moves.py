"""How moves of other games than Go are written in GTP, as programs that show them expect."""

import pytest
from gtp_talk import Talk

from jaxgo.core.errors import UsageError
from jaxgo.games import gtp_moves, make


def test_points_of_gomoku_are_written_as_those_of_go():
    game = make("gomoku", size=15)
    names = [gtp_moves.move_name(game, action) for action in range(game.num_actions)]
    assert {action: names[action] for action in (0, 7, 8, 224)} == {0: "A15", 7: "H15", 8: "J15", 224: "P1"}
    assert [gtp_moves.read_move(game, name.lower()) for name in names] == list(range(game.num_actions))
    for wrong in ("I5", "A16", "A0", "Q1", "5A"):
        with pytest.raises(UsageError, match="invalid coordinate"):
            gtp_moves.read_move(game, wrong)


def test_squares_of_othello_have_their_own_names_as_in_other_programs():
    game = make("othello")
    assert [gtp_moves.move_name(game, action) for action in (0, 19, 63, 64)] == ["a1", "d3", "h8", "pass"]
    assert [gtp_moves.read_move(game, word) for word in ("A1", "D3", "h8", "PASS")] == [0, 19, 63, 64]
    with pytest.raises(UsageError, match="invalid coordinate"):
        gtp_moves.read_move(game, "i1")


def test_moves_of_hex_are_written_as_hexgui_knows_them():
    game = make("hex11")
    assert [gtp_moves.move_name(game, action) for action in (0, 120, 121)] == ["a1", "k11", "swap-pieces"]
    assert [gtp_moves.read_move(game, word) for word in ("swap-pieces", "swap")] == [121, 121]


@pytest.mark.slow  # compiles for three sizes
def test_hex_by_gtp(tmp_path):
    """Black is Red, who begins; other sizes and a swap in the word of HexGui."""
    talk = Talk("hex5")
    for line in ("boardsize 3", "play black c1", "play white swap-pieces", "play b b2"):
        assert talk.ask(line) == "=", line
    assert talk.ask("showboard").splitlines()[1:4] == ["1 . . .", "2  . R .", "3   B . ."]
    assert talk.ask("gogui-rules_board").splitlines()[1:] == ["O . .", ". X .", ". . ."], "row 1 is the last"
    file = tmp_path / "game.sgf"
    file.write_text("(;GM[11]SZ[4];B[a1];W[d4])")
    assert talk.ask(f"loadsgf {file}") == "="
    assert talk.engine.game == make("hex5", size=4)
    assert talk.ask("boardsize 27") == "? unacceptable size"
