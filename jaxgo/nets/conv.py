"""The 3 x 3 convolution of the nets, which a processor does in ways of its own where XLA's is slow.

XLA for CPU convolves small batches at half speed, and the gradients of a convolution inside a loop ten times slower
than outside. As a matrix product neither happens: it reads every cell with its neighbours to the left and right, and
the results of the three rows of the kernel are added one row apart. Winograd's way has a third of the multiplications.
It is the fastest in float32 for some thousand cells, whose tiles stay near the core, on boards that its tiles fill.
benchmarks/nets.py measures them.
"""

import functools
from collections.abc import Callable, Sequence

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32

from jaxgo.nets.product import Precision, over_rows, product

MANY = 4_200  # cells of a batch from which on XLA's convolution uses all cores, and is faster than products
SIZE = 3

# Winograd's F(3 x 3, 3 x 3) with the points 0, 1, -1, 2 and infinity (Lavin and Gray, arXiv 1509.09308): a tile of
# 3 x 3 cells is made from the 5 x 5 around it by 25 products instead of 81. Along each axis, the inputs of a tile, the
# kernel and the products are weighed by these tables.
TILE, SPAN = 3, 5
INPUTS = ((2, -1, -2, 1, 0), (0, -2, -1, 1, 0), (0, 2, -3, 1, 0), (0, -1, 0, 1, 0), (0, 2, -1, -2, 1))
KERNEL = ((1 / 2, 0, 0), (-1 / 2, -1 / 2, -1 / 2), (-1 / 6, 1 / 6, -1 / 6), (1 / 6, 1 / 3, 2 / 3), (0, 0, 1))
OUTPUTS = ((1, 1, 1, 1, 0), (0, 1, -1, 2, 0), (0, 1, 1, 4, 1))
FEW = 200  # cells of a batch that products do as soon
NARROW = 16  # channels before or behind, below which the same is true


class Conv(nn.Module):
    """What `nn.Conv(channels, (3, 3), use_bias=False)` computes, with the same parameters."""

    channels: int
    precision: Precision  # on a processor of the factors alone, and of the result elsewhere
    kernel_init: Callable[..., Array]
    platform: str = ""  # cpu: by the fastest way; anything else: XLA's own

    @nn.compact
    def __call__(self, x: Float[Array, "B H W C"]) -> Float[Array, "B H W F"]:
        kernel = self.param("kernel", self.kernel_init, (SIZE, SIZE, x.shape[-1], self.channels))
        if self.platform == "cpu":
            return on_cpu(x, kernel, self.precision)
        return convolution(x.astype(self.precision), kernel.astype(self.precision))


def convolution(x: Float[Array, "B H W C"], kernel: Float[Array, "3 3 C F"]) -> Float[Array, "B H W F"]:
    """XLA's own."""
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def products(x: Float[Array, "B H W C"], kernel: Float[Array, "3 3 C F"]) -> Float32[Array, "B H W F"]:
    """The same as a matrix product."""
    batch, height, width, channels = x.shape
    by_row = kernel.transpose(1, 2, 0, 3).reshape(SIZE * channels, -1)
    rows = product(_beside(x), by_row).reshape(batch, height, width, SIZE, -1)
    return _lower(rows[..., 0, :]) + rows[..., 1, :] + _higher(rows[..., 2, :])


def _beside(x: Float[Array, "B H W C"]) -> Float[Array, "N 3*C"]:
    """Each cell between its neighbours to the left and right."""
    width = x.shape[2]
    wide = jnp.pad(x, ((0, 0), (0, 0), (1, 1), (0, 0)))
    return jnp.concatenate([wide[:, :, i : i + width] for i in range(SIZE)], axis=-1).reshape(-1, SIZE * x.shape[-1])


def _lower(x: Float[Array, "B H W C"]) -> Float[Array, "B H W C"]:
    """One row further down."""
    return jnp.pad(x[:, :-1], ((0, 0), (1, 0), (0, 0), (0, 0)))


