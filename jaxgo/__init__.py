"""jaxgo: a JAX vectorised batch-search engine for board games.

What other code may rest on is below, and on the page docs/api.md. The names are loaded on first use, so that
`jaxgo --help` does not wait for JAX; modules may be imported too, but names in them can move between versions.
"""

import importlib
from typing import TYPE_CHECKING, Any

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


if TYPE_CHECKING:  # the same for type checkers and editors, which run nothing
    from jaxgo.arena.elo import rate as rate
    from jaxgo.arena.match import Score as Score
    from jaxgo.arena.match import play_match as play_match
    from jaxgo.arena.ratings import RatingTable as RatingTable
    from jaxgo.arena.records import PairResult as PairResult
    from jaxgo.core.errors import UsageError as UsageError
    from jaxgo.core.game import Game as Game
    from jaxgo.core.play import Position as Position
    from jaxgo.core.play import Transition as Transition
    from jaxgo.evaluators.base import Evaluation as Evaluation
    from jaxgo.evaluators.base import Evaluator as Evaluator
    from jaxgo.evaluators.heuristic import Heuristic as Heuristic
    from jaxgo.evaluators.mix import Mix as Mix
    from jaxgo.evaluators.network import Network as Network
    from jaxgo.evaluators.rollout import Rollout as Rollout
    from jaxgo.evaluators.uniform import Uniform as Uniform
    from jaxgo.frontends.session import Session as Session
    from jaxgo.games import GAMES as GAMES
    from jaxgo.games import make as make
    from jaxgo.games import register as register
    from jaxgo.nets.mlp import Mlp as Mlp
    from jaxgo.nets.resnet import ResNet as ResNet
    from jaxgo.players import Player as Player
    from jaxgo.players import load_player as load_player
    from jaxgo.players import spec as spec
    from jaxgo.search.alphabeta import AlphaBeta as AlphaBeta
    from jaxgo.search.base import Search as Search
    from jaxgo.search.base import SearchResult as SearchResult
    from jaxgo.search.gumbel import Gumbel as Gumbel
    from jaxgo.search.model import Model as Model
    from jaxgo.search.puct import Puct as Puct
    from jaxgo.search.think import Limit as Limit
    from jaxgo.search.think import Thinker as Thinker
    from jaxgo.search.uct import Uct as Uct
    from jaxgo.selfplay import Selfplay as Selfplay
    from jaxgo.selfplay import SelfplayConfig as SelfplayConfig
    from jaxgo.system.rundir import RunDir as RunDir
    from jaxgo.training.config import TrainConfig as TrainConfig
    from jaxgo.training.loop import train as train
    from jaxgo.ui.notebook import draw as draw
    from jaxgo.ui.notebook import ladder as ladder
    from jaxgo.ui.notebook import thoughts as thoughts
else:

    def __getattr__(name: str) -> Any:
        if name not in HOMES:
            raise AttributeError(f"module 'jaxgo' has no attribute {name!r}")
        return getattr(importlib.import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
