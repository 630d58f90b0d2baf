"""A player, and the two ways between players and specs: `load_player` and `spec` are inverse."""

import dataclasses
import functools
import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_type_hints

import jax
import numpy as np

from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.core.game import Game
from jaxgo.core.names import place_of
from jaxgo.core.words import Value, read_value
from jaxgo.evaluators import EVALUATORS, Network, Rollout
from jaxgo.evaluators import find as find_evaluator
from jaxgo.evaluators.base import Evaluator, Params
from jaxgo.players.best import spelled
from jaxgo.players.of_weights import network, rated_search
from jaxgo.players.spec_text import Spec, is_external, parse, seconds_of
from jaxgo.search import PRESETS, SEARCHES, name_of
from jaxgo.search import find as find_search
from jaxgo.search.base import Search, check_parts
from jaxgo.search.model import Model
from jaxgo.system.weights import find_weights

SHORT = {"count": "rollouts"}  # what an option of playouts is called
TEMPERATURE = "temperature"  # the option that belongs to a player, whatever it searches by
HOTTEST = 10.0  # nearly chance

_KINDS = {bool: "neither yes nor no", int: "not a whole number", float: "not a number"}  # what else a text is


@dataclasses.dataclass(frozen=True, eq=False)
class Player:
    """A search, what it plans with, and the parameters of its evaluator. Equal players play alike."""

    search: Search
    model: Model
    params: Params = ()
    name: str = ""
    weights: str = ""  # where the parameters were read, as a spec says it; "": nowhere
    rated: Search | None = None  # the search that belongs to these weights; options in a spec count from it
    asked: str = ""  # the spec that means another player for another game, if it was found by such a one
    temperature: float = 0.0  # above 0 it draws its moves by what it thinks of them, and plays below its strength

    def __post_init__(self) -> None:
        check_parts(self.search, self.model)
        number = isinstance(self.temperature, int | float) and not isinstance(self.temperature, bool)
        if not number or not 0 <= self.temperature <= HOTTEST:
            raise UsageError(f"the temperature of a player is a number from 0 to {HOTTEST:g}, not {self.temperature!r}")
        if self.temperature > 0 and not self.search.draws:
            raise UsageError(
                f"{name_of(self.search)} does not weigh one move against the others: leave its temperature out"
            )

    @property
    def lucky(self) -> bool:
        """Whether an opening becomes another game each time it plays it."""
        drawn = self.temperature > 0 or self.search.lucky
        return drawn or (self.search.budget > 0 and self.model.evaluator.lucky)

    def begun(self, root: Any) -> Any:
        """What its search of positions begins with, as shapes alone, which those may be, too: nothing is compiled."""
        begin = functools.partial(self.search.begin, self.model)
        return jax.eval_shape(begin, self.params, jax.random.key(0), root)

    def fingerprint(self) -> str:
        """A hash of all that the moves follow from: the search and its files, the evaluator and its parameters, the
        temperature."""
        heat = f" {self.temperature:g}" if self.temperature else ""
        digest = hashlib.sha256(f"{_stable_repr(self.search)} {_stable_repr(self.model.evaluator)}{heat}".encode())
        leaves = jax.tree_util.tree_leaves_with_path
        for path, leaf in [*leaves(self.params), *leaves(self.search.reads(self.model.game))]:
            array = np.asarray(leaf)
            digest.update(f"{jax.tree_util.keystr(path)} {array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:16]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Player) or (self.search, self.model.game) != (other.search, other.model.game):
            return False
        return self.fingerprint() == other.fingerprint()

    def __hash__(self) -> int:
        return hash((self.search, self.model.game))


def _stable_repr(value: Any) -> str:
    """The settings of a search or an evaluator, the same in every process; a network is told by its parameters."""
    if isinstance(value, Network):
        precision = getattr(value.module, "precision", "float32")  # the usual one is not told: hashes of before stay
        return f"Network{', symmetric' * value.symmetric}{f', {precision}' * (precision != 'float32')}"
    fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
    plain = {field.name: getattr(value, field.name) for field in fields}
    said = [f"{k}={v!r}" for k, v in plain.items() if v is None or isinstance(v, (bool, int, float, str, tuple))]
    parts = [f"{k}={_stable_repr(v)}" for k, v in plain.items() if dataclasses.is_dataclass(v)]
    return f"{type(value).__name__}({', '.join(said + parts)})"


# -- from a spec to a player -----------------------------------------------------------------------------------------


def load_player(text: str, game: Game[Any], noise: bool = False) -> Player:
    """The player that a spec describes, for this game; a UsageError names the word that is wrong.

    With `noise` searches explore as they do unless a spec says otherwise.
    """
    if is_external(text):
        raise UsageError(f"{text.strip()!r} is a program of its own; only jaxgo eval can play against it")
    words = parse(text)
    if (meant := spelled(words, game)) != words:
        return dataclasses.replace(load_player(str(meant), game, noise), asked=str(words))
    if seconds_of(words) is not None:
        raise UsageError(
            f"{text.strip()!r} plays by the clock, which only agents of jaxgo eval do; leave :{words.budget} out, "
            "and say --seconds if this command has it, or name simulations"
        )
    if not words.weights:
        base, usual = _base(words.head, None)
        assert usual is not None, "a search has a usual evaluator"
        search, evaluator, heat = _settled(words, base if noise else base.quiet(), usual)
        model = Model(game, evaluator)
        return named(Player(search, model, model.init(jax.random.key(0)), str(words), temperature=heat))
    place, about, arrays = find_weights(words.weights)
    if any(name == "evaluator" for name, _ in words.options):
        raise UsageError(f"{text.strip()!r} names a network and another evaluator; leave one out")
    rated = rated_search(place, about)
    if not words.head and rated is None:
        raise UsageError(f"the weights of {place} name no search to play with; write one, as in gumbel:64@{place}")
    base, _ = _base(words.head, rated)
    model, params = network(place, about, arrays, game)
    search, evaluator, heat = _settled(words, base if noise else base.quiet(), model.evaluator)
    model = dataclasses.replace(model, evaluator=evaluator)
    return named(Player(search, model, params, str(words), place, rated, temperature=heat))


def _base(head: str, rated: Search | None) -> tuple[Search, Evaluator | None]:
    """The search that the options of a spec count from, and its usual evaluator."""
    if rated is not None and head in ("", _search_name(rated)):
        return rated, None
    if head in PRESETS:
        return PRESETS[head].search, PRESETS[head].evaluator
    search = find_search(head)
    return search, find_evaluator(search.default_evaluator)


def _settled(words: Spec, base: Search, usual: Evaluator) -> tuple[Search, Evaluator, float]:
    """The search and the evaluator with the options of a spec, and the temperature."""
    options = dict(words.options)
    heat: Any = _read(TEMPERATURE, options.pop(TEMPERATURE, "0"), 0.0)
    if words.budget:
        if not _amount(base):
            raise UsageError(f"{words.head} does not simulate; leave ':{words.budget}' out")
        if base.colon in options:
            raise UsageError(f"{str(words)!r} gives {base.colon} twice, behind the colon, too; leave one out")
        options = {base.colon: words.budget, **options}
    evaluator, asked = usual, options.pop("evaluator", None)
    if asked is not None:
        evaluator = find_evaluator(asked)
    ours, theirs = _fields(base), _options_of(evaluator, base)
    for option in options:
        if option not in ours and option not in theirs:
            network = isinstance(evaluator, Network)
            kind = "a network" if network else type(evaluator).__name__.lower()
            shown = [name for name, field in theirs.items() if name != f"evaluator.{field}" or field in ours]
            valid = [*ours, *([] if network else ["evaluator"]), *shown, TEMPERATURE]
            raise unknown_name(f"option of {words.head or 'this search'} with {kind}", option, valid)
    search = _with(base, {name: (name, text) for name, text in options.items() if name in ours})
    changes: dict[str, tuple[str, str]] = {}
    for name, text in options.items():
        if name in ours:
            continue
        if (other := changes.get(theirs[name])) is not None:
            raise UsageError(f"{str(words)!r} gives {other[0]} and {name}, which are one; leave one out")
        changes[theirs[name]] = name, text
    return search, _with(evaluator, changes), heat


def _fields(value: Any) -> dict[str, Any]:
    """The settings that can be typed: numbers, switches and words."""
    fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {name: default for name, default in fields.items() if isinstance(default, (bool, int, float, str))}


def _options_of(evaluator: Evaluator, search: Search) -> dict[str, str]:
    """What the fields of an evaluator are called in a spec; those that the search has, too, by their long name only."""
    short = SHORT if isinstance(evaluator, Rollout) else {}
    ours, found = _fields(search), {}
    for field in _fields(evaluator):
        if field in evaluator.untold:
            continue
        if field not in ours:
            found[short.get(field, field)] = field
        found[f"evaluator.{field}"] = field
    return found


def _with(value: Any, texts: Mapping[str, tuple[str, str]]) -> Any:
    """A search or an evaluator with some of its fields read from texts, each with the name it was given by."""
    hints = get_type_hints(type(value))
    changes: dict[str, Any] = {}
    for field, (name, text) in texts.items():
        words = get_args(hints[field])  # of a Literal
        if words and text not in words:
            raise unknown_name(name, text, words)
        changes[field] = _read(name, text, getattr(value, field))
    return dataclasses.replace(value, **changes)


def _read(name: str, text: str, like: Value) -> Value:
    """The text as a value of the same kind as the default."""
    value = read_value(text, like)
    if type(value) is not type(like):
        raise UsageError(f"{name}={text} is {_KINDS[type(like)]}")
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{name}={text} is not a finite number")
    return value


# -- from a player to its spec ---------------------------------------------------------------------------------------


def named(player: Player) -> Player:
    """The player under the name that `load_player` reads."""
    return dataclasses.replace(player, name=spec(player))


def spec(player: Player) -> str:
    """The name of a player: `load_player` reads it as an equal one. A UsageError where no name could.

    The budget always stands there, and of the other options those that differ from what the name begins with: a
    preset if the player's own name begins with it.
    """
    if not isinstance(player, Player):
        raise UsageError(f"{player!r} is no player to name; make one by load_player, or as Player(search, model)")
    wanted = parse(player.name).head if player.name else ""
    found: list[tuple[bool, int, Spec]] = []
    own = _search_name(player.search)
    for head in dict.fromkeys([*SEARCHES, *PRESETS, *([own] if own else [])]):
        words = _described(head, player)
        if words is not None:
            found.append((head != wanted, len(words.options), words))
    if not found:
        raise UsageError(
            f"no name says all of {player.search} with {player.model.evaluator}; use settings that can be typed"
        )
    return str(min(found, key=lambda one: one[:2])[2])


def _described(head: str, player: Player) -> Spec | None:
    """The spec that begins with this name; None where none of these can mean the player."""
    base, usual = _base(head, player.rated if player.weights else None)
    search, evaluator = player.search, player.model.evaluator
    base = base.quiet()
    if type(base) is not type(search):
        return None
    budget = _amount(search)
    options = _differences(base, search, {name: name for name in _fields(base)})
    if budget and options is not None:  # they stand behind the colon
        options = tuple(option for option in options if option[0] != search.colon)
    if search.colon != "simulations" and budget == _amount(base):  # a number of simulations is always told
        budget = ""
    if player.weights:
        usual = Network(evaluator.module, platform=evaluator.platform) if isinstance(evaluator, Network) else None
    if usual is None:
        return None
    if type(usual) is not type(evaluator):
        kind = _evaluator_name(evaluator)
        if not kind or options is None:
            return None
        usual, options = find_evaluator(kind), (*options, ("evaluator", kind))
    names: dict[str, str] = {}
    for name, field in _options_of(usual, search).items():
        names.setdefault(field, name)
    more = _differences(usual, evaluator, names)
    if options is None or more is None:
        return None
    heat = ((TEMPERATURE, _typed(float(player.temperature))),) if player.temperature else ()
    return Spec(head, budget, (*options, *more, *heat), player.weights)


def _differences(base: Any, value: Any, names: Mapping[str, str]) -> tuple[tuple[str, str], ...] | None:
    """The options that make one of the other; None where they differ in what cannot be typed."""
    said = tuple((name, _typed(getattr(value, field))) for field, name in names.items() if _differ(base, value, field))
    others = [field.name for field in dataclasses.fields(value) if field.name not in names]
    return None if any(_differ(base, value, field) for field in others) else said


def _differ(base: Any, value: Any, field: str) -> bool:
    return bool(getattr(base, field) != getattr(value, field))


def _typed(value: Value) -> str:
    """A value as it is typed in a spec."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    return str(value)


def _amount(search: Search) -> str:
    """What stands after the colon: simulations, or the links of a chain; nothing, for searches without either."""
    return str(_fields(search).get(search.colon) or "")


def _search_name(search: Search) -> str:
    """The name of a search by its kind, "" if it has none."""
    try:
        return name_of(search)
    except UsageError:
        return ""


def _evaluator_name(evaluator: Evaluator) -> str:
    """The name of an evaluator by its kind, "" if it has none."""
    known = next((name for name, one in EVALUATORS.items() if type(one) is type(evaluator)), "")
    if known or isinstance(evaluator, Network):
        return known
    try:
        return place_of(type(evaluator))
    except UsageError:
        return ""


def must_differ(names: Sequence[str]) -> None:
    """A UsageError where two players have one name."""
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise UsageError(f"{min(twice)} is given twice; agents of a tournament must differ")
