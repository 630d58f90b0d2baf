"""A run that the page follows: a thread looks at its folder now and then, and reads what has changed.

Nothing in the folder is written, locked or renamed. What is not there yet, or not whole, is read at a later look.
"""

import logging
import threading
import time
from pathlib import Path
from typing import Any

import jax

from jaxgo.core.errors import UsageError
from jaxgo.core.words import write_value
from jaxgo.evaluators.base import Params
from jaxgo.system import aside, metrics
from jaxgo.system.files import version
from jaxgo.system.metrics import read_drawable
from jaxgo.system.weights import load_weights, name_of_run, weight_steps
from jaxgo.training.config import of_run
from jaxgo.training.judge import GAMES, MATCHES
from jaxgo.ui import policy_preview, run_summary

LOOK = 1.0  # seconds between looks
REST = 20.0  # times as long as a look or a player's games took nothing is done: the run needs the machine

Told = dict[str, Any]
LOG = logging.getLogger(__name__)


class Watched:
    """One run folder; `told` is what a page needs of it, and `number` another one whenever that changes."""

    def __init__(self, run: Path) -> None:
        self.config = of_run(run)
        self.run, self.player = run, f"@{name_of_run(run)}"
        self.number = 0
        self.told: Told = {}
        self._game = self.config.make_game()
        self._seen: Any = None
        self._step = -1  # whose games `_own` are
        self._own: Told | None = None
        self._free = 0.0  # when games may be played again
        self._preview: Any = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="watch", daemon=True)

    @property
    def options(self) -> dict[str, str]:
        """The options of the game, as they are typed."""
        return {name: write_value(value) for name, value in self.config.options}

    def start(self) -> None:
        try:
            self.look()
        except OSError as fault:
            raise UsageError(f"cannot read {fault.filename}: {fault.strerror}") from None
        self._thread.start()
        aside.leave_alone(self._thread)

    def close(self) -> None:
        """Ends the thread; what it is playing just now is left to end by itself."""
        self._over.set()

    def look(self) -> bool:
        """Reads what has changed; whether anything has."""
        steps = weight_steps(self.run)
        seen = [version(self.run / name) for name in (metrics.FILE, MATCHES, GAMES)], steps[-1:], self._step
        if seen == self._seen:
            return False
        rows = read_drawable(self.run)
        groups = [run_summary.judged(self.run, self.config, rows), self._own]
        self.told = {
            "tell": "run",
            "name": str(self.run),
            "game": self.config.game_name,
            "options": self.options,
            "player": self.player if steps else "",
            "seats": self._game.players,
            "step": steps[-1] if steps else None,
            "written": _written(self.run / metrics.FILE),
            **run_summary.summary(self.config, rows),
            "groups": [group for group in groups if group],
        }
        self._seen = seen
        self.number += 1
        return True

    def play(self) -> bool:
        """Lets the newest player play some games by its policy, once; whether it did."""
        steps = weight_steps(self.run)
        if not steps or steps[-1] == self._step or time.monotonic() < self._free:
            return False
        began = time.monotonic()
        try:
            params: Params = load_weights(self.run, steps[-1])[1]
        except UsageError:  # taken away meanwhile; there will be another one
            return False
        if self._preview is None:
            self._preview = policy_preview.reader(self.config)
        games = self._preview(params).games
        about = f"of step {steps[-1]}, by its policy alone, without search"
        self._own, self._step = run_summary.group(self._game, about, games), steps[-1]
        self._free = time.monotonic() + REST * (time.monotonic() - began)
        return True

    def _follow(self) -> None:
        took = 0.0
        while not self._over.wait(max(LOOK, REST * took)):
            try:
                began = time.monotonic()
                self.look()
                took = time.monotonic() - began
                if self.play():
                    self.look()
            except (OSError, UsageError, jax.errors.JaxRuntimeError):  # the next look may find it whole
                continue
            except Exception:  # of ours, or rows that nobody has foreseen: the page goes on with what it can read
                LOG.exception("a look at %s failed", self.run)


def _written(path: Path) -> float | None:
    """Seconds since 1970."""
    found = version(path)
    return found and found[0] / 1e9
