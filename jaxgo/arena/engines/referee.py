"""Games with engines: every opening twice with the seats swapped, some games side by side, by the rules of jaxgo.

An engine is a process, so these games are played one move at a time from Python, in a few threads. Whatever an engine
does wrong loses it the game and its process; the next game gets a fresh one. jaxgo's own agents draw at random from
the key of the pair and from how many moves were made, so what they do does not hang on the threads.
"""

import dataclasses
import functools
import itertools
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int32

from jaxgo.arena.engines.played import PlayedGame, PlayedPair
from jaxgo.arena.engines.process import Fault
from jaxgo.arena.engines.protocols import RESIGN, Engine, External, Limits
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.lanes import alone
from jaxgo.core.play import Position, View, look
from jaxgo.players import Player
from jaxgo.search import health, outside
from jaxgo.search.base import Search
from jaxgo.search.model import Model

Side = Player | External


def play_pairs(
    players: tuple[Side, Side],
    game: Game[Any],
    lines: Sequence[Sequence[int]],
    positions: Position,
    keys: Array,
    *,
    limits: Limits | None = None,
    temperature: float = 0.0,
    hot_plies: int = 0,
) -> Iterator[PlayedPair]:
    """Plays both games of every opening, and yields each pair when both are over, not in their order.

    `lines` are the moves of the openings and `positions` where they lead; `keys` are those of the pairs.
    """
    limits = limits or Limits()
    event = _Event(game, players, lines, positions, keys, limits, temperature, hot_plies)
    event.compile()
    jobs: queue.SimpleQueue[tuple[int, int]] = queue.SimpleQueue()
    done: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for index, side in itertools.product(range(len(lines)), range(2)):
        jobs.put((index, side))
    tables = [_Table(event, jobs, done) for _ in range(min(limits.at_once, jobs.qsize()))]
    found: dict[int, dict[int, PlayedGame]] = {}
    try:
        for table in tables:
            table.thread.start()
        for _ in range(2 * len(lines)):
            report = done.get()
            if isinstance(report, BaseException):
                raise report
            index, side, played = report
            both = found.setdefault(index, {})
            both[side] = played
            if len(both) == 2:
                yield PlayedPair(index, (both[0], both[1]))
        for table in tables:  # they part politely
            table.thread.join()
    finally:
        for table in tables:
            table.stop()
        for table in tables:
            if table.thread.is_alive():
                table.thread.join()


# -- what jaxgo's side computes -----------------------------------------------------------------------------------


@functools.partial(jax.jit, static_argnums=(0, 1))
def _think(
    search: Search,
    model: Model,
    params: Any,
    key: Array,
    step: Int32[Array, ""],
    position: Position,
    temperature: Float32[Array, ""],
) -> tuple[Int32[Array, ""], Bool[Array, ""]]:
    """A move of an agent, with the key that it would have in a match of agents."""
    own = jax.random.fold_in(key, step)[None]
    games = alone(position)
    found = search.run(model, params, own, games, temperature=temperature[None])
    return found.action[0], (found.healthy & outside.legal_moves(search, model, games, found.action))[0]


# -- tables ---------------------------------------------------------------------------------------------------------


class _Forfeit(Exception):  # noqa: N818 - no error of the program
    """A player has lost by a fault."""

    def __init__(self, player: int, reason: str) -> None:
        super().__init__(reason)
        self.player, self.reason = player, reason


@dataclasses.dataclass(frozen=True)
class _Event:
    """What is played, and how; all tables share it."""

    game: Game[Any]
    players: tuple[Side, Side]
    lines: Sequence[Sequence[int]]
    positions: Position
    keys: Array
    limits: Limits
    temperature: float
    hot_plies: int
    started: set[int] = dataclasses.field(default_factory=set)  # engines that have been ready once

    def start(self, index: int) -> View:
        return look(self.game, jax.tree.map(lambda x: np.asarray(x)[index], self.positions))

    def think(self, agent: Player, index: int, side: int, length: int, view: View) -> int:
        asked = self.temperature if length < self.hot_plies else 0.0
        action, healthy = _think(
            agent.search,
            agent.model,
            agent.params,
            self.keys[index],
            jnp.int32(2 * length + side),
            view.position,
            jnp.float32(max(asked, agent.temperature)),
        )
        if not bool(healthy):
            raise health.EvaluatorError(f"{agent.name}: {health.told(agent.model, 'in a match', agent.search)}")
        return int(action)

    def compile(self) -> None:
        """One move of each kind, so that threads find the programs ready."""
        view = self.start(0)
        if view.over:
            raise UsageError("an opening is over before the first move; leave it out")
        for player in self.players:
            if isinstance(player, Player):
                self.think(player, 0, 0, 0, view)


