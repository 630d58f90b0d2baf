"""What the files of a run say: curves, ratings and games, for its report and for the page that follows it.

The files are only read. The run may be writing them meanwhile: a line that is not whole yet is left for the next look.
"""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxgo.arena import games_file, records
from jaxgo.arena.ratings import Estimate
from jaxgo.core import play, position_text
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.replay import follow
from jaxgo.system.metrics import Row
from jaxgo.training.config import TrainConfig
from jaxgo.training.judge import GAMES, MATCHES
from jaxgo.ui.policy_preview import ShownGame
from jaxgo.ui.run_screen import short_name

POINTS = 200  # of a curve; more cannot be seen on a page
HEADS = 6  # losses that are drawn on a page, the total first; the others are named
MOST = 8  # games on the page
LADDER = "Elo, 95 %"  # of the curve of the run's own player, whose points have an error, too

Told = dict[str, Any]  # as JSON has it


@dataclasses.dataclass(frozen=True)
class Line:
    """Minutes, values and maybe half of an interval; without a name where it is the only one."""

    name: str
    points: list[list[float]]


@dataclasses.dataclass(frozen=True)
class Curve:
    """A picture of lines, of which each has points."""

    title: str
    lines: list[Line]


def curves(rows: Sequence[Row]) -> list[Curve]:
    """What is drawn of a run, from its rows."""
    playing = [row for row in rows if row.get("phase") == "play"]
    heads = dict.fromkeys(name for row in playing for name in row.get("loss") or ())
    losses = [_loss(name, playing) for name in heads]
    found = [
        Curve("loss", losses),
        Curve(LADDER, [Line("this run", ladder(rows))]),
        Curve("plies a game", [_line("", [(row, row.get("length")) for row in playing])]),
        Curve("moves a second", [_line("", [(row, row.get("moves_s")) for row in playing])]),
    ]
    return [Curve(curve.title, [line for line in curve.lines if line.points]) for curve in found]


def _line(name: str, found: Sequence[tuple[Row, Any]]) -> Line:
    """Minutes and values, where a row has them."""
    return Line(name, [[row["seconds"] / 60, float(y)] for row, y in found if y is not None and "seconds" in row])


def _loss(name: str, playing: Sequence[Row]) -> Line:
    """The same of a loss, which was no number where its row has none of it: the line is broken there."""
    found = [(row, row["loss"][name]) for row in playing if name in (row.get("loss") or ())]
    line = _line(name, [(row, math.nan if value is None else value) for row, value in found])
    return line if any(math.isfinite(value) for _, value in line.points) else Line(name, [])


def ladder(rows: Sequence[Row]) -> list[list[float]]:
    """The rating of the run's own player: minutes, Elo and half of its 95 % interval, judgement by judgement."""
    found = [
        (row["seconds"], *row["elo"][row["player"]]) for row in rows if row.get("player") in (row.get("elo") or ())
    ]
    return [[seconds / 60, value, error] for seconds, value, error in found if value is not None and error is not None]


def ratings(rows: Sequence[Row]) -> list[tuple[str, Estimate]]:
    """Everybody's last rating, the best first."""
    last: Row = next((row for row in reversed(rows) if row.get("elo")), {"elo": {}})
    found = [(agent, Estimate(*elo)) for agent, elo in last["elo"].items() if None not in elo]
    return sorted(found, key=lambda item: -item[1].value)


def judged_games(run: Path, config: TrainConfig, rows: Sequence[Row]) -> list[ShownGame]:
    """Games of the player that was judged last, one for each seat against everybody, as far as they were saved."""
    player = next((row["player"] for row in reversed(rows) if row.get("player")), "")
    game, found = config.make_game(), []
    first: dict[str, records.PairResult] = {}
    # lines stand in the order in which pairs ended, and games of the first openings are saved
    for pair in sorted(records.read_begun(run / MATCHES), key=lambda pair: pair.number):
        other = {pair.a: pair.b, pair.b: pair.a}.get(player, "")
        if other and other not in first and games_file.find(run / GAMES, pair):
            first[other] = pair
    for pair, side in ((pair, side) for pair in first.values() for side in range(2)):
        try:
            actions = games_file.load(run / GAMES, game, pair, side)
        except UsageError:  # torn; the others can be shown
            continue
        if actions is not None:
            one, other = map(short_name, pair.seats(side))
            names = [game.action_name(action) for action in actions]
            result = f"{one} against {other}: {pair.told(side, short_name)}"
            end = follow(game, play.begin(game), actions).position.state
            found.append(ShownGame(names, result, end))
    return found[:MOST]


# -- as the page takes it --------------------------------------------------------------------------------------------


def summary(config: TrainConfig, rows: Sequence[Row]) -> Told:
    """Where a run stands, its curves and its ladder."""
    last = rows[-1] if rows else {}
    return {
        "iteration": int(last.get("iteration", 0)),
        "seconds": float(last.get("seconds") or 0.0),
        "budget": config.budget.seconds,
        "curves": [_told(curve) for curve in curves(rows) if curve.lines],
        "ladder": [[name, rating.value, rating.error] for name, rating in ratings(rows)],
    }


def judged(run: Path, config: TrainConfig, rows: Sequence[Row]) -> Told | None:
    """The saved games of the player that was judged last; None where there are none, or the files are in the making."""
    try:
        found = judged_games(run, config, rows)
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


def _told(curve: Curve) -> Told:
    lines = [{"name": line.name, "points": thin(line.points)} for line in curve.lines[:HEADS]]
    return {"title": curve.title, "lines": lines, "left": [line.name for line in curve.lines[HEADS:]]}


def thin(points: list[list[float]]) -> list[list[float | None]]:
    """At most so many points, each the mean of its neighbours, in numbers that are short to tell; None where none of
    them is a number."""
    step = max(1, -(-len(points) // POINTS))
    parts = [points[i : i + step] for i in range(0, len(points), step)]
    return [[_mean(values) for values in zip(*part, strict=True)] for part in parts]


def _mean(values: Sequence[float]) -> float | None:
    sound = [value for value in values if math.isfinite(value)]
    return float(f"{sum(sound) / len(sound):.5g}") if sound else None
