"""Players by name: `random`, `uct:400`, `gumbel:64,max_considered=8`, `uct:400,rollouts=4,c=1.4`, `gumbel:64@runs/go9`.

A spec is the name of a search, its simulations, and options: the fields of the search, `evaluator` and the fields of
the evaluator (`rollouts` is the `count` of playouts). After an `@` comes a network to plan with: the folder of a run
(its newest weights, or those of a step: `runs/go9:1200`), a file of weights, or the name of weights that jaxgo ships.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple, get_args, get_type_hints

import jax
import jax.numpy as jnp

from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.core.game import Game
from jaxgo.evaluators import EVALUATORS, Network, Rollout, Uniform
from jaxgo.evaluators.base import Evaluator, Params
from jaxgo.games import make
from jaxgo.nets import from_json as net_from_json
from jaxgo.search import PRESETS, SEARCHES
from jaxgo.search.base import Search
from jaxgo.search.model import Model
from jaxgo.system.players import load_player

RENAMED = {"rollouts": "count"}
EXTERNAL = ("gtp", "gomocup")  # programs of their own; only the arena plays against them

_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class Agent(NamedTuple):
    """A search, what it plans with, and the parameters of its evaluator."""

    name: str
    search: Search
    model: Model
    params: Params


def load_agent(spec: str, game: Game[Any]) -> Agent:
    """The player that a spec describes, for this game; a UsageError names the word that is wrong."""
    plain, at, weights = spec.partition("@")
    head, *texts = (part.strip() for part in plain.split(","))
    name, colon, budget = (part.strip() for part in head.partition(":"))
    if name in EXTERNAL:
        raise UsageError(f"{spec!r} is a program of its own; only eval.py can play against it")
    search, usual = _named(name)
    options = _options(spec, texts)
    if colon:
        if search.budget == 0:
            raise UsageError(f"{name} does not simulate; leave ':{budget}' out")
        options = {"simulations": budget, **options}
    if at and "evaluator" in options:
        raise UsageError(f"{spec!r} names a network and another evaluator; leave one out")
    evaluator = Uniform() if at else _evaluator(usual, options)
    search_fields, evaluator_fields = _fields(search), _fields(evaluator)
    for option in options:
        if option not in search_fields | evaluator_fields.keys():
            renamed = {new: old for old, new in RENAMED.items()}
            valid = [*search_fields, "evaluator", *(renamed.get(field, field) for field in evaluator_fields)]
            raise unknown_name(f"option of {name} with {type(evaluator).__name__.lower()}", option, valid)
    search = _with(search, {k: v for k, v in options.items() if k in search_fields})
    if at:
        return Agent(spec, search, *_load_network(weights.strip(), game))
    evaluator = _with(evaluator, {k: v for k, v in options.items() if k not in search_fields})
    model = Model(game, evaluator)
    return Agent(spec, search, model, model.init(jax.random.key(0)))


def _load_network(place: str, game: Game[Any]) -> tuple[Model, Params]:
    """A network that was trained for this game, and its weights."""
    folder, colon, step = place.rpartition(":")
    about, weights = load_player(folder, int(step)) if colon and step.isdigit() else load_player(place)
    try:
        trained, net = make(about["game"], **about["options"]), net_from_json(about["net"])
    except (KeyError, TypeError):
        raise UsageError(f"the weights of {place} do not say which game and network they are of") from None
    module: Any = net.module(game)
    model = Model(game, Network(module))
    # further heads of the learner may lie beside what a search needs
    wanted = jax.eval_shape(model.init, jax.random.key(0))
    params = jax.tree.map(jnp.asarray, weights)
    if type(trained) is not type(game) or not _holds(params, wanted):
        raise UsageError(f"the weights of {place} are for {about['game']}; they do not fit the game that is asked for")
    return model, params


def _holds(params: Any, wanted: Any) -> bool:
    """Whether there are all the arrays that a network wants, in its shapes."""
    if not isinstance(wanted, Mapping):
        return not isinstance(params, Mapping) and params.shape == wanted.shape
    return isinstance(params, Mapping) and all(k in params and _holds(params[k], v) for k, v in wanted.items())


def _options(spec: str, texts: list[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    for text in texts:
        option, equals, value = (part.strip() for part in text.partition("="))
        if not (option and equals and value):
            raise UsageError(f"{text!r} in {spec!r} is not of the form name=value, such as c=1.4")
        if option in options:
            raise UsageError(f"{spec!r} gives {option} twice; leave one out")
        options[option] = value
    return options


def _named(name: str) -> tuple[Search, Evaluator]:
    """The search of this name, and what it plans with unless the spec says otherwise."""
    if name in PRESETS:
        return PRESETS[name].search, PRESETS[name].evaluator
    if name not in SEARCHES:
        raise unknown_name("search", name, (*SEARCHES, *PRESETS))
    search = SEARCHES[name]
    return search, EVALUATORS[search.default_evaluator]


def _evaluator(usual: Evaluator, options: dict[str, str]) -> Evaluator:
    """Takes `evaluator` out of the options; gives short names their long ones."""
    named = options.pop("evaluator", None)
    if named is not None and named not in EVALUATORS:
        raise unknown_name("evaluator", named, EVALUATORS)
    evaluator = usual if named is None else EVALUATORS[named]
    for short in RENAMED.keys() & options.keys() if isinstance(evaluator, Rollout) else ():
        options[RENAMED[short]] = options.pop(short)
    return evaluator


def _fields(value: Any) -> dict[str, Any]:
    """The settings that can be typed: numbers, switches and words."""
    fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {name: default for name, default in fields.items() if isinstance(default, (bool, int, float, str))}


def _with(value: Any, texts: dict[str, str]) -> Any:
    hints = get_type_hints(type(value))
    changes: dict[str, Any] = {}
    for name, text in texts.items():
        words = get_args(hints[name])  # of a Literal
        if words and text not in words:
            raise unknown_name(name, text, words)
        changes[name] = _read(name, text, getattr(value, name))
    return dataclasses.replace(value, **changes)


def _read(name: str, text: str, like: bool | int | float | str) -> bool | int | float | str:
    """The text as a value of the same kind as the default."""
    if isinstance(like, bool):
        if text.lower() not in _WORDS:
            raise UsageError(f"{name}={text} is neither yes nor no")
        return _WORDS[text.lower()]
    if isinstance(like, str):
        return text
    kind, words = (int, "a whole number") if isinstance(like, int) else (float, "a number")
    try:
        return kind(text)
    except ValueError:
        raise UsageError(f"{name}={text} is not {words}") from None
