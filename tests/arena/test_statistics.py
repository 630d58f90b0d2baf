"""Statistics of a folder of games: ten games by hand, two of them repeated and one unfinished."""

import json
import sys

import jax
import pytest

from jaxgo.arena import statistics
from jaxgo.cli import main as cli
from jaxgo.core.errors import UsageError
from jaxgo.games import make
from jaxgo.records import formats
from jaxgo.records.record import GameRecord

GAME = make("gomoku", size=9)
OTHER_START = "/".join(["........X", *["........."] * 8]) + " 1"
WON, LOST, EVEN = (1.0, -1.0), (-1.0, 1.0), (0.0, 0.0)
# moves and results; the third and the seventh are the same as the first and the second
PLAYED = [
    ((40, 41, 42), WON), ((40, 31, 1, 2), LOST), ((40, 41, 42), WON), ((30, 41, 3, 4, 5), WON), ((40, 41, 50), EVEN),
    ((30, 31, 32), LOST), ((40, 31, 1, 2), LOST), ((20, 21), None), ((40, 41, 60, 61, 62, 63), WON), ((30, 41), EVEN),
]  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    for number, (moves, returns) in enumerate(PLAYED):
        record = GameRecord(GAME, "gomoku", moves, returns=returns)
        path = tmp_path / ("sub" if number % 2 else "") / f"{number}.{'sgf' if number % 3 else 'json'}"
        path.parent.mkdir(exist_ok=True)
        formats.save(path, record)
    return tmp_path


def test_ten_games_by_hand(folder, capsys):
    found = statistics.count(statistics.read(folder))
    assert (found.games, found.unfinished) == (9, 1)
    assert found.results == {statistics.FIRST: 4, statistics.SECOND: 3, statistics.DRAWN: 2}
    assert found.moves[""] == pytest.approx(33 / 9)
    assert found.moves[statistics.FIRST] == pytest.approx(17 / 4)
    assert found.moves[statistics.SECOND] == pytest.approx(11 / 3)
    assert found.repeated == {statistics.FIRST: 1, statistics.SECOND: 1}
    assert cli.main(["stats", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["results"] == found.results
    assert cli.main(["stats", str(folder), "--plies", "1"]) == 0
    said = capsys.readouterr().out
    assert "9 finished games, 1 unfinished" in said
    assert "first mover won: 4 (44.4%), after 4.2 moves on average" in said
    assert "the same as a game before: 2" in said


def test_the_first_mover_is_who_begins(tmp_path):
    """White, where Black has a handicap or a start says so."""
    (tmp_path / "a.sgf").write_text("(;GM[1]SZ[9]HA[2]AB[cg][gc]KM[0.5]RE[B+R];W[ee];B[dd])")
    (tmp_path / "b.sgf").write_text("(;GM[1]SZ[9]PL[W]KM[0.5]AB[aa]RE[W+R];W[ee];B[dd])")
    results = [statistics.count([record]).results for record in statistics.read(tmp_path / "a.sgf")]
    assert results == [{statistics.FIRST: 0, statistics.SECOND: 1, statistics.DRAWN: 0}]
    (record,) = statistics.read(tmp_path / "b.sgf")
    assert statistics.count([record]).results[statistics.FIRST] == 1


def test_moves_of_a_start_are_played_before_those_of_the_game(tmp_path):
    for number, (start, moves) in enumerate((("start a1 a2", "b1 b2 c1"), ("", "a1 a2 b1 b2 c1"))):
        told = {"jaxgo": 1, "game": "tictactoe", "start": start, "moves": moves.split()}
        (tmp_path / f"{number}.json").write_text(json.dumps(told))
    assert [record.returns for record in statistics.read(tmp_path)] == [WON, WON]


def test_one_file_is_read_too(folder):
    (record,) = statistics.read(folder / "0.json")
    assert record.moves == PLAYED[0][0]
    (folder / "notes.md").write_text("")
    with pytest.raises(UsageError, match="there are no games below"):
        statistics.read(folder / "notes.md")


def test_all_games_of_a_collection_count(folder, tmp_path):
    whole = statistics.count(statistics.read(folder))
    path = tmp_path / "all.sgf"
    path.write_text("".join(formats.write(record, "sgf") for record in statistics.read(folder)))
    assert statistics.count(statistics.read(path)) == whole
    path.write_text(path.read_text() + "(;GM[1]SZ[9]RE[B+])")
    with pytest.raises(UsageError, match=r"all.sgf: game 11 is a game of another kind than .*all.sgf: game 1;"):
        statistics.read(path)


def test_one_game_with_a_mistake_leaves_the_others_of_its_collection(tmp_path, capsys):
    game = "(;GM[4]SZ[9]RE[B+];B[ee])\n"
    (tmp_path / "all.sgf").write_text(game + "(;GM[4]SZ[9]RE[B+];B[zz])\n" + 2 * game)
    assert cli.main(["stats", str(tmp_path)]) == 0
    out, error = capsys.readouterr()
    assert "3 finished games" in out
    assert "a game with a mistake is left out, of 4: " in error
    assert "all.sgf: line 2: B[zz] is no point" in error


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.sgf", "(;GM[4]SZ[9]RE[B+]\n;B[ee]\n;W[ee])", "a.sgf: line 3: move 2, 'e5' is not legal"),
        ("a.psq", "Piskvorky 9x9, 11:11, 0\n5,5,0\n5,5,0\na\nb\n-1\n", "a.psq: line 3: move 2, 'e5' is not legal"),
    ],
)
def test_games_that_cannot_have_been_played_do_not_count(name, text, said, folder, capsys):
    """Where a file told a result its moves were not tried; where it tells none the game was an unfinished one."""
    (folder / name).write_text(text)
    assert cli.main(["stats", str(folder)]) == 0
    out, error = capsys.readouterr()
    assert "9 finished games, 1 unfinished" in out
    assert "a game with a mistake is left out, of 11: " in error
    assert said in error


