"""Names of moves in lists, in books and in saved games: what was written is read back, in every game."""

import random
import re

import pytest
from support import Host, mostly_slow

from jaxgo.arena import games_file, openings
from jaxgo.arena.records import PairResult
from jaxgo.cli import main as cli
from jaxgo.cli.show import drawn
from jaxgo.core.errors import UsageError
from jaxgo.core.replay import replay, split_moves
from jaxgo.games import GAMES, make
from jaxgo.search.chain import read_book
from jaxgo.ui import how_to_play

PLIES = 12
TORN = ("connect3d", "dodgem3", "kamisado")  # whose names once had commas and blanks


@pytest.mark.parametrize("name", sorted(GAMES))
def test_names_are_words(name):
    """No name has in it what parts names, and a list of all of them is read back in each way to write it."""
    game = GAMES[name]
    names = [game.action_name(action) for action in range(game.num_actions)]
    assert all(name == "".join(name.split()) and not set(name) & set(",#") and name not in ("", "-") for name in names)
    for comma in (",", " ", ", "):
        assert split_moves(comma.join(names)) == names
    assert "`" in game.notation, "an example"


@pytest.mark.parametrize("name", sorted(GAMES))
def test_rules_are_told_in_a_few_sentences(name):
    told = how_to_play.rules(GAMES[name])
    assert 60 < len(told) < 1300
    assert told.endswith(".")
    assert "  " not in told
    assert not re.search(r"[a-z)]\.[A-Z]|\n| \.", told)


def test_rules_follow_options():
    def told(name, **options):
        return how_to_play.rules(make(name, **options))

    assert "has 5 of" in told("connect4", k=5)
    assert "Who can capture must" in told("kono", compulsory=True)
    assert told("kono", repetition="loss").endswith(
        "loses. A game ends after 200 moves of both players together at the latest."
    )
    assert "aim at the ship that moves" in told("archimedes", rules="dagaz")
    assert "The Maharaja moves first" in told("maharajah", layout="classic", goal="mate")
    assert "1 2 3 / 4 5 6 / 7 8." in told("slide8")
    assert "block A in column 2 to 3 from the left and row 4 to 5" in told("klotski")
    assert "backward" in told("pegs", backward=True)
    assert len({told("gomoku", rules=rules) for rules in ("freestyle", "standard", "renju", "caro", "caro5")}) == 5


def each_class() -> list[str]:
    """The game of each class that has the fewest actions, and those of `TORN`."""
    fewest = {type(GAMES[name]): name for name in sorted(GAMES, key=lambda name: -GAMES[name].num_actions)}
    return sorted({*fewest.values(), *TORN})


def line_of(game) -> list[int]:
    """The first moves of a random game."""
    host, rng, line = Host(game), random.Random(0), []
    while len(line) < PLIES and not host.over:
        line.append(rng.choice(host.legal()))
        host.play(line[-1])
    return line[:-1]  # the last one may have ended it


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_slow(each_class(), TORN))
def test_moves_are_read_back(name, tmp_path):
    """As `--moves` takes them, as a line of a book, and as a file of a game."""
    game = GAMES[name]
    line = line_of(game)
    names = [game.action_name(action) for action in line]
    position, last = replay(game, split_moves(", ".join(names)))
    assert last == line[-1]
    assert int(position.state.ply) == len(line)
    book = tmp_path / "book"
    book.write_text(f"{' '.join(names)}  # a game\n")
    found = openings.book(game, book)
    assert found.actions(0) == tuple(line)
    assert found.names(0) == tuple(names)
    pair = PairResult(name, "one", "two", 1.0, 0.5, "id")
    games_file.save(tmp_path, game, pair, line[:2], [line[2:], []])
    assert games_file.load(tmp_path, game, pair, 0) == line
    assert games_file.load(tmp_path, game, pair, 1) == line[:2]


def test_a_wrong_move_is_told_what_is_legal_now():
    game = make("dodgem3")
    host = Host(game)
    some = game.action_name(host.legal()[0])
    with pytest.raises(UsageError, match="move 2, 'jump', names no move of this game; legal moves are: ") as raised:
        replay(game, [some, "jump"])
    legal = [game.action_name(action) for action in host.play(host.legal()[0]).legal()]
    assert str(raised.value).endswith(": " + ", ".join(legal))
    with pytest.raises(UsageError, match=rf"move 2, '{some}', is not legal; legal moves are: {legal[0]}"):
        replay(game, [some, some])


def test_a_game_is_compiled_once_for_all_that_is_played_again(tmp_path, monkeypatch):
    game, traced = make("tictactoe", width=4), []
    whole = type(game).step
    monkeypatch.setattr(type(game), "step", lambda *told: traced.append(told) or whole(*told))

    def play_again(*moves):
        position, _ = replay(game, moves)
        book = tmp_path / "-".join(moves)
        book.write_text(" ".join(moves))
        read_book(game, str(book))
        drawn(game, position, 2, seed=0)

    play_again("b2")
    known = len(traced)
    play_again("b2", "a1", "a2")
    assert len(traced) == known > 0


def test_show_tells_the_notation(capsys):
    assert cli.main(["show", "dodgem3", "--notation"]) == 0
    said = capsys.readouterr().out
    assert "c1-forward" in said
    legal = [make("dodgem3").action_name(action) for action in Host(make("dodgem3")).legal()]
    assert f"Legal now: {', '.join(legal)}." in said
    assert cli.main(["show", "connect3d", "--moves", "22,33 22", "--notation"]) == 0
    said = capsys.readouterr().out
    assert "ply 3" in said
    assert "and 16 more" in said
