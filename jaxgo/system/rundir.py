"""A run's folder: its config, its checkpoints, its players' weights, its metrics.

    config.json          what was asked for; a run resumes only with the same
    checkpoints/STEP/    a whole training state (`jaxgo.system.checkpoints`)
    players/STEP.npz     the weights to play with
    metrics.jsonl, matches.jsonl, curves.png, report.html

It is never erased, only resumed.
"""

import contextlib
import itertools
import json
import logging
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax

from jaxgo.core.errors import UsageError, check_kind
from jaxgo.system import devices, hosts, weights
from jaxgo.system.checkpoints import Checkpoints
from jaxgo.system.files import Lock, in_use, is_held, read_json, write_whole

FORMAT = 1
CONFIG, LOCK = "config.json", "lock"
STOP = "stop"  # is there while a host asks the others to stop

Say = Callable[[str], None]
Completed = Callable[[dict[str, Any]], dict[str, Any]]


def _say(sentence: str) -> None:
    logging.getLogger("jaxgo").warning(sentence)


class RunDir:
    """An open run folder. One at a time: a second one on the same folder is refused."""

    def __init__(
        self,
        path: str | Path,
        config: Mapping[str, Any],
        *,
        free: tuple[str, ...] = (),
        last: int = 2,
        say: Say = _say,
        completed: Completed = dict,
    ) -> None:
        """Makes the folder, or resumes the run in it if its config is this one.

        `free` names the settings that may change between two sittings (dotted, with what is below them). The `last`
        checkpoints stay. `completed` adds to the config of an older run what could not be set then.
        """
        check_kind(path, (str, Path), "path of a folder, which comes before the config of its run")
        self.path, self.say = Path(path), say
        self.checkpoints = Checkpoints(self.path, last, say, self._keep_place)
        plain = self._config = _plain(config)
        self._lock: Lock | None = None
        self.resumed = False
        mine = {"jax": jax.__version__, **plain}
        for name, there, here in _changed(json.loads(hosts.told(json.dumps(mine))), mine):
            # weights would part from host to host without a word
            raise UsageError(f"the first host has {name}={there}, and this one {here}; give one command on all hosts")
        if devices.is_first_host():
            self._open(plain, free, completed)
        try:
            hosts.meet_in(self.path)  # the others read what is there
        except OSError as fault:
            raise _unwritable(self.path, fault.strerror) from None

    def _open(self, plain: dict[str, Any], free: tuple[str, ...], completed: Completed) -> None:
        """Takes the folder, on the one host that writes."""
        try:
            _check_place(self.path)
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = Lock(self.path / LOCK)
        except OSError as fault:
            raise _unwritable(self.path, fault.strerror) from None
        try:
            self.resumed = (self.path / CONFIG).exists()
            if self.resumed:
                _check_config(self.path, plain, free, completed)
            (self.path / STOP).unlink(missing_ok=True)
            self._write_config()
        except BaseException:
            self._lock.free()
            raise

    def check(self, config: Mapping[str, Any]) -> None:
        """A UsageError where this is not the config that the folder was made with."""
        for name, mine, wanted in _changed(self._config, _plain(config)):
            raise UsageError(
                f"{self.path} was made for a run with {name}={mine}, not {wanted}; make the RunDir with the config "
                "that is trained"
            )

    def _write_config(self) -> None:
        write_whole(self.path / CONFIG, json.dumps({"format": FORMAT, **self._config}, indent=2) + "\n")

    # -- the folder ------------------------------------------------------------------------------------------
    def _keep_place(self) -> None:
        """Makes the folder anew where it is gone, and takes it again; a UsageError where another run has its place."""
        if self._lock is None or not self._lock.is_at(self.path / LOCK):
            if (self.path / LOCK).exists():
                raise UsageError(
                    f"{self.path} was removed or moved away under this run, and another has its place, so this one "
                    "ends; resume it where its folder is now"
                )
            self.path.mkdir(parents=True, exist_ok=True)
            gone, self._lock = self._lock, Lock(self.path / LOCK)
            if gone is not None:
                gone.free()
        if not (self.path / CONFIG).exists():  # or nobody could resume what is saved there
            self.say(f"{self.path} was removed or moved away under the run; it is made anew, without what was in it")
            self._write_config()

    def close(self) -> None:
        """Waits for what is being written and lets go of the folder."""
        self.checkpoints.close()
        if self._lock is not None:
            self._lock.free()

    def __enter__(self) -> "RunDir":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask_to_stop(self) -> None:
        """Says to whoever is at work on this run, on any host, that it shall end soon."""
        with contextlib.suppress(OSError):  # a full disk, or no folder: they hear of it with the next iteration
            (self.path / STOP).touch()

    def asked_to_stop(self) -> bool:
        return (self.path / STOP).exists()

    def forget(self, after: int) -> None:
        """Removes the checkpoints and the players of later steps, which the run has gone back behind."""
        self.checkpoints.forget(after)
        if devices.is_first_host():
            for step in (step for step in weights.weight_steps(self.path) if step > after):
                (self.path / weights.FOLDER / f"{step:08d}.npz").unlink(missing_ok=True)
        hosts.meet(f"forget {after}")

    def set_aside(self, after: int) -> None:
        """Gives other names to players of later steps, which a kill or a lost checkpoint has left: nobody knows whether
        the run comes to the same ones again, and until then `@RUN` would mean them."""
        if not devices.is_first_host():
            return
        players = (self.path / weights.FOLDER).glob("*.npz")
        later = [path for path in players if path.stem.isdecimal() and int(path.stem) > after]
        for path in later:
            names = (
                path.with_stem(f"{path.stem}-aside{number}") for number in itertools.chain([""], itertools.count(2))
            )
            free = next(name for name in names if not name.exists())  # those of an earlier kill may have it
            try:
                path.rename(free)
            except OSError as error:
                raise UsageError(
                    f"{path} cannot be set aside as {free.name} ({error.strerror}); make its folder writable"
                ) from None
        if later:
            self.say(
                f"{len(later)} players of {self.path} are of later iterations than {after}, where it goes on; they are "
                f"kept as {weights.FOLDER}/*-aside.npz"
            )

    # -- players ---------------------------------------------------------------------------------------------
    def save_weights(self, step: int, params: Any, about: Mapping[str, Any], name: str = "") -> Path | None:
        """Keeps weights to play with, and what they belong to; all of them stay, for the ladder, but under a `name`."""
        path = self.path / weights.FOLDER / f"{name or f'{step:08d}'}.npz"
        if not devices.is_first_host():
            return None
        try:
            self._keep_place()
            weights.save_weights(path, jax.device_get(params), {"step": step, **about})
        except OSError as fault:
            self.say(f"the weights of step {step} could not be saved in {self.path} ({fault.strerror})")
            return None
        return path


