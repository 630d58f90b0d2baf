"""Reviews of games: what was given away and no more, by whose eyes, and what is refused."""

import functools
import json
import random
import xml.etree.ElementTree as ElementTree

import jax
import numpy as np
import pytest

from jaxgo.arena import review
from jaxgo.cli.main import main
from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.core.replay import replay
from jaxgo.games import make
from jaxgo.players import load_player
from jaxgo.records import formats
from jaxgo.records.record import GameRecord
from jaxgo.ui import review_view

TICTACTOE = make("tictactoe")
SURE = "uct:3000,evaluator=uniform"  # proves nearly all of this game
ROWS = ("012", "345", "678", "036", "147", "258", "048", "246")


def record(names, game=TICTACTOE, name="tictactoe", **told):
    return GameRecord(game, name, tuple(map(game.parse_action, names.split())), **told)


def found(line, worth, **told):
    """What searches say that found these values; their own choice is always another move."""
    count = len(line.moves) + 1
    nothing, never = np.zeros(count, np.float32), np.zeros(count, bool)
    usual = {"choice": np.full(count, -1), "solved": never, "known": never, "played": nothing}
    columns = {"worth": np.array(worth, np.float32)} | usual | told
    return review.Found(**{name: column[: line.live] for name, column in columns.items()})


def has_row(cells):
    return any(cells[int(a)] == cells[int(b)] == cells[int(c)] != "." for a, b, c in ROWS)


@functools.cache
def truth(cells):
    """What a position of tic-tac-toe is worth to who moves, by a plain search of all of it."""
    mover = "XO"[sum(cell != "." for cell in cells) % 2]
    if has_row(cells):
        return -1
    moves = [i for i, cell in enumerate(cells) if cell == "."]
    return max((-truth(cells[:i] + mover + cells[i + 1 :]) for i in moves), default=0)


def random_game(luck):
    cells, moves = "." * 9, []
    while "." in cells and not has_row(cells):
        move = luck.choice([i for i, cell in enumerate(cells) if cell == "."])
        moves.append(move)
        cells = cells[:move] + "XO"[(len(moves) - 1) % 2] + cells[move + 1 :]
    return moves


def test_exactly_the_moves_that_throw_something_away_are_found():
    luck = random.Random(1)
    games = [random_game(luck) for _ in range(8)]
    lines = [review.replayed(GameRecord(TICTACTOE, "tictactoe", tuple(moves)), skip=3) for moves in games]
    reviews = review.review(load_player(SURE, TICTACTOE), lines)
    thrown = 0
    for moves, told in zip(games, reviews, strict=True):
        cells = "." * 9
        for number, action in enumerate(moves, 1):
            before, mover = truth(cells), "XO"[(number - 1) % 2]
            cells = cells[:action] + mover + cells[action + 1 :]
            if number <= 3:
                continue
            move = told.moves[number - 4]
            assert (move.number, move.seat, move.name) == (number, (number - 1) % 2, TICTACTOE.action_name(action))
            assert move.proven == (True, True)
            assert (move.before, move.after) == (before, -truth(cells))
            assert move.thrown == (before > -truth(cells))
            assert move.kind == ("blunder" if move.thrown else "")
            thrown += move.thrown
    assert thrown > 5, "random players err"


