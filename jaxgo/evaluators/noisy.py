"""Dirichlet noise in a policy, for exploration: at the root of a search, or at every position that is judged."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32

from jaxgo.core import keys
from jaxgo.core.game import Game
from jaxgo.evaluators.base import Evaluation, Evaluator, Params, States, ask


@dataclasses.dataclass(frozen=True)
class Dirichlet:
    """How much noise."""

    share: float  # of the policy that is noise
    alpha: float  # 0: `total` divided by the number of legal moves
    total: float  # what all legal moves have together where `alpha` is 0

    def mixed(self, key: Array, logits: Float32[Array, "B A"], legal: Bool[Array, "B A"]) -> Float32[Array, "B A"]:
        """The policy of these logits with noise, as logits; the lowest number where illegal."""
        lowest = jnp.finfo(jnp.float32).min
        count = jnp.maximum(legal.sum(axis=-1, keepdims=True), 1).astype(jnp.float32)
        alpha = jnp.full_like(count, self.alpha) if self.alpha > 0 else self.total / count
        # a Dirichlet draw over the legal moves only: normalised gammas, in logs because small alphas underflow
        alphas = jnp.broadcast_to(alpha, logits.shape)
        loggamma = functools.partial(jax.random.loggamma, dtype=jnp.float32)
        drawn = (jax.vmap(loggamma) if keys.each_its_own(key) else loggamma)(key, alphas)
        noise = jax.nn.softmax(jnp.where(legal, drawn, lowest), axis=-1)
        policy = jax.nn.softmax(jnp.where(legal, logits, lowest), axis=-1)
        both = (1.0 - self.share) * policy + self.share * jnp.where(legal, noise, 0.0)
        return jnp.where(legal, jnp.log(jnp.maximum(both, jnp.finfo(jnp.float32).tiny)), lowest)


@dataclasses.dataclass(frozen=True)
class Noisy(Evaluator):
    """Another judge, with noise in its policy at every position. Its parameters are those of the other."""

    judge: Evaluator
    noise: Dirichlet

    def on(self, platform: str) -> "Noisy":
        return dataclasses.replace(self, judge=self.judge.on(platform))

    def ready(self, params: Params) -> Params:
        return self.judge.ready(params)

    @property
    def lucky(self) -> bool:
        return True

    def init(self, game: Game[Any], key: Array) -> Params:
        return self.judge.init(game, key)

    def foresee(self, game: Game[Any], params: Params, states: States) -> dict[str, Float32[Array, "B ..."]]:
        return self.judge.foresee(game, params, states)

    def __call__(self, game: Game[Any], params: Params, key: Array, states: States) -> Evaluation:
        one, two = keys.split(key)
        return self._disturbed(game, states, two, ask(self.judge, game, params, one, states))

    def evaluate_wanted(
        self, game: Game[Any], params: Params, key: Array, states: States, wanted: Bool[Array, " B"]
    ) -> Evaluation:
        one, two = keys.split(key)
        return self._disturbed(game, states, two, ask(self.judge, game, params, one, states, wanted))

    def _disturbed(self, game: Game[Any], states: States, key: Array, found: Evaluation) -> Evaluation:
        # lanes of one game lie side by side, and draw from the key of their game
        own = keys.sample(_seeds, key, found.value.shape) if keys.each_its_own(key) else key
        legal = jax.vmap(game.legal)(states)
        return found._replace(logits=self.noise.mixed(own, found.logits, legal))


def _seeds(key: Array, shape: tuple[int, ...]) -> Array:
    return jax.random.split(key, shape[0])
