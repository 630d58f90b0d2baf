"""A trial of a game of somebody's own, before anything dear is made of it: a few random games, which must end in time
and have a move until they do. Whoever breaks this would see searches play illegal moves, or games that never end.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int32

from jaxgo.core import keys, play
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.play import Position

GAMES = 32


def is_own(game: Game[Any]) -> bool:
    """Whether a game is of somebody's own, and so no test of jaxgo has seen its rules."""
    return type(game).__module__.partition(".")[0] != "jaxgo"


def check(game: Game[Any]) -> None:
    """A UsageError where random games of somebody's own outlast `max_plies`, or go on without a legal action."""
    if not is_own(game):
        return
    stuck, live, plies = _played(game)
    if stuck:
        raise UsageError(
            f"{game} has a position that goes on and has no legal action, after {plies} random moves; let `over` say "
            "that the game ends there, or `legal` give a move, such as a pass"
        )
    if live:
        raise UsageError(
            f"{game} goes on after {plies} random moves, as many as its max_plies; raise max_plies, or let `over` end "
            "the game there"
        )


@functools.lru_cache(maxsize=256)
def _played(game: Game[Any]) -> tuple[bool, bool, int]:
    stuck, live, plies = jax.device_get(_play(game, jax.random.key(0)))
    return bool(stuck), bool(live), int(plies)


@functools.partial(jax.jit, static_argnums=0)
def _play(game: Game[Any], key: Array) -> tuple[Bool[Array, ""], Bool[Array, ""], Int32[Array, ""]]:
    """Whether one of some random games came to a position without a move, whether one goes on, and after how many."""

    def facts(position: Position) -> tuple[Bool[Array, "B A"], Bool[Array, " B"]]:
        live = ~jax.vmap(functools.partial(play.over, game))(position)
        return jax.vmap(functools.partial(play.legal, game))(position), live

    def is_on(carry: _Carry) -> Bool[Array, ""]:
        return carry.live.any() & ~carry.stuck & (carry.plies < game.max_plies)

    def move(carry: _Carry) -> _Carry:
        action = keys.categorical(jax.random.fold_in(draws, carry.plies), jnp.where(carry.legal, 0.0, -jnp.inf))
        after = jax.vmap(functools.partial(play.play, game))(carry.position, action)[0]
        return _Carry(after, *facts(after), carry.plies + 1)

    begins, draws = jax.random.split(key)
    start = jax.vmap(functools.partial(play.start, game))(jax.random.split(begins, GAMES))
    last = jax.lax.while_loop(is_on, move, _Carry(start, *facts(start), jnp.int32(0)))
    return last.stuck, last.live.any(), last.plies


class _Carry(NamedTuple):
    position: Position
    legal: Bool[Array, "B A"]
    live: Bool[Array, " B"]
    plies: Int32[Array, ""]

    @property
    def stuck(self) -> Bool[Array, ""]:
        return (self.live & ~self.legal.any(axis=-1)).any()
