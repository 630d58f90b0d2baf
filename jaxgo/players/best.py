"""Who plays a game best of what comes with jaxgo, with how many simulations: who front ends play if nobody is named.

Weights that were trained for the very board come first. Where there are none, a convolutional net of the same game
plays on a board that it was not trained for; without any, a search plays that needs no weights.
`jaxgo gomocup` names its own player, which these weights have not been measured against.
"""

import functools
import math
from collections.abc import Mapping
from typing import Any

import jax

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.games import GAMES
from jaxgo.games.breakthrough import Breakthrough
from jaxgo.games.chess.rules import Chess
from jaxgo.games.gomoku.rules import Gomoku
from jaxgo.nets import ResNet
from jaxgo.nets.base import cell_actions, planes_shape
from jaxgo.players.spec_text import Spec, parse
from jaxgo.search import find
from jaxgo.system.weights import shipped_notes

BEST = "best"  # the spec of whoever that is
# the same for people who want to win sometimes: a share of the simulations, and a temperature
EASIER = {"medium": (1 / 16, 1.0), "easy": (1 / 400, 3.0)}
PUZZLE = "bfs:1000"
THREATS = "puct:5000"  # by the heuristic, which knows threats: worth more than playouts
# by the heuristic that counts men; a second of one core. To follow captures is worth 330 Elo in chess, and changes
# nothing in a game that names none
MINIMAX = "alphabeta:4000,depth=20,quiescence=6"
WEIGHING = "puct:1600"  # who is easier to beat where the best finds one move, so that no temperature draws another
ROLLOUTS = "uct:1600"

# Of weights for one board the best first, as docs/strength.md measured them; those that are alone need not be here.
ORDER = (
    *("go9-late-gpu", "go9-deep-cpu", "go9-last-cpu", "go9-gpu", "go9-later-cpu", "go9-late-cpu", "go9-cpu"),
    *("go13-gpu", "go13-late-cpu", "go13-cpu"),
    *("connect4-late-gpu", "connect4-gpu", "connect4-late-cpu", "connect4-long-cpu", "connect4-cpu"),
    *("kono-long-cpu", "kono-cpu"),
    *("othello-late-cpu", "othello-cpu"),
)

SIMULATIONS = (400, 64)  # of a move
# Products that a processor should make for a move: about a second of one core.
MOST_PRODUCTS = 8e9


def best_spec(game: Game[Any]) -> str:
    """The spec of who plays this game best of what comes with jaxgo."""
    return next((with_weights(name, game) for name in fitting(game)), without_weights(game))


def without_weights(game: Game[Any]) -> str:
    """The spec of who plays this game best of those that need no weights."""
    if game.players == 1:
        return PUZZLE
    if isinstance(game, Chess | Breakthrough):
        return MINIMAX
    return THREATS if isinstance(game, Gomoku) else ROLLOUTS


def spelled(words: Spec, game: Game[Any]) -> Spec:
    """The words of a spec with `best`, or who is easier to beat, put into words: its budget and options change those
    of who plays best."""
    if words.head not in (BEST, *EASIER) or words.weights:
        return words
    if words.head != BEST and game.players == 1:
        raise UsageError(f"nobody is {words.head} to beat in a puzzle; write {BEST}, or {PUZZLE}")
    found = parse(best_spec(game))
    if words.head != BEST and not find(found.head).draws:
        found = parse(WEIGHING)
    share, heat = EASIER.get(words.head, (1.0, 0.0))
    easier = {"temperature": f"{heat:g}"} if heat else {}
    options = dict(found.options) | easier | dict(words.options)
    budget = words.budget or ("" if "simulations" in options else str(max(1, int(share * int(found.budget)))))
    return Spec(found.head, budget, tuple(options.items()), found.weights)


def with_weights(name: str, game: Game[Any]) -> str:
    """The spec of a player with these shipped weights; its simulations suit one move of one game on this device."""
    products = _products(shipped_notes()[name].get("net", {}), game)
    slow = jax.default_backend() == "cpu"
    count = next((n for n in SIMULATIONS if not slow or n * products <= MOST_PRODUCTS), SIMULATIONS[-1])
    return f"gumbel:{count}{',doubles=yes' if isinstance(game, Gomoku) else ''}@{name}"


def fitting(game: Game[Any]) -> list[str]:
    """The shipped weights for this board, the best first; else those of the board that is next in size, sooner of a
    larger one than of a smaller one."""
    cells: dict[str, int] = {}
    for name, about in shipped_notes().items():
        known = GAMES.get(str(about.get("game", "")))
        if known is not None and not about.get("options") and _fits(about.get("net", {}), known, game):
            cells[name] = math.prod(known.shape)
    own = math.prod(game.shape)
    nearest = min(cells.values(), key=lambda count: (count < own, abs(count - own)), default=0)
    ranks = {name: rank for rank, name in enumerate(ORDER)}
    return sorted((name for name in cells if cells[name] == nearest), key=lambda name: ranks.get(name, len(ranks)))


def _fits(net: Mapping[str, Any], known: Game[Any], game: Game[Any]) -> bool:
    """Whether a net that was trained for one game plays another well: that very game, or, where it convolves, one of
    its kind in another size, as of Go by any rules. Of Gomoku the rules say which stones win, so they must be alike."""
    if known == game:
        return True
    alike = type(known) is type(game) and getattr(known, "rules", None) == getattr(game, "rules", None)
    return alike and net.get("kind") == ResNet.kind and None is not _seen(known) == _seen(game)


@functools.lru_cache(maxsize=64)  # visitors of a page name boards of any size
def _seen(game: Game[Any]) -> tuple[int, int] | None:
    """The planes of a cell and the actions beside the cells, for a net that reads any size; None: no such net can."""
    if not cell_actions(game):
        return None
    return planes_shape(game)[-1], game.num_actions - math.prod(game.shape)


def _products(net: Mapping[str, Any], game: Game[Any]) -> int:
    """How many products the convolutions of an evaluation make; beside them nothing counts, nor do dense layers."""
    if net.get("kind") != ResNet.kind:
        return 0
    return 18 * int(net["blocks"]) * int(net["channels"]) ** 2 * math.prod(game.shape)
