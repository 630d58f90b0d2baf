"""Does a run that goes on for hours grow? `uv run benchmarks/soak.py --minutes 60`, on a quiet machine.

One small run, in this process, with judgements and checkpoints. With every reading: memory of the process and of the
devices, open files, threads, and compiled programs. After the first third, when all is compiled and the ring is full, a
line is laid through each; its slope is told as growth in an hour, and for each save and judgement of that time.

What the process holds of the system (`memory_mib`) is more than what is in use (`heap_mib`, and Python's own
`python_blocks`): the rest is free and lies between what is not (`gaps_mib`). Only what is in use can leak.
"""

import ctypes
import dataclasses
import json
import os
import shlex
import sys
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
from jaxgo.training.loop import train
from jaxgo.training.report import Report
from jaxgo.training.sizes import MOST_CORES

TINY = shlex.split(
    "tictactoe-cpu --budget.iterations 0 --save-every 20 --judge.every 30 --judge.pairs 4 --judge.past 1 "
    "--judge.opponents random --judge.final random --judge.final-pairs 4 --selfplay.games 64"
)


FIELDS = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")


@dataclasses.dataclass(frozen=True)
class Options:
    """How long, and how often it is looked at."""

    only: str = ""
    minutes: float = 60.0
    every: float = 10.0  # seconds between two readings
    keep: str = ""  # a file for them, a line of JSON each


class Heap(ctypes.Structure):
    """What glibc's `mallinfo2` tells."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in FIELDS)


def heap() -> dict[str, float]:
    """What is in use of the memory that programs in C and C++ asked for, and the gaps; nothing on other systems."""
    try:
        ask = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError, TypeError):
        return {}
    ask.restype = Heap
    found = ask()
    return {"heap_mib": (found.uordblks + found.hblkhd) / 2**20, "gaps_mib": found.fordblks / 2**20}


def reading() -> dict[str, float]:
    """What may grow; what a system does not tell is left out."""
    told = {"threads": float(threading.active_count()), "arrays_mib": sum(x.nbytes for x in jax.live_arrays()) / 2**20}
    told["programs"] = float(trainers._play._cache_size() + trainers._learn._cache_size())  # type: ignore[attr-defined]
    told |= {"python_blocks": float(sys.getallocatedblocks())} | heap()
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
    began, often = time.monotonic(), dict.fromkeys(("saves", "judgements"), 0.0)

    def watch(report: Report) -> None:
        now = time.monotonic() - began
        often["saves"] += report.phase == "save"
        often["judgements"] += report.phase == "judge" and bool(report.metrics)
        if report.phase == "play" and (not seen or now - seen[-1][0] >= options.every):
            seen.append((now, reading() | often))
            if options.keep:
                with open(options.keep, "a") as file:
                    file.write(json.dumps({"seconds": now, "iteration": report.iteration, **seen[-1][1]}) + "\n")

    with tempfile.TemporaryDirectory() as folder:
        config = parse([*TINY, "--budget.seconds", str(60 * options.minutes)]).config
        with RunDir(Path(folder, "run"), to_json(config)) as run:
            state = train(config, run, watch)
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
    late = [one for one in seen if one[0] > seen[-1][0] / 3] if seen else []
    if len(late) < 3:
        raise SystemExit("too few readings; make it longer")
    hours = np.array([at for at, _ in late]) / 3600
    lines = {name: np.array([one[name] for _, one in late]) for name in late[0][1]}
    for name, values in lines.items():
        slope = float(np.polyfit(hours, values, 1)[0])
        each = {f"growth_of_{done}": (values[-1] - values[0]) / max(1.0, np.ptp(lines[done])) for done in often}
        harness.report("soak", what=name, first=values[0], last=values[-1], growth_an_hour=slope, **each)
    harness.report("soak", what="run", iterations=int(state.iteration), readings=len(late), folder_mib=size / 2**20)


if __name__ == "__main__":
    devices.use_cores(MOST_CORES)
    harness.ask(Options, {"soak": soak})
