"""A tournament: rounds of matches by a schedule, every finished pair a line in a file, resumed where it stopped.

Agents sit in the order of their names, and a pair's key follows from who plays, the seed and the number of the
opening. So a pair has the same id and the same result whatever else is played, and nothing is played twice. Two agents
without luck would play an opening again as they did before, so their match ends where the openings do.
"""

import datetime
import hashlib
import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array

from jaxgo.arena import games_file, records
from jaxgo.arena.contest import Contest, Ended, News, Progress
from jaxgo.arena.engines import referee
from jaxgo.arena.engines.protocols import Limits
from jaxgo.arena.hosts import Hosts, Plan
from jaxgo.arena.match import Pool, Score
from jaxgo.arena.openings import Openings
from jaxgo.arena.ratings import RatingTable
from jaxgo.arena.records import PairResult
from jaxgo.arena.schedule import Match, Schedule, errors, groups
from jaxgo.arena.tally import five
from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.core.play import Position
from jaxgo.players import Player

CHUNK = 256  # most pairs of one match in a round, for each host
SHORT_CHUNK = 32  # where every round decides anew who plays
NAMED = 3  # matches that a note names


class Tournament:
    """Plays a contest by a schedule. Results go to `path`, the games themselves to the folder `games`.

    `chunk` is the most pairs of a match that are begun together; `sample` is how many pairs of each match have their
    games saved, those of the first openings (None: all). `limits` are those of engines.

    Tournaments of players that differ in their parameters alone share one compiled program if the others beside them
    are the same: `spare` are players who only sit beside, and `room` is the most pairs of a match in any of them. With
    `say`, games that cannot be saved are a message, and results of a name's earlier player are left alone.

    Among several `hosts` the first one has the record and runs the tournament, and the others serve it.
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
        sample: int | None = None,
        limits: Limits | None = None,
        spare: Sequence[Player] = (),
        room: int = 0,
        mesh: Mesh | None = None,
        say: Callable[[str], None] | None = None,
        hosts: Hosts | None = None,
    ) -> None:
        self.contest, self.schedule, self.openings = contest, schedule, openings
        self.path, self.folder, self.sample = path, games, sample
        self.limits = limits or Limits()
        self.players = list(contest.players)
        self.names = [player.name for player in self.players]
        self._say, self._hosts = say, hosts or Hosts()
        self._rules = (contest.name, *records.read_options(contest.terms))
        self._hashes = [
            player.fingerprint() if isinstance(player, Player) else player.fingerprint(self.limits)
            for player in self.players
        ]
        self._lucky = [
            player.lucky or (contest.temperature > 0 and isinstance(player, Player)) for player in self.players
        ]
        steady = schedule.kind != "informative" and schedule.until <= 0
        self.chunk = min(chunk or (CHUNK * self._hosts.count if steady else SHORT_CHUNK), schedule.pairs)
        # by name, so that the same agents in another order are the same program; engines play elsewhere
        every = [*((p.name, i, p) for i, p in enumerate(self.players) if isinstance(p, Player))]
        every = sorted([*every, *((p.name, -1, p) for p in spare)], key=lambda one: one[0])
        self._row = {i: row for row, (_, i, _) in enumerate(every) if i >= 0}
        self._room = max(room, -(-self.chunk // self._hosts.count))
        agents = [player for _, _, player in every]
        self._pool: Pool | None = None
        if len(agents) > 1:
            self._pool = Pool(agents, self._room, slots, mesh, contest.temperature, contest.hot_plies)
        self._games, self._seconds, self._compiled, self._anchor = 0, 0.0, False, ""
        known = {pair.id: pair for pair in (records.read_begun(path) if path else [])}
        self._ours = [pair for pair in known.values() if self._is_ours(pair)]
        self._numbers = self._find_numbers(known.values())
        # the first that are played here: an earlier tournament may have played others, and saved none
        self._samples = (
            {match: self._missing(match, sample) for match in schedule.matches(len(self.players))} if sample else {}
        )

    def run(self, anchor: str = "") -> Iterator[Progress]:
        """Plays until the schedule has enough, and tells every now and then how it stands.

        Error bars are those of ratings with this `anchor`; without one, of ratings against their mean.
        """
        self._anchor = anchor
        matches = self.schedule.matches(len(self.players))
        while True:
            played = {match: self._done(match) for match in matches}
            precise = self.schedule.until > 0 or self.schedule.kind == "informative"
            table = self.progress().table() if precise else None
            room = {match: len(self._missing(match, self.chunk)) for match in matches}
            plan = self.schedule.round(played, table, self.names, self.chunk, room)
            yield self.progress()
            if not plan:
                return
            for news in self._play({match: self._missing(match, count) for match, count in plan.items()}):
                self._keep([self._write_down(pair) for pair in news.ended])
                self._seconds += news.seconds
                yield self.progress(news.doing)

    def serve(self) -> int:
        """Plays for the first of several hosts until that has ended; gives the exit status."""
        return self._hosts.serve(self._sign, self._play_here)

    def progress(self, doing: str = "") -> Progress:
        matches = self.schedule.matches(len(self.players))
        pairs = sum(self._done(match) for match in matches)
        most = self.schedule.most(len(self.players))
        if self.openings.most is not None:
            some = [self.schedule.pairs if self._is_lucky(match) else self.openings.most for match in matches]
            most = min(most, sum(some))
        return Progress(pairs, most, self._games, self._seconds, tuple(self._ours), doing, self._anchor)

    @property
    def slots(self) -> int:
        """Games of a player side by side."""
        return self._pool.slots if self._pool else 1

    def results(self) -> list[PairResult]:
        """The pairs of this contest's matches that are known, those of earlier runs included."""
        matches = self.schedule.matches(len(self.players))
        return [pair for match in matches for _, pair in sorted(self._numbers.get(match, {}).items())]

    def line(self) -> list[PairResult]:
        """For two agents: their pairs in order, up to the first that is still missing.

        So the length of a game has no say in it; and of games that must be the same, only the first is there.
        """
        by_number = self._numbers.get((0, 1), {})
        first = itertools.takewhile(lambda number: number in by_number, itertools.count())
        return [by_number[number] for number in first]

    def outcomes(self) -> list[float]:
        """For two agents: how the pairs of the first one ended, from both games lost to both won."""
        return five(self.line(), self.names[0]).tolist()

    def notes(self) -> list[str]:
        """What a reader of the results should know: who has no temperature, of what no precision is asked, openings,
        and which games are not in the folder."""
        return [*self._begins(), *self._cold(), *self._apart(), *self._wide(), *self._repeats(), *self._unsaved()]

    def _begins(self) -> list[str]:
        """Whom the table calls the first mover, where that is not who begins."""
        if int(play.begin(self.contest.game).state.to_play) == 0:
            return []
        return ["seat 1 begins here: who moves first in this table is seat 0, in Go who has the stones of the handicap"]

    def _cold(self) -> list[str]:
        """Who has no temperature where there is one."""
        cold = [player.name for player in self.players if not isinstance(player, Player)]
        if self.contest.temperature <= 0 or not cold:
            return []
        return [f"the temperature is none of {', '.join(cold)}: engines and players by the clock play as ever"]

    def _rated(self) -> RatingTable | None:
        """What is known of all agents, where a precision is asked."""
        table = self.progress().table() if self.schedule.until > 0 else None
        return table if table is not None and set(self.names) <= set(table.agents) else None

    def _apart(self) -> list[str]:
        """Which agents a precision leaves alone, because nobody is near them."""
        table = self._rated()
        if table is None:
            return []
        found = groups(table, self.names)
        if len(found) < 2:
            return []
        listed = "; ".join(", ".join(self.names[i] for i in group) for group in found)
        return [
            f"between these groups nearly all games are won by the same side, so few were played: {listed}. "
            f"±{self.schedule.until:g} is asked within a group, against its mean or the anchor; "
            "bars of the whole table are wider"
        ]

    def _wide(self) -> list[str]:
        """A precision that the most pairs of a match did not reach."""
        table = self._rated()
        if table is None:
            return []
        widest = float(errors(table, self.names).max())
        if widest <= self.schedule.until:
            return []
        asked = f"±{self.schedule.until:g} was not reached"
        return [f"{asked}: a bar of ±{widest:.0f} is left; --pairs is the most that are played"]

    def _repeats(self) -> list[str]:
        most = self.openings.most
        if most is None:
            return []
        every = self.schedule.matches(len(self.players))
        ended = [match for match in every if not self._is_lucky(match) and self._done(match) >= most]
        again = max((self._done(match) for match in every if self._is_lucky(match)), default=0)
        only = f"there {'is only 1 opening' if most == 1 else f'are only {most:,} different openings'}"
        notes = []
        if ended and most < self.schedule.pairs:
            some = ", ".join(" - ".join(self.names[i] for i in match) for match in ended[:NAMED])
            more = f" and {len(ended) - NAMED} more matches" if len(ended) > NAMED else ""
            notes.append(f"{only}, and without luck the same games would come again: {some}{more} ended after them")
        if again > most:
            were = "it was" if most == 1 else "they were"
            notes.append(f"{only} for {again:,} pairs; {were} played again, each time with other luck")
        return notes

    def _unsaved(self) -> list[str]:
        """Games that were played before somebody asked for them."""
        if not self.folder:
            return []
        missing = 0
        for match in self.schedule.matches(len(self.players)):
            pairs = self._numbers.get(match, {}).values()
            wanted = len(pairs) if self.sample is None else min(self.sample, len(pairs))
            saved = (pair for pair in pairs if games_file.find(self.folder, pair))
            missing += wanted - len(list(itertools.islice(saved, wanted)))
        if not missing:
            return []
        which = "a pair was" if missing == 1 else f"{missing:,} pairs were"
        return [f"{which} played before, when games were not saved in {self.folder}; for them, take another --out"]

    # -- what is known ---------------------------------------------------------------------------------------------
    def _is_ours(self, pair: PairResult) -> bool:
        return pair.rules == self._rules

    def _find_numbers(self, written: Iterable[PairResult]) -> dict[Match, dict[int, PairResult]]:
        """The pairs that each match has behind it, by opening. A UsageError where one name has been two players."""
        number = {name: i for i, name in enumerate(self.names)}
        found: dict[Match, dict[int, PairResult]] = {}
        for pair in written:
            for name, code in zip((pair.a, pair.b), pair.checkpoints, strict=True):
                known = self._hashes[number[name]] if name in number and self._is_ours(pair) else code
                if code and code != known and self._say is None:
                    raise UsageError(
                        f"{self.path} holds results of another {name}, with other weights, settings or seconds; name "
                        "its step, or write to another file"
                    )
            if {pair.a, pair.b} <= number.keys() and pair.seed == self.contest.seed:
                match = self._match_of(pair)
                if pair.id == self._id(match, pair.number):
                    found.setdefault(match, {})[pair.number] = pair
        return found

    def _match_of(self, pair: PairResult) -> Match:
        i, j = sorted((self.names.index(pair.a), self.names.index(pair.b)))
        return i, j

    def _done(self, match: Match) -> int:
        numbers = self._numbers.get(match, {})
        if self.schedule.kind == "informative":
            return len(numbers)
        return sum(number < self.schedule.pairs for number in numbers)

    def _missing(self, match: Match, count: int) -> list[int]:
        """The first openings that the match has not played."""
        played = self._numbers.get(match, {})
        numbers = self.openings.numbers(len(played) + count, self._is_lucky(match))
        return [number for number in numbers if number not in played][:count]

    def _is_lucky(self, match: Match) -> bool:
        """Whether the same opening makes another game each time."""
        return self._lucky[match[0]] or self._lucky[match[1]]

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
            temperature=(what.temperature, what.hot_plies),
        )

    # -- playing ---------------------------------------------------------------------------------------------------
    def _play(self, plan: Plan) -> Iterator[News]:
        """One round, on all hosts."""
        return self._hosts.play(plan, self._sign, self._play_here)

    def _sign(self, plan: Plan) -> str:
        """What the results of a round follow from, in a word: hosts must agree about it."""
        ids = [self._id(match, number) for match, numbers in plan.items() for number in numbers]
        return hashlib.sha256(json.dumps([ids, records.versions()]).encode()).hexdigest()

    def _play_here(self, plan: Plan) -> Iterator[News]:
        """A round, or the share of one, on this host."""
        together = {match: numbers for match, numbers in plan.items() if set(match) <= self._row.keys()}
        if together and self._pool:
            yield from self._play_together(self._pool, together)
        for match, numbers in plan.items():
            if match not in together:
                yield from self._play_with_engines(match, numbers)

    def _play_with_engines(self, match: Match, numbers: Sequence[int]) -> Iterator[News]:
        a, b = self._seats(match)
        began = time.monotonic()
        for pair in referee.play_pairs(
            (self.players[a], self.players[b]),
            self.contest.game,
            [self.openings.actions(number) for number in numbers],
            self.openings.positions(numbers),
            self._keys(match, numbers),
            limits=self.limits,
            temperature=self.contest.temperature,
            hot_plies=self.contest.hot_plies,
        ):
            first, second = pair.games
            moves = [list(first.moves), list(second.moves)]
            scores = first.result, 1.0 - second.result
            taken, began = time.monotonic() - began, time.monotonic()
            yield News([Ended(match, numbers[pair.number], scores, moves, pair.problems())], taken)

    def _play_together(self, pool: Pool, plan: Plan) -> Iterator[News]:
        """Pairs are told as they end."""
        numbers = list(map(list, plan.values()))
        padded = [some + some[-1:] * (self._room - len(some)) for some in numbers]  # one shape for all programs
        openings = [_cut(self.openings.positions(more), len(some)) for some, more in zip(numbers, padded, strict=True)]
        seats = [(self._row[a], self._row[b]) for a, b in map(self._seats, plan)]
        pool.begin(seats, openings, [self._keys(m, n) for m, n in plan.items()])
        if not self._compiled:
            yield News(doing="compiling")
            pool.advance(0)
            self._compiled = True
        seen = [np.zeros(len(some), bool) for some in numbers]
        for taken in pool.slices():
            fresh = []
            for i, match in enumerate(plan):
                ended = pool.finished(i)
                score = pool.score(i)
                for lane in np.flatnonzero(ended & ~seen[i]).tolist():
                    fresh.append(Ended(match, numbers[i][lane], *_of_lane(score, lane)))
                seen[i] |= ended
            yield News(fresh, taken)

    def _keys(self, match: Match, numbers: Sequence[int]) -> Array:
        """The key of each pair, from who plays and which opening it is, and from nothing else."""
        words = [int(self._id(match, number)[:8], 16) for number in numbers]
        root = jax.random.key(self.contest.seed)
        more = words + [0] * (self._room - len(words))
        return jax.vmap(jax.random.fold_in, (None, 0))(root, jnp.asarray(more, jnp.uint32))[: len(words)]

    def _write_down(self, ended: Ended) -> PairResult:
        """The record of a pair that ended; its games are saved if they are wanted."""
        match, number, scores, moves, problems = ended
        a, b = self._seats(match)
        opening = self.openings.actions(number)
        lines = ["" if self._is_lucky(match) else records.line_hash([*opening, *played]) for played in moves]
        pair = PairResult(
            game=self.contest.name,
            options=self.contest.options,
            a=self.names[a],
            b=self.names[b],
            first=scores[0],
            second=scores[1],
            id=self._id(match, number),
            seed=self.contest.seed,
            number=number,
            opening=self.openings.names(number),
            temperature=self.contest.temperature,
            hot_plies=self.contest.hot_plies,
            plies=(len(moves[0]), len(moves[1])),
            checkpoints=(self._hashes[a], self._hashes[b]),
            lines=(lines[0], lines[1]),
            problems=tuple(problems),
            commit=records.commit(),
            versions=records.versions(),
            time=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        )
        if self.folder and (self.sample is None or number in self._samples.get(match, ())):
            try:
                games_file.save(self.folder, self.contest.game, pair, opening, moves)
            except UsageError as fault:
                if self._say is None:
                    raise
                self._say(str(fault))  # a full disk is no reason to lose the ratings
        return pair

    def _keep(self, pairs: Sequence[PairResult]) -> None:
        if self.path:
            records.append(self.path, pairs)
        for pair in pairs:
            self._numbers.setdefault(self._match_of(pair), {})[pair.number] = pair
            self._ours.append(pair)
        self._games += 2 * len(pairs)


def _cut(positions: Position, count: int) -> Position:
    return jax.tree.map(lambda x: np.asarray(x)[:count], positions)


def _of_lane(score: Score, lane: int) -> tuple[tuple[float, float], list[list[int]]]:
    """The results and the moves of one pair of a match."""
    return (float(score.first[lane]), float(score.second[lane])), score.line(lane)
