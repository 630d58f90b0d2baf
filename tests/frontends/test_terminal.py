"""A game in the terminal, as a transcript."""

import json
import re

import pytest

from jaxgo.frontends.session import Session
from jaxgo.frontends.terminal import Terminal, beside
from jaxgo.games import make


def talk(session, *lines, **more):
    """What the terminal shows for these lines."""
    rest, shown = list(lines), []

    def read(prompt):
        shown.append(prompt)
        return rest.pop(0) if rest else None

    Terminal(session, read, shown.append, **more).run()
    return "\n".join(shown)


@pytest.fixture(scope="module")
def session():
    opened = Session(make("tictactoe"), "tictactoe")
    opened.set_player(1, "uct:30,evaluator=uniform")
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def _fresh(session):
    session.new_game()


def test_a_game_by_names(session):
    shown = talk(session, "b2", "quit", analysis=True)
    assert shown.startswith("\n3 . . .\n2 . . .\n1 . . .\n  a b c\nseat 0> \n")
    assert "2 . X .\n" in shown
    assert "seat 1 (uct:30,evaluator=uniform) plays " in shown
    assert re.search(r"\n(3 . . .)?\s+move +visits +value +line\n", shown)
    assert len(session.board.actions) == 2


def test_the_rules_are_told(session):
    shown = talk(session, "rules", "quit")
    assert "Who first has 3 of their own in a row, column or diagonal wins" in shown.replace("\n", " ")
    assert session.game.notation in shown


def test_a_word_is_a_move_where_that_is_legal():
    opened = Session(make("hex5"), "hex5")
    shown = talk(opened, "swap", "c3", "swap")
    assert "is not legal" not in shown
    assert opened.board.moves == ["c3", "swap"]
    opened.close()


def test_words(session, tmp_path):
    file = tmp_path / "a.json"
    shown = talk(session, "b2", "hint", f"save {file}", "undo", "text", "redo", "moves", "undo", f"load {file}")
    assert "would play" in shown
    assert f"saved in {file}" in shown
    assert ".../.../... 0" in shown
    assert len(session.board.actions) == 2
    assert "> " in shown.splitlines()[-1]
    shown = talk(
        session, "new", "setup XX./OO./... 0", "c3", "b1", "dance", "save x.doc", "load /nowhere", "undo", "resign"
    )
    assert "seat 0 wins: by the rules> " in shown
    assert "'dance' is neither a move nor a word" in shown
    assert "cannot read /nowhere" in shown
    assert "unknown format" in shown or "format of games" in shown
    assert shown.splitlines()[-1] == "seat 1 wins: seat 0 resigned> "


def test_a_file_with_a_mistake_is_named(session, tmp_path):
    file = tmp_path / "bad.json"
    talk(session, f"save {file}")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"moves": ["b2", "b2"]}))
    assert f"{file}: move 2, 'b2' is not legal" in talk(session, f"load {file}")
    assert session.board.moves == [], "the game stays"


def test_who_played_a_game_and_how_it_ended_is_saved_again(session, tmp_path):
    file = tmp_path / "a.json"
    told = {"players": ["Ann", "Bob"], "returns": [1.0, -1.0], "reason": "time"}
    talk(session, "b2", f"save {file}")
    file.write_text(json.dumps(json.loads(file.read_text()) | told))
    talk(session, f"load {file}", f"save {file}")
    saved = json.loads(file.read_text())
    assert {key: saved[key] for key in told} == told


@pytest.mark.parametrize("line", ["new", "undo", "undo\nredo", "setup .../.X./... 1", "load FILE"])
def test_an_analysis_is_shown_beside_no_other_position(session, line, tmp_path):
    file = tmp_path / "a.json"
    shown = talk(session, "b2", f"save {file}", *line.replace("FILE", str(file)).split("\n"), analysis=True)
    assert shown.count("visits") == shown.count("plays") >= 1, "one for each move that the player has thought about"


def test_an_analysis_for_two_people_is_beside_every_position(session):
    session.set_adviser("uct:30,evaluator=uniform")
    session.set_player(1, None)
    try:
        shown = talk(session, "b2", "a1", "undo", analysis=True)
    finally:
        session.set_player(1, "uct:30,evaluator=uniform")
    assert shown.count("visits") == 4


def test_nothing_to_take_back_is_said(session):
    assert "there is no move of yours to take back" in talk(session, "undo")
    assert "0 moves can be" in talk(session, "redo")


def test_who_gave_up_takes_that_back_and_no_move(session):
    shown = talk(session, "resign", "undo")
    assert shown.endswith("seat 0> ")
    session.setup("start b2 a1")
    talk(session, "resign", "undo")
    assert (session.board.moves, session.board.result()) == (["b2", "a1"], None)


def test_texts_side_by_side():
    assert beside("a\nbcd", "1\n2\n3") == "a     1\nbcd   2\n      3"
