"""A run that begins with the weights of another one, of another size of board perhaps.

Weights are copied where the nets are made of the same arrays. Those of a `resnet` on a game whose moves are its cells
(Go, Gomoku) do not know the size of the board; those of an `mlp`, or of a policy that is a dense layer, do. Heads of
the learner that the other run had not begin as they always do. So do the last blocks of a net that has more of them:
a block begins as the identity, so the deeper net plays as the other one does until it learns.

The folder keeps them as the players of step 0, with the words that named them. So a run that is killed before its first
checkpoint begins with the same weights again, whatever has become of the other run.
"""

import dataclasses
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgo.core.errors import UsageError
from jaxgo.evaluators.network import differs
from jaxgo.nets import to_json
from jaxgo.nets.base import planes_shape
from jaxgo.system import devices
from jaxgo.system.checkpoints import saved_steps
from jaxgo.system.rundir import RunDir
from jaxgo.system.weights import find_weights, load_weights, weight_steps
from jaxgo.training.learner import are_finite
from jaxgo.training.trainer import Trainer, TrainState

FROM = "from"  # what the note of step 0 has


class Start(NamedTuple):
    """Weights to begin with."""

    words: str  # that named them
    place: str  # where they were found: of a run it names the step
    params: Any  # of the net that searches plan with, and of the heads that both runs have


def find(trainer: Trainer, words: str, home: Path) -> Start | None:
    """The weights of a run, a step or a file, if the net of this run can have them; a UsageError says what differs.

    None where the run in the folder has begun with them already: they may be gone since.
    """
    try:
        known = first(home)
    except UsageError as error:
        raise UsageError(f"what {home} began with is not known, as {error}; go on with --init-from ''") from None
    if known is not None and known[0][FROM] == words:
        return None
    place, about, params = find_weights(words)
    if not are_finite(params):
        raise UsageError(
            f"--init-from: the weights of {place} have numbers that are not finite; take another step or file"
        )
    config = trainer.config
    there, here = about.get("net", {}), to_json(config.network)
    if not isinstance(there, Mapping):
        raise UsageError(f"--init-from: the note of {place} says net={there!r}, which names no net")
    alike = there.get("kind") == here["kind"]
    nets = _changed(there, here, config.network.grows)
    module = config.network.module(trainer.game)
    key, planes = jax.random.key(config.seed), jnp.zeros((1, *planes_shape(trainer.game)))
    # what a shallower net has must be there; the blocks that this one has besides are new
    grown = {name: there[name] for name in config.network.grows} if alike and not nets else {}
    theirs = dataclasses.replace(config.network, **grown).module(trainer.game)
    fault = differs(jax.eval_shape(theirs.init, key, planes)["params"], params.get("params", {}))
    if grown and not fault:
        params = _filled(params, jax.device_get(jax.jit(module.init)(key, planes)))
    if fault or (alike and nets):  # the same arrays may be read in another way
        reason = nets or f"{fault}; " + (
            "its size belongs to the board, so these weights cannot move to another"
            if about.get("game") != config.game_name or about.get("options") != dict(config.options)
            else "the planes or the moves of the game have changed"
        )
        raise UsageError(
            f"--init-from: the weights of {place} do not fit, as {reason}; for new ones say --init-from ''"
        )
    return Start(words, place, params)


def check(home: Path, start: Start) -> None:
    """A UsageError where the run in a folder has begun otherwise."""
    known = first(home)
    if known is not None or saved_steps(home):
        then = "new weights, or its note of step 0 is gone," if known is None else known[0][FROM]
        raise UsageError(
            f"{home} has begun with {then} and not with {start.words}; go on with --init-from '', or name "
            "another folder with --run"
        )


def keep(run: RunDir, start: Start, about: Mapping[str, Any]) -> None:
    """Notes in the folder of a new run with what it begins; a UsageError where it began otherwise. For the first host:
    another one could find what that has written just now."""
    check(run.path, start)
    kept = run.save_weights(0, start.params, {**about, FROM: start.words})
    if kept is None:  # or the run would begin with new ones
        raise UsageError(f"{run.path} cannot keep the weights that it is to begin with; make room there, and try again")
    run.say(f"begins with the weights of {start.place}")


def first(home: Path) -> tuple[dict[str, Any], Any] | None:
    """The note about what a run begins with, and the weights; None where it begins with new ones."""
    if 0 not in weight_steps(home):
        return None
    about, params = load_weights(home, 0)
    return (about, params) if FROM in about else None


def begin(trainer: Trainer, state: TrainState, run: RunDir) -> TrainState:
    """The state that a run begins with."""
    found = first(run.path)
    if found is None:
        return state
    params = _merged(jax.device_get(state.learner.params), found[1])
    learner = jax.device_get(trainer.learner.begin(params))  # on this host alone, so that every host lays it out
    laid = jax.tree.map(lambda new, old: devices.lay(new, old.sharding), learner, state.learner)
    best = state.best
    if best is not None:  # a copy: the learner gives its own away
        best = best._replace(params=jax.tree.map(jnp.copy, laid.average))
    return state._replace(learner=laid, best=best)


def _merged(ours: Any, theirs: Any) -> Any:
    """Their arrays where they are ours by name and shape."""
    if not isinstance(ours, Mapping):
        fits = not isinstance(theirs, Mapping) and theirs is not None and np.shape(theirs) == ours.shape
        return np.asarray(theirs, ours.dtype) if fits else ours
    inner = theirs if isinstance(theirs, Mapping) else {}
    return {name: _merged(value, inner.get(name)) for name, value in ours.items()}


def _filled(theirs: Any, ours: Any) -> Any:
    """Their arrays, and ours where they have none."""
    if not isinstance(ours, Mapping) or not isinstance(theirs, Mapping):
        return theirs
    return {**ours, **{name: _filled(value, ours.get(name)) for name, value in theirs.items()}}


def _changed(there: Mapping[str, Any], here: Mapping[str, Any], grows: Collection[str]) -> str:
    """The first setting of the nets that makes them different functions of their arrays."""
    for name in [*here, *there]:
        if name in grows and type(there.get(name)) is int and there[name] <= here[name]:
            continue
        if name != "precision" and there.get(name) != here.get(name):
            return f"net.{name} is {there.get(name)} there and {here.get(name)} here"
    return ""
