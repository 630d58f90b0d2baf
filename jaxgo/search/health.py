"""Broken numbers are an error with a name: which game, which lanes of the batch, which evaluator.

Searches say only that something is broken. It may be the rules as well, of a game that is not jaxgo's.
"""

from typing import Any

import numpy as np

from jaxgo.core import trial
from jaxgo.core.errors import UsageError
from jaxgo.search import outside
from jaxgo.search.base import SearchResult
from jaxgo.search.model import Model


class EvaluatorError(UsageError):
    """An evaluator gave numbers that are not finite: its parameters are broken."""


def check(model: Model, result: SearchResult) -> None:
    """Raises an EvaluatorError where the evaluator gave NaN or infinite numbers, or the rules no legal action."""
    healthy = np.asarray(result.healthy)
    if healthy.all():
        return
    lanes = np.flatnonzero(~healthy).tolist()
    some = ", ".join(map(str, lanes[:8])) + (f" and {len(lanes) - 8} more" if len(lanes) > 8 else "")
    where = f"lane {some}" if len(lanes) == 1 else f"lanes {some}"
    raise EvaluatorError(told(model, f"for {model.game} in {where} of {len(healthy)}"))


def told(model: Model, where: str, search: Any = None) -> str:
    """What a search that is not healthy means; a UsageError where random games show that the rules are at fault.

    One of somebody's own is not healthy where it chose a move that is not legal, either.
    """
    trial.check(model.game)
    if search is not None and outside.is_own(search):
        return (
            f"{type(search).__name__} chose a move that is not legal {where}, or found numbers that are not finite; "
            "look at `action` and `healthy` of its result"
        )
    numbers = f"gave NaN or infinite numbers {where}"
    if model.pays or trial.is_own(model.game):
        return (
            f"{model.evaluator} or the rules {numbers}, or the game went on without a legal action; look at the "
            "parameters, at what the rules pay, or at `legal`"
        )
    return f"{model.evaluator} {numbers}; look at its parameters"
