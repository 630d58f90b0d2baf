"""What holds for every test: two CPU devices, types checked at run time, no silent broadcasting, a compile cache."""

import gc
import os
import sys
import time
from pathlib import Path

CACHE = Path(__file__).parents[1] / ".cache"
# this process, the workers and programs that tests start read the libraries compiled, whatever the user's setting:
# each of them would compile them for seconds
os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = str(CACHE / "python")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

import quick

# the last one counts, so flags of the user do
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count=2 {quick.FLAGS} {os.environ.get('XLA_FLAGS', '')}"

from jaxtyping import install_import_hook

install_import_hook("jaxgo", "beartype.beartype")

import hypothesis
import jax
import pytest

jax.config.update("jax_compilation_cache_dir", str(CACHE / "jax"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 1.0)  # writing costs, too
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_traceback_in_locations_limit", 0)  # spares lowering some of its time

# tracing makes so many objects that Python would look for cycles among all of them all the time, for a twentieth of it
gc.freeze()
gc.set_threshold(50_000, 10, 5)

# Linux gives a process 65,530 maps; every compiled program takes some, and XLA crashes when they run out
MAPS = Path("/proc/self/maps")
ENOUGH = 20_000

hypothesis.settings.register_profile("jaxgo", deadline=None, database=None, derandomize=True)
hypothesis.settings.load_profile("jaxgo")


# the second of the clock after which no test begins, for who ends all of it by the clock; see .ci/run
UNTIL = float(os.environ.get("JAXGO_TESTS_UNTIL", "inf"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    if time.time() > UNTIL:
        pytest.skip("NOT RUN: the time of JAXGO_TESTS_UNTIL is over")


@pytest.fixture(autouse=True)
def _strict_dtypes(request: pytest.FixtureRequest):
    """The rules never let dtypes drift: int8 stays int8."""
    if "rules" in Path(request.node.path).parts:
        with jax.numpy_dtype_promotion("strict"):
            yield
    else:
        yield


@pytest.fixture(scope="session")
def two_devices():
    """For tests of what devices share, with a single accelerator nothing; a processor always has two."""
    if jax.default_backend() != "cpu" and jax.device_count() < 2:
        pytest.skip("there is one device")


@pytest.fixture
def exact_products():
    """For tests that compare float32 nets: a GPU would multiply the first 10 bits of each fraction alone."""
    with jax.default_matmul_precision("highest"):
        yield


@pytest.fixture(autouse=True, scope="module")
def _few_programs():
    """Drops the compiled programs of earlier tests before they fill the memory map."""
    if MAPS.exists() and len(MAPS.read_bytes().splitlines()) > ENOUGH:
        jax.clear_caches()
