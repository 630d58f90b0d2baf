"""The checkpoints of a run, written by Orbax and trusted by their checksums.

    checkpoints/STEP/    a whole training state, and MANIFEST.json, written last, with the checksum of every file

Orbax writes a checkpoint beside its place and renames it, but it restores a flipped byte without a word; so a step
counts only with a manifest that fits its files, and the newest such step is the one a run goes on from.
"""

import contextlib
import logging
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgo.core.errors import UsageError, first_line
from jaxgo.system import bundle, devices, hosts, manifest
from jaxgo.system.manifest import MANIFEST

STEPS = "checkpoints"
BUNDLE = "small"  # what the small arrays of a checkpoint are called, which are written as one
KEYS = ("threefry2x32", "rbg", "unsafe_rbg")  # JAX's generators of random numbers


class Checkpoints:
    """The checkpoints of the run in a folder; whoever makes them holds it, or two would remove each other's."""

    def __init__(self, run: Path, last: int, say: Callable[[str], None], keep_place: Callable[[], None]) -> None:
        """The `last` ones stay. `keep_place` makes sure of the folder before anything is written there."""
        self._run, self._last, self._say, self._keep_place = run, max(1, last), say, keep_place
        self._saving: threading.Thread | None = None
        self._orbax: Any = None
        self._joint = hosts.Joint("checkpoints")  # the save that is under way
        self._began = -1  # the step that was restored
        self._damaged: set[int] = set()  # steps that were found so
        self.unsaved = False  # whether the newest checkpoint could not be written

    def close(self) -> None:
        """Waits for what is being written."""
        self.wait()
        if self._orbax is not None:
            self._orbax.close()
            self._orbax = None

    def save(self, step: int, state: Any) -> None:
        """Starts to write a checkpoint; the arrays may be given away as soon as this returns.

        A fault, such as a full disk, is told in one sentence, and the older checkpoints stay.
        """
        self.wait()
        if step == self._began:
            return  # it is the one that this sitting began with
        place, folder = self._run / STEPS / f"{step:08d}", manifest.FILES
        self._joint = hosts.Joint(f"checkpoint {step}")
        leaves = {index: leaf for index, (_, leaf) in enumerate(_leaves(state)) if leaf.size}
        small = [index for index, leaf in leaves.items() if bundle.is_small(leaf)]
        fault: Exception | None = None
        try:
            if devices.is_first_host():
                self._keep_place()
                self._clear({*self.steps()})  # what killed runs left; two of it would look like a loss
                folder = manifest.tidy(place)
                place.mkdir(parents=True, exist_ok=True)  # here a full disk can be told to all hosts at once
        except OSError as gone:  # the others wait for this host all the same
            fault = gone
        try:
            hosts.meet(f"save {step}")
            failed, anew = devices.from_first_host([fault is not None, folder == manifest.ANEW])
            if failed:
                raise fault or OSError("the first host cannot save")
            folder = manifest.ANEW if anew else manifest.FILES
            arrays = {_number(index): leaf for index, leaf in leaves.items() if index not in small}
            if small:
                arrays[BUNDLE] = bundle.join([leaves[index] for index in small])
            self._checkpointer().save((place / folder).absolute(), arrays)
        except UsageError:  # it has lost its place
            raise
        except (OSError, ValueError, RuntimeError) as found:
            self._joint.leave()
            self._complain(step, place, found)
            return
        table = [[name, list(leaf.shape), str(leaf.dtype)] for name, leaf in _leaves(state)]
        about = {"step": step, "leaves": table, "bundled": small, manifest.FOLDER: folder}
        self._saving = threading.Thread(target=self._finish, args=(step, place, about))
        self._saving.start()

    def _finish(self, step: int, place: Path, about: dict[str, Any]) -> None:
        try:
            self._checkpointer().wait_until_finished()
            if devices.is_first_host():
                manifest.write(place, about)
                self._damaged.discard(step)
            self._joint.meet()
            self.unsaved = False
        except Exception as fault:
            self._joint.leave()
            self._complain(step, place, fault)
            return
        if devices.is_first_host():
            with contextlib.suppress(OSError):  # what cannot be removed now is tried again at the next save
                manifest.tidy(place)
                self._prune()

    def _complain(self, step: int, place: Path, fault: Exception) -> None:
        words = first_line(fault)[:200]
        reason = "no space is left on the disk" if words.startswith("RESOURCE_EXHAUSTED") else words
        self.unsaved = True
        self._say(f"checkpoint {step} could not be saved in {self._run} ({reason}); the older ones are kept")
        if devices.is_first_host():
            with contextlib.suppress(OSError):
                manifest.tidy(place)  # what is left of it would keep a full disk full

    def wait(self) -> None:
        """Until the last checkpoint is on disk."""
        if self._saving is not None:
            self._saving.join()
            self._saving = None

    def steps(self) -> list[int]:
        """The steps with a manifest, oldest first; whether their files fit it is seen when they are restored."""
        return saved_steps(self._run)

    def restore(self, like: Any, before: int | None = None, per_device: tuple[str, ...] = ()) -> tuple[int, Any] | None:
        """The newest sound checkpoint, as a tree like this one and laid out like it; None where none was ever saved.

        With `before`, the newest of those that are older than this step. Arrays named in `per_device` have a row for
        each device: of another number of devices they come as they were saved, whole on each of these.

        Where all are damaged this is a UsageError: to begin anew is not what "resume" means.
        """
        self.wait()
        # files are read to their last byte, which one host does for all
        found = self._newest(like, before, per_device) if devices.is_first_host() else None
        (step,) = map(round, devices.from_first_host([-1 if found is None else found]))
        if step < 0:
            return None
        self._began = step
        place = self._run / STEPS / f"{step:08d}"
        said = manifest.read(place)
        files, arrays = manifest.files(place, said), _with_rows(like, said["leaves"], per_device)
        return step, self._read(files, arrays, said.get("bundled", []))

    def forget(self, after: int) -> None:
        """Removes those of later steps."""
        self.wait()
        if devices.is_first_host():
            self._clear({step for step in self.steps() if step <= after})

    def _newest(self, like: Any, before: int | None, per_device: tuple[str, ...]) -> int | None:
        """The newest step whose files are those that were written.

        Each folder has its manifest before the next one is begun, so no more than one without it is that of a save
        which never came to its end; where there are more and nothing else, somebody or something has taken them away.
        """
        bare = 0
        folders = {int(path.name) for path in (self._run / STEPS).glob("*/") if path.name.isdecimal()}
        for step in sorted((step for step in folders if before is None or step < before), reverse=True):
            place = self._run / STEPS / f"{step:08d}"
            if not (place / MANIFEST).exists():
                self._say(f"checkpoint {step} of {self._run} has no {MANIFEST}: it was never finished, or has lost it")
                bare += 1
                continue
            try:
                said = manifest.read(place)
                if manifest.wrong_files(place, said):
                    raise ValueError("its files are not those that were written")
                table = said["leaves"]
            except (OSError, ValueError, KeyError) as fault:
                self._say(f"checkpoint {step} of {self._run} is damaged ({fault}); going back to the one before it")
                self._damaged.add(step)
                continue
            _check_table(self._run, table, _with_rows(like, table, per_device))
            return step
        if self._damaged or bare > 1:
            raise UsageError(
                f"{self._run} cannot go on: all its checkpoints are damaged; name another folder, or remove "
                f"{self._run / STEPS} to train from the start"
            )
        return None

    def _read(self, files: Path, like: Any, small: list[int]) -> Any:
        leaves = [leaf for _, leaf in _leaves(like)]
        wanted: dict[str, Any] = {
            _number(index): jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=_sharding(leaf))
            for index, leaf in enumerate(leaves)
            if leaf.size and index not in small
        }
        together = [leaves[index] for index in small]
        if small:
            wanted[BUNDLE] = np.empty(bundle.length(together), np.uint8)
        found = self._checkpointer().restore(files.absolute(), wanted)
        if small:
            parts = bundle.part(found[BUNDLE], together, [_sharding(leaf) for leaf in together])
            found |= {_number(index): array for index, array in zip(small, parts, strict=True)}
        whole = [
            found[_number(index)] if leaf.size else devices.lay(np.zeros(leaf.shape, leaf.dtype), _sharding(leaf))
            for index, leaf in enumerate(leaves)
        ]
        originals, form = jax.tree.flatten(like)
        return jax.tree.unflatten(form, [_as_key(new, old) for new, old in zip(whole, originals, strict=True)])

    def _prune(self) -> None:
        """Keeps the newest sound checkpoints; removes other steps, and those without a manifest. What somebody else has
        laid there stays."""
        self._clear({*[step for step in self.steps() if step not in self._damaged][-self._last :]})

    def _clear(self, kept: set[int]) -> None:
        """Removes what there is of all other steps."""
        for path in (self._run / STEPS).glob("*"):
            if path.name.isdecimal() and int(path.name) not in kept and path.is_dir():
                # without its manifest first: half of a checkpoint must not look like one
                (path / MANIFEST).unlink(missing_ok=True)
                shutil.rmtree(path, ignore_errors=True)

    def _checkpointer(self) -> Any:
        if self._orbax is None:
            import orbax.checkpoint as ocp  # half a second, and only runs need it

            logging.getLogger("absl").setLevel(logging.CRITICAL)  # a fault is told in one sentence here
            # Orbax's own places are passed by who has come to them alone: the others waited for twenty minutes
            meeting = ocp.options.AsyncOptions(barrier_sync_fn=lambda **_: self._joint.meet())
            # named they meet in JAX's store: else in a program that only hosts with equally many devices can run
            everybody = set(range(jax.process_count())) if devices.several_hosts() else None
            named = ocp.options.MultiprocessingOptions(active_processes=everybody)
            self._orbax = ocp.StandardCheckpointer(async_options=meeting, multiprocessing_options=named)
        return self._orbax


