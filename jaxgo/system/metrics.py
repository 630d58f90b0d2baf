"""What a run tells about itself: `metrics.jsonl`, one whole line a row; TensorBoard and Weights & Biases if asked.

The file is the truth: it can be searched, plotted and survives a kill. The other two get the same numbers.
"""

import functools
import json
import math
import os
import queue
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from jaxgo.core import names
from jaxgo.core.errors import UsageError, first_line, is_whole
from jaxgo.system.aside import Aside
from jaxgo.system.files import read_json, write_whole

FILE = "metrics.jsonl"
WAITING = 100  # rows that a sink may be late by
PATIENCE = 60.0  # seconds that it has for them at the end
LONGEST = 1e9  # seconds of a run, some thirty years
LARGEST = 3.5e38  # floats of 32 bits, which a run reckons with, hold no more

Row = dict[str, Any]


@runtime_checkable
class Sink(Protocol):
    """Somewhere else that numbers go."""

    def write(self, step: int, numbers: Mapping[str, float]) -> None: ...

    def close(self) -> None: ...


class Metrics:
    """The rows of a run; `step` is the last iteration that the run still knows, and later rows are taken back."""

    def __init__(self, run: Path, step: int | None = None, sinks: Iterable[Sink] = ()) -> None:
        self.path = run / FILE
        self._sinks, self._file, self._cut, self._step = tuple(sinks), -1, False, step
        self._again: set[Any] = set()  # phases of that iteration, of which an earlier sitting has written
        self.take_back(step)

    def take_back(self, step: int | None, phase: str = "") -> None:
        """Drops the rows of later iterations, which are made again, and those of a phase of this one."""
        if self._file >= 0:
            os.close(self._file)
        self._file, self._step = -1, step  # should the disk be full now, the next row tries again
        if self.path.exists():
            rows = [row for row in read_rows(self.path.parent) if step is None or row["iteration"] <= step]
            kept = [row for row in rows if row["iteration"] != step or not phase or row.get("phase") != phase]
            self._again = {row.get("phase") for row in kept if row["iteration"] == step}
            write_whole(self.path, "".join(_line(row) for row in kept))
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def write(self, iteration: int, row: Mapping[str, Any]) -> None:
        """Appends a row in one system call, so that a kill leaves it whole or leaves it out.

        What a full disk has cut is ended by the next row's first byte, so that it costs no more than itself.
        """
        phase = row.get("phase", "")
        if iteration == self._step and phase in self._again:  # a judgement of a run that had ended, say
            self.take_back(self._step, phase)
        gone = not self.path.exists() and self.path.parent.is_dir()  # the folder was removed, and is made anew
        if self._file < 0 or gone:
            self.take_back(self._step)
        plain = _plain({"iteration": iteration, **row})
        line = b"\n" * self._cut + _line(plain).encode()
        self._cut = True
        self._cut = os.write(self._file, line) < len(line)
        numbers = {name: value for name, value in _numbers(plain) if name != "iteration"}
        for sink in self._sinks:
            sink.write(iteration, numbers)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        for sink in self._sinks:
            sink.close()


def read_rows(run: str | Path) -> list[Row]:
    """The rows of a run folder; a line that a full disk or a kill has cut is left out."""
    run = Path(run)
    try:
        lines = (run / FILE).read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as fault:
        raise UsageError(f"{run / FILE} cannot be read ({fault.strerror}); move it away") from None
    rows = []
    for line in lines:
        try:
            row = read_json(line)
        except ValueError:
            continue
        if isinstance(row, dict) and is_whole(row.get("iteration")):
            rows.append(row)
    return rows


def read_drawable(run: str | Path) -> list[Row]:
    """The rows whose numbers can be drawn over time; a file may have others, as anything may be in it, and one number
    that no run comes to would leave no room on an axis for the others."""
    return [row for row in read_rows(run) if _is_sound(row)]


