"""Moves that leave no choice, as a game's threats name them: a win at once, and what stops the other seat's."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from jaxgo.core.game import Game, Threats


def knows_threats(game: Game[Any]) -> bool:
    """Whether a game names its threats at all."""
    return type(game).threats is not Game.threats


def must(threats: Threats, legal: Bool[Array, "B A"]) -> Bool[Array, " B"]:
    """Whether the mover has no free choice: he wins at once, or the other seat would."""
    return (threats.win[:, 0] & legal).any(axis=-1) | threats.win[:, 1].any(axis=-1)


def among(threats: Threats, legal: Bool[Array, "B A"], stops: Bool[Array, "B A"] | None = None) -> Bool[Array, "B A"]:
    """The legal moves that count: a win; else what may stop the other seat's; else all. Any other loses at once.

    With `stops`, of `Game.stops`, moves that leave the other seat a double do not count either, unless they force.
    """
    wins, blocks = threats.win[:, 0] & legal, threats.block & legal
    in_danger = blocks.any(axis=-1)
    free = legal
    if stops is not None:
        answers = answers_to_double(threats, legal, stops)
        doubled = threats.double[:, 1].any(axis=-1) & answers.any(axis=-1)
        free = jnp.where(doubled[:, None], answers, legal)
    rest = jnp.where(in_danger[:, None], blocks, free)
    return jnp.where(wins.any(axis=-1)[:, None], wins, rest)


def answers_to_double(threats: Threats, legal: Bool[Array, "B A"], stops: Bool[Array, "B A"]) -> Bool[Array, "B A"]:
    """Where the other seat would leave two wins at its next move: what may stop that, and every threat of one's own."""
    return (stops | threats.force[:, 0]) & legal


def narrowed(game: Game[Any], states: Any, legal: Bool[Array, "B A"], doubles: bool = False) -> Bool[Array, "B A"]:
    """The same for positions, of a game that knows threats; with `doubles` those are stopped, too."""
    stops = jax.vmap(game.stops)(states, legal) if doubles else None
    return among(jax.vmap(game.threats)(states), legal, stops)
