"""What a notebook shows of the values of this package: boards as pictures, searches and ratings as tables."""

import dataclasses
import io
from collections.abc import Sequence
from html import escape
from typing import Any

import jax
import numpy as np

from jaxgo.arena.ratings import RatingTable
from jaxgo.core.errors import UsageError, check_kind
from jaxgo.core.game import Game
from jaxgo.core.names import package
from jaxgo.core.play import Position
from jaxgo.search import analysis
from jaxgo.search.base import SearchResult
from jaxgo.search.tree import Tree
from jaxgo.ui import board_view, tables


@dataclasses.dataclass(frozen=True)
class Picture:
    """An SVG that a notebook draws; `str` of it is what a file holds."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return self.svg


@dataclasses.dataclass(frozen=True)
class Html:
    """A table that a notebook draws."""

    text: str

    def _repr_html_(self) -> str:
        return self.text


def draw(game: Game[Any], position: Any, lane: int | None = None, last: int | None = None) -> Picture:
    """The board of a position or a state; of a batch, the game `lane`. `last` is the action to ring."""
    check_kind(game, Game, "game, which draw takes first")
    state = position.state if isinstance(position, Position) else position
    if np.ndim(state.ply) > 1 or (np.ndim(state.ply) == 1) != (lane is not None):
        raise UsageError("draw takes one position, or a batch of them and the lane to draw")
    if lane is not None:
        _check_lane(lane, len(state.ply))
        state = jax.tree.map(lambda x: x[lane], state)
    return Picture(board_view.svg(game, state, last))


def thoughts(game: Game[Any], result: SearchResult, lane: int = 0, tree: Tree | None = None, rows: int = 10) -> Html:
    """The moves that a search weighed in one game: visits, value, prior, line; the first is the one to play."""
    check_kind(game, Game, "game, which thoughts takes first")
    check_kind(result, SearchResult, "SearchResult, as run of a search gives it")
    _check_lane(lane, len(result.action))
    moves = analysis.table(result, game.action_name, tree, lane)[:rows]
    lines = [
        (
            move.name,
            f"{move.visits:,}",
            move.written,
            "" if move.prior is None else f"{move.prior:.1%}",
            "proven" if move.proven else "",
            " ".join(move.variation[:8]),
        )
        for move in moves
    ]
    return Html(_table(("move", "visits", "value", "prior", "", "line"), lines))


def ladder(table: RatingTable) -> Html:
    """Ratings with their error bars, the best first."""
    check_kind(table, RatingTable, "RatingTable, as rate(pairs) gives it")
    lines = [
        (str(row.rank), row.name, row.rating, f"{row.games:,.0f}", f"{row.score:.0%}") for row in tables.rows(table)
    ]
    return Html(_table(("", "player", "Elo ± 95 %", "games", "score"), lines))


def curves(rows: Sequence[dict[str, Any]], names: Sequence[str] = ("loss", "length")) -> Picture:
    """Numbers of a run over its iterations, from what `jaxgo.system.metrics.read_rows` reads; needs matplotlib."""
    drawing = package("matplotlib.figure", "the picture of curves", "plot")
    figure = drawing.Figure(figsize=(4 * len(names), 3), layout="constrained")
    for axes, name in zip(np.atleast_1d(figure.subplots(1, len(names))), names, strict=True):
        numbers = [(row["iteration"], _number(row.get(name))) for row in rows]
        found = [(iteration, number) for iteration, number in numbers if number is not None]
        if not found:
            raise UsageError(f"no row has a number called {name!r}")
        axes.plot(*zip(*found, strict=True))
        axes.set_title(name, loc="left")
        axes.set_xlabel("iteration")
    out = io.StringIO()
    figure.savefig(out, format="svg")
    return Picture(out.getvalue()[out.getvalue().index("<svg") :])


def _check_lane(lane: int, games: int) -> None:
    """JAX would take the last game for one that is not there."""
    if not -games <= lane < games:
        raise UsageError(f"there is no lane {lane} in a batch of {games}; lanes are 0 to {games - 1}")


def _number(value: Any) -> float | None:
    """A loss is told with its parts; its total is what a curve shows. None where a number was not finite."""
    return value.get("total") if isinstance(value, dict) else value


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(word)}</th>" for word in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in lines)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
