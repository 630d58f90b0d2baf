"""A position as text and as SVG. Both views need only `cells`, `pieces` and `grid`, so every game has them.

The pictures follow the reader's light or dark mode; colours are classes, and no script is inside.
"""

import functools
import re
from html import escape
from typing import Any

import numpy as np

from jaxgo.core.board import square_name
from jaxgo.core.game import Game

CELL, EDGE = 40, 26  # pixels: a cell, the frame of the names
STYLE = """
.back{fill:#fbf7ee}.board{fill:#ecd9b0}.line{stroke:#6f5a34;stroke-width:1}.name{fill:#6b6459}
.zero{fill:#26303a;stroke:#10161c}.one{fill:#fffdf8;stroke:#5a5348}.none{fill:#c9a35f;stroke:#7d6434}
.zero-text{fill:#f3efe6}.one-text,.none-text{fill:#26303a}.last{fill:none;stroke:#d2452f;stroke-width:3}
.shade{fill:#dcc28c}.star{stroke:#6f5a34;stroke-width:6;stroke-linecap:round}
text{font:600 14px ui-sans-serif,system-ui,sans-serif;text-anchor:middle}
@media (prefers-color-scheme:dark){.back{fill:#15181c}.board{fill:#8a7347}.line{stroke:#3d3220}.name{fill:#a59c8c}
.shade{fill:#75603a}.star{stroke:#3d3220}.zero{stroke:#000}.one{fill:#f1ece0}.last{stroke:#ff7a5c}}
"""
SEATS = {0: "zero", 1: "one", -1: "none"}


@functools.cache
def names(game: Game[Any]) -> tuple[str, ...]:
    """What players call each cell: the actions' own names where actions are cells, else chess-like; or nothing.

    A picture of several boards side by side has no names, because its cells are not those of the planes.
    """
    height, width = game.picture
    if game.picture != game.shape or height * width > 26 * 26:
        return ()
    own = [game.action_name(cell) for cell in range(min(game.num_actions, height * width))]
    if len(own) == height * width and all(re.fullmatch(r"[A-Za-z]\d+", name) for name in own):
        return tuple(own)
    chess = tuple(square_name(cell, height, width) for cell in range(height * width)) if width <= 26 else ()
    return chess if any(name.lower().startswith(chess) for name in own) and chess else ()


def text(game: Game[Any], state: Any) -> str:
    """The board in glyphs, with the names of its files and ranks where it has them."""
    height, width = game.picture
    glyphs = np.array([piece.glyph for piece in game.pieces])[np.asarray(game.cells(state))].reshape(height, width)
    called = names(game)
    if not called:
        return "\n".join(" ".join(row).rstrip() for row in glyphs.tolist())
    ranks = [called[row * width][1:] for row in range(height)]
    wide = max(map(len, ranks))
    lines = [f"{rank:>{wide}} {' '.join(row)}".rstrip() for rank, row in zip(ranks, glyphs.tolist(), strict=True)]
    return "\n".join([*lines, " " * (wide + 1) + " ".join(called[column][0] for column in range(width))])


def svg(game: Game[Any], state: Any, last: int | None = None) -> str:
    """The board as a picture; the cells that the name of the `last` action speaks of are ringed."""
    wide, high = size(game)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}">']
    out += [f"<style>{STYLE.strip()}</style>", f'<rect class="back" width="{wide}" height="{high}" rx="6"/>']
    for layer in layers(game, np.asarray(game.cells(state)).tolist(), last):
        out += layer
    return "\n".join([*out, "</svg>"]) + "\n"


def size(game: Game[Any]) -> tuple[int, int]:
    """Width and height of a picture."""
    height, width = game.picture
    return width * CELL + 2 * EDGE, height * CELL + 2 * EDGE


def layers(game: Game[Any], codes: list[int], last: int | None = None) -> tuple[list[str], list[str], list[str]]:
    """What is drawn for these codes, from below to above: the board with its names, the pieces, rings around `last`."""
    pieces, rings = [], []
    for cell, code in enumerate(codes):
        if code and game.pieces[code].glyph.strip():
            pieces += _block(game, codes, cell) if game.grid == "blocks" else _piece(game, code, *_centre(game, cell))
    for cell in _touched(game, last):
        x, y = _centre(game, cell)
        radius = CELL * (0.42 if _label(game, codes[cell]) else 0.2)  # around a label, not through it
        rings.append(f'<circle class="last" cx="{x}" cy="{y}" r="{radius:g}"/>')
    return _board(game, codes) + _names(game), pieces, rings


def _centre(game: Game[Any], cell: int) -> tuple[int, int]:
    row, column = divmod(cell, game.picture[1])
    return EDGE + column * CELL + CELL // 2, EDGE + row * CELL + CELL // 2


