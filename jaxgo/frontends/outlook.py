"""What a position may come to in points: whose each point will be, who leads by how much, how far results spread.

A player whose net has learnt how games end is asked about the position and those after its moves. Others know chances,
not points: random playouts tell who owns what, and a lead is the one that makes a chance of winning out of the spread
of their results. The spread is always theirs: no net learns one.
"""

import functools
import math
import statistics
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32

from jaxgo.core.game import Game
from jaxgo.core.lanes import alone, where_lanes
from jaxgo.evaluators.base import Params
from jaxgo.evaluators.endings import OWNERSHIP, SCORE, knows, played_out
from jaxgo.frontends.board import Board
from jaxgo.games.go.rules import Go
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
    leads: tuple[float, ...] = ()  # of seat 0 after each action, and at the end here; nothing where no net knows

    def lead(self, value: float, seat: int, action: int = HERE) -> float:
        """The points ahead of the seat that a value is for, here or after a move, at most what a board is worth."""
        if self.leads:
            found = self.leads[action] * (1 - 2 * seat)
        else:
            found = self.spread * NORMAL.inv_cdf(min(max((value + 1) / 2, 1 - SURE), SURE))
        return min(max(found, -self.most[1 - seat]), self.most[seat])


@functools.partial(jax.jit, static_argnums=0)
def _foreseen(model: Model, params: Params, state: Any) -> dict[str, Float32[Array, "M ..."]]:
    """What a player has learnt of a position: after each action, and at the end here. A game that is over is known."""
    game = model.game
    moved = jax.vmap(functools.partial(game.step, state))(jnp.arange(game.num_actions, dtype=jnp.int32))
    states = jax.tree.map(lambda after, here: jnp.concatenate([after, here[None]]), moved, state)
    over, ends = jax.vmap(game.over)(states), jax.vmap(game.aux_values)(states)
    return {name: where_lanes(over, ends[name], said) for name, said in model.foresee(params, states).items()}


def foresee(board: Board, player: Player) -> Outlook:
    """What a player knows of the points of a position, where the game has any; for the rest it is played out."""
    game, state = board.game, board.now.position.state
    if not knows(game, SCORE):
        return Outlook()
    learnt = _foreseen(player.model, player.params, state)
    played = played_out(game, alone(state), PLAYOUTS)
    cells, unit = _units(game)
    owned = learnt[OWNERSHIP][HERE] if OWNERSHIP in learnt else played[OWNERSHIP][0][0]
    leads = np.asarray(learnt[SCORE]) * unit if SCORE in learnt else np.zeros(0)
    komi = game.komi if isinstance(game, Go) else 0.0
    return Outlook(
        owned=tuple(np.asarray(owned).tolist()),
        spread=float(played[SCORE][1][0]) * unit,
        most=(cells - komi, cells + komi),
        leads=tuple(leads.tolist()),
    )


def at_the_end(board: Board) -> Outlook:
    """The points of a game that is over, where it has any."""
    game = board.game
    if not knows(game, SCORE):
        return Outlook()
    found = _ends(game, board.now.position.state)
    lead = round(float(found[SCORE]) * _units(game)[1], 3)  # it was divided in 32 bits
    return Outlook(tuple(np.asarray(found[OWNERSHIP]).tolist()), leads=(lead,))


@functools.partial(jax.jit, static_argnums=0)
def _ends(game: Game[Any], state: Any) -> dict[str, Float32[Array, "..."]]:
    return game.aux_values(state)


def _units(game: Game[Any]) -> tuple[int, float]:
    """How many cells a board has, and the side of a square of as many, which scores are told in units of."""
    cells = math.prod(game.shape)
    return cells, cells**0.5
