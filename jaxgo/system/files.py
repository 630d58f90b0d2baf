"""Files that are whole or not there: atomic writing, lines that are added whole, checksums, and locks that die with
their process."""

import contextlib
import errno
import hashlib
import io
import json
import math
import os
import re
import socket
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

from jaxgo.core.errors import UsageError

LONGEST = 300  # digits of a whole number
GLANCE = 0.2  # seconds for which who only asks about a lock may hold it, at the most


def read_json(text: str | bytes) -> Any:
    """What a text of JSON says; a ValueError also where it is nested deeper than Python can follow, or a number is
    not finite."""
    try:
        return json.loads(text, parse_constant=_no_number, parse_float=_finite, parse_int=_short)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _no_number(word: str) -> Any:
    """Python would take NaN and Infinity, which JSON has not."""
    raise ValueError(f"{word} is no number")


def _finite(word: str) -> float:
    """Python would take 1e400 for infinity."""
    number = float(word)
    if math.isinf(number):
        raise ValueError(f"{word[:20]} is too large a number")
    return number


def _short(word: str) -> int:
    """Python would take whole numbers that no float can hold."""
    if len(word) > LONGEST:
        raise ValueError(f"{word[:20]}... is too long a number")
    return int(word)


def version(path: Path) -> tuple[int, int] | None:
    """When a file was written last, in nanoseconds since 1970, and how long it is; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def may_begin(line: bytes, head: bytes) -> bool:
    """Whether a line that was perhaps cut short begins with `head`; zeros at its end: the machine lost its power."""
    return line.startswith(head) or head.startswith(line.rstrip(b"\0"))


def as_file_name(text: str) -> str:
    """A text as the name of a file, on every system: options have slashes in them, and places in code colons."""
    return re.sub(r"[^\w.=+-]", "-", text)


def write_whole(path: Path, data: bytes | str) -> None:
    """Writes a file so that a reader, now or after a crash, sees the old content or the new one."""
    with replacing(path) as file:
        # names of files may have bytes that are no text: "?" stands for them
        file.write(data.encode(errors="replace") if isinstance(data, str) else data)


def save_whole(path: Path, data: bytes | str) -> None:
    """The same for a file that somebody named, in a folder that is there; a UsageError where it cannot be written."""
    try:
        path.parent.stat()
        write_whole(path, data)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {_why(error)}") from None


def append(file: io.FileIO, data: bytes) -> None:
    """Adds whole lines to a file that has no buffer, so that they outlive the machine. In one write: lines of another
    writer come before or after, never between."""
    if (file.write(data) or 0) < len(data):  # a disk that becomes full takes a part without a word
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # /dev/null keeps nothing
        os.fsync(file.fileno())


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write into, which takes the place of the old one when all is written, or is gone where that fails.
    What is no plain file, such as /dev/null, is written as it is."""
    if path.exists() and not path.is_file():
        with open(path, "wb") as file:
            yield file
        return
    path = Path(os.path.realpath(path))  # a link stays, and leads to the new file
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(fresh, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)
    _sync_folder(path.parent)


def check_apart(paths: Iterable[Path]) -> None:
    """A UsageError where two of these files are one: what is written last would take the place of the other."""
    seen: set[Path] = set()
    for path in paths:
        place = Path(os.path.realpath(path))
        if place in seen:
            raise UsageError(f"{path} is named for two things, and one would be written over the other; name another")
        seen.add(place)


def check_writable(path: Path) -> None:
    """A UsageError where a file cannot be written there, before anything is done for it. Makes the folder."""
    place = Path(os.path.realpath(path))  # where a link leads to, which itself stays
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        new = not place.exists()
        place.open("ab").close()
        if new:
            place.unlink()
    except OSError as error:
        raise UsageError(f"cannot write {path}: {_why(error)}") from None


def _why(error: OSError) -> str:
    if isinstance(error, FileExistsError):  # of mkdir
        return f"{error.filename} is a file, and no folder"
    return str(error.strerror)


def _sync_folder(folder: Path) -> None:
    """Makes a rename last; systems that cannot do it for folders do without."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def checksum(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checksums(folder: Path) -> dict[str, str]:
    """SHA-256 of every file below a folder, by its relative name."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): checksum(path) for path in files}


@contextlib.contextmanager
def locked(file: io.FileIO) -> Iterator[None]:
    """Alone with a file, once others have done with it; where the system knows no locks, at once."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_UN)


def is_held(path: Path) -> bool:
    """Whether somebody has the `Lock` of a file; where the system cannot tell, somebody may."""
    try:
        with path.open("rb") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return fcntl is None


def in_use(path: Path) -> UsageError:
    """The error for a folder whose lock somebody has; he has written there who he is."""
    holder = path.read_text().strip() or "another process"
    return UsageError(f"{path.parent} is in use by {holder}; wait for it, stop it, or choose another folder")


class Lock:
    """One holder for each file. The system gives it free when the holder ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "a+")  # noqa: SIM115  (kept open: closing it gives the lock free)
        patience = time.monotonic() + GLANCE
        while not self._taken():
            if time.monotonic() < patience:
                time.sleep(GLANCE / 10)
                continue
            self._file.close()
            raise in_use(path)
        self._file.truncate(0)
        self._file.write(f"process {os.getpid()} on {socket.gethostname()}")
        self._file.flush()

    def _taken(self) -> bool:
        try:
            if fcntl is not None:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        except OSError as fault:
            self._file.close()
            raise UsageError(
                f"{Path(self._file.name).parent} cannot be locked ({fault.strerror}), so that nobody else would write "
                "there; choose a folder on a file system with locks (flock)"
            ) from None
        return True

    def is_at(self, path: Path) -> bool:
        """Whether the file that is held is the one that is there now."""
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), os.stat(path))
        except FileNotFoundError:
            return False

    def free(self) -> None:
        self._file.close()

    def __enter__(self) -> "Lock":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.free()
