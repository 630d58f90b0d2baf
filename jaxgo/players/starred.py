"""Specs with a star behind their @, each of which names the players of many weights: `gumbel:64@runs/go9/*`."""

import dataclasses
from collections.abc import Sequence

from jaxgo.core.errors import UsageError
from jaxgo.players.spec_text import is_external, parse
from jaxgo.system.weights import STARS, starred


def every_spec(specs: Sequence[str], most: int | None = None) -> list[str]:
    """The specs, with one for each of the weights in place of a spec with a star; `most`: of each run so many steps."""
    if most is not None and most < 1:
        raise UsageError(f"of a star at least one step of each run plays, not {most}")
    found: list[str] = []
    for spec in specs:
        words = None if is_external(spec) else parse(spec)
        if words is None or "*" not in words.weights:
            found.append(spec)
        else:
            found += [str(dataclasses.replace(words, weights=place)) for place in starred(words.weights, most)]
    if most is not None and found == list(specs):
        raise UsageError(f"{most} steps of which run? None of the agents has a star; {STARS}")
    return found
