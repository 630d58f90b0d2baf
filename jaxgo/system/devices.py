"""The devices of a run: one mesh with the axis `data`, how arrays lie on it, and the start of several hosts."""

import contextlib
import functools
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from jaxgo.core.errors import UsageError

AXIS = "data"
# where Linux tells the memory that a container may use: since 2016, and before
CONTAINER = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
LOST = 60  # seconds without a sign of a host after which JAX ends the others; `pulse` does sooner, with a sentence


def join_hosts() -> None:
    """Joins the hosts of a cluster, where there is one; comes before anything that touches a device.

    Slurm, Open MPI up to 4 and TPU pods are found by JAX itself; with JAXGO_POD=1 it asks a pod's own service, where
    no variable tells of a pod. Anything else names JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID; Open
    MPI has the numbers.
    """
    known = os.environ.get
    # it would hear SIGTERM in the place of the system, and do nothing: who waits for the others could not be ended
    jax.config.update("jax_enable_preemption_service", False)
    address = known("JAX_COORDINATOR_ADDRESS")
    count, index = known("OMPI_COMM_WORLD_SIZE", ""), known("OMPI_COMM_WORLD_RANK", "")
    if address:
        count, index = known("JAX_NUM_PROCESSES", count), known("JAX_PROCESS_ID", index)
        if not (count.isdecimal() and index.isdecimal()):
            raise UsageError("JAX_COORDINATOR_ADDRESS needs JAX_NUM_PROCESSES and JAX_PROCESS_ID, two whole numbers")
        jax.distributed.initialize(address, int(count), int(index), heartbeat_timeout_seconds=LOST)
    elif count.isdecimal() and int(count) > 1 and not known("OMPI_MCA_orte_hnp_uri"):
        raise UsageError(
            f"Open MPI has started {count} processes and does not say where the first one is; give each of them "
            "JAX_COORDINATOR_ADDRESS=HOST:PORT of the first (mpirun -x JAX_COORDINATOR_ADDRESS)"
        )
    elif _processes() > 1 or known("JAXGO_POD") == "1":
        jax.distributed.initialize(heartbeat_timeout_seconds=LOST)
    else:
        return
    if _alone_here() and not known("JAX_LOCAL_DEVICE_IDS"):
        # where JAX knows the launcher, it gives a process the one device that has the number of the process on its host
        for name in ("jax_cuda_visible_devices", "jax_rocm_visible_devices"):
            jax.config.update(name, known(name.upper(), "all"))


def _alone_here() -> bool:
    """Whether the launcher has started one process on each host, as far as it says so: it has all of its devices."""
    each = os.environ.get("SLURM_STEP_TASKS_PER_NODE", os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE", "1"))
    return set(re.sub(r"\(x\d+\)", "", each).split(",")) == {"1"}  # such as 1(x2)


def cores() -> int:
    """How many cores of the processor this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def has_one_core() -> bool:
    """Whether each device of the processor is one core; a device of several works on the parts of a layer together.

    For choices of speed alone: a program lowered on another host may choose otherwise, and says the same.
    """
    try:
        return cores() < 2 * len(jax.local_devices(backend="cpu"))
    except RuntimeError:  # the processor is not in use here, as with JAX_PLATFORMS=cuda
        return False


@functools.cache
def multiplies_bfloat16() -> bool:
    """Whether this processor multiplies bfloat16 faster than float32, as Linux tells. For choices of speed, too."""
    try:
        flags = set(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return False
    return bool(flags & {"amx_bf16", "avx512_bf16"})


def use_cores(most: int = 0) -> None:
    """Makes every core of the processor a device, for programs of games side by side; before any array is made.

    With `most`, a power of two up to it, which shares out any number of games that divides by it. Accelerators are not
    touched, nor is a count that the user has set, nor a backend that runs already.
    """
    count = cores()
    if most:
        count = 1 << (min(count, most).bit_length() - 1)
    if "device_count" in os.environ.get("XLA_FLAGS", "") or jax.config.jax_num_cpu_devices > 0:  # type: ignore[attr-defined]
        return
    try:
        jax.config.update("jax_num_cpu_devices", count)
    except RuntimeError:
        return


def keep_programs() -> None:
    """Keeps compiled programs in the user's cache, unless he keeps them elsewhere: the next start is quick."""
    if jax.config.jax_compilation_cache_dir is None:  # type: ignore[attr-defined]
        try:
            folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "jaxgo", "compiled")
        except RuntimeError:  # a user without a home, as in some containers
            return
        jax.config.update("jax_compilation_cache_dir", str(folder))


