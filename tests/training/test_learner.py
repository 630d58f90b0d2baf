"""The learner: batches turned rightly, what the loss wants, steps that are left out, decay, averages, devices."""

import dataclasses
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import NamedSharding, PartitionSpec

from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.evaluators import network
from jaxgo.games import make
from jaxgo.nets import Mlp, ResNet
from jaxgo.nets.base import Head
from jaxgo.system import devices
from jaxgo.training import trainer
from jaxgo.training.config import OPTIMIZERS, LearnerConfig
from jaxgo.training.learner import Learner, make_batch, optimiser, rate_at, turned
from jaxgo.training.targets import Sample

GAME = make("tictactoe")
HEADS = (Head("short", "values", 2), Head("reply", "policy"), Head("area", "cells"), Head("lead", "number"))
COUNT = 32


@pytest.fixture(scope="module")
def states():
    """Positions after a few moves."""
    lines = [[0, 4, 8, 2], [1, 2], [4], [3, 5, 7], [], [0, 1, 2, 3], [8, 0, 4], [6, 3]]
    step = jax.jit(GAME.step)
    found = []
    for line in lines * (COUNT // len(lines)):
        state = play.begin(GAME).state
        for action in line:
            state = step(state, jnp.int32(action))
        found.append(state)
    return jax.tree.map(lambda *x: jnp.asarray(np.stack(x)), *jax.device_get(found))


@pytest.fixture(scope="module")
def samples(states):
    """What to say about them, told by the board, so that a wrong turn shows."""
    legal, planes = jax.jit(jax.vmap(lambda state: (GAME.legal(state), GAME.observe(state))))(states)
    own = np.asarray(planes)[..., 0].reshape(COUNT, 9)
    half = jnp.float16
    policy = legal / legal.sum(axis=1, keepdims=True)
    one = jnp.ones(COUNT, half)
    return Sample(
        state=states,
        policy=policy.astype(half),
        policy_weight=one,
        value=jnp.linspace(-1, 1, COUNT),
        value_weight=one,
        heads={
            "short": jnp.ones((COUNT, 2), half),
            "reply": policy.astype(half),
            "area": own.astype(half),
            "lead": one,
        },
        head_weights={head.name: one for head in HEADS},
        weight=jnp.ones(COUNT),
    )


@pytest.fixture(scope="module")
def batch(samples):
    return jax.jit(lambda key: make_batch(GAME, HEADS, key, samples))(jax.random.key(0))


@pytest.fixture(scope="module")
def learner():
    config = LearnerConfig(batch=COUNT, rate=1e-2, warmup=4, ema=0.9)
    return Learner(Mlp(width=16, blocks=1).module(GAME, HEADS), HEADS, config)


@pytest.fixture(scope="module")
def begun(learner):
    params = jax.jit(learner.module.init)(jax.random.key(1), jnp.zeros((1, 3, 3, 2)))
    return learner.begin(params)


@pytest.fixture(scope="module")
def update(learner):
    return jax.jit(learner.update)


def test_a_turned_sample_is_turned_in_all_its_parts(samples):
    one = jax.tree.map(lambda x: x[0], jax.device_get(samples))
    turn = jax.jit(lambda symmetry, sample: turned(GAME, HEADS, symmetry, sample))
    plain = turn(jnp.int32(0), one)
    boards = set()
    for symmetry in range(8):
        moved = jax.device_get(turn(jnp.int32(symmetry), one))
        empty = ~moved.planes.any(axis=-1).reshape(-1)
        for part in (moved.legal, moved.policy > 0, moved.heads["reply"] > 0):
            np.testing.assert_array_equal(part, empty)
        np.testing.assert_array_equal(moved.heads["area"], moved.planes[..., 0].reshape(-1))
        assert moved.value == plain.value
        boards.add(moved.planes.tobytes())
    assert len(boards) == 4  # this position is its own mirror image


def test_a_batch_draws_a_symmetry_for_each_sample(batch, samples):
    plain = np.asarray(jax.vmap(GAME.observe)(samples.state), np.float32)
    same = (np.asarray(batch.planes) == plain).all(axis=(1, 2, 3))
    assert 0 < same.sum() < COUNT


def test_learning_lowers_every_part_of_the_loss_and_the_average_follows(learner, begun, update, batch):
    state, first = update(begun, batch)
    for _ in range(60):
        state, last = update(state, batch)
    for name in ("loss_policy", "loss_value", "loss_short", "loss_reply", "loss_area", "loss_lead"):
        assert last[name] < 0.5 * first[name], name
        assert last[name] >= -1e-5, "0 is perfect"
    free = np.asarray(batch.legal).sum(axis=1)  # the policies of these samples are even
    np.testing.assert_allclose([first["targets"], last["targets"]], np.log(free).mean(), rtol=1e-3)
    assert int(state.step) == 61
    average, *others = jax.device_get((state.average, begun.params, state.params))
    far, near = (
        max(float(abs(a - b).max()) for a, b in zip(jax.tree.leaves(average), jax.tree.leaves(other), strict=True))
        for other in others
    )
    assert 0 < near < far


def test_a_young_average_follows_quickly(begun, update, batch):
    """After a step, the untrained weights have a tenth of it: a late average of 0.9 would keep nine."""
    once, _ = update(begun, batch)
    twice, _ = update(once, batch)
    none, once, twice = jax.device_get((begun, once, twice))
    for before, after, keep in ((none, once, 1 / 10), (once, twice, 2 / 11)):
        expected = jax.tree.map(lambda old, new, k=keep: k * old + (1 - k) * new, before.average, after.params)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), after.average, expected)