def _is_sound(row: Row) -> bool:
    elo, loss, seconds = row.get("elo") or {}, row.get("loss") or {}, row.get("seconds")
    if not (isinstance(seconds, int | float) and 0 <= seconds <= LONGEST):
        return False
    if not (isinstance(elo, dict) and isinstance(loss, dict) and isinstance(row.get("player", ""), str)):
        return False
    rated = [value if isinstance(value, list) and len(value) == 2 else [""] for value in elo.values()]
    numbers = [row.get("length"), row.get("moves_s"), *loss.values(), *(x for two in rated for x in two)]
    known = [number for number in numbers if number is not None]
    return all(isinstance(number, int | float) and abs(number) <= LARGEST for number in known)


def _line(row: Row) -> str:
    return json.dumps(row, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    """As JSON has it: arrays as lists, and null for numbers that are not finite."""
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, str | bool | int | None):
        return value
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return _plain(np.asarray(value).tolist())


def _numbers(row: Any, above: str = "") -> Iterable[tuple[str, float]]:
    """The numbers of a row by their path, as charts name them."""
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{above}{name}/")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield above + name, float(value)


# -- elsewhere ---------------------------------------------------------------------------------------------------


class Beside:
    """A sink beside the run: who writes there may fail, or wait for ever, as tensorboardX does behind a full disk.

    What it does not take is lost there, and said once.
    """

    def __init__(self, name: str, sink: Sink, say: Callable[[str], None]) -> None:
        self._name, self._sink, self._say, self._told = name, sink, say, False
        self._rows = queue.SimpleQueue[tuple[int, Mapping[str, float]] | None]()
        self._work = Aside(self._run)

    def _run(self) -> bool:
        while (row := self._rows.get()) is not None:
            self._try(functools.partial(self._sink.write, *row))
        self._try(self._sink.close)
        return True

    def _try(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as fault:  # of its own kinds
            self._lose(first_line(fault))

    def _lose(self, reason: str) -> None:
        if not self._told:
            self._told = True
            self._say(f"{self._name} does not get all numbers ({reason}); {FILE} has them")

    def write(self, step: int, numbers: Mapping[str, float]) -> None:
        if self._rows.qsize() < WAITING:
            self._rows.put((step, numbers))
        else:
            self._lose(f"it is late by {WAITING} rows")

    def close(self) -> None:
        self._rows.put(None)
        if not self._work.wait(lambda: True, PATIENCE):
            self._lose(f"it has not ended within {PATIENCE:g} seconds")


class TensorBoard:
    """Event files in `tensorboard/` of the run folder."""

    @staticmethod
    def package() -> Any:
        """What it needs; a UsageError where that is missing."""
        return names.package("tensorboardX", "--log.tensorboard", "tensorboard")

    def __init__(self, run: Path) -> None:
        self._writer = self.package().SummaryWriter(logdir=str(run / "tensorboard"), flush_secs=30)

    def write(self, step: int, numbers: Mapping[str, float]) -> None:
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        self._writer.close()


class WeightsAndBiases:
    """A run in a project of Weights & Biases; goes on with the same run when the folder is resumed."""

    @staticmethod
    def package() -> Any:
        """What it needs; a UsageError where that is missing."""
        return names.package("wandb", "--log.wandb", "wandb")

    def __init__(self, run: Path, project: str, config: Mapping[str, Any]) -> None:
        package, identity = self.package(), _identity(run)
        try:
            self._run = package.init(
                project=project, name=run.name, id=identity, resume="allow", dir=str(run), config=dict(config)
            )
        except Exception as fault:  # it has errors of its own, as where nobody is logged in
            raise UsageError(
                f"--log.wandb {project}: {first_line(fault)}; log in with `wandb login`, or leave it out"
            ) from fault
        # its own steps may not fall, as ours do where a run goes back
        self._run.define_metric("*", step_metric="iteration")

    def write(self, step: int, numbers: Mapping[str, float]) -> None:
        self._run.log({"iteration": step, **numbers})

    def close(self) -> None:
        self._run.finish()


def _identity(run: Path) -> str:
    """A name that stays with the folder."""
    file = run / "wandb-id"
    if not file.exists():
        write_whole(file, os.urandom(6).hex())
    return file.read_text().strip()
