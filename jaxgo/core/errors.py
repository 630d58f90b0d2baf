"""The one exception that means "the user said something wrong"."""

import dataclasses
import math
from typing import Any


class UsageError(ValueError):
    """A mistake of the caller, told in one sentence: what, where, what to do.

    Command-line programs print it and exit 2; libraries may catch it. Anything else that is raised is a bug.
    """


def unknown_name(kind: str, name: object, valid: object) -> UsageError:
    """The error for a name that is not in a list of valid names."""
    names = ", ".join(str(v) for v in valid)  # type: ignore[attr-defined]
    return UsageError(f"unknown {kind} {str(name)!r}; choose one of: {names}")


def check_finite(where: str, settings: Any) -> None:
    """A UsageError where a number among the fields of a dataclass is infinite or no number; for `__post_init__`."""
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f"{where}{field.name}={value} is not a finite number")


def check_whole(where: str, settings: Any, most: int) -> None:
    """A UsageError where a whole number among the fields of a dataclass is larger than this; for `__post_init__`."""
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, int) and abs(value) > most:
            raise UsageError(f"{where}{field.name}={value} is too large; at most {most:,}")