def check_platforms() -> None:
    """A UsageError where JAX_PLATFORMS lets JAX find no device; otherwise it starts JAX's backends."""
    named = os.environ.get("JAX_PLATFORMS")
    try:
        if named:
            jax.devices()
    except (AssertionError, RuntimeError):
        raise UsageError(
            f"JAX_PLATFORMS={named} names a device that JAX cannot use here; leave it out, or set it to cpu"
        ) from None


def stay_aside() -> None:
    """Leaves accelerators and most of the CPUs' time to others; for programs that stand beside a run of training."""
    if not os.environ.get("JAX_PLATFORMS"):
        jax.config.update("jax_platforms", "cpu")  # before anybody asks for a device
    if hasattr(os, "nice"):
        os.nice(10)


def _processes() -> int:
    """How many processes the launcher says there are."""
    counts = [os.environ.get(name, "") for name in ("SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE")]
    workers = os.environ.get("TPU_WORKER_HOSTNAMES", "").split(",")
    return max(len(workers), *(int(count) if count.isdecimal() else 1 for count in counts))


def make_mesh(devices: Sequence[jax.Device] | None = None) -> Mesh:
    """All devices, or these, side by side along the axis `data`."""
    chosen = jax.devices() if devices is None else list(devices)
    return jax.make_mesh((len(chosen),), (AXIS,), axis_types=(AxisType.Auto,), devices=chosen)


def platform(mesh: Mesh) -> str:
    """What the devices of a mesh are: cpu, gpu or tpu. Programs are chosen by this, never by what else a host has."""
    return str(mesh.devices.flat[0].platform)


def beside(mesh: Mesh) -> Mesh:
    """A CPU device of the same host for each of these: what lies on them is in the memory of the hosts."""
    if platform(mesh) == "cpu":
        return mesh
    try:
        free = jax.devices("cpu")
    except RuntimeError:
        raise UsageError("memory of the host needs JAX's CPU devices too: add cpu to JAX_PLATFORMS") from None
    return make_mesh(neighbours(list(mesh.devices.flat), free))


def neighbours(wanted: Sequence[Any], free: Sequence[Any]) -> list[Any]:
    """For each of the wanted devices a free one of the same process."""
    chosen: list[Any] = []
    for device in wanted:
        found = next((one for one in free if one.process_index == device.process_index and one not in chosen), None)
        if found is None:
            raise UsageError(
                "memory of the host needs a CPU device for each accelerator of a process: "
                f"set JAX_NUM_CPU_DEVICES={len(wanted)}"
            )
        chosen.append(found)
    return chosen


def carry(tree: Any, source: Mesh, target: Mesh, spec: PartitionSpec) -> Any:
    """Arrays from the devices of one mesh to those at the same places of another; nothing goes from host to host."""
    if source == target:
        return tree
    there = dict(zip(source.devices.flat, target.devices.flat, strict=True))

    def move(x: jax.Array) -> jax.Array:
        parts = [jax.device_put(part.data, there[part.device]) for part in x.addressable_shards]
        return jax.make_array_from_single_device_arrays(x.shape, NamedSharding(target, spec), parts)

    return jax.tree.map(move, tree)


def split(mesh: Mesh) -> NamedSharding:
    """The first axis in equal parts, one for each device."""
    return NamedSharding(mesh, PartitionSpec(AXIS))


def copied(mesh: Mesh) -> NamedSharding:
    """The whole array on every device."""
    return NamedSharding(mesh, PartitionSpec())


def nearest_share(count: int, mesh: Mesh) -> int:
    """The number nearest to `count` games or samples that can be shared out evenly."""
    devices = mesh.devices.size
    return max(devices, round(count / devices) * devices)


