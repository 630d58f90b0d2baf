"""bitbully, an independent solver of Connect Four: what it says of every move of a position."""

from types import ModuleType
from typing import Any

import numpy as np

from jaxgo.core.errors import UsageError
from jaxgo.solvers.connect4 import ILLEGAL


def package() -> ModuleType:
    try:
        import bitbully
    except ImportError:
        raise UsageError("bitbully is missing; run: uv sync --extra benchmark") from None
    return bitbully


def move_values(solver: Any, board: Any, actions: int) -> np.ndarray:
    """`int8[actions]`: what each move is worth to its mover, ILLEGAL where the column is full."""
    values = np.full(actions, ILLEGAL, np.int8)
    for column, score in solver.score_all_moves(board).items():
        values[column] = np.sign(score)
    return values