def test_the_rate_warms_up_by_steps_and_cools_down_by_the_budget():
    config = LearnerConfig(rate=1.0, warmup=10, cooldown=0.4, final=0.1)
    when = ((0, 0.0), (4, 0.1), (9, 0.6), (60, 0.8), (70, 1.0), (4, 0.8))
    rates = [float(rate_at(config, jnp.int32(step), spent)) for step, spent in when]
    np.testing.assert_allclose(rates, [0.1, 0.5, 1.0, 0.55, 0.1, 0.275], rtol=1e-5)
    assert float(rate_at(LearnerConfig(rate=1.0, warmup=0), jnp.int32(10**6), 1.0)) == 1.0


def test_illegal_moves_have_no_part_in_the_loss(learner, begun, batch):
    only = jax.tree.map(lambda x: jnp.asarray(x[:1]), jax.device_get(batch))
    slope = jax.jit(jax.grad(lambda bias: learner.loss(_with_bias(begun.params, bias), only)[1]["policy"]))(
        jnp.zeros(9)
    )
    np.testing.assert_array_equal(np.asarray(slope != 0) & ~np.asarray(only.legal[0]), False)
    assert (slope != 0).any()


def _with_bias(params: Any, bias: Any) -> Any:
    layers = dict(params["params"])
    layers["policy"] = {**layers["policy"], "bias": bias}
    return {"params": layers}


@pytest.mark.slow
@pytest.mark.usefixtures("exact_products")
@pytest.mark.parametrize(("size", "turns"), [(24, 3), (32, 4), (31, 1)], ids=["full", "shorter", "odd"])
def test_convolutions_learn_from_parts_of_a_batch_what_they_learn_from_all(batch, monkeypatch, size, turns):
    """Where a whole batch would leave the core: eight samples at a time, or fewer if these divide the batch."""
    learner = Learner(ResNet(channels=4, blocks=1).module(GAME, HEADS).on("cpu"), HEADS, LearnerConfig())
    part = jax.tree.map(lambda x: x[:size], batch)
    params = jax.jit(learner.module.init)(jax.random.key(0), batch.planes[:1])
    found, loops = [], []
    for alone in (False, True):
        monkeypatch.setattr(network, "NEAR", 8 * 9)
        monkeypatch.setattr(network, "has_one_core", lambda alone=alone: alone)

        def slope(params, part=part):
            return learner._slope(params, part)

        loops.append([step.params["length"] for step in jax.make_jaxpr(slope)(params).eqns if "length" in step.params])
        found.append(jax.jit(slope)(params))
    assert loops == [[], [turns] if turns > 1 else []]
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5), *found)


