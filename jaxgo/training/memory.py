"""How much memory a run takes, told from its config before it begins."""

import math
from typing import NamedTuple

import jax

from jaxgo.core.errors import UsageError
from jaxgo.core.game import state_bytes
from jaxgo.system import devices
from jaxgo.training.trainer import Trainer

GIB = 2**30


class Needs(NamedTuple):
    """Bytes, all devices together."""

    samples: int  # the ring
    waiting: int  # plies that wait for the end of their game
    trees: int
    batches: int  # that come from the hosts, where the samples are kept there

    @property
    def at_once(self) -> int:
        """The most of it that is there at a time, samples apart: labels are made on a copy, when no tree is needed."""
        return self.waiting + max(self.waiting, self.trees) + self.batches


def needs(trainer: Trainer) -> Needs:
    """What a run takes at least; the network and what it computes come on top."""
    config, game = trainer.config, trainer.game
    state, actions = state_bytes(game), game.num_actions
    heads = {head.name: 2 * math.prod(head.shape(game)) for head in trainer.heads}
    sample = state + 2 * actions + 12 + sum(size + 2 for size in heads.values())
    ply = state + 2 * actions + 21 + sum(heads.get(lesson.name, 0) for lesson in game.lessons())
    batches = config.updates * config.learner.batch if trainer.home else 0
    return Needs(
        samples=config.replay.capacity * sample,
        waiting=config.selfplay.games * trainer.horizon * ply,
        trees=config.selfplay.games * (config.search.budget + 1) * (state + 8 * actions),
        batches=batches * sample,
    )


def check(trainer: Trainer) -> None:
    """A UsageError where there is less memory than a run takes."""
    needed = needs(trainer)
    apart = trainer.home not in (None, trainer.mesh)
    _compare(needed, "the device has", needed.at_once + (0 if apart else needed.samples), devices.memory(), not apart)
    if apart:
        _compare(needed, "the host has", needed.samples, devices.host_memory() * jax.process_count(), False)


def _compare(needed: Needs, what: str, wanted: int, there: int, movable: bool) -> None:
    if not there or wanted <= there:
        return
    parts = {"samples": needed.samples, "plies that wait": needed.waiting, "trees": needed.trees}
    shares = ", ".join(f"{name} {size / GIB:.1f}" for name, size in parts.items())
    advice = " or say replay.memory=host" if movable and jax.default_backend() != "cpu" else ""
    raise UsageError(
        f"this run needs at least {wanted / GIB:.1f} GiB for its samples and trees ({shares}), and {what} "
        f"{there / GIB:.1f}: lower replay.capacity, selfplay.games, selfplay.horizon or search.simulations{advice}"
    )
