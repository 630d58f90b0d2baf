"""What a page is told of a game: functions of a board and of who sits at it, which change nothing."""

from typing import Any

from jaxgo.arena.review import tally
from jaxgo.core import play
from jaxgo.core.play import NOTHING
from jaxgo.frontends import board as boards
from jaxgo.frontends.board import Board
from jaxgo.frontends.reviewing import Reviewing
from jaxgo.frontends.thinking import Thought
from jaxgo.frontends.web import drawing
from jaxgo.frontends.web.score import SIDES
from jaxgo.records import formats
from jaxgo.records.record import GameRecord
from jaxgo.ui import how_to_play, review_view

TYPES = {
    "sgf": "application/x-go-sgf",
    "pgn": "application/x-chess-pgn",
    "psq": "text/plain",
    "gzero": "text/plain",
    "json": "application/json",
}


def board(shown: Board, name: str, options: dict[str, str], players: list[str]) -> dict[str, Any]:
    """Which game this is, who may be asked to play it, and what its board looks like."""
    game = shown.game
    told = {"game": name, "options": options, "players": players, "files": formats.kinds(game)}
    words = {"rules": how_to_play.rules(game), "notation": how_to_play.notation(game)}
    return {"tell": "board", **told, **words, **drawing.board(game, shown.now.cells.tolist())}


def position(shown: Board, number: int) -> dict[str, Any]:
    """What stands on the board, what may be played, and what has been."""
    later = [action for action, _ in reversed(shown.undone) if action != NOTHING]
    result, first = shown.result(SIDES), int(shown.game.first_pieces(shown.now.position.state))
    return {
        "tell": "position",
        "number": number,
        "codes": shown.now.cells.tolist(),
        "seat": shown.now.seat,
        "choices": drawing.choices(shown),
        "last": drawing.last_cells(shown),
        "moves": shown.moves,
        "mover": shown.views[-2].seat if shown.moves else None,  # who made the last one
        "undone": len(shown.undone),
        "later": later,
        "ahead": [shown.game.action_name(action) for action in later],
        "resigned": shown.resigns if shown.resigned is None else shown.resigned,  # at the end of all moves
        "captured": drawing.captured(shown),
        "points": play.scores(shown.game, shown.now.position.state),
        "first": first,  # who has the pieces of the first player
        "dark": first ^ shown.game.light_first,  # and who has the dark ones
        "result": {"text": result.text, "returns": result.returns} if result else None,
        "start": boards.start_text(shown.game, shown.views[0]),
        "actions": [action for action in shown.actions if action != NOTHING],
    }


def file(record: GameRecord, number: int, kind: str) -> dict[str, Any]:
    """A file to save."""
    text = formats.write(record, kind)
    return {"tell": "file", "name": f"{record.name}-{number}.{kind}", "type": TYPES[kind], "text": text}


def progress(found: Reviewing) -> dict[str, Any]:
    """How far a review is."""
    return {"tell": "review", "done": found.done, "total": found.total}


def review(found: Reviewing) -> dict[str, Any]:
    """What each move of a game gave away; plies are counted from the start of the board, and chances are those of the
    first player."""
    judged, first = found.result(), found.first
    moves = []
    for move in judged.moves:
        words = review_view.remark(move)
        if words:
            lost = f"{words}, {100 * move.lost:.0f} % of a win" if move.lost >= 0.005 else words
            said = lost if move.own else f"{lost}; {move.choice} was better"
            moves.append({"ply": first + move.number, "kind": move.kind, "said": said})
    players = []
    for seat, name in enumerate(review_view.players(judged)):
        of = tally(judged.of(seat))
        own = of.own / of.moves if of.moves else None
        players.append({"name": name, "moves": of.moves, "own": own, "lost": of.lost, **of.kinds})
    chances = [review_view.share(value) for value in judged.values]
    return {
        **progress(found),
        "by": judged.judge,
        "first": first,
        "chances": chances,
        "moves": moves,
        "players": players,
    }


def status(shown: Board, state: str, machine: str | None, waits: bool, paused: bool) -> str:
    """The line below the board: how the game ended, or who is to move and what goes on. `machine` is the player to
    move, if it is one; `state` is that of the session."""
    result = shown.result(SIDES)
    if result:
        return f"Game over: {result.text}"
    if waits:
        return f"{machine or 'the analysis'} waits until another search has ended"
    if machine and state != "idle":
        return f"{machine} is {state}"
    if machine:
        return f"{machine} is to move; the game is paused" if paused else f"{machine} is to move"
    yours = "Your move" if shown.game.players == 1 else f"Your move: you are {SIDES[shown.now.seat]}"
    if state == "idle":
        return yours
    return f"{yours} ({'analysing' if state == 'thinking' else 'players are warming up'})"


def thought(shown: Board, number: int, found: Thought, hint: bool) -> dict[str, Any]:
    """What a search has found so far."""
    # where the move has been played only the graph wants to know
    line = drawing.ghosts(shown, found.variation) if found.number == number else []
    return {"tell": "thought", **drawing.thought(found), "hint": hint and found.final, "line": line}
