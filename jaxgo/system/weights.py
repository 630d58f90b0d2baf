"""Weights to play with, one `.npz` file each: the arrays of a network and, as JSON, what they belong to.

A zip of plain arrays runs no code, takes no more memory than the file is long, and finds a flipped byte by the
checksum of its member. `load_weights` takes such a file, a run folder, a step of one, or the name of shipped weights;
`connect4-cpu` means the shipped ones whatever lies there, and `./connect4-cpu` the folder.
A star names several (`starred`): `runs/go9/*` all steps of a run, `runs/*` all runs.
A `.safetensors` file holds the same for other programs, with a checksum of all arrays, and is read wherever a file of
weights is.
"""

import contextlib
import fnmatch
import functools
import glob
import hashlib
import io
import json
import math
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxgo.core import names
from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.system.files import read_json, write_whole

SHIPPED = Path(__file__).parents[1] / "weights"
FOLDER = "players"  # of a run folder
ABOUT = "about.json"
HALF = "half"  # in the note of a file: its numbers take two bytes, and are read as four
TENSORS = ".safetensors"
NOTE, DIGEST = "jaxgo", "sha256"  # what the metadata of such a file has
STARS = "runs/go9/* are all steps of a run, and runs/* all runs"

Weights = dict[str, Any]  # nested dicts of arrays, as Flax has them

# what reading a bad file raises; a flag that is flipped asks for a password (RuntimeError) or for a compression that
# nobody has
BAD = (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, NotImplementedError)


def save_weights(path: str | Path, params: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """Writes weights and a JSON note about them: the game, the network, the step. `HALF` there: rounded."""
    path, arrays = Path(path), _arrays(params)
    if path.suffix.lower() == TENSORS:
        kept = {name: np.require(array, requirements="C") for name, array in arrays.items()}
        package = names.package("safetensors.numpy", f"{path}", "export")
        write_whole(path, package.save(kept, metadata=metadata(params, about)))
        return
    if about.get(HALF):
        arrays = {name: _cast(array, np.float32, np.float16) for name, array in arrays.items()}
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_STORED) as file:
        file.writestr(ABOUT, json.dumps(about, indent=2))
        for name, array in arrays.items():
            with file.open(f"{name}.npy", "w") as member:
                np.save(member, array)
    write_whole(path, memory.getvalue())


def metadata(params: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, str]:
    """What files for other programs say of their weights: what they belong to, and their checksum."""
    return {NOTE: json.dumps(about), DIGEST: digest(params)}


def digest(params: Mapping[str, Any]) -> str:
    """SHA-256 of all arrays with their names, types and shapes: the same weights have it in every kind of file."""
    made = hashlib.sha256()
    for name, array in sorted(_arrays(params).items()):
        made.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        made.update(np.ascontiguousarray(array).tobytes())
    return made.hexdigest()


def load_weights(path: str | Path, step: int | None = None) -> tuple[dict[str, Any], Weights]:
    """What the weights belong to, and the weights: `runs/go9` (the newest), `runs/go9/120`, a file, or a name."""
    return find_weights(path, step)[1:]


def find_weights(path: str | Path, step: int | None = None) -> tuple[str, dict[str, Any], Weights]:
    """The same, and before it the place that these very weights have: of a run it names the step."""
    place, step = _find(path, step)
    if place.is_file():
        if step is not None:
            raise UsageError(f"{path} is one file of weights, so it has no step {step}; leave the step out")
        return str(path), *read_weights(place)
    steps = weight_steps(place)
    if not steps:
        raise UsageError(f"{place} holds no weights yet; train for longer, or name another folder")
    if step is not None:
        if step not in steps:
            raise unknown_name(f"step of {place}", step, steps)
        return f"{name_of_run(place)}/{step}", *read_weights(_file(place, step))
    faults = []
    for newest in reversed(steps):
        try:
            return f"{name_of_run(place)}/{newest}", *read_weights(_file(place, newest))
        except UsageError as fault:
            faults.append(str(fault))
    raise UsageError(faults[0])


def read_weights(path: str | Path) -> tuple[dict[str, Any], Weights]:
    """One file of weights; a UsageError says what is wrong with it."""
    path = Path(path)
    if path.suffix.lower() == TENSORS:
        return _read_tensors(path)
    try:
        with zipfile.ZipFile(path) as file:
            infos = file.infolist()
            if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
                raise ValueError("its members are compressed")
            if sum(info.file_size for info in infos) > path.stat().st_size:
                raise ValueError("its members are longer than the file")
            about = _note(file.read(ABOUT))
            flat = {i.filename.removesuffix(".npy"): _array(file.read(i)) for i in infos if i.filename != ABOUT}
            if about.pop(HALF, False):
                flat = {name: _cast(array, np.float16, np.float32) for name, array in flat.items()}
            return about, _nested(flat)
    except BAD as error:
        raise _unsound(path, error) from None


