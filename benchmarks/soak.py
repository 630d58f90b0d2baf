"""Does a run that goes on for hours grow? `uv run benchmarks/soak.py --minutes 60`, on a quiet machine.

One small run, in this process, with judgements and checkpoints. With every reading: memory of the process and of the
devices, open files, threads, and compiled programs. After the first third, when all is compiled and the ring is full, a
line is laid through each; its slope is told as growth in an hour.
"""

import dataclasses
import os
import shlex
import tempfile
import threading
import time
from pathlib import Path

import harness
import jax
import numpy as np

from jaxgo.cli.train_words import parse
from jaxgo.system import devices
from jaxgo.system.rundir import RunDir
from jaxgo.training import trainer as trainers
from jaxgo.training.config import to_json
from jaxgo.training.loop import Report, train

TINY = shlex.split(
    "tictactoe-cpu --budget.iterations 0 --save-every 20 --judge.every 30 --judge.pairs 4 --judge.past 1 "
    "--judge.opponents random --judge.final random --judge.final-pairs 4 --selfplay.games 64"
)


@dataclasses.dataclass(frozen=True)
class Options:
    """How long, and how often it is looked at."""

    only: str = ""
    minutes: float = 60.0
    every: float = 10.0  # seconds between two readings


def reading() -> dict[str, float]:
    """What may grow; what a system does not tell is left out."""
    told = {"threads": float(threading.active_count()), "arrays_mib": sum(x.nbytes for x in jax.live_arrays()) / 2**20}
    told["programs"] = float(trainers._play._cache_size() + trainers._learn._cache_size())  # type: ignore[attr-defined]
    status = Path("/proc/self/status")
    if status.exists():
        words = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        told["memory_mib"] = int(words["VmRSS"].split()[0]) / 2**10
        told["files"] = float(len(os.listdir("/proc/self/fd")))
        told["maps"] = float(len(Path("/proc/self/maps").read_text().splitlines()))
    return told


def soak(options: Options) -> None:
    """One run, and a line through each number."""
    seen: list[tuple[float, dict[str, float]]] = []
    began = time.monotonic()

    def watch(report: Report) -> None:
        now = time.monotonic() - began
        if report.phase == "play" and (not seen or now - seen[-1][0] >= options.every):
            seen.append((now, reading()))

    with tempfile.TemporaryDirectory() as folder:
        config = parse([*TINY, "--budget.seconds", str(60 * options.minutes)]).config
        with RunDir(Path(folder, "run"), to_json(config)) as run:
            state = train(config, run, watch)
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
    late = [one for one in seen if one[0] > seen[-1][0] / 3] if seen else []
    if len(late) < 3:
        raise SystemExit("too few readings; make it longer")
    hours = np.array([at for at, _ in late]) / 3600
    for name in late[0][1]:
        values = np.array([one[name] for _, one in late])
        slope = float(np.polyfit(hours, values, 1)[0])
        harness.report("soak", what=name, first=float(values[0]), last=float(values[-1]), growth_an_hour=slope)
    harness.report("soak", what="run", iterations=int(state.iteration), readings=len(late), folder_mib=size / 2**20)


if __name__ == "__main__":
    devices.use_cores(8)
    harness.ask(Options, {"soak": soak})
