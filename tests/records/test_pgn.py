"""Games of chess in PGN: known games end as they did, what is written is read again, and mistakes are one sentence."""

import dataclasses
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgo.arena import games_file, review, statistics
from jaxgo.arena.records import PairResult
from jaxgo.cli.main import main
from jaxgo.core.errors import UsageError
from jaxgo.frontends import board as boards
from jaxgo.games import make
from jaxgo.records import formats, pgn
from jaxgo.records.record import GameRecord

CHESS, GARDNER, GO = make("chess"), make("gardner"), make("go9")
SETUP = "r3k2r/8/8/3pP3/8/8/8/R3K2R w Kq d6 7 1"
OPERA = """[Event "Paris, \\"the Opera\\""]
[White "Morphy, Paul"]
[Black "Duke Karl & Count Isouard"]
[Result "1-0"]

1. e4 e5 2. Nf3 d6 3. d4 Bg4 {This is a weak move
already.} 4. dxe5 Bxf3 ( 4... dxe5 5. Qxd8+ (5. Nxe5 {a piece) ; not} Bxd1) 5... Kxd8 )
5. Qxf3 dxe5 6. Bc4 Nf6 $2 7. Qb3 Qe7 ; he must (
% a line for programs, with 9. h4
8. Nc3 c6 9.Bg5 b5?! 10.Nxb5! cxb5 11.Bxb5+ Nbd7 12.0-0-0 Rd8 13 Rxd7 Rxd7 14 . Rd1 Qe6
15. Bxd7 + Nxd7 16. Qb8!! Nxb8 17. Rd8++ 1-0
"""
IMMORTAL = """1.e4 e5 2.f4 exf4 3.Bc4 Qh4+ 4.Kf1 b5 5.Bxb5 Nf6 6.Nf3 Qh6 7.d3 Nh5 8.Nh4 Qg5 9.Nf5 c6 10.g4 Nf6 11.Rg1
cxb5 12.h4 Qg6 13.h5 Qg5 14.Qf3 Ng8 15.Bxf4 Qf6 16.Nc3 Bc5 17.Nd5 Qxb2 18.Bd6 Bxg1 19.e5 Qxa1+ 20.Ke2 Na6 21.Nxg7+ Kd8
22.Qf6+ Nxf6 23.Be7# 1-0"""
SCHOLAR = "1. e2-e4 e7-e5 2. d1h5 Nb8c6 3. Bf1-c4 Ng8-f6?? 4. Qh5xf7 mate"
LOYD = """1. e3 a5 2. Qh5 Ra6 3. Qxa5 h5 4. h4 Rah6 5. Qxc7 f6 6. Qxd7+ Kf7 7. Qxb7 Qd3 8. Qxb8 Qh7 9. Qxc8 Kg6
10. Qe6 1/2-1/2"""
THREE = "1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 5. e4 e5 1-0"


def drawn(game, plies, seed=0, start=""):
    """Random moves."""
    draw, box, moves = random.Random(seed), game.mailbox(start or game.read_fen()), []
    while len(moves) < plies and (legal := box.moves()) and not box.drawn and box.times < 3:
        moves.append(draw.choice(legal))
        box.play(moves[-1])
    return tuple(moves)


def names(record):
    return [record.game.action_name(action) for action in record.moves]


@pytest.mark.parametrize("word", ["{", '[a "', '[a "b" '])
def test_a_text_of_things_that_do_not_end_is_read_once(word):
    """The end of each was looked for to the end of the text: that would be minutes here."""
    text = '1. e4 e5 1-0\n\n[White "A "B" C"]\n\n1. d4 ' + 50_000 * word
    one, two = pgn.read_all(text)
    assert len(one.moves) == 2
    assert isinstance(two, UsageError)
    assert "line 5: game 2: a " in str(two)


