"""Broken numbers are an error with a name: which game, which lanes of the batch, which evaluator."""

import numpy as np

from jaxgo.core.errors import UsageError
from jaxgo.search.base import SearchResult
from jaxgo.search.model import Model


class EvaluatorError(UsageError):
    """An evaluator gave numbers that are not finite: its parameters are broken."""


def check(model: Model, result: SearchResult) -> None:
    """Raises an EvaluatorError where the evaluator gave NaN or infinite numbers."""
    healthy = np.asarray(result.healthy)
    if healthy.all():
        return
    lanes = np.flatnonzero(~healthy).tolist()
    some = ", ".join(map(str, lanes[:8])) + (f" and {len(lanes) - 8} more" if len(lanes) > 8 else "")
    where = f"lane {some}" if len(lanes) == 1 else f"lanes {some}"
    raise EvaluatorError(
        f"{model.evaluator} gave NaN or infinite numbers for {model.game} in {where} of {len(healthy)}; "
        "look at its parameters"
    )
