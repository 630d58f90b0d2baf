"""Who plays whom next, and how many pairs: to a count, or where games shrink the error bars most.

A round is a set of disjoint matches, since in the program of a match every agent plays one opponent at a time.
"""

import dataclasses
import itertools
import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float64

from jaxgo.arena.elo import ELO
from jaxgo.arena.ratings import NINETY_FIVE, RatingTable
from jaxgo.arena.sprt import expected_score
from jaxgo.arena.tally import joined
from jaxgo.core.errors import UsageError, check_kind, unknown_name

Match = tuple[int, int]  # two agents by their numbers, the smaller first
Kind = Literal["round-robin", "gauntlet", "informative"]
TELLING = 0.1  # a match is worth its games if they tell this share of what games between equals tell: up to 97 : 3
WORTHY = 0.25  # of the gain of the best match of a round: another one beside it is played if it has so much


@dataclasses.dataclass(frozen=True)
class Schedule:
    """How much is played between whom. `kind` says which matches there are, and `until` when it is enough."""

    kind: Kind = "round-robin"  # gauntlet: the first agent against each other one
    pairs: int = 100  # of each match; with `until`, no more than that on average
    until: float = 0.0  # Elo: stop when no error bar (see `errors`) is wider; 0: play all pairs

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise unknown_name("schedule", self.kind, get_args(Kind))
        if not isinstance(self.pairs, int | np.integer):
            raise UsageError(f"a schedule counts whole pairs, not {self.pairs!r}")
        check_kind(self.until, numbers.Real, "precision in Elo")
        if self.pairs < 1 or not (math.isfinite(self.until) and self.until >= 0):
            raise UsageError("a schedule needs at least 1 pair, and a precision of at least 0 Elo")

    @property
    def by_ratings(self) -> bool:
        """Whether it hangs on the ratings so far what is played next."""
        return self.until > 0 or self.kind == "informative"

    def matches(self, agents: int) -> list[Match]:
        """All matches that may be played."""
        if self.kind == "gauntlet":
            return [(0, other) for other in range(1, agents)]
        return list(itertools.combinations(range(agents), 2))

    def most(self, agents: int) -> int:
        """The most pairs that are played."""
        return self.pairs * len(self.matches(agents))

    def enough(self, table: RatingTable | None, agents: Sequence[str]) -> bool:
        """Whether the wanted precision is reached."""
        if self.until <= 0 or table is None or not set(agents) <= set(table.agents):
            return False
        if len({int(table.pool[table.index(agent)]) for agent in agents}) > 1:
            return False
        return bool((errors(table, agents) <= self.until).all())

    def round(
        self,
        played: Mapping[Match, int],
        table: RatingTable | None,
        agents: Sequence[str],
        chunk: int,
        room: Mapping[Match, int] | None = None,
    ) -> dict[Match, int]:
        """The next matches, and how many pairs of each; none when all is played. `played` counts the pairs so far.

        `room` is how many pairs of a match can be played that are not known yet; a match that is not in it has enough.
        """
        matches = self.matches(len(agents))
        free = {match: min(chunk, (room or {}).get(match, chunk)) for match in matches}
        total = self.most(len(agents)) - sum(played.get(match, 0) for match in matches)
        if total <= 0 or self.enough(table, agents):
            return {}
        if self.kind != "informative":
            left = {match: self.pairs - played.get(match, 0) for match in matches}
            return {m: min(free[m], left[m]) for m in disjoint({m: float(left[m]) for m in matches if free[m]})}
        strangers = first_meetings(len(agents), played)
        if strangers:
            return _within(total, {match: free[match] for match in strangers})
        if table is None:
            raise AssertionError("results without ratings")
        wide = errors(table, agents) > self.until
        worth = gains(table, agents, chunk, wide)
        least = WORTHY * max((worth[m] for m in matches if free[m]), default=0.0)
        best = disjoint({m: worth[m] for m in matches if free[m] and worth[m] >= least})
        return _within(total, {match: free[match] for match in best})


def _within(total: int, plan: Mapping[Match, int]) -> dict[Match, int]:
    """So many pairs of a plan, the first matches' before the others'."""
    kept = dict[Match, int]()
    for match, count in plan.items():
        if some := min(count, total - sum(kept.values())):
            kept[match] = some
    return kept


