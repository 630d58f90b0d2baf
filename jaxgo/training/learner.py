"""How the network learns: batches turned by symmetries, the loss, steps of an optimiser, an average of the weights."""

import dataclasses
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float32, Int32

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.lanes import where_lanes
from jaxgo.evaluators.base import Params
from jaxgo.evaluators.network import near, stays_near
from jaxgo.nets.base import Head
from jaxgo.training.config import LearnerConfig
from jaxgo.training.targets import Sample

NEVER = -1e9  # the logit of an illegal move
TARGETS = "targets"  # the entropy of what the policy is to learn, among the numbers of a step


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
    """Samples as a network sees them: planes made from states, each turned by a random symmetry of its own."""
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


def rate_at(config: LearnerConfig, step: Int32[Array, ""], spent: Float32[Array, ""] | float) -> Float32[Array, ""]:
    """The rate of a step, where this share of the run's budget is spent."""
    up = jnp.minimum(1.0, (step + 1) / max(1, config.warmup))
    if not config.cooldown:
        return config.rate * up
    done = jnp.clip((spent - (1.0 - config.cooldown)) / config.cooldown, 0.0, 1.0)
    return config.rate * up * (config.final + (1.0 - config.final) * 0.5 * (1.0 + jnp.cos(jnp.pi * done)))


def optimiser(config: LearnerConfig, rate: Float32[Array, ""] | float = 1.0) -> optax.GradientTransformation:
    """How slopes change weights at this rate; what it remembers is the same at every rate.

    Weight decay spares norms and biases: they have one axis, and there is nothing to gain in shrinking them.
    """

    def decays(params: Params) -> Any:
        return jax.tree.map(lambda x: x.ndim > 1, params)

    adam = config.optimizer == "adamw"
    direction = optax.scale_by_adam() if adam else optax.trace(config.momentum, nesterov=True)
    return optax.chain(
        optax.clip_by_global_norm(config.clip),
        direction,
        optax.add_decayed_weights(config.weight_decay, decays),  # of the weights themselves, not of the slope
        optax.scale_by_learning_rate(rate),
    )


class LearnerState(NamedTuple):
    params: Params
    average: Params  # of the weights, to play with
    optimiser: Any
    step: Int32[Array, ""]  # taken, the broken ones not counted
    skipped: Int32[Array, ""]  # broken steps so far
    broken: Int32[Array, ""]  # of these, in a row up to now


@dataclasses.dataclass(frozen=True)
class Learner:
    """A network and how it learns."""

    module: Any  # of `Net.module`
    heads: tuple[Head, ...]
    config: LearnerConfig

    def __post_init__(self) -> None:
        if isinstance(self.module, nn.Module) and not hasattr(self.module, "learn"):
            raise UsageError(
                f"{type(self.module).__name__} has no method `learn`, which tells every head; make it one that has by "
                "jaxgo.nets.as_net(yours).module(game, heads)"
            )

    def begin(self, params: Params) -> LearnerState:
        zero = jnp.int32(0)
        # a copy: the two are given away to the same programs
        return LearnerState(
            params, jax.tree.map(jnp.copy, params), optimiser(self.config).init(params), zero, zero, zero
        )

    def loss(self, params: Params, batch: Batch) -> tuple[Float32[Array, ""], dict[str, Array]]:
        """The loss, its parts by head, and `targets`: the entropy of the policies to learn, which remains.

        The weights of a whole batch are `shares`. The policy's part and `targets` are its cross-entropy together.
        """
        said: Any = self.module.apply(params, batch.planes, method="learn")  # `Outputs`
        logits = jnp.where(batch.legal, said.logits, NEVER)
        policy = batch.policy / jnp.maximum(batch.policy.sum(axis=-1, keepdims=True), 1e-6)
        entropy = -_times_log(policy, policy)
        parts = {
            "policy": ((_cross(policy, logits) - entropy) * batch.policy_weight).sum(),
            "value": (_win_loss(said.value, batch.value) * batch.value_weight).sum(),
        }
        for head in self.heads:
            one = _head_loss(head, said.heads[head.name], batch.heads[head.name])
            parts[head.name] = (one * batch.head_weights[head.name]).sum()
        weights = {"policy": 1.0, "value": self.config.value_weight}
        total = sum(part * weights.get(name, self.config.head_weight) for name, part in parts.items())
        return jnp.asarray(total), parts | {TARGETS: (entropy * batch.policy_weight).sum()}

    def at_once(self, params: Params, batch: Batch) -> int:
        """How many samples of a batch are learnt from at a time: few where convolutions of all would leave a core."""
        size, height, width, _ = batch.planes.shape
        if not stays_near(getattr(self.module, "platform", ""), params):
            return size
        most = min(size, near(height * width))
        few = max(part for part in range(1, most + 1) if size % part == 0)
        return few if 2 * few >= most else size  # an odd size has no good parts

    def _slope(self, params: Params, batch: Batch) -> tuple[tuple[Array, dict[str, Array]], Params]:
        """The loss and its slope, of parts of the batch in turn."""
        find = jax.value_and_grad(self.loss, has_aux=True)
        few = self.at_once(params, batch)
        if few == len(batch.value):
            return find(params, batch)
        parts = jax.tree.map(lambda x: x.reshape(-1, few, *x.shape[1:]), batch)
        zero = jnp.float32(0)
        nothing = ((zero, dict.fromkeys((*self._losses, TARGETS), zero)), jax.tree.map(jnp.zeros_like, params))

        def add(sums: Any, part: Batch) -> tuple[Any, None]:
            return jax.tree.map(jnp.add, sums, find(params, part)), None

        found: Any = jax.lax.scan(add, nothing, parts)[0]
        return found

    @property
    def _losses(self) -> tuple[str, ...]:
        """The names of the parts of the loss."""
        return "policy", "value", *(head.name for head in self.heads)

    def nothing(self) -> dict[str, Array]:
        """What an update would tell, where there was none: zeros, as NaN would trip over `jax_debug_nans`."""
        told = ("loss", *(f"loss_{name}" for name in self._losses), TARGETS, "gradient", "rate")
        return dict.fromkeys(told, jnp.float32(0))

    def update(
        self, state: LearnerState, batch: Batch, axis: str = "", spent: Float32[Array, ""] | float = 0.0
    ) -> tuple[LearnerState, dict[str, Array]]:
        """One step; where a number is not finite the step is left out and counted.

        With an `axis` of devices the batch is the part of this one, and all of them take the same step. `spent` is the
        share of the budget that is gone.
        """
        rate = rate_at(self.config, state.step, spent)
        (loss, parts), slope = _summed(self._slope(state.params, shares(batch, axis)), axis)
        norm = optax.tree.norm(slope)
        sound = jnp.isfinite(loss) & jnp.isfinite(norm)
        change, slopes = optimiser(self.config, rate).update(slope, state.optimiser, state.params)
        params = optax.apply_updates(state.params, change)
        # young averages follow quickly
        keep = jnp.minimum(self.config.ema, (1.0 + state.step) / (10.0 + state.step))
        average = jax.tree.map(lambda old, new: keep * old + (1.0 - keep) * new, state.average, params)
        taken = LearnerState(params, average, slopes, state.step + 1, state.skipped, jnp.int32(0))
        left = state._replace(skipped=state.skipped + 1, broken=state.broken + 1)
        after = where_lanes(sound, taken, left)
        metrics = {name if name == TARGETS else f"loss_{name}": part for name, part in parts.items()}
        return after, {"loss": loss, **metrics, "gradient": norm, "rate": rate}


