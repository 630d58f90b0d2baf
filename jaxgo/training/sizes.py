"""How large a run on accelerators is: so many games on each device, and what follows from them.

To begin a step of a search takes an accelerator as long for a hundred games as for thousands. So each device has games
of its own, however many devices there are, and all else goes with the games: a device does the same in each iteration
alone or among others, each sample is learnt from as often, and as long after it was made.
"""

import dataclasses
from collections.abc import Collection
from pathlib import Path
from typing import Any

from jaxgo.system import devices
from jaxgo.system.rundir import CONFIG
from jaxgo.training import machine
from jaxgo.training.config import TrainConfig, of_run, to_json

SETTINGS = ("selfplay.games", "replay.capacity", "replay.start", "learner.batch")
MOST = ((64, 16384), (121, 8192))  # games of a device on boards of at most so many cells: enough to hide the launches
MOST_ELSE, LEAST = 1024, 8
ON_CPU = 128  # games of a processor, all its cores together: more take as many times longer
MOST_CORES = 8  # that become devices of their own; every preset can be shared by 8
REMEMBERED = 512  # samples for each game: those of 32 iterations of 16 plies
FIRST = 2  # iterations before learning begins
ROOM = 7 / 8  # of a device's bytes that may be spoken for; XLA takes up to a twentieth more than we say
PADDED = 2.5  # times as much on a TPU: XLA pads arrays there; 2.4 were seen of Connect Four's self-play for a v5e
USUAL = 12 * 2**30  # bytes of a device for programs: a GPU with 16 GB, of which JAX takes three quarters


def of_games(config: TrainConfig, games: int) -> TrainConfig:
    """The config with so many games, and all that goes with them."""
    selfplay = dataclasses.replace(config.selfplay, games=games)
    start = FIRST * games * selfplay.steps
    return dataclasses.replace(
        config,
        selfplay=selfplay,
        replay=dataclasses.replace(config.replay, capacity=REMEMBERED * games, start=start),
        learner=dataclasses.replace(config.learner, batch=games // 2),
    )


def fitted(config: TrainConfig, count: int = 1, memory: int = USUAL, platform: str = "gpu") -> TrainConfig:
    """The config with as many games as so many accelerators want, if each has so many bytes for programs."""
    game = config.make_game()
    cells = game.shape[0] * game.shape[1]
    games = next((most for largest, most in MOST if cells <= largest), MOST_ELSE)
    room = ROOM * memory / (PADDED if platform == "tpu" else 1)
    while games > LEAST and machine.takes(of_games(config, games)) > room:
        games //= 2
    return of_games(config, games * count)


def chosen(config: TrainConfig, names: Collection[str], run: Path) -> TrainConfig:
    """The config with its open sizes: those of the run in a folder, or what suits the devices that are there."""
    if not names:
        return config
    mesh, found = devices.make_mesh(), config
    if (run / CONFIG).exists():
        known = read(to_json(of_run(run)))
    else:
        if devices.platform(mesh) == "cpu":
            found = of_games(found, ON_CPU)
        else:
            count = mesh.devices.size
            memory = devices.memory(mesh) // count or USUAL
            found = fitted(found, count, memory, devices.platform(mesh))
        known = read(to_json(found))
    said = devices.from_first_host(list(known.values()))  # others may see another folder, or have other devices
    picked = {name: int(size) for name, size in zip(known, said, strict=True) if name in names}
    if "replay.start" in picked:
        most = picked.get("replay.capacity", config.replay.capacity)
        picked["replay.start"] = min(picked["replay.start"], most)
    return put(config, picked)


def read(parts: dict[str, Any]) -> dict[str, int]:
    """The sizes that a config has as plain data."""
    return {name: parts[part][field] for name in SETTINGS for part, field in [name.split(".")]}


def put(config: TrainConfig, values: dict[str, int]) -> TrainConfig:
    """The config with these sizes instead of its own; a part's at once, since one alone may not suit the others."""
    parts: dict[str, dict[str, int]] = {}
    for name, value in values.items():
        part, field = name.split(".")
        parts.setdefault(part, {})[field] = value
    changed = {part: dataclasses.replace(getattr(config, part), **fields) for part, fields in parts.items()}
    return dataclasses.replace(config, **changed)
