"""A run of training that takes seconds: its settings, its search, and how its states are compared."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxgo.nets import Mlp
from jaxgo.search import Greedy
from jaxgo.search.base import SearchResult, Temperature
from jaxgo.search.greedy import GreedyState
from jaxgo.selfplay import SelfplayConfig
from jaxgo.training.config import Budget, JudgeConfig, LearnerConfig, ReplayConfig, TargetsConfig, TrainConfig


@dataclasses.dataclass(frozen=True)
class Quick(Greedy):
    """The search is not what is tested here, and this one compiles at once; one without simulations is refused."""

    simulations: int = 1


@dataclasses.dataclass(frozen=True)
class Drawn(Quick):
    """Teaches what it has drawn: of what the net says already nothing is learnt but how its numbers are rounded."""

    def result(self, key: Array, state: GreedyState, temperature: Temperature = 0.0) -> SearchResult:
        found = super().result(key, state, temperature)
        drawn = jnp.where(found.policy > 0, state.luck, 0.0)
        return found._replace(policy=drawn / drawn.sum(axis=-1, keepdims=True))


CONFIG = TrainConfig(
    game="tictactoe",
    net=Mlp(width=16, blocks=1),
    search=Quick(),
    selfplay=SelfplayConfig(games=16, steps=6, opening_plies=2, book="balanced", book_share=0.5),
    targets=TargetsConfig(heads=("short", "reply")),
    replay=ReplayConfig(capacity=512, start=64),
    learner=LearnerConfig(batch=32, reuse=1.0, warmup=2, cooldown=0.5, patience=3),
    judge=JudgeConfig(every=0.0, final=("random",), final_pairs=3, past=1),
    budget=Budget(iterations=6),
    save_every=0.0,
)


def copied(tree: Any) -> Any:
    """On the host, keys as words."""

    def word(x: Any) -> Any:
        key = jnp.issubdtype(x.dtype, jax.dtypes.prng_key)
        return np.array(jax.random.key_data(x) if key else x)

    return jax.tree.map(word, tree)


def same(one: Any, two: Any) -> None:
    jax.tree.map(np.testing.assert_array_equal, copied(one), copied(two))