# -- known games -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "plies", "returns", "mate"),
    [
        (OPERA, 33, (1.0, -1.0), True),
        (IMMORTAL, 45, (1.0, -1.0), True),
        (SCHOLAR.replace("mate", "1-0"), 7, (1.0, -1.0), True),
        ("1. f3 e5 2. g4 Qh4# 0-1", 4, (-1.0, 1.0), True),
        (LOYD, 19, (0.0, 0.0), False),
    ],
    ids=["opera", "immortal", "scholar", "fool", "loyd"],
)
def test_known_games_end_as_they_did(text, plies, returns, mate):
    record = formats.read(text)
    assert (record.game, len(record.moves), record.returns) == (CHESS, plies, returns)
    box = CHESS.mailbox(CHESS.read_fen())
    for action in record.moves:
        assert box.legal(action)
        box.play(action)
    assert not box.moves()
    assert box.check == mate
    assert box.seat == (0 if returns[0] < 0 else 1)


def test_what_stands_beside_the_moves_is_passed_over_or_kept():
    record = formats.read(OPERA)
    assert record.players == ("Morphy, Paul", "Duke Karl & Count Isouard")
    assert record.comments == {6: "This is a weak move already.", 14: "he must ("}
    assert names(record)[22] == "e1c1"
    assert (record.lines[0], record.lines[-1]) == (6, 11)
    assert formats.read(OPERA.encode()).moves == record.moves
    assert formats.read("1. e4 {x [%clk 0:03:00]} e5 {[%eval 0.1]} *").comments == {1: "x"}
    assert formats.read('[White "A "q""]\n[Black "?"]\n\n*').players == ('A "q"', "")


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("1. e4 e5 2. Nf3 Nf6 3. Bc4 Bc5 4. 00 00 *", "e2e4 e7e5 g1f3 g8f6 f1c4 f8c5 e1g1 e8g8"),
        ("1. ♘f3 d5 2. ♞c3 ♟d4 *", "g1f3 d7d5 b1c3 d5d4"),
        ("{Annotated} 1. e4 {[good]} e5 *", "e2e4 e7e5"),
        ("; " + 300 * "x" + '\n[Event "a"]\n\n1. e4 *', "e2e4"),
        ('[White "a"]\n[ECO "C50"]\n[ECO "C50"]\n[Result "1-0"]\n\n1. e4 e5 1-0 1-0\n', "e2e4 e7e5"),
    ],
)
def test_what_other_programs_and_people_write_is_read(text, moves):
    (record,) = pgn.read_all(text)
    assert [CHESS.action_name(action) for action in record.moves] == moves.split()
    assert formats.read(text) == record


def test_commands_that_do_not_end_are_looked_at_once():
    """By a pattern that takes further openings into a command this would take an hour."""
    assert pgn.COMMAND.sub("", "a [%x [%clk 0:03] b [%c") == "a [%x  b [%c"
    assert pgn.read("{" + "[%" * 10**6 + "} 1. e4 *").comments == {0: "[%" * 10**6}


def test_comments_are_joined_once():
    """Not at each of them, which would take ever longer."""
    (told,) = pgn._games("1. e4 {a} {} {b c} ; d\n e5 {} *")
    assert told.comments == {1: ["a", "b", "c", "d"], 2: []}
    assert pgn._record(told).comments == {1: "a b c d"}


def test_a_square_that_nobody_can_capture_on_is_no_part_of_the_start():
    """Many programs write it after every double step; the board keeps players and result all the same."""
    start = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1"
    record = pgn.read(f'[White "Ann"]\n[Result "1-0"]\n[FEN "{start}"]\n\n1... e5 1-0')
    assert record.start.split()[3] == "-"


def test_a_game_is_read_as_far_as_it_is_asked_for():
    record = formats.read(OPERA, upto=3)
    assert (names(record), record.returns, record.comments) == (["e2e4", "e7e5", "g1f3"], None, {})
    assert formats.read("1. e4 e5 2. Ke3", upto=2).moves == record.moves[:2]


