"""What people look at after a match: the ranking, the cross table, the ladder as a picture, and JSON for machines."""

import dataclasses
import importlib.util
import io
import math
import re
from collections import Counter
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from jaxgo.arena.ratings import RatingTable
from jaxgo.arena.records import PairResult
from jaxgo.arena.tally import namesakes
from jaxgo.core.errors import UsageError
from jaxgo.core.names import install
from jaxgo.system.files import save_whole
from jaxgo.ui import streams

WIDEST = 16  # agents in a printed cross table
NAME = 32  # characters of a name in it, and beside the ladder
COLUMN, BESIDE = 5, 8  # characters of a column of per cents, and of what stands beside these and the name
DRAWISH = 80.0  # per cent of games between equals that are drawn, from which on ratings alone mislead
REASONS = 3  # for which an agent forfeited games, that are told
PROBLEM = re.compile(r"game [12]: ([ab]) (forfeits|counts),? (.*)")
STYLE = """
.back{fill:#fbf7ee}.name,.axis{fill:#26303a}.axis{font-size:11px}.grid{stroke:#d9d0bd}.zero{stroke:#8d8370}
.bar{stroke:#2f6f8f;stroke-width:3;stroke-linecap:round}.dot{fill:#2f6f8f}.value{fill:#6b6459}
text{font:13px ui-sans-serif,system-ui,sans-serif}
@media (prefers-color-scheme:dark){.back{fill:#15181c}.name,.axis{fill:#e6e0d4}.grid{stroke:#2c3138}
.zero{stroke:#6c7480}.bar{stroke:#6db6d6}.dot{fill:#6db6d6}.value{fill:#a59c8c}}
"""


@dataclasses.dataclass(frozen=True)
class Row:
    """One agent of the final table."""

    rank: int  # in its pool, from 1
    name: str
    rating: str  # never without its error
    games: float
    score: float  # share of the points; not a number without games
    draws: float  # share of the games
    above_next: float | None  # likelihood that it is better than the next one


def rows(table: RatingTable) -> list[Row]:
    out: list[Row] = []
    for i, agent in enumerate(table.agents):
        same = i > 0 and table.pool[i] == table.pool[i - 1]
        lost, drawn, won = (float(count) for count in table.games(agent))
        games = lost + drawn + won
        follows = i + 1 < len(table.agents) and table.pool[i + 1] == table.pool[i]
        out.append(
            Row(
                rank=out[-1].rank + 1 if same else 1,
                name=agent,
                rating=str(table.rating(agent)) + (" (anchor)" if agent == table.anchor else ""),
                games=games,
                score=(won + drawn / 2) / games if games else math.nan,
                draws=drawn / games if games else math.nan,
                above_next=table.superiority(agent, table.agents[i + 1]) if follows else None,
            )
        )
    return out


def ranking(table: RatingTable) -> Table:
    """The final table, for a terminal."""
    # narrow: names of players with a network are long, and a terminal has 80 columns
    grid = Table(title="Ratings", title_justify="left", box=SIMPLE_HEAD, padding=0, pad_edge=False)
    for head, where in (("", "right"), ("name", "left"), ("Elo ± 95 %", "right"), ("games", "right")):
        grid.add_column(head, justify=where, overflow="fold", no_wrap=head == "Elo ± 95 %")  # type: ignore[arg-type]
    for head in ("score", "draws", "LOS"):
        grid.add_column(head, justify="right")
    for number, row in enumerate(rows(table)):
        if row.rank == 1 and number:
            grid.add_section()
        grid.add_row(
            str(row.rank),
            Text(row.name),
            row.rating,
            f"{row.games:g}",
            percent(row.score),
            percent(row.draws),
            percent(row.above_next, ""),
        )
    return grid


def percent(share: float | None, unknown: str = "-") -> str:
    """A share in words; `unknown` where there is none."""
    return unknown if share is None or math.isnan(share) else f"{100 * share:.1f} %"