def test_openings_by_hand(folder):
    found = {opening.moves: opening for opening in statistics.count(statistics.read(folder)).openings}
    centre, corner = GAME.action_name(40), GAME.action_name(30)
    assert (found[(centre,)].games, found[(centre,)].score) == (6, pytest.approx(3.5 / 6))
    assert (found[(corner,)].games, found[(corner,)].score) == (3, pytest.approx(0.5))
    both = found[(centre, GAME.action_name(41))]
    assert (both.games, both.score) == (4, pytest.approx(3.5 / 4))
    # Wilson's interval of 3 points of 6: (0.5 + 0.32) / 1.64 = 0.5 in its middle, and 0.188 to 0.812
    share, low, high = statistics.wilson(3.0, 6)
    assert (share, round(low, 3), round(high, 3)) == (0.5, 0.188, 0.812)
    assert all(0.0 <= opening.low <= opening.score <= opening.high <= 1.0 for opening in found.values())


def test_a_game_that_comes_again_and_again_is_no_more_certain():
    """As players without luck play it: 40 wins of the first mover were 91 to 100 %."""
    (opening, *_) = statistics.count([GameRecord(GAME, "gomoku", (40, 41, 42), returns=WON)] * 40, 1).openings
    assert (opening.games, opening.score) == (40, 1.0)
    assert (opening.low, opening.high) == pytest.approx(statistics.wilson(1.0, 1)[1:])


def test_games_that_began_elsewhere_are_other_games():
    usual = GameRecord(GAME, "gomoku", (40, 41), returns=WON)
    other = GameRecord(GAME, "gomoku", (40, 41), start=OTHER_START, returns=WON)  # by the second mover
    found = statistics.count([usual, other, usual, other, other])
    assert found.repeated == {statistics.FIRST: 1, statistics.SECOND: 2}
    assert [(opening.games, opening.score) for opening in found.openings] == [(2, 1.0), (2, 1.0)]


def test_the_rules_say_how_a_game_ended_where_its_file_does_not(tmp_path):
    five = (40, 0, 41, 1, 42, 2, 43, 3, 44)
    played = [five, five[:-1], (80, *five), (0, 1)]  # the third is won by the second mover
    for number, moves in enumerate(played):
        formats.save(tmp_path / f"{number}.{'psq' if number % 2 else 'gzero'}", GameRecord(GAME, "gomoku", moves))
    found = statistics.count(statistics.read(tmp_path))
    assert (found.games, found.unfinished) == (2, 2)
    assert found.results == {statistics.FIRST: 1, statistics.SECOND: 1, statistics.DRAWN: 0}
    assert found.moves[""] == 9.5


