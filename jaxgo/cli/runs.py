"""`jaxgo runs`: the runs below a folder, and whether what they saved is whole."""

import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from jaxgo.cli.command import columns, reader
from jaxgo.core.errors import UsageError

if TYPE_CHECKING:
    from jaxgo.system.survey import Run

DAMAGED = 1  # the exit status where something is not whole


@dataclasses.dataclass(frozen=True)
class ListRuns:
    """List runs: game, state, time, rating, size, and whether every checkpoint is what was written."""

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")] = Path("runs")
    """Where to look; a run, or a folder with runs in it."""
    json: bool = False
    """Print one JSON object for each run."""

    def run(self) -> int:
        from jaxgo.system import survey

        found, faults = [], []
        for path in survey.find(self.folder):
            try:
                found.append(survey.look(path))
            except UsageError as error:
                faults.append(str(error))
            except OSError as error:
                faults.append(f"cannot read {error.filename}: {error.strerror}")
        if self.json:
            for run in found:
                print(json.dumps(dataclasses.asdict(run) | {"path": str(run.path)}))
        elif found:
            self._print(found)
        elif not faults:
            print(f"no runs below {self.folder}")
        for run in found:
            faults += [f"{run.path}: checkpoint {c.step}: {c.fault}" for c in run.checkpoints if c.fault]
        for fault in faults:
            print(fault, file=sys.stderr if self.json else sys.stdout)
        return DAMAGED if faults else 0

    def _print(self, runs: "list[Run]") -> None:
        from jaxgo.arena.ratings import Estimate

        rows = [("run", "game", "state", "iteration", "minutes", "Elo ± 95 %", "MB", "checkpoints")]
        for run in runs:
            elo = "" if run.elo is None else str(Estimate(*run.elo))
            steps = " ".join(f"{c.step}{'!' if c.fault else ''}" for c in run.checkpoints) or "none"
            minutes, size = f"{run.seconds / 60:.1f}", f"{run.size / 2**20:.1f}"
            rows.append((str(run.path), run.game, run.state, str(run.iteration), minutes, elo, size, steps))
        print(*columns(rows), sep="\n")


read = reader(ListRuns)
