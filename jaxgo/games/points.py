"""Leads in points, of games whose results have any: what one is told in, and how large it may be."""

import math
from typing import Any

from jaxgo.core.game import Game
from jaxgo.games.go.rules import Go


def unit(game: Game[Any]) -> float:
    """The points that a score of 1 stands for: the side of a square of as many cells as the board has."""
    return math.prod(game.shape) ** 0.5


def most(game: Game[Any]) -> tuple[float, float]:
    """The most points that each seat may be ahead."""
    cells, komi = math.prod(game.shape), game.komi if isinstance(game, Go) else 0.0
    return cells - komi, cells + komi
