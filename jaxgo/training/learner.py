"""How the network learns: the loss, one step of an optimiser, and an average of the weights to play with."""

import dataclasses
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float32, Int32

from jaxgo.core.errors import UsageError, check_finite, unknown_name
from jaxgo.evaluators.base import Params
from jaxgo.nets.base import Head
from jaxgo.training.augment import Batch

NEVER = -1e9  # the logit of an illegal move
OPTIMIZERS = ("adamw", "sgd")


@dataclasses.dataclass(frozen=True)
class LearnerConfig:
    """How the network learns."""

    batch: int = 512  # samples of one step, all devices together
    reuse: float = 4.0  # how often each sample is learnt from, on average
    optimizer: str = "adamw"  # or sgd, which wants ten times the rate or more
    momentum: float = 0.9  # of sgd, Nesterov's
    rate: float = 2e-3
    warmup: int = 100  # steps until the full rate
    decay_steps: int = 0  # steps of a cosine down to `final`; 0: the rate stays
    final: float = 0.1  # of the rate, at the end of the cosine
    weight_decay: float = 1e-2
    clip: float = 1.0  # of the gradient's norm
    ema: float = 0.995  # of the weights to play with; they average about the last 1 / (1 - ema) steps
    value_weight: float = 1.0
    head_weight: float = 0.15  # of each further head
    patience: int = 20  # broken steps in a row before the run stops

    def __post_init__(self) -> None:
        check_finite("learner.", self)
        if self.optimizer not in OPTIMIZERS:
            raise unknown_name("learner.optimizer", self.optimizer, OPTIMIZERS)
        if self.batch < 1 or self.patience < 1 or self.warmup < 0 or self.decay_steps < 0:
            raise UsageError("learner.batch and patience are at least 1, warmup and decay_steps at least 0")
        if not (self.reuse > 0 and self.rate > 0 and self.clip > 0):
            raise UsageError("learner.reuse, rate and clip are above 0")
        if not (0 <= self.ema < 1 and 0 <= self.momentum < 1 and 0 <= self.final <= 1 and self.weight_decay >= 0):
            raise UsageError(
                "learner.ema and momentum are at least 0 and below 1, final from 0 to 1, weight_decay at least 0"
            )

    def schedule(self, step: Int32[Array, ""]) -> Float32[Array, ""]:
        """The rate at a step."""
        up = jnp.minimum(1.0, (step + 1) / max(1, self.warmup))
        if not self.decay_steps:
            return self.rate * up
        done = jnp.clip((step - self.warmup) / max(1, self.decay_steps - self.warmup), 0.0, 1.0)
        return self.rate * up * (self.final + (1.0 - self.final) * 0.5 * (1.0 + jnp.cos(jnp.pi * done)))

    def optimiser(self) -> optax.GradientTransformation:
        """Weight decay spares norms and biases: they have one axis, and there is nothing to gain in shrinking them."""

        def decays(params: Params) -> Any:
            return jax.tree.map(lambda x: x.ndim > 1, params)

        adam = self.optimizer == "adamw"
        direction = optax.scale_by_adam() if adam else optax.trace(self.momentum, nesterov=True)
        return optax.chain(
            optax.clip_by_global_norm(self.clip),
            direction,
            optax.add_decayed_weights(self.weight_decay, decays),  # of the weights themselves, not of the slope
            optax.scale_by_learning_rate(self.schedule),
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

    module: nn.Module
    heads: tuple[Head, ...]
    config: LearnerConfig

    def begin(self, params: Params) -> LearnerState:
        zero = jnp.int32(0)
        # a copy: the two are given away to the same programs
        return LearnerState(
            params, jax.tree.map(jnp.copy, params), self.config.optimiser().init(params), zero, zero, zero
        )

    def loss(self, params: Params, batch: Batch) -> tuple[Float32[Array, ""], dict[str, Array]]:
        """The loss, and its parts by head."""
        said: Any = self.module.apply(params, batch.planes, method="learn")  # `Outputs`
        logits = jnp.where(batch.legal, said.logits, NEVER)
        policy = batch.policy / jnp.maximum(batch.policy.sum(axis=-1, keepdims=True), 1e-6)
        entropy = -_times_log(policy, policy)
        parts = {
            "policy": _mean(_cross(policy, logits) - entropy, batch.policy_weight),
            "value": _mean(_win_loss(said.value, batch.value), batch.value_weight),
        }
        for head in self.heads:
            one = _head_loss(head, said.heads[head.name], batch.heads[head.name])
            parts[head.name] = _mean(one, batch.head_weights[head.name])
        weights = {"policy": 1.0, "value": self.config.value_weight}
        total = sum(part * weights.get(name, self.config.head_weight) for name, part in parts.items())
        return jnp.asarray(total), parts

    def nothing(self) -> dict[str, Array]:
        """What an update tells, where there was none."""
        names = ("policy", "value", *(head.name for head in self.heads))
        return dict.fromkeys(("loss", *(f"loss_{name}" for name in names), "gradient", "rate"), jnp.float32(jnp.nan))

    def update(self, state: LearnerState, batch: Batch) -> tuple[LearnerState, dict[str, Array]]:
        """One step; where a number is not finite the step is left out and counted."""
        (loss, parts), slope = jax.value_and_grad(self.loss, has_aux=True)(state.params, batch)
        norm = optax.tree.norm(slope)
        sound = jnp.isfinite(loss) & jnp.isfinite(norm)
        change, optimiser = self.config.optimiser().update(slope, state.optimiser, state.params)
        params = optax.apply_updates(state.params, change)
        # young averages follow quickly
        keep = jnp.minimum(self.config.ema, (1.0 + state.step) / (10.0 + state.step))
        average = jax.tree.map(lambda old, new: keep * old + (1.0 - keep) * new, state.average, params)
        taken = LearnerState(params, average, optimiser, state.step + 1, state.skipped, jnp.int32(0))
        left = state._replace(skipped=state.skipped + 1, broken=state.broken + 1)
        after = jax.tree.map(lambda a, b: jnp.where(sound, a, b), taken, left)
        metrics = {f"loss_{name}": part for name, part in parts.items()}
        return after, {"loss": loss, **metrics, "gradient": norm, "rate": self.config.schedule(state.step)}


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


def _mean(each: Float32[Array, " M"], weight: Float32[Array, " M"]) -> Float32[Array, ""]:
    return (each * weight).sum() / jnp.maximum(weight.sum(), 1e-6)
