"""Which format a file has, and the way in and out of each."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.core.game import Game
from jaxgo.records import gzero, json_file, psq, sgf, text_file
from jaxgo.records.record import LARGEST, GameRecord
from jaxgo.system.files import save_whole

WRITERS: dict[str, Callable[[GameRecord], str]] = {
    "sgf": sgf.write,
    "psq": psq.write,
    "gzero": gzero.write,
    "json": json_file.write,
}


def read(text: str | bytes, game: Game[Any] | None = None, upto: int | None = None) -> GameRecord:
    """A game in whatever format it is written, as far as `upto` moves; a UsageError tells the line that is wrong."""
    if isinstance(text, str):
        text = text.removeprefix("\ufeff")
    beginning = text[:200] if isinstance(text, str) else text[:200].decode("latin-1").removeprefix("\xef\xbb\xbf")
    record = _reader_of(beginning.lstrip())(text, game, upto)
    if upto is None or len(record.moves) < upto:
        return record
    return dataclasses.replace(record, returns=None, verdict="", reason="")  # it goes on: nobody has given up yet


def _reader_of(beginning: str) -> Callable[..., GameRecord]:
    if beginning[:1] == "{":
        return json_file.read
    if beginning[:9].lower() == "piskvorky":
        return psq.read
    if text_file.HEAD.match(beginning):
        return text_file.read
    return gzero.read if gzero.HEAD.match(beginning) else sgf.read


def write(record: GameRecord, form: str) -> str:
    """The game in the format of this name."""
    if form not in WRITERS:
        raise unknown_name("format of games", form, WRITERS)
    return WRITERS[form](record)


def load(path: Path, game: Game[Any] | None = None, upto: int | None = None) -> GameRecord:
    """The game of a file."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    try:
        return read(data, game, upto)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def save(path: Path, record: GameRecord) -> None:
    """Writes the game in the format that the name of the file ends in."""
    text = write(record, path.suffix.lower().removeprefix("."))
    save_whole(path, text.encode("utf-8", "replace"))  # files of others may hold half a character
