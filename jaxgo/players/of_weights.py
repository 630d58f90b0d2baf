"""What weights were trained for: their game and their network, and the search that they were rated with."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.names import AS_GAME, check_loaded
from jaxgo.evaluators import Network
from jaxgo.evaluators.base import Params
from jaxgo.evaluators.network import differs
from jaxgo.games import make
from jaxgo.nets import Net, Outside
from jaxgo.nets import from_json as net_from_json
from jaxgo.nets.base import Head
from jaxgo.search import Chain
from jaxgo.search import from_json as search_from_json
from jaxgo.search.base import Search
from jaxgo.search.model import Model
from jaxgo.system.rundir import read_config
from jaxgo.system.weights import weight_steps


def trained(place: str, about: Mapping[str, Any]) -> tuple[Game[Any], Net]:
    """The game and the net that weights are of."""
    with _mistakes_as(f"the weights of {place} do not say which game and network they are of"):
        _check_code(place, "game", about["game"])
        _check_code(place, "net", about["net"])
        return make(about["game"], **about["options"]), net_from_json(about["net"])


def rated_search(place: str, about: Mapping[str, Any]) -> Search | None:
    """The search that weights were rated with."""
    with _mistakes_as(f"the weights of {place} name no search that can be read"):
        if not about.get("search"):
            return None
        _check_code(place, "search", about["search"])
        return search_from_json(about["search"])


def _check_code(place: str, what: str, named: Any) -> None:
    """A UsageError where weights name code that is not here, and that the config of their run does not name either."""
    run = Path(place).parent
    try:
        config = read_config(run) if weight_steps(run) else {}
    except UsageError:  # no run, but a folder like one
        config = {}
    known = _places(config.get(what))
    for name in _places(named):
        if name not in known:
            advice = AS_GAME if what == "game" else "name the folder of their run in the place of a file"
            check_loaded(name, f"the weights of {place} are of the {what}", advice)


def _places(named: Any) -> list[str]:
    """What may be a place in code where a game, a net or a search is told: its kind, and the end of a chain."""
    if not isinstance(named, Mapping):
        return [str(named)]
    found, links = [str(named["kind"])], named.get(Chain.colon)
    if isinstance(links, str):
        found.append(":".join(part.strip() for part in links.rpartition("+")[2].split(":")[:2]))
    return found


@contextlib.contextmanager
def _mistakes_as(fault: str) -> Iterator[None]:
    """Reads the note of weights, which may say anything: what is no UsageError already is one with these words."""
    try:
        yield
    except UsageError:
        raise
    except (KeyError, TypeError, ValueError):
        raise UsageError(fault) from None


def network(place: str, about: Mapping[str, Any], arrays: Any, game: Game[Any]) -> tuple[Model, Params]:
    """A network that was trained for this game, and its weights."""
    known, net = trained(place, about)
    params = jax.tree.map(jnp.asarray, arrays)

    def model(heads: tuple[Head, ...] = ()) -> Model:
        module: Any = net.module(game, heads)
        return Model(game, Network(module))

    def lacks(heads: tuple[Head, ...] = ()) -> str:
        # what else the learner had may lie beside them
        return differs(jax.eval_shape(model(heads).init, jax.random.key(0)), params)

    strange = type(known) is not type(game)
    if strange or (reason := lacks()):
        why = "" if strange else f", as {reason}"
        raise UsageError(
            f"the weights of {place} are for {about['game']}; they do not fit the game that is asked for{why}"
        )
    learnt = _learnt(place, about, net, game)
    heads = learnt if not learnt or not lacks(learnt) else tuple(head for head in learnt if not lacks((head,)))
    return model(heads), params


def _learnt(place: str, about: Mapping[str, Any], net: Net, game: Game[Any]) -> tuple[Head, ...]:
    """The heads for the end of a game that weights have learnt, as far as they say so.

    Those that name none are older. A net of jaxgo has arrays for what it learns only; one of somebody's own has them
    for all that it gives, whatever it was taught.
    """
    known = {target.name: Head(target.name, target.kind) for target in game.aux_targets()}
    with _mistakes_as(f"the weights of {place} do not say which heads they have learnt"):
        named = set(about.get("heads", () if isinstance(net, Outside) else known))
    return net.heads(game, tuple(head for name, head in known.items() if name in named))
