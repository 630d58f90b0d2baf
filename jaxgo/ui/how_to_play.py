"""How a game is played, in the words of its rules: for the page, the terminal and the documents."""

from typing import Any

from jaxgo.core.game import Game, Repetition, has_ply_limit

AGAIN: dict[Repetition, str] = {
    "none": "",
    "forbidden": "",  # what may not come back belongs to what a move is
    "draw": "The game is a draw when a position comes for the third time.",
    "loss": "Who brings a position back loses.",
}


def rules(game: Game[Any]) -> str:
    """Aim, moves and end; nothing where the game tells none."""
    if not game.how_to_play:
        return ""
    whose = " of both players together" if game.players == 2 else ""
    longest = f"A game ends after {game.max_plies:,} moves{whose} at the latest." if has_ply_limit(game) else ""
    return " ".join(filter(None, [game.how_to_play, AGAIN[game.repetition], longest]))


def notation(game: Game[Any]) -> str:
    """How moves are written."""
    return f"Moves are written as {game.notation}."