def _board(game: Game[Any], codes: list[int]) -> list[str]:
    """One tile for each cell of the board, every other one shaded where squares have names; or crossings of lines."""
    height, width = game.picture
    on = [bool(game.pieces[code].glyph.strip()) for code in codes]
    chequered = game.grid == "squares" and bool(names(game))
    tiles, lines = [], []
    for cell in (cell for cell, there in enumerate(on) if there):
        x, y = _centre(game, cell)
        row, column = divmod(cell, width)
        kind = "board" if game.grid == "points" else "board line"
        if chequered and (row + column) % 2:
            kind += " shade"
        tiles.append(f'<rect class="{kind}" x="{x - CELL // 2}" y="{y - CELL // 2}" width="{CELL}" height="{CELL}"/>')
        if game.grid == "points":
            if column + 1 < width and on[cell + 1]:
                lines.append(f'<path class="line" d="M{x} {y}h{CELL}"/>')
            if row + 1 < height and on[cell + width]:
                lines.append(f'<path class="line" d="M{x} {y}v{CELL}"/>')
    dots = _stars(height, width) if game.grid == "points" else []
    return tiles + lines + [_dot(*_centre(game, cell)) for cell in dots]


def _stars(height: int, width: int) -> list[int]:
    """The star points of a square board of crossings, as Go and Gomoku boards have them."""
    if height != width or height < 9 or height % 2 == 0:
        return []
    edge = 2 if height < 11 else 3
    near = (edge, height // 2, height - 1 - edge)
    sides = near if height > 13 else (edge, height - 1 - edge)
    return [row * width + column for row in near for column in near if {row, column} <= set(sides) or row == column]


def _dot(x: int, y: int) -> str:
    return f'<path class="star" d="M{x} {y}h0"/>'


def _text(kind: str, x: int, y: int, words: str) -> str:
    """Words around a point; a shift of the baseline is what every reader of SVG understands."""
    return f'<text class="{kind}" x="{x}" y="{y}" dy=".35em">{escape(words)}</text>'


def _names(game: Game[Any]) -> list[str]:
    called, (height, width) = names(game), game.picture
    if not called:
        return []
    bottom = EDGE + height * CELL + EDGE // 2
    out = []
    for column in range(width):
        x, _ = _centre(game, column)
        out.append(_text("name", x, bottom, called[column][0]))
    for row in range(height):
        _, y = _centre(game, row * width)
        out.append(_text("name", EDGE // 2, y, called[row * width][1:]))
    return out


def _label(game: Game[Any], code: int) -> str:
    """What a disc says: its label, or its glyph where the seat has several kinds."""
    piece = game.pieces[code]
    kinds = sum(other.seat == piece.seat and bool(other.glyph.strip()) for other in game.pieces[1:])
    return piece.label or (piece.glyph if code and (kinds > 1 or piece.seat < 0) else "")


def _piece(game: Game[Any], code: int, x: int, y: int) -> list[str]:
    """A disc in the colour of its seat."""
    seat, label = SEATS[game.pieces[code].seat], _label(game, code)
    disc = f'<circle class="{seat}" cx="{x}" cy="{y}" r="{CELL * 0.42:g}"/>'
    return [disc, _text(f"{seat}-text", x, y, label)] if label else [disc]


def _block(game: Game[Any], codes: list[int], cell: int) -> list[str]:
    """The part of a block that starts at this cell: it reaches over the neighbours that are the same block."""
    x, y = _centre(game, cell)
    width, inner = game.picture[1], CELL * 0.86
    right = (cell + 1) % width != 0 and codes[cell + 1] == codes[cell]
    below = cell + width < len(codes) and codes[cell + width] == codes[cell]
    whole = right and below and codes[cell + width + 1] == codes[cell]
    spans = [(right, below)] if whole else [(right, False), (False, below)] if right and below else [(right, below)]
    piece = game.pieces[codes[cell]]
    out = []
    for wide, high in spans:
        size = f'width="{inner + CELL * wide:g}" height="{inner + CELL * high:g}"'
        out.append(
            f'<rect class="{SEATS[piece.seat]}" stroke-width="0" x="{x - inner / 2:g}" y="{y - inner / 2:g}" {size}/>'
        )
    if codes.index(codes[cell]) == cell:
        out.append(_text(f"{SEATS[piece.seat]}-text", x, y, piece.label or piece.glyph))
    return out


def _touched(game: Game[Any], last: int | None) -> list[int]:
    """The cells named in the name of an action, such as both ends of `d2-c2`."""
    if last is None:
        return []
    words = re.findall(r"[a-z]\d+", game.action_name(last).lower())
    return [cell for cell, name in enumerate(names(game)) if name.lower() in words]
