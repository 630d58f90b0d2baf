"""What is due in a sitting of a run: a judgement, a checkpoint, the end of the budget, a stop.

One host reads its own clock. Several go by what they have told each other: nobody reads his own clock then, because all
of them must begin a checkpoint with the same iteration; what they go by is late by an iteration.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from jaxgo.system import devices
from jaxgo.training.config import TrainConfig


class Word(NamedTuple):
    """What hosts tell each other with every iteration: anybody whether to stop, and the first one all the rest."""

    stop: Any = 0.0  # 1: some host was asked to
    seconds: Any = 0.0  # of training so far
    judgements: Any = 0.0  # that were due since the start of the sitting
    saves: Any = 0.0


class Due:
    """The clock of a sitting, and what it says is due."""

    def __init__(self, config: TrainConfig, stop: Callable[[], bool], earlier: float) -> None:
        self._config, self._stop, self._earlier = config, stop, earlier
        self.together = devices.several_hosts()  # each iteration carries a word from host to host
        self._heard = Word(seconds=earlier)
        self._began: float | None = None
        self._saved, every = earlier, config.judge.every
        self._judged = earlier - (earlier % every if every else 0.0)  # or short sittings would never come to judge
        self._judgements = self._saves = 0

    @property
    def started(self) -> bool:
        """Whether the clock goes: it does once everything is compiled."""
        return self._began is not None

    def start(self, now: float) -> None:
        """The clock goes from this reading of `time.monotonic` on."""
        self._began = now

    def say(self) -> Word:
        """What this host has to say."""
        clock, config = self._clock(), self._config
        judge, save = config.judge.every, config.save_every
        return Word(
            stop=self._stop(),
            seconds=clock,
            judgements=self._judgements + bool(judge and clock - self._judged >= judge),
            saves=self._saves + bool(save and clock - self._saved >= save),
        )

    def hear(self, word: Word) -> None:
        """What the hosts have said, which is the same on all of them."""
        self._heard = word

    def _clock(self) -> float:
        return self._earlier + (time.monotonic() - self._began if self._began is not None else 0.0)

    def _now(self) -> Word:
        return self._heard if self.together else self.say()

    @property
    def seconds(self) -> float:
        """Of this run so far, earlier sittings included.

        What comes in between counts: tests, judgements, checkpoints. What comes after its last save does not stay.
        """
        return float(self._now().seconds)

    def spent(self, iteration: int) -> float:
        """The share of the budget that is gone after so many iterations; 1: all of it; always 0 without an end."""
        budget = self._config.budget
        shares = [
            done / most for done, most in ((iteration, budget.iterations), (self.seconds, budget.seconds)) if most
        ]
        return min(1.0, max(shares, default=0.0))

    @property
    def stop(self) -> bool:
        """Whether it was asked to stop; on several hosts, once all have heard that one of them was."""
        return bool(self._now().stop)

    def end(self) -> None:
        """All hosts know that one of them was asked to stop: no iteration has to say so first."""
        self._heard = self._heard._replace(stop=1.0)

    @property
    def judgement(self) -> bool:
        return bool(self._now().judgements > self._judgements)

    @property
    def save(self) -> bool:
        return bool(self._now().saves > self._saves)

    def judged(self) -> None:
        """A judgement is over; the time to the next one begins."""
        self._judged = self._clock()
        self._judgements += 1

    def saved(self) -> None:
        self._saved = self._clock()
        self._saves += 1