def test_a_broken_step_is_left_out_and_counted(begun, update, batch):
    broken = batch._replace(value=batch.value.at[3].set(jnp.nan))
    state, _ = update(begun, broken)
    state, _ = update(state, broken)
    assert (int(state.step), int(state.skipped), int(state.broken)) == (0, 2, 2)
    jax.tree.map(np.testing.assert_array_equal, state.params, begun.params)
    jax.tree.map(np.testing.assert_array_equal, state.optimiser, begun.optimiser)
    state, _ = update(state, batch)
    assert (int(state.step), int(state.skipped), int(state.broken)) == (1, 2, 0)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_decay_spares_norms_and_biases(begun, name):
    """With no slope at all, only the matrices shrink, by the same share whatever the optimiser."""
    step_of = optimiser(LearnerConfig(optimizer=name, weight_decay=0.5), rate=0.1)
    params = jax.tree.map(lambda x: np.asarray(x) + np.float32(1.0), begun.params)
    step = jax.jit(lambda params: step_of.update(optax.tree.zeros_like(params), step_of.init(params), params)[0])
    change = step(params)
    for (path, leaf), old in zip(jax.tree_util.tree_leaves_with_path(change), jax.tree.leaves(params), strict=True):
        share = 0.05 if leaf.ndim > 1 else 0.0
        np.testing.assert_allclose(leaf, -share * old, rtol=1e-5, err_msg=jax.tree_util.keystr(path))


def test_sgd_learns_too_in_one_trace(learner, begun, batch):
    config = dataclasses.replace(learner.config, optimizer="sgd", rate=0.1, warmup=10)
    other = dataclasses.replace(learner, config=config)
    traces = []

    def counted(state, batch):
        traces.append(state)
        return other.update(state, batch)

    state, update = other.begin(begun.params), jax.jit(counted)
    state, first = update(state, batch)
    for _ in range(60):
        state, last = update(state, batch)
    assert last["loss"] < 0.5 * first["loss"]
    assert (int(state.step), int(state.skipped), len(traces)) == (61, 0, 1)


@pytest.mark.slow
@pytest.mark.usefixtures("two_devices")
def test_two_devices_learn_what_one_learns(learner, begun, batch):
    """Also where one device has nearly all of the weight: the mean of two means would be another number.

    By sgd, whose steps are as near as the slopes; Adam makes steps of any slope that is not 0.
    """
    learner = dataclasses.replace(learner, config=dataclasses.replace(learner.config, optimizer="sgd"))
    begun, update = learner.begin(begun.params), jax.jit(learner.update)
    mesh = devices.make_mesh()
    assert mesh.devices.size == 2
    uneven = jnp.where(jnp.arange(COUNT) < COUNT // 2, 1.0, 0.01)
    batch = batch._replace(policy_weight=uneven, head_weights=batch.head_weights | {"lead": uneven})
    split, whole = PartitionSpec(devices.AXIS), PartitionSpec()
    spread = jax.jit(
        jax.shard_map(
            lambda state, batch: learner.update(state, batch, devices.AXIS),
            mesh=mesh,
            in_specs=(whole, split),
            out_specs=whole,
            check_vma=False,
        )
    )
    one, two = begun, jax.device_put(begun, NamedSharding(mesh, whole))
    shared = jax.device_put(batch, NamedSharding(mesh, split))
    for _ in range(3):
        one, told_one = update(one, batch)
        two, told_two = spread(two, shared)
    assert len(shared.planes.sharding.device_set) == 2
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-6), one.params, jax.device_get(two.params))
    for name in told_one:
        np.testing.assert_allclose(told_one[name], told_two[name], rtol=1e-5, atol=1e-6, err_msg=name)


def test_settings_that_cannot_work_are_refused():
    for change in (
        {"batch": 0},
        {"rate": 0.0},
        {"ema": 1.0},
        {"reuse": 0.0},
        {"momentum": 1.0},
        {"weight_decay": -1.0},
        {"value_weight": -1.0},
        {"head_weight": -0.15},
    ):
        with pytest.raises(UsageError, match="learner"):
            dataclasses.replace(LearnerConfig(), **change)
    with pytest.raises(UsageError, match=r"unknown learner.optimizer 'adam'; choose one of: adamw, sgd"):
        LearnerConfig(optimizer="adam")


def test_a_net_that_tells_no_heads_is_refused_before_it_learns():
    with pytest.raises(UsageError, match=r"Dense has no method `learn`, .* by jaxgo\.nets\.as_net"):
        Learner(nn.Dense(9), (), LearnerConfig())


def test_a_row_tells_of_the_steps_that_were_taken():
    numbers = jnp.array([1.0, jnp.nan, 3.0, jnp.inf])
    assert float(trainer._mean(numbers)) == 2.0
    assert np.isnan(float(trainer._mean(jnp.full(2, jnp.nan))))
