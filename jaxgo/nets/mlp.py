"""A residual net of dense layers: no board in it, and the most evaluations a second on a CPU."""

import dataclasses
from typing import Any, ClassVar

import flax.linen as nn
from jaxtyping import Array

from jaxgo.core.errors import UsageError, check_settings
from jaxgo.core.game import Game
from jaxgo.nets.base import Head, Net, PolicyValueNet, last_layer


class MlpModule(PolicyValueNet):
    """Dense blocks before which features are normalised; heads are dense too."""

    width: int
    blocks: int

    def trunk(self, planes: Array) -> Array:
        x = nn.Dense(self.width, name="stem")(planes.reshape(planes.shape[0], -1))
        for block in range(self.blocks):
            y = nn.LayerNorm(name=f"norm{block}")(x)
            y = nn.relu(nn.Dense(self.width, name=f"in{block}")(y))
            # starts as the identity
            x = x + nn.Dense(self.width, kernel_init=nn.initializers.zeros_init(), name=f"out{block}")(y)
        return nn.relu(nn.LayerNorm(name="norm")(x))

    def policy(self, features: Array, name: str) -> Array:
        return last_layer(self.actions, name)(features)

    def values(self, features: Array, name: str, size: int) -> Array:
        return last_layer(size, name)(features)

    def board(self, features: Array, name: str) -> Array:
        return last_layer(self.cells, name)(features)


@dataclasses.dataclass(frozen=True)
class Mlp(Net):
    """Dense layers on the whole board."""

    width: int = 128  # features of a layer
    blocks: int = 2  # residual, of two dense layers each

    kind: ClassVar[str] = "mlp"
    grows: ClassVar[tuple[str, ...]] = ("blocks",)

    def __post_init__(self) -> None:
        check_settings("Mlp: ", self)
        if self.width < 1 or self.blocks < 0:
            raise UsageError(f"an mlp needs a width of at least 1 and blocks of at least 0, not {self}")

    def module(self, game: Game[Any], heads: tuple[Head, ...] = ()) -> nn.Module:
        cells = game.shape[0] * game.shape[1]
        return MlpModule(game.num_actions, cells, heads, width=self.width, blocks=self.blocks)
