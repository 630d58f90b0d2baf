"""What holds for every test: two CPU devices, types checked at run time, no silent broadcasting, a compile cache."""

import os
from pathlib import Path

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"

from jaxtyping import install_import_hook

install_import_hook("jaxgo", "beartype.beartype")

import hypothesis
import jax
import pytest

CACHE = Path(__file__).parents[1] / ".cache"
jax.config.update("jax_compilation_cache_dir", str(CACHE / "jax"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
jax.config.update("jax_numpy_rank_promotion", "raise")

hypothesis.settings.register_profile("jaxgo", deadline=None, database=None, derandomize=True)
hypothesis.settings.load_profile("jaxgo")


@pytest.fixture(autouse=True)
def _strict_dtypes(request: pytest.FixtureRequest):
    """The rules never let dtypes drift: int8 stays int8."""
    if "rules" in Path(request.node.path).parts:
        with jax.numpy_dtype_promotion("strict"):
            yield
    else:
        yield
