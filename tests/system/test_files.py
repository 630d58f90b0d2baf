"""Files that somebody named: whole, or as they were."""

import errno
import resource

import pytest

from jaxgo.arena import games_file
from jaxgo.arena.records import PairResult
from jaxgo.core.errors import UsageError
from jaxgo.games import make
from jaxgo.records import formats
from jaxgo.records.record import GameRecord
from jaxgo.system import files
from jaxgo.system.files import check_apart, check_writable, save_whole

TICTACTOE = make("tictactoe")
PAIR = PairResult("tictactoe", "a", "b", 0.5, 0.5, "id")


@pytest.mark.parametrize(
    ("name", "save"),
    [
        ("game.json", lambda path: formats.save(path, GameRecord(TICTACTOE, "tictactoe", (0, 1, 2)))),
        ("tictactoe-id-1.txt", lambda path: games_file.save(path.parent, TICTACTOE, PAIR, [4], [[0, 1], [0]])),
        ("board.svg", lambda path: save_whole(path, b"<svg/>" * 9)),
    ],
)
def test_a_file_that_cannot_be_written_leaves_the_old_one(name, save, tmp_path):
    for folder in ("first", "then"):
        (tmp_path / folder).mkdir()
    save(tmp_path / "first" / name)  # what compiles for it and keeps its programs in files has done so
    path = tmp_path / "then" / name
    path.write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, before[1]))
    try:
        with pytest.raises(UsageError, match=f"cannot write .*{name}"):
            save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [(file.name, file.read_text()) for file in path.parent.iterdir()] == [(name, "old")]
    save(path)
    assert path.read_text() != "old"


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path):
    """Who links to a larger disk means to have the file there."""
    (tmp_path / "disk").mkdir()
    there, link = tmp_path / "disk" / "x.npz", tmp_path / "x.npz"
    link.symlink_to(there)
    check_writable(link)
    assert link.is_symlink()
    assert not there.exists()
    save_whole(link, b"new")
    assert link.is_symlink()
    assert there.read_bytes() == b"new"


def test_what_stands_in_the_way_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in (tmp_path / "file" / "x", tmp_path / "file" / "y" / "x"):
        with pytest.raises(UsageError, match=r"cannot write .*(file is a file, and no folder|Not a directory)"):
            check_writable(path)
    with pytest.raises(UsageError, match=r"cannot write .*loop"):
        check_writable(tmp_path / "loop")
    check_apart([tmp_path / "loop", tmp_path / "file"])


def test_a_file_system_without_locks_is_told(tmp_path, monkeypatch):
    def flock(file, how):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(files.fcntl, "flock", flock)
    with pytest.raises(UsageError, match=r"cannot be locked \(Function not implemented\).*; choose a folder on a file"):
        files.Lock(tmp_path / "lock")
