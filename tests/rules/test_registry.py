"""`make`: options change a registered game, and what the user gets wrong is one sentence."""

import dataclasses

import jaxtyping
import numpy as np
import pytest

import jaxgo
from jaxgo.core.errors import UsageError
from jaxgo.games.names import as_recorded, read_game


def test_options_change_a_registered_game():
    assert jaxgo.make("go9", komi=5.5, ko="situational").komi == 5.5
    assert jaxgo.make("gomoku", size=13, rules="renju").num_actions == 169
    assert jaxgo.make("go9") == jaxgo.GAMES["go9"]
    made = jaxgo.make("go9", komi=np.float32(5.5), size=np.int64(7))
    assert (repr(made.komi), repr(made.size)) == ("5.5", "7"), "as Python's numbers, which can be written down"


def test_equal_games_are_recorded_alike_however_they_are_typed():
    one = as_recorded("go9", ["komi = 6", "move_limit=80"])
    assert one == as_recorded("go9", ["move_limit=080", "komi=6.0"]) == ("go9", ("komi=6.0", "move_limit=80"))
    assert as_recorded("go9", ["komi=7"]) == as_recorded("go9") == ("go9", ())
    assert as_recorded("gomoku15") == as_recorded("gomoku") == as_recorded("gomoku9", ["size=15"]) == ("gomoku", ())


def test_an_option_that_is_given_twice_is_refused():
    with pytest.raises(UsageError, match=r"komi is given twice, as 5\.5 and 7"):
        read_game("go5", ["komi=5.5", "komi=7"])


def test_a_cap_that_follows_from_the_size_follows_the_new_size():
    assert jaxgo.make("dodgem3", size=8).max_plies == jaxgo.GAMES["dodgem8"].max_plies
    assert jaxgo.make("dodgem3", size=8, move_limit=7).max_plies == 7
    assert dataclasses.replace(jaxgo.GAMES["dodgem3"], size=5).max_plies == jaxgo.GAMES["dodgem5"].max_plies
    assert jaxgo.make("kamisado", points=3) == jaxgo.GAMES["kamisado-match"]


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("goo", {}, ["'goo'", "go9", "tictactoe"]),
        ("go9", {"kom": 1.0}, ["'kom'", "go9", "komi"]),
        ("tictactoe", {"name": 5}, ["unknown option of tictactoe 'name'", "height"]),
        ("go9", {"ko": "never"}, ["simple, positional, situational", "'never'"]),
        ("go9", {"komi": "six"}, ["komi", "'six'"]),
        ("go9", {"suicide": 1}, ["suicide", "1"]),
        ("dodgem3", {"size": 30}, ["30", "between 3 and 8"]),
    ],
)
def test_mistakes_are_one_sentence(name, options, words):
    with pytest.raises(UsageError) as caught:
        jaxgo.make(name, **options)
    message = str(caught.value)
    assert all(word in message for word in words)
    assert "\n" not in message


@pytest.mark.parametrize("name", jaxgo.GAMES)
def test_every_game_is_made_by_its_name(name):
    assert jaxgo.make(name) == jaxgo.GAMES[name]


WRONG = [
    ("archimedes", {"rules": "greek"}),
    ("archimedes", {"max_plies": 0}),
    ("breakthrough", {"height": 3}),
    ("breakthrough", {"width": 17}),
    ("chess", {"board": "round"}),
    ("chess", {"fen": "8/8"}),
    ("chess", {"repetition": "forbidden"}),
    ("gardner", {"max_plies": 0}),
    ("connect3d", {"prior": -1.0}),
    ("connect3d", {"prior": 2000000.0}),
    ("connect3d", {"by_lead": 1.5}),
    ("connect4", {"width": 0}),
    ("connect4", {"height": 27}),
    ("connect4", {"k": 8}),
    ("dodgem5", {"size": 9}),
    ("dodgem5", {"repetition": "forbidden"}),
    ("dodgem5", {"move_limit": -1}),
    ("hex5", {"size": 27}),
    ("kamisado", {"points": 5}),
    ("kamisado", {"move_limit": -1}),
    ("kono", {"alive_min": 3}),
    ("kono", {"repetition": "forbidden"}),
    ("kono", {"max_plies": 0}),
    ("maharajah", {"layout": "three"}),
    ("maharajah", {"goal": "checkmate"}),
    ("maharajah", {"max_plies": 0}),
    ("othello", {"size": 7}),
    ("othello", {"size": 16}),
    ("pegs", {"board": "german"}),
    ("pegs", {"figure": "roman_cross"}),
]


@pytest.mark.parametrize(("name", "options"), WRONG, ids=[f"{name}-{next(iter(options))}" for name, options in WRONG])
def test_an_option_out_of_its_range_is_told(name, options, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as outside of tests, where nobody checks types
    with pytest.raises(UsageError, match=str(next(iter(options.values())))):
        jaxgo.make(name, **options)
