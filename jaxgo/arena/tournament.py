"""A tournament: rounds of matches by a schedule, every finished pair a line in a file, resumed where it stopped.

Agents sit in the order of their names, and a pair's luck follows from who plays, the seed and the number of the
opening. So a pair has the same id and the same result whatever else is played, and nothing is played twice.
"""

import dataclasses
import datetime
import itertools
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxgo.arena import elo, games_file, records
from jaxgo.arena.match import Pool, Score
from jaxgo.arena.openings import Openings
from jaxgo.arena.players import checkpoint, load_player
from jaxgo.arena.ratings import RatingTable
from jaxgo.arena.records import PairResult
from jaxgo.arena.schedule import Match, Schedule
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.play import Position

CHUNK = 256  # most pairs of one match in a round
SHORT_CHUNK = 32  # where every round decides anew who plays
GLANCE = 0.5  # seconds between two looks at a match


@dataclasses.dataclass(frozen=True)
class Contest:
    """What is played: everything that the results follow from."""

    name: str  # of the game, in GAMES
    game: Game[Any]
    agents: tuple[str, ...]
    options: tuple[str, ...] = ()  # of the game, as they are typed
    seed: int = 0
    temperature: float = 0.0
    hot_plies: int = 0

    def __post_init__(self) -> None:
        if len(self.agents) < 2:
            raise UsageError("a tournament needs at least two agents")
        twice = {agent for agent in self.agents if self.agents.count(agent) > 1}
        if twice:
            raise UsageError(f"{min(twice)} is given twice; agents of a tournament must differ")


@dataclasses.dataclass(frozen=True)
class Progress:
    """Where a tournament stands."""

    pairs: int  # that are known, those of earlier runs included
    most: int  # that the schedule may ask for
    games: int  # played in this run
    seconds: float  # of playing in this run, compilation apart
    results: tuple[PairResult, ...]  # all that are known of this game
    doing: str = ""

    @property
    def speed(self) -> float:
        """Games a second."""
        return self.games / self.seconds if self.seconds else 0.0

    def table(self) -> RatingTable | None:
        return elo.fit(self.results) if self.results else None