def test_texts_of_matches_are_read_and_other_kinds_refused(tmp_path):
    head = "game: connect3d\nseat 0: a\nseat 1: b\nresult of seat 0: 0.5\nopening: 0 plies\nid: x\n\n"
    (tmp_path / "one.txt").write_text(head + "1 0 22\n2 1 23\n")
    (record,) = statistics.read(tmp_path)
    assert record.returns == (0.0, 0.0)
    assert [record.game.action_name(action) for action in record.moves] == ["22", "23"]
    (tmp_path / "one.txt").write_text(head.replace("0.5", "0.55") + "1 0 22\n")
    (opening,) = statistics.count(statistics.read(tmp_path)).openings
    assert opening.score == pytest.approx(0.55), "a share of a win, as ratings count it"
    (tmp_path / "one.txt").write_text(head.replace("0.5", "1") + "1 0 22\n")
    assert statistics.read(tmp_path)[0].returns == WON
    (tmp_path / "one.txt").write_text(head + "".join(f"{ply + 1} {ply % 2} 22\n" for ply in range(7)))
    with pytest.raises(UsageError, match=r"one.txt: move 7, '22', is not legal"):
        statistics.read(tmp_path)
    (tmp_path / "one.txt").write_text(head + "1 0 22\n")
    (tmp_path / "two.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"two.txt: "):
        statistics.read(tmp_path)
    (tmp_path / "two.txt").unlink()
    formats.save(tmp_path / "two.sgf", GameRecord(GAME, "gomoku", (40,), returns=WON))
    with pytest.raises(UsageError, match="another kind"):
        statistics.read(tmp_path)
    with pytest.raises(UsageError, match="there are no games below"):
        statistics.read(tmp_path / "nowhere")


def test_files_that_are_no_games_are_left_out_and_told(tmp_path, capsys):
    wrong = "game: tictactoe\nresult of seat 0: 17\n\n1 0 b2\n"
    foreign = {"17.txt": wrong, "0.json": "[]", "notes.txt": "a plan", "torn.sgf": "(;GM[4", "x.json": '{"jaxgo": 1'}
    for name, text in foreign.items():
        (tmp_path / name).write_text(text)
    assert cli.main(["stats", str(tmp_path)]) == 2
    assert "0.json: " in capsys.readouterr().err
    told = {"jaxgo": 1, "game": "tictactoe", "moves": ["b2"], "returns": [0, 0]}
    (tmp_path / "good.json").write_text(json.dumps(told))
    (tmp_path / "start.json").write_text(json.dumps({"jaxgo": 1, "game": "tictactoe", "start": "start z9"}))
    assert cli.main(["stats", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "1 finished games, 0 unfinished" in said.out
    assert "6 games with a mistake are left out, of 7: " in said.err
    assert "0.json: line 1" in said.err
    with pytest.raises(UsageError, match=r"notes.txt: line 1: this is no SGF"):
        statistics.read(tmp_path / "notes.txt")
    with pytest.raises(UsageError, match=r"17.txt: result of seat 0 is a share of a win from 0 to 1"):
        statistics.read(tmp_path / "17.txt")
    with pytest.raises(UsageError, match=r"start.json: "):
        statistics.read(tmp_path / "start.json")


def test_a_long_game_of_go_is_no_other_kind(tmp_path):
    line = (
        "bcdceddeaadaaeeebbcbbeebacddabccbddbbacacecdttadbcaeabacbeaabbbabdceacecadaebbadaceabeabbcbdacbbttbettedbcee"
    )
    moves = [f";{'BW'[ply % 2]}[{line[2 * ply : 2 * ply + 2]}]" for ply in range(54)]
    for name, plies in (("short", 2), ("long", 54)):  # 5x5 ends after 50
        (tmp_path / f"{name}.sgf").write_text(f"(;GM[1]SZ[5]RE[B+R]{''.join(moves[:plies])})")
    assert [len(record.moves) for record in statistics.read(tmp_path)] == [54, 2]


@jax.numpy_rank_promotion("allow")  # as people write their games
def test_a_game_of_ones_own_is_named_before_its_files_are_read(tmp_path, monkeypatch, capsys):
    own = "examples.own_game:Nim"
    files = {"a.json": json.dumps({"jaxgo": 1, "game": own, "moves": []}), "a.txt": f"game: {own}\n\n"}
    for name, text in files.items():
        monkeypatch.delitem(sys.modules, "examples.own_game", raising=False)
        (tmp_path / name).write_text(text)
        assert cli.main(["stats", str(tmp_path)]) == 2
        assert f"a game of {own}, a place in code that no file of data may start" in capsys.readouterr().err
        assert "examples.own_game" not in sys.modules
        (tmp_path / name).unlink()
    (tmp_path / "a.json").write_text(files["a.json"])
    assert cli.main(["stats", str(tmp_path), "--game", own]) == 0
    assert "1 unfinished" in capsys.readouterr().out
