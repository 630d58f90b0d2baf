"""KataGo's JSON analysis protocol, which KaTrain and other tools for reviewing games speak: an engine on lines.

Queries come as lines of JSON and wait in a queue, the most urgent first; one thread analyses position after position,
and each is answered by a line when it is done, with the `id` and the turn that it belongs to. What goes wrong with a
line is answered, too, and never ends the engine. What queries hold is in `analysis_query`.
"""

import functools
import heapq
import json
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

import jaxgo
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.frontends import board as boards
from jaxgo.frontends.analysis_answer import Answer
from jaxgo.frontends.analysis_query import FieldError, Query, parse, read
from jaxgo.frontends.board import Board
from jaxgo.frontends.compiled import make_room
from jaxgo.frontends.go_rules import long_enough
from jaxgo.frontends.lines import LONGEST, Teller
from jaxgo.frontends.session import Session
from jaxgo.frontends.thinking import ROOM_BYTES, Thinking, Thought, with_room
from jaxgo.games.go.rules import Go
from jaxgo.games.gtp_moves import move_name
from jaxgo.players import load_player
from jaxgo.search.think import Limit

ACTIONS = ("query_version", "query_models", "clear_cache", "terminate", "terminate_all")
MOST_WAITING = 10_000  # positions

Write = Callable[[str], None]


class Job(NamedTuple):
    """A position that waits; the smallest comes first."""

    urgency: int
    number: int
    query: Query
    turn: int
    board: Board


