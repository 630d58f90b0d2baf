"""Several hosts on one machine: processes that JAX joins over the loopback."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import quick

ROOT = Path(__file__).parents[1]


def start(words: list[str], hosts: int, devices: int | Sequence[int]) -> list[subprocess.Popen[str]]:
    """A program on so many processes with so many devices each, or with as many as each of them is given."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    each = [devices] * hosts if isinstance(devices, int) else devices
    common = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(ROOT / ".cache" / "jax")}
    common["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "tests"), os.environ.get("PYTHONPATH")]))
    common["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"  # the same programs in many tests
    if hosts > 1:
        common |= {"JAX_COORDINATOR_ADDRESS": f"127.0.0.1:{port}", "JAX_NUM_PROCESSES": str(hosts)}

    def own(host: int) -> dict[str, str]:
        flags = f"--xla_force_host_platform_device_count={each[host]} {quick.FLAGS}"
        return {**common, "XLA_FLAGS": flags} | ({"JAX_PROCESS_ID": str(host)} if hosts > 1 else {})

    return [
        subprocess.Popen(
            [sys.executable, *words],
            cwd=ROOT,
            env=own(host),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for host in range(hosts)
    ]


def wait(children: list[subprocess.Popen[str]], reached: Callable[[], object]) -> None:
    """Until something is reached, while all of them are at work."""
    deadline = time.monotonic() + 300
    while not reached():
        assert all(child.poll() is None for child in children), [child.communicate()[0] for child in children]
        assert time.monotonic() < deadline
        time.sleep(0.01)


def finish(children: list[subprocess.Popen[str]], status: int = 0) -> list[str]:
    """What they said; all of them end with this status."""
    try:
        said = [child.communicate(timeout=400)[0] for child in children]
    finally:
        for child in children:
            child.kill()
    assert [child.returncode for child in children] == [status] * len(children), "\n---\n".join(said)
    return said


def own_words(said: str) -> list[str]:
    """The lines of a host without those in which Gloo says that hosts have met.

    Its threads write at the same time, so two of its lines may come as one, and their ends as an empty line after it.
    """
    return [line for line in said.splitlines() if line.strip() and "Gloo" not in line and "peer ranks" not in line]
