"""What is traced once is traced once, whatever asks for it, and stays what it was."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from jaxgo.core.tracing import traced_once

TRACED = []


@dataclasses.dataclass(frozen=True)
class Rules:
    by: int

    @traced_once
    def more(self, x: jax.Array) -> jax.Array:
        TRACED.append((self.by, x.shape))
        return x + self.by


def test_a_method_is_traced_once_for_each_of_its_objects_and_shapes():
    TRACED.clear()

    def program(x):
        twice = Rules(1).more(Rules(1).more(x))
        loop = jax.lax.fori_loop(0, 3, lambda _, y: Rules(1).more(y), twice)
        return loop, jax.vmap(Rules(1).more)(jnp.stack([x, x])), Rules(2).more(x)

    loop, both, other = jax.jit(program)(jnp.int32(0))
    assert (int(loop), np.asarray(both).tolist(), int(other)) == (5, [1, 1], 2)
    assert TRACED == [(1, ()), (2, ())]
    assert "pjit" not in str(jax.make_jaxpr(Rules(1).more)(jnp.int32(0)).jaxpr.eqns[0].primitive), "laid into programs"
