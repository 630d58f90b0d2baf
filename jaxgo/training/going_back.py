"""Going back: what a run that met broken numbers notes in its folder, so that a later sitting goes on as this one.

Without the note a run that is stopped before its next checkpoint would play the same games into the same break, and one
that is stopped often would never reach the second time, which ends it.
"""

import json
from typing import Any

import jax
from jaxtyping import Array

from jaxgo.system import devices
from jaxgo.system.files import read_json, write_whole
from jaxgo.system.rundir import RunDir
from jaxgo.training.trainer import TrainState

FILE = "went-back.json"
AGAIN = 2**31 - 1  # what a key is folded with; no iteration has this number


def note(run: RunDir, step: int, seen: str) -> None:
    """Notes that the run has gone back to this checkpoint, and why."""
    if devices.is_first_host():
        try:
            write_whole(run.path / FILE, json.dumps({"step": step, "seen": seen}) + "\n")
        except OSError as fault:
            run.say(f"{run.path / FILE} could not be written ({fault.strerror}); training goes on")


def known(run: RunDir) -> tuple[int, str]:
    """Where the run has gone back to, and why; -1 where it never has. All hosts ask at once."""
    try:
        told: Any = read_json((run.path / FILE).read_text())
        step, seen = int(told["step"]), str(told["seen"])
    except (OSError, ValueError, KeyError, TypeError):  # there is none, or it is damaged: the run goes on without it
        step, seen = -1, ""
    step = int(devices.from_first_host([step])[0])
    return step, seen if step >= 0 else ""


def renewed(state: TrainState) -> TrainState:
    """The state with other random numbers: the same ones would end the same way."""

    def again(key: Array) -> Array:  # one by one: samples may lie on the host, and no program has both
        return jax.device_put(jax.jit(jax.random.fold_in)(key, AGAIN), key.sharding)

    return state._replace(key=again(state.key), replay=state.replay._replace(key=again(state.replay.key)))