class AnalysisEngine:
    """The queue, the session that searches, and what is being searched. `run` ends it; `close` ends it sooner."""

    def __init__(self, game: Game[Any], name: str, player: str, write: Write) -> None:
        if game.players != 2:
            raise UsageError("this protocol is for games of two players")
        self.game, self.player = game, player
        self.session = Session(long_enough(game, game), name)
        for seat in range(2):
            self.session.set_player(seat, player)
        self.session.warm_up().result()
        self._tell = Teller()
        self._tell(self.session.player_of(0))
        self._write, self._writing = write, threading.Lock()
        self._changed = threading.Condition()
        self._waiting: list[Job] = []
        self._now: tuple[Job, Thinking] | None = None
        self._count, self._done = 0, False
        self._thread = threading.Thread(target=self._work, name="analysis", daemon=True)
        self._thread.start()

    def run(self, lines: Iterable[str]) -> None:
        """Answers until the lines end and all that waits is done."""
        for text in lines:
            self.take(text)
        self.finish()

    def finish(self, timeout: float | None = None) -> None:
        """Waits for what was asked for, and ends."""
        with self._changed:
            self._done = True
            self._changed.notify_all()
        self._thread.join(timeout)
        self.session.close(timeout=0.5)

    def close(self) -> None:
        """Ends, whatever waits."""
        self._stop(lambda job: True)
        self.finish(timeout=60.0)

    def say(self, told: dict[str, Any]) -> None:
        with self._writing:
            self._write(json.dumps(told, separators=(",", ":"), allow_nan=False) + "\n")

    # -- lines -------------------------------------------------------------------------------------------------
    def take(self, text: str) -> None:
        """Does what a line says; whatever it holds, the engine goes on."""
        if not text.strip():
            return
        about: dict[str, Any] = {}
        try:
            if len(text) > LONGEST:
                raise FieldError(f"a line has at most {LONGEST} characters")
            told = parse(text)
            if not isinstance(told.get("id"), str):
                raise FieldError('Request must have a string "id"')
            about = {"id": told["id"]}
            if "action" in told:
                self._act(told)
            else:
                self._ask(told)
        except UsageError as error:
            field = getattr(error, "field", "")
            self.say({"error": str(error), **({"field": field} if field else {}), **about})
        except BrokenPipeError:  # nobody reads any more
            raise
        except Exception as error:  # a fault of ours must not end the engine
            self.say({"error": f"internal error: {type(error).__name__}: {str(error)[:200]}", **about})

    def _act(self, told: dict[str, Any]) -> None:
        action = told["action"]
        if action == "query_version":
            self.say({**told, "version": jaxgo.__version__, "git_hash": "<omitted>"})
        elif action == "query_models":
            name = self.session.player_of(0).name
            model = {"name": name, "internalName": name, "maxBatchSize": 1, "usesHumanSLProfile": False}
            self.say({**told, "models": [model | {"version": 0, "usingFP16": "false"}]})
        elif action == "clear_cache":
            self.say(told)
        elif action in ("terminate", "terminate_all"):
            self._terminate(told, everything=action == "terminate_all")
        else:
            raise FieldError(f"action must be one of {', '.join(ACTIONS)}", "action")

    def _terminate(self, told: dict[str, Any], everything: bool) -> None:
        turns = told.get("turnNumbers")
        if turns is not None and not (isinstance(turns, list) and all(type(turn) is int for turn in turns)):
            raise FieldError("Must be a list of integers", "turnNumbers")
        if not everything and not isinstance(told.get("terminateId"), str):
            raise FieldError("Requests to terminate must have a string terminateId", "terminateId")
        self._stop(
            lambda job: (everything or job.query.id == told["terminateId"]) and (turns is None or job.turn in turns)
        )
        self.say(told)

    def _stop(self, chosen: Callable[[Job], bool]) -> None:
        with self._changed:
            gone = [job for job in self._waiting if chosen(job)]
            self._waiting = [job for job in self._waiting if not chosen(job)]
            heapq.heapify(self._waiting)
            if self._now is not None and chosen(self._now[0]):
                self._now[1].stop()
        for job in sorted(gone):
            self._say_nothing(job)

    def _say_nothing(self, job: Job) -> None:
        self.say({"id": job.query.id, "isDuringSearch": False, "noResults": True, "turnNumber": job.turn})

    def _ask(self, told: dict[str, Any]) -> None:
        query = read(told, self.game)
        for words, field in query.warnings:
            self.say({"warning": words, "field": field, "id": query.id})
        try:
            room = _room(self.player, query.game)
        except UsageError as error:
            raise FieldError(str(error), "boardXSize") from None
        if 0 < room < (query.visits or 0):
            words = f"the tree has room for {room} visits; start with an --agent of more simulations for a larger one"
            self.say({"warning": words, "field": "maxVisits", "id": query.id})
        make_room()
        found = positions(query)
        with self._changed:
            if len(self._waiting) + len(query.turns) > MOST_WAITING:
                raise FieldError(f"at most {MOST_WAITING} positions can wait")
            for turn, priority in zip(query.turns, query.priorities, strict=True):
                self._count += 1
                heapq.heappush(self._waiting, Job(-priority, self._count, query, turn, found[turn]))
            self._changed.notify_all()

    # -- work --------------------------------------------------------------------------------------------------
    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._done:
                    self._changed.wait()
                if not self._waiting:
                    return
                job = heapq.heappop(self._waiting)
                self._now = job, Thinking(0)  # until the search has begun, this hears of a stop
            try:
                self._analyse(job)
            except BrokenPipeError:
                return
            except Exception as error:  # whatever it is, the others are waited for, too
                words = str(error) if isinstance(error, UsageError) else f"internal error: {type(error).__name__}"
                self.say({"error": words, "id": job.query.id})
            finally:
                with self._changed:
                    self._now = None

    def _analyse(self, job: Job) -> None:
        query, board = job.query, job.board
        answer = Answer(query, job.turn, board)
        if board.over:
            self.say(answer.ended())
            return
        self.session.check_players(board.game)
        self.session.restore(board)
        self.session.warm_up().result()  # no clock counts what is compiled
        player = self.session.player_of(board.now.seat)
        self._tell(player)
        answer.foresee(player)
        due = time.monotonic() + query.every

        def show(thought: Thought) -> None:
            nonlocal due
            if time.monotonic() >= due:
                due = time.monotonic() + query.every
                self.say(answer.told(thought, during=True))

        budget = max(1, player.search.budget)
        limit = Limit(simulations=query.visits or budget, seconds=query.seconds)
        with self._changed:
            assert self._now is not None
            if self._now[1].stopped.is_set():
                gone = True
            else:
                gone, thinking = False, self.session.think(limit, None, show if query.every else None)
                self._now = job, thinking
        if gone:
            self._say_nothing(job)
        else:
            self.say(answer.told(thinking.result(), during=False))


@functools.lru_cache(maxsize=64)  # weights are not read anew for every query
def _room(player: str, game: Game[Any]) -> int:
    """How many visits the tree of a player has room for on a board; a UsageError where it cannot play there."""
    return with_room(load_player(player, game).search, game, ROOM_BYTES).nodes


def positions(query: Query) -> list[Board]:
    """The board of every turn. In Go a side that moves twice lets the other one pass."""
    game = query.game
    if isinstance(game, Go):
        cells = np.zeros(game.points, np.int8)
        for seat, point in query.stones:
            cells[point] = seat + 1
        try:
            board = boards.placed(game, cells, query.first)
        except UsageError as error:
            raise FieldError(str(error), "initialStones") from None
    else:
        board = boards.begin(game)
    out = [board]
    for number, (seat, action) in enumerate(query.moves):
        try:
            board = boards.take_turn(board, seat)
            board = board.play(board.read(action))
        except UsageError as error:
            raise FieldError(f"Illegal move {number}: {move_name(game, action)}: {error}", "moves") from None
        out.append(board)
    if query.first != out[0].now.seat:
        raise FieldError("the other player begins this game", "initialPlayer")
    return out
