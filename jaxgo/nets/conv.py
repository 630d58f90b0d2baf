"""The 3 x 3 convolution of the nets, which a processor does as matrix products where XLA's own convolution is slow.

XLA for CPU convolves small batches at half speed, and the gradients of a convolution inside a loop ten times slower
than outside. As products neither happens: one for each row of the kernel reads every cell with its neighbours to the
left and right, and the results are added one row apart. benchmarks/nets.py measures both.
"""

from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

MANY = 4_200  # cells of a batch from which on XLA's convolution uses all cores, and is the faster one
SIZE = 3


class Conv(nn.Module):
    """What `nn.Conv(channels, (3, 3), use_bias=False)` computes, with the same parameters."""

    channels: int
    dtype: Any
    kernel_init: Callable[..., Array]
    platform: str = ""  # cpu: by the faster of two ways; anything else: XLA's own

    @nn.compact
    def __call__(self, x: Float[Array, "B H W C"]) -> Float[Array, "B H W F"]:
        kernel = self.param("kernel", self.kernel_init, (SIZE, SIZE, x.shape[-1], self.channels))
        convolve = on_cpu if self.platform == "cpu" else convolution
        return convolve(x.astype(self.dtype), kernel.astype(self.dtype))


def convolution(x: Float[Array, "B H W C"], kernel: Float[Array, "3 3 C F"]) -> Float[Array, "B H W F"]:
    """XLA's own."""
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def products(x: Float[Array, "B H W C"], kernel: Float[Array, "3 3 C F"]) -> Float[Array, "B H W F"]:
    """The same as a matrix product for each row of the kernel."""
    batch, height, width, channels = x.shape
    wide = jnp.pad(x, ((0, 0), (0, 0), (1, 1), (0, 0)))
    beside = jnp.concatenate([wide[:, :, i : i + width] for i in range(SIZE)], axis=-1).reshape(-1, SIZE * channels)
    upper, middle, lower = (
        (beside @ row.reshape(SIZE * channels, -1)).reshape(batch, height, width, -1) for row in kernel
    )
    upper = jnp.pad(upper[:, :-1], ((0, 0), (1, 0), (0, 0), (0, 0)))
    lower = jnp.pad(lower[:, 1:], ((0, 0), (0, 1), (0, 0), (0, 0)))
    return upper + middle + lower


@jax.custom_vjp
def on_cpu(x: Float[Array, "B H W C"], kernel: Float[Array, "3 3 C F"]) -> Float[Array, "B H W F"]:
    """The faster of the two for this batch; gradients always as products."""
    cells = x.shape[0] * x.shape[1] * x.shape[2]
    return (convolution if cells >= MANY else products)(x, kernel)


def _forward(x: Array, kernel: Array) -> tuple[Array, tuple[Array, Array]]:
    return on_cpu(x, kernel), (x, kernel)


def _backward(seen: tuple[Array, Array], gradient: Array) -> tuple[Array, Array]:
    x, kernel = jax.vjp(products, *seen)[1](gradient)
    return x, kernel


on_cpu.defvjp(_forward, _backward)
