"""jaxgo: a JAX vectorised batch-search engine for board games.

What other code may rest on is below, and on the page docs/api.md. The names are loaded on first use, so that
`jaxgo --help` does not wait for JAX; modules may be imported too, but names in them can move between versions.
"""

import importlib
from typing import Any

__version__ = "0.2.0"

HOMES = {  # each public name and where it is written
    # games
    "GAMES": "jaxgo.games",
    "make": "jaxgo.games",
    "register": "jaxgo.games",
    "Game": "jaxgo.core.game",
    "Position": "jaxgo.core.play",
    "Transition": "jaxgo.core.play",
    "UsageError": "jaxgo.core.errors",
    # evaluators and nets
    "Evaluation": "jaxgo.evaluators.base",
    "Evaluator": "jaxgo.evaluators.base",
    "Heuristic": "jaxgo.evaluators.heuristic",
    "Mix": "jaxgo.evaluators.mix",
    "Mlp": "jaxgo.nets.mlp",
    "Network": "jaxgo.evaluators.network",
    "ResNet": "jaxgo.nets.resnet",
    "Rollout": "jaxgo.evaluators.rollout",
    "Uniform": "jaxgo.evaluators.uniform",
    # searches
    "AlphaBeta": "jaxgo.search.alphabeta",
    "Gumbel": "jaxgo.search.gumbel",
    "Limit": "jaxgo.search.think",
    "Model": "jaxgo.search.model",
    "Puct": "jaxgo.search.puct",
    "Search": "jaxgo.search.base",
    "SearchResult": "jaxgo.search.base",
    "Thinker": "jaxgo.search.think",
    "Uct": "jaxgo.search.uct",
    # players, matches, ratings
    "PairResult": "jaxgo.arena.records",
    "Player": "jaxgo.players",
    "RatingTable": "jaxgo.arena.ratings",
    "Score": "jaxgo.arena.match",
    "load_player": "jaxgo.players",
    "play_match": "jaxgo.arena.match",
    "rate": "jaxgo.arena.elo",
    "spec": "jaxgo.players",
    # training
    "RunDir": "jaxgo.system.rundir",
    "Selfplay": "jaxgo.selfplay",
    "SelfplayConfig": "jaxgo.selfplay",
    "TrainConfig": "jaxgo.training.config",
    "train": "jaxgo.training.loop",
    # for people
    "Session": "jaxgo.frontends.session",
    "draw": "jaxgo.ui.notebook",
    "ladder": "jaxgo.ui.notebook",
    "thoughts": "jaxgo.ui.notebook",
}
__all__ = ["__version__", *HOMES]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'jaxgo' has no attribute {name!r}")
    return getattr(importlib.import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
