"""Heat maps: every share lands on its cell, points belong to whom they belong to, and what cannot be is refused."""

import dataclasses
import sys
import xml.etree.ElementTree as ElementTree

import jax
import numpy as np
import pytest

from jaxgo.cli.main import main
from jaxgo.cli.show import Show
from jaxgo.core import play, position_text
from jaxgo.games import make
from jaxgo.players import load_player
from jaxgo.search.analysis import Move
from jaxgo.ui import board_shape, board_view, heat

SVG = "{http://www.w3.org/2000/svg}"
GAME = make("tictactoe")


def move(name, share, prior):
    return Move(GAME.parse_action(name), name, round(100 * share), share, 0.0, prior, False, False, 0.0, 1, (name,))


def test_shares_land_on_their_cells_and_are_drawn_there():
    state = position_text.read(GAME, "X../.O./... 0")[0].state
    moves = [move("c1", 0.5, 0.1), move("a1", 0.25, 0.7), move("b3", 0.25, 0.2)]
    cells, said = heat.of_moves(GAME, state, moves, "visits")
    assert cells.tolist() == [0, 0.25, 0, 0, 0, 0, 0.25, 0, 0.5]
    assert said == "c1 50 %, a1 25 %, b3 25 %"
    assert heat.of_moves(GAME, state, moves, "policy")[0].tolist() == [0, 0.2, 0, 0, 0, 0, 0.7, 0, 0.1]
    values = [dataclasses.replace(m, value=v) for m, v in zip(moves, (0.5, -0.25, 1.0), strict=True)]
    values[2] = dataclasses.replace(values[2], visits=0)
    worth, told = heat.of_moves(GAME, state, values, "value")
    assert worth.tolist() == [0, 0, 0, 0, 0, 0, -0.25, 0, 0.5]
    assert told == "c1 50 %, a1 -25 %", "nobody tried b3"
    picture = ElementTree.fromstring(board_view.svg(GAME, state, heat=cells.tolist()))
    discs = [disc for disc in picture.iter(f"{SVG}circle") if disc.get("class") == "heat"]
    assert len(discs) == 3
    assert max(discs, key=lambda disc: float(disc.get("r"))).get("cx") == str(board_shape.size(GAME)[0] - 26 - 20)


def test_points_are_drawn_in_the_colour_of_their_owner():
    picture = ElementTree.fromstring(board_view.svg(GAME, play.begin(GAME).state, owned=[1.0, -0.5] + [0.0] * 7))
    squares = [
        (r.get("class"), float(r.get("width"))) for r in picture.iter(f"{SVG}rect") if r.get("class") in ("zero", "one")
    ]
    assert squares == [("zero", 20.0), ("one", 10.0)]


def test_cells_that_are_no_moves_have_an_owner_too(capsys):
    assert main(["show", "connect4", "--moves", "4,4,3", "--heat", "ownership", "--agent", "random"]) == 0
    said = capsys.readouterr().out
    assert "seat 0's above 0: " in said
    assert {"c1 100 %", "d1 100 %", "d2 -100 %"} <= set(said.rpartition("above 0: ")[2].strip().split(", "))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tictactoe", "--heat", "ownership"], "such as go9 and connect4"),
        (["tictactoe", "--heat", "warmth"], "unknown heat map"),
        (["tictactoe", "--heat", "visits", "--agent", "nobody"], "nobody"),
        (["tictactoe", "--heat", "visits", "--agent", "uct:4", "--moves", "a1,a2,b1,b2,c1"], "the game is over"),
        (
            ["tictactoe", "--heat", "visits", "--agent", "uct:4", "--moves", "b2", "--random", "9"],
            "the game is over after --moves b2,",
        ),
        (["tictactoe", "--numbers"], "--numbers is for pictures"),
        (["tictactoe", "--agent", "uct:4"], "--agent is who is asked for --heat; say which map"),
    ],
)
def test_what_cannot_be_is_refused(words, said, capsys):
    assert main(["show", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_points_belong_to_whose_they_are(capsys, tmp_path):
    game = make("go5")
    rows = ".X.XX/XXXX./OOOOX/.O.OO/OO.O."  # the upper part is Black's but for nothing, the lower White's
    state = position_text.read(game, f"{rows} 0")[0].state
    for agent, who in (("random", "64 random playouts"), ("greedy@go5-cpu", "the net of greedy@go5-cpu")):
        cells, said = heat.of_points(load_player(agent, game), jax.tree.map(lambda x: np.asarray(x)[None], state), 64)
        assert cells[:10].mean() > 0.3 > -0.3 > cells[15:].mean()
        assert said.startswith(f"by {who}, seat 0's above 0: ")
    path = tmp_path / "heat.svg"
    assert (
        main(["show", "tictactoe", "--heat", "visits", "--agent", "uct:20,evaluator=uniform", "--svg", str(path)]) == 0
    )
    assert "visits of uct:20,evaluator=uniform: " in capsys.readouterr().out
    assert 'class="heat"' in path.read_text()


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_picture_that_cannot_be_written_is_refused_before_the_search(kind, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(board_view, "png_package", lambda: None)
    monkeypatch.setattr(Show, "_heat", lambda *_: pytest.fail("it was searched"))
    (tmp_path / "file").touch()
    path = tmp_path / "file" / f"x.{kind}"
    assert main(["show", "tictactoe", "--heat", "visits", f"--{kind}", str(path)]) == 2
    assert f"cannot write {path}" in capsys.readouterr().err


def test_a_png_without_its_package_is_refused_before_the_search(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    monkeypatch.setattr(Show, "_heat", lambda *_: pytest.fail("it was searched"))
    assert main(["show", "tictactoe", "--heat", "visits", "--png", str(tmp_path / "x.png")]) == 2
    assert "PNG needs resvg_py" in capsys.readouterr().err
