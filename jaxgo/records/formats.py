"""Which format a file has, and the way in and out of each."""

import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.core.game import Game
from jaxgo.games.chess.rules import Chess
from jaxgo.games.sizes import on_points, plain_gomoku
from jaxgo.records import gzero, json_file, pgn, psq, sgf, text_file
from jaxgo.records.record import LARGEST, GameRecord
from jaxgo.system.files import save_whole

T = TypeVar("T")  # what is read
JSON = re.compile(r'\{\s*("[^"]*"\s*:|\}|$)')
WRITERS: dict[str, Callable[[GameRecord], str]] = {
    "sgf": sgf.write,
    "pgn": pgn.write,
    "psq": psq.write,
    "gzero": gzero.write,
    "json": json_file.write,
}
COLLECTIONS: dict[Callable[..., GameRecord], Callable[[bytes], Iterator[GameRecord | UsageError]]] = {
    sgf.read: sgf.read_all,
    pgn.read: pgn.read_all,
}


def kinds(game: Game[Any]) -> list[str]:
    """The formats that can tell of a game."""
    lines = plain_gomoku(game)
    tell = {"sgf": on_points(game), "pgn": isinstance(game, Chess), "psq": lines, "gzero": lines, "json": True}
    return [form for form in WRITERS if tell[form]]


def read(text: str | bytes, game: Game[Any] | None = None, upto: int | None = None) -> GameRecord:
    """A game in whatever format it is written, as far as `upto` moves; a UsageError tells the line that is wrong."""
    if isinstance(text, str):
        text = text.removeprefix("\ufeff")
    reader = _reader(text)
    record = reader(text, game, upto)
    if upto is None or len(record.moves) < upto:
        return record
    with contextlib.suppress(UsageError):  # behind the moves that are asked for anything may stand
        whole = reader(text, game, upto + 1)
        if whole.moves == record.moves:
            return whole
    return dataclasses.replace(record, returns=None, verdict="", reason="")  # it goes on: nobody has given up yet


def _reader(text: str | bytes) -> Callable[..., GameRecord]:
    """What reads such a file, by how it begins."""
    beginning = _beginning(text)
    if is_json(text):
        return json_file.read
    if beginning[:9].lower() == "piskvorky":
        return psq.read
    if text_file.HEAD.match(beginning):
        return text_file.read
    if beginning[:1] in ("{", "%", ";") or pgn.HEAD.match(beginning):  # a comment may come first
        return pgn.read
    return gzero.read if gzero.HEAD.match(beginning) else sgf.read


def _beginning(text: str | bytes) -> str:
    start = text[:200] if isinstance(text, str) else text[:200].decode("latin-1").removeprefix("\xef\xbb\xbf")
    return start.lstrip()


def is_json(text: str | bytes) -> bool:
    """Whether a file is read as JSON; a comment of PGN begins with the same bracket."""
    return JSON.match(_beginning(text)) is not None


def write(record: GameRecord, form: str) -> str:
    """The game in the format of this name."""
    if form not in WRITERS:
        raise unknown_name("format of games", form, WRITERS)
    _check(record)
    return WRITERS[form](record)


def _check(record: GameRecord) -> None:
    """A UsageError where a record is none of a game, such as moves that a program has counted wrongly."""
    for number, action in enumerate(record.moves, 1):
        if not 0 <= action < record.game.num_actions:
            raise UsageError(
                f"move {number} is {action}; {record.name} has actions from 0 to {record.game.num_actions - 1}"
            )
    told = record.returns
    if told is not None and len(told) == 2 and abs(told[0] + told[1]) > 1e-6:
        raise UsageError(f"returns are {told}: what one seat gets the other one loses, so they sum to 0")


def load(path: str | Path, game: Game[Any] | None = None, upto: int | None = None) -> GameRecord:
    """The game of a file, the first one of a collection."""
    return _of_file(path, lambda data: read(data, game, upto))


def load_all(path: str | Path) -> dict[str, GameRecord]:
    """The games of a file by where they stand: of a collection in SGF or PGN all of them; other formats have one."""
    return {place: whole(one) for place, one in load_each(path).items()}


def load_each(path: str | Path) -> dict[str, GameRecord | UsageError]:
    """The same, with what is wrong with a game in its place; a UsageError where no game can be told from another."""

    def games(data: bytes) -> list[GameRecord | UsageError]:
        return [*COLLECTIONS.get(_reader(data), lambda data: iter([read(data)]))(data)]

    found = [UsageError(f"{path}: {one}") if isinstance(one, UsageError) else one for one in _of_file(path, games)]
    if len(found) == 1:
        return {str(path): found[0]}
    return {f"{path}: game {number}": one for number, one in enumerate(found, 1)}


def whole(one: GameRecord | UsageError) -> GameRecord:
    """A game of `load_each`; what is wrong with it is raised."""
    if isinstance(one, UsageError):
        raise one
    return one


def _of_file(path: str | Path, read_data: Callable[[bytes], T]) -> T:
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    try:
        return read_data(data)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def save(path: str | Path, record: GameRecord) -> None:
    """Writes the game in the format that the name of the file ends in."""
    path = Path(path)
    text = write(record, path.suffix.lower().removeprefix("."))
    save_whole(path, text.encode("utf-8", "replace"))  # files of others may hold half a character
