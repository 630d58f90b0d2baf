"""GTP: games go out to files and come in from them."""

import io
from unittest import mock

import pytest
from gtp_talk import Talk
from sgfmill import sgf as sgfmill
from support import random_games

from jaxgo.core.errors import UsageError
from jaxgo.frontends import gtp, gtp_commands, gtp_text, session
from jaxgo.frontends.gtp_engine import GtpEngine
from jaxgo.frontends.gtp_text import Line
from jaxgo.frontends.lines import read_lines
from jaxgo.games import make
from jaxgo.records import formats
from jaxgo.records.record import GameRecord


@pytest.fixture(scope="module")
def engine_of_go():
    talk = Talk("go5")
    yield talk
    talk.engine.session.close()


@pytest.fixture
def go(engine_of_go):
    assert engine_of_go.ask("clear_board") == "="
    return engine_of_go


def test_names_of_files_and_ids_may_have_any_letters(go, tmp_path):
    """They are UTF-8; what is none is read as Latin-1."""
    file = tmp_path / "Jörg-囲碁" / "é.sgf"
    file.parent.mkdir()
    file.write_text("(;GM[1]SZ[5];B[cc])")
    load, save, old = read_lines(io.BytesIO(f"loadsgf {file}\nprintsgf {file}\n".encode() + b"\xe9\n"))
    assert go.ask(load) == "=", "a GUI may sit in a folder like that"
    assert go.ask(save) == "="
    assert [path.name for path in file.parent.iterdir()] == ["é.sgf"]
    assert old == "é"


def test_a_name_with_blanks_stands_in_double_quotes(go, tmp_path):
    """As GoGui has it; GTP 2 itself knows no blanks in a word."""
    file = tmp_path / 'my  "best" game.sgf'
    file.write_text("(;GM[1]SZ[5];B[cc];W[dd])")
    name = str(file).replace('"', r"\"")
    assert go.ask(f'7 loadsgf "{name}" 2') == "=7"
    assert go.engine.session.board.moves == ["C3"]
    assert go.ask(f'printsgf "{name}"') == "="
    assert "W[dd]" not in file.read_text()
    for line in ("loadsgf my own game.sgf", "printsgf my game.sgf"):
        assert (
            go.ask(line) == "? syntax error: too many arguments; a name with blanks stands in double quotes: "
            '"my game.sgf"'
        )
    assert gtp_text.read_line('kata-set-rules {"ko": "SIMPLE"}').words == ('{"ko":', '"SIMPLE"}'), "JSON keeps its own"


@pytest.mark.slow
def test_a_file_names_the_engine_where_it_played(go):
    name = go.engine.session.player_of(0).name
    assert go.ask("clear_board") == "="
    for line, players in (("play b c3", ("", "")), ("genmove w", ("", name)), ("komi 6", ("", name))):
        assert go.ask(line).startswith("=")
        assert "PB[{}]PW[{}]".format(*players) in go.ask("printsgf")
    assert go.ask("clear_board") == "="
    assert "PB[]PW[]" in go.ask("printsgf")


@pytest.mark.slow
def test_files_go_out_and_come_in(go, tmp_path):
    file = tmp_path / "a.sgf"
    assert {go.ask(line) for line in ("play b c3", "play w d3", "play b pass", f"printsgf {file}")} == {"="}
    moves = [node.get_move() for node in sgfmill.Sgf_game.from_bytes(file.read_bytes()).get_main_sequence()]
    assert moves[1:] == [("b", (2, 2)), ("w", (2, 3)), ("b", None)]
    go.ask("clear_board")
    assert go.ask(f"loadsgf {file} 3") == "="
    assert go.engine.session.board.moves == ["C3", "D3"]
    assert go.ask(f"loadsgf {file}") == "="
    assert len(go.engine.session.board.actions) == 3
    file.write_text("(;GM[1]SZ[4];B[aa];W[bb])")
    assert [go.ask(words) for words in ("kata-set-rules aga", f"loadsgf {file}")] == ["=", "="]
    assert (go.engine.game.ko, go.engine.game.shape) == ("situational", (4, 4)), "what a file does not say stays"
    file.write_text("(;GM[1]SZ[4:3];B[aa];W[bb])")
    assert [go.ask(f"loadsgf {file}"), go.engine.game.ko, go.engine.game.shape] == ["=", "situational", (3, 4)]
    assert [go.ask(words) for words in ("boardsize 5", "kata-set-rules chinese")] == ["=", "="]
    file.write_text("(;GM[1]SZ[5];B[aa]\n;W[aa])")
    before = go.engine.session.board
    assert (
        go.ask(f"loadsgf {file}")
        == "? line 2: move 2, 'A5' is not legal; legal moves are: "
        + ", ".join(["B5", "C5", "D5", "E5", "A4", "B4", "C4", "D4"])
        + " and 17 more"
    )
    assert go.engine.session.board is before


def test_stones_of_a_handicap_in_a_file_are_none_of_the_next_game():
    record = gtp_commands.without_handicap(formats.read("(;GM[1]SZ[9]RU[CGOS]KM[7]HA[2]AB[gc][cg];W[ee])"))
    assert record.game == make("go9"), "which `clear_board` begins"
    empty = "........./"
    assert record.start == f"{empty * 2}......X../{empty * 3}..X....../{empty}......... 1"
    assert record.moves == (40,)