class _Table:
    """A thread that plays one game after another, with engine processes of its own."""

    def __init__(self, event: _Event, jobs: "queue.SimpleQueue[Any]", done: "queue.SimpleQueue[Any]") -> None:
        self._event, self._jobs, self._done = event, jobs, done
        self._engines: dict[int, Engine] = {}
        self._lock = threading.Lock()
        self._stopped = False
        self.thread = threading.Thread(target=self._run, daemon=True)

    def stop(self) -> None:
        """Ends the game that is under way, and all processes."""
        with self._lock:
            self._stopped = True
            engines = list(self._engines.values())
        for engine in engines:
            engine.kill()

    def _run(self) -> None:
        try:
            while not self._stopped:
                index, side = self._jobs.get_nowait()
                self._done.put((index, side, self._play(index, side)))
        except queue.Empty:
            pass
        except BaseException as error:  # it is raised again where the match was asked for
            self._done.put(error)
        finally:
            with self._lock:
                engines = list(self._engines.values())
            for engine in engines:
                engine.close()

    def _play(self, index: int, side: int) -> PlayedGame:
        """One game; with `side` 1, `b` has seat 0."""
        moves: list[int] = []
        player = 0  # who moved last
        try:
            view = self._event.start(index)
            self._begin(index, side, view.seat)
            while not view.over:
                seat = view.seat
                player = seat ^ side
                action = self._choose(player, index, side, len(moves), view)
                if action == RESIGN:
                    return PlayedGame(float(seat), tuple(moves), resigned=player)
                moves.append(action)
                view = look(self._event.game, view.position, action)
                if not view.over:
                    self._ask(1 - player, lambda engine, s=seat, a=action: engine.told(s, a))
        except _Forfeit as forfeit:
            return PlayedGame(float(forfeit.player ^ side), tuple(moves), forfeit=(forfeit.player, forfeit.reason))
        verdicts = [self._verdict(i, (player ^ side, moves[-1]) if i != player else None) for i in range(2)]
        return PlayedGame((view.returns[0] + 1) / 2, tuple(moves), verdicts=(verdicts[0], verdicts[1]))

    def _begin(self, index: int, side: int, seat: int) -> None:
        """Every engine is there and has the opening on its board."""
        line = self._event.lines[index]
        # seats take turns in all games that engines play
        moves = [(seat ^ (len(line) - ply) & 1, action) for ply, action in enumerate(line)]
        for number, player in enumerate(self._event.players):
            if isinstance(player, External):
                with self._lock:
                    if number not in self._engines and not self._stopped:
                        self._engines[number] = player.open(self._event.game, self._event.limits)
                key = jax.random.fold_in(self._event.keys[index], 2 * number + side)
                self._ask(number, lambda engine, k=key: engine.draw_by(k))
                try:
                    self._ask(number, lambda engine: engine.begin(moves))
                except _Forfeit as forfeit:
                    if number in self._event.started:
                        raise
                    raise UsageError(  # no game of it says anything
                        f"{player.name} does not start ({forfeit.reason}); try its command alone, or give it more time "
                        "with --engine-start"
                    ) from None
                self._event.started.add(number)

    def _choose(self, number: int, index: int, side: int, length: int, view: View) -> int:
        """A legal move, or RESIGN."""
        player = self._event.players[number]
        if isinstance(player, Player):
            return self._event.think(player, index, side, length, view)

        def move(engine: Engine) -> int:
            action = engine.choose(view.seat)
            if action != RESIGN and not view.legal[action]:
                raise Fault(f"illegal move {self._event.game.action_name(action)}")
            return action

        return int(self._ask(number, move))

    def _ask(self, number: int, call: Callable[..., Any]) -> Any:
        """Asks the engine of a player, if there is one; after a fault its process is gone."""
        if not isinstance(self._event.players[number], External):
            return None
        with self._lock:
            engine = self._engines.get(number)
        if engine is None:
            raise _Forfeit(number, "its process was stopped")
        try:
            return call(engine)
        except Fault as fault:
            with self._lock:
                del self._engines[number]
            engine.kill()
            raise _Forfeit(number, str(fault)) from None

    def _verdict(self, number: int, last: tuple[int, int] | None) -> str:
        """What an engine says to the end of a game, after it was told the last move if that was not its own."""

        def say(engine: Engine) -> str:
            if last:
                engine.told(*last)
            return engine.verdict()

        try:
            return self._ask(number, say) or ""
        except _Forfeit:  # the game is over already
            return ""
