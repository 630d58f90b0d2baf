"""Results of pairs, counted: who met whom, how often with which of the nine outcomes, and which agents can be compared.

Everything that judges (ratings, sequential tests, tables) starts from these counts, so it costs the same for a
thousand games and for a million.
"""

import dataclasses
import numbers
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int64

from jaxgo.arena.records import PairResult, once
from jaxgo.core.errors import UsageError
from jaxgo.players import is_external

LOSS, DRAW, WIN = range(3)


@dataclasses.dataclass(frozen=True, eq=False)
class Tally:
    """Counts of a pool of agents. Each two agents that met have one row, `first[m] <= second[m]`."""

    agents: tuple[str, ...]
    first: Int64[np.ndarray, " m"]
    second: Int64[np.ndarray, " m"]
    # of the first agent's result on seat 0, and on seat 1: lost, drawn, won
    counts: Float64[np.ndarray, "m 3 3"]
    twins: tuple[str, ...] = ()  # names that have been several players; all but the last of each are told by its hash

    @property
    def pairs(self) -> float:
        return float(self.counts.sum())

    def games(self) -> Float64[np.ndarray, "n n 3"]:
        """Games that each agent lost, drew and won against each other, on either seat."""
        size = len(self.agents)
        table = np.zeros((size, size, 3))
        results = self.counts.sum(2) + self.counts.sum(1)
        np.add.at(table, (self.first, self.second), results)
        np.add.at(table, (self.second, self.first), results[:, ::-1])
        return table

    def seats(self) -> Float64[np.ndarray, " 3"]:
        """Games that the first mover lost, drew and won."""
        return self.counts.sum((0, 2)) + self.counts.sum((0, 1))[::-1]


def tally(results: Iterable[PairResult]) -> Tally:
    """Counts the pairs of one game, repeated games once."""
    results, number = _checked(results), dict[str, int]()
    twins = namesakes(results)
    rows: dict[tuple[int, int], Float64[np.ndarray, "3 3"]] = {}
    game: PairResult | None = None
    for pair in once(results):
        _check_points(pair)
        game = game or pair
        if (game.game, game.terms) != (pair.game, pair.terms) and game.rules != pair.rules:
            here, there = (" ".join([one.game, *sorted(one.terms)]) for one in (pair, game))
            raise UsageError(f"results of {here} and of {there} make no common rating; use one file for each")
        names = [twins.get(who, who[0]) for who in zip((pair.a, pair.b), pair.checkpoints, strict=True)]
        a, b = (number.setdefault(name, len(number)) for name in names)
        seat0, seat1 = (pair.first, pair.second) if a <= b else (1 - pair.second, 1 - pair.first)
        cell = np.outer(_shares(seat0), _shares(seat1))
        key = min(a, b), max(a, b)
        rows[key] = rows[key] + cell if key in rows else cell
    keys = np.array(list(rows), np.int64).reshape(-1, 2)
    counts = np.array(list(rows.values())).reshape(-1, 3, 3)
    return Tally(tuple(number), keys[:, 0], keys[:, 1], counts, tuple(dict.fromkeys(name for name, _ in twins)))


def _checked(results: Any) -> list[PairResult]:
    """The results as a list; a UsageError where one is no result of a pair."""
    found = list(results) if isinstance(results, Iterable) else [results]
    for pair in found:
        if not isinstance(pair, PairResult):
            raise UsageError(f"ratings are of PairResult, as records.read gives them, and not of {pair!r:.80}")
        texts = pair.id, pair.a, pair.b, pair.time, *(pair.checkpoints if len(pair.checkpoints) == 2 else (None,))
        if not all(isinstance(text, str) for text in texts):
            raise UsageError(f"id, a, b, time and both checkpoints of a PairResult are texts; they are {texts}")
    return found


def namesakes(results: Iterable[PairResult]) -> dict[tuple[str, str], str]:
    """What to call players that somebody else of the same name came after, by their name and hash.

    A name may have been another player before: a run was made anew in its folder, or a default has changed.
    """
    codes: dict[str, dict[str, None]] = {}
    for pair in sorted(results, key=lambda pair: pair.time):  # files may come in any order
        for name, code in zip((pair.a, pair.b), pair.checkpoints, strict=True):
            if code:
                known = codes.setdefault(name, {})
                known.pop(code, None)
                known[code] = None  # the last one to play comes last
    return {(name, code): f"{name} #{code[:6]}" for name, known in codes.items() for code in list(known)[:-1]}


