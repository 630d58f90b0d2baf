"""Games in files: what is written is read again, sgfmill agrees, and what is wrong is refused by its line."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sgfmill import sgf as sgfmill

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.frontends import board as boards
from jaxgo.games import GAMES, make
from jaxgo.records import formats, gzero, json_file, psq, sgf, sgf_nodes
from jaxgo.records.record import GameRecord, winner

GO, GOMOKU = make("go9"), make("gomoku", size=9)


def random_board(game: Game, plies: int, seed: int = 0) -> boards.Board:
    draw, board = np.random.default_rng(seed), boards.begin(game)
    for _ in range(plies):
        if not board.over:
            board = board.play(int(draw.choice(board.legal())))
    return board


@pytest.fixture(scope="module")
def played() -> boards.Board:
    return random_board(GO, 60)


# -- there and back --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("form", ["sgf", "json"])
def test_a_game_of_go_comes_back(played, form):
    record = boards.to_record(played, "go9", ("a]b\\c", "<img onerror=x>"))
    again = formats.read(formats.write(record, form))
    assert (again.game, again.moves, again.players) == (GO, played.actions, record.players)
    board = boards.of_record(again)
    assert (board.now.cells == played.now.cells).all()
    assert board.actions == played.actions


@pytest.mark.parametrize("suicide", [False, True])
@pytest.mark.parametrize("ko", ["simple", "positional", "situational"])
def test_all_rules_of_go_come_back_in_sgf(ko, suicide):
    game = make("go9", ko=ko, suicide=suicide)
    text = sgf.write(GameRecord(game, "go9", (0, 1)))
    assert sgf.read(text).game == game
    assert sgf.read(text, make("go9", ko="simple", suicide=True)).game == game, "whatever was played before"


def test_a_limit_of_moves_comes_back_in_sgf_and_games_of_others_have_none():
    for limit in (20, 10_000):
        game = make("go9", move_limit=limit)
        assert sgf.read(sgf.write(GameRecord(game, "go9", (0, 1)))).game == game
    assert "ML" not in sgf.write(GameRecord(GO, "go9", (0, 1)))
    long = sgf.read("(;GM[1]SZ[5]" + ";B[aa];W[bb]" * 40 + ")")
    assert len(long.moves) == 80 < long.game.max_plies, "more moves than jaxgo's own limit on that board"
    assert sgf.read("(;GM[1]SZ[5]KM[7];B[aa])").game == make("go9", size=5, ko="simple")
    with pytest.raises(UsageError, match=r"line 1: ML\[x\] is not a number from 0 to 10000"):
        sgf.read("(;GM[1]SZ[9]ML[x])")


def test_properties_of_others_may_have_digits():
    """As those in which Lizzie keeps what two engines said."""
    record = sgf.read("(;GM[1]SZ[9];B[aa]LZOP[one 40.0 700]LZOP2[two 60.0 600]B2[cc];W[bb])")
    assert record.moves == sgf.read("(;GM[1]SZ[9];B[aa];W[bb])").moves


def test_rules_of_others_are_read_as_in_gtp():
    assert (sgf.read("(;GM[1]SZ[9]RU[Chinese])").game.ko, GO.ko) == ("simple", "positional")
    assert sgf.read("(;GM[1]SZ[9]RU[Tromp-Taylor])").game.ko == "positional"
    assert sgf.read("(;GM[1]SZ[9]KM[7]RU[koSIMPLEscoreAREAtaxNONEsui1whbN])").game == make(
        "go9", ko="simple", suicide=True
    )
    assert sgf.read("(;GM[1]SZ[9]RU[BGA])").game.ko == "situational", "by any name that GUIs have for rules"
    for name in ("New Zealand", "new_zealand", "NZ"):
        assert sgf.read(f"(;GM[1]SZ[9]RU[{name}])").game.suicide, name
    assert sgf.read("(;GM[1]SZ[9]RU[Tromp Taylor])").game.suicide
    assert not sgf.read("(;GM[1]SZ[9]KM[7]RU[koSITUATIONALscoreTERRITORYtaxSEKIsui1])").game.suicide, (
        "no areas, so not known"
    )


@pytest.mark.parametrize("form", ["sgf", "json", "psq", "gzero"])
def test_a_game_of_gomoku_comes_back(form):
    moves = tuple(GOMOKU.parse_action(name) for name in ["e5", "e6", "d5", "d6", "c5", "c6", "b5", "b6", "a5"])
    record = GameRecord(GOMOKU, "gomoku9", moves, players=("a", "b"))
    again = formats.read(formats.write(record, form))
    players = () if form == "gzero" else record.players
    assert (again.game, again.name, again.moves, again.players) == (GOMOKU, "gomoku9", moves, players)
    assert boards.of_record(again).result().returns == (1.0, -1.0)


def test_psq_is_piskvorks():
    record = GameRecord(make("gomoku15"), "gomoku15", (0, 15, 224), players=("pbrain-a.exe", "b"))
    assert psq.write(record) == "Piskvorky 15x15, 11:11, 0\n1,1,0\n1,2,0\n15,15,0\npbrain-a.exe\nb\n-1\n"


def test_a_name_in_psq_is_no_move():
    record = GameRecord(make("gomoku15"), "gomoku15", (112,), players=("1,1,1", "2,2,2"))
    assert psq.read(psq.write(record)).moves == (112,)


def test_zero_plus_reads_and_writes_the_size_and_then_column_and_row():
    record = GameRecord(make("gomoku15"), "gomoku15", (0, 15, 223), players=("a", "b"))
    assert gzero.write(record) == "15|0,0;0,1;13,14"
    again = formats.read("15|0,0;0,1;13,14")
    assert (again.game, again.moves, again.players) == (record.game, record.moves, ())
    assert formats.read(b" 9 | 4,4 ; 4,3;\r\n").moves == (40, 31)
    assert formats.read("9|").moves == ()
    assert gzero.read("9|4,4;99,1", upto=1).moves == (40,)
    no_moves = GameRecord(GOMOKU, "gomoku9", ())
    for unknown in (GameRecord(GO, "go9", (0,)), GameRecord(GOMOKU, "gomoku9", (0,), start="start"), no_moves):
        with pytest.raises(UsageError, match="the text of Zero"):
            gzero.write(unknown)


def test_every_registered_game_has_json_and_a_text():
    for name, game in GAMES.items():
        record = GameRecord(game, name, (0, 1), start="start", comments={1: "x"})
        again = json_file.read(json_file.write(record))
        assert (again.game, again.moves, again.comments) == (game, record.moves, record.comments), name


def test_every_code_of_a_cell_has_a_sign_of_its_own():
    for name, game in GAMES.items():
        signs = boards.position_text.symbols(game)
        assert len({*signs}) == len(signs) == len(game.pieces), name
        assert boards.position_text._signs("".join(signs)) == list(signs), name


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kamisado", "connect3d", "slide8", "dodgem4", "pegs"])
def test_positions_of_odd_games_have_texts(name):
    board = random_board(make(name), 6, seed=3)
    moves = [board.game.action_name(action) for action in board.actions]
    text = boards.position_text.write(board.game, board.now.position, moves)
    again = boards.from_text(board.game, text)
    assert (again.now.cells == board.now.cells).all()
    assert (again.now.legal == board.now.legal).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "moves"),
    [
        (make("go5", size=2, ko="positional"), "A2 B1 B2 A1 A2 B2"),  # superko forbids what the board alone would allow
        (make("kono", max_plies=4), "d1xd3 b3xd3 b2-b3"),  # one ply is left
        (make("dodgem3", repetition="draw"), "b1-forward a3-forward"),  # the third time is a draw
    ],
)
def test_a_text_holds_the_past_where_rules_look_at_it(game, moves):
    board = boards.from_text(game, f"start {moves}")
    text = boards.position_text.write(game, board.now.position, board.moves)
    assert text == f"start {moves}"
    drawn = boards.position_text.drawing(game, board.now.position.state)
    again = boards.from_text(game, drawn)
    assert boards.position_text.write(game, again.now.position, []) == drawn, "nothing lies behind a drawing"


def test_a_text_is_a_drawing_where_that_tells_all():
    game = make("connect4")
    board = boards.from_text(game, "start 4 4 3")
    text = boards.position_text.write(game, board.now.position, board.moves)
    assert text == boards.position_text.drawing(game, board.now.position.state)


def test_a_resignation_comes_back():
    board = random_board(GO, 7).resign(0)
    text = sgf.write(boards.to_record(board, "go9"))
    assert "RE[W+R]" in text
    assert boards.of_record(sgf.read(text)).resigned == 0
    assert boards.of_record(sgf.read(text.replace("W+R]", "W+Resign]"))).resigned == 0, "the other way to write it"


def test_a_start_by_hand_comes_back():
    start = "X.O....../" + "........./" * 7 + "....X.... 1"
    board = boards.from_text(GO, start).play(GO.parse_action("e5"))
    text = sgf.write(boards.to_record(board, "go9"))
    again = sgf.read(text)
    assert again.start == start
    assert (boards.of_record(again).now.cells == board.now.cells).all()


def test_a_record_begins_where_a_position_was_last_arranged():
    start = "X.O....../" + "........./" * 7 + "....X.... 1"
    board = boards.from_text(GO, "start").play(40).arrange(boards.from_text(GO, start).now.position).play(41)
    record = boards.to_record(board, "go9")
    assert (record.start, record.moves) == (start, (41,))


# -- sgfmill ---------------------------------------------------------------------------------------------------------
def test_sgfmill_reads_what_is_written(played):
    text = sgf.write(boards.to_record(played, "go9", ("a]b", "c")))
    root, *nodes = sgfmill.Sgf_game.from_bytes(text.encode()).get_main_sequence()
    assert (root.get("SZ"), root.get("KM"), root.get("PB")) == (9, 7.0, "a]b")
    moves = []
    for node in nodes:
        colour, place = node.get_move()
        moves.append(81 if place is None else (8 - place[0]) * 9 + place[1])
        assert colour == "bw"[(len(moves) - 1) % 2]
    assert tuple(moves) == played.actions


def test_what_sgfmill_writes_is_read():
    game = sgfmill.Sgf_game(size=9)
    game.root.set("KM", 5.5)
    game.root.set("AB", [(2, 2), (6, 6)])
    game.root.set("HA", 2)
    game.root.set("PB", "a\\b]c:d")
    for colour, place in (("w", (4, 4)), ("b", None), ("w", (0, 8))):
        node = game.extend_main_sequence()
        node.set_move(colour, place)
    node.set("C", "good\nmove")
    record = sgf.read(game.serialise())
    assert (record.game, record.start) == (make("go9", komi=5.5, ko="simple", handicap=2), "")
    assert [record.game.action_name(action) for action in record.moves] == ["E5", "pass", "J1"]
    assert (record.players[0], record.comments) == ("a\\b]c:d", {3: "good\nmove"})


def test_variations_are_passed_over_and_the_first_line_is_read():
    text = "(;GM[1]SZ[9];B[aa](;W[bb];B[tt](;W[cc])(;W[dd]))(;W[ee]))(;GM[1])"
    assert [GO.action_name(a) for a in sgf.read(text).moves] == ["A9", "B8", "pass", "C7"]


def test_who_is_to_move_may_be_told_behind_the_stones():
    told = sgf.read("(;FF[4]GM[1]SZ[3];AB[aa]AW[cc];PL[W])")
    assert told.start == sgf.read("(;FF[4]GM[1]SZ[3]AB[aa]AW[cc]PL[W])").start
    assert told.start.endswith(" 1")
    assert sgf.read("(;FF[4]GM[1]SZ[3];AB[aa];PL[W];B[bb])").start.endswith(" 0"), "the first move knows better"


def test_players_of_a_psq_stand_behind_all_moves():
    text = "Piskvorky 15x15, 11:11, 0\n8,8,0\n9,8,0\n9,9,0\n10,9,0\nalice\nbob\n-1"
    assert {psq.read(text, upto=count).players for count in (None, 0, 2, 4)} == {("alice", "bob")}


def test_rectangles_and_compressed_lists():
    record = sgf.read("(;GM[1]SZ[3]AB[aa:cb]AE[bb]PL[W])")
    assert record.start == "XXX/X.X/... 1"
    assert "SZ[5:3]" in sgf.write(sgf.read("(;GM[1]SZ[5:3])")), "columns first"
    assert sgf.read(sgf.write(record)).start == record.start, "whose turn it is stands there without a move, too"


# -- what is wrong ---------------------------------------------------------------------------------------------------
BAD = {
    "": "line 1: this is no SGF",
    "hello": "line 1: this is no SGF",
    "(;GM[1]SZ[9]\n;B[aa]\n;W[zz])": r"line 3: W\[zz\] is no point of a board of 9x9",
    "(;GM[4]SZ[9]\n;B[aa]\n;B[bb])": "line 3: B moves twice in a row",
    "(;GM[1]SZ[9]\n;B[aa": "line 2: a value without its ']'",
    "(;GM[1]SZ[9]\n;B[aa]": "line 2: the file ends inside the game",
    "(;GM[3])": r"line 1: GM\[3\] is none of Go \(1\), Othello \(2\), Gomoku \(4\) and Hex \(11\)",
    "(;GM[2]SZ[7])": "line 1: an Othello board of size 7",
    "(;GM[2]SZ[8:6])": "line 1: a board of Othello is square",
    "(;GM[2]\n;B[d9])": r"line 2: B\[d9\] is no point of a board of 8x8",
    "(;GM[11]SZ[5]\n;B[a6])": r"line 2: B\[a6\] is no point of a board of 5x5",
    "(;GM[11]SZ[5]RU[no swap]\n;B[a5];W[swap-pieces])": r"line 2: W\[swap-pieces\] is no point",
    "(;GM[11]SZ[5];B[a5]\n;W[swap-sides])": r"line 2: W\[swap-sides\] lets players change seats; write swap-pieces",
    "(;GM[11]SZ[27])": "line 1: a Hex board of size 27",
    "(;GM[1]SZ[0])": "line 1: a Go board has 1 to 19 lines",
    "(;GM[1]SZ[999])": "line 1: a Go board has 1 to 19 lines",
    "(;GM[1]SZ[x])": r"line 1: SZ\[x\] is no size",
    "(;GM[4]SZ[25])": "line 1: size=25 of gomoku",
    "(;GM[1]SZ[9]KM[nan])": r"line 1: KM\[nan\] is no komi",
    "(;GM[1]SZ[9]KM[inf])": r"line 1: KM\[inf\] is no komi",
    "(;GM[1]SZ[9];B[aa]\n;AB[cc])": "line 2: stones are put on the board in the midst",
    "(;GM[1]SZ[9];B[aa];W[]\n;W[bb])": "line 2: W moves behind two passes, which end the game: where a side",
    "(;GM[1]SZ[9];B[aa];B[]\n;W[bb])": "line 2: W moves behind two passes",
    "(;GM[1]SZ[9];B[aa]\n;PL[B])": "line 2: PL gives B the next move, and it is not that side's turn",
    "(;GM[1]SZ[9]AB[aa:bb]\nAW[cc][bb])": "line 1: AB and AW put two stones on B8",
    "(B[aa])": r"line 1: 'B' before the first ';'",
    "(;[aa])": r"line 1: the value '\[aa\]' has no name",
    "(" * 100_000: "line 1: more than 1000 variations",
    "(;GM[1]SZ[2]AB[aa][ab][ba][bb])": "line 1: the drawn position has a chain without liberties",
    "Piskvorky 30x30, 11:11, 0": "line 1: a board of 30x30",
    "Piskvorky 15x15, 11:11, 0\n1,1,0\n16,1,0\n": "line 3: 16,1,0 is no point",
    "Piskvorky 15x15, 11:11, 0\n1,1,0\n5,x,0\n": "line 3: '5,x,0' is no move",
    "30|1,1": "line 1: a board of 30x30",
    "9|4,4;9,0": "line 1: move 2, 9,0, is no point of a board of 9x9",
    "9|4,4;;1,1": "line 1: move 2, '', is not written as column,row",
    "9|4,4;-1,0": "line 1: move 2, '-1,0', is not written as column,row",
    "{": "line 1: this is no JSON",
    "{}": "line 1: this JSON is no game of jaxgo",
    '{"jaxgo": 1, "game": "shogi"}': "shogi",
    '{"jaxgo": 1, "game": "nowhere.games:Chess"}': "a place in code that no file of data may start",
    '{"jaxgo": 1, "game": "go9", "options": {"komi": []}}': "komi",
    '{"jaxgo": 1, "game": "go9", "moves": ["A1", "Z9"]}': "move 2: ",
    '{"jaxgo": 1, "game": "go9", "moves": "A1"}': '"moves" is no list of texts',
    '{"jaxgo": 1, "game": "go9", "returns": [1.0]}': '"returns" has 1 numbers, and 2 play this game',
    '{"jaxgo": 1, "game": "go9", "returns": [1, 2]}': '"returns" are numbers from -1',
    '{"jaxgo": 1, "game": "go9", "returns": [1, NaN]}': "line 1: this JSON cannot be read: NaN is no number",
    '{"jaxgo": 1, "game": "go9", "returns": [true, -1]}': '"returns" is no list of numbers',
    f'{{"jaxgo": 1, "game": "go9", "returns": [1, 1{"0" * 250}]}}': '"returns" are numbers from -1',
    f'{{"jaxgo": 1, "game": "go9", "returns": [1, 1{"0" * 400}]}}': "1000.* is too long a number",
    f'{{"jaxgo": 1{"0" * 5000}}}': "line 1: this JSON cannot be read: 1000.* is too long a number",
    '{"jaxgo": 1, "game": "go9", "comments": {"²": ""}}': '"comments" are texts by the number',
    f'{{"jaxgo": 1, "game": "go9", "comments": {{"{"1" * 5000}": ""}}}}': '"comments" are texts by the number',
    '{"jaxgo": 1, "game": "go9", "pony": 1}': "a game has no 'pony'",
    "game: \n": "line 1: this is no saved game",
    "game: nogame\n": "unknown game 'nogame'",
    "game: tictactoe\n\n1 0 b2\n": "result of seat 0 is a share of a win from 0 to 1, not told nowhere",
    "game: tictactoe\nresult of seat 0: nan\n": "result of seat 0 is a share of a win from 0 to 1, not nan",
    "game: tictactoe\n\n1 0 b2\n2 1": "move 2: '2 1' is not a number, a seat and the name of a move",
    "game: tictactoe\n\n1 0 b2\n2 1 b2\n": "move 2, 'b2', is not legal",
    "[" * 100_000: "line 1: this is no SGF",
    '{"a":' * 100_000: "line 1: ",
    "x" * (2**25 + 1): "at most 33554432 characters; this one has more",
}


@pytest.mark.parametrize("text", list(BAD), ids=lambda text: text[:30])
def test_bad_files_are_refused_by_their_line(text):
    with pytest.raises(UsageError, match=BAD[text]):
        formats.read(text)


def test_texts_of_matches_are_read_whatever_their_lines_end_in():
    text = "game: tictactoe\nseat 0: uct:8\nseat 1: ?: x\nresult of seat 0: 0.75\nid: 1\n\n1 0 b2\n2 1 a1\n"
    for told in (text, text.replace("\n", "\r\n").encode(), f"\ufeff\n{text}"):
        record = formats.read(told)
        assert (record.name, record.players, record.returns) == ("tictactoe", ("uct:8", "?: x"), (0.5, -0.5))
        assert [record.game.action_name(action) for action in record.moves] == ["b2", "a1"]
    part = formats.read(text, upto=1)
    assert (len(part.moves), part.returns) == (1, None)
    with pytest.raises(UsageError, match="the file tells of tictactoe, and this is go9"):
        formats.read(text, GO)


@pytest.mark.slow
def test_who_moves_twice_in_go_lets_the_other_one_pass():
    """So do files that write a handicap as moves."""
    text = "(;GM[1]SZ[9]\n;B[gc]\n;B[cg]C[two stones]\n;W[ee])"
    record = sgf.read(text)
    assert record.moves == (24, 81, 56, 40)
    assert record.lines == (2, 3, 3, 4)
    assert record.comments == {3: "two stones"}
    assert boards.of_record(record).now.cells.tolist().count(1) == 2
    assert sgf.read(sgf.write(record)).moves == record.moves
    assert [sgf.read(text, upto=count).moves for count in range(4)] == [(), (24,), (24, 81, 56), record.moves]
    with pytest.raises(UsageError, match="line 3: B moves behind two passes, which end the game"):
        sgf.read("(;GM[1]SZ[9]\n;B[]\n;B[ia])")


@pytest.mark.parametrize("more", ["", ";B[]", ";B[tt];W[tt]", ";W[]"])
def test_passes_behind_the_end_are_left_out(more):
    """By the rules of the AGA White passes last, so that many of their games have three passes."""
    record = sgf.read(f"(;GM[1]SZ[9];B[ee];W[cc];B[];W[]{more}C[the end])")
    assert record.moves == (40, 20, 81, 81)
    assert record.comments == {4: "the end"}
    assert boards.of_record(record).over
    with pytest.raises(UsageError, match=r"move 5, 'J9' is not legal; .* the game is over"):
        boards.of_record(sgf.read(f"(;GM[1]SZ[9];B[ee];W[cc];B[];W[]{more};B[ia])"))


def test_an_illegal_move_is_refused_by_its_line():
    with pytest.raises(UsageError, match="line 3: move 2, 'E5' is not legal"):
        boards.of_record(sgf.read("(;GM[1]SZ[9]\n;B[ee]\n;W[ee])"))


def test_a_collection_has_several_games(tmp_path):
    path = tmp_path / "games.sgf"
    path.write_text("made by hand\n(;GM[1]SZ[9]\n;B[aa](;W[bb])(;W[c:)]))\n\n(;GM[1]SZ[9]KM[5]\n;B[cc])\n")
    found = formats.load_all(path)
    one, other = found.values()
    assert list(found) == [f"{path}: game 1", f"{path}: game 2"]
    assert formats.load(path) == one
    assert [one.game.action_name(move) for move in one.moves] == ["A9", "B8"]
    assert (other.game.komi, other.lines) == (5, (6,)), "lines are those of the file"
    path.write_text("(;GM[1]SZ[9];B[aa])\n(;GM[1]SZ[9]\n;B[zz])")
    with pytest.raises(UsageError, match=r"games.sgf: line 3: "):
        formats.load_all(path)
    path.write_text("(;GM[1]SZ[9];B[aa])\n(;GM[1]SZ[9]\n;B[bb]")
    with pytest.raises(UsageError, match=r"games.sgf: line 3: the file ends inside the game"):
        formats.load_all(path)
    path.write_text("")
    with pytest.raises(UsageError, match=r"games.sgf: line 1: this is no SGF"):
        formats.load_all(path)
    formats.save(tmp_path / "one.json", one)
    assert list(formats.load_all(tmp_path / "one.json")) == [str(tmp_path / "one.json")]


def test_each_game_of_a_collection_is_read_from_its_own_text_alone():
    """Nothing of the games before it comes along, which would take ever longer."""
    text = "by hand\n(;GM[1]\n;B[aa])\n\n(;GM[1]C[two\nlines])(\n;GM[1]\n"
    assert list(sgf_nodes.games(text)) == [(2, "(;GM[1]\n;B[aa])"), (5, "(;GM[1]C[two\nlines])"), (6, "(\n;GM[1]\n")]
    *_, torn = sgf.read_all(text)
    assert str(torn).startswith("line 8: the file ends inside the game")
    *_, empty = sgf.read_all("(;GM[1])\n()")
    assert str(empty) == "line 2: the game has no node"


def test_a_file_can_be_read_as_far_as_it_is_good():
    assert sgf.read("(;GM[1]SZ[9];B[aa];W[bb];B[zz]", upto=2).moves == (0, 10)
    assert psq.read("Piskvorky 15x15, 11:11, 0\n1,1,0\n99,1,0", upto=1).moves == (0,)
    assert json_file.read('{"jaxgo": 1, "game": "go9", "moves": ["A9", "Z9"]}', upto=1).moves == (0,)


def test_who_gave_up_in_the_end_has_not_done_so_before():
    text = "(;GM[1]SZ[9]RE[B+R];B[aa];W[bb];B[cc])"
    whole, part = (formats.read(text, upto=upto) for upto in (None, 2))
    assert (whole.verdict, whole.returns) == ("B+R", (1.0, -1.0))
    assert (part.moves, part.verdict, part.returns, part.reason) == ((0, 10), "", None, "")
    assert formats.read(text, upto=3) == whole
    assert formats.read(text, upto=4) == whole


def test_a_file_of_another_game_is_refused():
    with pytest.raises(UsageError, match="the file tells of Go 9x9, and this is Gomoku 9x9"):
        formats.read("(;GM[1]SZ[9])", GOMOKU)
    with pytest.raises(UsageError, match="the file tells of Gomoku 9x9, and this is Go 9x9"):
        formats.read("9|4,4", GO)
    with pytest.raises(UsageError, match="the file tells of go13, and this is go9"):
        formats.read('{"jaxgo": 1, "game": "go13"}', GO)
    with pytest.raises(UsageError, match="SGF tells of Go"):
        formats.write(GameRecord(make("tictactoe"), "tictactoe", ()), "sgf")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_line_break_after_a_backslash_is_none(end):
    record = sgf.read(f"(;GM[1]SZ[9]PB[one\\{end}name]PW[a\\\\b\\]];B[aa])")
    assert record.players == ("onename", "a\\b]")


def test_what_programs_leave_empty_or_write_before_a_game_is_passed_over():
    record = sgf.read("From: me (Bob)\n(;GM[1]SZ[9]KM[]HA[];B[aa])")
    assert (record.game, record.moves) == (make("go19", size=9, ko="simple"), (0,))
    with pytest.raises(UsageError, match=r"^line 1: KM\[x\] is no number"):
        sgf.read("(;GM[1]SZ[9]KM[x])")


@pytest.mark.parametrize(("written", "komi"), [("375", 7.5), ("325", 6.5), ("650", 6.5), ("750", 7.5), ("0", 0.0)])
def test_komi_is_read_as_the_fox_server_writes_it(written, komi):
    assert sgf.read(f"(;GM[1]SZ[19]KM[{written}]HA[0]RU[Chinese]AP[GNU Go:3.8])").game.komi == komi


def test_a_komi_of_jaxgos_own_is_what_it_says():
    record = GameRecord(make("go19", komi=375.0), "go19", (0,))
    assert sgf.read(sgf.write(record)).game == record.game


def test_the_start_of_a_game_has_the_stones_that_a_later_node_puts_there():
    record = sgf.read("(;GM[1]SZ[9];AB[aa]PL[W];W[cc];B[dd])", upto=0)
    assert (record.start, record.moves) == ("X......../" + "........./" * 7 + "......... 1", ())


PIECES = st.sampled_from(
    ["(", ")", ";", "B[aa]", "W[]", "[", "]", "\\", "SZ[9]", "GM[1]", "AB[aa:bb]", "\n", "é", "C[x"]
)


@settings(max_examples=150)
@given(st.lists(PIECES, max_size=30).map("".join))
def test_whatever_stands_in_an_sgf_it_is_read_or_refused(text):
    try:
        record = sgf.read(text)
    except UsageError:
        return
    assert all(0 <= action < record.game.num_actions for action in record.moves)


def test_a_start_that_is_the_usual_one_is_none():
    found = json_file.read('{"jaxgo": 1, "game": "go9", "start": "Start", "moves": ["E5"]}')
    assert "B[ee]" in sgf.write(found)
    with pytest.raises(UsageError, match="sum to 0"):
        json_file.read('{"jaxgo": 1, "game": "go9", "moves": [], "returns": [1, 1]}')


def test_blank_lines_of_a_psq_are_passed_over():
    found = psq.read("Piskvorky 15x15, 11:11, 0\n8,8,0\n\n9,9,0\nA\nB\n")
    assert (found.moves, found.players, found.lines) == ((112, 128), ("A", "B"), (2, 4))


def test_comments_of_the_start_are_kept_and_those_of_later_moves_left_out():
    text = "(;GM[1]SZ[9]C[root];C[intro];B[ee]C[first])"
    assert sgf.read(text).comments == {0: "root\nintro", 1: "first"}
    assert sgf.read(text, None, 0).comments == {0: "root\nintro"}


def test_a_komi_has_all_its_digits_and_both_may_lose():
    assert sgf.read(sgf.write(GameRecord(make("go9", komi=6.123456789), "go9", ()))).game.komi == 6.123456789
    assert sgf.read("(;GM[1]SZ[9]RE[Both lose];B[ee])").returns is None
    for words in ("Winner: Black", "disqualified", "Double ko, no result", "0.5", "Void", "?", ""):
        assert winner(words) is None, "not whose first letter it is"
    for words in ("B+3.5", "b+R", "Black +5", "black wins by time", "B", "Black won"):
        assert winner(words) == (1.0, -1.0)
    assert (winner("W+Resign"), winner("White wins"), winner("Draw"), winner("0"), winner("jigo")) == (
        *((-1.0, 1.0),) * 2,
        *((0.0, 0.0),) * 3,
    )


def test_json_is_one_object_with_one_line_for_each_thing():
    told = json.loads(json_file.write(GameRecord(make("go9", komi=5.5), "go9", (0,))))
    assert told == {"jaxgo": 1, "game": "go9", "options": {"komi": 5.5}, "moves": ["A9"]}
