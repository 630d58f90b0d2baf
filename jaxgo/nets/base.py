"""The interface of a network: a frozen dataclass of numbers that builds a Flax module for a game.

A module maps planes `[B, H, W, C]` to logits `[B, A]` and the value for the side to move `[B]`; that is all a search
asks for. Further heads are built by name and cost nothing until they are asked for with `method="learn"`: by the
learner, and by who wants to know what a network foresees of the end of a game.
"""

import abc
import dataclasses
from typing import Any, ClassVar, Literal, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32

from jaxgo.core.game import Game

HeadKind = Literal["policy", "values", "cells", "number"]


@dataclasses.dataclass(frozen=True)
class Head:
    """A further output: `policy` A logits, `values` so many logits of values, `cells` a logit a cell, `number` one."""

    name: str
    kind: HeadKind
    size: int = 1  # of `values`

    def shape(self, game: Game[Any]) -> tuple[int, ...]:
        """The shape of its output for one position."""
        sizes = {"policy": (game.num_actions,), "values": (self.size,), "cells": (game.shape[0] * game.shape[1],)}
        return sizes.get(self.kind, ())


class Outputs(NamedTuple):
    """All that a network says, in float32. A logit of a value is `2 artanh` of it."""

    logits: Float32[Array, "B A"]
    value: Float32[Array, " B"]  # a logit
    heads: dict[str, Float32[Array, "*head"]]


def squash(logit: Float[Array, "*b"]) -> Float[Array, "*b"]:
    """The value in [-1, 1] that a logit stands for."""
    return jnp.tanh(logit / 2)


def cell_actions(game: Game[Any]) -> bool:
    """Whether the first H*W actions are the cells, and at most one more (a pass) follows.

    Read from the symmetries: a board that is turned turns its actions with it, or they are not its cells.
    """
    cells, tables = game.shape[0] * game.shape[1], game.symmetries()
    if game.num_actions not in (cells, cells + 1) or len(tables.cells) == 1:
        return False
    return bool((tables.actions[:, :cells] == tables.cells).all())


@dataclasses.dataclass(frozen=True)
class Net(abc.ABC):
    """The sizes of a network: its own config. `NETS` holds one of each kind."""

    kind: ClassVar[str]  # its name in `NETS`
    grows: ClassVar[tuple[str, ...]] = ()  # settings that may be larger than in the weights it begins with

    @abc.abstractmethod
    def module(self, game: Game[Any], heads: tuple[Head, ...] = ()) -> Any:
        """The module for a game; equal nets, games and heads give equal modules."""

    def heads(self, game: Game[Any], wanted: tuple[Head, ...]) -> tuple[Head, ...]:
        """Which of these heads it has; jaxgo's own have all."""
        return wanted

    def unlearnt(self, game: Game[Any], wanted: tuple[Head, ...]) -> str:
        """A sentence on heads that the net and these do not both have, and so nobody learns; nothing without any."""
        return ""

    def to_json(self) -> dict[str, Any]:
        """The net as plain data, its name first."""
        return {"kind": self.kind, **dataclasses.asdict(self)}


class PolicyValueNet(nn.Module):
    """What every module shares: `trunk` makes features, `policy`, `values` and `board` read them."""

    actions: int
    cells: int
    heads: tuple[Head, ...]

    def on(self, platform: str) -> Any:
        """The same network by the program that is fastest on this platform: cpu, gpu or tpu."""
        return self

    def trunk(self, planes: Array) -> Any:
        raise NotImplementedError

    def policy(self, features: Any, name: str) -> Array:
        raise NotImplementedError

    def values(self, features: Any, name: str, size: int) -> Array:
        raise NotImplementedError

    def board(self, features: Any, name: str) -> Array:
        raise NotImplementedError

    @nn.compact
    def learn(self, planes: Float32[Array, "B H W C"], search: bool = False) -> Outputs:
        """Everything the network says."""
        features = self.trunk(planes)
        logits = self.policy(features, "policy").astype(jnp.float32)
        value = self.values(features, "value", 1)[:, 0].astype(jnp.float32)
        said = {} if search and not self.is_initializing() else {h.name: self._head(features, h) for h in self.heads}
        return Outputs(logits, value, said)

    def _head(self, features: Any, head: Head) -> Array:
        if head.kind == "policy":
            out = self.policy(features, head.name)
        elif head.kind == "cells":
            out = self.board(features, head.name)
        else:
            out = self.values(features, head.name, head.size)
            out = out[:, 0] if head.kind == "number" else out
        return out.astype(jnp.float32)

    def cast(self, params: Any) -> Any:
        """Parameters as the layers cast them at every call, for a program with many calls."""
        return params

    def __call__(self, planes: Float32[Array, "B H W C"]) -> tuple[Array, Array]:
        said = self.learn(planes, search=True)
        return said.logits, squash(said.value)


def last_layer(size: int, name: str) -> nn.Dense:
    """A layer that begins near zero: an untrained network has no opinions."""
    return nn.Dense(size, kernel_init=nn.initializers.normal(0.01), name=name, dtype=jnp.float32)


def planes_shape(game: Game[Any]) -> tuple[int, ...]:
    """What `observe` of a game shows, by its shape: H, W, C."""
    return tuple(jax.eval_shape(lambda key: game.observe(game.init(key)), jax.random.key(0)).shape)


def cast_once(module: Any, params: Any) -> Any:
    """Parameters as the layers of a module cast them at every call; modules of others get their own back."""
    return module.cast(params) if isinstance(module, PolicyValueNet) else params


def heads_of(module: Any) -> tuple[Head, ...]:
    """The further heads of a module, which `method="learn"` tells; a module that is not made for heads has none."""
    heads = getattr(module, "heads", ())
    return tuple(head for head in heads if isinstance(head, Head)) if isinstance(heads, tuple) else ()


def on_platform(module: Any, platform: str) -> Any:
    """A module in the form that suits a platform, where it has several; modules of others are what they are."""
    return module.on(platform) if isinstance(module, PolicyValueNet) else module
