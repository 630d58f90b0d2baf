"""What notebooks are shown: pictures are SVG, tables are HTML, and both say what the values say."""

import inspect
import xml.etree.ElementTree as ElementTree

import jax
import jax.numpy as jnp
import pytest

from jaxgo.arena.elo import rate
from jaxgo.arena.records import PairResult
from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.evaluators import Uniform
from jaxgo.games import make
from jaxgo.search import Model, Uct
from jaxgo.ui import notebook

GAME = make("tictactoe")


@pytest.fixture(scope="module")
def searched():
    model = Model(GAME, Uniform())
    root = model.start(jax.random.key(0), 2)
    root, _ = jax.jit(model.play)(root, jnp.array([4, 0]))
    return root, jax.jit(lambda key, root: Uct(simulations=32).run(model, (), key, root))(jax.random.key(1), root)


@pytest.mark.slow
def test_a_position_is_a_picture(searched):
    root, _ = searched
    one, other = (notebook.draw(GAME, root, lane=lane) for lane in (0, 1))
    assert ElementTree.fromstring(one._repr_svg_()).tag == "{http://www.w3.org/2000/svg}svg"
    assert str(one) == one._repr_svg_() != str(other)
    assert str(notebook.draw(GAME, jax.tree.map(lambda x: x[1], root.state))) == str(other)
    for wrong in ({}, {"lane": None}):
        with pytest.raises(UsageError, match="the lane to draw"):
            notebook.draw(GAME, root, **wrong)


def test_a_game_that_is_not_in_the_batch_is_no_other_one(searched):
    root, result = searched
    assert str(notebook.draw(GAME, root, lane=-1)) == str(notebook.draw(GAME, root, lane=1))
    for lane in (2, -3):
        with pytest.raises(UsageError, match=f"no lane {lane} in a batch of 2"):
            notebook.draw(GAME, root, lane=lane)
        with pytest.raises(UsageError, match=f"no lane {lane} in a batch of 2"):
            notebook.thoughts(GAME, result, lane=lane)


def test_a_search_is_a_table(searched):
    _, result = searched
    page = notebook.thoughts(GAME, result, lane=1, rows=3)._repr_html_()
    table = ElementTree.fromstring(page)
    rows = table.findall("tbody/tr")
    assert len(rows) == 3
    assert rows[0].find("td").text == GAME.action_name(int(result.action[1]))
    assert rows[0].findall("td")[1].text == str(int(result.visits[1, result.action[1]]))


def test_ratings_are_a_table():
    pairs = [PairResult("go9", "<ann>", "bob", 1.0, 0.5, str(i)) for i in range(4)]
    table = ElementTree.fromstring(notebook.ladder(rate(pairs))._repr_html_())
    assert [row.findall("td")[1].text for row in table.findall("tbody/tr")] == ["<ann>", "bob"]
    assert all("±" in row.findall("td")[2].text for row in table.findall("tbody/tr"))


def test_what_is_no_game_no_search_and_no_table_is_named(searched):
    draw, thoughts, ladder = (inspect.unwrap(show) for show in (notebook.draw, notebook.thoughts, notebook.ladder))
    game = make("tictactoe")
    for show, said in (
        (lambda: draw(play.begin(game), game), "a Position is no game, which draw takes first"),
        (lambda: thoughts(play.begin(game), game), "a Position is no game, which thoughts takes first"),
        (lambda: thoughts(game, play.begin(game)), "a Position is no SearchResult, as run of a search gives it"),
        (lambda: ladder([]), "is no RatingTable, as rate"),
    ):
        with pytest.raises(UsageError, match=said):
            show()


def test_curves_of_a_run():
    rows = [{"iteration": i, "loss": {"total": 2.0, "policy": 1.0 / i}, "length": 30.0} for i in range(1, 5)]
    rows[2]["loss"] = {"total": None, "policy": None}  # was not finite
    assert [notebook._number(row["loss"]) for row in rows] == [2.0, 2.0, None, 2.0]
    assert "<svg" in notebook.curves(rows)._repr_svg_()
    with pytest.raises(UsageError, match="no row has a number called 'speed'"):
        notebook.curves(rows, ["speed"])
