"""What a compiled program will do on an accelerator, read from its text: kernels, predicates, copies, convolutions.

A `while` whose trips XLA does not know, and a `conditional`, make the host wait for a predicate. How often such loops
turn is counted by `counting`, on a processor, and put together with the text by the function that wrote the loop.
"""

import collections
import contextlib
import dataclasses
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "partition-id", "replica-id"}
FREE |= {"opt-barrier"}
IN_PLACE = ("scatter", "dynamic_update_slice", "dynamic-update-slice")  # kernels that write a part of their result
JUDGES = ("network.py:judge_some.<locals>.piecewise",)  # what these loops move is the network's, and reckoned with it
COLLECTIVES = ("all-reduce", "all-gather", "all-to-all", "collective-permute", "reduce-scatter")
BYTES = {"pred": 1, "s8": 1, "u8": 1, "bf16": 2, "f16": 2, "s16": 2, "u16": 2, "f32": 4, "s32": 4, "u32": 4, "f64": 8}

Site = str  # file:function


@dataclasses.dataclass
class Cost:
    """What one execution takes; loops of unknown length apart."""

    kernels: float = 0.0
    predicates: float = 0.0
    copies: float = 0.0
    moved: float = 0.0  # bytes: results of kernels that write all of them, twice, as one reads about what it writes

    def add(self, other: "Cost", times: float = 1.0) -> None:
        self.kernels += other.kernels * times
        self.predicates += other.predicates * times
        self.copies += other.copies * times
        self.moved += other.moved * times


