"""A position as text and as SVG. Both views need only `cells`, `pieces` and `grid`, so every game has them.

The pictures follow the reader's light or dark mode; colours are classes, and no script is inside.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from jaxgo.core import play, position_text
from jaxgo.core.game import Game
from jaxgo.core.names import package
from jaxgo.ui import board_shape
from jaxgo.ui.board_shape import CELL, STYLE, Mark, centre, edges, label, size


def text(game: Game[Any], state: Any) -> str:
    """The board in glyphs, with the labels of its columns and rows where it has them."""
    height, width = game.picture
    if game.grid == "blocks":
        said = [piece.label or piece.glyph for piece in game.pieces]
    else:  # pieces of one glyph are told apart as in the text of a position
        signs = zip(game.pieces, position_text.symbols(game), strict=True)
        said = [symbol if piece.glyph.strip() else piece.glyph for piece, symbol in signs]
    grid = np.array(said)[play.cells(game, state)].reshape(height, width).tolist()
    columns, rows = edges(game)
    wide = max(map(len, [*said, *columns]))
    lines = [" ".join(f"{word:>{wide}}" for word in row) for row in ([*grid, columns] if columns else grid)]
    if game.grid == "hexagons":
        lines = [" " * (number * (wide + 1) // 2) + line for number, line in enumerate(lines)]
    if not rows:
        return "\n".join(line.rstrip() for line in lines)
    edge = max(map(len, rows))
    ranks = [*rows, ""] if columns else rows
    return "\n".join(f"{rank:>{edge}} {line}".rstrip() for rank, line in zip(ranks, lines, strict=True))


def svg(
    game: Game[Any],
    state: Any,
    last: int | None = None,
    numbers: Mapping[int, int] | None = None,
    heat: Sequence[float] | None = None,
    owned: Sequence[float] | None = None,
) -> str:
    """The board as a picture; the cells that the `last` action names are ringed.

    `numbers` are the moves that were played on cells; `heat` has a number in [-1, 1] for each cell, drawn as the area
    of a disc, below 0 in the second colour; `owned` is from 1, seat 0's, to -1, drawn as squares in their colours.
    """
    wide, high = size(game)
    codes = play.cells(game, state).tolist()
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}">']
    out += [f"<style>{STYLE.strip()}</style>", f'<rect class="back" width="{wide}" height="{high}" rx="6"/>']
    for layer in layers(game, codes, last):
        out += layer
    out += [write(mark) for mark in _heat(game, heat or ())]
    out += [write(mark) for mark in _owned(game, owned or ())]
    out += [write(mark) for mark in _numbers(game, codes, numbers or {})]
    return "\n".join([*out, "</svg>"]) + "\n"


def png_package() -> Any:
    """What draws PNG; a UsageError where it is missing."""
    return package("resvg_py", "PNG", "png")


def png(picture: str) -> bytes:
    """A picture as PNG, in its light colours."""
    return bytes(png_package().svg_to_bytes(svg_string=picture, zoom=2.0))


def layers(game: Game[Any], codes: list[int], last: int | None = None) -> tuple[list[str], list[str], list[str]]:
    """What is drawn for these codes, from below to above: the board with its names, the pieces, rings around `last`."""
    rings = []
    for cell in sorted(board_shape.touched(game, last)):
        x, y = centre(game, cell)
        piece = game.pieces[codes[cell]]
        full = label(game, codes[cell]) or piece.figure or piece.colour
        radius = CELL * (0.42 if full else 0.2)  # around a label, not through it, and not on a colour
        rings.append(write(Mark("circle", {"class": "last", "cx": x, "cy": y, "r": radius})))
    board = board_shape.board(game, codes) + board_shape.labels(game)
    pieces = board_shape.pieces(game, codes)
    return [write(mark) for mark in board], [write(mark) for mark in pieces], rings


def _heat(game: Game[Any], heat: Sequence[float]) -> list[Mark]:
    """A disc on each cell that is not 0, its share beside it in per cent."""
    out = []
    for cell, value in enumerate(heat):
        if abs(value) < 0.005:
            continue
        x, y = centre(game, cell)
        look = {"class": "heat" if value > 0 else "cool", "fill-opacity": 0.55}
        out.append(Mark("circle", {**look, "cx": x, "cy": y, "r": round(CELL * 0.46 * min(abs(value), 1.0) ** 0.5, 1)}))
        if abs(value) >= 0.095:
            out.append(board_shape.words("heat-text", x, y, f"{100 * value:.0f}"))
    return out


def _owned(game: Game[Any], owned: Sequence[float]) -> list[Mark]:
    """A square on each cell in the colour of whom it belongs to, the larger the surer."""
    out = []
    for cell, value in enumerate(owned):
        side = round(CELL * 0.5 * min(abs(value), 1.0), 1)
        if side >= 1:
            x, y = centre(game, cell)
            place = {"x": x - side / 2, "y": y - side / 2, "width": side, "height": side}
            out.append(Mark("rect", {"class": board_shape.shade(game, 0 if value > 0 else 1), **place}))
    return out


def _numbers(game: Game[Any], codes: Sequence[int], numbers: Mapping[int, int]) -> list[Mark]:
    """Numbers on the pieces, readable on their colours."""
    out = []
    for cell, number in numbers.items():
        piece = game.pieces[codes[cell]]
        seat = board_shape.shade(game, piece.seat)
        kind = "tint-text" if piece.colour else "number" if piece.seat < 0 else f"{seat}-text"
        out.append(board_shape.words(kind, *centre(game, cell), str(number)))
    return out


def write(mark: Mark) -> str:
    """A mark as SVG."""
    values = {name: f"{value:g}" if isinstance(value, float) else value for name, value in mark.look.items()}
    look = " ".join(f'{name}="{escape(str(value))}"' for name, value in values.items())
    return f"<{mark.tag} {look}>{escape(mark.text)}</{mark.tag}>" if mark.tag == "text" else f"<{mark.tag} {look}/>"
