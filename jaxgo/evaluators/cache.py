"""A judge that remembers what the last search of the same games has judged, so that nothing is judged twice.

A move leads into the tree that was searched before it, and the next search asks about that part of it again. What a
steady judge said of a position then, it would say now: a recalled judgement changes no search, it only saves time.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int32, UInt32

from jaxgo.core.game import Game
from jaxgo.evaluators.base import Evaluation, Evaluator, Params, States, ask


class EvalCache(NamedTuple):
    """Positions of each game, and what was said of them. N positions of each of B games."""

    states: States  # every leaf [B, N, ...]
    said: Evaluation  # [B, N, A] and [B, N]
    known: Bool[Array, "B N"]  # where there is a position
    hash: UInt32[Array, "B N"]  # of the positions, to find them by


def remember(game: Game[Any], states: States, said: Evaluation, known: Bool[Array, "B N"]) -> EvalCache:
    return EvalCache(states, said, known, jax.vmap(jax.vmap(game.hash))(states)[..., 0])


@dataclasses.dataclass(frozen=True)
class Cached(Evaluator):
    """Asks `judge` about what is not in the cache. Its parameters are those of the judge and the cache."""

    judge: Evaluator

    def on(self, platform: str) -> "Cached":
        return Cached(self.judge.on(platform))

    def __call__(self, game: Game[Any], params: Params, key: Array, states: States) -> Evaluation:
        return self.evaluate_wanted(game, params, key, states, jnp.ones(len(jax.tree.leaves(states)[0]), bool))

    def evaluate_wanted(
        self, game: Game[Any], params: Params, key: Array, states: States, wanted: Bool[Array, " B"]
    ) -> Evaluation:
        inner, cache = params
        place, found = recall(game, cache, states)
        said = ask(self.judge, game, inner, key, states, wanted & ~found)
        old = jax.tree.map(lambda x: x[place], cache.said)
        return Evaluation(jnp.where(found[:, None], old.logits, said.logits), jnp.where(found, old.value, said.value))


def recall(
    game: Game[Any], cache: EvalCache, states: States
) -> tuple[tuple[Int32[Array, " L"], Int32[Array, " L"]], Bool[Array, " L"]]:
    """The row and the column of each position in the cache, and whether it is there. Games have equally many lanes."""
    hash_ = jax.vmap(game.hash)(states)[:, 0]
    lanes = hash_.shape[0]
    row = jnp.arange(lanes, dtype=jnp.int32) // (lanes // cache.known.shape[0])
    alike = (cache.hash[row] == hash_[:, None]) & cache.known[row]
    column = alike.argmax(axis=1).astype(jnp.int32)
    # the hash knows the board; what a judge sees may be more, such as the moves that led to it
    same = [
        (old[row, column] == new).reshape(lanes, -1).all(axis=1)
        for old, new in zip(jax.tree.leaves(cache.states), jax.tree.leaves(states), strict=True)
    ]
    return (row, column), alike.any(axis=1) & jnp.stack(same).all(axis=0)
