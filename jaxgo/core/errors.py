"""The one exception that means "the user said something wrong"."""

import dataclasses
import math
import numbers
from typing import Any

KINDS: dict[type, tuple[type, str]] = {  # of defaults: what else is taken, and what it is called
    bool: (bool, "True or False"),
    int: (numbers.Integral, "a whole number"),  # numpy's are, too
    float: (numbers.Real, "a number of Python or numpy"),
    str: (str, "a text"),
    tuple: (tuple, "a tuple"),
}
MOST_SEED = 2**31 - 1  # JAX cuts larger ones
LEAST, MOST = 1e-37, 1e38  # of numbers that float32 holds as they are, a little rounded
LONGEST = 60  # letters of a value in a sentence


class UsageError(ValueError):
    """A mistake of the caller, told in one sentence: what, where, what to do.

    Command-line programs print it and exit 2; libraries may catch it. Anything else that is raised is a bug.
    """


def unknown_name(kind: str, name: object, valid: object) -> UsageError:
    """The error for a name that is not in a list of valid names."""
    names = ", ".join(str(v) for v in valid)  # type: ignore[attr-defined]
    return UsageError(f"unknown {kind} {str(name)!r}; choose one of: {names}")


def check_frozen(value: Any, told: str, parent: str) -> None:
    """A UsageError where this is no frozen dataclass that can be hashed: compiled programs are kept by such values."""
    frozen = getattr(getattr(value, "__dataclass_params__", None), "frozen", False)
    try:
        hash(value)
    except TypeError:
        frozen = False
    if not frozen:
        raise UsageError(
            f"{told}: make it a frozen dataclass that inherits {parent}, of fields that can be hashed (a tuple, and no "
            "list or array)"
        )


def brief(value: Any) -> str:
    """A value in a sentence, as it is written where that is short; of arrays and all that has many the kind is told."""
    text = repr(value)
    return text if len(text) <= LONGEST and text.isprintable() else f"a {type(value).__name__}"


def check_kind(value: Any, kind: type | tuple[type, ...], what: str) -> None:
    """A UsageError for a value that is not what its name says, as where two arguments have changed places."""
    if not isinstance(value, kind):
        raise UsageError(f"{brief(value)} is no {what}")


def is_whole(value: Any) -> bool:
    """Whether this is a whole number of Python or numpy; True and False are none."""
    return isinstance(value, KINDS[int][0]) and not isinstance(value, bool)


def first_line(error: Exception) -> str:
    """The first line of somebody else's error; of one without words what it is."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def as_field(field: "dataclasses.Field[Any]", value: Any) -> Any:
    """A value of a field in the field's kind: a float may be written as 1."""
    return float(value) if field.type in (float, "float") and is_whole(value) else value


def check_settings(where: str, settings: Any) -> None:
    """`check_kinds` for `__post_init__`, where numbers of numpy become Python's, and a whole one of a float a float:
    equal settings must have one name, one hash and one line in a file."""
    check_kinds(where, settings)
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        object.__setattr__(settings, field.name, as_field(field, _of_python(value)))  # frozen, but it is being made


def _of_python(value: Any) -> Any:
    """A number, also in tuples, as one of Python; whatever else as it is."""
    if type(value) is tuple:
        return tuple(map(_of_python, value))
    if isinstance(value, int):  # True and False, too
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if isinstance(value, numbers.Real) else value


def check_kinds(where: str, settings: Any) -> None:
    """A UsageError where a field of a dataclass is of another kind than its default (the text "no" would be a switch
    that is on), or a number that float32 makes infinite or 0."""
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        like = type(as_field(field, field.default))
        valid, kind = KINDS.get(like, (object, ""))
        if not isinstance(value, valid) or (isinstance(value, bool) and like in (int, float)):
            raise UsageError(f"{where}{field.name}={value!r} is not {kind}")
        if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral) and not math.isfinite(value):
            raise UsageError(f"{where}{field.name}={value} is not a finite number")
        if like is float and isinstance(value, int | float) and value and not LEAST <= abs(value) <= MOST:
            raise UsageError(
                f"{where}{field.name}={brief(value)} is 0 or infinite in float32; it has {LEAST:g} to {MOST:g}"
            )


def check_seed(seed: int) -> None:
    """A UsageError for a seed that JAX would cut, or not take at all."""
    if not 0 <= seed <= MOST_SEED:
        raise UsageError(f"the seed is a whole number from 0 to {MOST_SEED}, not {seed}")


def check_whole(where: str, settings: Any, most: int) -> None:
    """A UsageError where a whole number among the fields of a dataclass is larger than this; for `__post_init__`."""
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if is_whole(value) and abs(value) > most:
            raise UsageError(f"{where}{field.name}={value} is too large; at most {most:,}")
