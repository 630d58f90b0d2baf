"""Points as Go and GTP write them: a letter for the column, of which I is none, and the row, counted from below."""

import re

COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"  # no I


def vertex(shape: tuple[int, int], point: int) -> str:
    """The name of a point of a board of so many rows and columns."""
    height, width = shape
    row, column = divmod(point, width)
    return f"{COLUMNS[column]}{height - row}"


def read_vertex(shape: tuple[int, int], word: str) -> int | None:
    """The point of this name; None where the board has none."""
    height, width = shape
    found = re.fullmatch(r"([A-HJ-Z])(\d{1,2})", word.upper())
    if not found:
        return None
    row, column = height - int(found[2]), COLUMNS.index(found[1])
    return row * width + column if 0 <= row < height and column < width else None
