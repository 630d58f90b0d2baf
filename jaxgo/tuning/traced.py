"""A search whose numbers are arguments: one compiled program plays with any of them."""

import copy
import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import Literal
from jaxtyping import Array, Float32, Int32

from jaxgo.core.errors import UsageError
from jaxgo.core.play import Position
from jaxgo.evaluators.base import Params
from jaxgo.search.base import Budget, Search, SearchResult, Temperature
from jaxgo.search.model import Model
from jaxgo.search.tree import Tree


class Arguments(NamedTuple):
    """The parameters of a player whose options are tuned."""

    options: Float32[Array, " F"]
    evaluator: Params


class TracedState(NamedTuple):
    options: Float32[Array, " F"]
    inner: Any

    @property
    def root(self) -> Position:
        return self.inner.root

    @property
    def tree(self) -> Tree | None:
        return self.inner.tree

    @property
    def prior(self) -> Float32[Array, "B A"]:
        return self.inner.prior

    @property
    def done(self) -> Int32[Array, " B"]:
        return self.inner.done

    @property
    def calls(self) -> Int32[Array, ""]:
        return self.inner.calls


@dataclasses.dataclass(frozen=True)
class Traced(Search[TracedState]):
    """The search `base`, of which the fields `names` come with the parameters."""

    base: Search[Any]
    names: tuple[str, ...]

    def _with(self, options: Float32[Array, " F"]) -> Search[Any]:
        """The base with these numbers. Nothing checks them: the checks of a search cannot look at what is traced."""
        search = copy.copy(self.base)
        for name, value in zip(self.names, options, strict=True):
            object.__setattr__(search, name, value)
        return search

    def begin(
        self, model: Model, params: Params, key: Array, root: Position, plan: Budget | None = None
    ) -> TracedState:
        search = self._with(params.options)
        return TracedState(params.options, search.begin(model, params.evaluator, key, root, plan))

    def extend(self, model: Model, params: Params, key: Array, state: TracedState, budget: Budget) -> TracedState:
        search = self._with(params.options)
        return TracedState(params.options, search.extend(model, params.evaluator, key, state.inner, budget))

    def result(self, key: Array, state: TracedState, temperature: Temperature = 0.0) -> SearchResult:
        return self._with(state.options).result(key, state.inner, temperature)

    @property
    def budget(self) -> int:
        return self.base.budget

    @property
    def lucky(self) -> bool:
        return self.base.lucky

    @property
    def draws(self) -> bool:
        return self.base.draws

    @property
    def resumable(self) -> bool:
        return self.base.resumable


def check_traced(search: Search[Any], names: tuple[str, ...], model: Model, params: Params) -> None:
    """A UsageError where one of these fields decides what is compiled, or nothing; found without compiling anything."""

    def play(options: Array, name: str) -> SearchResult:
        key = jax.random.key(0)
        root = model.start(key, 1)
        return Traced(search, (name,)).run(model, Arguments(options, params), key, root)

    kind = type(search).__name__.lower()
    for name in names:
        try:
            program = jax.make_jaxpr(lambda options, name=name: play(options, name))(jnp.zeros(1)).jaxpr
        except (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError, TypeError):
            raise UsageError(
                f"{name} of {kind} decides what is compiled, so it cannot be tuned; leave it out"
            ) from None
        if not _has_a_say(program):
            raise UsageError(f"{name} of {kind} changes nothing with the other settings of this player; leave it out")


def _has_a_say(program: Any) -> bool:
    """Whether anything that a program gives back hangs on what it takes."""
    live = {one for one in program.outvars if not isinstance(one, Literal)}
    for step in reversed(program.eqns):
        if not live.isdisjoint(step.outvars):
            live.update(one for one in step.invars if not isinstance(one, Literal))
    return not live.isdisjoint(program.invars)
