"""Numbers on the cells of a board: what a search thinks of the moves, by where they land, and whose the points are."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np

from jaxgo.core.board import square_name
from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.core.game import Game
from jaxgo.evaluators.endings import OWNERSHIP, knows, played_out
from jaxgo.players import Player
from jaxgo.search.analysis import Move
from jaxgo.search.model import Model
from jaxgo.ui import board_shape, clicks

Kind = Literal["policy", "visits", "value", "ownership"]
PLAYOUTS = 512  # that ownership is the mean of, where no net knows it
SHOWN = 8  # numbers that are told in words


def check(kind: str, game: Game[Any]) -> str:
    """The kind, if there is such a map of this game."""
    if kind not in get_args(Kind):
        raise unknown_name("heat map", kind, get_args(Kind))
    if kind == OWNERSHIP and not knows(game, OWNERSHIP):
        raise UsageError("ownership is for games whose ends tell whose each cell is, such as go9 and connect4")
    return kind


def of_moves(game: Game[Any], state: Any, moves: Sequence[Move], kind: str) -> tuple[np.ndarray, str]:
    """The share of each cell, moves that land on one added up; and the best moves in words, those without cells too.

    Of values, which are those of moves that were tried, the best one of a cell counts.
    """
    told = {"policy": "prior", "visits": "share", "value": "value"}[kind]
    shares = {move.name: getattr(move, told) for move in moves if kind != "value" or move.visits}
    if None in shares.values():
        raise UsageError("this search keeps no policy; show --heat visits, or an agent such as puct:400")
    heat = np.full(game.picture[0] * game.picture[1], -np.inf if kind == "value" else 0.0)
    for choice in clicks.choices(game, state, [move.action for move in moves if move.name in shares]):
        if choice.at >= 0:
            number = shares[choice.name]
            heat[choice.at] = max(heat[choice.at], number) if kind == "value" else heat[choice.at] + number
    heat[np.isinf(heat)] = 0.0
    return heat, _told(list(shares.items()))


_foreseen = jax.jit(Model.foresee, static_argnums=0)


def learnt(player: Player, states: Any) -> np.ndarray | None:
    """Whose each cell of one position is in the end, 1 seat 0's and -1 seat 1's; None where no net has learnt it."""
    found = _foreseen(player.model, player.params, jax.tree.map(jnp.asarray, states)).get(OWNERSHIP)
    return None if found is None else np.asarray(found[0])


def of_points(player: Player, states: Any, playouts: int = PLAYOUTS) -> tuple[np.ndarray, str]:
    """Whose each cell of one position is in the end, as `learnt` says, or the mean of random playouts where no net
    knows; and in words who says so."""
    game = player.model.game
    heat, who = learnt(player, states), f"the net of {player.name}"
    if heat is None:
        found = played_out(game, jax.tree.map(jnp.asarray, states), playouts)
        heat, who = np.asarray(found[OWNERSHIP][0][0]), f"{playouts} random playouts"
    # where moves are no cells, as in Connect Four, cells are called as in chess
    called = board_shape.names(game) or [square_name(cell, *game.shape) for cell in range(len(heat))]
    return heat, f"by {who}, seat 0's above 0: {_told(list(zip(called, heat.tolist(), strict=True)))}"


def _told(found: Sequence[tuple[str, Any]]) -> str:
    """The largest numbers in words."""
    best = sorted(found, key=lambda item: -abs(item[1]))[:SHOWN]
    return ", ".join(f"{name} {100 * value:.0f} %" for name, value in best if abs(value) >= 0.005) or "nothing"
