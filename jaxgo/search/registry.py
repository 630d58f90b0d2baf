"""The searches by name, but for chains, which end in one of them: a new search is one line here."""

from collections.abc import Container
from typing import cast

from jaxgo.core import names
from jaxgo.search.alphabeta import AlphaBeta
from jaxgo.search.attack import Attack
from jaxgo.search.base import Search
from jaxgo.search.breadth import BreadthFirst
from jaxgo.search.flat import Flat
from jaxgo.search.greedy import Greedy
from jaxgo.search.gumbel import Gumbel
from jaxgo.search.puct import Puct
from jaxgo.search.random import Random
from jaxgo.search.uct import Uct

REGISTRY: dict[str, Search] = {
    "random": Random(),
    "greedy": Greedy(),
    "flat": Flat(),
    "uct": Uct(),
    "puct": Puct(),
    "gumbel": Gumbel(),
    "alphabeta": AlphaBeta(),
    "threats": Attack(),
    "bfs": BreadthFirst(),
}


def at_place(place: str) -> Search:
    """The search at `package.module:Object`, with its usual settings."""
    return cast(Search, names.part(place, "search", Search, "jaxgo.search.Search"))


def split_budget(text: str, known: Container[str]) -> tuple[str, str, str]:
    """The name of a search, which may be a place, the colon and the budget; names that are known are no modules."""
    name, colon, rest = (part.strip() for part in text.partition(":"))
    path, more, budget = (part.strip() for part in rest.partition(":"))
    if name not in known and names.is_place(f"{name}:{path}"):
        return f"{name}:{path}", more, budget
    return name, colon, rest