# -- there and back --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("game", "name"), [(CHESS, "chess"), (GARDNER, "gardner")], ids=["chess", "gardner"])
def test_games_come_back(game, name):
    for seed, returns in enumerate([(1.0, -1.0), (-1.0, 1.0), (0.0, 0.0), None]):
        moves = drawn(game, 40 + seed if returns else 9, seed)
        record = GameRecord(
            game, name, moves, "", ('a "b\\', "c]"), returns, comments={0: "so", 3: "100 %x " * 60 + "} y"}
        )
        text = formats.write(record, "pgn")
        assert max(map(len, text.splitlines())) < 80
        assert not [line for line in text.splitlines() if line[:1] == "%"]
        assert ('[Variant "Gardner"]' in text) == (game is GARDNER)
        again = formats.read(text)
        told = again.game, again.name, again.moves, again.start, again.players, again.returns
        assert told == (game, name, moves, "", record.players, returns)
        assert again.comments == {0: "so", 3: "100 %x " * 60 + ") y"}
        assert formats.write(again, "pgn") == text


def test_the_export_format():
    moves = tuple(map(CHESS.parse_action, ["f2f3", "e7e5", "g2g4", "d8h4"]))
    record = GameRecord(CHESS, "chess", moves, "", ("Ann",), (-1.0, 1.0), reason="by the rules", comments={1: "oh"})
    assert formats.write(record, "pgn") == (
        '[Event "?"]\n[Site "?"]\n[Date "????.??.??"]\n[Round "?"]\n[White "Ann"]\n[Black "?"]\n[Result "0-1"]\n'
        '[Termination "normal"]\n\n1. f3 {oh} 1... e5 2. g4 Qh4# 0-1\n'
    )


def test_a_start_of_its_own_is_a_fen():
    moves = drawn(CHESS, 9, 1, SETUP)
    text = formats.write(GameRecord(CHESS, "chess", moves, SETUP), "pgn")
    assert f'[FEN "{SETUP}"]\n[SetUp "1"]\n' in text
    again = formats.read(text)
    assert (again.game, again.start, again.moves) == (CHESS, SETUP, moves)
    own = make("chess", fen=SETUP)
    assert formats.write(GameRecord(own, "chess", moves), "pgn") == text, "where the game begins so"
    assert formats.read(text, own).start == "", "which it then is"
    assert formats.read("1. e4 *", own).start == CHESS.read_fen()
    black = formats.write(formats.read('[FEN "4k3/8/8/8/8/8/8/R3K3 b - - 0 1"]\n1... Kd7 2. Kd2 *'), "pgn")
    assert "\n1... Kd7 2. Kd2 *\n" in black
    usual = formats.read('[SetUp "1"]\n[FEN "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"]\n1. e4 *')
    assert usual.start == ""
    assert "FEN" not in formats.write(usual, "pgn")


def test_how_it_ended_comes_back():
    for verdict, reason, told in [
        ("W+R", "resigned", "resigned"),
        ("B+T", "", "time forfeit"),
        ("B+R", "", "resigned"),
    ]:
        returns = (1.0, -1.0) if verdict[0] == "B" else (-1.0, 1.0)
        record = GameRecord(CHESS, "chess", (), returns=returns, verdict=verdict, reason=reason)
        text = formats.write(record, "pgn")
        assert f'[Termination "{told}"]' in text
        again = formats.read(text)
        assert (again.verdict, again.returns, again.reason) == (verdict, returns, told)
    theirs = formats.read('[Result "0-1"]\n[Termination "Bob won by resignation"]\n1. e4 0-1')
    assert (theirs.verdict, theirs.returns) == ("W+R", (-1.0, 1.0))
    assert formats.read('[Result "1-0"]\n[Termination "Normal"]\n1. e4 *').returns == (1.0, -1.0)


