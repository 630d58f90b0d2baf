"""From plies to samples: what a network shall say about a position, known once its game has gone on.

Everything comes from one scan backwards over the plies by the sign law, `before = reward + discount * after`, so seats
that move twice, forced passes and one-player games need no thought. A ply waits in a window until its game has ended;
one that falls out of the window before that is labelled by what the search thought, with less weight.

Letters: W plies of the window, T new plies, B games, M samples, A actions, K horizons.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float16, Float32

from jaxgo.core.lanes import over_axes, where_lanes
from jaxgo.evaluators.base import States
from jaxgo.nets.base import Head
from jaxgo.selfplay import Trajectory
from jaxgo.training.config import REPLY, SHORT, TargetsConfig


class Sample(NamedTuple):
    """A position and what to say about it, for the side to move."""

    state: States
    policy: Float16[Array, "M A"]
    policy_weight: Float16[Array, " M"]  # 0 where the search was a fast one
    value: Float32[Array, " M"]
    value_weight: Float16[Array, " M"]
    heads: dict[str, Float16[Array, "*head"]]
    head_weights: dict[str, Float16[Array, " M"]]
    weight: Float32[Array, " M"]  # how often to draw it


class Window(NamedTuple):
    """Plies that wait for the end of their game, the oldest first."""

    plies: Trajectory
    waiting: Bool[Array, "W B"]


class _Later(NamedTuple):
    """What the scan knows of the next ply, for its mover."""

    value: Float32[Array, " B"]  # what the search said
    target: Float32[Array, " B"]
    short: Float32[Array, "B K"]
    policy: Float16[Array, "B A"]
    full: Bool[Array, " B"]
    there: Bool[Array, " B"]  # False beyond the newest ply
    known: Bool[Array, " B"]  # nothing that comes can change the labels
    settled: Bool[Array, " B"]  # a result or a proof stands behind the value
    ruled: Bool[Array, " B"]
    aux_targets: dict[str, Float16[Array, "*target"]]  # for seat 0


def empty_window(plies: Trajectory, length: int) -> Window:
    """A window of this length without a ply in it, for plies shaped like these."""

    def blank(x: Any) -> Array:
        return jnp.zeros((length, *x.shape[1:]), x.dtype)

    return Window(jax.tree.map(blank, plies), jnp.zeros((length, plies.value.shape[1]), bool))


def make_samples(
    config: TargetsConfig, heads: tuple[Head, ...], window: Window, fresh: Trajectory, at_once: int = 1
) -> tuple[Window, Sample, Bool[Array, " M"]]:
    """Moves the window on by the fresh plies; the samples that are ready, and which rows of them hold one.

    At most twice as many as there are fresh plies come at a time, the oldest first; the others wait. So many plies are
    labelled in one turn of a loop, `at_once`.
    """
    steps, games = fresh.value.shape
    plies = jax.tree.map(lambda old, new: jnp.concatenate([old, new]), window.plies, fresh)
    waiting = jnp.concatenate([window.waiting, jnp.ones((steps, games), bool)])
    labels, known = _label(config, heads, plies, at_once)
    leaving = (jnp.arange(waiting.shape[0]) < steps)[:, None]
    ready = (waiting & (known | leaving)).reshape(-1)
    rows = jnp.nonzero(ready, size=2 * steps * games, fill_value=ready.shape[0])[0]
    found = rows < ready.shape[0]
    flat = jax.tree.map(
        lambda x: x.reshape(ready.shape[0], *x.shape[2:])[jnp.minimum(rows, ready.shape[0] - 1)], labels
    )
    waiting = waiting.reshape(-1).at[rows].set(False, mode="drop").reshape(waiting.shape)
    kept = Window(jax.tree.map(lambda x: x[steps:], plies), waiting[steps:])
    return kept, flat, found


def _label(
    config: TargetsConfig, heads: tuple[Head, ...], plies: Trajectory, at_once: int
) -> tuple[Sample, Bool[Array, "W B"]]:
    """A sample for every ply, and whether its labels are final."""
    blank = jax.tree.map(lambda x: jnp.zeros(x.shape[1:], x.dtype), plies)
    no = jnp.zeros(blank.value.shape, bool)
    nothing = jnp.zeros((*no.shape, len(config.horizons)))
    last = _Later(blank.value, blank.value, nothing, blank.policy, no, no, no, no, no, blank.aux_targets)

    def step(later: _Later, ply: Trajectory) -> tuple[_Later, tuple[Any, ...]]:
        now = _look_back(config, later, ply)
        # what the mover's opponent played next; after a random move it was no answer to a plan
        replied = later.there & later.full & (ply.discount == -1) & ~ply.random_move
        reply = (later.policy, replied) if REPLY in config.heads else ()
        return now, (now.target, now.short, now.known, now.settled, reply, (now.aux_targets, now.ruled))

    _, (target, short, known, settled, reply, (aux_targets, ruled)) = jax.lax.scan(
        step, last, plies, reverse=True, unroll=at_once
    )
    sign = jnp.where(plies.state.to_play == 0, 1.0, -1.0).astype(jnp.float16)
    values: dict[str, Array] = {}
    weights: dict[str, Array] = {}
    for head in heads:
        if head.name == SHORT:
            values[SHORT], weights[SHORT] = short, jnp.ones(sign.shape)
        elif head.name == REPLY:
            values[REPLY], weights[REPLY] = reply
        else:
            final = aux_targets[head.name]
            values[head.name] = final * over_axes(sign, final.ndim)
            weights[head.name] = ruled
    sample = Sample(
        state=plies.state,
        policy=plies.policy,
        policy_weight=plies.full.astype(jnp.float16),
        value=target,
        value_weight=jnp.where(settled, 1.0, config.bootstrap_weight).astype(jnp.float16),
        heads={name: value.astype(jnp.float16) for name, value in values.items()},
        head_weights={name: weight.astype(jnp.float16) for name, weight in weights.items()},
        weight=_weight(config, plies),
    )
    return sample, known


def _look_back(config: TargetsConfig, later: _Later, ply: Trajectory) -> _Later:
    """What is known of a ply, from what is known of the next one."""
    end = ply.discount == 0
    followed = end | later.there
    # a random move tells nothing about the position before it, and an exact value leaves nothing to tell
    cut = ply.random_move | ~followed
    after = config.td_lambda * later.target + (1.0 - config.td_lambda) * later.value
    target = jnp.where(cut | ply.solved, ply.value, ply.reward + ply.discount * after)
    fade = jnp.asarray([[1.0 - 1.0 / plies for plies in config.horizons]], jnp.float32)
    follows = ply.reward[:, None] + ply.discount[:, None] * later.short
    short = jnp.where(cut[:, None], ply.value[:, None], (1.0 - fade) * ply.value[:, None] + fade * follows)
    return _Later(
        value=ply.value,
        target=target,
        short=short,
        policy=ply.policy,
        full=ply.full,
        there=jnp.ones_like(end),
        known=end | later.known,
        settled=ply.solved | ((end | later.settled) & ~ply.random_move),
        ruled=jnp.where(end, ply.ruled, later.ruled),
        aux_targets=where_lanes(end, ply.aux_targets, later.aux_targets),
    )


def _weight(config: TargetsConfig, plies: Trajectory) -> Float32[Array, "W B"]:
    """How often to draw each ply: those whose search found what the network did not expect come more often."""
    full = plies.full.astype(jnp.float32)
    mean = (plies.surprise * full).sum() / jnp.maximum(full.sum(), 1.0)
    relative = jnp.minimum(plies.surprise / jnp.maximum(mean, 1e-6), 10.0)
    return jnp.where(plies.full, 1.0 - config.surprise + config.surprise * relative, config.fast_weight)
