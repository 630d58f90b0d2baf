"""One run: play, label, keep, learn, judge, save."""

from collections.abc import Callable
from typing import Any, NamedTuple

from jaxgo.system.rundir import RunDir
from jaxgo.training.config import TrainConfig


class Report(NamedTuple):
    """What a watcher hears, in plain Python numbers; it comes an iteration or two late, so that no device waits."""

    phase: str  # "start", "play", "judge", "save" or "end"
    iteration: int
    seconds: float  # of training so far, earlier sittings included
    metrics: dict[str, Any]


Watch = Callable[[Report], None]
