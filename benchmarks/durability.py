"""Does a run that is killed at any moment come to the same state? `uv run benchmarks/durability.py --kills 20`.

A small run of tic-tac-toe saves with every iteration. One goes through; another is killed (SIGKILL) at random moments,
saves in flight included, and started again each time. Then every array of their last checkpoints is compared, but the
seconds of training, and so is what both say of every iteration.
"""

import dataclasses
import hashlib
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import harness
import jax
import numpy as np

from jaxgo.system import devices
from jaxgo.system.metrics import read_rows
from jaxgo.system.rundir import RunDir, read_config
from jaxgo.training.config import from_json
from jaxgo.training.sizes import MOST_CORES
from jaxgo.training.trainer import Trainer

ROOT = Path(__file__).parents[1]
TINY = shlex.split(
    "tictactoe-cpu --plain --budget.seconds 0 --save-every 0.001 --search.simulations 4 --search.max_considered 2 "
    "--selfplay.games 8 --selfplay.steps 4 --net.width 8 --net.blocks 1 --learner.batch 16 --replay.capacity 256 "
    "--replay.start 32 --judge.opponents random --judge.final random --judge.final-pairs 2"
)
CLOCK = re.compile(r"_s$|^play_|^seconds$")


@dataclasses.dataclass(frozen=True)
class Options:
    """How often, and how long the run is."""

    only: str = ""
    kills: int = 20
    iterations: int = 60
    seed: int = 0
    minutes: float = 30.0  # at most


def start(run: Path, iterations: int) -> subprocess.Popen[bytes]:
    words = [sys.executable, str(ROOT / "train.py"), *TINY, "--run", str(run), "--budget.iterations", str(iterations)]
    with open(run.with_suffix(".log"), "ab") as log:
        return subprocess.Popen(words, cwd=ROOT, stdout=log, stderr=log)


def finish(child: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        status = child.wait(timeout=max(1.0, seconds))
    finally:
        child.kill()
        child.wait()
    if status:
        sys.exit(f"the run ended with {status}")


def digest(run: Path) -> dict[str, str]:
    """SHA-256 of every array of the last checkpoint by its path, without the clock."""
    config = from_json(read_config(run))
    trainer = Trainer(config, devices.make_mesh())
    with RunDir(run, read_config(run)) as folder:
        found = folder.checkpoints.restore(trainer.begin())
    if found is None:
        sys.exit(f"{run} has no checkpoint")
    leaves = jax.tree_util.tree_leaves_with_path(found[1]._replace(seconds=np.float32(0)))
    return {jax.tree_util.keystr(path): _code(leaf) for path, leaf in leaves} | {"step": str(found[0])}


def _code(leaf: Any) -> str:
    key = jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return hashlib.sha256(np.asarray(jax.random.key_data(leaf) if key else leaf).tobytes()).hexdigest()


def rows(run: Path) -> list[dict[str, Any]]:
    found = [row for row in read_rows(run) if row["phase"] == "play"]
    return [{name: value for name, value in row.items() if not CLOCK.search(name)} for row in found]


def kills(options: Options) -> None:
    """Two runs, and what differs between them."""
    end, luck = time.monotonic() + 60 * options.minutes, random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        whole, killed = Path(folder, "whole"), Path(folder, "killed")
        began = time.monotonic()
        finish(start(whole, options.iterations), end - time.monotonic())
        taken, done = time.monotonic() - began, 0
        work = float(read_rows(whole)[-1]["seconds"])
        coming = taken - work  # until the first iteration
        while done < options.kills and time.monotonic() < end:
            child = start(killed, options.iterations)
            try:  # so late that it mostly has begun, and so early that most of the work is left for the others
                child.wait(timeout=luck.uniform(coming / 2, coming + 2 * work / options.kills))
                break  # it came to its end
            except subprocess.TimeoutExpired:
                done += 1
            finally:
                child.kill()
                child.wait()
        finish(start(killed, options.iterations), end - time.monotonic())
        one, two = digest(whole), digest(killed)
        harness.report(
            "kills",
            kills=done,
            iterations=options.iterations,
            arrays=len(one),
            arrays_that_differ=sorted(name for name in one.keys() | two.keys() if one.get(name) != two.get(name)),
            rows_that_differ=sum(a != b for a, b in zip(rows(whole), rows(killed), strict=False)),
            rows=[len(rows(whole)), len(rows(killed))],
        )


if __name__ == "__main__":
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(ROOT / ".cache" / "jax"))
    devices.use_cores(MOST_CORES)
    harness.ask(Options, {"kills": kills})
