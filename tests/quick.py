"""Flags with which XLA compiles for the suite: most of its time is compilation, and what runs is tiny.

Users' programs are compiled by other parts of XLA. To test with these:
`XLA_FLAGS="--xla_backend_optimization_level=3 --xla_cpu_use_fusion_emitters=true" uv run pytest`.
"""

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

_WISHES = {
    "xla_backend_optimization_level": "0",  # without LLVM's dear passes
    "xla_cpu_use_fusion_emitters": "false",  # the emitters of before take half the time
    "xla_cpu_parallel_codegen_split_count": "1",  # both cores have a worker of pytest
}
_CACHE = Path(__file__).parents[1] / ".cache"


def _taken(flags: list[str]) -> bool:
    """Whether this XLA takes the flags; it ends the process at one that it does not know, so another one tries."""
    environment = {**os.environ, "XLA_FLAGS": " ".join(flags), "JAX_PLATFORMS": "cpu"}
    words = [sys.executable, "-c", "import jax; jax.devices()"]
    return subprocess.run(words, env=environment, capture_output=True, check=False).returncode == 0


def _spared() -> list[str]:
    """The names of the wishes that this XLA grants; asked once for each version of it."""
    memo = _CACHE / f"xla-flags-{importlib.metadata.version('jaxlib')}.json"
    if memo.exists():
        return json.loads(memo.read_text())
    flags = {name: f"--{name}={value}" for name, value in _WISHES.items()}
    names = list(flags) if _taken([*flags.values()]) else [name for name in flags if _taken([flags[name]])]
    _CACHE.mkdir(exist_ok=True)
    fresh = memo.with_suffix(f".{os.getpid()}")  # workers may ask at the same time
    fresh.write_text(json.dumps(names))
    fresh.replace(memo)
    return names


_SPARED = _spared()
FLAGS = " ".join(f"--{name}={_WISHES[name]}" for name in _SPARED)
# options of `jax.jit` for a program whose sums must be rounded as users' programs round them
USUAL = {name: True for name in _SPARED if name == "xla_cpu_use_fusion_emitters"}
# ... for one that runs for seconds, so that the first passes of LLVM pay
BRISK = {name: 1 for name in _SPARED if name == "xla_backend_optimization_level"}
# ... and for one that runs for minutes, so that it pays to compile it as users' programs are
THOROUGH = USUAL | {name: 3 for name in _SPARED if name == "xla_backend_optimization_level"}
