"""Keys of randomness for a batch of games: one key for all of them, or one for each.

With a key for each, a game's luck does not hang on which games are beside it in the batch, nor on where it stands: that
is what makes a result of the arena the same on any number of slots and devices. One key for all is cheaper.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32, Int32

from jaxgo.core.errors import UsageError, brief


def check(key: Any) -> None:
    """A UsageError for what is no key of `jax.random`, such as a seed."""
    kind = getattr(key, "dtype", None)
    typed = kind is not None and jnp.issubdtype(kind, jax.dtypes.prng_key)
    if not ((typed and key.ndim < 2) or (kind == jnp.uint32 and key.ndim == 1)):
        raise UsageError(
            f"{brief(key)} is no key of randomness; write jax.random.key(seed), or split that for a key for each game"
        )


def check_one(key: Any, name: str = "the key") -> None:
    """A UsageError for what is no key, and for a key for each game where one for all is split."""
    check(key)
    if each_its_own(key):
        raise UsageError(f"{name} is one key for all games, such as jax.random.key(seed), and not one for each")


def check_games(key: Any, games: int) -> None:
    """A UsageError for what is no key, and for keys that are not one for each of so many games."""
    check(key)
    if each_its_own(key) and key.shape[0] != games:
        raise UsageError(f"{key.shape[0]} keys are given for {games} games; give one for all, or one for each")


def each_its_own(key: Array) -> bool:
    """Whether there is a key for each game."""
    return bool(jnp.issubdtype(key.dtype, jax.dtypes.prng_key)) and key.ndim == 1


def split(key: Array, count: int = 2) -> Sequence[Array]:
    """So many new keys, or new rows of keys."""
    check(key)
    if not each_its_own(key):
        return list(jax.random.split(key, count))
    rows = jax.vmap(lambda k: jax.random.split(k, count), out_axes=1)(key)
    return [rows[i] for i in range(count)]


def of_step(key: Array, calls: Int32[Array, ""], done: Int32[Array, " B"]) -> Array:
    """The key of a step of a loop: by the calls of the whole batch, or by what each game has done."""
    if not each_its_own(key):
        return jax.random.fold_in(key, calls)
    return jax.vmap(jax.random.fold_in)(key, done)


def sample(draw: Callable[..., Any], key: Array, shape: tuple[int, ...], *more: Any) -> Any:
    """`draw(key, shape, *more)`; the first axis has the same number of lanes for each game, side by side."""
    if not each_its_own(key):
        return draw(key, shape, *more)
    _check_count(key, shape[0])
    own = (shape[0] // key.shape[0], *shape[1:])
    return jax.vmap(lambda k: draw(k, own, *more))(key).reshape(shape)


def categorical(key: Array, logits: Float32[Array, "B A"]) -> Int32[Array, " B"]:
    """An action for each game, drawn by its logits."""
    if not each_its_own(key):
        return jax.random.categorical(key, logits, axis=-1).astype(jnp.int32)
    _check_count(key, logits.shape[0])
    return jax.vmap(jax.random.categorical)(key, logits).astype(jnp.int32)


def any_one(key: Array) -> Array:
    """One key, for whoever cannot do with more."""
    return key[0] if each_its_own(key) else key


def _check_count(key: Array, lanes: int) -> None:
    """A UsageError where so many lanes are not the same number for each key."""
    if lanes % key.shape[0]:
        raise UsageError(f"{key.shape[0]} keys are not one for each of {lanes}; write jax.random.split(key, {lanes})")
