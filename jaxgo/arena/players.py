"""Agents as they sit down to be judged: without the noise of training, with a hash of what they learned.

And whether they may play the same opening again: two that draw no luck would play the same game.
"""

import dataclasses
import hashlib
from typing import Any

import jax
import numpy as np

from jaxgo.agents import Agent, load_agent
from jaxgo.core.game import Game
from jaxgo.evaluators.rollout import Rollout
from jaxgo.search.random import Random

NOISE = ("noise", "gumbel_scale")  # fields of searches that draw luck at the root, unless they are 0


def without_noise(agent: Agent, keep: tuple[str, ...] = ()) -> Agent:
    """The agent at full strength, its search quiet but for the fields in `keep`."""
    search: Any = agent.search
    kept = {name: getattr(search, name) for name in keep if name in {f.name for f in dataclasses.fields(search)}}
    return agent._replace(search=dataclasses.replace(search.quiet(), **kept))


def load_player(spec: str, game: Game[Any]) -> Agent:
    """The agent of a spec, quiet; a spec that names the noise itself, as in `gumbel:32,gumbel_scale=1`, keeps it."""
    plain = spec.strip().partition("@")[0]
    named = tuple(text.partition("=")[0].strip() for text in plain.split(",")[1:])
    return without_noise(load_agent(spec.strip(), game), keep=named)


def draws_luck(agent: Agent) -> bool:
    """Whether the agent draws luck at every move, so that no two of its games need be the same.

    Playouts and noise do, and random play. Nothing else is trusted to: ties may be drawn, but there may be none.
    """
    fields: dict[str, Any] = dict(vars(agent.search))
    noisy = isinstance(agent.search, Random) or any(fields.get(name, 0.0) for name in NOISE)
    return noisy or (agent.search.budget > 0 and _plays_out(agent.model.evaluator))


def _plays_out(judge: Any) -> bool:
    """Whether an evaluator, or one inside it, plays games out by chance."""
    parts = vars(judge).values() if dataclasses.is_dataclass(judge) else ()
    return isinstance(judge, Rollout) or any(_plays_out(part) for part in parts)


def checkpoint(agent: Agent) -> str:
    """A hash of the agent's parameters; "" if it has none."""
    leaves = jax.tree.leaves(agent.params)
    if not leaves:
        return ""
    digest = hashlib.sha256()
    for leaf in leaves:
        array = np.asarray(leaf)
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