def saved_steps(run: Path) -> list[int]:
    """The steps of a run that have a manifest, oldest first."""
    names = (path.parent.name for path in (run / STEPS).glob(f"*/{MANIFEST}"))
    return sorted(int(name) for name in names if name.isdecimal())


def _leaves(tree: Any) -> list[tuple[str, Any]]:
    """The arrays of a tree with their paths; keys as the words behind them, numbers as arrays."""
    out = []
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        if not hasattr(leaf, "dtype"):
            leaf = np.asarray(leaf)
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            words = jax.random.key_data if isinstance(leaf, jax.Array) else _words
            leaf = words(leaf)
        out.append((jax.tree_util.keystr(path), leaf))
    return out


def _words(struct: Any) -> jax.ShapeDtypeStruct:
    shape = jax.eval_shape(jax.random.key_data, jax.ShapeDtypeStruct(struct.shape, struct.dtype))
    return jax.ShapeDtypeStruct(shape.shape, shape.dtype, sharding=getattr(struct, "sharding", None))


def _number(index: int) -> str:
    """What an array is called in a checkpoint."""
    return f"{index:05d}"


def _sharding(leaf: Any) -> Any:
    """How a leaf lies on the devices; those that do not say go to the first one."""
    return getattr(leaf, "sharding", None) or jax.sharding.SingleDeviceSharding(jax.devices()[0])


