"""A game played from the names of its moves, and lists of such names."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgo.core import play, position_text
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.play import Position

SOME = 8  # legal moves that are named where another one was asked for


def split_moves(text: str) -> list[str]:
    """The names in a list of moves; blanks and commas part them, so no name has one (see `Game.action_name`)."""
    return text.replace(",", " ").split()


def replay(game: Game[Any], moves: Sequence[str], start: str = "", seed: int = 0) -> tuple[Position, int | None]:
    """The position after these moves, and the last of them; a UsageError names the first that is not legal.

    They begin at the start of the game, which `seed` draws if the game draws it, or at a position as text (see
    `position_text`).
    """
    position, before = position_text.read(game, start or position_text.START, seed)
    moves, last = [*before, *moves], None
    legal = jax.jit(lambda p: play.legal(game, p))
    step = jax.jit(lambda p, a: play.play(game, p, a)[0])
    for number, text in enumerate(moves, 1):
        mask = np.asarray(legal(position))
        try:
            last, wrong = game.parse_action(text), "is not legal"
        except UsageError:
            last, wrong = None, "names no move of this game"
        if last is None or not mask[last]:
            raise UsageError(f"move {number}, {text.strip()!r}, {wrong}; legal moves are: {some_legal(game, mask)}")
        position = step(position, jnp.int32(last))
    return position, last


def some_legal(game: Game[Any], mask: np.ndarray) -> str:
    """The names of the first legal actions of a mask, for a message."""
    legal = np.flatnonzero(mask).tolist()
    more = f" and {len(legal) - SOME} more" if len(legal) > SOME else ""
    return ", ".join(game.action_name(a) for a in legal[:SOME]) + more or "none: the game is over"


def status(game: Game[Any], position: Position) -> str:
    """Who moves, or how it ended."""
    ply = int(position.state.ply)
    if bool(play.over(game, position)):
        result = ", ".join(f"{value + 0.0:+g}" for value in np.asarray(play.returns(game, position)).tolist())
        return f"over after {ply} plies; result for each seat: {result}"
    count = int(np.asarray(play.legal(game, position)).sum())
    return f"ply {ply}, seat {int(position.state.to_play)} to move, {count} legal actions"
