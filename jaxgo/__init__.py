"""jaxgo: a JAX vectorised batch-search engine for board games.

The public names are loaded on first use, so that `python -m jaxgo --help` does not wait for JAX.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

HOMES = {
    "GAMES": "jaxgo.games",
    "make": "jaxgo.games",
    "register": "jaxgo.games",
    "UsageError": "jaxgo.core.errors",
}
__all__ = ["GAMES", "UsageError", "__version__", "make", "register"]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'jaxgo' has no attribute {name!r}")
    return getattr(importlib.import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
