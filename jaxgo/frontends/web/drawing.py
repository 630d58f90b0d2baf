"""What a page needs to draw a game: the board once, then what stands on it position by position, and thoughts of it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxgo.core.game import Game
from jaxgo.core.play import NOTHING
from jaxgo.evaluators.endings import OWNERSHIP, knows
from jaxgo.frontends.board import Board
from jaxgo.frontends.thinking import Thought
from jaxgo.search.analysis import Move
from jaxgo.ui import board_shape, clicks
from jaxgo.ui.board_shape import Mark

LINE = 6  # moves of a variation that are drawn
SHOWN = 60  # root moves that the page is told of


def _plain(mark: Mark) -> list[Any]:
    return [mark.tag, mark.look, mark.text]


def board(game: Game[Any], codes: Sequence[int]) -> dict[str, Any]:
    """All of a board that stays as it is: tiles, names, the look of each piece, the places of its cells."""
    count = game.picture[0] * game.picture[1]
    blocks = game.grid == "blocks"
    return {
        "size": board_shape.size(game),
        "cell": board_shape.CELL,
        "outline": board_shape.outline(game),
        "picture": game.picture,
        "levels": game.levels,
        "grid": game.grid,
        "seats": game.players,
        "points": knows(game, OWNERSHIP) and game.levels == 1,  # whether it can be drawn whose they will be
        "turns": game.players == 2 and bool(board_shape.names(game)),  # whether it can be seen from the other side
        "marks": [_plain(mark) for mark in board_shape.board(game, codes)],
        "labels": [[_plain(mark) for mark in board_shape.labels(game, turned)] for turned in (False, True)],
        "at": [board_shape.centre(game, c) if board_shape.is_there(game, codes[c]) else None for c in range(count)],
        "names": list(board_shape.names(game)) or _names(game),
        "pieces": [
            {
                "seat": piece.seat,
                "word": piece.figure or piece.label or piece.glyph,
                "there": bool(code) and board_shape.is_there(game, code),
                "marks": [] if blocks else [_plain(mark) for mark in board_shape.piece(game, code, 0, 0)],
            }
            for code, piece in enumerate(game.pieces)
        ],
    }


def _names(game: Game[Any]) -> list[str]:
    """What to call cells aloud where players have no names for them."""
    height, width = game.picture
    columns, rows = board_shape.edges(game)
    wide = (width + 1) // game.levels if game.levels > 1 else width
    out = []
    for cell in range(height * width):
        row, column = divmod(cell, width)
        said = f"{columns[column] if columns else column + 1} {rows[row] if rows else height - row}"
        out.append(f"{said} level {column // wide + 1}" if game.levels > 1 else said)
    return out


def choices(shown: Board) -> list[dict[str, Any]]:
    """The legal moves, each with the cells that choose it."""
    found = clicks.choices(shown.game, shown.now.position.state, shown.legal(), shown.now.cells)
    return [{"action": c.action, "name": c.name, "steps": c.steps, "at": c.at} for c in found]


def last_cells(shown: Board) -> list[int]:
    """The cells of the last move, where it came from first."""
    if not shown.actions or shown.actions[-1] == NOTHING:
        return []
    before = shown.views[-2]
    game, state, action = shown.game, before.position.state, shown.actions[-1]
    found = clicks.choices(game, state, [action], before.cells)[0]
    if found.at < 0:  # what is its own shows beside the other moves
        beside = clicks.choices(game, state, np.flatnonzero(before.legal).tolist(), before.cells)
        found = next(choice for choice in beside if choice.action == action)
    named = board_shape.touched(shown.game, found.action)
    landed = [found.at] if found.at >= 0 else []
    return named if found.at in named else [*named, *landed]


def captured(shown: Board) -> list[int]:
    """How many pieces each seat has lost to the other one: not those that changed their colour."""
    owners = np.array([piece.seat if code else -1 for code, piece in enumerate(shown.game.pieces)])
    lost = [0, 0]
    counts = [[int((owners[view.cells] == seat).sum()) for seat in (0, 1)] for view in shown.views]
    for ply, action in enumerate(shown.actions):
        if action == NOTHING or shown.game.players != 2:
            continue
        if board_shape.names(shown.game) and not board_shape.touched(shown.game, action):
            continue  # no cell is named, as in a swap of Hex
        mover = shown.views[ply].seat
        gain, other = (counts[ply + 1][seat] - counts[ply][seat] for seat in (mover, 1 - mover))
        lost[1 - mover] += max(0, -other - max(0, gain - 1))
    return lost


def ghosts(shown: Board, names: Sequence[str]) -> list[dict[str, int]]:
    """Where the moves of a variation would put which pieces, the first move numbered 1."""
    game, state = shown.game, shown.now.position.state
    actions = [game.parse_action(name) for name in names[:LINE]]
    if not actions:
        return []
    before, out = shown.now.cells, []
    for number, after in enumerate(clicks.boards_along(game, state, actions, LINE), 1):
        named = board_shape.touched(game, actions[number - 1])
        new = [cell for cell in np.flatnonzero(after != before).tolist() if after[cell]]
        cell = named[-1] if named and named[-1] in new else new[0] if new else -1
        if cell >= 0:
            out.append({"cell": cell, "code": int(after[cell]), "number": number})
        before = after
    return out


def thought(found: Thought) -> dict[str, Any]:
    """What a search has found, whatever the board shows by now."""
    return {
        "number": found.number,
        "seat": found.seat,
        "action": found.action,
        "name": found.name,
        "value": round(found.value, 4),
        "solved": found.solved,
        "simulations": found.simulations,
        "seconds": round(found.seconds, 2),
        "by": found.decided_by,
        "final": found.final,
        "moves": [_row(move) for move in found.moves[:SHOWN]],
        "owned": [round(value, 2) for value in found.owned],
    }


def _row(move: Move) -> dict[str, Any]:
    """A root move in the table beside the board."""
    prior = None if move.prior is None else round(move.prior, 4)
    told = {"action": move.action, "name": move.name, "visits": move.visits, "share": round(move.share, 4)}
    return {
        **told,
        "value": round(move.value, 4),
        "prior": prior,
        "proven": move.verdict,
        "line": " ".join(move.variation[:8]),
    }
