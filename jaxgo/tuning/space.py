"""What is tuned: some options of a player's search, the weights that its game guesses by, or both.

Every number that is above 0 is tuned by its logarithm, so that it stays above 0 and a step means a factor; others are
tuned as they are.
"""

import dataclasses
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.evaluators.heuristic import Heuristic, read_weights
from jaxgo.players import Player, named
from jaxgo.search.base import Search
from jaxgo.system.files import write_whole
from jaxgo.tuning.traced import Arguments, Traced, check_traced

WEIGHTS = "weights"  # what stands for all weights of the game

Vector = np.ndarray  # float64[n]: what the strategy moves


@dataclasses.dataclass(frozen=True)
class Space:
    """The numbers of a player that are tuned, with what they are at the start."""

    player: Player
    options: tuple[str, ...]
    weights: tuple[str, ...]
    start: tuple[float, ...]  # options, then weights

    @property
    def names(self) -> tuple[str, ...]:
        return *self.options, *self.weights

    def origin(self) -> Vector:
        return np.array([math.log(value) if value > 0 else value for value in self.start])

    def values(self, x: Vector) -> dict[str, float]:
        """The numbers that a vector stands for, as 32 bits hold them."""
        with np.errstate(over="ignore"):
            moved = [np.exp(at) if first > 0 else at for at, first in zip(x, self.start, strict=True)]
            return {name: float(np.float32(value)) for name, value in zip(self.names, moved, strict=True)}

    def allows(self, x: Vector) -> bool:
        """Whether the search would take these options."""
        values = self.values(x)
        if not all(map(math.isfinite, values.values())):
            return False
        try:
            self._search(values)
        except UsageError:
            return False
        return True

    def _search(self, values: dict[str, float]) -> Search[Any]:
        changes: Any = {name: values[name] for name in self.options}
        return dataclasses.replace(self.player.search, **changes)  # type: ignore[type-var]

    @property
    def _heuristic(self) -> Heuristic:
        evaluator = self.player.model.evaluator
        assert isinstance(evaluator, Heuristic)  # `space_of` takes weights of no other
        return evaluator

    def _knowledge(self, values: dict[str, float]) -> Any:
        return self._heuristic.knowledge(self.player.model.game, {name: values[name] for name in self.weights})

    def agent(self, x: Vector, name: str) -> Player:
        """The player with these numbers as arguments: however many there are, one program plays with all."""
        values = self.values(x)
        params = self.player.params
        if self.weights:
            params = self._knowledge(values)
        if not self.options:
            return dataclasses.replace(self.player, params=params, name=name)
        options = jnp.array([values[name] for name in self.options], jnp.float32)
        search = Traced(self.player.search, self.options)
        return dataclasses.replace(self.player, search=search, params=Arguments(options, params), name=name)

    def written(self, x: Vector, path: Path) -> Player:
        """The player with these numbers as its own, which its name loads; weights are written to the path."""
        values, model, params = self.values(x), self.player.model, self.player.params
        if self.weights:
            weights = {name: values[name] for name in self.weights}
            about = {"game": type(model.game).__name__, "weights": weights}
            write_whole(path, json.dumps(about, indent=1) + "\n")
            model = dataclasses.replace(model, evaluator=dataclasses.replace(self._heuristic, file=str(path)))
            params = self._knowledge(values)
        return named(dataclasses.replace(self.player, search=self._search(values), model=model, params=params))


def space_of(player: Player, wanted: Sequence[str]) -> Space:
    """What `wanted` names: options of the player's search, and `weights` for those of its game."""
    search, game, evaluator = player.search, player.model.game, player.model.evaluator
    fields = {field.name: getattr(search, field.name) for field in dataclasses.fields(search)}  # type: ignore[arg-type]
    floats = {name: value for name, value in fields.items() if isinstance(value, float)}
    weights = game.weights() if isinstance(evaluator, Heuristic) else {}
    known = [*floats, *([WEIGHTS] if weights else [])]
    if not known:
        raise UsageError(
            f"{player.name} has no number to tune here; tune the options of a search, or weights of Gomoku"
        )
    if not wanted:
        raise UsageError(f"tune what of {player.name}? Name some of: {', '.join(known)}")
    for name in wanted:
        if name not in known:
            raise unknown_name(f"number of {player.name}", name, known)
    if len(set(wanted)) < len(wanted):
        raise UsageError(f"{max(wanted, key=list(wanted).count)} is named twice; name each number once")
    options = tuple(name for name in wanted if name != WEIGHTS)
    check_traced(search, options, player.model, player.params)
    file = getattr(evaluator, "file", "")
    weights = (read_weights(file, game) if file else weights) if WEIGHTS in wanted else {}
    return Space(player, options, tuple(weights), (*(floats[name] for name in options), *weights.values()))
