"""What should I play? The searches by name; a new one is one file in this folder and one line here.

Settings of programs that people know are in `presets.py`.
"""

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
]