@pytest.mark.parametrize(
    ("white", "black", "end", "verdict"),
    [
        ("Timeo", "Bob", "Timeo won by checkmate", "B+"),
        ("Time Lord", "Bob", "Time Lord won by checkmate", "B+"),
        ("Tim", "Resigner", "Tim won on time", "B+T"),
        ("A", "Bob", "a won by resignation", "B+R"),
        ("Al", "Bob", "time forfeit", "B+T"),
        ("Al", "Bob", "Black resigns", "B+R"),
        ("Al", "Bob", "overtimed sentiment", "B+"),
        ("Al", "Bob", "won by timeout", "B+T"),
    ],
)
def test_how_it_ended_is_told_by_words_and_not_by_names(white, black, end, verdict):
    record = formats.read(f'[White "{white}"]\n[Black "{black}"]\n[Termination "{end}"]\n1. e4 1-0')
    assert record.verdict_or_letter() == verdict


def test_a_file_without_a_result_may_tell_a_game_that_is_over():
    assert formats.read(IMMORTAL.replace("1-0", "*")).returns == (1.0, -1.0)
    assert formats.read("1. f3 e5 2. g4 Qh4").returns == (-1.0, 1.0)
    assert formats.read(LOYD.replace("1/2-1/2", "*")).returns == (0.0, 0.0)
    assert formats.read(THREE.replace("1-0", "*")).returns == (0.0, 0.0)
    going = formats.read("1. e4 e5 *")
    assert (going.returns, going.verdict) == (None, "?")
    again = formats.read(formats.write(going, "pgn"))
    assert (again.moves, again.returns, again.verdict) == (going.moves, None, "?")


def test_moves_behind_a_draw_are_left_out_and_told():
    record = formats.read(THREE)
    assert (len(record.moves), record.returns) == (8, (1.0, -1.0))
    assert record.comments == {8: "the file goes on by 2 plies; by the rules here the game is over"}
    free = formats.read(THREE, make("chess", repetition="none"))
    assert (len(free.moves), free.comments) == (10, {})
    bare = formats.read('[FEN "4k3/8/8/8/8/8/4q3/4K3 w - - 0 1"]\n1. Kxe2 Kd7 2. Kd3 *')
    assert (len(bare.moves), list(bare.comments)) == (1, [1])
    with pytest.raises(UsageError, match=r"line 2: game 1: 10... Kh6 is not legal; legal moves are: none"):
        formats.read(LOYD.replace("1/2-1/2", "Kh6"))


def test_a_game_may_be_longer_than_jaxgos_own():
    moves = drawn(CHESS, 70, 5)
    assert len(moves) > 50
    text = formats.write(GameRecord(CHESS, "chess", moves), "pgn")
    short = make("chess", max_plies=50)
    assert formats.read(text, short).game == make("chess", max_plies=2 * len(moves))


# -- many games ------------------------------------------------------------------------------------------------------
def test_a_collection(tmp_path):
    path = tmp_path / "games.pgn"
    path.write_text(f"% made by hand\n\n{OPERA}\n{IMMORTAL}\n\n{LOYD}\n1. e4 *\n" + f'[FEN "{SETUP}"]\n\n1. O-O 0-1\n')
    found = formats.load_all(path)
    assert list(found) == [f"{path}: game {number}" for number in range(1, 6)]
    assert [len(record.moves) for record in found.values()] == [33, 45, 19, 1, 1]
    assert formats.load(path) == found[f"{path}: game 1"]
    assert list(review.read([path])) == list(found), "all of one kind"
    told = statistics.count(statistics.read(path), 1)
    assert (told.games, told.unfinished) == (4, 1)
    assert told.results == {statistics.FIRST: 2, statistics.SECOND: 1, statistics.DRAWN: 1}
    assert {opening.moves: opening.games for opening in told.openings} == {("e2e4",): 2, ("e2e3",): 1}
    path.write_text(f"{OPERA}\n{IMMORTAL.replace('4.Kf1', '4.Kf2')}")
    with pytest.raises(
        UsageError, match=r"games.pgn: line 13: game 2: 4. Kf2 is not legal; legal moves are: g2g3, e1e2, e1f1"
    ):
        formats.load_all(path)
    assert len(formats.load(path).moves) == 33


