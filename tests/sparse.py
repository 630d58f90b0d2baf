"""Counts of move sequences where few of many actions are legal: only legal pairs of position and action are played."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import quick

from jaxgo.core.game import Game

CHUNK = 1024


def perft(game: Game[Any], depth: int, thorough: bool = False, start: Any = None) -> list[int]:
    """Like `support.perft`, without a look at repetition, from the start or from a state. The last ply is counted, not
    played.

    `thorough`: by programs that take longer to compile and less to run, for many positions.
    """
    legal, step = _programs(game, thorough)
    start = game.init(jax.random.key(0)) if start is None else start
    states = jax.tree.map(lambda leaf: np.asarray(leaf)[None], start)
    times = np.ones(1, np.int64)  # how many sequences lead to each of the different positions
    counts = []
    while True:
        parents, actions = np.nonzero(in_chunks(legal, states))
        counts.append(int(times[parents].sum()))
        if len(counts) == depth:
            return counts
        pairs = jax.tree.map(lambda leaf, of=parents: leaf[of], states)
        states, times = _merge(in_chunks(step, pairs, actions.astype(np.int32)), times[parents])


@functools.cache
def _programs(game: Game[Any], thorough: bool) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Legal moves of many states, and the states after them."""
    compiled = functools.partial(jax.jit, compiler_options=quick.THOROUGH if thorough else None)
    return compiled(jax.vmap(lambda state: game.legal(state) & ~game.over(state))), compiled(jax.vmap(game.step))


def _merge(states: Any, times: np.ndarray) -> tuple[Any, np.ndarray]:
    rows = [np.ascontiguousarray(leaf).reshape(len(times), -1).view(np.uint8) for leaf in jax.tree.leaves(states)]
    whole = np.concatenate(rows, axis=1)
    _, first, place = np.unique(whole.view(f"V{whole.shape[1]}"), return_index=True, return_inverse=True)
    total = np.zeros(len(first), np.int64)
    np.add.at(total, place.reshape(-1), times)
    return jax.tree.map(lambda leaf: leaf[first], states), total


def in_chunks(function: Callable[..., Any], *arguments: Any) -> Any:
    """The function over batches of one size, so that it compiles once."""
    size = len(jax.tree.leaves(arguments)[0])
    parts = []
    for begin in range(0, size, CHUNK):
        chunk = jax.tree.map(lambda leaf, b=begin: leaf[b : b + CHUNK], arguments)
        short = CHUNK - len(jax.tree.leaves(chunk)[0])
        padded = jax.tree.map(lambda leaf, n=short: np.concatenate([leaf, np.repeat(leaf[-1:], n, axis=0)]), chunk)
        parts.append(jax.tree.map(lambda leaf, n=short: np.asarray(leaf)[: CHUNK - n], function(*padded)))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)
