"""Games of a match to look at later: SGF for Go, Othello, Gomoku and Hex, PGN for chess, plain text, one move a line,
for others."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxgo.arena.records import PairResult
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.games.sizes import on_points
from jaxgo.records import formats, pgn, sgf, text_file
from jaxgo.records.record import GameRecord
from jaxgo.system.files import as_file_name, write_whole


def save(
    folder: Path, game: Game[Any], pair: PairResult, opening: Sequence[int], moves: Sequence[Sequence[int]]
) -> list[Path]:
    """Writes both games of a pair and returns their files. `moves` are the actions of each game after the opening."""
    written = []
    for side, played in enumerate(moves):
        result = pair.result(side)
        record = GameRecord(
            game,
            pair.game,
            (*opening, *played),
            players=pair.seats(side),
            returns=(2 * result - 1, 1 - 2 * result),
            comments={len(opening): "the opening ends here"} if opening else {},
        )
        if on_points(game):
            text, ending = sgf.write(record), "sgf"  # Black is seat 0
        elif pgn.tells_all(game):
            text, ending = pgn.write(record), "pgn"
        else:
            text, ending = text_file.write(record, pair.options, opening=f"{len(opening)} plies", id=pair.id), "txt"
        path = folder / f"{_stem(pair, side)}.{ending}"
        try:
            write_whole(path, text)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None
        written.append(path)
    return written


def _stem(pair: PairResult, side: int) -> str:
    return as_file_name(f"{pair.game}-{pair.id}-{side + 1}")


def find(folder: Path, pair: PairResult, side: int = 0) -> Path | None:
    """The file of the first (0) or second (1) game of a pair; None where it was not saved."""
    places = (folder / (_stem(pair, side) + ending) for ending in (".txt", ".sgf", ".pgn"))
    return next((path for path in places if path.is_file()), None)


def load(folder: Path, game: Game[Any], pair: PairResult, side: int) -> list[int] | None:
    """The actions of a game of a pair, as `save` wrote them; None where it was not saved."""
    path = find(folder, pair, side)
    return None if path is None else list(formats.load(path, game).moves)
