"""Plays pairs of a ledger on one host: players side by side in one program, matches with an engine move by move."""

import hashlib
import json
import time
from collections.abc import Iterator, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array

from jaxgo.arena import records
from jaxgo.arena.contest import Ended, News
from jaxgo.arena.engines import referee
from jaxgo.arena.engines.protocols import Limits
from jaxgo.arena.hosts import Plan
from jaxgo.arena.ledger import Ledger
from jaxgo.arena.match import Pool, Score
from jaxgo.arena.schedule import Match
from jaxgo.core.play import Position
from jaxgo.players import Player


class Runner:
    """Plays rounds, of up to `room` pairs of each match. `limits` are those of engines.

    Runners of players that differ in their parameters alone share one compiled program if the others beside them are
    the same: `spare` are players who only sit beside, and `room` has to be the same, too.
    """

    def __init__(
        self,
        ledger: Ledger,
        room: int,
        slots: int | None = None,
        limits: Limits | None = None,
        spare: Sequence[Player] = (),
        mesh: Mesh | None = None,
    ) -> None:
        self._ledger, self._contest, self._openings = ledger, ledger.contest, ledger.openings
        self._room, self._limits = room, limits
        # by name, so that the same agents in another order are the same program; engines play elsewhere
        every = [*((p.name, i, p) for i, p in enumerate(self._contest.players) if isinstance(p, Player))]
        every = sorted([*every, *((p.name, -1, p) for p in spare)], key=lambda one: one[0])
        self._row = {i: row for row, (_, i, _) in enumerate(every) if i >= 0}
        agents = [player for _, _, player in every]
        self.pool: Pool | None = None
        if len(agents) > 1:
            self.pool = Pool(agents, room, slots, mesh, self._contest.temperature, self._contest.hot_plies)
        self._compiled = False

    @property
    def slots(self) -> int:
        """Games of a player side by side."""
        return self.pool.slots if self.pool else 1

    def sign(self, plan: Plan) -> str:
        """What the results of a round follow from, in a word: hosts must agree about it."""
        ids = [self._ledger.id(match, number) for match, numbers in plan.items() for number in numbers]
        return hashlib.sha256(json.dumps([ids, records.versions()]).encode()).hexdigest()

    def play(self, plan: Plan) -> Iterator[News]:
        """A round, or the share of one, on this host."""
        together = {match: numbers for match, numbers in plan.items() if set(match) <= self._row.keys()}
        if together and self.pool:
            yield from self._play_together(self.pool, together)
        for match, numbers in plan.items():
            if match not in together:
                yield from self._play_with_engines(match, numbers)

    def _play_with_engines(self, match: Match, numbers: Sequence[int]) -> Iterator[News]:
        a, b = self._ledger.seats(match)
        began = time.monotonic()
        for pair in referee.play_pairs(
            (self._contest.players[a], self._contest.players[b]),
            self._contest.game,
            [self._openings.actions(number) for number in numbers],
            self._positions(numbers),
            self._keys(match, numbers),
            limits=self._limits,
            temperature=self._contest.temperature,
            hot_plies=self._contest.hot_plies,
        ):
            first, second = pair.games
            moves = [list(first.moves), list(second.moves)]
            scores = first.result, 1.0 - second.result
            taken, began = time.monotonic() - began, time.monotonic()
            yield News([Ended(match, numbers[pair.number], scores, moves, pair.problems())], taken)

    def _play_together(self, pool: Pool, plan: Plan) -> Iterator[News]:
        """Pairs are told as they end."""
        numbers = list(map(list, plan.values()))
        openings = [self._positions(some) for some in numbers]
        seats = [(self._row[a], self._row[b]) for a, b in map(self._ledger.seats, plan)]
        pool.begin(seats, openings, [self._keys(match, some) for match, some in plan.items()])
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

    def _positions(self, numbers: Sequence[int]) -> Position:
        """The positions after these openings, in one shape for all programs."""
        padded = [*numbers, *[numbers[-1]] * (self._room - len(numbers))]
        return jax.tree.map(lambda x: np.asarray(x)[: len(numbers)], self._openings.positions(padded))

    def _keys(self, match: Match, numbers: Sequence[int]) -> Array:
        """The key of each pair, from who plays and which opening it is, and from nothing else."""
        words = [int(self._ledger.id(match, number)[:8], 16) for number in numbers]
        root = jax.random.key(self._contest.seed)
        more = words + [0] * (self._room - len(words))
        return jax.vmap(jax.random.fold_in, (None, 0))(root, jnp.asarray(more, jnp.uint32))[: len(words)]


def _of_lane(score: Score, lane: int) -> tuple[tuple[float, float], list[list[int]]]:
    """The results and the moves of one pair of a match."""
    return (float(score.first[lane]), float(score.second[lane])), score.line(lane)
