"""Lanes that take turns reach what each would reach alone, whatever is beside it."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgo.search import turns

START = np.arange(1, 42, dtype=np.int32)


class Walk(NamedTuple):
    number: Any
    steps: Any
    path: Any  # [B, 3]: the last numbers
    calls: Any


def collatz(number: int) -> tuple[int, int, list[int]]:
    steps, path = 0, [0, 0, 0]
    while number != 1:
        path = [number, *path[:2]]
        number, steps = (3 * number + 1 if number % 2 else number // 2), steps + 1
    return number, steps, path


@pytest.mark.parametrize("width", [6, 41])
def test_every_lane_ends_where_it_would_alone(width):
    """Some lanes need a hundred steps and some none; those that wait are not touched."""
    limit = jnp.where(jnp.arange(41) == 26, 50, 10**6)  # 27 needs 111 steps; `limit` is found by the lane's own place

    def active(walk, lanes):
        return (walk.number != 1) & (walk.steps < limit[lanes])

    def step(walk, lanes):
        on = active(walk, lanes)
        after = jnp.where(walk.number % 2 == 1, 3 * walk.number + 1, walk.number // 2)
        path = jnp.concatenate([walk.number[:, None], walk.path[:, :2]], axis=1)
        return Walk(
            jnp.where(on, after, walk.number),
            walk.steps + on,
            jnp.where(on[:, None], path, walk.path),
            walk.calls + 1,
        )

    first = Walk(jnp.asarray(START), jnp.zeros(41, jnp.int32), jnp.zeros((41, 3), jnp.int32), jnp.int32(0))
    found = jax.device_get(jax.jit(lambda walk: turns.go_on(step, active, walk, width))(first))
    whole = [collatz(int(number)) for number in START]
    others = np.arange(41) != 26
    assert found.number[others].tolist() == [1] * 40
    assert found.steps[others].tolist() == [w[1] for w, other in zip(whole, others, strict=True) if other]
    assert found.path[others].tolist() == [w[2] for w, other in zip(whole, others, strict=True) if other]
    assert found.steps[26] == 50
    assert found.calls * width < 41 * 115 / (2 if width == 6 else 0.9)  # far from the longest for everyone


def test_the_last_lanes_go_on_without_the_places_of_the_others():
    """One lane needs a hundred times as many steps as the rest: they pay for few places, not for the whole width."""

    class Countdown(NamedTuple):
        left: Any
        places: Any  # that steps paid for

    def step(state, lanes):
        return Countdown(jnp.maximum(state.left - 1, 0), state.places + lanes.size)

    first = Countdown(jnp.full(20, 3, jnp.int32).at[13].set(300), jnp.int32(0))
    found = jax.jit(lambda state: turns.go_on(step, lambda s, lanes: s.left > 0, state, 8))(first)
    assert found.left.tolist() == [0] * 20
    assert found.places < 300 * 8 / 2


def test_only_a_processor_takes_turns():
    assert turns.width_on("gpu", 1000) == 1000
    assert turns.width_on("cpu", 1000) == turns.WIDTH
    assert turns.width_on("cpu", 3) == 3
