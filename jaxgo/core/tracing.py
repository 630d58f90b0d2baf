"""What programs trace once though they ask for it at many places.

A program of self-play has a loop for each width of a search, and judges in each of them, so it asks for the rules of a
game ten times and more. Each time JAX runs the Python of a rule, which takes seconds where that is long.
"""

import functools
from collections.abc import Callable
from typing import TypeVar

import jax

F = TypeVar("F", bound=Callable[..., object])


def traced_once(method: F) -> F:
    """A method of a frozen dataclass, or a function of one, whose operations are remembered, and laid into each program
    as if traced there."""
    made: F = functools.partial(jax.jit, static_argnums=0, inline=True)(method)  # type: ignore[assignment]
    return made
