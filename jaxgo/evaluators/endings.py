"""What a game comes to besides its result: whose its points are, by how much it is won; the mean of random playouts.

What there is to know is the game's own: its `aux_targets`, which networks learn from finished games.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32

from jaxgo.core.game import Game
from jaxgo.evaluators.base import States
from jaxgo.evaluators.rollout import Rollout

OWNERSHIP, SCORE = "ownership", "score"  # of games that have them
AREAS = 3  # plies of a playout for each cell of the board


@functools.partial(jax.jit, static_argnums=(0, 2))
def played_out(game: Game[Any], states: States, count: int) -> dict[str, tuple[Array, Array]]:
    """Of each auxiliary target: the mean and the standard deviation over `count` playouts, with the batch first. One
    program for each game, with the same luck every time."""
    games = states.ply.shape[0]
    depth = min(game.max_plies, AREAS * game.shape[0] * game.shape[1])
    lanes = jax.tree.map(lambda x: jnp.repeat(x, count, axis=0), states)
    ends = Rollout(depth=depth).ends(game, (), jax.random.key(0), lanes).states
    found: dict[str, Float32[Array, " ..."]] = jax.vmap(game.aux_values)(ends)
    grouped = {name: x.reshape(games, count, *x.shape[1:]) for name, x in found.items()}
    return {name: (x.mean(axis=1), x.std(axis=1)) for name, x in grouped.items()}


def knows(game: Game[Any], name: str) -> bool:
    """Whether finished games of this kind teach such a thing."""
    return any(target.name == name for target in game.aux_targets())
