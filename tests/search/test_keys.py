"""A key for each game: what a game draws does not hang on its neighbours or on its place in the batch."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgo.core import keys
from jaxgo.core.errors import UsageError
from jaxgo.games import make
from jaxgo.players import load_player

ONE = jax.random.key(3)
EACH = jax.random.split(jax.random.key(4), 3)
TURN = np.array([2, 0, 1])


def same(a, b) -> bool:
    return bool((jax.random.key_data(a) == jax.random.key_data(b)).all())


def test_one_key_is_used_as_jax_would():
    assert not keys.each_its_own(ONE)
    assert not keys.each_its_own(jax.random.PRNGKey(0)), "an old key is two numbers, not two keys"
    assert all(same(a, b) for a, b in zip(keys.split(ONE, 3), jax.random.split(ONE, 3), strict=True))
    assert same(keys.of_step(ONE, jnp.int32(5), jnp.arange(3)), jax.random.fold_in(ONE, 5))
    np.testing.assert_array_equal(keys.sample(jax.random.uniform, ONE, (6, 2)), jax.random.uniform(ONE, (6, 2)))
    assert same(keys.any_one(ONE), ONE)


@pytest.mark.parametrize("seed", [0, [0, 1], jnp.int32(0), np.uint32(0)])
def test_a_seed_is_no_key(seed):
    for use in (keys.check, inspect.unwrap(keys.split)):  # types are checked in tests, and not where people use it
        with pytest.raises(UsageError, match="is no key of randomness; write jax"):
            use(seed)


def test_many_arrays_in_place_of_a_key_are_not_printed():
    with pytest.raises(UsageError, match=r"^a dict is no key of randomness; write"):
        keys.check({"kernel": jnp.zeros((200, 200))})


def test_a_key_for_each_of_other_games_is_none():
    for key in (jax.random.split(ONE, (3, 2)), jax.random.split(jax.random.PRNGKey(0), 3)):
        with pytest.raises(UsageError, match="is no key of randomness; write jax"):
            keys.check(key)
    with pytest.raises(UsageError, match=r"3 keys are not one for each of 4; write jax.random.split\(key, 4\)"):
        keys.sample(jax.random.uniform, EACH, (4,))
    with pytest.raises(UsageError, match="3 keys are not one for each of 4"):
        keys.categorical(EACH, jnp.zeros((4, 2)))


def test_every_game_uses_its_own_key():
    assert keys.each_its_own(EACH)
    first, second = keys.split(EACH)
    assert same(first[1], jax.random.split(EACH[1])[0])
    assert same(second[2], jax.random.split(EACH[2])[1])
    assert same(keys.of_step(EACH, jnp.int32(9), jnp.array([5, 6, 7]))[1], jax.random.fold_in(EACH[1], 6))
    lanes = keys.sample(jax.random.uniform, EACH, (6, 2))
    np.testing.assert_array_equal(lanes[2:4], jax.random.uniform(EACH[1], (2, 2)))
    logits = jnp.log(jnp.array([[0.2, 0.3, 0.5]] * 3))
    drawn = keys.categorical(EACH, logits)
    assert drawn.tolist() == [int(jax.random.categorical(k, logits[0])) for k in EACH]
    assert same(keys.any_one(EACH), EACH[0])


@pytest.mark.parametrize(
    ("spec", "temperature"),
    [
        ("random", 0.0),
        *(  # tests/arena/test_match.py has uct among its quick tests
            pytest.param(*spec, marks=pytest.mark.slow)
            for spec in (
                ("flat:8,parallel_leaves=2", 1.0),
                ("uct:12,parallel_leaves=2", 0.0),
                ("puct:8,noise=0.5,evaluator=rollout,rollouts=2", 1.0),
                ("gumbel:8,max_considered=4,evaluator=rollout", 0.0),
            )
        ),
    ],
)
def test_games_that_change_places_keep_their_luck(spec, temperature):
    agent = load_player(spec, make("tictactoe"))
    root = jax.jit(lambda key: agent.model.start(key, 3))(jax.random.key(0))
    root, _ = jax.jit(agent.model.play)(root, np.array([0, 4, 4], np.int32))
    run = jax.jit(lambda key, root: agent.search.run(agent.model, (), key, root, temperature=temperature))
    here = run(EACH, root)
    there = run(EACH[TURN], jax.tree.map(lambda x: x[TURN], root))
    for one, other in zip(jax.tree.leaves(here), jax.tree.leaves(there), strict=True):
        np.testing.assert_array_equal(np.asarray(one)[TURN], other)
    many = [run(jax.random.split(jax.random.key(seed), 3), root) for seed in range(8)]
    assert any(int(r.action[1]) != int(r.action[2]) or (r.visits[1] != r.visits[2]).any() for r in many), (
        "two games that stand alike have the same luck"
    )