def remarks(table: RatingTable) -> list[str]:
    """What belongs under the table: what the numbers are relative to, the seats, and every doubt."""
    zero = f"{table.anchor} is held fixed" if table.anchor else "the mean of the agents is 0"
    lost, drawn, won = table.seats
    total = lost + drawn + won
    out = [
        f"Elo where {zero}; LOS: likelihood of being better than the next one.",
        f"Moving first is worth {table.advantage} Elo in these openings; "
        f"{table.draws.value:.0f} ± {table.draws.error:.0f} % of games between equals are drawn.",
    ]
    if total:
        out.append(
            f"{total:g} games in {table.pairs:g} pairs: the first mover won {percent(won / total)}, "
            f"drew {percent(drawn / total)}, lost {percent(lost / total)}."
        )
    if table.draws.value >= DRAWISH:
        out.append(
            "Where most games are drawn, a difference stands for a higher score than usual: read the scores, too."
        )
    return out + list(table.notes)


def lengths(results: Iterable[PairResult]) -> list[str]:
    """How many moves games take, by who won them."""
    taken: dict[str, list[int]] = {"the first mover wins": [], "the second mover wins": [], "it is drawn": []}
    for pair in (pair for pair in results if any(pair.plies)):  # results of older files do not say
        for plies, seat0 in zip(pair.plies, map(pair.result, range(2)), strict=True):
            how = "the first mover wins" if seat0 > 0.5 else "the second mover wins" if seat0 < 0.5 else "it is drawn"
            taken[how].append(len(pair.opening) + plies)
    every = [plies for some in taken.values() for plies in some]
    if not every:
        return []
    parts = [f"{np.mean(some):.1f} where {how}" for how, some in taken.items() if some]
    return [f"Games take {np.mean(every):.1f} moves on average: {', '.join(parts)}."]


def repeats(results: Iterable[PairResult]) -> list[str]:
    """Games that are the same as one before, move for move, and who won them."""
    seen: set[str] = set()
    again: Counter[str] = Counter()
    for pair in results:
        for line, seat0 in zip(pair.lines, map(pair.result, range(2)), strict=True):
            if line in seen:
                again["won" if seat0 > 0.5 else "lost" if seat0 < 0.5 else "drew"] += 1
            elif line:
                seen.add(line)
    if not again:
        return []
    how = ", ".join(f"{word} {again[word]}" for word in ("won", "drew", "lost"))
    return [f"{again.total()} games are the same as another one, move for move: the first mover {how}."]


def by_seat(results: Iterable[PairResult]) -> list[str]:
    """What each agent scores from either seat; where roles differ, this tells which one it can play."""
    pairs = list(results)
    twins = namesakes(pairs)
    points: dict[str, tuple[list[float], list[float]]] = {}
    for pair in pairs:
        for who, moving_first, moving_second in (
            ((pair.a, pair.checkpoints[0]), pair.first, pair.second),
            ((pair.b, pair.checkpoints[1]), 1.0 - pair.second, 1.0 - pair.first),
        ):
            first, second = points.setdefault(twins.get(who, who[0]), ([], []))
            first.append(moving_first)
            second.append(moving_second)
    scores = [f"{n} {percent(float(np.mean(a)))} / {percent(float(np.mean(b)))}" for n, (a, b) in points.items()]
    return [f"Scores moving first / second: {'; '.join(scores)}."] if scores else []


def lopsided(results: Iterable[PairResult]) -> list[str]:
    """How many openings were won from the same seat by both: they cost games and tell nothing."""
    pairs = list(results)
    same = sum(pair.same_seat for pair in pairs)
    if not same:
        return []
    return [f"{same:,} of {len(pairs):,} openings ({percent(same / len(pairs))}) were won from the same seat by both."]


