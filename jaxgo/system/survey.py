"""Runs from outside: what lies in their folders, and whether it is whole. Nothing is changed or restored, and a
lock is asked about for a moment."""

import contextlib
import dataclasses
import math
import os
from pathlib import Path
from typing import Any

from jaxgo.core.errors import UsageError
from jaxgo.system import manifest
from jaxgo.system.checkpoints import STEPS
from jaxgo.system.files import is_held
from jaxgo.system.manifest import MANIFEST
from jaxgo.system.metrics import read_rows
from jaxgo.system.rundir import CONFIG, LOCK, read_config

UNFINISHED = "it was never finished"


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """One step of a run."""

    step: int
    size: int  # bytes
    fault: str  # what is wrong with its files; "" where nothing is


@dataclasses.dataclass(frozen=True)
class Run:
    """One run folder."""

    path: Path
    game: str
    state: str  # running, stopped, or new: without a checkpoint
    iteration: int
    seconds: float  # of training
    player: str  # who was rated last
    elo: tuple[float, float] | None  # its rating, and half of the 95 % interval
    size: int  # bytes of the whole folder
    checkpoints: tuple[Checkpoint, ...]


def find(top: Path) -> list[Path]:
    """The run folders below a folder, itself included."""
    if not top.is_dir():
        raise UsageError(f"{top} is no folder with runs; `jaxgo train` makes them, in runs/ unless told otherwise")
    return sorted(Path(folder) for folder, _, files in os.walk(top) if CONFIG in files)


def look(path: Path) -> Run:
    """What there is to know of a run; its checkpoints are read to their last byte."""
    config, rows = read_config(path), read_rows(path)
    last = rows[-1] if rows else {}
    player, elo = next((found for found in map(_rating, reversed(rows)) if found), ("", None))
    running = is_held(path / LOCK)
    steps = tuple(_checkpoint(place) for place in sorted((path / STEPS).glob("*")) if place.name.isdecimal())
    if running:  # it is writing them, or taking them away
        steps = tuple(step for step in steps if step.fault != UNFINISHED)
    return Run(
        path=path,
        game=str(config.get("game", "?")),
        state="running" if running else "stopped" if steps else "new",
        # rows may be lost, as where the disk was full
        iteration=int(_number(last.get("iteration"))) or max((step.step for step in steps), default=0),
        seconds=_number(last.get("seconds")),
        player=player,
        elo=elo,
        size=_size(path),
        checkpoints=steps,
    )


def _rating(row: dict[str, Any]) -> tuple[str, tuple[float, float] | None] | None:
    """Who was rated in a row, and how, if somebody was."""
    table, player = row.get("elo"), str(row.get("player", ""))
    if not table or not isinstance(table, dict):
        return None
    match table.get(player):
        case [int() | float() as value, int() | float() as error]:
            return player, (float(value), float(error))
    return player, None


def _number(value: Any) -> float:
    """A number of a row; 0 where something else stands there."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0


def _checkpoint(place: Path) -> Checkpoint:
    """A step; a folder without a manifest was never finished."""
    fault = ""
    try:
        said = manifest.read(place)
        wrong = manifest.wrong_files(place, said)
        if wrong and manifest.read(place) != said:
            return _checkpoint(place)  # it was saved again meanwhile
        if wrong:
            fault = f"{wrong[0]} is not what was written"
    except FileNotFoundError:
        fault = UNFINISHED
    except (OSError, ValueError):
        fault = f"{MANIFEST} is not what was written"
    return Checkpoint(int(place.name), _size(place), fault)


def _size(path: Path) -> int:
    """Bytes of all files; what a run takes away meanwhile counts nothing."""
    size = 0
    for folder, _, files in os.walk(path):  # which passes over folders that are gone
        for file in files:
            with contextlib.suppress(FileNotFoundError):
                size += os.stat(os.path.join(folder, file)).st_size
    return size