def test_a_seat_that_moves_again_keeps_the_sign():
    game = make("gomoku", size=7, opening="swap2")  # three stones of one seat, a choice and a stone of the other
    line = review.replayed(record("d4 d5 e4 white e5 c3", game, "gomoku"))
    told = review.judged(
        "", line, found(line, [0.5, 0.3, -0.2, 0.1, 0.4, -0.6, 0.0]), (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    )
    assert [move.seat for move in told.moves] == [0, 0, 0, 1, 1, 0]
    assert [move.after for move in told.moves] == pytest.approx([0.3, -0.2, -0.1, 0.4, 0.6, 0.0])
    assert [move.lost for move in told.moves] == pytest.approx([0.1, 0.25, 0.0, 0.0, 0.0, 0.0])
    assert told.values == pytest.approx([0.5, 0.3, -0.2, -0.1, -0.4, -0.6, 0.0])
    assert [move.lead for move in told.moves] == [(0, 1), (1, 2), (2, 3), (-3, -4), (-4, -5), (5, 6)]


def test_a_pass_in_othello_is_a_move_of_who_cannot_move():
    game, luck = make("othello", size=4), random.Random(0)
    passes = game.num_actions - 1
    while True:
        moves: list[int] = []
        while legal := np.flatnonzero(play.look(game, replay(game, names(game, moves))[0]).legal).tolist():
            moves.append(luck.choice(legal))
        if passes in moves[:-3]:  # nobody wins at once behind it
            break
    line = review.replayed(GameRecord(game, "othello", tuple(moves)))
    told = review.judged("", line, found(line, np.full(len(moves) + 1, 0.5)))
    at = moves.index(passes)
    around = told.moves[at - 1 : at + 2]
    assert [move.seat for move in around] == [around[0].seat, 1 - around[0].seat, around[0].seat]
    assert [move.after for move in around[:2]] == [-0.5, -0.5]


def names(game, moves):
    return [game.action_name(action) for action in moves]


def test_proofs_are_carried_to_the_positions_that_they_hold_for():
    line = review.replayed(record("b2 a2 a1 a3 c3"))
    yes = np.array([False, False, True, False, False, False])
    told = review.judged("", line, found(line, [0, 0.1, 0.2, 0.3, -0.1], known=yes, played=0.0 + yes))
    assert {move.lead for move in told.moves} == {None}, "no net"
    # c3 wins at once, so the position before it was won, and all may be lost that led there
    assert [move.proven[1] for move in told.moves] == [False, True, True, True, True]
    assert told.values == pytest.approx([0, -0.1, 1, 1, 1, 1])
    assert told.moves[1].lost == pytest.approx(0.55)
    assert told.moves[1].proven == (False, True)
    assert not told.moves[1].thrown, "that there was something is an estimate"
    assert told.returns == (1.0, -1.0)


def test_what_the_search_would_have_played_gives_nothing_away():
    line = review.replayed(record("b2 a2"))
    worth, own = [0.5, 0.1, 0.3], TICTACTOE.parse_action("b2")
    told = review.judged("", line, found(line, worth, choice=np.array([own, -1, -1])))
    assert told.moves[0].own
    assert told.moves[0].lost == 0
    assert told.moves[1].lost == pytest.approx(0.2)
    count = review.tally(told.moves)
    assert (count.moves, count.own, count.lost) == (2, 1, pytest.approx(0.1))
    assert count.kinds == {"blunder": 1, "mistake": 0, "inaccuracy": 0}


@pytest.mark.parametrize(
    ("lost", "kind"), [(0.04, ""), (0.06, "inaccuracy"), (0.11, "mistake"), (0.16, "blunder"), (-0.3, "")]
)
def test_moves_are_called_by_what_they_give_away(lost, kind):
    move = review.Move(1, 0, "a1", "b2", before=0.2, after=0.2 - 2 * lost, proven=(False, False))
    assert move.kind == kind


def test_a_win_in_chess_is_told_in_words_of_its_file():
    record = formats.read('[White "Ann"]\n[Black "Bo"]\n[Termination "Ann won by resignation"]\n\n1. e4 e5 1-0\n')
    told = review.Review("a.pgn", record, "random", record.returns, (), ())
    assert review_view.ending(told) == "seat 0 wins (Ann won by resignation)", "and not by B, which is White there"


def test_a_batch_is_no_larger_than_memory_allows(monkeypatch):
    player, line = load_player(SURE, TICTACTOE), review.replayed(record("b2 a1 c3 a3 a2 b1"))
    root = jax.tree.map(lambda x: x[0], line.positions)
    assert review.lanes(player, root) == 32
    monkeypatch.setattr(review, "MOST_BYTES", 2**20)
    assert 1 <= review.lanes(player, root) < 8
    monkeypatch.setattr(review, "MOST_BYTES", 1)
    assert review.lanes(player, root) == 1


@pytest.mark.slow
def test_a_win_that_is_not_taken_is_lost_in_connect_four():
    game = make("connect4")
    line = review.replayed(record("4 4 3 3 2 1 7 5 7 6", game, "connect4"))  # 5 would have won, and nobody saw it
    told = review.review(load_player("uct:400", game), [line])[0]
    missed, stopped = told.moves[6], told.moves[7]
    assert (missed.choice, missed.before, missed.proven) == ("5", 1.0, (True, False))
    assert missed.kind == "blunder"
    assert max(told.moves, key=lambda move: move.lost) == missed
    assert stopped.own
    assert told.returns is None


@pytest.mark.slow
def test_a_game_of_go_from_a_position_that_was_given_up():
    """Black lets a chain in atari be taken, and White takes it; then Black resigns."""
    stones = "AB[cc][dc][ec][cd][dd][ed][ce][de][ee]AW[bc][bd][be][cb][db][eb][fc][fd][cf][df][ef]"
    text = f"(;GM[1]SZ[9]KM[7]PB[Ann]PW[Bob]RE[W+R]{stones}PL[B];B[ii];W[fe])"
    given_up = formats.read(text)
    player = load_player("gumbel:32@go9-cpu", given_up.game)
    told = review.review(player, [review.replayed(given_up)])[0]
    assert [move.seat for move in told.moves] == [0, 1]
    assert told.moves[0].name == "J1"
    assert told.moves[0].choice == "F5"
    assert told.moves[1].own
    assert told.returns == (-1.0, 1.0)
    assert told.values[-1] < -0.9
    assert [move.after for move in told.moves] == [told.values[1], -told.values[2]]


@pytest.mark.slow
def test_leads_are_told_in_points_where_a_net_knows_them(tmp_path, capsys):
    path = tmp_path / "game.json"
    formats.save(path, record("C3 D4 pass pass", make("go5", komi=2.5), "go5"))
    assert main(["review", str(path), "--agent", "greedy@go5-cpu", "--json"]) == 0
    game, *moves = (told for told in map(json.loads, capsys.readouterr().out.splitlines()) if told["kind"] != "player")
    leads = game["leads"]
    assert len(leads) == 5
    assert leads[1] > 5, "the stone in the middle takes all"
    assert leads[-1] == -2.5, "by the rules, as the game is over: a stone each"
    for ply, move in enumerate(moves):
        sign = (1, -1)[ply % 2]
        assert move["lead"] == [sign * lead for lead in leads[ply : ply + 2]]
    assert main(["review", str(path), "--agent", "greedy@go5-cpu", "--skip", "2"]) == 0
    out = capsys.readouterr().out
    assert f"{-leads[3]:+.1f} to +2.5" in next(line for line in out.splitlines() if line.startswith("4 "))
    assert "lead: the points that the mover is ahead" in out
    assert main(["review", str(path), "--agent", "random", "--skip", "2"]) == 0
    assert "lead" not in capsys.readouterr().out


# -- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    """Two games: one that was thrown away and given up, and one that goes on, from a position."""
    given_up = record("b2 a1 c3 a3 a2 b1", players=("Ann [red]", "Bob"), returns=(1.0, -1.0), reason="resigned")
    begun = record("b2 b1", start="X.O/.../... 0", players=("Bob", "Ann [red]"))
    paths = [tmp_path / "one.json", tmp_path / "two.json"]
    for path, game in zip(paths, (given_up, begun), strict=True):
        formats.save(path, game)
    return [str(path) for path in paths]


def test_one_game_is_told_move_by_move(files, capsys, tmp_path):
    picture = tmp_path / "curve.svg"
    assert main(["review", files[0], "--agent", SURE, "--svg", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "tictactoe: Ann [red] (seat 0) against Bob (seat 1), seat 0 wins (resigned); as uct:3000" in out
    row = next(line.split() for line in out.splitlines() if line.startswith("6 "))
    assert " ".join(row) == "6 1 b1 drawn lost 50.0 c2 blunder: a proven draw thrown away"
    assert "worst of Bob: 6 b1 (50.0 %)" in out
    assert "blunder from 15" in out
    drawn = ElementTree.parse(picture).getroot()
    marks = [mark for mark in drawn.iter("{http://www.w3.org/2000/svg}circle") if len(mark)]
    assert {mark.get("class") for mark in marks} >= {"blunder"}
    assert any("6 b1 (seat 1): blunder" in "".join(mark.itertext()) for mark in marks)


@pytest.mark.slow
def test_many_games_are_told_by_their_players(files, capsys):
    assert main(["review", *files, "--agent", SURE]) == 0
    out = capsys.readouterr().out
    assert "would play" not in out
    assert "one.json" in out
    assert "/one.json" not in out, "the folder is the same for all"
    rows = [line.split() for line in out.splitlines() if " Bob " in line]
    assert [row[row.index("Bob") - 1] for row in rows] == ["1", "0"], "their seats"
    assert "not finished" in out
    whole = next(line.split() for line in out.splitlines() if line.startswith("Bob "))
    assert whole[1] == "4", "three moves and one"
    assert main(["review", *files, "--agent", SURE, "--moves"]) == 0
    assert capsys.readouterr().out.count("would play") == 2


def test_machines_are_told_lines_of_json(files, capsys):
    assert main(["review", *files, "--agent", SURE, "--json", "--skip", "1"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["kind"] for one in told] == ["game", *["move"] * 5, *["player"] * 2, "game", "move", *["player"] * 2]
    assert told[0]["returns"] == [1.0, -1.0]
    assert told[0]["file"] == files[0]
    assert len(told[0]["chances"]) == 6
    blunder = told[5]
    assert (blunder["number"], blunder["seat"], blunder["move"], blunder["choice"]) == (6, 1, "b1", "c2")
    assert (blunder["before"], blunder["after"], blunder["lost"]) == (0.5, 0.0, 0.5)
    assert blunder["proven"] == [True, True]
    assert told[7]["thrown"] == 1


@pytest.mark.parametrize(
    ("text", "more", "words"),
    [
        ("(;GM[4]SZ[9]\n;B[ee]\n;W[ee])", [], "game.sgf: line 3: move 2, 'e5' is not legal; legal moves are: a9,"),
        ("(;GM[4]SZ[9])", [], "game.sgf: the game has no moves to review\n"),
        ("(;GM[4]SZ[9];B[ee])", ["--skip", "1"], "game.sgf: the game has no moves to review behind the first 1"),
        ("(;GM[4]SZ[9];B[ee])", ["--skip", "-1"], "--skip -1 is below 0"),
        ("(;GM[4]SZ[9];B[ee])", ["--svg", "x.png"], "end it in .svg"),
        ("(;GM[4]SZ[9];B[ee])", ["--agent", "gumbel:8@connect4-cpu"], "connect4"),
        ("(;GM[4]SZ[9];B[ee", [], "game.sgf: line 1: a value without its ']'"),
        ('{"jaxgo": 1, "game": "tictactoe", "moves": ["b2"], "start": "XX 0"}', [], "game.sgf: 'XX' has 1 rows, and"),
        ('{"jaxgo": 1, "game": "slide8", "moves": ["1-n"]}', [], "slide8 is a puzzle for one; jaxgo solve"),
    ],
)
def test_what_cannot_be_reviewed_is_one_sentence(text, more, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "game.sgf").write_text(text)
    assert main(["review", "game.sgf", *more]) == 2
    out, error = capsys.readouterr()
    assert not out
    assert words in error
    assert error.count("\n") == 1


def test_a_file_may_be_a_collection(tmp_path):
    path = tmp_path / "two.sgf"
    path.write_text("(;GM[4]SZ[9];B[ee])\n(;GM[4]SZ[9];B[ef];W[ee])")
    assert [len(record.moves) for record in review.read([path]).values()] == [1, 2]
    assert list(review.read([path])) == [f"{path}: game 1", f"{path}: game 2"]


@pytest.mark.slow
def test_of_many_games_those_without_moves_are_left_out(files, capsys, tmp_path):
    path = tmp_path / "none.json"
    formats.save(path, record(""))
    assert main(["review", str(path), *files, "--agent", SURE, "--json"]) == 0
    out, error = capsys.readouterr()
    assert [told["file"] for told in map(json.loads, out.splitlines()) if told["kind"] == "game"] == files
    assert f"a game is left out, of 3, without moves to review: {path}" in error
    assert main(["review", str(path), *files, "--agent", SURE, "--json", "--skip", "2"]) == 0
    assert "2 games are left out, of 3, without moves to review behind the first 2: " in capsys.readouterr().err
    assert main(["review", *files, "--skip", "6"]) == 2
    assert "none of the 2 games has moves to review behind the first 6" in capsys.readouterr().err


def test_games_of_one_kind_are_reviewed_together(files, capsys, tmp_path):
    other = tmp_path / "other.json"
    formats.save(other, record("b2 a1", make("tictactoe", width=4), "tictactoe"))
    assert main(["review", files[0], str(other)]) == 2
    assert "other.json is a game of tictactoe width=4, and" in capsys.readouterr().err
    assert main(["review", *files, "--svg", "x.svg"]) == 2
    assert "--svg draws one game, and there are 2" in capsys.readouterr().err
    (tmp_path / "file").touch()
    assert main(["review", files[0], "--agent", "nobody", "--svg", str(tmp_path / "file" / "x.svg")]) == 2
    assert "cannot write" in capsys.readouterr().err, "before a player is loaded"
    assert main(["review"]) == 2
    assert "there is no game to review" in capsys.readouterr().err
    with pytest.raises(UsageError, match="plays tictactoe, and a game to review is of tictactoe width=4"):
        review.review(load_player("random", TICTACTOE), [review.replayed(formats.load(other))])