def test_what_is_wrong_with_a_game_ends_no_other(tmp_path, capsys):
    good, path = '[White "a"]\n\n1. e4 1-0\n\n', tmp_path / "games.pgn"
    wrong = ("1. e5 1-0", "1. e4 {a comment 1-0", "1. e4 (1. d4 1-0", "1. e4 ) e5 1-0")
    path.write_text(good + "".join(f'[White "b"]\n\n{moves}\n\n{good}' for moves in wrong))
    found = formats.load_each(path)
    assert [isinstance(one, UsageError) for one in found.values()] == [False, True] * 4 + [False]
    said = [str(one) for one in found.values() if isinstance(one, UsageError)]
    assert "games.pgn: line 7: game 2: 1. e5 is not legal" in said[0]
    assert "line 15: game 4: a comment without its '}'" in said[1]
    assert "game 6: it ends inside a variation; a ')' is missing" in said[2]
    assert "line 31: game 8: a ')' without its '('" in said[3]
    assert main(["stats", str(path)]) == 0
    out, error = capsys.readouterr()
    assert "5 finished games" in out
    assert "4 games with a mistake are left out, of 9: " in error


def test_games_without_a_result_end_where_the_next_one_begins():
    first, second = pgn.read_all('[White "a"]\n1. e4\n[White "b"]\n1. d4')
    assert (first.players, names(first), first.returns) == (("a", ""), ["e2e4"], None)
    assert (second.players, names(second)) == (("b", ""), ["d2d4"])


def test_matches_save_games_of_chess_so(tmp_path):
    moves = drawn(CHESS, 12)
    pair = PairResult("chess", "one", "two", 1.0, 0.5, "id")
    paths = games_file.save(tmp_path, CHESS, pair, moves[:4], [moves[4:], []])
    assert [path.suffix for path in paths] == [".pgn"] * 2
    assert games_file.load(tmp_path, CHESS, pair, 0) == [*moves]
    assert formats.load(paths[0]).comments == {4: "the opening ends here"}
    start = "4k3/8/8/8/8/8/8/4K2R w K - 0 1"
    other = make("chess", repetition="none", fen=start)
    assert not pgn.tells_all(other), "no tag has that"
    pair = dataclasses.replace(pair, options=("repetition=none", f"fen={start}"))
    (path, _) = games_file.save(tmp_path, other, pair, [], [[other.parse_action("h1h8")], []])
    assert path.suffix == ".txt"
    assert formats.load(path).game == other


# -- what is wrong ---------------------------------------------------------------------------------------------------
BAD = {
    "1. e4 e5\n2. Ke3 *": "line 2: game 1: 2. Ke3 is not legal; legal moves are: .* and 21 more",
    "1. e4 *\n\n1. e4 e5 2. Nf3 Nf6\n3. Nd2 *": "line 4: game 2: 3. Nd2 is not legal",
    "1. Nf3 a6 2. d3 a5 3. Nd2 *": "line 1: game 1: 3. Nd2 may be any of f3d2, b1d2",
    "1. e4 e5 2. hello *": "game 1: 2. hello names no move; legal moves are: ",
    "1. e4 -- *": "game 1: 1... -- names no move",
    "1. e4 #\n2. f9 e5 *": "line 2: game 1: 1... f9 is not legal",
    '[Event "x"]\n[Variant "Crazyhouse"]\n1. e4 *': "line 1: game 1 is of the variant 'Crazyhouse'; chess and",
    '[FEN "8/8 w - -"]\n*': "line 1: game 1: '8/8 w - -' is no FEN of this board",
    '[Variant "Gardner"]\n1. e4 *': r"line 2: game 1: 1. e4 is not legal; legal moves are: ",
    '1. e4 *\n\n[Result "1-0"]\n\n1. e4 e5': r"line 3: game 2 breaks off: no result \(1-0, 0-1, 1/2-1/2 or \*\) stands",
    '[Result "1-0"]\n\n[Result "1-0"]\n\n1. e4 1-0': "line 1: game 1 breaks off",
    "1. e4 {good": r"line 1: game 1: a comment without its '\}'",
    "1. e4\n(1. d4 (1. c4) d5": "line 2: game 1: the file ends inside a variation",
    "1. e4 ) *": r"line 1: game 1: a '\)' without its '\('",
    '[Event "x\n1. e4': r"line 1: game 1: a tag that is not written as \[Name \"value\"\]",
    "1. e4 } *": "line 1: game 1: '}' where none belongs",
}


