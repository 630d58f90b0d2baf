"""Matrix products whose factors are bfloat16 and whose sums are float32.

Processors that have instructions for them (Intel's AMX, AMD's and Intel's AVX-512 BF16) do them several times as fast
as those of float32. XLA has them for plain products alone: where it moves a transposition into one it computes in
float32 after all, or has no program for it. So whatever goes in and comes out is held apart from what XLA may move.
"""

import re
from collections.abc import Collection
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32

from jaxgo.core.errors import unknown_name
from jaxgo.system.devices import multiplies_bfloat16

Precision = Literal["float32", "bfloat16"]


def check_precision(name: str) -> None:
    if name not in get_args(Precision):
        raise unknown_name("precision", name, get_args(Precision))


def suited(precision: Precision, platform: str) -> Precision:
    """The precision that a net of this one has on a platform: a processor that gains nothing by less has it all."""
    return "float32" if platform == "cpu" and not multiplies_bfloat16() else precision


def cast(params: Any, precision: Precision, layers: re.Pattern[str], names: Collection[str] = ("kernel",)) -> Any:
    """The parameters with those of these names in this precision, in layers whose names match."""

    def one(path: Any, leaf: Array) -> Array:
        layer, name = path[-2].key, path[-1].key
        return leaf.astype(precision) if layers.fullmatch(layer) and name in names else leaf

    return jax.tree_util.tree_map_with_path(one, params)


def product(x: Float[Array, "M K"], kernel: Float[Array, "K F"]) -> Float32[Array, "M F"]:
    """Of two matrices, in the precision that they have."""
    return _halved(x, kernel, 0) if x.dtype == jnp.bfloat16 else x @ kernel


def _halved(x: Float[Array, "M K"], kernel: Float[Array, "..."], axis: int) -> Float32[Array, "M F"]:
    """Over this axis of the kernel."""
    x, kernel = jax.lax.optimization_barrier((x, kernel))
    sums = jax.lax.dot_general(x, kernel, (((1,), (axis,)), ((), ())), preferred_element_type=jnp.float32)
    return jax.lax.optimization_barrier(sums)


def over_rows(x: Float[Array, "N K"], y: Float[Array, "N F"]) -> Float32[Array, "K F"]:
    """The product of the transposed first one with the second, in the precision that they have."""
    if x.dtype != jnp.bfloat16:
        return x.T @ y
    # of a choice XLA keeps the transposition as a step of its own
    always = jax.lax.optimization_barrier(jnp.bool_(True))
    return _halved(jnp.where(always, x.T, jnp.bfloat16(0)), y, 0)


@jax.custom_vjp
def rounded(x: Float[Array, "M K"], kernel: Float[Array, "K F"]) -> Float32[Array, "M F"]:
    """The product of both, rounded to bfloat16."""
    return _forward(x, kernel)[0]


def _forward(x: Array, kernel: Array) -> tuple[Array, tuple[Array, Array]]:
    seen, weights = x.astype(jnp.bfloat16), kernel.astype(jnp.bfloat16)
    return _halved(seen, weights, 0), (seen, weights)


def _backward(kept: tuple[Array, Array], slope: Array) -> tuple[Array, Array]:
    seen, weights = kept
    slope = slope.astype(jnp.bfloat16)
    return _halved(slope, weights, 1), over_rows(seen, slope)


rounded.defvjp(_forward, _backward)


def dense(x: Array, kernel: Array, axes: Any, precision: Any = None, preferred_element_type: Any = None) -> Array:
    """`rounded` in the place of `jax.lax.dot_general` in a dense layer."""
    return rounded(x.reshape(-1, x.shape[-1]), kernel).reshape(*x.shape[:-1], kernel.shape[-1])
