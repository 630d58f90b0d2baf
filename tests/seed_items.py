"""Checks that every item of a seed's checklist names tests, or benchmarks, that exist."""

import ast
import functools
from pathlib import Path

TESTS = Path(__file__).parent
Items = dict[str, tuple[str, ...]]  # an item and what holds it: `folder/test_file.py::test_name`; or why it is partial
PARTIAL = "partial: "


@functools.cache
def functions(path: Path) -> frozenset[str]:
    return frozenset(node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef))


def check(items: Items, prefix: str, count: int) -> None:
    """All items are there in their order, and whatever one names is there, too."""
    numbers = [item.split(" ")[0] for item in items]
    assert numbers == [f"{prefix}{number}" for number in range(1, count + 1)]
    for item, held in items.items():
        assert held, f"{item} names nothing that holds it"
        for word in held:
            if word.startswith(PARTIAL):
                assert word == held[0]
                continue
            place, _, name = word.partition("::")
            path = TESTS.parent / place if place.startswith("benchmarks/") else TESTS / place
            assert path.exists(), f"{item}: there is no {place}"
            assert name in functions(path), f"{item}: there is no {name} in {place}"
