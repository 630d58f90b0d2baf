"""Every line of play against a player of a small game: does it ever lose?"""

import functools
from typing import Any

import jax
import numpy as np

from jaxgo.search.base import Search
from jaxgo.search.model import Model


class Walk:
    """Every line of play against a player, level by level. One shape for all levels: one program each."""

    def __init__(self, model: Model, params: Any, search: Search, width: int = 256) -> None:
        self.model, self.width = model, width
        think = jax.jit(lambda params, position: search.run(model, params, jax.random.key(1), position).action)
        self._think = functools.partial(think, params)
        self._legal = jax.jit(model.legal)

        def move(position: Any, action: Any) -> Any:
            moved, _ = model.play(position, action)
            return moved, model.over(moved), jax.vmap(model.game.returns)(moved.state)

        self._move = jax.jit(move)

    def lost(self, seat: int) -> int:
        """Different ends in which the player in this seat has lost, whatever the other one tries."""
        positions, lost = jax.device_get(self.model.start(jax.random.key(0), 1)), 0
        while count := positions.state.ply.shape[0]:
            ours = int(positions.state.to_play[0]) == seat
            lane, action = self._replies(positions, count, ours)
            levels = []
            for start in range(0, len(lane), self.width):
                chosen, picked = lane[start : start + self.width], action[start : start + self.width]
                moved, over, result = jax.device_get(self._move(self._padded(positions, chosen), self._fill(picked)))
                live = ~over[: len(chosen)]
                lost += int((~live & (result[: len(chosen), seat] < 0)).sum())
                levels.append(jax.tree.map(lambda x, live=live: x[: len(live)][live], moved))
            positions = distinct(jax.tree.map(lambda *parts: np.concatenate(parts), *levels))
        return lost

    def _replies(self, positions: Any, count: int, ours: bool) -> tuple[Any, Any]:
        """Which actions to follow from which position: the player's own, or all."""
        lanes, actions = [], []
        for start in range(0, count, self.width):
            chosen = np.arange(start, min(count, start + self.width))
            padded = self._padded(positions, chosen)
            if ours:
                lanes.append(chosen)
                actions.append(np.asarray(self._think(padded))[: len(chosen)])
            else:
                there = np.asarray(self._legal(padded))[: len(chosen)]
                lanes.append(chosen[np.nonzero(there)[0]])
                actions.append(np.nonzero(there)[1])
        return np.concatenate(lanes), np.concatenate(actions).astype(np.int32)

    def _padded(self, positions: Any, chosen: Any) -> Any:
        return jax.tree.map(lambda x: x[self._fill(chosen)], positions)

    def _fill(self, values: Any) -> Any:
        """So many values as a level is wide, the first ones again at the end."""
        return np.resize(values, self.width)


def distinct(positions: Any) -> Any:
    """Positions without their doubles."""
    parts = [x for x in jax.tree.leaves(positions) if x.size]
    if not parts:
        return positions
    rows = np.concatenate([x.reshape(x.shape[0], -1).astype(np.int64) for x in parts], axis=1)
    _, first = np.unique(rows, axis=0, return_index=True)
    return jax.tree.map(lambda x: x[first], positions)
