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

from jaxgo.arena import games_file, records
from jaxgo.core.errors import UsageError
from jaxgo.system.files import write_whole
from jaxgo.system.metrics import Row, read_drawable
from jaxgo.system.rundir import dotted, read_config
from jaxgo.system.weights import load_weights
from jaxgo.training.config import TrainConfig, of_run
from jaxgo.training.judge import GAMES, MATCHES
from jaxgo.ui import board_view, policy_preview
from jaxgo.ui.page import page
from jaxgo.ui.policy_preview import PolicyPreview, ShownGame
from jaxgo.ui.run_screen import short_name

CURVES, PAGE = "curves.png", "report.html"
MOST = 8  # games on the page


def write(run: Path) -> list[str]:
    """Writes both files; what to tell about them."""
    config, rows = of_run(run), read_drawable(run)
    said: list[str] = []
    picture = _curves(rows)
    if picture is None:
        said.append("no curves: matplotlib is missing (uv run --extra plot train.py ...)")
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


def ladder(rows: Sequence[Row]) -> list[tuple[float, float, float]]:
    """The rating of the run's own player: seconds, Elo and half of its 95 % interval, judgement by judgement."""
    found = [(row["seconds"], *row["elo"][row["player"]]) for row in rows if row.get("player") in row.get("elo", ())]
    return [(seconds, value, error) for seconds, value, error in found if value is not None and error is not None]


def ratings(rows: Sequence[Row]) -> list[tuple[str, tuple[float, float]]]:
    """Everybody's last rating and half of its 95 % interval, the best first."""
    last: Row = next((row for row in reversed(rows) if row.get("elo")), {"elo": {}})
    found = [(agent, (elo[0], elo[1])) for agent, elo in last["elo"].items() if None not in elo]
    return sorted(found, key=lambda item: -item[1][0])


def _series(rows: Sequence[Row], name: str) -> tuple[list[float], list[float]]:
    """The minutes and values of a number that not every row has."""
    pairs = [(row["seconds"] / 60, row[name]) for row in rows if row.get(name) is not None]
    return [minutes for minutes, _ in pairs], [value for _, value in pairs]


def _curves(rows: Sequence[Row]) -> tuple[bytes, str] | None:
    """The curves as PNG and as SVG; None without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return None
    figure = Figure(figsize=(11, 7), layout="constrained")
    loss, elo, length, speed = figure.subplots(2, 2).flat
    playing = [row for row in rows if row.get("phase") == "play"]
    for head in dict.fromkeys(name for row in playing for name in row.get("loss") or ()):
        flat = [{"seconds": row["seconds"], head: (row.get("loss") or {}).get(head)} for row in playing]
        loss.plot(*_series(flat, head), label=head, linewidth=1)
    _draw_ladder(elo, rows)
    length.plot(*_series(playing, "length"), linewidth=1)
    speed.plot(*_series(playing, "moves_s"), linewidth=1)
    for axes, title in ((loss, "loss"), (elo, "Elo, 95 %"), (length, "plies a game"), (speed, "moves a second")):
        axes.set_title(title, loc="left")
        axes.set_xlabel("minutes")
        axes.grid(alpha=0.25)
        axes.set_xlim(0, 1.03 * max([0.05, *(row["seconds"] / 60 for row in rows if "seconds" in row)]))
    for axes in (loss, elo):
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize="small", framealpha=0.0)
    png, svg = io.BytesIO(), io.StringIO()
    figure.savefig(png, format="png", dpi=110)
    figure.savefig(svg, format="svg", transparent=True)
    drawn = svg.getvalue()[svg.getvalue().index("<svg") :]
    return png.getvalue(), drawn.replace("#000000", "currentColor")  # what is black is as dark or light as words are


def _draw_ladder(axes: Any, rows: Sequence[Row]) -> None:
    """The rise of the player, and where the others stand."""
    steps = ladder(rows)
    if not steps:
        return
    minutes, values, errors = zip(*((seconds / 60, value, error) for seconds, value, error in steps), strict=True)
    axes.errorbar(minutes, values, errors, marker="o", capsize=3, label="this run")
    last = next(row for row in reversed(rows) if row.get("elo"))
    own = {row.get("player") for row in rows}
    others = {agent: elo[0] for agent, elo in last["elo"].items() if agent not in own and elo[0] is not None}
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
    judged = judged_games(run, config, rows)
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
        f'<tr><td>{escape(agent)}<td class="n">{value:+.0f} ± {error:.0f}</tr>'
        for agent, (value, error) in ratings(rows)
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


def judged_games(run: Path, config: TrainConfig, rows: Sequence[Row]) -> list[ShownGame]:
    """Games of the player that was judged last, one for each seat against everybody, as far as they were saved."""
    player = next((row["player"] for row in reversed(rows) if row.get("player")), "")
    game, found = config.make_game(), []
    first: dict[str, records.PairResult] = {}
    for pair in records.read_begun(run / MATCHES):
        if pair.a == player:
            first.setdefault(pair.b, pair)
    for pair, side in ((pair, side) for pair in first.values() for side in range(2)):
        try:
            actions = games_file.load(run / GAMES, game, pair, side)
        except UsageError:  # torn; the others can be shown
            continue
        if actions is not None:
            one, other = map(short_name, pair.seats(side))
            names = [game.action_name(action) for action in actions]
            result = f"{one} against {other}: {pair.told(side, short_name)}"
            found.append(ShownGame(names, result, policy_preview.end_of(game, actions)))
    return found[:MOST]


def _settings(run: Path) -> str:
    said = dotted(read_config(run))
    return "".join(f"<tr><th>{escape(name)}<td>{escape(str(value))}</tr>" for name, value in said.items())