class Module:
    """The text of a compiled program."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._bodies, self.entry = _computations(text)
        self._sites = _sites(text)
        self.loops: dict[Site, list[Cost]] = collections.defaultdict(list)  # one turn of each copy of a loop
        self.branches: dict[Site, list[Cost]] = collections.defaultdict(list)  # the longest branch of each conditional
        self.whole = self._cost(self.entry)

    def executed(self, turns: dict[Site, list[int]]) -> Cost:
        """Of the whole program, where the loops turn so often; `turns` has a number for each time that one is run."""
        total = dataclasses.replace(self.whole)
        for site, copies in self.loops.items():
            each = Cost()
            for copy in copies:
                each.add(copy, 1 / len(copies))
            total.add(each, sum(turns.get(site, [])))
            total.predicates += sum(turns.get(site, [])) + len(turns.get(site, []))
        return total

    def unknown(self, turns: dict[Site, list[int]]) -> list[Site]:
        """Loops of the program that were never counted."""
        return sorted(set(self.loops) - set(turns))

    @property
    def convolutions(self) -> dict[str, int]:
        """How many there are of each type of number."""
        made = re.findall(r"= \(?(\w+)\[[^\n]*custom_call_target=\"__cudnn\$conv", self.text)
        return dict(collections.Counter(made + re.findall(r"= (\w+)\[\S* convolution\(", self.text)))

    @property
    def collectives(self) -> list[tuple[str, str, int]]:
        """Each collective with its type of number and its bytes."""
        found = []
        for kind in COLLECTIVES:
            for shapes in re.findall(rf"= (.*?) {kind}(?:-start)?\(", self.text):
                sizes = collections.Counter[str]()
                for dtype, size in _arrays(shapes):
                    sizes[dtype] += size
                found += [(kind, dtype, size) for dtype, size in sizes.items()]
        return found

    def _cost(self, name: str) -> Cost:
        cost = Cost()
        for line in self._bodies.get(name, []):
            kind = _kind(line)
            if kind is None or kind in FREE:
                continue
            if kind == "while":
                self._loop(line, cost)
            elif kind == "conditional":
                longest = max(map(self._cost, _branches(line)), key=lambda one: one.kernels)
                self.branches[self._site(line)].append(longest)
                cost.add(longest)
                cost.predicates += 1
            elif kind == "call":
                cost.add(self._cost(_named(line, "to_apply")))
            else:
                cost.kernels += 1
                cost.copies += kind.startswith("copy")
                cost.moved += 2 * _result(line) if _writes_all(line, kind) else 0
        return cost

    def _loop(self, line: str, cost: Cost) -> None:
        turn = self._cost(_named(line, "body"))
        turn.add(self._cost(_named(line, "condition")))
        known = re.search(r'known_trip_count":\{"n":"(\d+)"', line)
        if known:
            cost.add(turn, int(known.group(1)))
            return
        site = self._site(line)
        self.loops[site].append(dataclasses.replace(turn, moved=0.0) if site in JUDGES else turn)

    def _site(self, line: str) -> Site:
        frame = re.search(r"stack_frame_id=(\d+)", line)
        return self._sites.get(int(frame.group(1)), "?") if frame else "?"


def _computations(text: str) -> tuple[dict[str, list[str]], str]:
    """The lines of each computation, and the name of the first."""
    found: dict[str, list[str]] = {}
    entry, now = "", ""
    for line in text.splitlines():
        head = re.match(r"^(ENTRY )?%?([\w.\-]+) \(.*\{\s*$", line)
        if head:
            now = head.group(2)
            found[now] = []
            entry = now if head.group(1) else entry
        elif line.startswith("}"):
            now = ""
        elif now and line.startswith("  "):
            found[now].append(line.strip())
    return found, entry


def _sites(text: str) -> dict[int, Site]:
    """Which function wrote what has a stack frame."""
    files = dict(re.findall(r'^(\d+) "(.*)"$', _table(text, "FileNames"), re.MULTILINE))
    functions = dict(re.findall(r'^(\d+) "(.*)"$', _table(text, "FunctionNames"), re.MULTILINE))
    places = {}
    for number, file, function in re.findall(
        r"^(\d+) \{file_name_id=(\d+) function_name_id=(\d+)", _table(text, "FileLocations"), re.MULTILINE
    ):
        places[number] = f"{Path(files.get(file, '?')).name}:{functions.get(function, '?')}"
    frames = re.findall(r"^(\d+) \{file_location_id=(\d+)", _table(text, "StackFrames"), re.MULTILINE)
    return {int(frame): places.get(place, "?") for frame, place in frames}


def _table(text: str, name: str) -> str:
    found = re.search(rf"^{name}\n(.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    return found.group(1) if found else ""


def _kind(line: str) -> str | None:
    """What an instruction does; its type may be a tuple with blanks in it."""
    _, equals, rest = line.partition(" = ")
    if not equals:
        return None
    if rest.startswith("("):
        depth = 0
        for at, letter in enumerate(rest):
            depth += (letter == "(") - (letter == ")")
            if depth == 0:
                rest = rest[at + 1 :].lstrip()
                break
    else:
        rest = rest.partition(" ")[2]
    found = re.match(r"([\w\-]+)\(", rest)
    return found.group(1) if found else None


def _writes_all(line: str, kind: str) -> bool:
    """Whether a kernel writes its whole result, as a convolution, which is limited by its products, and others do."""
    name = line.partition(" = ")[0]
    return kind != "custom-call" and not any(word in name or word == kind for word in IN_PLACE)


def _result(line: str) -> int:
    """Bytes of what an instruction makes."""
    rest = line.partition(" = ")[2]
    end = rest.find(")") if rest.startswith("(") else rest.find(" ")
    return sum(size for _, size in _arrays(rest[:end]))


def _arrays(shapes: str) -> list[tuple[str, int]]:
    """The type of number of each array of such shapes, and its bytes."""
    found = re.findall(r"(\w+)\[([\d,]*)\]", shapes)
    return [
        (kind, BYTES.get(kind, 4) * int(np.prod([int(n) for n in axes.split(",") if n] or [1]))) for kind, axes in found
    ]


def _named(line: str, part: str) -> str:
    found = re.search(rf"{part}=%?([\w.\-]+)", line)
    return found.group(1) if found else ""


def _branches(line: str) -> list[str]:
    several = re.search(r"branch_computations=\{([^}]*)\}", line)
    if several:
        return [name.strip().lstrip("%") for name in several.group(1).split(",")]
    return re.findall(r"(?:true|false)_computation=%?([\w.\-]+)", line)


@contextlib.contextmanager
def counting() -> Iterator[dict[Site, list[int]]]:
    """While this is open, loops that are traced tell how often they turn when they are run on a processor.

    Where a program differs by platform, the loops are those of an accelerator.
    """
    seen: dict[Site, list[int]] = collections.defaultdict(list)
    real = jax.lax.while_loop

    def counted(cond: Any, body: Any, init: Any) -> Any:
        code = sys._getframe(1).f_code
        site = f"{Path(code.co_filename).name}:{code.co_qualname}"
        out, turns = real(lambda c: cond(c[0]), lambda c: (body(c[0]), c[1] + 1), (init, jnp.int32(0)))

        def note(count: Any) -> np.ndarray:
            seen[site].append(int(np.max(count)))  # lanes that were batched turn together
            return np.zeros(np.shape(count), np.int32)

        noted = jax.pure_callback(note, jax.ShapeDtypeStruct((), jnp.int32), turns, vmap_method="broadcast_all")
        leaves, form = jax.tree.flatten(out)
        # always true, but nobody can know it: what is not used is not called
        keys = [jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) for leaf in leaves]
        told = [x if key else jnp.where(noted == 0, x, jnp.zeros_like(x)) for x, key in zip(leaves, keys, strict=True)]
        return jax.tree.unflatten(form, told)

    def elsewhere(*operands: Any, default: Any = None, **platforms: Any) -> Any:
        return (default or platforms["cuda"])(*operands)

    real_choice = jax.lax.platform_dependent
    jax.lax.while_loop, jax.lax.platform_dependent = counted, elsewhere
    try:
        yield seen
    finally:
        jax.lax.while_loop, jax.lax.platform_dependent = real, real_choice
