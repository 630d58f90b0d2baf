"""Thoughts of players about a board: what is asked for, what comes back, and the tree that a player keeps meanwhile.

A `Mind` is used by one thread, that of the session; everything else here is a value.
"""

import contextlib
import dataclasses
import math
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import jax
import numpy as np

from jaxgo.core.game import Game, state_bytes
from jaxgo.core.lanes import alone
from jaxgo.core.play import look
from jaxgo.evaluators.endings import OWNERSHIP, knows
from jaxgo.frontends.board import Board
from jaxgo.players import Player
from jaxgo.search import analysis
from jaxgo.search.base import Search
from jaxgo.search.think import Limit, Snapshot, Thinker
from jaxgo.ui import heat

CHUNK_SECONDS = 0.08  # between looks at the clock and at the stop flag
ROOM_BYTES = 2**26  # of a tree, where the player's own simulations need no more
MOST_NODES = 2**16
MOST_BYTES = 2**31
SHOW_EVERY = 0.1  # seconds between snapshots, or more where they are dear
SHORT = 0.3  # seconds of a thought that is over before a large tree is cut to what is left of it
CHUNKS = 5  # of a thought with a clock, at least: so that one on a machine that gets busy ends little late
SHARE = 5  # a snapshot may take one part in so many of the time


@dataclasses.dataclass(frozen=True)
class Thought:
    """What a player thinks of the position `number`; the last one of a search is its answer."""

    number: int  # of the position, see `Session.number`
    seat: int  # that moves there, and that values are for
    action: int
    name: str
    value: float
    solved: bool  # the value is exact
    moves: list[analysis.Move]
    variation: tuple[str, ...]
    simulations: int
    seconds: float
    decided_by: str
    final: bool
    depth: int | None = None  # plies that were searched whole, of searches that deepen
    ends: int = 0  # plies to the end of a game that is proven to be won or lost, where that is known
    others: tuple["Thought", ...] = ()  # further lines, the best first, of a search that was asked for several
    owned: tuple[float, ...] = ()  # whose each point will be, 1 seat 0's and -1 seat 1's, where that is asked and known


OnSnapshot = Callable[[Thought], None]


class Thinking:
    """A search that was asked for: wait for its answer, or end it early."""

    def __init__(self, number: int) -> None:
        self.number = number  # of the position
        self.began = math.inf  # when it began to think: before, its player may have to be compiled
        self.stopped = threading.Event()
        self.dropped = False  # nobody wants its answer any more
        self.future: Future[Any] = Future()

    def stop(self) -> None:
        """Ends the search soon; it answers with what it has found."""
        self.stopped.set()

    def drop(self) -> None:
        """Ends the search soon; nothing is played, as its position or its player is another one by now."""
        self.dropped = True
        self.stop()

    def done(self) -> bool:
        return self.future.done()

    def result(self, timeout: float | None = None) -> Any:
        """The answer, a `Thought`; waits for it."""
        return self.future.result(timeout)