class Tournament:
    """Plays a contest by a schedule. Results go to `path`, the games themselves to the folder `games`.

    `chunk` is the most pairs of a match that are begun together.
    """

    def __init__(
        self,
        contest: Contest,
        schedule: Schedule,
        openings: Openings,
        path: Path | None = None,
        games: Path | None = None,
        slots: int | None = None,
        chunk: int | None = None,
    ) -> None:
        self.contest, self.schedule, self.openings = contest, schedule, openings
        self.path, self.folder = path, games
        self.players = [load_player(spec, contest.game) for spec in contest.agents]
        self.names = [player.name for player in self.players]
        self._hashes = [checkpoint(player) for player in self.players]
        steady = schedule.kind != "informative" and schedule.until <= 0
        self.chunk = min(chunk or (CHUNK if steady else SHORT_CHUNK), schedule.pairs)
        # by name, so that the same agents in another order are the same program
        order = sorted(range(len(self.names)), key=lambda i: self.names[i])
        self._row = {agent: row for row, agent in enumerate(order)}
        self._pool = Pool(
            [self.players[i] for i in order], self.chunk, slots, None, contest.temperature, contest.hot_plies
        )
        self._games, self._seconds, self._compiled = 0, 0.0, False
        self._known = {pair.id: pair for pair in (records.read(path) if path and path.exists() else [])}
        self._numbers = self._find_numbers()

    def run(self) -> Iterator[Progress]:
        """Plays until the schedule has enough, and tells every now and then how it stands."""
        matches = self.schedule.matches(len(self.players))
        while True:
            played = {match: self._done(match) for match in matches}
            precise = self.schedule.until > 0 or self.schedule.kind == "informative"
            table = self.progress().table() if precise else None
            plan = self.schedule.round(played, table, self.names, self.chunk)
            yield self.progress()
            if not plan:
                return
            yield from self._play({match: self._missing(match, count) for match, count in plan.items()})

    def progress(self, doing: str = "") -> Progress:
        matches = self.schedule.matches(len(self.players))
        pairs = sum(self._done(match) for match in matches)
        ours = tuple(pair for pair in self._known.values() if self._is_ours(pair))
        most = self.schedule.most(len(self.players))
        return Progress(pairs, most, self._games, self._seconds, ours, doing)

    def outcomes(self) -> list[int]:
        """For two agents: how the pairs of the first one ended, from both games lost to both won.

        Only those up to the first that is still missing count, so that the length of a game has no say in it.
        """
        by_number = {pair.number: pair for pair in self._known.values() if pair.id == self._id((0, 1), pair.number)}
        counts, number = [0] * 5, 0
        while pair := by_number.get(number):
            counts[pair.outcome if pair.a == self.names[0] else 4 - pair.outcome] += 1
            number += 1
        return counts

    def notes(self) -> list[str]:
        """What a reader of the results should know about the openings."""
        most = max((max(numbers) + 1 for numbers in self._numbers.values() if numbers), default=0)
        if most and (distinct := self.openings.distinct(most)) < most:
            return [f"there are only {distinct} different openings for {most} pairs; they were played again and again"]
        return []

    # -- what is known ---------------------------------------------------------------------------------------------
    def _is_ours(self, pair: PairResult) -> bool:
        return pair.game == self.contest.name and sorted(pair.options) == sorted(self.contest.options)

    def _find_numbers(self) -> dict[Match, set[int]]:
        """The openings that each match has behind it. A UsageError where one name has been two players."""
        number = {name: i for i, name in enumerate(self.names)}
        found: dict[Match, set[int]] = {}
        for pair in self._known.values():
            for name, code in zip((pair.a, pair.b), pair.checkpoints, strict=True):
                if self._is_ours(pair) and name in number and self._hashes[number[name]] != code:
                    raise UsageError(
                        f"{self.path} holds results of {name} with other parameters; name its checkpoint, "
                        "or write to another file"
                    )
            if {pair.a, pair.b} <= number.keys() and pair.seed == self.contest.seed:
                match = min(number[pair.a], number[pair.b]), max(number[pair.a], number[pair.b])
                if pair.id == self._id(match, pair.number):
                    found.setdefault(match, set()).add(pair.number)
        return found

    def _done(self, match: Match) -> int:
        numbers = self._numbers.get(match, set())
        if self.schedule.kind == "informative":
            return len(numbers)
        return sum(number < self.schedule.pairs for number in numbers)

    def _missing(self, match: Match, count: int) -> list[int]:
        """The first openings that the match has not played."""
        fresh = (number for number in itertools.count() if number not in self._numbers.get(match, set()))
        return list(itertools.islice(fresh, count))

    def _seats(self, match: Match) -> Match:
        """Who is `a` and who is `b`: by name, so that it does not hang on the order in which agents are given."""
        i, j = match
        return (i, j) if self.names[i] <= self.names[j] else (j, i)

    def _id(self, match: Match, number: int) -> str:
        a, b = self._seats(match)
        what = self.contest
        return records.pair_id(
            what.name,
            what.options,
            self.names[a],
            self.names[b],
            seed=what.seed,
            number=number,
            opening=self.openings.names(number),
            checkpoints=(self._hashes[a], self._hashes[b]),
            heat=(what.temperature, what.hot_plies),
        )

    # -- playing ---------------------------------------------------------------------------------------------------
    def _play(self, plan: dict[Match, list[int]]) -> Iterator[Progress]:
        """One round. Pairs are written down as they end."""
        numbers = list(plan.values())
        padded = [some + some[-1:] * (self.chunk - len(some)) for some in numbers]  # one shape for all programs
        openings = [_cut(self.openings.positions(more), len(some)) for some, more in zip(numbers, padded, strict=True)]
        seats = [(self._row[a], self._row[b]) for a, b in map(self._seats, plan)]
        self._pool.begin(seats, openings, [self._keys(m, n) for m, n in plan.items()])
        if not self._compiled:
            yield self.progress("compiling")
            self._pool.advance(0)
            self._compiled = True
        seen = [np.zeros(len(some), bool) for some in numbers]
        ticks, going = 1, True
        while going:
            began = time.monotonic()
            going = self._pool.advance(ticks)
            taken = time.monotonic() - began
            self._seconds += taken
            ticks = max(1, round(ticks * min(4.0, max(0.5, GLANCE / max(taken, 1e-6)))))
            fresh = []
            for i, match in enumerate(plan):
                ended = self._pool.finished(i)
                fresh += self._write_down(match, numbers[i], np.flatnonzero(ended & ~seen[i]), self._pool.score(i))
                seen[i] |= ended
            self._keep(fresh)
            yield self.progress()

    def _keys(self, match: Match, numbers: Sequence[int]) -> Array:
        """The luck of each pair, from who plays and which opening it is, and from nothing else."""
        words = [int(self._id(match, number)[:8], 16) for number in numbers]
        root = jax.random.key(self.contest.seed)
        more = words + [0] * (self.chunk - len(words))
        return jax.vmap(jax.random.fold_in, (None, 0))(root, jnp.asarray(more, jnp.uint32))[: len(words)]

    def _write_down(self, match: Match, numbers: list[int], which: np.ndarray, score: Score) -> list[PairResult]:
        """The records of pairs that ended, and their games if they are wanted."""
        a, b = self._seats(match)
        out = []
        for lane in which.tolist():
            number = numbers[lane]
            pair = PairResult(
                game=self.contest.name,
                options=self.contest.options,
                a=self.names[a],
                b=self.names[b],
                first=float(score.first[lane]),
                second=float(score.second[lane]),
                id=self._id(match, number),
                seed=self.contest.seed,
                number=number,
                opening=self.openings.names(number),
                plies=(int(score.plies[lane, 0]), int(score.plies[lane, 1])),
                checkpoints=(self._hashes[a], self._hashes[b]),
                commit=records.commit(),
                versions=records.versions(),
                time=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            )
            out.append(pair)
            if self.folder:
                moves = [score.moves[lane, side, : pair.plies[side]].tolist() for side in range(2)]
                games_file.save(self.folder, self.contest.game, pair, self.openings.actions(number), moves)
        return out

    def _keep(self, pairs: Sequence[PairResult]) -> None:
        if self.path:
            records.append(self.path, pairs)
        number = {name: i for i, name in enumerate(self.names)}
        for pair in pairs:
            match = min(number[pair.a], number[pair.b]), max(number[pair.a], number[pair.b])
            self._numbers.setdefault(match, set()).add(pair.number)
            self._known[pair.id] = pair
        self._games += 2 * len(pairs)


def _cut(positions: Position, count: int) -> Position:
    return jax.tree.map(lambda x: np.asarray(x)[:count], positions)
