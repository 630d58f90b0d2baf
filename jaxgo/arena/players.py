"""Agents as they sit down to be judged: without the noise of training, and with a hash of what they learned."""

import dataclasses
import hashlib
from typing import Any

import jax
import numpy as np

from jaxgo.agents import Agent, load_agent
from jaxgo.core.game import Game

NOISE = ("noise", "scale")  # fields of searches that explore for the sake of learning; 0 is none


def without_noise(agent: Agent, keep: tuple[str, ...] = ()) -> Agent:
    """The agent at full strength: no Dirichlet noise, no Gumbel noise, but for the fields in `keep`."""
    fields = {field.name for field in dataclasses.fields(agent.search)}  # type: ignore[arg-type]
    quiet = {name: 0.0 for name in NOISE if name in fields and name not in keep}
    return agent._replace(search=dataclasses.replace(agent.search, **quiet))  # type: ignore[type-var]


def load_player(spec: str, game: Game[Any]) -> Agent:
    """The agent of a spec, without noise; a spec that names the noise itself, as in `gumbel:32,scale=1`, keeps it."""
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