@pytest.mark.slow  # compiles six boards
def test_a_limit_of_moves_is_kept_where_it_was_set(tmp_path):
    file = tmp_path / "a.sgf"
    file.write_text("(;GM[1]SZ[4];B[aa])")
    for own, limits in ((2, [2, 2, 2]), (0, [100, 64, 36])):
        engine = GtpEngine(make("go5", move_limit=own), "go5", "random", write=print)
        for line, limit in zip(("name", f"loadsgf {file}", "boardsize 3"), limits, strict=True):
            gtp.take(engine, line)
            assert engine.game.max_plies == limit
        engine.session.close()


@pytest.mark.slow  # compiles two boards
def test_othello_by_the_words_of_gtp(tmp_path):
    talk, file = Talk("othello"), tmp_path / "a.sgf"
    assert {talk.ask(line) for line in ("play black d3", "play white C3", f"printsgf {file}")} == {"="}
    assert talk.ask("gogui-rules_board").splitlines()[6] == ". . O X . . . .", "row 3, which GoGui counts from below"
    assert talk.ask("gogui-rules_legal_moves") == "= b3 c4 f5 e6"
    assert [talk.ask(line) for line in ("list_games", "set_game Othello")] == ["= Othello", "="]
    assert talk.ask("set_game Go") == "? this engine has one game"
    assert talk.ask("play black pass") == "? illegal move"
    assert talk.ask("boardsize 7") == "? unacceptable size"
    assert [talk.ask("boardsize 6"), talk.engine.game] == ["=", make("othello6")]
    file.with_name("b.sgf").write_text("(;GM[2]SZ[6]AB[aa]AW[ba][cd]PL[W];W[];B[ca])")
    assert talk.ask(f"loadsgf {file.with_name('b.sgf')}") == "="
    assert talk.engine.session.board.moves == ["pass", "c1"]
    file.with_name("c.sgf").write_text("(;GM[2]SZ[6]AB[aa][ba][cc]AW[ff])")
    assert [talk.ask(f"loadsgf {file.with_name('c.sgf')}"), talk.ask("final_score")] == ["=", "= B+2"]
    assert [talk.ask(f"loadsgf {file}"), talk.engine.game] == ["=", make("othello")]
    assert talk.engine.session.board.moves == ["d3", "c3"]
    talk.engine.session.close()


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("tictactoe", {"height": 4, "width": 4}, "tictactoe height=4 width=4, and this is tictactoe"),
        ("connect4", {"height": 7}, "connect4 height=7, and this is connect4"),
        ("connect4", {"width": 8}, "connect4 width=8, and this is connect4"),
    ],
)
def test_games_without_boards_of_other_sizes_do_not_change_over_to_that_of_a_file(name, options, told, tmp_path):
    file = tmp_path / "a.json"
    formats.save(file, GameRecord(make(name, **options), name, ()))
    engine = GtpEngine(make(name), name, "random", write=print)
    with pytest.raises(UsageError, match=f"cannot load file: .*: line 1: the file tells of {told}"):
        gtp_commands.loadsgf(engine, Line("", "loadsgf", (str(file),)))
    assert engine.game == make(name)
    engine.session.close()


@pytest.mark.slow  # compiles two boards
def test_a_game_that_is_longer_than_usual_comes_in(go, tmp_path):
    game = make("go5", size=3, ko="simple", move_limit=120)
    played = random_games(game, 16)
    lane = int(played.live.sum(axis=0).argmax())
    moves = tuple(played.actions[played.live[:, lane], lane].tolist())
    assert len(moves) > 4 * game.points, "after which games end here, if no file says otherwise"
    formats.save(tmp_path / "long.sgf", GameRecord(game, "go5", moves))
    assert go.ask(f"loadsgf {tmp_path / 'long.sgf'}") == "="
    assert go.engine.session.board.actions == moves


def test_rules_that_a_player_cannot_change_over_to_are_refused(go, monkeypatch):
    """Its weights are gone meanwhile, say; nobody else plays in its place."""
    before, player = go.ask("get_komi"), go.engine.session.player_of(0)
    with monkeypatch.context() as gone:
        gone.setattr(session, "load_player", mock.Mock(side_effect=UsageError("there are no weights")))
        assert go.ask("komi 1.5") == "? there are no weights"
    assert (go.ask("get_komi"), go.engine.session.player_of(0)) == (before, player)


@pytest.mark.slow
def test_who_played_a_game_and_how_it_ended_goes_out_again(go, tmp_path):
    file = tmp_path / "a.sgf"
    file.write_text("(;GM[1]SZ[5]KM[7]PB[Ann]PW[Bob]RE[B+T];B[cc];W[dd])")
    assert go.ask(f"loadsgf {file}") == "="
    players = ("PB[Ann]", "PW[Bob]", "RE[B+T]")
    assert [word in go.ask("printsgf") for word in players] == [True] * 3
    assert go.ask("play b z99").startswith("?")
    assert go.ask("reg_genmove w").startswith("=")
    assert [word in go.ask("printsgf") for word in players] == [True] * 3, "nothing was played"
    assert go.ask("play b b2") == "="
    assert [word in go.ask("printsgf") for word in players] == [False] * 3, "somebody has played on"


def test_the_mark_that_windows_puts_before_a_line_is_no_part_of_it():
    sent = io.BytesIO(b"\xef\xbb\xbfname\r\n\r\nname\r\n")
    assert list(read_lines(sent)) == ["name", "", "name"]
