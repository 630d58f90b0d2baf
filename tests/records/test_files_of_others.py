"""What other programs and people write: files that keep to no rule by the letter, and some that nobody writes."""

import json

import pytest

from jaxgo.core.errors import UsageError
from jaxgo.frontends import board as boards
from jaxgo.games import make
from jaxgo.records import json_file, psq, sgf, sgf_nodes
from jaxgo.records.record import GameRecord


def test_a_value_that_does_not_end_is_looked_for_once():
    """Each of these would be looked for up to the end of the file again, which would take hours."""
    for text, told in (
        ("(;GM[1]\n;C" + "[" * 300_000, "line 2: a value without its"),
        ("(;GM[1])\n" + "[" * 300_000, ""),
    ):
        assert [line for line, _ in sgf_nodes.games(text)] == [1]
        (one,) = sgf.read_all(text)
        assert told in str(one) if told else isinstance(one, GameRecord)
    assert len([*sgf.read_all("(;GM[1])\n\nThe next one, by Ann:\n\n(;GM[1])")]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("rules", ["", "RU[Japanese]", "RU[house]"])
def test_a_position_may_come_back_where_no_rule_of_a_file_forbids_it(rules):
    """Two stones are sent and one returns: by superko that is no move, and was no game."""
    text = f"(;GM[1]SZ[9]{rules}KM[6.5]AB[ba][da][cb]AW[ab][bb];B[aa];W[ca];B[ba])"
    record = sgf.read(text)
    assert boards.of_record(record).moves == ["A9", "C9", "B9"]
    again = sgf.read(sgf.write(record))
    assert (again.game, again.start, again.moves) == (record.game, record.start, record.moves)
    assert sgf.read(text, make("go9")).game.ko == ("simple" if rules else "positional"), "what it does not say stays"
    with pytest.raises(UsageError, match="move 3, 'B9' is not legal"):
        boards.of_record(
            sgf.read(text.replace("KM", "RU[Tromp-Taylor]KM") if not rules else text.replace(rules, "RU[Tromp-Taylor]"))
        )


def test_what_programs_write_by_no_rule_is_read_as_it_is_meant():
    assert sgf.read("(;GM[1]SZ[9]KM[6,5];B[ee])").game.komi == 6.5
    for handicap, seat in (("two", 0), ("-3", 0), ("", 0), ("1", 0), ("2", 1), ("02", 1), ("10", 1)):
        assert sgf.read(f"(;GM[1]SZ[9]HA[{handicap}]AB[aa][ii])").first == seat, handicap
    assert sgf.read("(;GM[1]SZ[9]HA[two]AB[gc][cg];W[ee])").game.handicap == 2
    for told, moves in (("B", ";W[ee]"), ("W", ";B[ee]")):
        record = sgf.read(f"(;GM[1]SZ[9]PL[{told}]AB[aa]AW[bb]{moves})")
        assert record.first == "BW".index(moves[1])


def test_players_without_a_name_come_back():
    game = make("gomoku9")
    for players, again in (
        ((), ()),
        (("Ann",), ("Ann", "")),
        (("", "Bob"), ("", "Bob")),
        (("Ann", ""), ("Ann", "")),
        (("", ""), ()),
        (("Ann", "-7"), ("Ann", "-7")),
    ):
        assert psq.read(psq.write(GameRecord(game, "gomoku9", (4,), players=players))).players == again
    head = "Piskvorky 9x9, 11:11, 0\n1,1,0\n"
    told = {
        "": (),
        "-1\n": (),
        "Ann\n-1\n": ("Ann", ""),
        "Ann\nBob\n": ("Ann", "Bob"),
        "Ann\nBob\n-1\n": ("Ann", "Bob"),
    }
    assert {rest: psq.read(head + rest).players for rest in told} == told


@pytest.mark.parametrize("names", [["Ann"], ["Ann", "Bob", "Cid"]])
def test_a_game_in_json_has_a_name_for_each_seat_or_none(names):
    told = f'"players" has {len(names)} names, and 2 play this game'
    with pytest.raises(UsageError, match=told):
        json_file.read(json.dumps({"jaxgo": 1, "game": "tictactoe", "moves": [], "players": names}))
    with pytest.raises(UsageError, match=told):
        json_file.write(GameRecord(make("tictactoe"), "tictactoe", (), players=tuple(names)))
