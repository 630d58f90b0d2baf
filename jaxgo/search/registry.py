"""The searches by name, but for chains, which end in one of them: a new search is one line here."""

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
