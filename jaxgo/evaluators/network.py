"""A neural network as judge.

A search asks about fewer positions than it has lanes: some lanes rest, others came to the end of a game or to a
position that was judged before. The cost of a network is that of the positions it judges, so those that are wanted are
brought together and judged in chunks. A chunk keeps its device busy: it is small on a processor, and thousands of
positions on an accelerator, where a smaller one would take as long.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.lanes import first_where, over_axes
from jaxgo.evaluators.base import Evaluation, Evaluator, Params, States, as_evaluation, parts
from jaxgo.nets.base import cast_once, heads_of, on_platform, squash
from jaxgo.system.devices import has_one_core

LEAST = 700  # cells in a chunk on a processor: smaller ones cost more each
PARTS = 16  # of a batch on a processor, at most
NEAR = 2_000  # cells in a chunk of convolutions on one core: what they say of them stays near it
LEAST_ELSE = 2**18  # cells in a chunk on an accelerator: what fills it


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
    platform: str = ""  # cpu, gpu or tpu, whose program judges what is wanted of a batch; empty: all of it is judged

    untold: ClassVar[tuple[str, ...]] = ("platform",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.module, Module) or isinstance(self.module, type):
            kind = self.module if isinstance(self.module, type) else type(self.module)
            raise UsageError(
                f"{kind.__name__} is no network with `init` and `apply`: give a linen module, such as "
                "Mlp().module(game); jaxgo.nets.outside.as_net(yours).module(game) makes one of nnx's"
            )

    def on(self, platform: str) -> "Network":
        return dataclasses.replace(self, module=on_platform(self.module, platform), platform=platform)

    def init(self, game: Game[Any], key: Array) -> Params:
        state = jax.eval_shape(game.init, key)
        planes = jax.eval_shape(game.observe, state)
        return self.module.init(key, jnp.zeros((1, *planes.shape)))

    def __call__(self, game: Game[Any], params: Params, key: Array, states: States) -> Evaluation:
        logits, value = self._judged(game, params, self._seen(game, states))
        return Evaluation(self._mean(game, logits, game.symmetries().actions), self._mean(game, value))

    def foresee(self, game: Game[Any], params: Params, states: States) -> dict[str, Float32[Array, "B ..."]]:
        """By the heads of its module that the game teaches."""
        taught = {target.name for target in game.aux_targets()}
        heads = [head for head in heads_of(self.module) if head.name in taught]
        if not heads:
            return {}
        module: Any = self.module
        said = module.apply(params, self._seen(game, states), method="learn").heads
        sign = jnp.where(states.to_play == 0, 1.0, -1.0)  # they are learnt for the side to move
        found = {}
        for head in heads:
            expected = squash(said[head.name]) if head.kind == "cells" else said[head.name]
            mean = self._mean(game, expected, game.symmetries().cells if head.kind == "cells" else None)
            found[head.name] = mean * over_axes(sign, mean.ndim)
        return found

    def _seen(self, game: Game[Any], states: States) -> Float32[Array, "M H W C"]:
        """The planes of each position, or those of all its images one after the other."""
        planes: Float32[Array, "B H W C"] = jax.vmap(game.observe)(states).astype(jnp.float32)
        tables = game.symmetries()
        if not self.symmetric or len(tables.cells) == 1:
            return planes
        cells = planes.reshape(planes.shape[0], -1, planes.shape[3])[:, tables.cells]  # [B, G, H W, C]
        return cells.reshape(-1, *planes.shape[1:])

    def _mean(self, game: Game[Any], said: Float32[Array, "M ..."], places: np.ndarray | None = None) -> Array:
        """What was said of a position: the mean over its images, turned back where `places` (cells, actions) turn."""
        images = len(game.symmetries().cells)
        if not self.symmetric or images == 1:
            return said
        each = said.reshape(-1, images, *said.shape[1:])
        if places is not None:
            each = jnp.take_along_axis(each, jnp.asarray(np.argsort(places, axis=1))[None], axis=2)
        return each.mean(axis=1)

    def _judged(self, game: Game[Any], params: Params, planes: Float32[Array, "B H W C"]) -> Evaluation:
        try:
            found = self.module.apply(params, planes)
        except Exception as fault:
            reason = differs(jax.eval_shape(lambda: self.init(game, jax.random.key(0))), params)
            if not reason:
                raise
            raise UsageError(
                f"the parameters are not those of {type(self.module).__name__} for {type(game).__name__}, as {reason}; "
                "make some by model.init(key), or load weights of this net and game"
            ) from fault
        return as_evaluation("the network", found, planes.shape[0], game.num_actions)

    def ready(self, params: Params) -> Params:
        """Weights as the net computes with them: a loop would cast them again in every turn."""
        return cast_once(self.module, params)

    def worth_caching(self, params: Params) -> bool:
        """If it convolves: dense layers are so cheap that a look into a memory hardly costs less."""
        return _convolves(params)

    def evaluate_wanted(
        self, game: Game[Any], params: Params, key: Array, states: States, wanted: Bool[Array, " B"]
    ) -> Evaluation:
        lanes, stays = wanted.shape[0], stays_near(self.platform, params)
        chunk = chunk_of(game, lanes, self.platform, stays) if self.platform else lanes
        # else a processor, which compiles quickly, judges a whole batch sooner than in chunks
        whole = self.platform == "cpu" and not stays
        return judge_some(lambda some: self(game, params, key, some), game, states, wanted, chunk, whole)


def differs(wanted: Params, given: Params, name: str = "") -> str:
    """The first array of a net that is not there in its shape, in words; empty where all are, whatever lies beside."""
    if not isinstance(wanted, Mapping):
        if given is None or isinstance(given, Mapping):
            return f"there is no {name}"
        here, there = parts(wanted), parts(given)  # one array each, but for nets of somebody's own
        return "" if here == there else f"{name} is {_shapes(there)} there and {_shapes(here)} here"
    inner = given if isinstance(given, Mapping) else {}
    faults = (differs(value, inner.get(key), f"{name}/{key}" if name else key) for key, value in wanted.items())
    return next((fault for fault in faults if fault), "")


def _shapes(seen: tuple[Any, list[Any]]) -> str:
    return " ".join(str(list(shape)) for shape in seen[1])


def _convolves(params: Params) -> bool:
    return any(np.ndim(leaf) > 2 for leaf in jax.tree.leaves(params))


def stays_near(platform: str, params: Params) -> bool:
    """Whether a net is quickest with few positions at a time: where it convolves on one core of a processor."""
    return platform == "cpu" and _convolves(params) and has_one_core()


def near(cells: int) -> int:
    """How many positions of so many cells these are."""
    return -(-NEAR // cells)


def chunk_of(game: Game[Any], lanes: int, platform: str, stays: bool = False) -> int:
    """How many of so many positions are judged at a time; `stays`: see `stays_near`."""
    cells = game.shape[0] * game.shape[1]
    if stays:
        return min(lanes, near(cells))
    if platform == "cpu":
        return min(lanes, max(-(-LEAST // cells), -(-lanes // PARTS)))
    return min(lanes, -(-LEAST_ELSE // cells))


def judge_some(
    judge: Callable[[States], Evaluation],
    game: Game[Any],
    states: States,
    wanted: Bool[Array, " B"],
    chunk: int,
    whole: bool,
) -> Evaluation:
    """Judges the wanted ones of a batch, so many at a time; with `whole` all at once where chunks would save nothing,
    which is another copy of the judge in the program."""
    lanes = wanted.shape[0]
    if lanes <= chunk:
        return judge(states)
    order = first_where(wanted, lanes)
    count = wanted.sum(dtype=jnp.int32)

    def turn(carry: tuple[Array, Evaluation]) -> tuple[Array, Evaluation]:
        done, judged = carry
        these = done + jnp.arange(chunk, dtype=jnp.int32)
        chosen = order[jnp.minimum(these, lanes - 1)]
        part = judge(jax.tree.map(lambda x: x[chosen], states))
        at = jnp.where(these < count, chosen, lanes)
        return done + chunk, jax.tree.map(lambda all_, new: all_.at[at].set(new, mode="drop"), judged, part)

    def piecewise(_: None) -> Evaluation:
        blank = Evaluation(jnp.zeros((lanes, game.num_actions), jnp.float32), jnp.zeros(lanes, jnp.float32))
        return jax.lax.while_loop(lambda carry: carry[0] < count, turn, (jnp.int32(0), blank))[1]

    if not whole:
        return piecewise(None)
    few = -(-count // chunk) * chunk < lanes
    return jax.lax.cond(few, piecewise, lambda _: judge(states), None)
