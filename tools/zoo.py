"""Makes the weights that come with jaxgo: `uv run tools/zoo.py connect4-cpu go9-cpu`.

Each is trained as its preset and `MADE_WITH` say, in `runs/zoo/NAME`, and written to `jaxgo/weights/NAME.npz` in
numbers of two bytes, with a note of what made it. Killed, the same command goes on; a run that has ended is not trained
again. `jaxgo weights` reads the notes.
"""

import dataclasses
import json
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import jax
import numpy as np
import tyro

from jaxgo.cli.main import main as jaxgo
from jaxgo.core.errors import UsageError
from jaxgo.system import devices
from jaxgo.system.files import write_whole
from jaxgo.system.metrics import read_rows
from jaxgo.system.weights import HALF, SHIPPED, digest, load_weights, save_weights
from jaxgo.training.named import CPU
from jaxgo.training.presets import preset
from jaxgo.training.shipped import MADE_WITH

WRITTEN = "made"


@dataclasses.dataclass(frozen=True)
class Zoo:
    """Train presets to their end and keep their weights."""

    preset: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Presets by name; their weights get the same name."""
    runs: Path = Path("runs/zoo")
    """Where the run folders are."""
    to: Path = SHIPPED
    """Where the weights go."""
    machine: str = ""
    """What it runs on, in words, with what else ran there; empty: as jax describes it."""


def most(name: str) -> int:
    """The bytes that the weights of a preset may take, by what trains it: on an accelerator wide nets are quick."""
    return 2**20 if preset(name).hardware == CPU else 2**23


def made(run: Path, name: str) -> dict[str, Any]:
    """What a run that has ended cost and reached: of its last judgement, the newest player and who is no relative."""
    rows = read_rows(run)
    judged = [row for row in rows if row.get("elo")]
    if not judged or not rows or judged[-1]["iteration"] != rows[-1]["iteration"]:
        raise UsageError(f"{run} has no judgement of its last player yet; let the training come to its end")
    last, own = judged[-1], f"@{name}"
    played = [row for row in rows if row.get("phase") == "play"][-1]
    player = str(last["player"]).partition("@")[0] + own
    elo = {player: last["elo"][last["player"]]} | {a: r for a, r in last["elo"].items() if "@" not in a}
    return {
        "command": f"uv run train.py {name}",
        "seconds": round(played["seconds"]),
        "iterations": played["iteration"],
        "positions": round(played["samples"]),
        "jax": jax.__version__,
        "player": player,
        "elo": {agent: [round(value, 1), round(error, 1)] for agent, (value, error) in elo.items()},
    }


def ship(run: Path, name: str, to: Path, machine: str) -> Path:
    """Writes the newest weights of a run, with their note and their checksum."""
    about, params = load_weights(run)
    params = jax.tree.map(lambda x: x.astype(np.float16).astype(x.dtype), params)  # as they will be read
    note = made(run, name) | {"machine": machine or devices.describe(), "sha256": digest(params)}
    file = to / f"{name}.npz"
    with tempfile.TemporaryDirectory() as folder:  # what is refused does not touch the weights that are there
        draft = Path(folder) / file.name
        save_weights(draft, params, about | {HALF: True, WRITTEN: note})
        whole = draft.read_bytes()
    if len(whole) > most(name):
        raise UsageError(
            f"the weights of {run} take {len(whole):,} bytes, more than the {most(name):,} that are shipped"
        )
    write_whole(file, whole)
    return file


def main() -> int:
    options = tyro.cli(Zoo)
    for name in options.preset:
        run = options.runs / name
        status = jaxgo(["train", name, *MADE_WITH.get(name, "").split(), "--plain", "--run", str(run)])
        if status:
            return status
        try:
            file = ship(run, name, options.to, options.machine)
        except UsageError as error:
            print(error, file=sys.stderr)
            return 2
        print(f"{file}: {json.dumps(load_weights(file)[0][WRITTEN])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
