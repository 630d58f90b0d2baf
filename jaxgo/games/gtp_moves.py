"""Moves in the words of GTP: each game's own names, but for two that other programs know otherwise."""

import re
from typing import Any

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.games.boards.vertices import read_vertex, vertex
from jaxgo.games.gomoku.rules import Gomoku
from jaxgo.games.hex import SWAP, Hex


def move_name(game: Game[Any], action: int) -> str:
    """Points of Gomoku are named as those of Go are (no letter I), and the swap of Hex as HexGui does."""
    if isinstance(game, Gomoku) and action < game.points:
        return vertex(game.shape, action)
    if isinstance(game, Hex) and action == game.points:
        return SWAP
    return game.action_name(action)


def read_move(game: Game[Any], word: str) -> int:
    """The move of this name; a UsageError in the words of the protocol where there is none."""
    if isinstance(game, Gomoku) and re.fullmatch(r"[A-Za-z]\d{1,2}", word):
        point = read_vertex(game.shape, word)
        if point is None:
            raise UsageError("invalid coordinate")
        return point
    try:
        return game.parse_action(word)
    except UsageError:
        raise UsageError("invalid coordinate") from None
