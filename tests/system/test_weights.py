"""Weights to play with: one file loads alone, and no damage to it is believed."""

import json

import jax
import numpy as np
import pytest

from jaxgo.core.errors import UsageError
from jaxgo.system.rundir import RunDir
from jaxgo.system.weights import load_weights

CONFIG = {"game": "connect4"}
WEIGHTS = {"params": {"dense": {"kernel": np.arange(6, dtype=np.float32).reshape(2, 3)}, "bias": np.zeros(3, np.int8)}}


@pytest.fixture
def trained(tmp_path):
    with RunDir(tmp_path / "run", CONFIG) as run:
        for step in (5, 10):
            run.save_weights(
                step, jax.tree.map(lambda x, step=step: x + x.dtype.type(step), WEIGHTS), {"game": "connect4"}
            )
    return tmp_path / "run"


def test_a_player_loads_alone(trained):
    about, params = load_weights(trained)
    assert about == {"step": 10, "game": "connect4"}
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a, b + b.dtype.type(10)), params, WEIGHTS)
    assert jax.tree.map(lambda x: x.dtype, params) == jax.tree.map(lambda x: x.dtype, WEIGHTS)
    for same in (
        load_weights(trained, 5),
        load_weights(trained / "5"),
        load_weights(trained / "players" / "00000005.npz"),
    ):
        assert same[0]["step"] == 5


def test_damaged_weights_are_found_and_passed_over(trained):
    newest = trained / "players" / "00000010.npz"
    data = newest.read_bytes()
    number, flags = data.index(b"\x93NUMPY") + 130, data.index(b"PK\x01\x02") + 8  # a password would be asked for
    flipped = [data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in (number, flags)]
    for damage in (data[:-30], b"", *flipped):
        newest.write_bytes(damage)
        with pytest.raises(UsageError, match=r"00000010\.npz holds no sound weights"):
            load_weights(trained, 10)
        assert load_weights(trained)[0]["step"] == 5


def test_hostile_weights_run_nothing_and_take_no_memory(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (print, ("boom",))

    np.savez(tmp_path / "object.npz", a=np.array([Bomb()], dtype=object), allow_pickle=True)
    np.savez_compressed(tmp_path / "compressed.npz", a=np.zeros(10_000_000, np.int8))
    import io
    import zipfile

    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (10**12,)})
    with zipfile.ZipFile(tmp_path / "huge.npz", "w") as file:
        file.writestr("about.json", json.dumps({}))
        file.writestr("a.npy", header.getvalue())
    array = io.BytesIO()
    np.save(array, np.zeros(1000, np.float32))
    with zipfile.ZipFile(tmp_path / "again.npz", "w") as file:  # one array that the zip lists fifty times
        file.writestr("about.json", json.dumps({}))
        file.writestr("a.npy", array.getvalue())
        file.filelist += [file.getinfo("a.npy")] * 49
    for name in ("object", "compressed", "huge", "again"):
        with pytest.raises(UsageError, match="holds no sound weights"):
            load_weights(tmp_path / f"{name}.npz")


def test_an_unknown_player_is_told_the_ways(trained, tmp_path):
    with pytest.raises(UsageError, match="is no run folder, no file and no shipped weights"):
        load_weights("nonsense")
    with pytest.raises(UsageError, match=r"tictactoe-cpu\); only players have an @, so leave it out"):
        load_weights("@tictactoe-cpu")
    with pytest.raises(UsageError, match=r"unknown step of .*'7'; choose one of: 5, 10"):
        load_weights(trained, 7)
    with pytest.raises(UsageError, match="is no run folder, no file"):
        load_weights(trained / "²")
    with RunDir(tmp_path / "new", CONFIG), pytest.raises(UsageError, match="holds no weights yet"):
        load_weights(tmp_path / "new")
