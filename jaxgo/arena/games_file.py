"""Games of a match to look at later: SGF for Go, Othello and Gomoku, plain text with one move a line for others."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Array, Int8

from jaxgo.arena.records import PairResult
from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.play import Position
from jaxgo.core.replay import follow
from jaxgo.records import sgf
from jaxgo.records.record import GameRecord
from jaxgo.system.files import write_whole


def save(
    folder: Path, game: Game[Any], pair: PairResult, opening: Sequence[int], moves: Sequence[Sequence[int]]
) -> list[Path]:
    """Writes both games of a pair and returns their files. `moves` are the actions of each game after the opening."""
    written = []
    for side, played in enumerate(moves):
        seats, result = pair.seats(side), pair.result(side)
        actions = [*opening, *played]
        if sgf.is_writable(game):
            text, ending = _sgf(game, pair, actions, seats, result, len(opening)), "sgf"
        else:
            text, ending = plain(game, pair, actions, seats, result, len(opening)), "txt"
        path = folder / f"{_stem(pair, side)}.{ending}"
        try:
            write_whole(path, text)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None
        written.append(path)
    return written


def _stem(pair: PairResult, side: int) -> str:
    return f"{pair.game}-{pair.id}-{side + 1}"


def find(folder: Path, pair: PairResult, side: int = 0) -> Path | None:
    """The file of the first (0) or second (1) game of a pair; None where it was not saved."""
    places = (folder / (_stem(pair, side) + ending) for ending in (".txt", ".sgf"))
    return next((path for path in places if path.is_file()), None)


def load(folder: Path, game: Game[Any], pair: PairResult, side: int) -> list[int] | None:
    """The actions of a game of a pair, as `save` wrote them; None where it was not saved."""
    path = None
    try:
        path = find(folder, pair, side)
        if path is None:
            return None
        text = path.read_text(encoding="utf-8")
        return read_plain(game, text) if path.suffix == ".txt" else list(sgf.read(text, game).moves)
    except (OSError, ValueError, IndexError) as error:  # whatever a torn file may lack
        raise UsageError(f"{path or folder} is no saved game: {error}") from None


def read_plain(game: Game[Any], text: str) -> list[int]:
    """The actions of a game as `plain` writes it; a ValueError or an IndexError where it is torn."""
    return [game.parse_action(line.split(" ", 2)[2]) for line in text.partition("\n\n")[2].splitlines()]


def _sgf(
    game: Game[Any], pair: PairResult, actions: Sequence[int], seats: tuple[str, str], result: float, opening: int
) -> str:
    """The game in SGF; Black is seat 0."""
    comments = {opening: "the opening ends here"} if opening else {}
    returns = (2 * result - 1, 1 - 2 * result)
    record = GameRecord(game, pair.game, tuple(actions), players=seats, returns=returns, comments=comments)
    return sgf.write(record)


def plain(
    game: Game[Any], pair: PairResult, actions: Sequence[int], seats: tuple[str, str], result: float, opening: int
) -> str:
    """A head of `name: value` lines, then one move a line: its number, the seat, the name of the move."""
    head = {
        "game": " ".join([pair.game, *pair.options]),
        "seat 0": seats[0],
        "seat 1": seats[1],
        "result of seat 0": f"{result:g}",
        "opening": f"{opening} plies",
        "id": pair.id,
    }
    lines = [f"{name}: {value}" for name, value in head.items()] + [""]
    for number, (action, seat) in enumerate(zip(actions, movers(game, actions), strict=True), 1):
        lines.append(f"{number} {seat} {game.action_name(action)}")
    return "\n".join(lines) + "\n"


def movers(game: Game[Any], actions: Sequence[int]) -> list[int]:
    """Who made each move of a game from its start."""
    return np.asarray(follow(game, play.begin(game), actions, _mover).seen)[: len(actions)].tolist()


def _mover(game: Game[Any], position: Position) -> Int8[Array, ""]:
    return position.state.to_play
