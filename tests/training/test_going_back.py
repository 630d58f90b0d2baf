"""Going back to an earlier checkpoint: what is other from there on."""

import inspect
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxgo.system import devices
from jaxgo.training import going_back


class Samples(NamedTuple):
    key: Any


class State(NamedTuple):
    key: Any
    replay: Samples


@pytest.mark.usefixtures("two_devices")
def test_random_numbers_are_renewed_where_samples_lie_on_other_devices_than_the_run():
    """As with `replay.memory=host` beside an accelerator: no program takes arrays of both."""
    mine, beside = (
        NamedSharding(Mesh(np.array(order), "x"), PartitionSpec()) for order in (jax.devices(), jax.devices()[::-1])
    )
    state = State(jax.device_put(jax.random.key(1), mine), Samples(jax.device_put(jax.random.key(2), beside)))
    fresh = inspect.unwrap(going_back.renewed)(state)
    assert (fresh.key.sharding, fresh.replay.key.sharding) == (mine, beside)
    for one, other in ((fresh.key, state.key), (fresh.replay.key, state.replay.key)):
        assert (jax.random.key_data(one) != jax.random.key_data(other)).any()


def test_a_container_has_no_more_memory_than_its_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(devices, "CONTAINER", (tmp_path / "max", tmp_path / "none"))
    whole = devices.host_memory()
    (tmp_path / "max").write_text("max\n")
    assert devices.host_memory() == whole
    (tmp_path / "max").write_text("1048576\n")
    assert devices.host_memory() == 2**20
