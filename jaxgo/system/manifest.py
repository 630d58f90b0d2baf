"""What a checkpoint says of itself: its step, its arrays, the checksum of every file, and one of all that it says."""

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxgo.system.files import checksums, read_json, write_whole

MANIFEST = "MANIFEST.json"
FILES, ANEW = "state", "anew"  # where the files are: those of a step that is saved again lie beside its first ones
FOLDER = "folder"
OWN = "sha256"


def write(place: Path, about: Mapping[str, Any]) -> None:
    """Written last: from now on the checkpoint counts, and another one of its step no more."""
    said = {**about, "files": checksums(files(place, about))}
    write_whole(place / MANIFEST, json.dumps({**said, OWN: _sum(said)}))


def read(place: Path) -> dict[str, Any]:
    """What was written, or a ValueError or OSError. Whether the files fit is asked by `wrong_files`."""
    said = read_json((place / MANIFEST).read_text())
    if not isinstance(said, dict) or not isinstance(said.get("files"), dict):
        raise ValueError(f"{MANIFEST} cannot be read")
    if said.pop(OWN, None) not in (None, _sum(said)):  # those of earlier versions have none
        raise ValueError(f"{MANIFEST} is not what was written")
    return said


def files(place: Path, said: Mapping[str, Any]) -> Path:
    """Where the files are that a manifest speaks of."""
    return place / str(said.get(FOLDER, FILES))


def tidy(place: Path) -> str:
    """Removes all that no manifest speaks of, as a save that was cut short leaves it; the name that is free for files
    of the next one, beside those that stay."""
    try:
        kept = files(place, read(place))
    except (FileNotFoundError, ValueError):
        shutil.rmtree(place, ignore_errors=True)
        return FILES
    for path in place.iterdir():
        if path.is_dir() and path != kept:
            shutil.rmtree(path, ignore_errors=True)
    return FILES if kept.name == ANEW else ANEW


def wrong_files(place: Path, said: Mapping[str, Any]) -> list[str]:
    """The files that are not what they were, are missing or new."""
    now, then = checksums(files(place, said)), said["files"]
    return sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name))


def _sum(said: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
