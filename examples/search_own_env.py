"""Search on an environment of your own: two functions and a network. `uv run examples/search_own_env.py`

Coins lie in a row. Two players take one from either end in turns, and each wants more than the other: every move pays.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn

from jaxgo.search import Model, Puct

ROWS = ((3, 9, 1, 2, 7, 4), (1, 2, 9, 2, 1, 1), (5, 5, 5, 5, 5, 6), (2, 8, 3, 1, 1, 3))
NAMES = ("left", "right")
NET = nn.Dense(len(NAMES) + 1)  # nobody has trained it: the search finds what it does not know


class Row(NamedTuple):
    """A state may hold any arrays."""

    coins: jax.Array
    low: jax.Array  # the first coin that is left
    high: jax.Array  # the last one


def step(params: Any, row: Row, action: jax.Array) -> tuple[Row, Any, Any]:
    """One state and one action; a batch is made of it elsewhere. A learned model would ask its parameters.

    The reward is for who moves. What comes after is the other's, so the discount is -1; at the end it is 0.
    """
    reward = jnp.where(action == 0, row.coins[row.low], row.coins[row.high]) / 10
    after = row._replace(low=row.low + (action == 0), high=row.high - (action == 1))
    return after, reward, jnp.where(after.low > after.high, 0.0, -1.0)


def evaluate(params: Any, key: jax.Array, rows: Row) -> tuple[Any, Any]:
    """Logits and a value for a batch of states, seen by who moves there."""
    places = jnp.arange(rows.coins.shape[1])
    left = (rows.low[:, None] <= places) & (places <= rows.high[:, None])
    found = NET.apply(params, jnp.where(left, rows.coins, 0) / 10)
    return found[:, :-1], found[:, -1]


def exact(coins: tuple[int, ...]) -> int:
    """What the row is worth to who moves, by looking at everything."""
    return max(coins[0] - exact(coins[1:]), coins[-1] - exact(coins[:-1])) if coins else 0


def main() -> None:
    model = Model.from_functions(step, evaluate, num_actions=len(NAMES))
    search = Puct(simulations=512)
    games = len(ROWS)
    rows = Row(jnp.array(ROWS), jnp.zeros(games, jnp.int32), jnp.full(games, len(ROWS[0]) - 1, jnp.int32))

    position = model.positions(rows)
    params = NET.init(jax.random.key(4), rows.coins / 10)
    # the parameters are an argument: those of after a step of learning take the same program
    think = jax.jit(lambda params, key, position: search.run(model, params, key, position))
    found = think(params, jax.random.key(0), position)
    for game, coins in enumerate(ROWS):
        words = "proven" if found.solved[game] else "not proven"
        print(f"{coins}: take the {NAMES[int(found.action[game])]} one, {10 * found.value[game]:+.1f}, {words}", end="")
        print(f"; in truth {exact(coins):+d}")

    # the search goes on after a move: what was thought below it is kept
    after, moved = model.play(position, found.action)
    print("coins taken:", (10 * moved.reward).round().astype(int).tolist())
    state = search.begin(model, params, jax.random.key(1), position)
    state = search.extend(model, params, jax.random.key(2), state, 100)
    state = search.follow(model, params, jax.random.key(3), state, found.action, after)
    print("simulations kept:", state.tree.visits[:, 0].tolist())


if __name__ == "__main__":
    main()