def _as_key(new: Any, old: Any) -> Any:
    """The words as a key again where the original is one."""
    dtype = getattr(old, "dtype", None)
    if dtype is None or not jnp.issubdtype(dtype, jax.dtypes.prng_key):
        return new
    impl = next(name for name in KEYS if jax.random.key(0, impl=name).dtype == dtype)
    return jax.random.wrap_key_data(new, impl=impl)


def _with_rows(like: Any, table: list[list[Any]], names: tuple[str, ...]) -> Any:
    """The same tree, in which the arrays of these names have as many rows as were saved."""
    rows = {name: shape[0] for name, shape, _ in table if name in names}

    def fitted(path: Any, leaf: Any) -> Any:
        count = rows.get(jax.tree_util.keystr(path))
        if count is None or count == leaf.shape[0]:
            return leaf
        whole = jax.sharding.NamedSharding(leaf.sharding.mesh, jax.sharding.PartitionSpec())
        return jax.ShapeDtypeStruct((count, *leaf.shape[1:]), leaf.dtype, sharding=whole)

    return jax.tree_util.tree_map_with_path(fitted, like)


def _check_table(path: Path, table: list[list[Any]], like: Any) -> None:
    """A UsageError where a checkpoint holds other arrays than are wanted."""
    wanted = [[name, list(leaf.shape), str(leaf.dtype)] for name, leaf in _leaves(like)]
    if table == wanted:
        return
    for saved, asked in zip(table, wanted, strict=False):
        if saved != asked:
            break
    else:
        saved, asked = ["the number of arrays", [len(table)], ""], ["", [len(wanted)], ""]
    raise UsageError(
        f"the checkpoint in {path} does not fit this run: {saved[0]} is {saved[2]}{saved[1]} there and "
        f"{asked[2]}{asked[1]} here; resume it with the settings and the version that it was made with"
    )
