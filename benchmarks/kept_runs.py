"""Training runs in folders, and what was found out about them beside them: nothing is trained or asked twice."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jaxgo.core.errors import UsageError
from jaxgo.evaluators.network import Network
from jaxgo.players import Player
from jaxgo.search.base import Search
from jaxgo.search.model import Model
from jaxgo.system import devices
from jaxgo.system.files import read_json, write_whole
from jaxgo.system.rundir import RunDir
from jaxgo.system.weights import load_weights
from jaxgo.training import inherit
from jaxgo.training.config import Budget, TrainConfig, of_run, to_json
from jaxgo.training.loop import about, train
from jaxgo.training.trainer import Trainer

FOUND = "found.json"  # in the folder of a run: answers by question


def found(folder: Path, question: str, find: Callable[[], Any]) -> Any:
    """The answer to a question about a run; where it is not kept, it is found and kept."""
    path = folder / FOUND
    known = _known(path)
    if question not in known:
        known[question] = find()
        write_whole(path, json.dumps(known, indent=2) + "\n")
    return known[question]


def _known(path: Path) -> dict[str, Any]:
    try:
        known = read_json(path.read_text()) if path.exists() else {}
    except ValueError:
        known = None
    if not isinstance(known, dict):
        raise UsageError(f"{path} is not JSON any more; remove it, and its questions are asked again")
    return known


def for_minutes(config: TrainConfig, minutes: float) -> TrainConfig:
    """The run that trains so long and meets nobody."""
    judge = dataclasses.replace(config.judge, every=0.0, opponents=(), final=(), past=0)
    return dataclasses.replace(config, judge=judge, budget=Budget(seconds=60 * minutes))


def trained(config: TrainConfig, folder: Path, init_from: str = "") -> int:
    """The iterations of the run in a folder, which is trained to the end of its budget if it is not there yet.

    A new one begins with the weights `init_from`, in the words of --init-from.
    """
    with RunDir(folder, to_json(config)) as run:
        start = starts(config, folder, init_from)
        if start is not None:
            inherit.keep(run, start, about(config))
        return int(found(folder, "iterations", lambda: int(train(config, run).iteration)))


def starts(config: TrainConfig, folder: Path, init_from: str) -> inherit.Start | None:
    """The weights that a run in a folder is still to begin with; a UsageError where its net cannot have them."""
    return inherit.find(Trainer(config, devices.make_mesh()), init_from, folder) if init_from else None


def quiet(config: TrainConfig, **changes: Any) -> Search:
    """The search of a run as it plays to win: without noise."""
    search: Any = config.search.quiet()
    return dataclasses.replace(search, **changes)


def player(name: str, config: TrainConfig, params: Any, simulations: int) -> Player:
    """The player of a run as it plays to win, with these weights."""
    game = config.make_game()
    return Player(
        quiet(config, simulations=simulations), Model(game, Network(config.network.module(game))), params, name
    )


def last_player(folder: Path, simulations: int) -> Player:
    """The last player of the run in a folder."""
    return player(folder.name, of_run(folder), load_weights(folder)[1], simulations)
