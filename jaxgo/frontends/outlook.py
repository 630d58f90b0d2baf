"""What a position may come to in points: whose each point will be, who leads by how much, how far results spread.

A player whose net has learnt how games end is asked about the position, and about those after the moves whose leads
are told. Others know chances, not points: random playouts tell who owns what, and a lead is the one that makes a chance
of winning out of the spread of their results. The spread is always theirs: no net learns one.
"""

import functools
import math
import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32, Int32

from jaxgo.core.game import Game
from jaxgo.core.lanes import alone
from jaxgo.evaluators.base import Params
from jaxgo.evaluators.endings import OWNERSHIP, SCORE, knows, played_out
from jaxgo.frontends.board import Board
from jaxgo.games import points
from jaxgo.players import Player
from jaxgo.search.model import Model

PLAYOUTS = 128
SURE = 0.995  # chances beyond this are worth no more points
NORMAL = statistics.NormalDist()
HERE = -1  # in the place of an action: the position itself


class Outlook(NamedTuple):
    """What is foreseen; nothing of games without points."""

    owned: tuple[float, ...] = ()  # of each point: from 1, seat 0's, to -1, seat 1's
    spread: float = 0.0  # points
    most: tuple[float, float] = (math.inf, math.inf)  # points that each seat may be ahead
    leads: Callable[[int], float] | None = None  # of seat 0 here or after an action; None where no net knows

    def lead(self, value: float, seat: int, action: int = HERE) -> float:
        """The points ahead of the seat that a value is for, here or after a move, at most what a board is worth."""
        if self.leads is not None:
            found = self.leads(action) * (1 - 2 * seat)
        else:
            found = self.spread * NORMAL.inv_cdf(min(max((value + 1) / 2, 1 - SURE), SURE))
        return min(max(found, -self.most[1 - seat]), self.most[seat])


@functools.partial(jax.jit, static_argnums=0)
def _foreseen(model: Model, params: Params, state: Any, action: Int32[Array, ""]) -> dict[str, Float32[Array, "..."]]:
    """What a player has learnt of a position, or of the one after an action. A game that is over is known."""
    moved = model.game.step(state, jnp.maximum(action, 0))
    state = jax.tree.map(functools.partial(jnp.where, action == HERE), state, moved)
    return {name: said[0] for name, said in model.ends(params, alone(state)).items()}


def foresee(board: Board, player: Player) -> Outlook:
    """What a player knows of the points of a position, where the game has any; for the rest it is played out."""
    game, state = board.game, board.now.position.state
    if not knows(game, SCORE):
        return Outlook()

    @functools.cache  # a move is told again and again while a search goes on
    def learnt(action: int) -> dict[str, Any]:
        return _foreseen(player.model, player.params, state, jnp.int32(action))

    played = played_out(game, alone(state), PLAYOUTS)
    unit = points.unit(game)
    here = learnt(HERE)
    owned = here[OWNERSHIP] if OWNERSHIP in here else played[OWNERSHIP][0][0]
    return Outlook(
        owned=tuple(np.asarray(owned).tolist()),
        spread=float(played[SCORE][1][0]) * unit,
        most=points.most(game),
        leads=(lambda action: float(learnt(action)[SCORE]) * unit) if SCORE in here else None,
    )


def at_the_end(board: Board) -> Outlook:
    """The points of a game that is over, where it has any."""
    game = board.game
    if not knows(game, SCORE):
        return Outlook()
    found = _ends(game, board.now.position.state)
    lead = round(float(found[SCORE]) * points.unit(game), 3)  # it was divided in 32 bits
    return Outlook(tuple(np.asarray(found[OWNERSHIP]).tolist()), leads=lambda action: lead)


@functools.partial(jax.jit, static_argnums=0)
def _ends(game: Game[Any], state: Any) -> dict[str, Float32[Array, "..."]]:
    return game.aux_values(state)
