"""All that a run is: its checkpoint, and how it lies on the devices."""

from typing import Any, NamedTuple

from jax.sharding import Mesh, NamedSharding
from jaxtyping import Array, Float32, Int32

from jaxgo.selfplay import SelfplayState
from jaxgo.training.learner import LearnerState
from jaxgo.training.replay import ReplayState
from jaxgo.training.store import ALL, EACH, LATER, Store
from jaxgo.training.targets import Window


class Best(NamedTuple):
    """Who makes self-play where a gate decides it."""

    params: Any
    step: Int32[Array, ""]  # the iteration that these weights are of
    tested: Int32[Array, ""]  # the iteration of the last test


class TrainState(NamedTuple):
    """All that a run is, to the last game under way: its checkpoint."""

    learner: LearnerState
    selfplay: SelfplayState
    window: Window
    replay: ReplayState | Store  # the latter in the memory of the hosts
    iteration: Int32[Array, ""]
    seconds: Float32[Array, ""]  # of training so far
    played: Int32[Array, "2 2"]  # games that ended and moves, when it was saved: each as quotient and rest of 2^31
    best: Best | None  # None without a gate: the newest weights play
    key: Array

    @property
    def player(self) -> Any:
        """The weights that make self-play."""
        return self.learner.average if self.best is None else self.best.params


def layout(mesh: Mesh) -> Any:
    """How a state lies on the devices."""
    each, later, whole = (NamedSharding(mesh, spec) for spec in (EACH, LATER, ALL))
    return TrainState(whole, each, later, each, *[whole] * 5)  # type: ignore[arg-type]
