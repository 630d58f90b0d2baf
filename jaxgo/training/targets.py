"""From plies to samples: what a network shall say about a position, known once its game has gone on.

Everything comes from one scan backwards over the plies by the sign law, `before = reward + discount * after`, so seats
that move twice, forced passes and one-player games need no thought. A ply waits in a window until its game has ended;
one that falls out of the window before that is labelled by what the search thought, with less weight.

Letters: W plies of the window, T new plies, B games, M samples, A actions, K horizons.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float16, Float32

from jaxgo.core.errors import UsageError, check_finite
from jaxgo.core.game import Game
from jaxgo.evaluators.base import States
from jaxgo.nets.base import Head
from jaxgo.selfplay import Trajectory

SHORT, REPLY = "short", "reply"


@dataclasses.dataclass(frozen=True)
class TargetsConfig:
    """What is learnt from a game."""

    trust: float = 0.9  # in the result of a game rather than in later root values: 1 is the plain result
    tail: float = 0.5  # weight of values that no result stands behind
    cheap: float = 0.25  # how often a position with a cheap search is drawn, against one with a full search
    surprise: float = 0.5  # share of a sample's weight that goes by how much the search changed the policy
    heads: tuple[str, ...] = (SHORT,)  # besides policy and value: short, reply, and the game's lessons by name
    horizons: tuple[float, ...] = (4.0, 12.0)  # plies over which `short` averages the root values to come

    def __post_init__(self) -> None:
        check_finite("targets.", self)
        for name in ("trust", "tail", "cheap", "surprise"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise UsageError(f"targets.{name} is a share from 0 to 1, not {getattr(self, name)}")
        if any(not plies >= 1.0 for plies in self.horizons):
            raise UsageError("targets.horizons are plies, at least 1 each")

    def make_heads(self, game: Game[Any]) -> tuple[Head, ...]:
        """The further heads of a network; a UsageError names those that this game has."""
        known = {
            SHORT: Head(SHORT, "values", len(self.horizons)),
            REPLY: Head(REPLY, "policy"),
            **{lesson.name: Head(lesson.name, lesson.kind) for lesson in game.lessons()},
        }
        for name in self.heads:
            if name not in known:
                raise UsageError(
                    f"targets.heads has {name!r}, which this game does not teach; it has: {', '.join(known)}"
                )
        return tuple(known[name] for name in self.heads)


class Sample(NamedTuple):
    """A position and what to say about it, for the side to move."""

    state: States
    policy: Float16[Array, "M A"]
    policy_weight: Float16[Array, " M"]  # 0 where the search was a cheap one
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

    value: Float32[Array, " B"]  # the root value
    target: Float32[Array, " B"]
    short: Float32[Array, "B K"]
    policy: Float16[Array, "B A"]
    full: Bool[Array, " B"]
    there: Bool[Array, " B"]  # False beyond the newest ply
    known: Bool[Array, " B"]  # nothing that comes can change the labels
    settled: Bool[Array, " B"]  # a result or a proof stands behind the value
    ruled: Bool[Array, " B"]
    taught: dict[str, Float16[Array, "*lesson"]]  # for seat 0


def empty_window(plies: Trajectory, length: int) -> Window:
    """A window of this length without a ply in it, for plies shaped like these."""

    def blank(x: Any) -> Array:
        return jnp.zeros((length, *x.shape[1:]), x.dtype)

    return Window(jax.tree.map(blank, plies), jnp.zeros((length, plies.value.shape[1]), bool))


def make_samples(
    config: TargetsConfig, heads: tuple[Head, ...], window: Window, fresh: Trajectory
) -> tuple[Window, Sample, Bool[Array, " M"]]:
    """Moves the window on by the fresh plies; the samples that are ready, and which rows of them hold one.

    At most twice as many as there are fresh plies come at a time, the oldest first; the others wait.
    """
    steps, games = fresh.value.shape
    plies = jax.tree.map(lambda old, new: jnp.concatenate([old, new]), window.plies, fresh)
    waiting = jnp.concatenate([window.waiting, jnp.ones((steps, games), bool)])
    labels, known = _label(config, heads, plies)
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


def _label(config: TargetsConfig, heads: tuple[Head, ...], plies: Trajectory) -> tuple[Sample, Bool[Array, "W B"]]:
    """A sample for every ply, and whether its labels are final."""
    blank = jax.tree.map(lambda x: jnp.zeros(x.shape[1:], x.dtype), plies)
    no = jnp.zeros(blank.value.shape, bool)
    nothing = jnp.zeros((*no.shape, len(config.horizons)))
    last = _Later(blank.value, blank.value, nothing, blank.policy, no, no, no, no, no, blank.taught)

    def step(later: _Later, ply: Trajectory) -> tuple[_Later, tuple[Any, ...]]:
        now = _look_back(config, later, ply)
        # what the mover's opponent played next; after a random move it was no answer to a plan
        replied = later.there & later.full & (ply.discount == -1) & ~ply.stray
        reply = (later.policy, replied) if REPLY in config.heads else ()
        return now, (now.target, now.short, now.known, now.settled, reply, (now.taught, now.ruled))

    _, (target, short, known, settled, reply, (taught, ruled)) = jax.lax.scan(step, last, plies, reverse=True)
    sign = jnp.where(plies.state.to_play == 0, 1.0, -1.0).astype(jnp.float16)
    values: dict[str, Array] = {}
    weights: dict[str, Array] = {}
    for head in heads:
        if head.name == SHORT:
            values[SHORT], weights[SHORT] = short, jnp.ones(sign.shape)
        elif head.name == REPLY:
            values[REPLY], weights[REPLY] = reply
        else:
            lesson = taught[head.name]
            values[head.name] = lesson * sign.reshape(*sign.shape, *[1] * (lesson.ndim - 2))
            weights[head.name] = ruled
    sample = Sample(
        state=plies.state,
        policy=plies.policy,
        policy_weight=plies.full.astype(jnp.float16),
        value=target,
        value_weight=jnp.where(settled, 1.0, config.tail).astype(jnp.float16),
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
    cut = ply.stray | ~followed
    after = config.trust * later.target + (1.0 - config.trust) * later.value
    target = jnp.where(cut | ply.solved, ply.value, ply.reward + ply.discount * after)
    fade = jnp.asarray([[1.0 - 1.0 / plies for plies in config.horizons]], jnp.float32)
    follows = ply.reward[:, None] + ply.discount[:, None] * later.short
    short = jnp.where(cut[:, None], ply.value[:, None], (1.0 - fade) * ply.value[:, None] + fade * follows)

    def carry(lesson: Array, old: Array) -> Array:
        return jnp.where(end.reshape(-1, *[1] * (old.ndim - 1)), lesson, old)

    return _Later(
        value=ply.value,
        target=target,
        short=short,
        policy=ply.policy,
        full=ply.full,
        there=jnp.ones_like(end),
        known=end | later.known,
        settled=ply.solved | ((end | later.settled) & ~ply.stray),
        ruled=jnp.where(end, ply.ruled, later.ruled),
        taught=jax.tree.map(carry, ply.taught, later.taught),
    )


def _weight(config: TargetsConfig, plies: Trajectory) -> Float32[Array, "W B"]:
    """How often to draw each ply: those whose search found what the network did not expect come more often."""
    full = plies.full.astype(jnp.float32)
    mean = (plies.surprise * full).sum() / jnp.maximum(full.sum(), 1.0)
    relative = jnp.minimum(plies.surprise / jnp.maximum(mean, 1e-6), 10.0)
    return jnp.where(plies.full, 1.0 - config.surprise + config.surprise * relative, config.cheap)