def disjoint(worth: Mapping[Match, float]) -> list[Match]:
    """Matches in which nobody plays twice: the one that is worth most, then the next of what is left."""
    busy: set[int] = set()
    chosen = []
    for match in sorted(worth, key=lambda m: (-worth[m], m)):
        if worth[match] > 0 and not busy & set(match):
            chosen.append(match)
            busy |= set(match)
    return chosen


def first_meetings(agents: int, played: Mapping[Match, int]) -> list[Match]:
    """Disjoint matches that bring agents into one pool which no chain of results connects yet."""
    pool = joined(agents, (match for match, count in played.items() if count))
    first = np.unique(pool, return_index=True)[1].tolist()
    return list(zip(first[::2], first[1::2], strict=False))


def groups(table: RatingTable, agents: Sequence[str]) -> list[list[int]]:
    """Agents that can be rated against each other at a fair price: joined by matches that are not one-sided.

    Where one agent wins 99 games in 100, a game tells so little that hundreds of them leave a wide bar. A difference
    counts for as small as it may be, by one standard error.
    """
    order = [table.index(agent) for agent in agents]

    def tells(match: Match) -> bool:
        i, j = order[match[0]], order[match[1]]
        spread = table.covariance[i, i] + table.covariance[j, j] - 2 * table.covariance[i, j]
        apart = max(0.0, abs(table.elo[i] - table.elo[j]) - math.sqrt(max(spread, 0.0)))
        return bool(4 * _uncertain(apart) >= TELLING)

    group = joined(len(agents), filter(tells, itertools.combinations(range(len(agents)), 2)))
    return [np.flatnonzero(group == each).tolist() for each in np.unique(group)]


def errors(table: RatingTable, agents: Sequence[str]) -> Float64[np.ndarray, " n"]:
    """Half of the 95 % interval of each rating, against the anchor of the table or, where none is in its group, against
    the mean of the group."""
    turn, covariance, _ = _turned(table, agents)
    return NINETY_FIVE * np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", turn, covariance, turn), 0.0))


def gains(
    table: RatingTable, agents: Sequence[str], pairs: int, wide: Bool[np.ndarray, " n"] | None = None
) -> dict[Match, float]:
    """How much so many pairs of each match would take off the sum of the variances of `wide` agents, in square Elo.

    One game tells p * (1 - p) about a difference of strengths (Fisher information of a logistic model); a result with
    that weight changes the covariance by the formula of Sherman and Morrison. Variances are those of `errors`.
    """
    turn, covariance, together = _turned(table, agents)
    counted = turn if wide is None else turn[wide]
    elo = table.elo[[table.index(agent) for agent in agents]]
    out = {}
    for a, b in itertools.combinations(range(len(agents)), 2):
        told = 2 * pairs * _uncertain(elo[a] - elo[b]) / ELO**2 * bool(together[a, b])
        change = covariance[:, a] - covariance[:, b]
        spread, seen = change[a] - change[b], counted @ change
        out[a, b] = float(told * (seen @ seen) / (1 + told * spread))
    return out


def _uncertain(elo: float) -> float:
    """p * (1 - p) of a game between agents so far apart."""
    chance = expected_score(elo)
    return chance * (1 - chance)


def _turned(
    table: RatingTable, agents: Sequence[str]
) -> tuple[Float64[np.ndarray, "n w"], Float64[np.ndarray, "w w"], Bool[np.ndarray, "n w"]]:
    """What takes from each rating the zero of its group, the covariance of the ratings, and who are of one group. The
    anchor comes last where it is none of the agents."""
    who = [*agents, *(name for name in [table.anchor] if name and name not in agents)]
    order = [table.index(name) for name in who]
    turn, together = np.eye(len(who)), np.zeros((len(who), len(who)), bool)
    for group in groups(table, who):
        zero = [i for i in group if who[i] == table.anchor] or group
        turn[np.ix_(group, zero)] -= 1 / len(zero)
        together[np.ix_(group, group)] = True
    size = len(agents)
    return turn[:size], table.covariance[np.ix_(order, order)], together[:size]
