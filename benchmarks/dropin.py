"""Is jaxgo.search.mctx mctx's equal, and how much faster is it? Both in one run, one JSON line an answer.

uv run benchmarks/dropin.py                  # everything
uv run benchmarks/dropin.py --only speed     # or equality
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import harness
import jax
import jax.numpy as jnp
import mctx
import numpy as np
from toy import numbers_of

from jaxgo.search import mctx as dropin

POLICIES = ("gumbel_muzero_policy", "muzero_policy")
SHAPES = ((64, 362, 128), (64, 82, 32))  # games, actions, simulations
BARS = {"gumbel_muzero_policy": {128: 8.0, 32: 3.0}, "muzero_policy": {128: 30.0, 32: 10.0}}
ACTIONS = (5, 9, 20, 82)
PART = 256  # roots at once


@dataclass(frozen=True)
class DropIn:
    """Compare the drop-in with mctx."""

    only: str = ""
    """equality or speed. Empty: both."""
    roots: int = 4096
    """Roots for each model."""
    repetitions: int = 5
    """Repetitions of each program, in turns; the median counts."""
    seconds: float = 1.0
    """How long each repetition lasts at least."""


def root_of(library: Any, games: int, actions: int, seed: int = 0) -> Any:
    embedding = jax.random.bits(jax.random.key(seed), (games,), jnp.uint32)
    numbers = numbers_of(embedding, actions + 1)
    return library.RootFnOutput(prior_logits=numbers[:, 1:] * 3, value=numbers[:, 0] * 2 - 1, embedding=embedding)


def model_of(library: Any, actions: int, kind: str, params: Any, key: Any, action: Any, embedding: Any) -> Any:
    """A random model: `paid` has rewards and discounts of all kinds, 0 among them; `board` is a game of two."""
    after = (embedding ^ (action.astype(jnp.uint32) + 1) * jnp.uint32(0x9E3779B9)) * jnp.uint32(747796405)
    after = after ^ (after >> 16)
    numbers = numbers_of(after, actions + 3)
    reward, discount = 0 * numbers[:, 1], -jnp.ones_like(numbers[:, 1])
    if kind == "paid":
        kinds = jnp.array([0.0, 0.97, 0.97, 0.97, 1.0, -1.0, -0.9, 0.5])
        reward, discount = numbers[:, 1] * 2 - 1, kinds[(numbers[:, 2] * len(kinds)).astype(jnp.int32)]
    said = library.RecurrentFnOutput(
        reward=reward, discount=discount, prior_logits=numbers[:, 3:] * 3, value=numbers[:, 0] * 2 - 1
    )
    return said, after


def program(library: Any, policy: str, kind: str, actions: int, simulations: int, whole: bool) -> Any:
    """The policy on that model: of a key and the roots."""
    model = functools.partial(model_of, library, actions, kind)

    @jax.jit
    def run(key: Any, root: Any) -> Any:
        output = getattr(library, policy)((), key, root, model, simulations)
        summary = output.search_tree.summary()
        return (output.action, output.action_weights, summary.visit_counts) if whole else output.action

    return run


def ask_equality(options: DropIn) -> None:
    """In parts, because mctx copies all of its trees with every simulation."""
    for policy in POLICIES:
        for actions in ACTIONS:
            programs = [(library, program(library, policy, "paid", actions, 32, True)) for library in (dropin, mctx)]
            same, near = [], []
            for part in range(max(1, options.roots // PART)):
                ours, theirs = (
                    jax.device_get(run(jax.random.key(1000 + part), root_of(library, PART, actions, part)))
                    for library, run in programs
                )
                visits = (ours[2] == theirs[2]).all(axis=-1)
                same.append([visits, visits & (ours[0] == theirs[0])])
                near.append(np.abs(ours[1] - theirs[1]).max(axis=-1) < 1e-4)
            visits, both = np.concatenate(same, axis=1)
            close = np.concatenate(near)
            harness.report(
                f"dropin/equality/{policy}/{actions}",
                roots=len(close),
                same_visits_and_action=float(both.mean()),
                weights_near=float(close.mean()),
                weights_near_where_visits_are_the_same=float(close[visits].mean()),
                bar=0.998,
            )


def ask_speed(options: DropIn) -> None:
    for policy in POLICIES:
        for games, actions, simulations in SHAPES:
            for kind in ("board", "paid"):
                programs = {}
                for name, library in (("ours", dropin), ("mctx", mctx)):
                    run = program(library, policy, kind, actions, simulations, False)
                    programs[name] = functools.partial(run, jax.random.key(1), root_of(library, games, actions))
                    jax.block_until_ready(programs[name]())  # compiled, so that no repetition pays for it
                work = float(games * simulations)
                counted = {name: (work, run) for name, run in programs.items()}
                rates = harness.compared(counted, options.seconds, options.repetitions)
                harness.report(
                    f"dropin/speed/{policy}/{kind}/{games}x{actions}x{simulations}",
                    jaxgo_simulations_s=rates["ours"],
                    mctx_simulations_s=rates["mctx"],
                    ratio=rates["ours"] / rates["mctx"],
                    bar=BARS[policy][simulations],
                )


QUESTIONS: dict[str, Callable[[DropIn], None]] = {"equality": ask_equality, "speed": ask_speed}


if __name__ == "__main__":
    harness.ask(DropIn, QUESTIONS)
