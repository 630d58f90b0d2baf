"""What is left of a run for people: `curves.png` and `report.html` in its folder, made from its files alone.

The page is one file without scripts: settings, ratings, curves, how the network opens, what it thinks of two
positions, and some games: those of the last judgement, or games by its policy where nobody was met. Curves need
matplotlib (the group `dev` and the extra `plot` have it); the page does without where it is missing.
"""

import io
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from jaxgo.core.errors import UsageError
from jaxgo.core.names import install
from jaxgo.system.files import write_whole
from jaxgo.system.metrics import Row, read_drawable
from jaxgo.system.rundir import dotted, read_config
from jaxgo.system.weights import load_weights
from jaxgo.training.config import TrainConfig, of_run
from jaxgo.ui import board_view, policy_preview, run_summary
from jaxgo.ui.page import page
from jaxgo.ui.policy_preview import PolicyPreview, ShownGame
from jaxgo.ui.run_summary import Line

CURVES, PAGE = "curves.png", "report.html"


def write(run: Path) -> list[str]:
    """Writes both files; what to tell about them."""
    config, rows = of_run(run), read_drawable(run)
    said: list[str] = []
    picture = _curves(rows)
    if picture is None:
        said.append(f"no curves: matplotlib is missing ({install('plot')})")
    else:
        write_whole(run / CURVES, picture[0])
    try:
        about, params = load_weights(run)
        preview: PolicyPreview | None = policy_preview.read(config, params)
    except UsageError:
        about, preview = {}, None
    write_whole(run / PAGE, _page(run, config, rows, about, preview, picture[1] if picture else ""))
    return [*said, f"{'the report:':<13} {run / PAGE}"]


# -- curves ------------------------------------------------------------------------------------------------------


def _curves(rows: Sequence[Row]) -> tuple[bytes, str] | None:
    """The curves as PNG and as SVG; None without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return None
    figure = Figure(figsize=(11, 7), layout="constrained")
    for axes, curve in zip(figure.subplots(2, 2).flat, run_summary.curves(rows), strict=True):
        for line in curve.lines:
            if curve.title == run_summary.LADDER:
                _draw_ladder(axes, line, rows)
            else:
                axes.plot(*zip(*line.points, strict=True), label=line.name, linewidth=1)
        axes.set_title(curve.title, loc="left")
        axes.set_xlabel("minutes")
        axes.grid(alpha=0.25)
        axes.set_xlim(0, 1.03 * max([0.05, *(row["seconds"] / 60 for row in rows if "seconds" in row)]))
        if any(line.name for line in curve.lines):
            axes.legend(fontsize="small", framealpha=0.0)
    png, svg = io.BytesIO(), io.StringIO()
    figure.savefig(png, format="png", dpi=110)
    figure.savefig(svg, format="svg", transparent=True)
    drawn = svg.getvalue()[svg.getvalue().index("<svg") :]
    return png.getvalue(), drawn.replace("#000000", "currentColor")  # what is black is as dark or light as words are


def _draw_ladder(axes: Any, line: Line, rows: Sequence[Row]) -> None:
    """The rise of the player, and where the others stand."""
    axes.errorbar(*zip(*line.points, strict=True), marker="o", capsize=3, label=line.name)
    own = {row.get("player") for row in rows}
    others = {agent: rating.value for agent, rating in run_summary.ratings(rows) if agent not in own}
    for number, (agent, value) in enumerate(others.items()):
        axes.axhline(value, linestyle="--", linewidth=1, color=f"C{number + 1}", label=agent)


# -- the page ----------------------------------------------------------------------------------------------------


def _page(
    run: Path,
    config: TrainConfig,
    rows: Sequence[Row],
    about: dict[str, Any],
    preview: PolicyPreview | None,
    curves: str,
) -> str:
    seconds = max((row.get("seconds", 0.0) for row in rows), default=0.0)
    iterations = max((row["iteration"] for row in rows), default=0)
    head = f"{config.game_name}: {seconds / 60:.1f} minutes, {iterations} iterations"
    parts = [f"<h1>{escape(head)}</h1>", _ratings(rows)]
    judged = run_summary.judged_games(run, config, rows)
    if curves:
        parts.append(f'<h2>Curves</h2><div class="curves">{curves}</div>')
    if preview:
        step = f" of step {about['step']}" if "step" in about else ""
        parts += [_openings(preview, step), _positions(config, preview)]
    if judged:
        parts.append(_games(config, judged, "from the last judgement; who is named first moves first"))
    elif preview:
        parts.append(_games(config, preview.games, "by its policy alone, without search"))
    parts.append(f"<h2>Settings</h2><table>{_settings(run)}</table>")
    return page(run.name, [part for part in parts if part])


def _ratings(rows: Sequence[Row]) -> str:
    if not any(row.get("elo") for row in rows):
        return ""
    cells = "".join(
        f'<tr><td>{escape(agent)}<td class="n">{rating}</tr>' for agent, rating in run_summary.ratings(rows)
    )
    return f"<h2>Ratings</h2><table><tr><th>player<th>Elo, 95 %</tr>{cells}</table>"


def _openings(preview: PolicyPreview, step: str) -> str:
    rows = "".join(
        f'<tr><td class="n">{share:.0%}<td><span class="bar" style="width:{200 * share:.0f}px"></span>'
        f"<td>{escape(' '.join(line))}</tr>"
        for line, share in preview.openings
    )
    words = (
        f"how {preview.sampled} games begin that the network{escape(step)} plays by its policy alone, without search"
    )
    return f"<h2>Openings</h2><p>{words}</p><table>{rows}</table>"


def _positions(config: TrainConfig, preview: PolicyPreview) -> str:
    game, out = config.make_game(), []
    for position in preview.positions:
        rows = "".join(
            f'<tr><td>{escape(name)}<td class="n">{share:.1%}<td><span class="bar" style="width:{160 * share:.0f}px">'
            "</span></tr>"
            for name, share in position.moves
        )
        picture = f"<figure>{board_view.svg(game, position.state)}</figure>"
        words = f"ply {position.ply}, seat {position.seat} to move, value for it {position.value:+.2f}"
        out.append(f'<h3>{escape(words)}</h3><div class="row">{picture}<table>{rows}</table></div>')
    return "<h2>What the network thinks</h2>" + "".join(out)


def _games(config: TrainConfig, games: Sequence[ShownGame], words: str) -> str:
    game, out = config.make_game(), []
    for number, sample in enumerate(games, 1):
        picture = f"<figure>{board_view.svg(game, sample.state)}</figure>"
        out.append(
            f"<h3>game {number}: {escape(sample.result)}</h3><div class='row'>{picture}"
            f"<p style='max-width:28rem'><code>{escape(', '.join(sample.moves))}</code></p></div>"
        )
    return f"<h2>Games</h2><p>{escape(words)}</p>" + "".join(out)


def _settings(run: Path) -> str:
    said = dotted(read_config(run))
    return "".join(f"<tr><th>{escape(name)}<td>{escape(str(value))}</tr>" for name, value in said.items())
