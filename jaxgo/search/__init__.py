"""What should I play? The searches by name; a new one is one file in this folder and one line in `registry.py`.

Settings of programs that people know are in `presets.py`.
"""

import dataclasses
from typing import Any

from jaxgo.core import names
from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.search.alphabeta import AlphaBeta
from jaxgo.search.attack import Attack
from jaxgo.search.base import Search, SearchResult, SearchState
from jaxgo.search.breadth import BreadthFirst
from jaxgo.search.chain import Chain
from jaxgo.search.flat import Flat
from jaxgo.search.greedy import Greedy
from jaxgo.search.gumbel import Gumbel
from jaxgo.search.model import Model
from jaxgo.search.presets import PRESETS
from jaxgo.search.puct import Puct
from jaxgo.search.random import Random
from jaxgo.search.registry import REGISTRY, at_place, split_budget
from jaxgo.search.uct import Uct

SEARCHES: dict[str, Search] = {
    **REGISTRY,
    "chain": Chain(),
    # bots of Dagaz: careful for Three Musketeers; instinct and aggressive for Maharajah and Archimedes
    "careful": Chain("careful+random"),
    "instinct": Chain("win+take+safe+random"),
    "aggressive": Chain("win+capture+safe+random"),
}


def find(name: str) -> Search:
    """The search of this name: registered, of a program that people know, or at `package.module:Object`."""
    if name in SEARCHES:
        return SEARCHES[name]
    if name in PRESETS:
        return PRESETS[name].search
    if not names.is_place(name):
        raise unknown_name("search", name, [*SEARCHES, *PRESETS, names.PLACE])
    return at_place(name)


def split_name(text: str) -> tuple[str, str, str]:
    """The name of a search, the colon and the budget: `uct:400`, `package.module:Object:400`."""
    return split_budget(text, {*SEARCHES, *PRESETS})


def name_of(search: Search) -> str:
    """The name of a search's kind, as `find` reads it."""
    known = next((name for name, value in SEARCHES.items() if type(value) is type(search)), None)
    if known is not None:
        return known
    try:
        return names.place_of(type(search))
    except UsageError:
        raise UsageError(
            f"{type(search).__name__} is not among the SEARCHES, so no file can name it; put it there, or define it at "
            "the top of a module"
        ) from None


def to_json(search: Search) -> dict[str, Any]:
    """A search as plain data, its name first; a UsageError for one that has none."""
    return {"kind": name_of(search), **dataclasses.asdict(search)}  # type: ignore[call-overload]


def from_json(data: dict[str, Any]) -> Search:
    """The search that `to_json` wrote."""
    fields = dict(data)
    kind = str(fields.pop("kind", None))
    if kind not in SEARCHES and not names.is_place(kind):
        raise unknown_name("search", kind, SEARCHES)
    known = find(kind)
    valid = {field.name for field in dataclasses.fields(known)}  # type: ignore[arg-type]
    if unknown := fields.keys() - valid:
        raise UsageError(f"a search of kind {kind} has no setting {min(unknown)!r}; it has: {', '.join(sorted(valid))}")
    made: Search = dataclasses.replace(known, **fields)  # type: ignore[type-var]
    return made


__all__ = [
    "PRESETS",
    "SEARCHES",
    "AlphaBeta",
    "Attack",
    "BreadthFirst",
    "Chain",
    "Flat",
    "Greedy",
    "Gumbel",
    "Model",
    "Puct",
    "Random",
    "Search",
    "SearchResult",
    "SearchState",
    "Uct",
    "find",
    "from_json",
    "name_of",
    "split_name",
    "to_json",
]
