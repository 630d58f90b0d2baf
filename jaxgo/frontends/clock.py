"""How long a player may think of a move, by the clock of a tournament."""

import dataclasses
import gc

from jaxgo.core.errors import UsageError

LAG = 0.15  # seconds that an answer may need on its way, and that a search may end too late
LEAST_LAG, LAG_PART = 0.01, 0.02  # of little time not all of that is kept back, which would leave nothing to think in
SAFE = 0.9  # the part of a fixed time that is used
LEAST_MOVES = 10  # that a game may still have, whatever the board looks like
LONGEST = 10.0**7  # seconds
TIMES = f"times are numbers of seconds from 0 to {LONGEST:,.0f}, for 0 to 10,000 stones"


def freeze_garbage() -> None:
    """Collects garbage now, before a clock runs, and looks at what is left no more.

    A process that has compiled holds some 200,000 objects, and a look at all of them takes longer than a short move.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


@dataclasses.dataclass
class Clock:
    """The time of one seat: `main` seconds, then periods of `period` seconds for `stones` moves each.

    With `stones` 1 a period that is not used up comes back whole (byo-yomi); `main` None is no limit.
    """

    main: float | None = None
    period: float = 0.0
    stones: int = 0
    period_left: float = 0.0
    stones_left: int = 0
    setting: tuple[float | None, float, int] = (None, 0.0, 0)

    def begin(self, main: float | None, period: float = 0.0, stones: int = 0) -> None:
        """A clock set anew. By GTP a period without stones means that there is no limit."""
        if main is not None and not (0 <= main <= LONGEST and 0 <= period <= LONGEST and 0 <= stones <= 10_000):
            raise UsageError(TIMES)
        self.setting = main, period, stones
        self.main = None if period > 0 and stones == 0 else main
        self.period, self.stones = period, stones
        self.period_left, self.stones_left = period, stones

    def restart(self) -> None:
        """The clock as it was set: another game begins."""
        self.begin(*self.setting)

    def left(self, seconds: float, stones: int) -> None:
        """What the referee's clock shows: with stones, it is in a period."""
        if not -LONGEST <= seconds <= LONGEST or not 0 <= stones <= 10_000:
            raise UsageError(TIMES)
        if stones == 0:
            self.main = max(seconds, 0.0)
        else:
            self.main, self.period_left, self.stones_left = 0.0, max(seconds, 0.0), stones
            if self.stones == 0:  # of a period that nobody has told before
                self.period, self.stones = self.period_left, stones
            if self.stones == 1:  # of byo-yomi the number of periods is told
                self.stones_left = 1

    def spend(self, seconds: float) -> None:
        """A move took so long; the referee may say otherwise before the next."""
        if self.main is None:
            return
        over = max(0.0, seconds - self.main)
        self.main = max(0.0, self.main - seconds)
        if self.main > 0 or self.stones == 0:
            return
        self.period_left -= over
        self.stones_left -= 1
        if self.stones_left <= 0:
            self.period_left, self.stones_left = self.period, self.stones

    def budget(self, moves: int) -> float | None:
        """Seconds for the next move, where the game may have so many more; 0: answer at once; None: no limit."""
        if self.main is None:
            return None
        if self.main <= 0.0 and self.stones:
            lag = LAG if self.stones_left <= 1 else _lag(self.period_left)
            return max(0.0, SAFE * self.period_left / max(1, self.stones_left) - lag)
        extra = self.period / self.stones if self.stones else 0.0
        return max(0.0, self.main / max(moves, LEAST_MOVES) + SAFE * extra - _lag(self.main))


def _lag(left: float) -> float:
    """What is kept back where so much is left for several moves."""
    return min(LAG, max(LEAST_LAG, LAG_PART * left))


def fischer(left: float, increment: float, togo: int, moves: int) -> float:
    """Seconds for the next move with so much `left`, of which each move brings `increment` back: for so many moves
    `togo`, or with 0 for all of a game that may have so many more. Never more than what is left."""
    clock = Clock(main=left, period=increment, stones=1)
    if togo:
        coming = increment * (togo - 1)  # before the last of these moves
        clock = Clock(main=0.0, stones=togo, period_left=left + coming, stones_left=togo)
    return max(0.0, min(clock.budget(moves) or 0.0, SAFE * left - LAG))
