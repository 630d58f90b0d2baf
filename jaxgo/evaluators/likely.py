"""A policy of few moves: the likeliest ones of another judge, more or less sharply."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32, Int32

from jaxgo.core import keys
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.evaluators.base import Evaluation, Evaluator, Params, States, ask, check_part
from jaxgo.evaluators.heuristic import Heuristic

RARE = -30.0  # the logit of a move that is not among the likeliest, beside 0 for the best


@dataclasses.dataclass(frozen=True)
class Likely(Evaluator):
    """Priors, a choice and a value, as the notebook's policies have them: `priors ** bias` over the `top` likeliest
    legal moves, others all but never; the value of the judge times `scale`."""

    judge: Evaluator = dataclasses.field(default_factory=Heuristic)
    top: int = 5
    bias: float = 1.0  # 0: the likeliest are all alike; above 1: the best of them more and more
    scale: float = 1.0  # of the value

    def __post_init__(self) -> None:
        super().__post_init__()
        check_part("the judge of likely", self.judge)
        if self.top < 1 or self.bias < 0.0 or not 0.0 <= self.scale <= 1.0:
            raise UsageError("likely needs top of at least 1, bias of at least 0 and scale from 0 to 1")

    def on(self, platform: str) -> "Likely":
        return dataclasses.replace(self, judge=self.judge.on(platform))

    def ready(self, params: Params) -> Params:
        return self.judge.ready(params)

    @property
    def lucky(self) -> bool:
        return self.judge.lucky

    def init(self, game: Game[Any], key: Array) -> Params:
        return self.judge.init(game, key)

    def foresee(self, game: Game[Any], params: Params, states: States) -> dict[str, Float32[Array, "B ..."]]:
        return self.judge.foresee(game, params, states)

    def __call__(self, game: Game[Any], params: Params, key: Array, states: States) -> Evaluation:
        return self._likeliest(game, states, ask(self.judge, game, params, key, states))

    def evaluate_wanted(
        self, game: Game[Any], params: Params, key: Array, states: States, wanted: Bool[Array, " B"]
    ) -> Evaluation:
        return self._likeliest(game, states, ask(self.judge, game, params, key, states, wanted))

    def _likeliest(self, game: Game[Any], states: States, found: Evaluation) -> Evaluation:
        legal = jax.vmap(game.legal)(states)
        # a move of no weight has the logit -inf, of which 0 times or itself less itself is no number
        logits = jnp.where(legal, jnp.maximum(found.logits, jnp.finfo(jnp.float32).min), -jnp.inf)
        best = jax.lax.top_k(logits, min(self.top, logits.shape[1]))[0]
        among = legal & (logits >= best[:, -1:])
        sharp = self.bias * jnp.where(among, logits - best[:, :1], 0.0)
        return Evaluation(jnp.where(among, jnp.maximum(sharp, RARE), RARE), self.scale * found.value)

    def choice(self, game: Game[Any], params: Params, key: Array, states: States) -> Int32[Array, " B"]:
        """A legal move for each position, drawn by the policy."""
        judge, draw = keys.split(key)
        logits = self(game, params, judge, states).logits
        return keys.categorical(draw, jnp.where(jax.vmap(game.legal)(states), logits, -jnp.inf))
