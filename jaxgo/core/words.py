"""Settings as people type them: NAME=VALUE, and what the text of a value means."""

import contextlib
from collections.abc import Mapping
from typing import Any

import numpy as np

Value = bool | int | float | str | tuple[Any, ...]

SWITCHES = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def split_setting(text: str) -> tuple[str, str] | None:
    """The name and the value of NAME=VALUE, which may be empty; None where there is no `=`."""
    name, equals, value = text.partition("=")
    return (name.strip(), value.strip()) if equals else None


def printable(text: str) -> str:
    """The text of somebody else as it can stand in a message or a table: a terminal must not obey it."""
    return "".join(c if c.isprintable() else "?" for c in text)


def native(value: Any) -> Any:
    """Settings in types of Python: tuples, of which JSON has made lists, and its numbers, where numpy's were given."""
    if isinstance(value, np.generic):
        return value.item()
    return tuple(map(native, value)) if isinstance(value, list) else value


def read_value(text: str, like: Value | None = None) -> Value:
    """The text as a value of the kind of `like`, or else of the first kind that fits: a switch, a number, numbers with
    commas between them.

    A text that is nothing of the kind stays a text; who asked knows what to say of it.
    """
    if isinstance(like, tuple):
        return tuple(read_value(part.strip(), like[0] if like else None) for part in text.split(",") if part.strip())
    kinds = (bool, int, float) if like is None else (type(like),)
    for kind in kinds:
        if kind is bool and text.lower() in SWITCHES:
            return SWITCHES[text.lower()]
        if kind in (int, float):
            with contextlib.suppress(ValueError):
                return kind(text)
    if like is None and "," in text:
        numbers: Any = read_value(text, ())
        if numbers and not any(isinstance(number, str) for number in numbers):
            return tuple(numbers)
    return text


def write_value(value: Any) -> str:
    """A value as `read_value` reads it: one word, with commas in a tuple."""
    if isinstance(value, (tuple, list)):  # JSON makes lists of tuples
        return ",".join(map(write_value, value)) + ("," if len(value) == 1 else "")
    return str(value)


def write_settings(settings: Mapping[str, Any]) -> list[str]:
    """Settings as they are typed, each NAME=VALUE."""
    return [f"{name}={write_value(value)}" for name, value in settings.items()]