def _higher(x: Float[Array, "B H W C"]) -> Float[Array, "B H W C"]:
    return jnp.pad(x[:, 1:], ((0, 0), (0, 1), (0, 0), (0, 0)))


@functools.partial(jax.jit, inline=True)  # traced once for layers of one shape
def winograd(x: Float[Array, "B H W C"], kernel: Float[Array, "3 3 C F"]) -> Float[Array, "B H W F"]:
    """The same with fewer products, for sides that are multiples of 3; the last of seven digits differs."""
    batch, height, width, channels = x.shape
    wide = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    # first the rows of all tiles are weighed, then their columns, which come to stand in front
    rows = jnp.stack(_weighed(INPUTS, [wide[:, i : i + height : TILE] for i in range(SPAN)]))
    seen = jnp.stack(_weighed(INPUTS, [rows[:, :, :, j : j + width : TILE] for j in range(SPAN)]))
    halves = jnp.stack(_weighed(KERNEL, kernel))
    kernels = jnp.stack(_weighed(KERNEL, halves.swapaxes(0, 1)))
    made = jnp.einsum(
        "nbc,ncf->nbf", seen.reshape(SPAN * SPAN, -1, channels), kernels.reshape(SPAN * SPAN, channels, -1)
    )
    columns = _weighed(OUTPUTS, made.reshape(SPAN, SPAN, batch, height // TILE, width // TILE, -1))
    cells = [jnp.stack(row, axis=3) for row in zip(*(_weighed(OUTPUTS, column) for column in columns), strict=True)]
    return jnp.stack(cells, axis=2).reshape(batch, height, width, -1)


def _weighed(table: Sequence[Sequence[float | int]], parts: Sequence[Array] | Array) -> list[Array]:
    """A sum of the parts for each row of weights."""

    def add(weights: Sequence[float | int]) -> Array:
        terms = [weight * part for weight, part in zip(weights, parts, strict=True) if weight]
        return sum(terms[1:], terms[0])

    return [add(weights) for weights in table]


def fastest(x: Array, kernel: Array) -> Callable[[Array, Array], Array]:
    """Which of the three a processor does soonest."""
    batch, height, width, channels = x.shape
    cells = batch * height * width
    if x.dtype == jnp.bfloat16:
        return products
    if cells >= MANY:
        return convolution
    fills = height % TILE == width % TILE == 0 and min(channels, kernel.shape[-1]) >= NARROW
    return winograd if fills and cells >= FEW else products


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def on_cpu(
    x: Float[Array, "B H W C"], kernel: Float[Array, "3 3 C F"], precision: Precision
) -> Float32[Array, "B H W F"]:
    """By the fastest way for this batch, from factors of this precision."""
    x, kernel = x.astype(precision), kernel.astype(precision)
    return fastest(x, kernel)(x, kernel)


def _forward(x: Array, kernel: Array, precision: Precision) -> tuple[Array, tuple[Array, Array]]:
    return on_cpu(x, kernel, precision), (x.astype(precision), kernel)


def _backward(precision: Precision, kept: tuple[Array, Array], slope: Array) -> tuple[Array, Array]:
    """The slope of a cell is a convolution, too, by the kernel turned round; that of the kernel is one product."""
    x, kernel = kept
    slope, turned = slope.astype(precision), kernel[::-1, ::-1].swapaxes(2, 3).astype(precision)
    backwards = fastest(slope, turned)
    # learning is a loop, where XLA's own is slow
    by_cell = (products if backwards is convolution else backwards)(slope, turned)
    rows = jnp.concatenate([_higher(slope), slope, _lower(slope)], axis=-1).reshape(-1, SIZE * slope.shape[-1])
    by_weight = over_rows(_beside(x), rows)
    return by_cell, by_weight.reshape(SIZE, x.shape[-1], SIZE, -1).transpose(2, 0, 1, 3)


on_cpu.defvjp(_forward, _backward)
