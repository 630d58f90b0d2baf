"""A player of jaxgo that is told seconds for a move, and no simulations: `uct:3s`, `gumbel:0.5s@runs/go9`.

A match of players is one compiled program, which knows no clock. So such a player sits at the referee's tables, as the
engines of other programs do, and thinks as long as it was told, with the tree of its last move kept.
"""

import contextlib
import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxgo.arena.engines.process import Fault
from jaxgo.arena.engines.protocols import Engine, External, Limits
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game, check_seats
from jaxgo.core.play import NOTHING, Position
from jaxgo.players import Player, is_external, load_player, parse, seconds_of, spelled
from jaxgo.search.model import Model
from jaxgo.search.think import Limit, Thinker

LONGEST = 3600.0  # seconds for a move

_step = jax.jit(Model.play, static_argnums=0)


def is_timed(spec: str) -> bool:
    """Whether a spec gives seconds instead of simulations."""
    if is_external(spec):
        return False
    with contextlib.suppress(UsageError):  # whoever reads it as a player says what is wrong
        return seconds_of(parse(spec)) is not None
    return False


@dataclasses.dataclass(frozen=True)
class Timed(External):
    """A player and its seconds for a move."""

    name: str
    player: Player
    seconds: float

    lucky: ClassVar[bool] = True

    def fingerprint(self, limits: Limits) -> str:
        return self.player.fingerprint()

    def open(self, game: Game[Any], limits: Limits) -> Engine:
        return Clocked(self.player, self.seconds)


def read_timed(spec: str, game: Game[Any]) -> Timed:
    """The player of such a spec; a UsageError where it cannot play this game, or has nothing to spend its time on."""
    check_seats(game)
    words = spelled(parse(spec), game)
    seconds = seconds_of(words)
    assert seconds is not None, "only a timed spec is read here"
    player = load_player(str(dataclasses.replace(words, budget="")), game)
    if not 0.0 < seconds <= LONGEST:
        raise UsageError(
            f"{spec.strip()!r} takes {seconds:g} seconds for a move; above 0 and up to {LONGEST:g} are allowed"
        )
    if player.search.budget == 0 or not player.search.resumable:
        raise UsageError(f"{spec.strip()!r} cannot be given seconds: {words.head} does not search on, move by move")
    # the step of the weights is said, as other players say it: whatever the run has learnt since, this one plays
    told = dataclasses.replace(words, budget=f"{seconds:.10g}s", weights=player.weights)
    return Timed(str(told), player, seconds)


class Clocked(Engine):
    """One game of such a player, which follows it on a board of its own."""

    def __init__(self, player: Player, seconds: float) -> None:
        self.seconds = seconds
        self._luck = jax.random.key(0)
        self._thinker = Thinker(player.search, player.model, player.params, self._luck, player.temperature)
        self._model = player.model
        self._position: Position | None = None
        self._gone = False  # no game goes on

    def draw_by(self, key: Array) -> None:
        self._luck = key

    def begin(self, moves: Sequence[tuple[int, int]]) -> None:
        self._position = self._model.start(jax.random.key(0), 1)
        for _, action in moves:
            self._position = _step(self._model, self._position, jnp.full(1, action, jnp.int32))[0]
        self._thinker.begin(self._position, self._luck)
        self._thinker.warm(Limit(seconds=self.seconds))  # compiles off the clock

    def told(self, seat: int, action: int) -> None:
        assert self._position is not None, "a game has begun"
        played = jnp.full(1, action, jnp.int32)
        self._position = _step(self._model, self._position, played)[0]
        self._thinker.follow(played, self._position)

    def choose(self, seat: int) -> int:
        action = NOTHING
        for found in self._thinker.watch(Limit(seconds=self.seconds)):
            if self._gone:  # as a process that was killed; a thought that began after that heard no stop
                raise Fault("it was stopped")
            action = int(found.result.action[0])
        self.told(seat, action)
        return action

    def close(self) -> None:
        """There is no process to end."""
        self.kill()

    def kill(self) -> None:
        self._gone = True
        self._thinker.stop()
