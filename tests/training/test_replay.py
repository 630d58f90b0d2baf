"""The ring: what it keeps, how far it looks back, and how often it shows what."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgo.core.errors import UsageError
from jaxgo.training import replay
from jaxgo.training.config import ReplayConfig
from jaxgo.training.replay import NewSamples
from jaxgo.training.targets import Sample


def samples(numbers, weight=1.0):
    """Samples that are told apart by their value."""
    numbers = jnp.asarray(numbers, jnp.float32)
    half = jnp.ones(numbers.shape, jnp.float16)
    policy = jnp.ones((*numbers.shape, 2), jnp.float16)
    weights = jnp.broadcast_to(jnp.asarray(weight, jnp.float32), numbers.shape)
    return Sample((), policy, half, numbers, half, {}, {}, weights)


def ring(config, batches, size):
    """A ring after these batches, each padded with rows that hold nothing."""
    state = replay.empty(samples(np.zeros(size)), config.capacity)
    add = jax.jit(replay.add)
    for batch in batches:
        padded = [*batch, *[-1.0] * (size - len(batch))]
        state = add(state, NewSamples(samples(padded), jnp.arange(size) < len(batch)))
    return state


def drawn(config, state, batches=200, batch=32, devices=1):
    draw = jax.jit(replay.draw, static_argnums=(0, 3, 4, 5))
    place = draw(config, state, jax.random.key(0), batches, batch, devices)
    return np.asarray(jax.vmap(lambda at: replay.read(state, at).value)(place))


def test_the_oldest_samples_make_room_and_empty_rows_are_not_kept():
    config = ReplayConfig(capacity=8, start=8)
    state = ring(config, [range(5), range(5, 6), [], range(6, 11)], 5)
    assert int(state.seen[0]) == 11
    assert sorted(np.asarray(state.samples.value).tolist()) == list(range(3, 11))
    assert set(drawn(config, state).reshape(-1)) == set(range(3, 11))


def test_nothing_is_drawn_that_was_not_there():
    config = ReplayConfig(capacity=64, start=8)
    state = ring(config, [range(10)], 10)
    assert set(drawn(config, state).reshape(-1)) <= set(range(10))


def test_the_window_grows_by_a_power_and_ends_at_the_capacity():
    config = ReplayConfig(capacity=1000, start=100, growth=0.5, share=0.5)
    seen = jnp.asarray([50, 100, 400, 2_000_000], jnp.uint32)
    # start * (1 + share * ((seen / start) ** growth - 1) / growth)
    np.testing.assert_allclose(replay.window(config, seen, 1), [50, 100, 200, 1000], rtol=1e-5)
    np.testing.assert_allclose(replay.window(config, seen // 2, 2), [25, 50, 100, 500], rtol=1e-5)
    late = ring(
        ReplayConfig(capacity=512, start=16, growth=0.5, share=0.5), [range(k, k + 64) for k in range(0, 256, 64)], 64
    )
    # 16 * (1 + 0.5 * (sqrt(16) - 1) / 0.5) = 64 of the newest
    assert set(drawn(ReplayConfig(capacity=512, start=16, growth=0.5, share=0.5), late).reshape(-1)) == set(
        range(192, 256)
    )


def test_samples_come_in_proportion_to_their_weight_and_each_batch_is_spread():
    config = ReplayConfig(capacity=4, start=4)
    state = replay.empty(samples(np.zeros(4)), 4)
    state = replay.add(state, NewSamples(samples(np.arange(4.0), [0.0, 1.0, 2.0, 5.0]), jnp.ones(4, bool)))
    found = drawn(config, state)
    share = [(found == value).mean() for value in range(4)]
    np.testing.assert_allclose(share, [0, 1 / 8, 2 / 8, 5 / 8], atol=0.01)
    # one draw in each 32nd of the weight: no batch is off by more than one
    assert (abs((found == 3).sum(axis=1) - 20) <= 1).all()
    # and where these do not divide the weights, none is as the other
    state = replay.add(state, NewSamples(samples(np.arange(4.0), [0.0, 1.0, 2.0, 4.0]), jnp.ones(4, bool)))
    found = drawn(config, state)
    for value, weight in ((1, 1), (2, 2), (3, 4)):
        assert (abs((found == value).sum(axis=1) - 32 * weight / 7) < 2).all()
    assert len(np.unique(found, axis=0)) > 1


def test_a_ring_too_small_for_its_samples_says_so():
    state = replay.empty(samples(np.zeros(4)), 4)
    with pytest.raises(UsageError, match=r"replay.capacity is too small: 5 samples .* holds 4"):
        replay.add(state, NewSamples(samples(np.zeros(5)), jnp.ones(5, bool)))
    with pytest.raises(UsageError, match="not between 1 and"):
        ReplayConfig(capacity=8, start=9)


@pytest.mark.slow
def test_a_long_ring_draws_every_sample_by_its_weight():
    """2^24 rows: a running sum in float32 leaves one row in six out. How many different rows come tells of that."""
    rows, batches, batch = 2**24, 8, 2**16
    rng = np.random.default_rng(0)
    weight = np.where(rng.random(rows) < 0.25, 0.5 * rng.exponential(1, rows) + 0.5, 0.25).astype(np.float32)
    place = np.asarray(jax.jit(replay.pick, static_argnums=(2, 3))(weight, jax.random.key(0), batches, batch))
    share = weight / weight.sum(dtype=np.float64)
    expected = (1 - (1 - share * batch) ** batches).sum()  # a batch takes a row once at most
    assert len(np.unique(place)) == pytest.approx(expected, rel=1e-3)
    light = weight == 0.25
    assert light[place].mean() == pytest.approx(share[light].sum(), abs=2e-3)
    # one in each equal part of the weight; at the seams of blocks a few are not
    off = abs(np.cumsum(share)[place[0]] * batch - np.arange(batch) - 0.5)
    assert (off < 1.0).mean() > 0.999


def test_a_ring_that_has_seen_all_that_can_be_counted_goes_on():
    config = ReplayConfig(capacity=1000, start=100)
    old = samples(np.arange(1000.0))
    state = replay.Ring(old, jnp.array([2**32 - 10], jnp.uint32), jnp.array([990], jnp.int32))
    state = jax.jit(replay.add)(state, NewSamples(samples(np.arange(2000.0, 2020.0)), jnp.ones(20, bool)))
    assert int(state.seen[0]) == 2**32 - 1
    assert float(replay.window(config, state.seen, 1)[0]) == 1000
    values = np.asarray(state.samples.value)
    assert values[985:].tolist() == [*range(985, 990), *range(2000, 2010)]
    assert values[:11].tolist() == [*range(2010, 2020), 10.0]


def test_where_no_sample_has_a_weight_all_that_are_there_are_alike():
    config = ReplayConfig(capacity=16, start=4, share=0.0)
    state = replay.add(
        replay.empty(samples(np.zeros(4)), 16), NewSamples(samples(np.arange(4.0), 0.0), jnp.ones(4, bool))
    )
    found = drawn(config, state)
    np.testing.assert_allclose([(found == value).mean() for value in range(4)], 0.25, atol=0.01)


@pytest.mark.parametrize("added", [(3, 2), (8, 5), (30, 30), (30, 29), (0, 0), (4, 9)])
@pytest.mark.parametrize("rings", [1, 2, 4])
def test_samples_are_dealt_out_anew_with_every_age_in_every_ring(added, rings):
    """Two rings of eight rows; the samples are numbered by the time they came."""
    values, seen, cursor = np.full(16, -1), np.array(added, np.uint32), np.array(added, np.int32) % 8
    for device, count in enumerate(added):
        for time in range(count):
            values[8 * device + time % 8] = 2 * time + device
    source, now_seen, now_cursor = replay.rows_of(seen, cursor, 16, rings)
    assert source.shape == (16,)
    assert sorted(source[source < 16]) == sorted(np.flatnonzero(values >= 0)), "none is lost, none is there twice"
    dealt = np.append(values, -1)[source].reshape(rings, -1)
    lines = []
    for row, count, at in zip(dealt, now_seen, now_cursor, strict=True):
        held = min(int(count), len(row))
        oldest_first = np.roll(row, -at)[len(row) - held :]
        assert (oldest_first >= 0).all()
        assert (np.roll(row, -at)[: len(row) - held] == -1).all(), "the next sample takes an empty row"
        assert held == (row >= 0).sum()
        lines.append(oldest_first[::-1])
    assert max(map(len, lines)) - min(map(len, lines)) <= 1
    turns = [line[turn] for turn in range(max(map(len, lines))) for line in lines if turn < len(line)]
    back = [2 * (count - 1 - age) + device for age in range(8) for device, count in enumerate(added) if age < count]
    assert turns == back, "one after another, the newest first"
    if min(added) >= 8:
        assert abs(int(now_seen.sum()) - sum(added)) < rings, "how far a window looks back stays"
