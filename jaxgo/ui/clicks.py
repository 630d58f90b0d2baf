"""How a move is chosen on a board: which cells to touch, one after another, and where on the board it lands.

Cells that the name of a move speaks of come first (`d4`, `a2-a4`). Where names do not tell, the board before and after
the move does: a piece left one cell and came to another, a disc fell into a column, a block moved on. So this works
for every game, those from outside included; a move that changes nothing on the board, such as a pass, has no cells, nor
has one beside those that are cells, such as the swap of Hex.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int8, Int32

from jaxgo.core import play
from jaxgo.core.game import Game
from jaxgo.core.lanes import where_lanes
from jaxgo.ui import board_shape

LANES = 32  # moves that are tried at once: one compiled program for each game


class Choice(NamedTuple):
    """A legal move as it is chosen on the board."""

    action: int
    name: str
    steps: tuple[tuple[int, ...], ...]  # cells to touch in turn; any of those of a step will do
    at: int  # the cell where it lands; -1: nowhere


@functools.partial(jax.jit, static_argnums=0)
def _after(game: Game[Any], state: Any, actions: Int32[Array, " L"]) -> Int8[Array, "L cells"]:
    return jax.vmap(lambda action: game.cells(game.step(state, action)))(actions)


@functools.partial(jax.jit, static_argnums=0)
def _line(game: Game[Any], state: Any, actions: Int32[Array, " T"]) -> Int8[Array, "T cells"]:
    def move(state: Any, action: Int32[Array, ""]) -> tuple[Any, Int8[Array, " cells"]]:
        after = game.step(state, action)
        after = where_lanes(game.over(state) | (action < 0), state, after)
        return after, game.cells(after)

    return jax.lax.scan(move, state, actions)[1]


def boards_after(game: Game[Any], state: Any, actions: Sequence[int]) -> np.ndarray:
    """`int8[moves, cells]`: the board after each of these moves."""
    out = []
    for first in range(0, len(actions), LANES):
        some = np.array(actions[first : first + LANES], np.int32)
        lanes = np.concatenate([some, np.full(LANES - len(some), some[0], np.int32)])
        out.append(np.asarray(_after(game, state, jnp.asarray(lanes)))[: len(some)])
    return np.concatenate(out) if out else np.zeros((0, game.picture[0] * game.picture[1]), np.int8)


def boards_along(game: Game[Any], state: Any, line: Sequence[int], most: int) -> np.ndarray:
    """`int8[moves, cells]`: the boards of a line of at most so many moves."""
    some = list(line[:most])
    padded = np.array(some + [-1] * (most - len(some)), np.int32)
    return np.asarray(_line(game, state, jnp.asarray(padded)))[: len(some)]


def choices(game: Game[Any], state: Any, actions: Sequence[int], cells: np.ndarray | None = None) -> list[Choice]:
    """The legal moves of a position, each with the cells that choose it; `cells` is its board, where that is known."""
    before, seat = play.cells(game, state) if cells is None else cells, int(state.to_play)
    found: dict[int, Choice] = {}
    unclear = []
    for action in actions:
        named = board_shape.touched(game, action)
        if action >= len(before) and board_shape.cells_are_moves(game):  # a touch of a cell is another move
            found[action] = Choice(action, game.action_name(action), (), -1)
        elif len(named) > 1 or (named and before[named[0]] == 0):
            steps = tuple((cell,) for cell in named)
            found[action] = Choice(action, game.action_name(action), steps, named[-1])
        else:
            unclear.append(action)
    if unclear:
        after = boards_after(game, state, unclear)
        for choice in _by_difference(game, before, after, seat, unclear):
            found[choice.action] = choice
    return [found[action] for action in actions]


def _by_difference(
    game: Game[Any], before: np.ndarray, after: np.ndarray, seat: int, actions: Sequence[int]
) -> list[Choice]:
    """Choices from what the moves do to the board."""
    changed = after != before
    owners = np.array([piece.seat for piece in game.pieces])
    there = np.array([board_shape.is_there(game, code) for code in range(len(game.pieces))])
    there[0] = False
    drops = _falls(game, before, after, actions)
    out = []
    for row, action in enumerate(actions):
        named = board_shape.touched(game, action)
        gone = np.flatnonzero(changed[row] & there[before] & (owners[before] == seat))
        new = np.flatnonzero(changed[row] & there[after[row]] & (owners[after[row]] == seat))
        steps: list[tuple[int, ...]] = []
        at = named[0] if named else -1
        if game.grid == "blocks":
            steps, at = _block_steps(before, after[row])
        elif drops is not None:
            at = int(changed[row].argmax())
            steps = [tuple(drops[at])]
        elif len(gone) <= 1 and len(new) <= 1 and (len(gone) or len(new)):
            steps = [(int(cell),) for cell in (*gone, *new)]
            at = int((*gone, *new)[-1])
        elif not len(gone) and not len(new):  # pieces are nobody's: where only this move leads
            common = changed.all(0) if len(actions) > 1 else changed[row] & ~there[after[row]]
            own = np.flatnonzero(changed[row] & ~common)
            steps = [(int(own[0]),)] if len(own) == 1 else []
            at = int(own[0]) if len(own) == 1 else at
        out.append(Choice(action, game.action_name(action), tuple(steps), at))
    return out


def _block_steps(before: np.ndarray, after: np.ndarray) -> tuple[list[tuple[int, ...]], int]:
    """A cell of the block that moves, then one that it comes to."""
    moved = after[(after != before) & (after > 0)]
    if not len(moved):
        return [], -1
    block = moved[0]
    came = np.flatnonzero((after == block) & (before != block))
    return [tuple(np.flatnonzero(before == block).tolist()), tuple(came.tolist())], int(came[0])


def _falls(
    game: Game[Any], before: np.ndarray, after: np.ndarray, actions: Sequence[int]
) -> dict[int, list[int]] | None:
    """The column or stack of the cell where each move lands, if that is all that moves choose; else None."""
    changed = after != before
    if not (changed.sum(1) == 1).all() or board_shape.names(game):
        return None
    cells = changed.argmax(1)
    height, width = game.picture
    if game.levels > 1:
        wide = (width + 1) // game.levels
        near = [[cell // width * width + cell % width % wide + wide * i for i in range(game.levels)] for cell in cells]
    elif game.num_actions == width and (cells % width == np.asarray(actions)).all():
        near = [[row * width + cell % width for row in range(height)] for cell in cells]
    else:
        return None
    return {int(cell): [int(c) for c in column] for cell, column in zip(cells, near, strict=True)}
