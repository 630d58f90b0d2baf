"""What every benchmark shares: interleaved repetitions, medians, and one JSON line for each answer.

Rates are only compared within one run, with the competitors taking turns, because machines drift.
"""

import functools
import importlib.metadata
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, Protocol, TypeVar

import jax
import tyro

from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.system import devices


class Options(Protocol):
    """What every benchmark can be told."""

    @property
    def only(self) -> str:
        """The questions to ask, parted by commas; empty: all."""


Asked = TypeVar("Asked", bound=Options)
Said = ParamSpec("Said")
Program = Callable[[], float]  # does some work, returns how much of it per second
WIDER = 64  # times as many games on an accelerator: what keeps two cores busy would leave it idle


def rate(work: float, run: Callable[[], Any], seconds: float) -> Program:
    """A program that repeats `run`, which does `work` units and returns arrays, for at least some seconds."""

    def program() -> float:
        done, began = 0.0, time.perf_counter()
        while (passed := time.perf_counter() - began) < seconds or not done:
            jax.block_until_ready(run())
            done += work
        return done / passed if done and passed else 0.0

    return program


def interleaved(programs: Mapping[str, Program], repetitions: int) -> dict[str, float]:
    """The median rate of each program; every repetition runs all of them, one after the other."""
    rates: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(repetitions):
        for name, program in programs.items():
            rates[name].append(program())
    return {name: statistics.median(values) for name, values in rates.items()}


def compared(
    programs: Mapping[str, tuple[float, Callable[[], Any]]], seconds: float, repetitions: int
) -> dict[str, float]:
    """The median rate of each compiled program, given with the work that a call of it does, taking turns."""
    return interleaved({name: rate(work, run, seconds) for name, (work, run) in programs.items()}, repetitions)


def wider(games: int) -> int:
    """So many games at once on a processor; as many as keep it busy on an accelerator."""
    return games if jax.default_backend() == "cpu" else WIDER * games


def machine() -> dict[str, Any]:
    """Where the figures come from."""
    device = jax.devices()[0]
    versions = {name: importlib.metadata.version(name) for name in ("jax", "jaxlib", "jaxgo")}
    return {
        "device": f"{device.platform} {device.device_kind}",
        "processor": _processor(),
        "cores": devices.cores(),
        "python": platform.python_version(),
        **versions,
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        return names[0] if names else platform.processor()
    except OSError:
        return platform.processor()


def report(question: str, **answer: Any) -> None:
    """Prints one JSON line; floats keep four figures."""
    short = {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in answer.items()}
    print(json.dumps({"question": question, **short, "machine": machine()}), flush=True)


def told(run: Callable[Said, None]) -> Callable[Said, None]:
    """A program that ends with one sentence, and no traceback, where it is asked what cannot be."""

    @functools.wraps(run)
    def program(*args: Said.args, **kwargs: Said.kwargs) -> None:
        try:
            run(*args, **kwargs)
        except UsageError as error:
            sys.exit(str(error))

    return program


@told
def ask(
    kind: type[Asked], questions: Mapping[str, Callable[[Asked], None]], prepare: Callable[[], None] = lambda: None
) -> None:
    """The program of a benchmark: reads its options, and asks the questions that they name."""
    options = tyro.cli(kind)
    prepare()
    wanted = [word for word in options.only.split(",") if word] or list(questions)
    for word in wanted:
        if word not in questions:
            raise unknown_name("question", word, questions)
    for word in wanted:
        questions[word](options)
