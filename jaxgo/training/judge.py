"""How strong has it become? Matches against past players of the run and plain agents, rated together.

All who may meet sit in one pool, so there is one program to compile, and the weights of the run's players change
without another one. Every pair of games goes to `matches.jsonl`, and ratings are always fitted to all of them.
"""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxgo.players import Player, load_player
from jaxgo.arena import elo, games_file, records
from jaxgo.arena.match import Pool, Score
from jaxgo.arena.openings import Openings, random_openings
from jaxgo.arena.players import draws_luck
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.evaluators.base import Params
from jaxgo.search import Gumbel
from jaxgo.system.players import load_player, player_steps
from jaxgo.system.rundir import RunDir
from jaxgo.training.config import JudgeConfig, TrainConfig
from jaxgo.training.trainer import Trainer

MATCHES, GAMES = "matches.jsonl", "games"
TICKS = 8  # of a match in one call
SAVED = 2  # pairs of each match of the last judgement whose games are kept to be looked at

T = TypeVar("T")


def anchor(config: JudgeConfig, played: list[records.PairResult]) -> str | None:
    """Whose rating is held at 0: an agent of the run's opponents that knows something, if there is one.

    An agent that loses every game is anywhere far below, and so would everybody be far above it, with that error.
    """
    met = {agent for pair in played for agent in (pair.a, pair.b)}
    plain = [spec for spec in dict.fromkeys([*config.opponents, *config.final]) if spec in met]
    return next((spec for spec in plain if spec != "random"), plain[0] if plain else None)


@dataclasses.dataclass(frozen=True)
class _Player:
    """A player of the run at an iteration."""

    name: str
    params: Params  # on the host


