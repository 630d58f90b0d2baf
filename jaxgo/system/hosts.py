"""What the hosts of a cluster share besides their devices: a store of names and values, and places to wait."""

import contextlib
import itertools
import secrets
import time
from pathlib import Path
from typing import Any

import jax

from jaxgo.core.errors import UsageError
from jaxgo.system import devices

PATIENCE = 24 * 3600  # seconds that hosts wait for one that is at work; one that is gone is noticed much sooner
SIGN = ".hosts-"  # how a file begins by which hosts see that a folder is one for all of them
LATE = 10.0  # seconds by which a file may be seen later on another host

_meetings = itertools.count(1)  # no two may have one name


def meet(where: str) -> None:
    """Waits here until all hosts have come, however long one of them works on something; alone it goes on."""
    if devices.several_hosts():
        from orbax.checkpoint import multihost

        everybody = set(range(jax.process_count()))
        multihost.sync_global_processes(f"{where} {next(_meetings)}", timeout=PATIENCE, processes=everybody)


def shared_store() -> Any | None:
    """Where JAX keeps names and values for all hosts of a cluster, on the first one; None for a host alone."""
    if not devices.several_hosts():
        return None
    from orbax.checkpoint import multihost

    return multihost.get_jax_distributed_client()


def told(words: str) -> str:
    """The words of the first host, on every host; all of them ask at once."""
    store, place = shared_store(), f"jaxgo/told/{next(_meetings)}"
    if store is None:
        return words
    if devices.is_first_host():
        store.key_value_set(f"{place}/words", words)
    meet("told")
    return str(store.key_value_dir_get(place)[0][1])


def meet_in(folder: Path) -> None:
    """Waits for all hosts; a UsageError on those that do not see this folder of the first one: a checkpoint whose parts
    lie in several folders never comes to its end."""
    if not devices.several_hosts():
        return
    name = f"{SIGN}{secrets.token_hex(8)}"  # no host has asked for it yet, and remembers that there is none
    if devices.is_first_host():
        for left in folder.glob(f"{SIGN}*"):
            left.unlink(missing_ok=True)
        (folder / name).touch()
    sign, until = folder / told(name), time.monotonic() + LATE
    while not (seen := sign.exists()) and time.monotonic() < until:
        time.sleep(0.1)
    if not seen:
        raise UsageError(
            f"{folder.absolute()} is not the folder that the first host has; name the whole path of one on a file "
            "system that all hosts see"
        )
    meet("folder was seen")
    if devices.is_first_host():
        sign.unlink(missing_ok=True)


class Joint:
    """Work that all hosts do at once, each beside its programs, with places in it where they wait for each other.

    Who cannot go on comes to the next place all the same, says so and leaves. There the work ends for all of them: else
    the others would wait for who has left.
    """

    def __init__(self, name: str) -> None:
        """All hosts begin it at once."""
        self._name, self._places = f"{name} {next(_meetings)}", itertools.count()
        self._over = False

    def meet(self, well: bool = True) -> None:
        """Waits here until all hosts have come; an OSError where one of them is not well and leaves."""
        store = shared_store()
        if store is None:
            return
        place = f"jaxgo/joint/{self._name}/{next(self._places)}"
        if not well:
            store.key_value_set(f"{place}/{jax.process_index()}", "left")
        store.wait_at_barrier(place, 1000 * PATIENCE)
        gone = [name.rpartition("/")[2] for name, _ in store.key_value_dir_get(place)]
        if gone:
            self._over = True
            raise OSError(f"host {gone[0]} could not do its part")

    def leave(self) -> None:
        """Says at the next place that this host cannot go on; nothing where the others know, or have said so."""
        if not self._over:
            with contextlib.suppress(OSError, jax.errors.JaxRuntimeError):  # of a store that is lost: the pulse tells
                self.meet(well=False)
