"""Two judges at once: a weighted mean of their values and of their policies."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32

from jaxgo.core import keys
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.evaluators.base import Evaluation, Evaluator, Params, States, ask, check_part


@dataclasses.dataclass(frozen=True)
class Mix(Evaluator):
    """`weight` of the first judge, the rest of the second. Its parameters are the pair of theirs."""

    first: Evaluator
    second: Evaluator
    weight: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_part("the first judge of a mix", self.first)
        check_part("the second judge of a mix", self.second)
        if not 0.0 <= self.weight <= 1.0:
            raise UsageError(f"the weight of a mix is a share from 0 to 1, not {self.weight}")

    def on(self, platform: str) -> "Mix":
        return dataclasses.replace(self, first=self.first.on(platform), second=self.second.on(platform))

    @property
    def lucky(self) -> bool:
        return self.first.lucky or self.second.lucky

    def ready(self, params: Params) -> Params:
        first, second = self._pair(params)
        return self.first.ready(first), self.second.ready(second)

    def _pair(self, params: Params) -> tuple[Params, Params]:
        if not (isinstance(params, tuple | list) and len(params) == 2):
            raise UsageError("the parameters of a mix are the pair of its judges'; make some by model.init(key)")
        return params[0], params[1]

    def init(self, game: Game[Any], key: Array) -> Params:
        first, second = jax.random.split(key)
        return self.first.init(game, first), self.second.init(game, second)

    def foresee(self, game: Game[Any], params: Params, states: States) -> dict[str, Float32[Array, "B ..."]]:
        """The mean where both expect something, and else what one of them does."""
        first, second = self._pair(params)
        one, two = self.first.foresee(game, first, states), self.second.foresee(game, second, states)
        return {**one, **two, **{name: self._mean(one[name], two[name]) for name in one.keys() & two.keys()}}

    def __call__(self, game: Game[Any], params: Params, key: Array, states: States) -> Evaluation:
        return self._mixed(game, params, key, states, None)

    def evaluate_wanted(
        self, game: Game[Any], params: Params, key: Array, states: States, wanted: Bool[Array, " B"]
    ) -> Evaluation:
        return self._mixed(game, params, key, states, wanted)

    def _mixed(
        self, game: Game[Any], params: Params, key: Array, states: States, wanted: Bool[Array, " B"] | None
    ) -> Evaluation:
        (one, two), (first, second) = keys.split(key), self._pair(params)
        a = ask(self.first, game, first, one, states, wanted)
        b = ask(self.second, game, second, two, states, wanted)
        # among legal moves: shares given to illegal ones would shift the weight between the two
        legal = jax.vmap(game.legal)(states)
        policy = self._mean(_shares(a.logits, legal), _shares(b.logits, legal))
        tiny = jnp.finfo(jnp.float32).tiny
        return Evaluation(jnp.log(jnp.maximum(policy, tiny)), self._mean(a.value, b.value))

    def _mean(self, a: Float32[Array, "*b"], b: Float32[Array, "*b"]) -> Float32[Array, "*b"]:
        return self.weight * a + (1.0 - self.weight) * b


def _shares(logits: Float32[Array, "B A"], legal: Bool[Array, "B A"]) -> Float32[Array, "B A"]:
    return jax.nn.softmax(jnp.where(legal, logits, jnp.finfo(jnp.float32).min), axis=-1)
