"""The first of the best: `argmax` itself where scores are stored, and never an action that is far from the best."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgo.core.choice import best_of_equals
from jaxgo.core.choice import first_max as first_max_of
from jaxgo.core.lanes import first_where

first_max = jax.jit(first_max_of)


@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (64, 5), (2, 362)])
def test_the_first_of_the_best_is_argmax(shape):
    score = np.random.default_rng(0).integers(-3, 4, shape).astype(np.float32) / 4  # so there are equals
    score[np.random.default_rng(1).random(shape) < 0.3] = -np.inf
    for some in (score, score * 1e30, score * 1e-30, np.where(score == 0.5, np.inf, score)):
        np.testing.assert_array_equal(first_max(jnp.asarray(some)), np.argmax(some, axis=-1))
    one_step = np.nextafter(np.float32(0.7), np.float32(1))
    assert int(first_max(jnp.float32([[0.7, one_step, 0.7]]))[0]) == 1
    assert int(first_max(jnp.full((1, 4), -jnp.inf))[0]) == 0


def test_only_those_among_the_choice_are_taken():
    score = jnp.float32([[3.0, -jnp.inf, -jnp.inf, 5.0]])
    assert int(first_max(score, jnp.array([[True, True, False, False]]))[0]) == 0
    assert int(first_max(score, jnp.array([[False, False, True, False]]))[0]) == 2
    assert int(first_max(score, jnp.array([[False] * 4]))[0]) == 0


CHOICES = {
    "first": first_max_of,
    "of equals": lambda score: best_of_equals(score, score < jnp.inf, jnp.zeros_like(score)),
}


@pytest.mark.parametrize("shape", [(1, 7), (2, 7), (1, 64)])
@pytest.mark.parametrize("choose", CHOICES.values(), ids=CHOICES)
def test_a_score_that_a_compiler_computes_twice_has_a_best(choose, shape):
    """XLA computes these for their maximum and for the comparison, and on some processors makes one instruction of the
    product and the sum in only one of the two. An equality found no best then, and the last action was taken."""
    chosen = jax.jit(lambda prior, weight, q: choose(prior + weight * q))
    for seed in range(100):
        prior, weight, q = np.random.default_rng(seed).normal(size=(3, *shape)).astype(np.float32)
        score = prior + weight * q
        taken = score[np.arange(shape[0]), np.asarray(chosen(prior, weight, q))]
        np.testing.assert_allclose(taken, score.max(axis=-1), rtol=1e-5, atol=1e-5)


def test_of_equals_the_luckiest_is_taken():
    score, luck = jnp.float32([[1.0, 2.0, 2.0, 2.0]]), jnp.float32([[0.9, 0.1, 0.8, 0.95]])
    among = jnp.array([[True, True, True, False]])
    choose = jax.jit(best_of_equals)
    assert int(choose(score, among, luck)[0]) == 2
    assert int(choose(jnp.full((1, 4), -jnp.inf), among, luck)[0]) == 0


def test_the_first_lanes_of_some():
    where = np.random.default_rng(0).random(100) < 0.3
    for some in (where, np.zeros(100, bool), np.ones(100, bool)):
        there = np.flatnonzero(some)
        for count in (1, 20, 100):
            found = jax.jit(first_where, static_argnums=1)(jnp.asarray(some), count)
            expected = np.pad(there, (0, 100))[:count]
            np.testing.assert_array_equal(found, expected)
