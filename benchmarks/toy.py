"""A game and a judge that cost next to nothing, so that a benchmark of a search measures the search."""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32, Int8, Int16, UInt32

from jaxgo.core.game import EMPTY, Action, Game
from jaxgo.evaluators.base import Evaluation, Evaluator, Params, States


def numbers_of(word: UInt32[Array, " B"], count: int) -> Float32[Array, "B {count}"]:
    """So many pseudo-random numbers in [0, 1) that belong to each word."""
    mixed = (word[:, None] + jnp.arange(count, dtype=jnp.uint32)[None]) * jnp.uint32(2654435761)
    mixed = (mixed ^ (mixed >> 15)) * jnp.uint32(2246822519)
    return ((mixed ^ (mixed >> 13)) >> 8).astype(jnp.float32) / 2**24


class ToyState(NamedTuple):
    key: UInt32[Array, "2"]
    to_play: Int8[Array, ""]
    ply: Int16[Array, ""]


@dataclasses.dataclass(frozen=True)
class Toy(Game[ToyState]):
    """Every action is always legal and leads to a position of its own; nobody ever wins."""

    actions: int = 362
    pieces = (EMPTY,)

    @property
    def shape(self) -> tuple[int, int]:
        return 1, 1

    @property
    def num_actions(self) -> int:
        return self.actions

    @property
    def max_plies(self) -> int:
        return 400

    def init(self, key: Array) -> ToyState:
        return ToyState(jax.random.bits(key, (2,), jnp.uint32), jnp.int8(0), jnp.int16(0))

    def legal(self, state: ToyState) -> Bool[Array, " A"]:
        return jnp.ones(self.actions, bool)

    def step(self, state: ToyState, action: Action) -> ToyState:
        key = state.key * jnp.uint32(747796405) + action.astype(jnp.uint32) * jnp.uint32(2891336453)
        key = (key ^ (key >> 16)) * jnp.uint32(277803737)
        return ToyState(key ^ (key >> 13), jnp.int8(1) - state.to_play, state.ply + jnp.int16(1))

    def over(self, state: ToyState) -> Bool[Array, ""]:
        return state.ply >= self.max_plies

    def returns(self, state: ToyState) -> Float32[Array, " 2"]:
        return jnp.zeros(2)

    def observe(self, state: ToyState) -> Float32[Array, "1 1 1"]:
        return jnp.zeros((1, 1, 1))

    def cells(self, state: ToyState) -> Int8[Array, " 1"]:
        return jnp.zeros(1, jnp.int8)

    def hash(self, state: ToyState) -> UInt32[Array, "2"]:
        return state.key


@dataclasses.dataclass(frozen=True)
class Hashed(Evaluator):
    """Pseudo-random logits and values that belong to the position: cheap, and the same for every search."""

    def __call__(self, game: Game[Any], params: Params, key: Array, states: States) -> Evaluation:
        words = jax.vmap(game.hash)(states)
        mixed = (words[:, :1] + jnp.arange(game.num_actions, dtype=jnp.uint32)) * jnp.uint32(2246822519)
        logits = ((mixed ^ (mixed >> 13)) >> 8).astype(jnp.float32) / 2**24 * 3
        value = (words[:, 0] >> 8).astype(jnp.float32) / 2**24 - 0.5
        return Evaluation(logits, value)
