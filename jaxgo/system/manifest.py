"""What a checkpoint says of itself: its step, its arrays, the checksum of every file, and one of all that it says."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxgo.system.files import checksums, read_json, write_whole

MANIFEST, FILES = "MANIFEST.json", "state"
OWN = "sha256"


def write(place: Path, about: Mapping[str, Any]) -> None:
    """Written last: from now on the checkpoint counts."""
    said = {**about, "files": checksums(place / FILES)}
    write_whole(place / MANIFEST, json.dumps({**said, OWN: _sum(said)}))


def read(place: Path) -> dict[str, Any]:
    """What was written, or a ValueError or OSError. Whether the files fit is asked by `wrong_files`."""
    said = read_json((place / MANIFEST).read_text())
    if not isinstance(said, dict) or not isinstance(said.get("files"), dict):
        raise ValueError(f"{MANIFEST} cannot be read")
    if said.pop(OWN, None) not in (None, _sum(said)):  # those of earlier versions have none
        raise ValueError(f"{MANIFEST} is not what was written")
    return said


def wrong_files(place: Path, said: Mapping[str, Any]) -> list[str]:
    """The files that are not what they were, are missing or new."""
    now, then = checksums(place / FILES), said["files"]
    return sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name))


def _sum(said: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
