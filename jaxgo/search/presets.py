"""Programs that people know, as settings: a search and the evaluator that it implies. Any option can be changed.

Each has the formula, the playouts and the move filters of the program that it is named after; opening tables are not
here.
"""

import dataclasses

from jaxgo.evaluators import Evaluator, Heuristic, Race, Rollout
from jaxgo.search.alphabeta import AlphaBeta
from jaxgo.search.base import Search
from jaxgo.search.flat import Flat
from jaxgo.search.greedy import Greedy
from jaxgo.search.puct import Puct
from jaxgo.search.uct import Uct

TO_THE_END = 100_000  # plies; no game is as long


@dataclasses.dataclass(frozen=True)
class Preset:
    """How somebody's program searches, and what it plans with where no network is named."""

    search: Search
    evaluator: Evaluator


# moves that are all alike, until the game is over
PLAIN = Rollout(weighted=False, depth=TO_THE_END)

PRESETS: dict[str, Preset] = {
    # AlphaZero as it plays matches (noise belongs to self-play): an unvisited move counts as even
    "alphazero": Preset(Puct(simulations=800, fpu="even", alpha=0.03), Heuristic()),
    # the Gobang bot for boardgame.io: q + 5 p sqrt(N) / (n + 1), eight leaves a round, plain playouts (and, where noise
    # is asked for, noise at every node: noise=0.25,noise_everywhere=yes)
    "gobang": Preset(
        Puct(simulations=6400, c_init=5.0, c_base=1e9, fpu="even", parallel_leaves=8, virtual_loss=0.0, alpha=0.03),
        PLAIN,
    ),
    # Zero+ (gomokuzero): UCB1 with sqrt 2 over the forced moves or the likeliest, playouts of ten weighted moves that
    # are then judged, and threats beyond the horizon
    "zeroplus": Preset(Uct(c=1.4142135, breadth=5, threats=True, vcf=40), Rollout(depth=10, prior="weights")),
    # its ZeroMax: alpha-beta over the likeliest, and only threats for some plies beyond the horizon
    "zeromax": Preset(AlphaBeta(depth=4, breadth=12, quiescence=8), Heuristic()),
    # its ZeroSum: the point that is worth most to one side, where its Basic (`greedy`) adds up both
    "zerosum": Preset(Greedy(), Heuristic(greater=True)),
    # Dagaz: a flat bandit with sqrt 2, the final choice 0.7 results and 0.3 move weights
    "dagaz": Preset(Flat(c=1.4142135, weight=0.7), Rollout()),
    # Dagaz's bot for races: the shortest way, whatever stands there
    "shortest-path": Preset(Greedy(), Race()),
    # Connect Four 3D of NYCU: UCB1 with 1.414 and a decimal logarithm; and PUCT with its connect-and-block prior and
    # dominant pruning
    "nycu3d": Preset(Uct(c=1.414, log="decimal"), PLAIN),
    "nycu3d-puct": Preset(
        Puct(c_init=1.414, c_base=1e9, fpu="even", prune=True), dataclasses.replace(PLAIN, prior="weights")
    ),
    # wgomoku: w / (1 + n) + 1.4 sqrt(ln N / (1 + n)), of equals any, playouts only after half of the simulations
    "wgomoku": Preset(Uct(simulations=10_000, c=1.4, smooth=True, delay=5_000), Rollout()),
}
