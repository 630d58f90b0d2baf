"""The table of ratings at the end of a tournament or a tuning, with its pictures and pages."""

import json
import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jaxgo.cli.command import File
from jaxgo.core.errors import UsageError

if TYPE_CHECKING:
    from jaxgo.arena.records import PairResult


@dataclass(frozen=True)
class Table:
    """What is made of the ratings."""

    anchor: str = ""
    """The agent whose rating is 0; it may be followed by its rating, as in uct:400=1500. Else the mean is 0."""
    plot: File = None
    """Draw the ladder into this file, .svg or .png."""
    html: File = None
    """Write a page with the ladder, the tables and games to replay into this file."""
    json: bool = False
    """Print the ratings as JSON and nothing else."""

    def check(self, names: Iterable[str], files: Iterable[Path]) -> str:
        """Refuses what `show` could not do after all games are played, and tells whose rating is held, if anybody's is;
        `names` are the agents that will have played, `files` those of their results."""
        from jaxgo.system.files import check_apart, check_writable
        from jaxgo.ui import tables as report

        known = sorted(set(names))
        wanted = self._anchor(known)
        if wanted is not None and wanted[0] not in known:
            name, _, level = self.anchor.rpartition("=")
            if name in known:
                raise UsageError(f"--anchor {self.anchor}: {level!r} is no rating; write a number, as in {name}=1500")
            raise UsageError(f"--anchor {self.anchor} names nobody who plays; choose one of: {', '.join(known)}")
        if self.plot:
            report.check_ladder(self.plot)
        results = {Path(os.path.realpath(file)) for file in files}
        check_apart([*results, *(path for path in (self.plot, self.html) if path)])
        for path in (self.plot, self.html):
            if path:
                check_writable(path)
        return wanted[0] if wanted else ""

    def _anchor(self, names: Collection[str]) -> tuple[str, float] | None:
        """Who is held fixed, and where."""
        from jaxgo.arena.elo import MOST_LEVEL

        if not self.anchor or self.anchor in names:  # an option of the agent may be at its end, as in uct:400,c=1
            return (self.anchor, 0.0) if self.anchor else None
        name, _, level = self.anchor.rpartition("=")
        try:
            elo = float(level)
        except ValueError:
            return self.anchor, 0.0
        if not abs(elo) <= MOST_LEVEL:
            raise UsageError(
                f"--anchor {self.anchor}: the rating must be a finite number, {MOST_LEVEL:g} either way at most"
            )
        return name, elo

    def show(self, results: "Sequence[PairResult]", notes: Sequence[str] = (), games: Sequence[Path] = ()) -> None:
        from jaxgo.arena import elo, records
        from jaxgo.ui import tables as report

        if not results:
            raise UsageError("there are no results to rate")
        table = elo.rate(results, self._anchor({name for pair in results for name in (pair.a, pair.b)}))
        counted = records.once(results)
        again = len(results) - len(counted)
        repeated = (
            [f"pairs that repeat a game of another pair, move for move, are not counted: {again}"] if again else []
        )
        notes = [*notes, *repeated, *report.lopsided(counted), *report.incidents(results)]
        notes += [*report.lengths(counted), *report.by_seat(counted), *report.repeats(results)]
        if self.plot:  # files come first: who reads what is printed may have seen enough of it
            report.save_ladder(table, self.plot)
        if self.html:
            from jaxgo.ui import ladder_page

            ladder_page.write(self.html, table, results, games, notes)
        if self.json:
            print(json.dumps(report.to_json(table) | {"remarks": list(notes)}))
        else:
            report.show(table)
            for note in notes:
                print(note)