def by_one_name(results: Sequence[PairResult]) -> list[PairResult]:
    """The results with one name for each player, the last that it played under.

    Its run may have been moved, or was named from another folder: search, budget and hash say that it is the same
    player. Where the two names met, somebody compares them on purpose, and they stay.
    """
    names: dict[tuple[str, str], str] = {}
    met: set[tuple[str, str]] = set()
    for pair in sorted(results, key=lambda pair: pair.time):
        a, b = (_wherever(*who) for who in zip((pair.a, pair.b), pair.checkpoints, strict=True))
        names |= {a: pair.a, b: pair.b}
        met |= {a} & {b}

    def called(name: str, code: str) -> str:
        who = _wherever(name, code)
        return names[who] if code and who not in met else name

    return [
        dataclasses.replace(pair, a=called(pair.a, pair.checkpoints[0]), b=called(pair.b, pair.checkpoints[1]))
        for pair in results
    ]


def _wherever(name: str, code: str) -> tuple[str, str]:
    """A player wherever its weights lie: what stands before them, its budget among it, and its hash.

    Of programs nobody knows a hash, and the whole command says which one it is.
    """
    return name if is_external(name) else name.partition("@")[0], code


def _check_points(pair: PairResult) -> None:
    """A UsageError for points that no game gives, such as 2 for a win; files are checked where they are read."""
    both: tuple[Any, Any] = pair.first, pair.second
    for points in both:
        if not (isinstance(points, numbers.Real) and 0 <= float(points) <= 1):
            raise UsageError(
                f"the result {points!r} of {pair.a} against {pair.b} is no number from 0 to 1; points of a game are "
                "1 for a win, 0.5 for a draw and 0 for a loss"
            )


def _shares(result: float) -> Float64[np.ndarray, " 3"]:
    """A result as lost, drawn, won; a share of a win between them is a mixture of its two neighbours."""
    won, lost = max(2 * result - 1, 0.0), max(1 - 2 * result, 0.0)
    return np.array([lost, 1 - won - lost, won])


def five(results: Iterable[PairResult], a: str) -> Float64[np.ndarray, " 5"]:
    """The paired outcomes of `a` in its pairs."""
    scores = []
    for pair in once(results):
        _check_points(pair)
        if a in (pair.a, pair.b):
            scores.append(pair.score if pair.a == a else 2.0 - pair.score)
    return five_of(np.array(scores, np.float64))


def five_of(scores: Float64[np.ndarray, " n"]) -> Float64[np.ndarray, " 5"]:
    """How often both games of a pair together gave 0, 0.5, 1, 1.5 and 2 points.

    A score between two of these, where games give shares of a win, counts for both of them by its nearness.
    """
    below = np.minimum(np.floor(2 * scores), 3).astype(int)
    part = 2 * scores - below
    counts = np.zeros(5)
    np.add.at(counts, below, 1 - part)
    np.add.at(counts, below + 1, part)
    return counts


def pools(tally: Tally) -> Int64[np.ndarray, " n"]:
    """The number of each agent's pool: agents are in one pool if a chain of played pairs joins them."""
    return joined(len(tally.agents), zip(tally.first.tolist(), tally.second.tolist(), strict=True))


def joined(size: int, links: Iterable[tuple[int, int]]) -> Int64[np.ndarray, " n"]:
    """The group of each of so many, numbered by their first members: those that a chain of links joins are of one."""
    home = list(range(size))

    def find(one: int) -> int:
        while home[one] != one:
            one = home[one]
        return one

    for a, b in links:
        first, other = sorted((find(a), find(b)))
        home[other] = first
    return np.unique([find(one) for one in range(size)], return_inverse=True)[1].astype(np.int64)


def one_sided(tally: Tally) -> list[tuple[set[int], set[int]]]:
    """Who won every game against whom, where no chain of results leads back: how far apart they are, nothing tells.

    Agents are of one class if each took at least half a point from the other, or from one who took it from the other,
    and so on. Each class that met agents of classes below has one entry: those of it who met them, and whom they met.
    """
    table = tally.games()
    size = len(tally.agents)
    reach = (table[:, :, DRAW] + table[:, :, WIN] > 0) | np.eye(size, dtype=bool)
    for middle in range(size):  # Warshall's closure
        reach |= reach[:, middle, None] & reach[None, middle]
    beaten = (table.sum(2) > 0) & reach & ~reach.T
    classes = np.unique(reach & reach.T, axis=0)
    found = [(beaten[mine].any(0), mine & beaten.any(1)) for mine in classes if beaten[mine].any()]
    return [(_members(winners), _members(losers)) for losers, winners in reversed(found)]


def _members(where: Bool[np.ndarray, " n"]) -> set[int]:
    return {int(i) for i in np.flatnonzero(where)}