def resumes(path: Path, config: Mapping[str, Any], *, free: tuple[str, ...], completed: Completed) -> bool:
    """Whether a `RunDir` of this folder would go on with a run that is there; a UsageError where there could be none.

    Nothing stays of what is made to find that out.
    """
    try:
        _check_place(path)
        _probe(path)
    except OSError as fault:
        raise _unwritable(path, fault.strerror) from None
    if is_held(path / LOCK):
        raise in_use(path / LOCK)
    found = (path / CONFIG).exists()
    if found:
        _check_config(path, _plain(config), free, completed)
    return found


def _probe(path: Path) -> None:
    """Makes the folder, and a file in it, and removes what it has made: permissions alone do not tell (as in /proc)."""
    made = [place for place in (path, *path.parents) if not place.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    finally:
        for place in made:
            with contextlib.suppress(OSError):  # it was not made, or somebody else has put something there
                place.rmdir()


def _check_place(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is a file; name a folder for the run")
    strange = path.is_dir() and not (path / CONFIG).exists()
    # what a run leaves that is killed while it writes its config is no stranger's
    own = re.compile(rf"{LOCK}|\.{re.escape(CONFIG)}\.\d+\.tmp")
    if strange and not all(own.fullmatch(child.name) for child in path.iterdir()):
        raise UsageError(f"{path} is not empty and is not a run to resume; name another folder")


def _check_config(path: Path, config: dict[str, Any], free: tuple[str, ...], completed: Completed) -> None:
    changed = _changed(_plain(completed(read_config(path))), config, free)
    if changed:
        name, before, now = changed[0]
        more = f" (and {len(changed) - 1} more)" if len(changed) > 1 else ""
        raise UsageError(
            f"{path} is a run with {name}={before}, not {now}{more}; resume it with its own settings, or name another "
            "folder"
        )


def _changed(before: dict[str, Any], now: dict[str, Any], free: tuple[str, ...] = ()) -> list[tuple[str, Any, Any]]:
    """The settings that differ, and how; those that may are not among them."""
    old, new = dotted(before), dotted(now)
    return [
        (name, old.get(name), new.get(name))
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name) and not any(f"{name}.".startswith(f"{some}.") for some in free)
    ]


def _unwritable(path: Path, why: str | None) -> UsageError:
    return UsageError(f"{path} cannot be made or written ({why}); name another folder for the run")


def read_config(path: str | Path) -> dict[str, Any]:
    """The settings of the run in a folder; a UsageError where there is none."""
    try:
        config = read_json((Path(path) / CONFIG).read_text())
    except FileNotFoundError:
        raise UsageError(f"{path} is not the folder of a run: it has no {CONFIG}") from None
    except OSError as fault:
        raise UsageError(f"cannot read {Path(path) / CONFIG}: {fault.strerror}") from None
    except ValueError:
        raise UsageError(f"{Path(path) / CONFIG} is not JSON any more; restore it, or name another folder") from None
    if not isinstance(config, dict) or config.pop("format", None) != FORMAT:
        raise UsageError(f"{path} was written by another version of jaxgo; name another folder")
    return config


def _plain(config: Mapping[str, Any]) -> dict[str, Any]:
    """A config as it is read again from its file: tuples are lists."""
    try:
        found = json.loads(json.dumps(config, allow_nan=False))
    except (TypeError, ValueError) as fault:
        raise UsageError(f"the config of a run is to be plain JSON, such as to_json(config) makes ({fault})") from None
    if not isinstance(found, dict):
        raise UsageError(f"the config of a run is a dict, such as to_json(config) makes, and not {config!r}")
    return found


def dotted(config: Any, above: str = "") -> dict[str, Any]:
    """A nested config as dotted names and values."""
    if not isinstance(config, dict):
        return {above: config}
    out: dict[str, Any] = {}
    for name, value in config.items():
        out |= dotted(value, f"{above}.{name}" if above else name)
    return out
