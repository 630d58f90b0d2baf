"""The mesh: every device, even shares, and clear words where that cannot be."""

from types import SimpleNamespace
from unittest.mock import Mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src import clusters
from jax.sharding import Mesh

from jaxgo.core.errors import UsageError
from jaxgo.system import devices


@pytest.mark.usefixtures("two_devices")
def test_the_mesh_has_every_device_and_shares_evenly():
    mesh = devices.make_mesh()
    assert mesh.axis_names == (devices.AXIS,)
    assert mesh.devices.size == len(jax.devices()) == 2
    games = jax.device_put(jnp.arange(6), devices.split(mesh))
    assert [shard.data.tolist() for shard in games.addressable_shards] == [[0, 1, 2], [3, 4, 5]]
    weights = jax.device_put(jnp.arange(6), devices.copied(mesh))
    assert all(shard.data.tolist() == [0, 1, 2, 3, 4, 5] for shard in weights.addressable_shards)
    assert devices.describe().startswith("2 x cpu")


def test_a_user_without_a_home_keeps_no_programs(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(devices.Path, "home", Mock(side_effect=RuntimeError("Could not determine home directory.")))
    before = jax.config.jax_compilation_cache_dir
    try:
        jax.config.update("jax_compilation_cache_dir", None)
        devices.keep_programs()
        assert jax.config.jax_compilation_cache_dir is None
    finally:
        jax.config.update("jax_compilation_cache_dir", before)


@pytest.mark.usefixtures("two_devices")
@pytest.mark.parametrize(("count", "near"), [(7, 8), (1, 2), (0, 2)])
def test_an_uneven_share_is_refused_with_a_number_that_can_be(count, near):
    mesh = devices.make_mesh()
    with pytest.raises(UsageError, match=f"^games={count} cannot be shared by 2 devices; say --games {near}$"):
        devices.check_divides({"games": count}, {"games": devices.nearest_share(count, mesh)}, mesh)


def test_the_first_host_is_found_wherever_its_devices_are():
    hosts = [SimpleNamespace(process_index=number) for number in (2, 1, 0, 0)]
    assert devices.first_row(Mock(spec=Mesh, devices=np.array(hosts, object))) == 2


def test_what_the_first_host_says_arrives_to_the_last_digit(monkeypatch):
    """Steps beyond 2^24 do not fit into the float32 that JAX makes of them."""
    said = [2**24 + 1, -1, 0.1]
    assert devices.from_first_host(said) == said
    monkeypatch.setattr(devices, "several_hosts", lambda: True)
    assert devices.from_first_host(said) == said


def test_hosts_are_joined_only_where_there_are_some(monkeypatch):
    asked = []
    monkeypatch.setattr(jax.distributed, "initialize", lambda *args, **more: asked.append((*args, more)))
    devices.join_hosts()
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "1")
    devices.join_hosts()
    assert asked == []
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "4")
    devices.join_hosts()
    monkeypatch.delenv("SLURM_STEP_NUM_TASKS")
    monkeypatch.setenv("JAXGO_POD", "1")
    devices.join_hosts()
    assert asked == 2 * [({"heartbeat_timeout_seconds": devices.LOST},)]
    monkeypatch.setenv("JAX_COORDINATOR_ADDRESS", "10.0.0.1:1234")
    with pytest.raises(UsageError, match="needs JAX_NUM_PROCESSES and JAX_PROCESS_ID"):
        devices.join_hosts()
    monkeypatch.setenv("JAX_NUM_PROCESSES", "2")
    monkeypatch.setenv("JAX_PROCESS_ID", "1")
    devices.join_hosts()
    assert asked[-1][:3] == ("10.0.0.1:1234", 2, 1)


def test_open_mpi_has_the_numbers_and_not_always_the_address(monkeypatch):
    asked = []
    monkeypatch.setattr(jax.distributed, "initialize", lambda *args, **more: asked.append(args))
    for name, value in (("SIZE", "2"), ("RANK", "1"), ("LOCAL_SIZE", "1")):
        monkeypatch.setenv(f"OMPI_COMM_WORLD_{name}", value)
    with pytest.raises(UsageError, match="Open MPI has started 2 processes and does not say where the first one is"):
        devices.join_hosts()
    monkeypatch.setenv("OMPI_MCA_orte_hnp_uri", "1531576320.0;tcp://10.96.0.1:34911")
    devices.join_hosts()
    monkeypatch.setenv("JAX_COORDINATOR_ADDRESS", "10.0.0.1:1234")
    devices.join_hosts()
    assert asked == [(), ("10.0.0.1:1234", 2, 1)]


@pytest.mark.parametrize(("tasks", "seen"), [("1(x2)", "all"), ("1", "all"), ("2(x2)", "1"), ("1,2", "1")])
def test_a_process_that_is_alone_on_its_host_has_all_devices_there(monkeypatch, tasks, seen):
    """JAX leaves a process of Slurm or Open MPI one device: seven of eight stood idle."""
    slurm = {"SLURM_JOB_ID": "7", "SLURM_STEP_NODELIST": "a,b", "SLURM_NTASKS": "2", "SLURM_PROCID": "0"}
    for name, value in (slurm | {"SLURM_STEP_NUM_TASKS": "2", "SLURM_LOCALID": "1"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SLURM_STEP_TASKS_PER_NODE", tasks)
    set_ = {}

    def initialize(**given):
        """As jax.distributed begins, up to where it would connect."""
        found = clusters.ClusterEnv.auto_detect_unset_distributed_params(None, None, None, None, None, 1)
        jax.config.update("jax_cuda_visible_devices", ",".join(map(str, found[3])))

    monkeypatch.setattr(jax.config, "update", set_.__setitem__)
    monkeypatch.setattr(jax.distributed, "initialize", initialize)
    devices.join_hosts()
    assert set_["jax_cuda_visible_devices"] == seen


def test_a_container_has_no_more_memory_than_its_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(devices, "CONTAINER", (tmp_path / "max", tmp_path / "none"))
    whole = devices.host_memory()
    (tmp_path / "max").write_text("max\n")
    assert devices.host_memory() == whole
    (tmp_path / "max").write_text("1048576\n")
    assert devices.host_memory() == 2**20
