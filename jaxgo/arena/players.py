"""Agents as they sit down to be judged: without the noise of training, and with a hash of what they learned."""

import dataclasses
import hashlib
from typing import Any

import jax
import numpy as np

from jaxgo.agents import Agent, load_agent
from jaxgo.core.game import Game


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
