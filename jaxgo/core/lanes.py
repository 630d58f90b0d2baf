"""Arrays of many lanes side by side: one lane chosen or another, and columns that begin with something.

A lane is one game of a batch, or one node of one game's tree: it is whatever the first axes count.
"""

from typing import TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int32, Shaped

from jaxgo.core.errors import UsageError

T = TypeVar("T")  # a tree of arrays


def check_spread(x: Shaped[Array, "*lanes"], what: str) -> None:
    """A UsageError where lanes are spread over an explicit axis of devices: there every operation of a program would
    have to say how its result is spread, and those of searches do not."""
    if any(axes is not None for axes in jax.typeof(x).sharding.spec):
        raise UsageError(
            f"{what} are spread over devices by a mesh of explicit axes, as jax.make_mesh makes them; make it of "
            "automatic ones, jax.make_mesh((2,), ('data',), (jax.sharding.AxisType.Auto,)), or search inside of "
            "jax.shard_map(..., check_vma=False)"
        )


def over_axes(x: Shaped[Array, "*lanes"], axes: int) -> Array:
    """An array of one number a lane, shaped to meet arrays of so many axes."""
    return x.reshape(*x.shape, *[1] * (axes - x.ndim))


def where_lanes(where: Bool[Array, "*lanes"], new: T, old: T) -> T:
    """Two alike trees of arrays made one: the lanes of `new` where it says so, and those of `old` elsewhere."""
    return jax.tree.map(lambda a, b: jnp.where(over_axes(where, a.ndim), a, b), new, old)


def first_where(where: Bool[Array, " lanes"], count: int) -> Int32[Array, " count"]:
    """The first so many lanes where it says so, in their order; the places behind the last hold 0.

    A sort takes a processor eight times as long and more.
    """
    lane = jnp.arange(where.shape[0], dtype=jnp.int32)
    place = jnp.where(where, jnp.cumsum(where, dtype=jnp.int32) - 1, count)
    return jnp.zeros(count, jnp.int32).at[place].set(lane, mode="drop")


def alone(one: T) -> T:
    """One lane as a batch of one."""
    return jax.tree.map(lambda x: jnp.asarray(x)[None], one)


def column_of(first: Shaped[Array, "lanes ..."], places: int) -> Shaped[Array, "lanes places ..."]:
    """So many places for each lane, the first of which holds this and the others 0."""
    return jnp.zeros((first.shape[0], places, *first.shape[1:]), first.dtype).at[:, 0].set(first)
