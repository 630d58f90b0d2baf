"""`jaxgo stats`: what a folder of games tells."""

import dataclasses
import json
import sys
from pathlib import Path
from typing import Annotated

import tyro

from jaxgo.cli.command import bring, reader
from jaxgo.core.errors import UsageError


@dataclasses.dataclass(frozen=True)
class Stats:
    """Count games of a folder (SGF, PGN, PSQ, Zero+, JSON, texts of matches): results, lengths, repeats, openings."""

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")]
    """Where the games are, such as runs/eval/connect3d/games; folders below it count, too. One file is read as well."""
    plies: int = 2
    """Openings are told up to so many moves."""
    rows: int = 10
    """Openings of each length to list."""
    json: bool = False
    """Print one JSON object."""
    game: Annotated[str, tyro.conf.arg(metavar="GAME")] = ""
    """The game, if it is one of your own, such as examples.own_game:Nim: a file alone starts no code."""

    def run(self) -> int:
        from jaxgo.arena import statistics

        bring(self.game)
        if self.plies < 0 or self.rows < 0:
            raise UsageError("--plies and --rows are numbers that cannot be below 0")
        games = statistics.read(self.folder, lambda message: print(f"jaxgo: {message}", file=sys.stderr))
        found = statistics.count(games, self.plies)
        if self.json:
            print(json.dumps(dataclasses.asdict(found)))
        else:
            print("\n".join(statistics.lines(found, self.rows)))
        return 0


read = reader(Stats)
