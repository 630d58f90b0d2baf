"""A neural network as judge.

A search asks about fewer positions than it has lanes: some lanes rest, others came to the end of a game or to a
position that was judged before. On a processor the cost of a network is that of the positions it judges, so where few
enough are wanted they are brought together and judged in chunks. An accelerator takes as long for a part of a batch as
for the whole.
"""

import dataclasses
from typing import Any, ClassVar, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.evaluators.base import Evaluation, Evaluator, Params, States, as_evaluation
from jaxgo.nets.base import cast_once, on_platform

LEAST = 700  # cells in a chunk: smaller ones cost more each
PARTS = 16  # of a batch, at most


@runtime_checkable
class Module(Protocol):
    """What a network must be: a `flax.linen.Module`, or anything hashable with these two methods.

    It maps planes `[B, H, W, C]` to logits `[B, A]` and to the value for the side to move, `[B]`, in [-1, 1].
    """

    def init(self, key: Array, planes: Array) -> Params: ...

    def apply(self, params: Params, planes: Array) -> Any: ...


@dataclasses.dataclass(frozen=True)
class Network(Evaluator):
    """Judges what `observe` shows."""

    module: Module
    symmetric: bool = False  # judge every symmetric image of a position and take the mean: as many times the work
    in_chunks: bool = False  # where few of a batch are wanted

    untold: ClassVar[tuple[str, ...]] = ("in_chunks",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.module, Module) or isinstance(self.module, type):
            raise UsageError(f"{self.module!r} is no network: give a Flax module, such as Mlp().module(game)")

    def on(self, platform: str) -> "Network":
        return dataclasses.replace(self, module=on_platform(self.module, platform), in_chunks=platform == "cpu")

    def init(self, game: Game[Any], key: Array) -> Params:
        state = jax.eval_shape(game.init, key)
        planes = jax.eval_shape(game.observe, state)
        return self.module.init(key, jnp.zeros((1, *planes.shape)))

    def __call__(self, game: Game[Any], params: Params, key: Array, states: States) -> Evaluation:
        planes: Float32[Array, "B H W C"] = jax.vmap(game.observe)(states).astype(jnp.float32)
        tables = game.symmetries()
        if not self.symmetric or len(tables.cells) == 1:
            return self._judged(game, params, planes)
        images, (lanes, *_, colours) = len(tables.cells), planes.shape
        cells = planes.reshape(lanes, -1, colours)[:, tables.cells]  # [B, G, H W, C]
        logits, value = self._judged(game, params, cells.reshape(lanes * images, *planes.shape[1:]))
        back = jnp.asarray(np.argsort(tables.actions, axis=1))  # from the actions of an image to those of the position
        turned = jnp.take_along_axis(logits.reshape(lanes, images, -1), back[None], axis=2)
        return Evaluation(turned.mean(axis=1), value.reshape(lanes, images).mean(axis=1))

    def _judged(self, game: Game[Any], params: Params, planes: Float32[Array, "B H W C"]) -> Evaluation:
        return as_evaluation("the network", self.module.apply(params, planes), planes.shape[0], game.num_actions)

    def ready(self, params: Params) -> Params:
        """Weights as the net computes with them: a loop would cast them again in every turn."""
        return params if self.in_chunks else cast_once(self.module, params)

    def worth_caching(self, params: Params) -> bool:
        """If it convolves: dense layers are so cheap that a look into a memory hardly costs less."""
        return any(leaf.ndim > 2 for leaf in jax.tree.leaves(params))

    def evaluate_wanted(
        self, game: Game[Any], params: Params, key: Array, states: States, wanted: Bool[Array, " B"]
    ) -> Evaluation:
        lanes = wanted.shape[0]
        chunk = max(-(-LEAST // (game.shape[0] * game.shape[1])), -(-lanes // PARTS))
        if lanes <= chunk or not self.in_chunks:
            return self(game, params, key, states)
        lane = jnp.arange(lanes, dtype=jnp.int32)
        place = jnp.where(wanted, jnp.cumsum(wanted, dtype=jnp.int32) - 1, lanes)
        order = jnp.zeros(lanes, jnp.int32).at[place].set(lane, mode="drop")
        count = wanted.sum(dtype=jnp.int32)

        def judge(carry: tuple[Array, Evaluation]) -> tuple[Array, Evaluation]:
            done, judged = carry
            turn = done + jnp.arange(chunk, dtype=jnp.int32)
            chosen = order[jnp.minimum(turn, lanes - 1)]
            part = self(game, params, key, jax.tree.map(lambda x: x[chosen], states))
            at = jnp.where(turn < count, chosen, lanes)
            return done + chunk, jax.tree.map(lambda all_, new: all_.at[at].set(new, mode="drop"), judged, part)

        blank = Evaluation(jnp.zeros((lanes, game.num_actions), jnp.float32), jnp.zeros(lanes, jnp.float32))

        def piecewise(_: None) -> Evaluation:
            return jax.lax.while_loop(lambda carry: carry[0] < count, judge, (jnp.int32(0), blank))[1]

        # nothing is won by chunks that make up the whole batch
        few = -(-count // chunk) * chunk < lanes
        return jax.lax.cond(few, piecewise, lambda _: self(game, params, key, states), None)