def incidents(results: Iterable[PairResult]) -> list[str]:
    """Who forfeited games and why, and whose count of a finished game differs from the rules of jaxgo."""
    pairs, forfeits = list(results), dict[str, Counter[str]]()
    twins, disputes = namesakes(pairs), Counter[str]()
    for pair in pairs:
        called = {"a": (pair.a, pair.checkpoints[0]), "b": (pair.b, pair.checkpoints[1])}
        for problem in pair.problems:
            found = PROBLEM.match(problem)
            who = called[found[1]] if found else ("", "")
            name = twins.get(who, who[0])
            if found and found[2] == "forfeits":
                forfeits.setdefault(name, Counter())[found[3]] += 1
            elif found:
                disputes[name] += 1
    out = []
    for name, reasons in forfeits.items():
        some = [f"{reason} ({count})" for reason, count in reasons.most_common(REASONS)]
        more = ["other reasons"] if len(reasons) > REASONS else []
        out.append(f"{name} forfeited {reasons.total()} games: {', '.join(some + more)}")
    return out + [f"{name} counts {count} games otherwise than the rules here" for name, count in disputes.items()]


def cross(table: RatingTable, width: int) -> Table:
    """Who scored how much against whom, in per cent, as many as fit a terminal; `cell` has the points and games."""
    longest = min(NAME, max(map(len, table.agents)))
    shown = max(2, min(len(table.agents), WIDEST, (width - longest - BESIDE) // COLUMN))
    more = f", the best {shown} of {len(table.agents)}" if shown < len(table.agents) else ""
    grid = Table(title=f"Per cent of the points of each row against each column{more}", title_justify="left")
    grid.add_column("", justify="right")
    grid.add_column("name", overflow="ellipsis", no_wrap=True, max_width=NAME)
    for i in range(shown):
        grid.add_column(str(i + 1), justify="right", no_wrap=True)
    for i in range(shown):
        grid.add_row(str(i + 1), Text(table.agents[i]), *(_per_cent(table, i, j) for j in range(shown)))
    return grid


def _per_cent(table: RatingTable, i: int, j: int) -> str:
    lost, drawn, won = table.results[i, j].tolist()
    return "" if i == j or lost + drawn + won == 0 else f"{100 * (won + drawn / 2) / (lost + drawn + won):.0f}"


def cell(table: RatingTable, i: int, j: int) -> str:
    """Points / games of one agent against another; nothing where they did not meet."""
    lost, drawn, won = table.results[i, j].tolist()
    return "" if i == j or lost + drawn + won == 0 else f"{won + drawn / 2:g}/{lost + drawn + won:g}"


def show(table: RatingTable, console: Console | None = None) -> None:
    """Prints the ranking, the cross table and the remarks."""
    console = console or Console(emoji=False)
    tables = [ranking(table), cross(table, console.width)] if len(table.agents) > 2 else [ranking(table)]
    streams.show(Group(*tables, *(Text(line) for line in remarks(table))), console)


def to_json(table: RatingTable) -> dict[str, Any]:
    """The table for machines: plain numbers and lists."""
    return {
        "agents": [
            {
                "name": row.name,
                "pool": int(table.pool[i]),
                "rank": row.rank,
                "elo": float(table.elo[i]),
                "error95": table.rating(row.name).error,
                "games": row.games,
                "score": None if math.isnan(row.score) else row.score,
                "draws": None if math.isnan(row.draws) else row.draws,
                "los_next": row.above_next,
            }
            for i, row in enumerate(rows(table))
        ],
        "covariance": table.covariance.tolist(),
        "results": table.results.tolist(),  # games lost, drawn and won of each row against each column
        "anchor": table.anchor,
        "advantage": {"elo": table.advantage.value, "error95": table.advantage.error},
        "draws_between_equals": {"percent": table.draws.value, "error95": table.draws.error},
        "first_mover": dict(zip(("lost", "drew", "won"), table.seats.tolist(), strict=True)),
        "pairs": table.pairs,
        "notes": list(table.notes),
    }


# -- the ladder ----------------------------------------------------------------------------------------------------


def ladder_svg(table: RatingTable) -> str:
    """The ratings as dots with bars of their 95 % intervals; it follows the reader's light or dark mode."""
    names = [_short(agent) for agent in table.agents]
    left, right, step, top = 24 + 7.4 * max(map(len, names), default=0), 120, 26, 20
    width, height = left + 480 + right, top + step * max(len(names), 1) + 34
    ticks = _ticks(table)
    low, high = ticks[0], ticks[-1]

    def x(elo: float) -> float:
        return left + 480 * (elo - low) / (high - low)

    size = f'viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}"'
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">', f"<style>{STYLE.strip()}</style>"]
    out += ["<title>Elo with 95 % intervals</title>", f'<rect class="back" width="{width:.0f}" height="{height}"/>']
    for tick in ticks:
        kind = "zero" if tick == 0 else "grid"
        out.append(f'<path class="{kind}" d="M{x(tick):.1f} {top - 8}V{height - 28}"/>')
        out.append(f'<text class="axis" text-anchor="middle" x="{x(tick):.1f}" y="{height - 10}">{tick:g}</text>')
    for i, (agent, name) in enumerate(zip(table.agents, names, strict=True)):
        y, rating = top + step * i + step // 2, table.rating(agent)
        ends = [min(max(x(rating.value + d), left), left + 480) for d in (-rating.error, rating.error)]
        if i and table.pool[i] != table.pool[i - 1]:
            out.append(f'<path class="zero" stroke-dasharray="4 4" d="M8 {y - step // 2}H{width - 8:.0f}"/>')
        out.append(f'<text class="name" text-anchor="end" x="{left - 12:.1f}" y="{y + 4}">{escape(name)}</text>')
        out.append(f'<path class="bar" d="M{ends[0]:.1f} {y}H{ends[1]:.1f}"/>')
        out.append(f'<circle class="dot" cx="{x(rating.value):.1f}" cy="{y}" r="5"/>')
        out.append(f'<text class="value" x="{left + 492:.1f}" y="{y + 4}">{rating}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def _short(name: str) -> str:
    return name if len(name) <= NAME else name[: NAME - 1] + "…"


def _ticks(table: RatingTable) -> list[float]:
    """Round numbers from below the lowest interval to above the highest."""
    errors = np.array([table.rating(agent).error for agent in table.agents])
    low = float(np.min(table.elo - errors, initial=0.0))
    high = float(np.max(table.elo + errors, initial=0.0))
    if table.anchor is not None and low == 0 < float(np.min(table.elo - errors)):  # an anchor far from 0
        low = float(np.min(table.elo - errors))
    rough = max(high - low, 10.0) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [step * i for i in range(first, max(last, first + 1) + 1)]


def check_ladder(path: Path) -> None:
    """A UsageError where `save_ladder` cannot draw into a file of this name."""
    kind = path.suffix.lower()
    if kind not in (".svg", ".png"):
        raise UsageError(f"a ladder is saved as .svg or .png, not as {path.name!r}")
    if kind == ".png" and importlib.util.find_spec("matplotlib") is None:
        raise UsageError(f"a .png needs matplotlib: {install('plot')}; or save the ladder as .svg, which needs nothing")


def save_ladder(table: RatingTable, path: str | Path) -> None:
    """Writes the ladder as .svg, or as .png if matplotlib is there."""
    path = Path(path)
    check_ladder(path)
    if path.suffix.lower() == ".svg":
        save_whole(path, ladder_svg(table))
    else:
        save_whole(path, _ladder_png(table))


def _ladder_png(table: RatingTable) -> bytes:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 1 + 0.35 * len(table.agents)), layout="constrained")
    axes = figure.subplots()
    places = range(len(table.agents))
    errors = [table.rating(agent).error for agent in table.agents]
    axes.errorbar(table.elo, places, xerr=errors, fmt="o", color="#2f6f8f", capsize=3)
    axes.set_yticks(list(places), [_short(agent) for agent in table.agents])
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.4)
    axes.set_xlabel("Elo with 95 % intervals")
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=150)
    return drawn.getvalue()
