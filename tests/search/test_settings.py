"""Settings of searches and evaluators are of the kinds of their defaults, finite, and not larger than can be."""

import dataclasses
import inspect
import itertools

import numpy as np
import pytest
from support import untyped

from jaxgo.core.errors import UsageError, check_settings, check_whole
from jaxgo.evaluators import EVALUATORS, Heuristic, Likely, Mix, Network, Rollout, Uniform
from jaxgo.games import find, make
from jaxgo.nets import Mlp
from jaxgo.search import SEARCHES, Model
from jaxgo.search.narrow import Narrowing

VALUES = [*SEARCHES.values(), *EVALUATORS.values(), Mix(Uniform(), Heuristic())]


def settings(kind: type):
    return [
        pytest.param(value, field.name, id=f"{type(value).__name__}-{field.name}")
        for value in VALUES
        if dataclasses.is_dataclass(value)
        for field in dataclasses.fields(value)
        if type(getattr(value, field.name)) is kind
    ]


@pytest.mark.parametrize(("value", "name"), settings(float))
def test_numbers_are_finite(value, name):
    for wrong in (float("nan"), float("inf"), -float("inf")):
        with pytest.raises(UsageError, match=f"{name}={wrong} is not a finite number"):
            dataclasses.replace(value, **{name: wrong})


@dataclasses.dataclass
class Settings:
    """Outside of jaxgo, where nothing else looks at types."""

    count: int = 1
    rate: float = 1
    switch: bool = False
    word: str = "a"
    room: int | None = None


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *(("count", wrong) for wrong in (1.0, "1", True, None)),
        *(("rate", wrong) for wrong in ("1", True, None, np.array([1.0]))),
        *(("switch", wrong) for wrong in ("no", 1)),
        ("word", 3),
    ],
)
def test_settings_are_of_the_kind_of_their_defaults(name, wrong):
    """The text "no" would be a switch that is on, and 1.5 games would be cut to one."""
    with pytest.raises(UsageError, match=f"here.{name}=.* is not (a |True or)"):
        check_settings("here.", Settings(**{name: wrong}))


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES.keys())
def test_every_search_looks_at_the_kinds_of_its_settings(search):
    for field in dataclasses.fields(search):
        with pytest.raises(UsageError, match=f"{type(search).__name__}: {field.name}=.* is not (a |True or)"):
            untyped(type(search), **{**vars(search), field.name: np.array([1.0])})


def test_whole_numbers_are_numbers_and_numpy_has_them_too():
    check_settings("", Settings(count=np.int64(3), rate=np.float32(1.0), room=7))
    check_settings("", Settings(rate=0.5))
    with pytest.raises(UsageError, match="rate=nan is not a finite number"):
        check_settings("here.", Settings(rate=np.float32("nan")))
    with pytest.raises(UsageError, match="count=99999999999 is too large"):
        check_whole("here.", Settings(count=np.int64(99999999999)), 2**24)


def test_parts_that_do_not_belong_together_are_refused():
    game = make("tictactoe")
    for wrong in (("tictactoe", Uniform()), (game, Uniform), (game, Mlp()), (game, None)):
        with pytest.raises(UsageError, match="a model is made of a game and an evaluator"):
            untyped(Model, game=wrong[0], evaluator=wrong[1])
    with pytest.raises(UsageError, match="give a linen module"):
        untyped(Network, module=Mlp())
    parts = ((Mix, "first"), (Mix, "second"), (Rollout, "advisor"), (Likely, "judge"))
    for (kind, part), wrong in itertools.product(parts, (3, "uniform", Uniform)):
        fields = {"first": Uniform(), "second": Uniform(), "judge": Uniform(), part: wrong}
        with pytest.raises(UsageError, match=f"{part}.* is an evaluator, such as"):
            untyped(kind, **fields)
    with pytest.raises(UsageError, match="no name of a game"):
        inspect.unwrap(find)(game)


@pytest.mark.parametrize(("value", "name"), settings(int))
def test_whole_numbers_have_a_bound(value, name):
    with pytest.raises(UsageError, match=f"{name}=99999999999 is too large; at most 16,777,216"):
        dataclasses.replace(value, **{name: 99999999999})


def test_a_tree_has_room_for_a_simulation():
    trees = [search for search in SEARCHES.values() if getattr(search, "nodes", -1) >= 0]
    assert len(trees) > 2
    for search in trees:
        assert dataclasses.replace(search, nodes=2).nodes == 2
        with pytest.raises(UsageError, match="nodes=1 has room for the root and for no simulation"):
            dataclasses.replace(search, nodes=1)


@pytest.mark.parametrize("name", ["breadth", "vcf", "vct"])
def test_options_of_narrowing_are_refused_where_the_search_is_made(name):
    for search in SEARCHES.values():
        if isinstance(search, Narrowing):
            with pytest.raises(UsageError, match="breadth, vcf and vct of a search are at least 0"):
                dataclasses.replace(search, **{name: -1})
