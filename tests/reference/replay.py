"""Random games of the array rules replayed through a reference, compared at every ply."""

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np
from support import Games

from jaxgo.core.game import Game


@functools.cache
def glyphs(game: Game[Any]) -> list[str]:
    return [piece.glyph for piece in game.pieces]


def text(game: Game[Any], cells: np.ndarray) -> str:
    """A board in the glyphs of the game, without row breaks."""
    letters = glyphs(game)
    return "".join(letters[code] for code in cells.tolist())


def check_agreement(game: Game[Any], reference: Any, games: Games, lanes: Iterable[int] | None = None) -> int:
    """Asserts equal boards, movers, legal moves and results at every ply; returns how many plies were compared."""
    plies, actions = 0, game.num_actions  # asked once: the checks of types cost more than what is asked
    for lane in range(games.actions.shape[1]) if lanes is None else lanes:
        state = reference.initial()
        for t in range(len(games.actions)):
            where = f"game {lane}, ply {t}"
            assert text(game, games.cells[t, lane]) == reference.cells(state), where
            assert games.legal(t, lane, actions) == reference.legal(state), where
            if not games.live[t, lane]:
                break
            assert games.to_play[t, lane] == reference.to_move(state), where
            state = reference.step(state, int(games.actions[t, lane]))
            plies += 1
        assert text(game, games.cells[-1, lane]) == reference.cells(state), f"game {lane}, end"
        assert games.returns[lane, 0] == reference.result(state), f"game {lane}, result"
    return plies
