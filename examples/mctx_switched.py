"""A program written for mctx, switched over by its import. `uv run examples/mctx_switched.py`

A learned model in the style of MuZero: a hidden state of any arrays, rewards on the way, a discount of 0.97.
"""

import functools
import time
from typing import Any

import jax
import jax.numpy as jnp

import jaxgo.search.mctx as mctx  # was: import mctx

GAMES, ACTIONS, WIDTH, SIMULATIONS = 32, 6, 16, 50


def init(key: jax.Array) -> dict[str, jax.Array]:
    """Weights of a small model: dynamics, and heads for the policy, the value and the reward."""
    sizes = {"moves": (ACTIONS, WIDTH), "hidden": (WIDTH, WIDTH), "policy": (WIDTH, ACTIONS), "value": (WIDTH,)}
    sizes["reward"] = (WIDTH,)
    split = zip(sizes.items(), jax.random.split(key, len(sizes)), strict=True)
    return {name: jax.random.normal(k, shape) / WIDTH**0.5 for (name, shape), k in split}


def recurrent_fn(params: Any, rng_key: jax.Array, action: jax.Array, embedding: jax.Array) -> Any:
    """Where an action leads, and what the model thinks of it."""
    del rng_key
    embedding = jnp.tanh(embedding @ params["hidden"] + params["moves"][action])
    output = mctx.RecurrentFnOutput(
        reward=jnp.tanh(embedding @ params["reward"]),
        discount=jnp.full(action.shape, 0.97),
        prior_logits=embedding @ params["policy"],
        value=embedding @ params["value"],
    )
    return output, embedding


@functools.partial(jax.jit, static_argnames="policy")
def search(policy: Any, params: Any, rng_key: jax.Array, observations: jax.Array, invalid_actions: jax.Array) -> Any:
    """mctx's own calls; nothing here knows who answers."""
    embedding = jnp.tanh(observations)
    root = mctx.RootFnOutput(
        prior_logits=embedding @ params["policy"], value=embedding @ params["value"], embedding=embedding
    )
    return policy(params, rng_key, root, recurrent_fn, num_simulations=SIMULATIONS, invalid_actions=invalid_actions)


def main() -> None:
    params = init(jax.random.key(0))
    observations = jax.random.normal(jax.random.key(1), (GAMES, WIDTH))
    invalid = jnp.arange(ACTIONS)[None] == jnp.arange(GAMES)[:, None] % ACTIONS  # one action is forbidden in each game
    for policy in (mctx.gumbel_muzero_policy, mctx.muzero_policy):
        run = functools.partial(search, policy, params, jax.random.key(2), observations, invalid)
        jax.block_until_ready(run())  # compiles
        began = time.perf_counter()
        output = jax.block_until_ready(run())
        took = time.perf_counter() - began
        summary = output.search_tree.summary()
        print(f"{policy.__name__}: {GAMES * SIMULATIONS / took:,.0f} simulations a second")
        print(f"  visits of the first root {summary.visit_counts[0].astype(int).tolist()}, action {output.action[0]}")
        print(f"  its q-values {[round(float(q), 2) for q in summary.qvalues[0]]}")


if __name__ == "__main__":
    main()
