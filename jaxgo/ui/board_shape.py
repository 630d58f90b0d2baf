"""What is drawn of a board, as marks: a kind of shape, its attributes, its text. Pictures and the page share them.

A mark holds no markup: `board_view` writes marks as SVG, and the page to play on makes elements of them.
"""

import functools
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxgo.core.board import square_name
from jaxgo.core.game import Game

CELL, EDGE = 40, 26  # pixels: a cell, the frame of the names
PITCH = 36  # from one row of hexagons to the next, whose cells lie half a cell further to the right
HEXAGON = ((0, -24), (20, -12), (20, 12), (0, 24), (-20, 12), (-20, -12))  # around a point, from the top
SEATS = {0: "zero", 1: "one", -1: "none"}
STYLE = """
.back{fill:#fbf7ee}.board{fill:#ecd9b0}rect.board{shape-rendering:crispEdges}
.line{stroke:#6f5a34;stroke-width:1}.name{fill:#6b6459}
.zero{fill:#26303a;stroke:#10161c}.one{fill:#fffdf8;stroke:#5a5348}.none{fill:#c9a35f;stroke:#7d6434}
.figure{stroke-width:1.4;stroke-linejoin:round}.zero.figure{stroke:#fffdf8}
.zero-text{fill:#f3efe6}.one-text,.none-text,.tint-text{fill:#26303a}
.tint-text{stroke:#fff;stroke-opacity:.5;stroke-width:2.5;paint-order:stroke}.last{fill:none;stroke:#d2452f;stroke-width:3}
.shade{fill:#dcc28c}.side{fill:none;stroke-width:11;stroke-linejoin:round;stroke-linecap:round}.star{stroke:#6f5a34;stroke-width:6;stroke-linecap:round}
.heat{fill:#b3372a}.cool{fill:#2f6f9f}.heat-text{fill:#26303a}.number{fill:#d2452f}
text{font:600 14px ui-sans-serif,system-ui,sans-serif;text-anchor:middle}
@media (prefers-color-scheme:dark){.back{fill:#15181c}.board{fill:#8a7347}.line{stroke:#3d3220}.name{fill:#a59c8c}
.shade{fill:#75603a}.star{stroke:#3d3220}.zero{stroke:#000}.one{fill:#f1ece0}.last{stroke:#ff7a5c}}
"""
# silhouettes around a point, 30 pixels high
FIGURES = {
    "pawn": "M-9 14H9L5 6Q3 1 4 -2A6 6 0 1 0 -4 -2Q-3 1 -5 6Z",
    "knight": "M-8 14H10Q12 -2 4 -9L3 -14L-1 -10Q-8 -7 -11 1L-8 5L-1 2Q-2 7 -8 11Z",
    "bishop": "M-10 14H10V11H5Q8 3 5 -3Q3 -8 1 -10A2.4 2.4 0 1 0 -1 -10Q-3 -8 -5 -3Q-8 3 -5 11H-10Z",
    "rook": "M-10 14H10V10H7L6 -4H9V-12H5V-9H2V-12H-2V-9H-5V-12H-9V-4H-6L-7 10H-10Z",
    "queen": "M-9 14H9L7 8L13 -8L6 0L5 -12L0 -1L-5 -12L-6 0L-13 -8L-7 8Z",
    "king": "M-9 14H9L7 8Q14 -2 7 -5Q3 -6 1.5 -3V-8H4.5V-11H1.5V-14H-1.5V-11H-4.5V-8H-1.5V-3Q-3 -6 -7 -5Q-14 -2 -7 8Z",
    "maharajah": "M-9 14H9L7 7L14 -6L7 -2L9 -12L3 -5L0 -16L-3 -5L-9 -12L-7 -2L-14 -6L-7 7Z",
}


class Mark(NamedTuple):
    """One shape: its tag, its attributes, its text."""

    tag: str
    look: dict[str, str | int | float]
    text: str = ""


# -- names -------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
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


@functools.lru_cache(maxsize=256)
def cells_are_moves(game: Game[Any]) -> bool:
    """Whether the first moves are the cells, by number and by name."""
    called = names(game)
    return 0 < len(called) <= game.num_actions and all(
        game.action_name(cell) == name for cell, name in enumerate(called)
    )


