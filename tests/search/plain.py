"""Minimax without any cleverness: the whole tree to a depth, level by level, folded back with numpy."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgo.core.game import Game
from jaxgo.search.model import ILLEGAL, Model

CHUNK = 2048


class Level(NamedTuple):
    states: Any
    logits: np.ndarray
    value: np.ndarray  # for seat 0
    over: np.ndarray
    seat: np.ndarray
    parent: np.ndarray
    action: np.ndarray


@functools.cache
def _expand(model: Model) -> Any:
    def expand(states: Any, action: Any) -> Any:
        return model.expand((), jax.random.key(0), states, action, jnp.ones(action.shape, bool))

    return jax.jit(expand)


def _below(model: Model, above: Level, breadth: int) -> Level:
    legal = (above.logits > ILLEGAL) & ~above.over[:, None]
    if breadth:
        order = np.argsort(-np.where(legal, above.logits, -np.inf), axis=1, kind="stable")[:, :breadth]
        among = np.zeros_like(legal)
        np.put_along_axis(among, order, True, axis=1)
        legal &= among
    parent, action = np.nonzero(legal)
    parts = []
    for at in range(0, len(parent), CHUNK):
        index = np.resize(np.arange(at, min(at + CHUNK, len(parent))), CHUNK)
        states = jax.tree.map(lambda x, i=index: np.asarray(x)[parent[i]], above.states)
        parts.append(jax.device_get(_expand(model)(states, jnp.asarray(action[index], jnp.int32))))
    leaves = jax.tree.map(lambda *x: np.concatenate(x)[: len(parent)], *parts)
    return Level(leaves.states, leaves.logits, leaves.value, leaves.over, leaves.seat, parent, action)


def minimax(model: Model, root: Any, depth: int, breadth: int = 0) -> tuple[np.ndarray, np.ndarray, int]:
    """The value of the roots for their movers, that of every move there (nan: not tried), and the nodes looked at."""
    begun = jax.device_get(jax.jit(lambda r: model.root((), jax.random.key(0), r))(root))
    count = len(begun.over)
    levels = [Level(begun.states, begun.logits, begun.value, begun.over, begun.seat, np.arange(count), np.zeros(count))]
    for _ in range(depth):
        if (levels[-1].over).all():
            break
        levels.append(_below(model, levels[-1], breadth))
    values = np.where(levels[-1].over, levels[-1].value, np.clip(levels[-1].value, -1 + 2.0**-20, 1 - 2.0**-20))
    for above, below in zip(levels[-2::-1], levels[:0:-1], strict=True):
        sign = np.where(above.seat == 0, 1.0, -1.0)
        best = np.full(len(above.over), -np.inf)
        np.maximum.at(best, below.parent, values * sign[below.parent])
        moves = np.full((len(above.over), above.logits.shape[1]), np.nan)
        moves[below.parent, below.action] = values * sign[below.parent]
        values = np.where(above.over, above.value, best * sign)
    return best, moves, sum(len(level.over) for level in levels[1:])


class Seen(NamedTuple):
    """What is asked of positions, once for all depths."""

    states: Any
    legal: np.ndarray
    over: np.ndarray
    value: np.ndarray  # for the mover
    sharp: np.ndarray  # moves that are followed beyond the horizon
    must: np.ndarray  # whether all are


def sharp_minimax(game: Game[Any], states: Any, depth: int, beyond: int) -> tuple[np.ndarray, np.ndarray]:
    """The values of positions for their movers: with nothing followed beyond the horizon, and with so many plies."""

    def look(state: Any) -> Seen:
        legal = game.legal(state)
        value = jnp.where(game.over(state), game.returns(state)[state.to_play], game.heuristic(state))
        return Seen(state, legal, game.over(state), value, *game.sharp(state, legal))

    ahead = jax.jit(jax.vmap(lambda state, move: look(game.step(state, move))))
    levels, parents = [jax.device_get(jax.jit(jax.vmap(look))(states))], []
    for ply in range(depth + beyond):
        above = levels[-1]
        followed = np.where((above.must | (ply < depth))[:, None], above.legal, above.sharp) & ~above.over[:, None]
        parent, move = np.nonzero(followed)
        parts = []
        for at in range(0, len(parent), CHUNK):
            index = np.resize(np.arange(at, min(at + CHUNK, len(parent))), CHUNK)
            before = jax.tree.map(lambda x, i=parent[index]: x[i], above.states)
            parts.append(jax.device_get(ahead(before, move[index].astype(np.int32))))
        parents.append(parent)
        levels.append(jax.tree.map(lambda *x, all_=parent: np.concatenate(x)[: len(all_)], *parts))

    def worth(plies: int) -> np.ndarray:
        values = levels[plies].value
        for ply in reversed(range(plies)):
            above = levels[ply]
            best = np.where(above.must | (ply < depth), -np.inf, above.value)  # or who moves follows none
            np.maximum.at(best, parents[ply], -values)
            values = np.where(np.isin(np.arange(len(best)), parents[ply]), best, above.value)
        return values

    return worth(depth), worth(depth + beyond)
