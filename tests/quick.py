"""Flags with which XLA compiles for the suite: most of its time is compilation, and what runs is tiny.

Users' programs are compiled by other parts of XLA. To test with these:
`XLA_FLAGS="--xla_backend_optimization_level=3 --xla_cpu_use_fusion_emitters=true" uv run pytest`.
"""

import importlib.util
import mmap
from pathlib import Path

_WISHES = {
    "xla_backend_optimization_level": "0",  # without LLVM's dear passes
    "xla_cpu_use_fusion_emitters": "false",  # the emitters of before take half the time
    "xla_cpu_parallel_codegen_split_count": "1",  # both cores have a worker of pytest
}


def _known(name: str) -> bool:
    """Whether this XLA has a flag of that name; it ends the process at one that it does not know."""
    (folder,) = importlib.util.find_spec("jaxlib").submodule_search_locations
    for library in Path(folder).glob("libjax_common.*"):
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(name.encode()) >= 0
    return False


_SPARED = [name for name in _WISHES if _known(name)]
FLAGS = " ".join(f"--{name}={_WISHES[name]}" for name in _SPARED)
# options of `jax.jit` for a program whose sums must be rounded as users' programs round them
USUAL = {name: True for name in _SPARED if name == "xla_cpu_use_fusion_emitters"}
