"""Numbers in the settings of searches and evaluators are finite, and not larger than anything can be."""

import dataclasses

import pytest

from jaxgo.core.errors import UsageError
from jaxgo.evaluators import EVALUATORS, Heuristic, Mix, Uniform
from jaxgo.search import SEARCHES

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


@pytest.mark.parametrize(("value", "name"), settings(int))
def test_whole_numbers_have_a_bound(value, name):
    with pytest.raises(UsageError, match=f"{name}=99999999999 is too large; at most 16,777,216"):
        dataclasses.replace(value, **{name: 99999999999})
