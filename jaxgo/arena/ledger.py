"""The pairs of games of a contest: which there are, which are known, and who is who in them.

A pair is told by its match and the number of its opening. Agents sit in the order of their names, and a pair's key
follows from its id: from who plays, the seed and the number of the opening. So it has the same id and the same result
whatever else is played, and nothing is played twice. Two agents without luck would play an opening again as they did
before, so their match ends where the openings do.
"""

import datetime
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

from jaxgo.arena import records
from jaxgo.arena.contest import Contest, Ended
from jaxgo.arena.engines.protocols import Limits
from jaxgo.arena.openings import Openings
from jaxgo.arena.records import PairResult
from jaxgo.arena.schedule import Match, Schedule
from jaxgo.arena.tally import five
from jaxgo.core.errors import UsageError
from jaxgo.players import Player


def written(contest: Contest, path: Path) -> list[PairResult]:
    """The pairs of a file that were played by these rules, whoever played, and by any seed."""
    rules = records.rules(contest.name, contest.options, contest.temperature, contest.hot_plies)
    return [pair for pair in records.read_begun(path) if pair.rules == rules]


class Ledger:
    """What is known of the matches of a schedule. Results are read from `path`, and new ones are added there.

    `limits` are those of engines, which are other players with other seconds. A name that has been another player is
    an error, unless `namesakes` may be left alone.
    """

    def __init__(
        self,
        contest: Contest,
        schedule: Schedule,
        openings: Openings,
        path: Path | None = None,
        limits: Limits | None = None,
        namesakes: bool = False,
    ) -> None:
        self.contest, self.schedule, self.openings, self.path = contest, schedule, openings, path
        self.names = [player.name for player in contest.players]
        self.matches = schedule.matches(len(self.names))
        self.hashes = [
            player.fingerprint() if isinstance(player, Player) else player.fingerprint(limits or Limits())
            for player in contest.players
        ]
        self._lucky = [
            player.lucky or (contest.temperature > 0 and contest.draws(player)) for player in contest.players
        ]
        self.known = written(contest, path) if path else []
        if not namesakes:
            self._refuse_namesakes()
        self._played: dict[Match, dict[int, PairResult]] = {}
        names = set(self.names)
        for pair in self.known:
            if {pair.a, pair.b} <= names and pair.seed == contest.seed:
                match = self._match_of(pair)
                if pair.id == self._id(match, pair.number, pair.game, pair.options):
                    self._played.setdefault(match, {})[pair.number] = pair

    def _refuse_namesakes(self) -> None:
        """A UsageError where one name has been two players."""
        hashes = dict(zip(self.names, self.hashes, strict=True))
        for pair in self.known:
            for name, code in zip((pair.a, pair.b), pair.checkpoints, strict=True):
                if code and code != hashes.get(name, code):
                    raise UsageError(
                        f"{self.path} holds results of another {name}, with other weights, files, settings or "
                        "seconds; name its step, or write to another file"
                    )

    def _match_of(self, pair: PairResult) -> Match:
        i, j = sorted((self.names.index(pair.a), self.names.index(pair.b)))
        return i, j

    # -- which pairs there are -------------------------------------------------------------------------------------
    def seats(self, match: Match) -> Match:
        """Who is `a` and who is `b`: by name, so that it does not hang on the order in which agents are given."""
        i, j = match
        return (i, j) if self.names[i] <= self.names[j] else (j, i)

    def id(self, match: Match, number: int) -> str:
        return self._id(match, number, self.contest.name, self.contest.options)

    def _id(self, match: Match, number: int, game: str, options: Sequence[str]) -> str:
        """The id of a pair where the game was called so."""
        a, b = self.seats(match)
        what = self.contest
        return records.pair_id(
            game,
            options,
            self.names[a],
            self.names[b],
            seed=what.seed,
            number=number,
            opening=self.openings.names(number),
            checkpoints=(self.hashes[a], self.hashes[b]),
            temperature=(what.temperature, what.hot_plies),
        )

    def is_lucky(self, match: Match) -> bool:
        """Whether the same opening makes another game each time."""
        return self._lucky[match[0]] or self._lucky[match[1]]

    def most(self) -> int:
        """The most pairs that may be asked for."""
        most = self.schedule.most(len(self.names))
        if self.openings.most is not None:
            some = [self.schedule.pairs if self.is_lucky(match) else self.openings.most for match in self.matches]
            most = min(most, sum(some))
        return most

    # -- which are known -------------------------------------------------------------------------------------------
    def played(self, match: Match) -> Mapping[int, PairResult]:
        """The pairs that the match has behind it, by opening."""
        return self._played.get(match, {})

    def done(self, match: Match) -> int:
        """How many pairs of a match count for the schedule."""
        played = self.played(match)
        if self.schedule.kind == "informative":
            return len(played)
        return sum(number < self.schedule.pairs for number in played)

    def missing(self, match: Match, count: int) -> list[int]:
        """The first openings that the match has not played."""
        played = self.played(match)
        numbers = self.openings.numbers(len(played) + count, self.is_lucky(match))
        return [number for number in numbers if number not in played][:count]

    def results(self) -> list[PairResult]:
        """The pairs of the matches that are known, those of earlier runs included."""
        return [pair for match in self.matches for _, pair in sorted(self.played(match).items())]

    def line(self) -> list[PairResult]:
        """For two agents: their pairs in order, up to the first that is still missing.

        So the length of a game has no say in it; and of games that must be the same, only the first is there.
        """
        by_number = self.played((0, 1))
        first = itertools.takewhile(lambda number: number in by_number, itertools.count())
        return [by_number[number] for number in first]

    def outcomes(self) -> list[float]:
        """For two agents: how the pairs of the first one ended, from both games lost to both won."""
        return five(self.line(), self.names[0]).tolist()

    # -- new ones --------------------------------------------------------------------------------------------------
    def record(self, ended: Ended) -> PairResult:
        """The record of a pair that ended."""
        match, number, scores, moves, problems = ended
        a, b = self.seats(match)
        opening = self.openings.actions(number)
        lines = ["" if self.is_lucky(match) else records.line_hash([*opening, *played]) for played in moves]
        return PairResult(
            game=self.contest.name,
            options=self.contest.options,
            a=self.names[a],
            b=self.names[b],
            first=scores[0],
            second=scores[1],
            id=self.id(match, number),
            seed=self.contest.seed,
            number=number,
            opening=self.openings.names(number),
            temperature=self.contest.temperature,
            hot_plies=self.contest.hot_plies,
            plies=(len(moves[0]), len(moves[1])),
            checkpoints=(self.hashes[a], self.hashes[b]),
            lines=(lines[0], lines[1]),
            problems=tuple(problems),
            commit=records.commit(),
            versions=records.versions(),
            time=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        )

    def add(self, pairs: Sequence[PairResult]) -> None:
        """Writes these down at the end of the file."""
        if self.path:
            records.append(self.path, pairs)
        for pair in pairs:
            self._played.setdefault(self._match_of(pair), {})[pair.number] = pair
        self.known += pairs
