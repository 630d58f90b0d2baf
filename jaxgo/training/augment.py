"""Samples as a network sees them: planes made from states, turned by a random symmetry of the game."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32, Int32

from jaxgo.core.game import Game
from jaxgo.nets.base import Head
from jaxgo.training.targets import Sample


class Batch(NamedTuple):
    """What one step of the learner is about."""

    planes: Float32[Array, "M H W C"]
    legal: Bool[Array, "M A"]
    policy: Float32[Array, "M A"]
    policy_weight: Float32[Array, " M"]
    value: Float32[Array, " M"]
    value_weight: Float32[Array, " M"]
    heads: dict[str, Float32[Array, "*head"]]
    head_weights: dict[str, Float32[Array, " M"]]


def make_batch(game: Game[Any], heads: tuple[Head, ...], key: Array, samples: Sample) -> Batch:
    """The batch of some samples, each turned by a symmetry of its own."""
    count = len(game.symmetries().cells)
    turn = jax.random.randint(key, samples.value.shape, 0, count)
    return jax.vmap(lambda g, sample: turned(game, heads, g, sample))(turn, samples)


def turned(game: Game[Any], heads: tuple[Head, ...], symmetry: Int32[Array, ""], sample: Sample) -> Any:
    """One sample under one symmetry; without a batch axis."""
    planes = game.observe(sample.state).astype(jnp.float32)
    legal, policy = game.legal(sample.state), sample.policy.astype(jnp.float32)
    said = {name: value.astype(jnp.float32) for name, value in sample.heads.items()}
    tables = game.symmetries()
    if len(tables.cells) > 1:
        cells, actions = jnp.asarray(tables.cells)[symmetry], jnp.asarray(tables.actions)[symmetry]
        planes = planes.reshape(-1, planes.shape[-1])[cells].reshape(planes.shape)
        legal, policy = legal[actions], policy[actions]
        order = {"policy": actions, "cells": cells}
        said |= {head.name: said[head.name][order[head.kind]] for head in heads if head.kind in order}
    return Batch(
        planes=planes,
        legal=legal,
        policy=policy,
        policy_weight=sample.policy_weight.astype(jnp.float32),
        value=sample.value,
        value_weight=sample.value_weight.astype(jnp.float32),
        heads=said,
        head_weights={name: weight.astype(jnp.float32) for name, weight in sample.head_weights.items()},
    )
