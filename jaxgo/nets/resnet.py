"""A pre-activation residual net with global pooling, whose weights do not know the size of the board.

Every `pool_every`-th block adds to its cells what their mean and maximum over the board say, as KataGo's nets do, so
that far parts of the board know of each other. Where actions are cells the policy is read cell by cell, and one set of
weights plays every size of the game; elsewhere the policy is a dense layer.
"""

import dataclasses
import re
from typing import Any, ClassVar, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxgo.core.errors import UsageError, check_settings
from jaxgo.core.game import Game
from jaxgo.nets.base import Head, Net, PolicyValueNet, cell_actions, last_layer
from jaxgo.nets.conv import Conv
from jaxgo.nets.product import Precision, cast, check_precision, dense, suited

IN_PRECISION = re.compile(r"stem|(in|out|pool)\d+|few|pooled|\w+_(pooled|cells)")  # layers that compute in it


class Features(NamedTuple):
    board: Float[Array, "B H W C"]
    pooled: Float[Array, "B P"]  # what the heads know of it as a whole


@jax.custom_vjp
def highest(x: Float[Array, "B H W C"]) -> Float[Array, "B C"]:
    """The maximum of every channel over the board, whose slope is finite whatever a compiler does.

    JAX divides a slope by how many cells have the maximum. XLA may compute the cells anew where it looks for them, and
    round otherwise: then no cell has it, and the slope of all weights is NaN.
    """
    return x.max(axis=(1, 2))


def _highest(x: Array) -> tuple[Array, tuple[Array, Array]]:
    top = highest(x)
    return top, (x, top)


def _slope(kept: tuple[Array, Array], slope: Array) -> tuple[Array]:
    x, top = kept
    here = (x == top[:, None, None, :]).astype(x.dtype)
    return (here * (slope / jnp.maximum(here.sum(axis=(1, 2)), 1))[:, None, None, :],)


highest.defvjp(_highest, _slope)


def pool(x: Float[Array, "B H W C"]) -> Float[Array, "B P"]:
    """Mean and maximum of every channel over the board."""
    return jnp.concatenate([x.mean(axis=(1, 2)), highest(x)], axis=-1)


class ResNetModule(PolicyValueNet):
    """See the module."""

    channels: int
    blocks: int
    pool_every: int
    precision: Precision
    by_cell: bool  # actions are cells
    platform: str = ""

    def on(self, platform: str) -> Any:
        return self.clone(platform=platform, precision=suited(self.precision, platform))

    @property
    def between(self) -> Precision:
        """What layers hand on; a processor is quicker with bfloat16 in products alone."""
        return "float32" if self.platform == "cpu" else self.precision

    def cast(self, params: Any) -> Any:
        """See the base; norms and last layers compute with all digits."""
        names = ("kernel",) if self.between != self.precision else ("kernel", "bias")
        return cast(params, self.precision, IN_PRECISION, names)

    def trunk(self, planes: Array) -> Features:
        x = self._conv("stem")(planes)
        for block in range(self.blocks):
            y = self._conv(f"in{block}")(self._active(x, f"norm_in{block}"))
            if self.pool_every and block % self.pool_every == self.pool_every - 1:
                aware = self._dense(self.channels, f"pool{block}")
                y = y + aware(pool(nn.relu(y)))[:, None, None]
            y = self._active(y, f"norm_out{block}")
            # starts as the identity
            x = x + self._conv(f"out{block}", nn.initializers.zeros_init())(y)
        x = self._active(x, "norm")
        seen, size = pool(x), self.channels
        if not self.by_cell:
            few = nn.relu(self._dense(max(2, self.channels // 4), "few")(x))
            seen, size = jnp.concatenate([few.reshape(few.shape[0], -1), seen], axis=-1), 4 * self.channels
        return Features(x, nn.relu(self._dense(size, "pooled")(seen)))

    def _active(self, x: Array, name: str) -> Array:
        return nn.relu(nn.LayerNorm(dtype=self.between, name=name)(x))

    def _dense(self, size: int, name: str) -> nn.Dense:
        rounds = dense if self.between != self.precision else None
        return nn.Dense(size, dtype=self.between, dot_general=rounds, name=name)

    def _conv(self, name: str, init: Any = nn.initializers.he_normal()) -> Conv:  # noqa: B008
        return Conv(self.channels, self.precision, init, self.platform, name=name)

    def policy(self, features: Features, name: str) -> Array:
        if not self.by_cell:
            return self.values(features, name, self.actions)
        cells = self.board(features, name)
        rest = self.actions - self.cells
        if not rest:
            return cells
        return jnp.concatenate([cells, self.values(features, f"{name}_pass", rest)], axis=-1)

    def values(self, features: Features, name: str, size: int) -> Array:
        return last_layer(size, name)(features.pooled.astype(jnp.float32))

    def board(self, features: Features, name: str) -> Array:
        aware = self._dense(self.channels, f"{name}_pooled")(features.pooled)
        x = nn.relu(self._dense(self.channels, f"{name}_cells")(features.board) + aware[:, None, None])
        return last_layer(1, name)(x.astype(jnp.float32)).reshape(x.shape[0], -1)


@dataclasses.dataclass(frozen=True)
class ResNet(Net):
    """Residual blocks of 3 x 3 convolutions."""

    channels: int = 32  # features of a cell
    blocks: int = 2  # residual, of two convolutions each
    pool_every: int = 2  # every so many blocks hear from the whole board; 0: only the heads do
    precision: Precision = "float32"  # of the trunk, on a processor of its products; heads compute in float32

    kind: ClassVar[str] = "resnet"
    grows: ClassVar[tuple[str, ...]] = ("blocks",)

    def __post_init__(self) -> None:
        check_settings("ResNet: ", self)
        if self.channels < 1 or self.blocks < 0 or self.pool_every < 0:
            raise UsageError(f"a resnet needs at least 1 channel, and blocks and pool_every of at least 0, not {self}")
        check_precision(self.precision)

    def module(self, game: Game[Any], heads: tuple[Head, ...] = ()) -> nn.Module:
        cells = game.shape[0] * game.shape[1]
        return ResNetModule(
            game.num_actions,
            cells,
            heads,
            channels=self.channels,
            blocks=self.blocks,
            pool_every=self.pool_every,
            precision=self.precision,
            by_cell=cell_actions(game),
        )
