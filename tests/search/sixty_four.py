"""Searches traced where JAX has 64 bits: a program of its own, without the type checks of the tests, which know 32.

Prints a line for each array of a state or a result that has another type than it should.
"""

import functools
import warnings
from typing import Any

import jax
import jax.numpy as jnp

from examples.own_game import Nim
from jaxgo.evaluators import Heuristic, Rollout
from jaxgo.games import make
from jaxgo.search import SEARCHES, AlphaBeta, BreadthFirst, Chain, Gumbel, Model, Puct, Uct

WIDE = ("float64", "int64", "uint64")
MODEL = Model(make("tictactoe"), Rollout())


class Wide(Nim):
    """A game whose results and weights have 64 bits where JAX has them."""

    def move_weights(self, state: Any) -> Any:
        return jnp.ones(self.num_actions)


OWN = Model(Wide(), Rollout())
PUZZLE = Model(make("hughe"), Heuristic())
TRACED: tuple[Any, ...] = (
    Uct(simulations=8, parallel_leaves=4),
    Puct(simulations=4, noise=0.25),
    Gumbel(simulations=4, max_considered=2),
    SEARCHES["greedy"],
    SEARCHES["random"],
    Chain("careful+random"),
    BreadthFirst(room=50),
    AlphaBeta(depth=2, table=4),
)


def traced(search: Any, model: Model, key: Any) -> Any:
    """A search, its result, and another one after the move."""
    root = model.start(key, 2)
    state = search.extend(model, (), key, search.begin(model, (), key, root), search.budget)
    result = search.result(key, state, 1.0)
    after = search.follow(model, (), key, state, result.action, model.play(root, result.action)[0])
    return result, search.extend(model, (), key, after, 2)


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    warnings.simplefilter("error", FutureWarning)  # of scatters that later JAX refuses
    for search in TRACED:
        for model in (PUZZLE,) if isinstance(search, BreadthFirst) else (MODEL, OWN):
            found = jax.eval_shape(functools.partial(traced, search, model), jax.random.key(0))
            for path, leaf in jax.tree_util.tree_leaves_with_path(found):
                if str(leaf.dtype) in WIDE:
                    print(type(search).__name__, jax.tree_util.keystr(path), leaf.dtype)
    print("traced", len(TRACED))


if __name__ == "__main__":
    main()
