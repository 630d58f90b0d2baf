"""What the game itself guesses: its `heuristic` as value, its `move_weights` as policy. No playouts."""

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32, Int32

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.evaluators.base import Evaluation, Evaluator, Params, States
from jaxgo.system.files import read_json


@dataclasses.dataclass(frozen=True)
class Heuristic(Evaluator):
    """Its parameters are what the game knows (`Game.knowledge`), or () for the game's own."""

    file: str = ""  # of weights that `jaxgo tune` wrote; "": the game's own
    # with weights alone: a move is worth what it is to the seat that gains more from it, and not to both together
    greater: bool = False

    def init(self, game: Game[Any], key: Array) -> Params:
        return self.knowledge(game, read_weights(self.file, game) if self.file else game.weights())

    def knowledge(self, game: Game[Any], weights: Mapping[str, float]) -> Params:
        """The parameters that these weights make."""
        if self.greater and not weights:
            raise UsageError(
                f"greater=yes, which zerosum has, is about a game's weights, and {type(game).__name__} has none; "
                "leave it out, or take greedy"
            )
        known = game.knowledge_from(weights, self.greater) if weights else game.knowledge()
        return jax.tree.map(jnp.asarray, known)

    def __call__(self, game: Game[Any], params: Params, key: Array, states: States) -> Evaluation:
        value, weights = jax.vmap(game.judge, in_axes=(0, None))(states, self._known(game, params))
        return Evaluation(jnp.log(weights.astype(jnp.float32)), value.astype(jnp.float32))

    def judge_moves(
        self, game: Game[Any], params: Params, states: States, actions: Int32[Array, "B K"]
    ) -> tuple[Float32[Array, "B K"], Bool[Array, "B K"]] | None:
        if not game.judges_moves:
            return None
        return jax.vmap(game.judge_moves, in_axes=(0, None, 0))(states, self._known(game, params), actions)

    def _known(self, game: Game[Any], params: Params) -> Any:
        mine = isinstance(params, tuple) and not params
        return self.knowledge(game, game.weights()) if mine else params


def weight_logits(game: Game[Any], states: States) -> Float32[Array, "B A"]:
    """The logits whose softmax is the game's move weights."""
    return jnp.log(jax.vmap(game.move_weights)(states).astype(jnp.float32))


def read_weights(path: str, game: Game[Any]) -> dict[str, float]:
    """The weights of a file, in the order of the game's own; a UsageError where they are not this game's."""
    try:
        about = read_json(Path(path).read_text(encoding="utf-8"))
        kind, weights = about["game"], {str(name): float(value) for name, value in about["weights"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"cannot read weights from {path}: {error}") from None
    own = game.weights()
    if kind != type(game).__name__ or set(weights) != set(own) or not own:
        raise UsageError(f"the weights of {path} are of {kind}; they do not fit {type(game).__name__}")
    if not all(0.0 < value < math.inf for value in weights.values()):
        raise UsageError(f"the weights of {path} must be finite numbers above 0")
    return {name: weights[name] for name in own}
