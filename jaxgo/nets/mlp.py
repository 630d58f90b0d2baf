"""A residual net of dense layers: no board in it, and the most evaluations a second on a CPU."""

import dataclasses
import re
from typing import Any, ClassVar

import flax.linen as nn
from jaxtyping import Array

from jaxgo.core.errors import UsageError, check_settings
from jaxgo.core.game import Game
from jaxgo.nets.base import Head, Net, PolicyValueNet, last_layer
from jaxgo.nets.product import Precision, cast, check_precision, dense, suited

IN_PRECISION = re.compile(r"stem|(in|out)\d+")  # layers that compute in it


class MlpModule(PolicyValueNet):
    """Dense blocks before which features are normalised; heads are dense too."""

    width: int
    blocks: int
    precision: Precision = "float32"

    def on(self, platform: str) -> Any:
        return self.clone(precision=suited(self.precision, platform))

    def cast(self, params: Any) -> Any:
        """See the base; sums, norms and heads compute with all digits."""
        return cast(params, self.precision, IN_PRECISION)

    def trunk(self, planes: Array) -> Array:
        x = self._dense("stem")(planes.reshape(planes.shape[0], -1))
        for block in range(self.blocks):
            y = nn.LayerNorm(name=f"norm{block}")(x)
            y = nn.relu(self._dense(f"in{block}")(y))
            # starts as the identity
            x = x + self._dense(f"out{block}", nn.initializers.zeros_init())(y)
        return nn.relu(nn.LayerNorm(name="norm")(x))

    def _dense(self, name: str, init: Any = nn.initializers.lecun_normal()) -> nn.Dense:  # noqa: B008
        rounds = dense if self.precision == "bfloat16" else None
        return nn.Dense(self.width, kernel_init=init, dot_general=rounds, name=name)

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
    precision: Precision = "float32"  # of the factors of the trunk's products; everything else is float32

    kind: ClassVar[str] = "mlp"
    grows: ClassVar[tuple[str, ...]] = ("blocks",)

    def __post_init__(self) -> None:
        check_settings("Mlp: ", self)
        if self.width < 1 or self.blocks < 0:
            raise UsageError(f"an mlp needs a width of at least 1 and blocks of at least 0, not {self}")
        check_precision(self.precision)

    def module(self, game: Game[Any], heads: tuple[Head, ...] = ()) -> nn.Module:
        cells = game.shape[0] * game.shape[1]
        return MlpModule(game.num_actions, cells, heads, width=self.width, blocks=self.blocks, precision=self.precision)