class Judge:
    """Measures the players of one run; starts to work, and to compile, at its first call.

    `began` is the iteration that this sitting goes on from.
    """

    def __init__(self, trainer: Trainer, run: RunDir, stop: Callable[[], bool] = lambda: False, began: int = 0) -> None:
        self._trainer, self._run, self._stop = trainer, run, stop
        self._config = trainer.config.judge
        # seats of the run's own players: the newest, and whom it meets of them
        self._own = 1 + max(self._config.past, 1 if trainer.config.gate.every else 0)
        self._past = self._remembered(began)
        self._pool: Pool | None = None
        self._openings: Openings | None = None

    def __call__(self, iteration: int, params: Params, final: bool = False) -> dict[str, Any]:
        """Ratings after matches of the player with these weights; empty where nobody can be met."""
        config = self._config
        met = config.final if final else config.opponents
        if self.game.players != 2 or not (met or self._past):
            return {}
        player = _Player(self.name(iteration), jax.device_get(params))
        pool = self._make_pool(player)
        most, saved = (config.final_pairs, SAVED) if final else (config.pairs, 0)
        played = []
        for place, past in enumerate(reversed(self._past), 1):
            if past.name != player.name:
                self._seat(pool, place, past)
                played += self._meet(pool, place, most, saved)
        for spec in dict.fromkeys(met):
            played += self._meet(pool, self._own + self._plain.index(spec), most, saved)
        if self._stop():
            return {}
        if all(past.name != player.name for past in self._past):
            self._past = self._latest([*self._past, player])
        records.append(self._run.path / MATCHES, played)
        return self._rate(player.name, played)

    def _meet(self, pool: Pool, other: int, most: int, saved: int) -> list[records.PairResult]:
        """So many pairs against another place, fewer where games would come again."""
        if self._openings is None:
            self._openings = random_openings(self.game, seed=self.config.seed)
        numbers = self._openings.numbers(most, luck=self._is_lucky(pool, other))
        return self._match(pool, other, self._openings, numbers, self.config.seed, saved)

    @staticmethod
    def _is_lucky(pool: Pool, other: int) -> bool:
        """Whether games against another place differ however often an opening is played."""
        return draws_luck(pool.agents[0]) or draws_luck(pool.agents[other])

    def duel(
        self, a: tuple[int, Params], b: tuple[int, Params], openings: Openings, numbers: Sequence[int], seed: int
    ) -> list[records.PairResult]:
        """Pairs between the players of two iterations, which ratings know nothing of; empty where it was stopped."""
        (first, mine), (second, other) = a, b
        pool = self._make_pool(_Player(self.name(first), jax.device_get(mine)))
        self._seat(pool, 1, _Player(self.name(second), jax.device_get(other)))
        size, played = pool.capacity, []
        for start in range(0, len(numbers), size):
            pairs = self._match(pool, 1, openings, numbers[start : start + size], seed)
            if not pairs:
                return []
            played += pairs
        return played

    @property
    def config(self) -> TrainConfig:
        return self._trainer.config

    @property
    def game(self) -> Game[Any]:
        return self._trainer.game

    @property
    def folder(self) -> Path:
        return self._run.path

    def _remembered(self, began: int) -> list[_Player]:
        """The players that earlier sittings have judged, the last of them that may be met again."""
        file = self.folder / MATCHES
        pairs = records.read(file) if began and self._config.past and file.exists() else []
        places = {Path(name.partition("@")[2]) for pair in pairs for name in (pair.a, pair.b) if "@" in name}
        home = self.folder.resolve()
        judged = {int(place.name) for place in places if place.name.isdigit() and place.parent.resolve() == home}
        found = []
        for step in self._latest([step for step in player_steps(self.folder) if step in judged and step <= began]):
            try:
                found.append(_Player(self.name(step), load_player(self.folder, step)[1]))
            except UsageError as fault:
                self._run.say(str(fault))
        return found

    def _latest(self, some: list[T]) -> list[T]:
        """As many as are met again, and no more: a run of weeks has many players."""
        return some[max(0, len(some) - self._config.past) :]

    def name(self, iteration: int) -> str:
        """The spec of the run's player at an iteration, as `load_player` reads it."""
        search = self._search()
        kind = type(search).__name__.lower()
        budget = f":{search.budget}" if search.budget else ""
        quiet = ",gumbel_scale=0.0" if isinstance(search, Gumbel) else ""
        return f"{kind}{budget}{quiet}@{Path(self._run.path)}/{iteration}"

    @property
    def _plain(self) -> list[str]:
        return list(dict.fromkeys([*self._config.opponents, *self._config.final]))

    def _search(self) -> Any:
        """The run's search as it plays to win: without noise."""
        search: Any = self._trainer.config.search.quiet()
        return dataclasses.replace(search, simulations=self._config.simulations) if self._config.simulations else search

    def _make_pool(self, player: _Player) -> Pool:
        """The pool with this player in its first place."""
        if self._pool is None:
            own = Player(player.name, self._search(), self._trainer.model, player.params)
            plain = [load_player(spec, self._trainer.game) for spec in self._plain]
            most = max(self._config.pairs, self._config.final_pairs)
            agents = [own] * self._own + plain
            self._pool = Pool(agents, most, self._config.slots or None, self._trainer.mesh)
        self._seat(self._pool, 0, player)
        return self._pool

    @staticmethod
    def _seat(pool: Pool, place: int, player: _Player) -> None:
        """Lets one of the run's players sit in a place of the pool."""
        agents = list(pool.agents)
        agents[place] = agents[place]._replace(name=player.name, params=player.params)
        pool.agents = tuple(agents)

    def _match(
        self, pool: Pool, other: int, openings: Openings, numbers: Sequence[int], seed: int, saved: int = 0
    ) -> list[records.PairResult]:
        """Pairs of the first place against another from these openings; the games of the first ones are saved."""
        root, which = jax.random.key(seed), jnp.asarray(numbers, jnp.int32)
        keys = jax.vmap(jax.random.fold_in, (None, 0))(root, which)
        pool.begin([(0, other)], [openings.positions(numbers)], [keys])
        while pool.advance(TICKS):  # in short calls, so that Ctrl-C is heard in between
            if self._stop():
                return []
        score, names = pool.score(0), (pool.agents[0].name, pool.agents[other].name)
        pairs = self._records(*names, score, openings, numbers, seed, self._is_lucky(pool, other))
        self._save_games(pairs[:saved], score, openings)
        return pairs

    def _save_games(self, pairs: Sequence[records.PairResult], score: Score, openings: Openings) -> None:
        for lane, pair in enumerate(pairs):
            try:
                games_file.save(self.folder / GAMES, self.game, pair, openings.actions(pair.number), score.line(lane))
            except UsageError as fault:  # a full disk is no reason to lose the ratings
                self._run.say(str(fault))

    def _records(
        self, a: str, b: str, score: Score, openings: Openings, numbers: Sequence[int], seed: int, lucky: bool
    ) -> list[records.PairResult]:
        config, out = self.config, []
        options = tuple(f"{name}={value}" for name, value in config.options)
        for lane, number in enumerate(numbers):
            first, second, opening = float(score.first[lane]), float(score.second[lane]), openings.names(number)
            lines = [records.line_hash([*openings.actions(number), *moves]) for moves in score.line(lane)]
            out.append(
                records.PairResult(
                    game=config.game,
                    a=a,
                    b=b,
                    first=first,
                    second=second,
                    id=records.pair_id(config.game, options, a, b, seed=seed, number=number, opening=opening),
                    options=options,
                    seed=seed,
                    number=number,
                    opening=opening,
                    lines=("", "") if lucky else (lines[0], lines[1]),
                    plies=(int(score.plies[lane, 0]), int(score.plies[lane, 1])),
                    commit=records.commit(),
                    versions=records.versions(),
                )
            )
        return out

    def _rate(self, player: str, played: list[records.PairResult]) -> dict[str, Any]:
        """Ratings of everybody by all that was ever played, and how the player did this time."""
        every = records.read(self._run.path / MATCHES)
        table = elo.fit(every, anchor(self._config, every))
        ratings = {agent: table.rating(agent) for agent in table.agents}
        scores: dict[str, list[float]] = {}
        for pair in played:
            scores.setdefault(pair.b, []).append(pair.score / 2)
        return {
            "player": player,
            "elo": {agent: (rating.value, rating.error) for agent, rating in ratings.items()},
            "scores": {agent: float(np.mean(shares)) for agent, shares in scores.items()},
            "notes": list(table.notes),
        }
