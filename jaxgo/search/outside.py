"""Searches of somebody's own: what their verbs return is looked at before anything dear, and their moves wherever a
game is played by them.

jaxgo's own are tested, and cost nothing here.
"""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int32

from jaxgo.core import trial
from jaxgo.core.errors import UsageError
from jaxgo.core.play import Position
from jaxgo.search.model import Model

GAMES = 2  # of the batch that is tried
KINDS = {  # of a result's arrays: what they hold, and whether for each move
    "action": (jnp.integer, False),
    "policy": (jnp.floating, True),
    "value": (jnp.floating, False),
    "visits": (jnp.integer, True),
    "q": (jnp.floating, True),
    "proven": (jnp.bool_, True),
    "solved": (jnp.bool_, False),
    "healthy": (jnp.bool_, False),
}
WORDS = {jnp.integer: "int32", jnp.floating: "float32", jnp.bool_: "bool"}


def is_own(search: Any) -> bool:
    """Whether a search, or one that it is made of, is of somebody's own, and so no test of jaxgo has seen it."""
    parts = [getattr(search, field.name) for field in dataclasses.fields(search)]
    parts.append(getattr(search, "search", None))  # the last link of a chain
    return trial.is_own(search) or any(
        is_own(part) for part in parts if hasattr(part, "extend") and dataclasses.is_dataclass(part)
    )


def legal_moves(search: Any, model: Model, position: Position, action: Int32[Array, " B"]) -> Bool[Array, " B"]:
    """Whether these moves of a search are legal; of jaxgo's own searches they are."""
    if not is_own(search):
        return jnp.ones(action.shape, jnp.bool_)
    legal = model.legal(position)
    within = (action >= 0) & (action < legal.shape[1])
    return within & jnp.take_along_axis(legal, jnp.where(within, action, 0)[:, None], axis=1)[:, 0]


@functools.lru_cache(maxsize=64)
def check(search: Any, model: Model) -> None:
    """A UsageError where a verb of somebody's own search fails, or returns other arrays than it should.

    Nothing is computed: shapes are followed through the verbs, with one key for all games.
    """
    if model.pays or not is_own(search):  # nobody knows where an environment begins
        return
    if hasattr(last := getattr(search, "search", None), "extend"):  # of a chain
        check(last, model)
    name, key = type(search).__name__, jax.eval_shape(lambda: jax.random.key(0))
    params = jax.eval_shape(model.init, key)
    root = jax.eval_shape(lambda key: model.start(key, GAMES), key)
    action, budget = jax.ShapeDtypeStruct((GAMES,), jnp.int32), jax.ShapeDtypeStruct((), jnp.int32)

    def begin(params: Any, key: Array, root: Position) -> Any:
        return _read(search.begin(model, params, key, root, search.budget))

    def extend(params: Any, key: Array, state: Any, budget: Array) -> Any:
        return _read(search.extend(model, params, key, state, budget if search.resumable else search.budget))

    def follow(params: Any, key: Array, state: Any, action: Array, root: Position) -> Any:
        return _read(search.follow(model, params, key, state, action, root, search.budget))

    state = _state(name, "begin", begin, params, key, root)
    state = _state(name, "extend", extend, params, key, state, budget)
    _check_result(name, trial.traced(name, "result", search.result, key, state, 0.0), model.game.num_actions)
    _state(name, "follow", follow, params, key, state, action, root)


def _read(state: Any) -> tuple[Any, ...]:
    """A state, and what others read of it."""
    return state, state.done, state.calls, (state.root, state.tree, state.prior)


def _state(name: str, verb: str, rule: Any, *given: Any) -> Any:
    """What a verb makes, as shapes."""
    state, done, calls, _ = trial.traced(name, verb, rule, *given)
    for field, found, shape in (("done", done, (GAMES,)), ("calls", calls, ())):
        if found.shape != shape or not jnp.issubdtype(found.dtype, jnp.integer):
            raise UsageError(
                f"{verb} of {name} gives a state with {found.dtype}{list(found.shape)} as `{field}` for {GAMES} games; "
                f"int32{list(shape)} is needed"
            )
    return state


def _check_result(name: str, result: Any, actions: int) -> None:
    for field, (kind, each) in KINDS.items():
        found: Any = getattr(result, field, None)
        shape = (GAMES, actions) if each else (GAMES,)
        if getattr(found, "shape", None) != shape or not jnp.issubdtype(found.dtype, kind):
            told = "nothing" if found is None else f"{found.dtype}{list(found.shape)}"
            raise UsageError(
                f"result of {name} gives {told} as `{field}` for {GAMES} games; {WORDS[kind]}{list(shape)} is needed"
            )
