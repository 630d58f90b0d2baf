"""What files and protocols can tell of games: boards of other sizes, and moves that are points."""

import dataclasses
from typing import Any

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.games.go.rules import Go
from jaxgo.games.gomoku.rules import Gomoku
from jaxgo.games.hex import Hex
from jaxgo.games.othello import Othello

SIZED = Go | Gomoku | Hex | Othello  # games that programs ask for in other sizes


def plain_gomoku(game: Game[Any]) -> bool:
    """Whether all actions are stones of the seat's own colour."""
    return isinstance(game, Gomoku) and game.num_actions == game.points


def on_points(game: Game[Any]) -> bool:
    """Whether every action is a stone of the seat's own colour, a pass, or the swap of Hex: more neither SGF nor an
    engine of GTP can tell."""
    return isinstance(game, Go | Othello | Hex) or plain_gomoku(game)


def of_size(game: Game[Any], height: int, width: int) -> Game[Any]:
    """The same rules on a board of this size, without the stones of a handicap; a UsageError where there is none."""
    if isinstance(game, Go):
        return dataclasses.replace(game, size=height, width=0 if height == width else width, handicap=0)
    if game.shape == (height, width):
        return game
    if not isinstance(game, SIZED):
        raise UsageError(f"this game has a board of {game.shape[1]}x{game.shape[0]}")
    if height != width:
        raise UsageError(f"a board of this game is square, not {width}x{height}")
    return dataclasses.replace(game, size=height)
