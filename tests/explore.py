"""Every position that a game can reach, ply by ply, in batches: for counts, shortest paths and exact values."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import quick
from sparse import in_chunks

from jaxgo.core.game import Game


class Layer(NamedTuple):
    """The different positions after the same number of plies, and the moves to the next layer."""

    states: Any  # stacked over n positions
    paths: np.ndarray  # int64[n]: move sequences that lead there
    over: np.ndarray  # bool[n]
    returns: np.ndarray  # float32[n, P]
    parent: np.ndarray  # int[m]: moves, from a position of this layer
    action: np.ndarray  # int[m]
    child: np.ndarray  # int[m]: to a position of the next one


def explore(
    game: Game[Any],
    depth: int | None = None,
    key: Callable[[Any], Any] | None = None,
    revisit: bool = True,
    past_ends: bool = False,
    thorough: bool = False,
) -> list[Layer]:
    """Layers from the start to `depth`, or to where nothing new comes.

    Positions with the same `key` (the hash by default) are one. Without `revisit`, positions of earlier layers are
    left out, as in breadth-first search. `past_ends` plays on from finished positions. `thorough`: by programs that
    take longer to compile and less to run, for games of many positions.
    """
    name = key or game.hash
    compiled = functools.partial(jax.jit, compiler_options=quick.THOROUGH if thorough else None)
    judge = compiled(jax.vmap(lambda s: (game.over(s), game.returns(s), game.legal(s))))
    expand = compiled(jax.vmap(lambda s, action: _expand(game, name, s, action)))
    root = game.init(jax.random.key(0))
    states, paths = jax.tree.map(lambda x: np.asarray(x)[None], root), np.ones(1, np.int64)
    seen = _word(np.asarray(name(root)))[None]
    layers: list[Layer] = []
    while True:
        over, returns, legal = in_chunks(judge, states)
        if depth is not None and len(layers) == depth:
            nothing = np.zeros(0, int)
            return [*layers, Layer(states, paths, over, returns, nothing, nothing, nothing)]
        parent, action, found, children = _moves(expand, states, legal & (past_ends | ~over)[:, None])
        if not revisit:
            fresh = ~np.isin(found, seen)
            parent, action, found, children = jax.tree.map(
                lambda x, fresh=fresh: x[fresh], (parent, action, found, children)
            )
            seen = np.union1d(seen, found)
        _, first, child = np.unique(found, return_index=True, return_inverse=True)
        layers.append(Layer(states, paths, over, returns, parent, action, child))
        if not len(parent):
            return layers
        states = jax.tree.map(lambda x, first=first: x[first], children)
        paths = np.bincount(child, weights=paths[parent]).astype(np.int64)


def values(layers: list[Layer], one_player: bool = False) -> list[np.ndarray]:
    """The exact value of every position for the seat to move, seats alternating (or one seat alone)."""
    out: list[np.ndarray] = []
    for layer in reversed(layers):
        seat = np.asarray(layer.states.to_play).astype(int)
        value = np.where(layer.over, layer.returns[np.arange(len(seat)), seat], -np.inf)
        if len(layer.parent):
            np.maximum.at(value, layer.parent, (1 if one_player else -1) * out[-1][layer.child])
        out.append(value)
    return out[::-1]


def counts(layers: list[Layer], wins: Callable[[Layer], np.ndarray]) -> list[np.ndarray]:
    """For every position, how many ways of playing on end in a position that `wins` marks."""
    out: list[np.ndarray] = []
    for layer in reversed(layers):
        ways = (layer.over & wins(layer)).astype(np.int64)
        if len(layer.parent):
            np.add.at(ways, layer.parent, out[-1][layer.child])
        out.append(ways)
    return out[::-1]


def _expand(game: Game[Any], key: Callable[[Any], Any], state: Any, action: Any) -> Any:
    child = game.step(state, action)
    return key(child), child


def _word(keys: np.ndarray) -> np.ndarray:
    return keys[..., 0].astype(np.uint64) << np.uint64(32) | keys[..., 1].astype(np.uint64)


def _moves(expand: Any, states: Any, legal: np.ndarray) -> Any:
    """Parent, action, key and state of every legal move."""
    parent, action = np.nonzero(legal)
    parents = jax.tree.map(lambda x: x[parent], states)
    if not len(parent):
        return parent, action, np.zeros(0, np.uint64), parents
    keys, children = in_chunks(expand, parents, action.astype(np.int32))
    return parent, action, _word(keys), children
