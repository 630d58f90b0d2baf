"""The evaluator that knows nothing: every action alike, every position even."""

import dataclasses
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from jaxgo.core.game import Game
from jaxgo.evaluators.base import Evaluation, Evaluator, Params, States


@dataclasses.dataclass(frozen=True)
class Uniform(Evaluator):
    def __call__(self, game: Game[Any], params: Params, key: Array, states: States) -> Evaluation:
        games = states.ply.shape[0]
        return Evaluation(jnp.zeros((games, game.num_actions)), jnp.zeros(games))