def check_divides(counts: Mapping[str, int], near: Mapping[str, int], mesh: Mesh) -> None:
    """A UsageError where one of these numbers of games or samples cannot be shared out evenly, with those `near` to all
    that can: one that is changed alone may ask for the next."""
    wrong = [f"{name}={count}" for name, count in counts.items() if count < 1 or count % mesh.devices.size]
    if wrong:
        others = " ".join(f"--{name} {near[name]}" for name, count in counts.items() if near[name] != count)
        raise UsageError(f"{', '.join(wrong)} cannot be shared by {mesh.devices.size} devices; say {others}")


def is_first_host() -> bool:
    """Whether this process writes what only one may write."""
    return jax.process_index() == 0


def several_hosts() -> bool:
    return jax.process_count() > 1


def connect(mesh: Mesh) -> None:
    """Joins all devices in a program that is compiled at once. Devices of several hosts wait for each other no longer
    than half a minute when they first meet, and larger programs are not compiled everywhere within that."""
    if several_hosts():
        total = jax.jit(jnp.sum, out_shardings=copied(mesh))(tell(mesh, [1.0]))
        jax.block_until_ready(total)


def of_this_host(mesh: Mesh) -> Mesh:
    """The devices of a mesh that are this host's: for what the hosts do apart."""
    return make_mesh(list(mesh.local_devices)) if several_hosts() else mesh


def tell(mesh: Mesh, numbers: Sequence[float]) -> jax.Array:
    """The numbers of this process as a row for each of its devices: what it says to a program that all of them run."""
    return _rows(mesh, np.asarray(numbers, np.float32))


def _rows(mesh: Mesh, row: np.ndarray) -> jax.Array:
    """The same row for each device of this process, and those of the others for theirs."""
    rows = np.tile(row, (len(mesh.local_devices), 1))
    return jax.make_array_from_process_local_data(split(mesh), rows, (mesh.devices.size, len(row)))


def lay(tree: Any, sharding: Any) -> Any:
    """Arrays that all hosts have, laid out so; each device has a copy of its own, which a program may write into.

    `jax.device_put` lets hosts compare theirs, which those with unequal numbers of devices cannot (JAX 0.10).
    """

    def laid(x: Any) -> jax.Array:
        whole = np.asarray(x)
        places = sharding.addressable_devices_indices_map(whole.shape)
        parts = [jax.device_put(whole[index].copy(), device) for device, index in places.items()]
        return jax.make_array_from_single_device_arrays(whole.shape, sharding, parts)

    return jax.tree.map(laid, tree)


def first_row(mesh: Mesh) -> int:
    """The row of `tell` that the first host has written."""
    return next(row for row, device in enumerate(mesh.devices.flat) if device.process_index == 0)


def from_first_host(numbers: Sequence[int | float]) -> list[float]:
    """What the first host has, on every host; all of them must ask, and wait for each other here."""
    if not several_hosts():
        return [float(x) for x in numbers]
    mesh = make_mesh()
    words = np.asarray(numbers, np.float64).view(np.uint32)  # JAX would round them to float32
    return np.asarray(_first(mesh, _rows(mesh, words))).view(np.float64).tolist()


@functools.partial(jax.jit, static_argnums=0)
def _first(mesh: Mesh, rows: jax.Array) -> jax.Array:
    """What the first host has written, on all devices; JAX's own `broadcast_one_to_all` wants hosts of equal size."""
    return jax.lax.with_sharding_constraint(rows[first_row(mesh)], copied(mesh))


def describe() -> str:
    """The devices in words."""
    devices = jax.devices()
    return f"{len(devices)} x {devices[0].platform} {devices[0].device_kind}"


def memory(mesh: Mesh) -> int:
    """Bytes that the devices of a mesh have, those of other hosts as many as these; 0 where nobody tells."""
    if platform(mesh) == "cpu":
        return host_memory() * len({device.process_index for device in mesh.devices.flat})
    each = min((device.memory_stats() or {}).get("bytes_limit", 0) for device in mesh.local_devices)
    return int(each) * mesh.devices.size


def host_memory() -> int:
    """Bytes of memory that this host has, or its container; 0 where nobody tells."""
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0
    limits = [whole]
    for file in CONTAINER:
        with contextlib.suppress(OSError, ValueError):  # no container, or one without a limit, which says "max"
            limits.append(int(file.read_text()))
    return min(limits)
