"""What should I play? The searches by name; a new one is one file in this folder and one line here.

Settings of programs that people know are in `presets.py`.
"""

import dataclasses
from typing import Any

from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.search.alphabeta import AlphaBeta
from jaxgo.search.attack import Attack
from jaxgo.search.base import Search, SearchResult, SearchState
from jaxgo.search.flat import Flat
from jaxgo.search.greedy import Greedy
from jaxgo.search.gumbel import Gumbel
from jaxgo.search.model import Model
from jaxgo.search.presets import PRESETS
from jaxgo.search.puct import Puct
from jaxgo.search.random import Random
from jaxgo.search.uct import Uct

SEARCHES: dict[str, Search] = {
    "random": Random(),
    "greedy": Greedy(),
    "flat": Flat(),
    "uct": Uct(),
    "puct": Puct(),
    "gumbel": Gumbel(),
    "alphabeta": AlphaBeta(),
    "threats": Attack(),
}


def to_json(search: Search) -> dict[str, Any]:
    """A search as plain data, its name first; a UsageError for one that has none."""
    kind = next((name for name, known in SEARCHES.items() if type(known) is type(search)), None)
    if kind is None:
        raise UsageError(f"{type(search).__name__} is not among the SEARCHES, so no file can name it; put it there")
    return {"kind": kind, **dataclasses.asdict(search)}  # type: ignore[call-overload]


def from_json(data: dict[str, Any]) -> Search:
    """The search that `to_json` wrote."""
    fields = dict(data)
    kind = fields.pop("kind", None)
    if kind not in SEARCHES:
        raise unknown_name("search", kind, SEARCHES)
    valid = {field.name for field in dataclasses.fields(SEARCHES[kind])}  # type: ignore[arg-type]
    if unknown := fields.keys() - valid:
        raise UsageError(f"a search of kind {kind} has no setting {min(unknown)!r}; it has: {', '.join(sorted(valid))}")
    made: Search = dataclasses.replace(SEARCHES[kind], **fields)  # type: ignore[type-var]
    return made


__all__ = [
    "PRESETS",
    "SEARCHES",
    "AlphaBeta",
    "Attack",
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
    "from_json",
    "to_json",
]