class Mind:
    """A player at work on one session's boards: keeps its tree from move to move while the game just goes on."""

    def __init__(self, player: Player, room_bytes: int = ROOM_BYTES, points: bool = False) -> None:
        """With `points` its thoughts tell whose each point will be, where its net has learnt that."""
        self.player = player
        self._points = points and knows(player.model.game, OWNERSHIP)
        # who draws moves plays another game each time
        seed = secrets.randbits(31) if player.temperature > 0 else 0
        self._thinker = Thinker(
            with_room(player.search, player.model.game, room_bytes),
            player.model,
            player.params,
            jax.random.key(seed),
            player.temperature,
            CHUNK_SECONDS,
        )
        self._board: Board | None = None  # where its tree stands
        self.ready = False  # compiled

    def warm(self, board: Board) -> None:
        """Compiles all that a game needs, and takes the speed: no clock runs yet."""
        thinker, game, view = self._thinker, board.game, board.now
        thinker.begin(alone(view.position))
        thinker.warm(None)
        told = thinker.think(Limit(simulations=2 * max(1, thinker.search.parallel_leaves)))
        analysis.table(told.result, game.action_name, thinker.tree, lines=thinker.lines)
        look(game, view.position, int(np.flatnonzero(view.legal)[0]))
        self._owned(board)
        self._board, self.ready = None, True

    def think(
        self, job: Thinking, board: Board, limit: Limit | None, on_snapshot: OnSnapshot | None, detail: bool
    ) -> Thought:
        """Searches a live position until the limit, or until it is stopped."""
        job.began = time.monotonic()
        short = limit is not None and limit.seconds is not None and limit.seconds < SHORT
        self._take_up(board, keep=not short)
        few = ((limit and limit.seconds) or math.inf) / CHUNKS
        self._thinker.chunk_seconds = min(CHUNK_SECONDS, few)
        began = time.monotonic()
        due, owned = 0.0, self._owned(board) if detail else ()
        snapshot: Snapshot | None = None
        search: Any = self._thinker.watch(limit)
        with contextlib.closing(search) as watching:
            for snapshot in watching:
                if job.stopped.is_set():
                    break
                now = time.monotonic()
                if on_snapshot and now - began >= due:
                    on_snapshot(self._thought(job, board, snapshot, detail, owned, final=False))
                    cost = time.monotonic() - now
                    due = time.monotonic() - began + max(SHOW_EVERY, SHARE * cost)
        if snapshot is None:
            raise AssertionError("a search without a chunk")
        return self._thought(job, board, snapshot, detail, owned, final=True)

    def _owned(self, board: Board) -> tuple[float, ...]:
        owned = heat.learnt(self.player, alone(board.now.position.state)) if self._points else None
        return () if owned is None else tuple(owned.tolist())

    def _take_up(self, board: Board, keep: bool) -> None:
        """The thinker stands at this board: by following the game where it went on from where it stood."""
        known, thinker = self._board, self._thinker
        self._board = None  # should something go wrong
        goes_on = known is not None and _goes_on(known, board)
        if known is None or not goes_on or not (keep or len(known.actions) == len(board.actions)):
            thinker.begin(alone(board.now.position))
        else:
            for ply in range(len(known.actions), len(board.actions)):
                action = np.array([board.actions[ply]], np.int32)
                thinker.follow(action, alone(board.views[ply + 1].position))
        self._board = board

    def _thought(
        self, job: Thinking, board: Board, snapshot: Snapshot, detail: bool, owned: tuple[float, ...], final: bool
    ) -> Thought:
        result, name = snapshot.result, board.game.action_name
        tree, lines = (self._thinker.tree, self._thinker.lines) if detail else (None, None)
        moves = analysis.table(result, name, tree, lines=lines)
        best = moves[0]
        return Thought(
            number=job.number,
            seat=board.now.seat,
            action=best.action,
            name=best.name,
            value=float(result.worth[0]),
            solved=bool(result.solved[0]),
            moves=moves,
            variation=best.variation,
            simulations=int(snapshot.simulations[0]),
            seconds=snapshot.seconds,
            decided_by=self.player.name,
            final=final,
            depth=_first(result.depth),
            ends=_first(result.ends) or 0,
            owned=owned,
        )


def with_room(search: Search, game: Game[Any], room_bytes: int) -> Search:
    """The search with a tree of one fixed size: growing would compile, while a clock runs."""
    if search.nodes != 0:
        return search
    node = state_bytes(game) + 8 * game.num_actions + 64
    room = min(room_bytes // node, MOST_NODES)
    wanted = max(room, 2 * search.budget + 2, 64)  # a kept tree and a whole search, whatever it takes
    fixed: Any = search
    return dataclasses.replace(fixed, nodes=min(wanted, max(64, MOST_BYTES // node)))


def _first(numbers: Any) -> int | None:
    """That of the only game; None where nobody knows."""
    return None if numbers is None else int(numbers[0])


def _goes_on(known: Board, board: Board) -> bool:
    """Whether a game only went on by moves; a position that is the same object was not arranged anew."""
    plies = len(known.actions)
    same = len(board.actions) >= plies and board.views[plies] is known.now
    return same and all(action >= 0 for action in board.actions[plies:])
