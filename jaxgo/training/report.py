"""What a run tells while it goes on: reports for who watches it, of which a recorder makes the rows of its folder."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jaxgo.system.metrics import FILE, Metrics, Sink


class Report(NamedTuple):
    """What a watcher hears, in plain Python numbers; it comes an iteration or two late, so that no device waits."""

    # "start" (twice: before compiling, and where it goes on from), "play", "gate", "judge", "save", and at last "end",
    # or "stopped"
    phase: str
    iteration: int
    seconds: float  # of training so far, earlier sittings included
    metrics: dict[str, Any]


Watch = Callable[[Report], None]


class Watcher:
    """A `watch` whose first error is kept until all is saved: the run hears of it as of a stop."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.fault: Exception | SystemExit | None = None

    def __call__(self, report: Report) -> None:
        if self.fault is not None:
            return
        try:
            self._watch(report)
        except (Exception, SystemExit) as fault:
            if report.phase == "start":  # there is nothing to save yet
                raise
            self.fault = fault


class Recorder:
    """Writes what a run says into its folder; rows after the iteration that it goes on from are made again."""

    def __init__(self, run: Path, say: Callable[[str], None], sinks: Sequence[Sink] = ()) -> None:
        self._run, self._say, self._sinks = run, say, sinks
        self._lost = False  # whether the last row could not be written
        self._metrics: Metrics | None = None
        self._began = 0

    def __call__(self, report: Report) -> None:
        row = {"phase": report.phase, "seconds": round(report.seconds, 3), **report.metrics}
        try:
            if report.phase == "start":
                self._began = report.iteration
                if self._metrics is not None:  # it has gone back to a checkpoint
                    self._metrics.take_back(self._began)
            if not report.metrics:
                return
            if self._metrics is None:
                self._metrics = Metrics(self._run, self._began, self._sinks)
            self._metrics.write(report.iteration, row)
            self._lost = False
        except OSError as fault:
            if not self._lost:
                self._say(f"rows of {FILE} are lost in {self._run} ({fault.strerror}); training goes on")
            self._lost = True

    def close(self) -> None:
        if self._metrics is not None:
            try:
                self._metrics.close()
            except OSError as fault:
                self._say(f"the last numbers are lost in {self._run} ({fault.strerror})")
