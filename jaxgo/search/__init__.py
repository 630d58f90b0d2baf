"""What should I play? The searches by name; a new one is one file in this folder and one line here.

The second group holds the settings of programs that people know; any option of theirs can still be changed.
"""

from jaxgo.search.alphabeta import AlphaBeta
from jaxgo.search.base import Search, SearchResult
from jaxgo.search.flat import Flat
from jaxgo.search.greedy import Greedy
from jaxgo.search.gumbel import Gumbel
from jaxgo.search.model import Model
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
    # AlphaZero as it plays matches (noise belongs to self-play): an unvisited move counts as even
    "alphazero": Puct(simulations=800, unvisited="even", alpha=0.03),
    # the Gobang bot for boardgame.io: q + 5 p sqrt(N) / (n + 1), eight leaves a round
    "gobang": Puct(simulations=6400, c_init=5.0, c_base=1e9, unvisited="even", leaves=8, loss=0.0, alpha=0.03),
    # Zero+ (gomokuzero): UCB1 with sqrt 2
    "zeroplus": Uct(c=1.4142135),
    # Dagaz: a flat bandit with sqrt 2, the final choice 0.7 results and 0.3 move weights
    "dagaz": Flat(c=1.4142135, weight=0.7),
    # Connect Four 3D of NYCU: UCB1 with 1.414 and a decimal logarithm; and PUCT as its text has it
    "nycu3d": Uct(c=1.414, log="decimal"),
    "nycu3d-puct": Puct(c_init=1.414, c_base=1e9, unvisited="even"),
    # wgomoku: UCB1 with 1.4, playouts only after half of the simulations
    "wgomoku": Uct(simulations=10_000, c=1.4, delay=5_000),
}

__all__ = [
    "SEARCHES",
    "AlphaBeta",
    "Flat",
    "Greedy",
    "Gumbel",
    "Model",
    "Puct",
    "Random",
    "Search",
    "SearchResult",
    "Uct",
]