def are_finite(params: Any) -> bool:
    """Whether all numbers are, as the host sees them."""
    return all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(jax.device_get(params)))


def _head_loss(head: Head, said: Array, wanted: Array) -> Float32[Array, " M"]:
    if head.kind == "policy":
        share = wanted / jnp.maximum(wanted.sum(axis=-1, keepdims=True), 1e-6)
        return _cross(share, said) + _times_log(share, share)
    if head.kind == "number":
        return optax.huber_loss(said, wanted)
    return _win_loss(said, wanted).mean(axis=-1)


def _win_loss(logit: Float32[Array, "*b"], value: Float32[Array, "*b"]) -> Float32[Array, "*b"]:
    """Cross-entropy of a value seen as the chance of a win, less its least possible, so that 0 is perfect."""
    chance = (jnp.clip(value, -1.0, 1.0) + 1.0) / 2
    least = -jax.scipy.special.xlogy(chance, chance) - jax.scipy.special.xlogy(1.0 - chance, 1.0 - chance)
    return optax.sigmoid_binary_cross_entropy(logit, chance) - least


def _times_log(share: Float32[Array, "M A"], of: Float32[Array, "M A"]) -> Float32[Array, " M"]:
    return jax.scipy.special.xlogy(share, of).sum(axis=-1)


def _cross(share: Float32[Array, "M A"], logits: Float32[Array, "M A"]) -> Float32[Array, " M"]:
    return -jnp.where(share > 0, share * jax.nn.log_softmax(logits, axis=-1), 0.0).sum(axis=-1)


def shares(batch: Batch, axis: str = "") -> Batch:
    """The batch with each of its weights as a share of all, so that losses of several devices add up to means."""
    names = list(batch.head_weights)
    weights = [batch.policy_weight, batch.value_weight, *(batch.head_weights[name] for name in names)]
    sums = jnp.maximum(_summed(jnp.stack([weight.sum() for weight in weights]), axis), 1e-6)
    policy, value, *rest = (weight / total for weight, total in zip(weights, sums, strict=True))
    return batch._replace(policy_weight=policy, value_weight=value, head_weights=dict(zip(names, rest, strict=True)))


def _summed(tree: Any, axis: str) -> Any:
    """The sums over the devices of an axis, in one exchange of float32 numbers.

    What XLA exchanges by itself has the precision of the layer that it comes from, which may be bfloat16.
    """
    if not axis or jax.lax.axis_size(axis) == 1:
        return tree
    flat, back = jax.flatten_util.ravel_pytree(tree)
    return back(jax.lax.psum(flat.astype(jnp.float32), axis))
