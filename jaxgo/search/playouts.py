"""The playouts of a flat search one by one, as Dagaz logs them: who won, how deep it went, what stood there at the end.

A search keeps no playout. But its luck follows from its keys, so each can be played again as it was.
"""

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxgo.core import keys
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.play import Position
from jaxgo.evaluators import Rollout
from jaxgo.evaluators.base import Params
from jaxgo.search.analysis import Name
from jaxgo.search.base import Search
from jaxgo.search.flat import Flat, FlatState
from jaxgo.search.model import Model


class Playout(NamedTuple):
    """One playout, with the move of the root that it belongs to."""

    move: int
    goal: float  # for the side to move at the root: 1 won, 0 drawn or even, -1 lost; between them where it was cut
    depth: int  # plies from the root, the move included
    seat: int  # to move at the end
    cells: np.ndarray  # at the end


def watch(
    search: Search, model: Model, params: Params, key: Array, root: Position, pulls: int
) -> tuple[FlatState, list[Playout]]:
    """Searches one position (a batch of 1), pull by pull, and plays each playout once more to look at it."""
    if not isinstance(model.evaluator, Rollout) or not isinstance(search, Flat):
        raise UsageError("playouts are logged of a flat search with rollouts, such as dagaz:62")
    extend = jax.jit(lambda params, state: search.extend(model, params, key, state, jnp.int32(1)))
    again = jax.jit(functools.partial(_again, model.evaluator, model.game))
    state = jax.jit(lambda params: search.begin(model, params, keys.split(key)[0], root))(params)
    found: list[Playout] = []
    for _ in range(pulls):
        after = extend(params, state)
        move = int(np.argmax(np.asarray(after.visits - state.visits)[0]))
        if int(after.done[0]) == int(state.done[0]):
            break  # the root is decided without a playout
        step = keys.of_step(key, state.calls, state.done)
        ends = jax.device_get(again(params, step, root.state, jnp.full(1, move, jnp.int32)))
        found += [Playout(move, *(x[i] for x in ends)) for i in range(len(ends[0]))]
        state = after
    return state, found


def _again(rollout: Rollout, game: Game[Any], params: Params, key: Array, states: Any, move: Array) -> Any:
    moved = jax.vmap(game.step)(states, move)
    many = jax.tree.map(lambda x: jnp.repeat(x, rollout.count, axis=0), moved)
    ends = rollout.ends(game, params, key, many)
    results = rollout.judge(game, many.to_play, ends)
    goal = jnp.where(moved.to_play == states.to_play, results, 0.0 - results)
    cells = jax.vmap(game.cells)(ends.states)
    return goal, ends.states.ply - states.ply, ends.states.to_play, cells


def log(search: Flat, game: Game[Any], state: FlatState, playouts: list[Playout], name: Name) -> Iterator[str]:
    """Dagaz's lines: each playout; then the moves, the one of the greatest weight first.

    `Weight` is what the final choice goes by, and `Deep` the shallowest and the deepest playout.
    """
    owner = np.array([piece.seat for piece in game.pieces], np.int8)
    for playout in playouts:
        seats = [" ".join(map(str, np.flatnonzero(owner[playout.cells] == seat).tolist())) for seat in range(2)]
        yield (
            f"Move: {name(playout.move)}; Goal: {playout.goal:g}; Deep: {playout.depth}; Player: {playout.seat + 1}; "
            f"P1: {seats[0]}; P2: {seats[1]}"
        )
    belief = np.asarray(state.belief[0])
    lines = []
    for move in sorted({playout.move for playout in playouts}):
        mine = [playout for playout in playouts if playout.move == move]
        wins = sum((playout.goal + 1) / 2 for playout in mine)
        weight = search.weight * wins / len(mine) + (1 - search.weight) * float(belief[move])
        deep = f"{min(p.depth for p in mine)}-{max(p.depth for p in mine)}"
        line = f"Weight = {weight:.3f}; Win = {wins:.1f}; All = {len(mine)}; Deep = {deep}; Move = {name(move)}"
        lines.append((-weight, line))
    yield from (line for _, line in sorted(lines))
