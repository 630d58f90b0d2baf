"""A run as a page follows it: curves, ratings and games, from the files in its folder, which are only read.

The run may be writing them meanwhile: a line that is not whole yet is left for the next look.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxgo.core import position_text
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.system.metrics import Row
from jaxgo.training.config import TrainConfig
from jaxgo.ui import run_report
from jaxgo.ui.policy_preview import ShownGame

POINTS = 200  # of a curve; more cannot be seen on a page
HEADS = 6  # losses that are drawn, the total first

Told = dict[str, Any]  # as JSON has it


def summary(config: TrainConfig, rows: Sequence[Row]) -> Told:
    """Where a run stands, its curves and its ladder."""
    last = rows[-1] if rows else {}
    return {
        "iteration": int(last.get("iteration", 0)),
        "seconds": float(last.get("seconds") or 0.0),
        "budget": config.budget.seconds,
        "curves": [curve for curve in _curves(rows) if any(line["points"] for line in curve["lines"])],
        "ladder": [[name, value, error] for name, (value, error) in run_report.ratings(rows)],
    }


def judged(run: Path, config: TrainConfig, rows: Sequence[Row]) -> Told | None:
    """The saved games of the player that was judged last; None where there are none, or the files are in the making."""
    try:
        found = run_report.judged_games(run, config, rows)
    except UsageError:
        return None
    return group(config.make_game(), "of the last judgement", found) if found else None


def group(game: Game[Any], about: str, games: Sequence[ShownGame]) -> Told:
    """Games that can be replayed: the text of the start where it is not the usual one, and the actions."""
    usual = position_text.example(game)
    told = []
    for one in games:
        start = usual if one.start is None else position_text.drawing(game, one.start)
        actions = [game.parse_action(name) for name in one.moves]
        told.append({"result": one.result, "start": "" if start == usual else start, "actions": actions})
    return {"about": about, "games": told}


def _curves(rows: Sequence[Row]) -> list[Told]:
    playing = [row for row in rows if row.get("phase") == "play"]
    names = list(dict.fromkeys(name for row in playing for name in row.get("loss") or ()))[:HEADS]
    losses = {name: [(row, (row.get("loss") or {}).get(name)) for row in playing] for name in names}
    ladder = [[seconds / 60, value, error] for seconds, value, error in run_report.ladder(rows)]
    return [
        {"title": "loss", "lines": [_line(name, found) for name, found in losses.items()]},
        {"title": "Elo, 95 %", "lines": [{"name": "this run", "points": thin(ladder)}]},
        {"title": "plies a game", "lines": [_line("", [(row, row.get("length")) for row in playing])]},
        {"title": "moves a second", "lines": [_line("", [(row, row.get("moves_s")) for row in playing])]},
    ]


def _line(name: str, found: Sequence[tuple[Row, Any]]) -> Told:
    """Minutes and values, where a row has them."""
    points = [[row["seconds"] / 60, float(value)] for row, value in found if value is not None and "seconds" in row]
    return {"name": name, "points": thin(points)}


def thin(points: list[list[float]]) -> list[list[float]]:
    """At most so many points, each the mean of its neighbours, in numbers that are short to tell."""
    step = max(1, -(-len(points) // POINTS))
    parts = [points[i : i + step] for i in range(0, len(points), step)]
    means = [[sum(values) / len(part) for values in zip(*part, strict=True)] for part in parts]
    return [[float(f"{value:.5g}") for value in mean] for mean in means]
