"""What is played in a tournament, and how far it got."""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

from jaxgo.arena import elo, records
from jaxgo.arena.engines.clocked import Timed
from jaxgo.arena.engines.protocols import External
from jaxgo.arena.engines.specs import is_engine, read_engine
from jaxgo.arena.match import check_temperature
from jaxgo.arena.ratings import RatingTable
from jaxgo.arena.records import PairResult
from jaxgo.core.errors import UsageError, check_seed
from jaxgo.core.game import Game, check_seats
from jaxgo.players import Player, load_player, must_differ
from jaxgo.search.base import check_begins


def seat(spec: str, game: Game[Any]) -> Player | External:
    """Who is to play: one of jaxgo's players, or an engine."""
    return read_engine(spec, game) if is_engine(spec) else load_player(spec, game)


def check_plays(player: Player | External) -> None:
    """A UsageError where a player of jaxgo searches in a way that this game does not know; nothing is compiled."""
    own = player.player if isinstance(player, Timed) else player
    if isinstance(own, Player):
        try:
            check_begins(own.search, own.model)
        except UsageError as fault:
            raise UsageError(f"{player.name} cannot play: {fault}") from None


@dataclasses.dataclass(frozen=True)
class Contest:
    """What is played: everything that the results follow from."""

    name: str  # of the game, in GAMES
    game: Game[Any]
    players: tuple[Player | External, ...]
    options: tuple[str, ...] = ()  # of the game, as they are typed
    seed: int = 0
    temperature: float = 0.0
    hot_plies: int = 0

    def __post_init__(self) -> None:
        check_seats(self.game)  # before openings are drawn
        if len(self.players) < 2:
            raise UsageError("a tournament needs at least two agents")
        check_temperature(self.temperature, self.hot_plies)
        if (self.temperature > 0) != (self.hot_plies > 0):
            raise UsageError("a temperature holds for so many hot plies: give both, or neither of them")
        if self.temperature > 0 and not any(map(self.draws, self.players)):
            raise UsageError(
                "none of these players can have a temperature; leave it out, or let one of jaxgo's play by simulations"
                " and weigh its moves"
            )
        check_seed(self.seed)
        must_differ([player.name for player in self.players])

    @staticmethod
    def draws(player: Player | External) -> bool:
        """Whether a temperature of the first moves is one of this player's."""
        return isinstance(player, Player) and player.search.draws

    @property
    def terms(self) -> tuple[str, ...]:
        """What is played besides the game itself, as it was typed."""
        return records.terms(self.options, self.temperature, self.hot_plies)


class Ended(NamedTuple):
    """A pair of games that is over, before it is written down; `match` are places among the players."""

    match: tuple[int, int]
    number: int  # of the opening
    scores: tuple[float, float]  # of the agent whose name comes first, on seat 0 and on seat 1
    moves: Sequence[Sequence[int]]  # of both games, since the opening
    problems: Sequence[str] = ()


class News(NamedTuple):
    """What comes out of a round while it is played."""

    ended: Sequence[Ended] = ()
    seconds: float = 0.0  # of playing
    doing: str = ""


@dataclasses.dataclass(frozen=True)
class Progress:
    """Where a tournament stands."""

    pairs: int  # that are known, those of earlier runs included
    most: int  # that the schedule may ask for
    games: int  # played in this run
    seconds: float  # of playing in this run, compilation apart
    results: tuple[PairResult, ...]  # all that are known of this game
    doing: str = ""
    anchor: str = ""  # whose rating is held; else the mean of a pool is

    @property
    def speed(self) -> float:
        """Games a second."""
        return self.games / self.seconds if self.seconds else 0.0

    def table(self) -> RatingTable | None:
        known = any(self.anchor in (pair.a, pair.b) for pair in self.results)
        return elo.rate(self.results, self.anchor if known else None) if self.results else None