@functools.lru_cache(maxsize=256)
def edges(game: Game[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The labels of the columns and of the rows, from the left and from above; empty where there are none."""
    columns, rows = game.edges()
    called, (height, width) = names(game), game.picture
    if columns or rows or not called:
        return tuple(columns), tuple(rows)
    grid = np.array(called).reshape(height, width)
    letters = np.vectorize(lambda name: name[0])(grid)
    numbers = np.vectorize(lambda name: name[1:])(grid)
    for across, down in ((letters, numbers), (numbers, letters)):
        if (across == across[:1]).all() and (down == down[:, :1]).all():
            return tuple(across[0].tolist()), tuple(down[:, 0].tolist())
    return (), ()


# -- places ------------------------------------------------------------------------------------------------------


def size(game: Game[Any]) -> tuple[int, int]:
    """Width and height of a picture."""
    height, width = game.picture
    wide, high = width * CELL, height * CELL
    if game.grid == "hexagons":
        wide, high = wide + (height - 1) * CELL // 2, (height - 1) * PITCH + 2 * HEXAGON[3][1]
    return wide + 2 * EDGE, high + 2 * EDGE


def centre(game: Game[Any], cell: int) -> tuple[int, int]:
    row, column = divmod(cell, game.picture[1])
    if game.grid == "hexagons":
        return EDGE + column * CELL + (row + 1) * CELL // 2, EDGE + row * PITCH + HEXAGON[3][1]
    return EDGE + column * CELL + CELL // 2, EDGE + row * CELL + CELL // 2


def outline(game: Game[Any]) -> str:
    """The path around a cell at 0, 0, where it is no square."""
    return f"M{' '.join(f'{x} {y}' for x, y in HEXAGON)}Z" if game.grid == "hexagons" else ""


def is_there(game: Game[Any], code: int) -> bool:
    """Whether a cell of this code is part of the board at all."""
    return bool(game.pieces[code].glyph.strip())


# -- the board ---------------------------------------------------------------------------------------------------


def board(game: Game[Any], codes: Sequence[int]) -> list[Mark]:
    """One tile for each cell of the board, shaded or coloured as squares are; or crossings of lines."""
    height, width = game.picture
    on = [is_there(game, code) for code in codes]
    chequered = game.grid == "squares" and bool(names(game))
    colours = game.square_colours()
    tiles, lines = [], []
    for cell in (cell for cell, there in enumerate(on) if there):
        x, y = centre(game, cell)
        row, column = divmod(cell, width)
        look: dict[str, str | int | float] = {"class": "board" if game.grid == "points" else "board line"}
        if colours:
            look = {"class": "tint line", "fill": colours[cell]}
        elif chequered and (row + column) % 2:
            look = {"class": f"{look['class']} shade"}
        tiles.append(_tile(game, look, x, y))
        if game.grid == "points":
            if column + 1 < width and on[cell + 1]:
                lines.append(Mark("path", {"class": "line", "d": f"M{x} {y}h{CELL}"}))
            if row + 1 < height and on[cell + width]:
                lines.append(Mark("path", {"class": "line", "d": f"M{x} {y}v{CELL}"}))
    dots = [centre(game, cell) for cell in _stars(height, width)] if game.grid == "points" else []
    stars = [Mark("path", {"class": "star", "d": f"M{x} {y}h0"}) for x, y in dots]
    return _sides(game) + tiles + lines + stars


def _tile(game: Game[Any], look: dict[str, str | int | float], x: int, y: int) -> Mark:
    if game.grid == "hexagons":
        return Mark("path", {**look, "d": outline(game), "transform": f"translate({x} {y})"})
    return Mark("rect", {**look, "x": x - CELL // 2, "y": y - CELL // 2, "width": CELL, "height": CELL})


def _sides(game: Game[Any]) -> list[Mark]:
    """A strip in its colour along each side of a board of hexagons, half of which its cells cover."""
    height, width = game.picture
    rows, columns = range(height), range(width)
    last = (height - 1) * width
    ways = (  # the cells along each side, clockwise, and the corners of each that are at the side
        (columns, (5, 0, 1)),
        ([row * width + width - 1 for row in rows], (1, 2)),
        ([last + column for column in reversed(columns)], (2, 3, 4)),
        ([row * width for row in reversed(rows)], (4, 5)),
    )
    out = []
    for colour, (cells, corners) in zip(game.sides(), ways, strict=False):
        points = [
            (x + HEXAGON[i][0], y + HEXAGON[i][1]) for x, y in (centre(game, cell) for cell in cells) for i in corners
        ]
        out.append(
            Mark("path", {"class": "side", "stroke": colour, "d": f"M{' '.join(f'{x} {y}' for x, y in points)}"})
        )
    return out


def _stars(height: int, width: int) -> list[int]:
    """The star points of a square board of crossings, as Go and Gomoku boards have them."""
    if height != width or height < 9 or height % 2 == 0:
        return []
    edge = 2 if height < 11 else 3
    near = (edge, height // 2, height - 1 - edge)
    sides = near if height > 13 else (edge, height - 1 - edge)
    return [row * width + column for row in near for column in near if {row, column} <= set(sides) or row == column]


def words(kind: str, x: int | float, y: int | float, text: str) -> Mark:
    """Words around a point; a shift of the baseline is what every reader of SVG understands."""
    return Mark("text", {"class": kind, "x": x, "y": y, "dy": ".35em"}, text)


def labels(game: Game[Any], turned: bool = False) -> list[Mark]:
    """The names along the edges; of a board that was turned to the other player they run the other way."""
    columns, rows = (names[::-1] if turned else names for names in edges(game))
    height, width = game.picture
    bottom, last, slant = size(game)[1] - EDGE // 2, (height - 1) * width, CELL // 4 * (game.grid == "hexagons")
    left = CELL // 2 + EDGE // 2 + slant // 2  # of the centre of a row's first cell
    across = [words("name", centre(game, last + i)[0] + slant, bottom, text) for i, text in enumerate(columns) if text]
    down = [(centre(game, i * width), text) for i, text in enumerate(rows) if text]
    return across + [words("name", x - left, y, text) for (x, y), text in down]


# -- pieces ------------------------------------------------------------------------------------------------------


def shade(game: Game[Any], seat: int) -> str:
    """The class of what belongs to a seat: "zero" is dark, "one" is light."""
    return SEATS[1 - seat if game.light_first and seat >= 0 else seat]


def label(game: Game[Any], code: int) -> str:
    """What a disc says: its label, or its glyph where the seat has several kinds."""
    piece = game.pieces[code]
    kinds = sum(other.seat == piece.seat and bool(other.glyph.strip()) for other in game.pieces[1:])
    return piece.label or (piece.glyph if code and (kinds > 1 or piece.seat < 0) else "")


def piece(game: Game[Any], code: int, x: int | float, y: int | float) -> list[Mark]:
    """A figure, or a disc in the colour of its seat, with a smaller one in its own colour where it has one."""
    look = game.pieces[code]
    seat, said = shade(game, look.seat), label(game, code)
    if look.figure in FIGURES:
        place = {"d": FIGURES[look.figure], "transform": f"translate({x:g} {y:g})"}
        return [Mark("path", {"class": f"{seat} figure", **place})]
    marks = [Mark("circle", {"class": seat, "cx": x, "cy": y, "r": CELL * 0.42})]
    if look.colour:
        marks.append(Mark("circle", {"class": "tint", "fill": look.colour, "cx": x, "cy": y, "r": CELL * 0.3}))
    return [*marks, words("tint-text" if look.colour else f"{seat}-text", x, y, said)] if said else marks


def block(game: Game[Any], codes: Sequence[int], cell: int) -> list[Mark]:
    """The part of a block that starts at this cell: it reaches over the neighbours that are the same block."""
    x, y = centre(game, cell)
    width, inner = game.picture[1], CELL * 0.86
    right = (cell + 1) % width != 0 and codes[cell + 1] == codes[cell]
    below = cell + width < len(codes) and codes[cell + width] == codes[cell]
    whole = right and below and codes[cell + width + 1] == codes[cell]
    spans = [(right, below)] if whole else [(right, False), (False, below)] if right and below else [(right, below)]
    look = game.pieces[codes[cell]]
    seat = shade(game, look.seat)
    out = []
    for wide, high in spans:
        area = {"x": x - inner / 2, "y": y - inner / 2, "width": inner + CELL * wide, "height": inner + CELL * high}
        out.append(Mark("rect", {"class": seat, "stroke-width": 0, **area}))
    if list(codes).index(codes[cell]) == cell:
        out.append(words(f"{seat}-text", x, y, look.label or look.glyph))
    return out


def pieces(game: Game[Any], codes: Sequence[int]) -> list[Mark]:
    """All that stands on the board."""
    out: list[Mark] = []
    for cell, code in enumerate(codes):
        if code and is_there(game, code):
            out += block(game, codes, cell) if game.grid == "blocks" else piece(game, code, *centre(game, cell))
    return out


def touched(game: Game[Any], action: int | None) -> list[int]:
    """The cells named in the name of an action, such as both ends of `d2-c2`, in the order of the name."""
    called = {name.lower(): cell for cell, name in enumerate(names(game))}
    found = re.findall(r"[a-z]\d+", "" if action is None else game.action_name(action).lower())
    return [called[word] for word in found if word in called]
