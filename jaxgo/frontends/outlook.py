"""What a position may come to in points, by random playouts: whose each point will be, and how far results spread.

Searches here know chances, not points. A lead is made of both: it is the one that makes a chance of winning out of the
spread of results.
"""

import functools
import math
import statistics
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array

from jaxgo.core.game import Game
from jaxgo.core.lanes import alone
from jaxgo.evaluators.endings import OWNERSHIP, SCORE, Endings, knows
from jaxgo.frontends.board import Board
from jaxgo.games.go.rules import Go

PLAYOUTS = 128
SURE = 0.995  # chances beyond this are worth no more points
NORMAL = statistics.NormalDist()


class Outlook(NamedTuple):
    """What playouts tell; nothing of games without points."""

    owned: tuple[float, ...] = ()  # of each point: from 1, seat 0's, to -1, seat 1's
    spread: float = 0.0  # points
    most: tuple[float, float] = (math.inf, math.inf)  # points that each seat may be ahead

    def lead(self, value: float, seat: int) -> float:
        """The points ahead of the seat that a value is for, no more than a whole board is worth."""
        found = self.spread * NORMAL.inv_cdf(min(max((value + 1) / 2, 1 - SURE), SURE))
        return min(max(found, -self.most[1 - seat]), self.most[seat])


@functools.partial(jax.jit, static_argnums=0)
def _endings(game: Game[Any], states: Any) -> dict[str, tuple[Array, Array]]:
    return Endings(PLAYOUTS)(game, jax.random.key(0), states)


def foresee(board: Board) -> Outlook:
    """Plays a position out, where the game has points."""
    game = board.game
    if not knows(game, SCORE):
        return Outlook()
    found = _endings(game, alone(board.now.position.state))
    height, width = game.shape
    spread = float(found[SCORE][1][0]) * (height * width) ** 0.5  # it is told in units of a side
    owned = tuple(np.asarray(found[OWNERSHIP][0][0]).tolist())
    if not isinstance(game, Go):
        return Outlook(owned, spread)
    return Outlook(owned, spread, (game.points - game.komi, game.points + game.komi))