@pytest.mark.parametrize("text", list(BAD), ids=lambda text: text[:30])
def test_bad_files_are_refused_by_their_line(text):
    assert formats._reader(text) is pgn.read
    wrong = next(one for one in pgn.read_all(text) if isinstance(one, UsageError))
    assert (re.match if BAD[text].startswith("line") else re.search)(BAD[text], str(wrong))


def test_a_file_of_another_game_is_refused():
    with pytest.raises(UsageError, match="game 1: the file tells of chess, and this is Go"):
        formats.read(OPERA, GO)
    with pytest.raises(UsageError, match="game 1: the file tells of chess, and this is gardner"):
        formats.read(OPERA, GARDNER)
    with pytest.raises(UsageError, match="PGN tells of chess, not of go9; write JSON"):
        formats.write(GameRecord(GO, "go9", ()), "pgn")
    with pytest.raises(UsageError, match="move 2, 'e2e4', is not legal"):
        formats.write(GameRecord(CHESS, "chess", (CHESS.parse_action("e2e4"),) * 2), "pgn")
    with pytest.raises(UsageError, match="there is no game in this PGN"):
        pgn.read("% nothing\n")


def test_formats_tell_of_their_games():
    assert formats.kinds(CHESS) == formats.kinds(GARDNER) == ["pgn", "json"]
    assert formats.kinds(GO) == ["sgf", "json"]
    assert formats.kinds(make("gomoku15")) == ["sgf", "psq", "gzero", "json"]
    assert formats.kinds(make("tictactoe")) == ["json"]


PARTS = st.sampled_from(
    [
        "1. e4",
        "e5",
        "Nf3",
        "(",
        ")",
        "{x}",
        "{",
        "; y\n",
        "\n",
        "%",
        "*",
        "1-0",
        '[Result "1-0"]',
        "[",
        '"',
        "O-O",
        "$3",
        "é",
    ]
)


@settings(max_examples=150)
@given(st.lists(PARTS, max_size=20).map(" ".join))
def test_whatever_stands_in_a_pgn_it_is_read_or_refused(text):
    records = [one for one in pgn.read_all(text) if not isinstance(one, UsageError)]
    assert all(0 <= action < CHESS.num_actions for record in records for action in record.moves)


@pytest.mark.slow
def test_a_board_takes_a_pgn_and_gives_it_again():
    record = formats.read(formats.write(GameRecord(CHESS, "chess", (), SETUP), "pgn").replace("\n*", "\n1. exd6 Kf8 *"))
    board = boards.of_record(record)
    assert board.moves == ["e5d6", "e8f8"]
    assert boards.to_record(board, "chess").start == SETUP
    assert board.play(board.read("Rxh8+")).moves[-1] == "h1h8"
    for move, said in (("R", "no action is called 'R'"), ("Kf3", "'Kf3' is not legal; legal moves are: ")):
        with pytest.raises(UsageError, match=said):
            board.read(move)
    knights = boards.from_text(CHESS, "4k3/8/8/8/8/5N2/8/1N2K3 w - - 0 1")
    with pytest.raises(UsageError, match="'Nd2' may be any of f3d2, b1d2; say which"):
        knights.read("Nd2")
    gave_up = formats.read('[Result "0-1"]\n[Termination "White resigns"]\n1. e4 e5 0-1')
    assert boards.of_record(gave_up).resigned == 0
