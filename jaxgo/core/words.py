"""Settings as people type them: NAME=VALUE, and what the text of a value means."""

import contextlib
from typing import Any

Value = bool | int | float | str

SWITCHES = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def split_setting(text: str) -> tuple[str, str] | None:
    """The name and the value of NAME=VALUE, which may be empty; None where there is no `=`."""
    name, equals, value = text.partition("=")
    return (name.strip(), value.strip()) if equals else None


def tuples(value: Any) -> Any:
    """The tuples that settings are, where JSON has made lists of them."""
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def read_value(text: str, like: Value | None = None) -> Value:
    """The text as a value of the kind of `like`, or else of the first kind that fits: a switch, a number.

    A text that is nothing of the kind stays a text; who asked knows what to say of it.
    """
    kinds = (bool, int, float) if like is None else (type(like),)
    for kind in kinds:
        if kind is bool and text.lower() in SWITCHES:
            return SWITCHES[text.lower()]
        if kind in (int, float):
            with contextlib.suppress(ValueError):
                return kind(text)
    return text