def _read_tensors(path: Path) -> tuple[dict[str, Any], Weights]:
    """The same of a file that other programs read, too."""
    package = names.package("safetensors", f"{path}", "export")
    try:
        with package.safe_open(path, framework="np") as file:
            note = file.metadata() or {}
            found = _nested({name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118  (no mapping)
        if not {NOTE, DIGEST} <= note.keys():
            raise ValueError("its metadata does not say which game and network they are of")
        if digest(found) != note[DIGEST]:
            raise ValueError("its arrays are not those that were written")
        return _note(note[NOTE]), found
    except (OSError, ValueError, KeyError, TypeError, package.SafetensorError) as error:
        raise _unsound(path, error) from None


def _note(text: str | bytes) -> dict[str, Any]:
    """What weights say of themselves."""
    about = read_json(text)
    if not isinstance(about, dict):
        raise ValueError("what it says of them is no JSON object")
    return about


def _unsound(path: Path, error: Exception) -> UsageError:
    return UsageError(f"{path} holds no sound weights ({error}); take another step or file")


def weight_steps(run: Path) -> list[int]:
    """The steps of a run whose weights were kept, oldest first."""
    return sorted(int(path.stem) for path in (run / FOLDER).glob("*.npz") if path.stem.isdecimal())


def starred(place: str, most: int | None = None) -> list[str]:
    """The places that one with a star means, in place of which any letters may stand: the saved steps of a run, oldest
    first, or runs that have weights. `most`: of each run so many steps, evenly spread up to the newest."""
    with contextlib.suppress(UsageError):  # a name may have stars in it
        _find(place, None)
        return [place]
    pattern = glob.escape(place).replace("[*]", "*")  # no other letter stands for another
    folder, last = os.path.split(pattern)
    places = []
    for run in sorted(glob.glob(folder)):
        steps = [step for step in weight_steps(Path(run)) if fnmatch.fnmatch(str(step), last)]
        if most is not None and len(steps) > most:
            steps = [steps[round(at)] for at in np.linspace(len(steps) - 1, 0, most)][::-1]
        places += [f"{name_of_run(Path(run))}/{step}" for step in steps]
    if not places:
        runs = map(Path, sorted(glob.glob(pattern)))
        places = [name_of_run(run) for run in runs if weight_steps(run)]
    if not places:
        raise UsageError(f"{place!r} is no step of a run with weights, nor such a run; {STARS}")
    return places


def shipped() -> list[str]:
    """The names of the weights that come with jaxgo."""
    return sorted(path.stem for path in SHIPPED.glob("*.npz"))


def shipped_notes() -> dict[str, dict[str, Any]]:
    """What the weights that come with jaxgo say of themselves; no arrays are read, and unsound files are left out."""
    return _notes(SHIPPED)


@functools.cache  # every list of players asks for them
def _notes(folder: Path) -> dict[str, dict[str, Any]]:
    notes = {}
    for path in sorted(folder.glob("*.npz")):
        with contextlib.suppress(*BAD), zipfile.ZipFile(path) as file:
            notes[path.stem] = _note(file.read(ABOUT))
    return notes


def name_of_run(run: Path) -> str:
    """What a run folder is called where weights are named, however it was typed: as seen from here, or whole where it
    lies elsewhere. That of a shipped name has ./ before it."""
    name = os.path.relpath(run)
    if name.startswith(os.pardir):
        return os.path.abspath(run)
    return f"./{name}" if name in shipped() else name


def _find(named: str | Path, step: int | None) -> tuple[Path, int | None]:
    """The file or run folder that was meant, and the step. A shipped name comes first; a `Path` is never one."""
    path, text = Path(named), str(named)
    if named == "":
        raise UsageError("no weights are named; say a run, a file, or one of `jaxgo weights`")
    if isinstance(named, str) and named in shipped():
        return SHIPPED / f"{named}.npz", step
    try:
        there = path.is_dir() or path.is_file()
    except OSError as error:  # a name that is too long, or in a folder that may not be read
        raise UsageError(f"cannot look for weights at {text[:100]}: {error.strerror}") from None
    if there:
        return path, step
    if path.name.isdecimal() and (path.parent / FOLDER).is_dir():
        return path.parent, int(path.name) if step is None else step
    names = ", ".join(shipped()) or "none"
    hint = "; settings of a player stand before its @" if "," in text else ""
    if "*" in text:
        hint = "; a star names several, which only the agents of a tournament may be"
    if text.startswith("@"):
        hint = "; only players have an @, so leave it out"
    raise UsageError(f"{text!r} is no run folder, no file and no shipped weights (those are: {names}){hint}")


def _file(run: Path, step: int) -> Path:
    return next(path for path in (run / FOLDER).glob("*.npz") if path.stem.isdecimal() and int(path.stem) == step)


def _array(data: bytes) -> np.ndarray:
    """The array of an `.npy` file, which must be exactly as long as its header says."""
    file = io.BytesIO(data)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an array of an unknown version")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.kind not in "biuf" or math.prod(shape) * dtype.itemsize != len(data) - file.tell():
        raise ValueError("an array of another length than it says")
    return np.frombuffer(data, dtype, offset=file.tell()).reshape(shape, order="F" if by_columns else "C")


def _arrays(params: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The arrays by their names, of such types as files hold."""
    arrays = {name: np.asarray(leaf) for name, leaf in _flat(params).items()}
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf":
            raise ValueError(f"{name} is of {array.dtype}, which a file of weights cannot hold")
    return arrays


def _cast(array: np.ndarray, given: type, wanted: type) -> np.ndarray:
    return array.astype(wanted) if array.dtype == given else array


def _flat(tree: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, leaf in tree.items():
        if "/" in name or name == ABOUT:
            raise ValueError(f"{name!r} cannot be the name of an array in a file of weights")
        out |= _flat(leaf, f"{above}{name}/") if isinstance(leaf, Mapping) else {above + name: leaf}
    return out


def _nested(flat: Mapping[str, np.ndarray]) -> Weights:
    out: Weights = {}
    for name, leaf in flat.items():
        *folders, last = name.split("/")
        inner = out
        for folder in folders:
            inner = inner.setdefault(folder, {})
            if not isinstance(inner, dict):
                raise ValueError(f"{name} lies in another array")
        if last in inner:
            raise ValueError(f"other arrays lie in {name}")
        inner[last] = leaf
    return out
