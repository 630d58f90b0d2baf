"""A game that is being played and thought about: the one object with a state behind every way in.

It never keeps its caller waiting for a search. Rules are answered at once, in the caller's thread; searches run one
after another in a thread of the session's own, on boards that do not change. A search of a position that is gone by
the time it answers harms nobody: every thought carries the number of its position.
"""

import dataclasses
import queue
import threading
from collections.abc import Callable
from typing import Any

from jaxgo.core import position_text
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.frontends import board as boards
from jaxgo.frontends.board import Board
from jaxgo.frontends.compiled import make_room
from jaxgo.frontends.thinking import ROOM_BYTES, Mind, OnSnapshot, Thinking, Thought
from jaxgo.players import BEST, Player, load_player
from jaxgo.records.record import GameRecord
from jaxgo.search.think import Limit
from jaxgo.system import aside, heap

ASIDE = -1  # the adviser's seat
ELSEWHERE = -1  # the number of a position that was not on the board
OnAnswer = Callable[[Thinking], None]
How = Callable[[Mind, Thinking, Board, Limit | None, OnSnapshot | None], Thought]  # other than `Mind.think`


class Session:
    """One board and its players. All methods may be called from any thread."""

    def __init__(self, game: Game[Any], name: str, *, room_bytes: int = ROOM_BYTES, points: bool = False) -> None:
        """Compiles the rules, which may take seconds; players are compiled in the session's own thread.

        With `points` thoughts tell whose each point will be, where a player's net has learnt that.
        """
        self.name = name
        self._seed, self._room_bytes, self._points = 0, room_bytes, points
        self._lock = threading.RLock()
        self._now = boards.begin(game), 0  # the board and its number: one value, so that no reader mixes two
        self._seats: list[Player | None] = [None] * game.players
        self._adviser: Player | None = None
        self._source: GameRecord | None = None  # of a file whose game is on the board
        self._minds: dict[int, Mind] = {}  # of each seat, and the adviser's
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._open: list[Thinking] = []
        self._state = "idle"
        self._thread: threading.Thread | None = None
        self._closed = False

    # -- the board ---------------------------------------------------------------------------------------------
    @property
    def game(self) -> Game[Any]:
        return self.board.game

    @property
    def board(self) -> Board:
        """The board as it is now; it will not change."""
        return self._now[0]

    @property
    def now(self) -> tuple[Board, int]:
        """The board and the number of its position, of one moment."""
        return self._now

    @property
    def number(self) -> int:
        """Of the position: another one whenever anything about the board changes."""
        return self._now[1]

    @property
    def text(self) -> str:
        """The position as text, which `setup` reads."""
        board = self.board
        record = boards.to_record(board, self.name)
        moves = [board.game.action_name(action) for action in record.moves]
        return position_text.write(board.game, board.now.position, moves, record.start)

    def legal(self) -> list[tuple[int, str]]:
        board = self.board
        return [(action, board.game.action_name(action)) for action in board.legal()]

    def play(self, move: int | str) -> int:
        """Plays a move, and returns its action; an illegal one is a UsageError and changes nothing."""
        with self._lock:
            action = self.board.read(move)
            self._put(self.board.play(action))
            return action

    def undo(self, count: int = 1) -> None:
        with self._lock:
            self._put(self.board.undo(count))

    def redo(self, count: int = 1) -> None:
        with self._lock:
            self._put(self.board.redo(count))

    def resign(self, seat: int) -> None:
        with self._lock:
            self._put(self.board.resign(seat))

    def new_game(self, game: Game[Any] | None = None, name: str | None = None) -> None:
        """Starts again; with another game the players change over to it, or leave where they cannot play it."""
        with self._lock:
            game = self.game if game is None else game
            self._seed += 1  # puzzles are drawn anew
            self._source = None
            if game != self.game:
                fresh = boards.begin(game, seed=self._seed)
                self._change_over(game)
                self.name = name or self.name
                self._put(fresh)
            else:
                self._put(boards.begin(game, seed=self._seed))

    def setup(self, text: str) -> None:
        """Starts from a position: a drawing such as `X.O/.X./..O 0`, or `start`, and moves from there."""
        with self._lock:
            board, self._source = boards.from_text(self.game, text), None
            self._put(board)

    def restore(self, board: Board, name: str | None = None, source: GameRecord | None = None) -> None:
        """Goes on with a whole game, which another game is called by `name`.

        Where the board is from a file, `source` is what the file tells of it; else the last file keeps its say, on the
        very moves that it tells of.
        """
        with self._lock:
            self._source = source or self._source
            if board.game != self.game:
                self._change_over(board.game)
                self.name = name or self.name
            self._put(board)

    def record(self, board: Board | None = None) -> GameRecord:
        """The game so far, as files tell it; or that of another `board`, such as this one with all that was taken
        back."""
        board = self.board if board is None else board
        names = tuple(player.name if player else "human" for player in self._seats)
        record, source = boards.to_record(board, self.name, names), self._source
        if source is None or (source.game, source.start, source.moves) != (record.game, record.start, record.moves):
            return record
        if board.resigned is not None and record.returns != source.returns:  # somebody gave it up here
            return record
        # nobody has played on: the file tells who played it, and how it ended where it tells that
        told = source if source.returns or not record.returns else record
        return dataclasses.replace(
            record,
            players=source.players or names,
            returns=told.returns,
            verdict=told.verdict,
            reason=told.reason,
            comments=source.comments,
        )

    # -- players -----------------------------------------------------------------------------------------------
    @property
    def seats(self) -> list[Player | None]:
        """Who plays each seat; None is a human."""
        return list(self._seats)

    def check_players(self, game: Game[Any]) -> None:
        """A UsageError where somebody who sits here cannot change over to a game."""
        if game != self.game:
            for player in filter(None, self.seats):
                _another(player, game)

    @property
    def state(self) -> str:
        """`idle`, `warming up` (compiling, before any clock starts) or `thinking`."""
        return self._state

    def set_player(self, seat: int, player: str | Player | None, *, warm: bool = True) -> Thinking | None:
        """Gives a seat to a player (a spec is read), or to a human; a player is warmed up in the background.

        Without `warm` that is left to `warm_up`, or to the first time that it thinks.
        """
        with self._lock:
            if not 0 <= seat < len(self._seats):
                raise UsageError(f"there is no seat {seat}; seats are {', '.join(map(str, range(len(self._seats))))}")
            found = load_player(player, self.game) if isinstance(player, str) else player
            self._seats[seat] = found
            if found is None:
                return None
            if warm:
                return self._warm_up(seat, found)
            self._mind(seat, found)
            return None

    def set_adviser(self, player: str | Player) -> Thinking:
        """Who gives hints and analyses for seats of humans."""
        with self._lock:
            self._adviser = load_player(player, self.game) if isinstance(player, str) else player
            return self._warm_up(ASIDE, self._adviser)

    def warm_up(self) -> Thinking:
        """Compiles whatever players here still need; its answer comes when all are ready."""
        with self._lock:
            minds, board, thinking = list(self._minds.values()), self.board, Thinking(self.number)

        def work() -> None:
            for mind in filter(self._wants, minds):
                self._warm(mind, board)

        self._submit(thinking, work)
        return thinking

    def prepare(self, aside: bool = False) -> Thinking | None:
        """Compiles whoever thinks next, or with `aside` who gives hints; None where there is nothing to wait for."""
        with self._lock:
            seat, player = (ASIDE, self._advising()) if aside else self._thinks_for(self.board.now.seat)
            if (self._mind(seat, player).ready or self.board.over) and not self._open:
                return None
            return self._warm_up(seat, player)

    def player_of(self, seat: int) -> Player:
        """Who thinks for a seat: its player, or the adviser, or a player like that of another seat, if it looks ahead
        and plays as well as it can, or the best."""
        return self._thinks_for(seat)[1]

    def _thinks_for(self, seat: int) -> tuple[int, Player]:
        """That player, and under which number its mind is kept: its seat's, or where a human sits that of hints."""
        with self._lock:
            player = self._seats[seat]
            return (ASIDE, self._advising()) if player is None else (seat, player)

    def _advising(self) -> Player:
        others = (player for player in self._seats if player and player.search.budget and not player.temperature)
        found = self._adviser or next(others, None)
        if found is None:
            found = self._adviser = load_player(BEST, self.game)
        return found

    # -- thinking ----------------------------------------------------------------------------------------------
    def think(
        self,
        limit: Limit | None = None,
        seat: int | None = None,
        on_snapshot: OnSnapshot | None = None,
        on_answer: OnAnswer | None = None,
        *,
        detail: bool = True,
        board: Board | None = None,
        how: How | None = None,
    ) -> Thinking:
        """Asks a player for a move, up to a limit (None: the player's own simulations); nothing is played.

        `seat` says whose player thinks, if not that of the seat to move. Without `detail` moves carry no lines.
        `on_answer` is called in the session's thread, however soon the answer is there. A `board` of this game may be
        searched instead of the one that is played on, and `how` it is searched may be another way than the player's
        own.
        """
        return self._ask(limit, seat, on_snapshot, detail, own_budget=True, on_answer=on_answer, board=board, how=how)

    def genmove(
        self, limit: Limit | None = None, on_snapshot: OnSnapshot | None = None, on_answer: OnAnswer | None = None
    ) -> Thinking:
        """The same, and plays the move, unless the position is another by then or the search was dropped."""

        def play(thinking: Thinking, thought: Thought) -> None:
            with self._lock:
                if thought.number == self.number and not thinking.dropped:
                    self.play(thought.action)

        return self._ask(limit, None, on_snapshot, True, own_budget=True, after=play, on_answer=on_answer)

    def analyse(
        self,
        limit: Limit | None = None,
        on_snapshot: OnSnapshot | None = None,
        on_answer: OnAnswer | None = None,
        *,
        board: Board | None = None,
        how: How | None = None,
    ) -> Thinking:
        """Searches the position, or that of another `board`, until it is stopped, or up to a limit, and tells what it
        sees meanwhile."""
        return self._ask(limit, None, on_snapshot, True, own_budget=False, on_answer=on_answer, board=board, how=how)

    def ponder(self, seat: int) -> Thinking:
        """The player of a seat searches on while another one is to move, until it is stopped, or has no room left.

        Its tree is kept: when its seat is to move again, it goes on from there.
        """
        return self._ask(None, seat, None, False, own_budget=False)

    def consider(self, board: Board, limit: Limit | None = None, on_answer: OnAnswer | None = None) -> Thinking:
        """Searches a position of this game that need not be the one on the board, as who gives hints sees it."""
        with self._lock:
            player = self._advising()
            mind = self._mind(ASIDE, player)
        return self._search(mind, board, ELSEWHERE, limit or _own(player), on_answer=on_answer)

    def stop(self) -> None:
        """Ends all searches that were asked for."""
        with self._lock:
            for thinking in self._open:
                thinking.stop()

    def close(self, timeout: float | None = None) -> None:
        """Ends all searches, and waits for the thread to end; compiling cannot be cut short."""
        with self._lock:
            self._closed = True
            self.stop()
            thread = self._thread
            self._jobs.put(None)
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)

    # -- inside ------------------------------------------------------------------------------------------------
    def _put(self, board: Board) -> None:
        self._now = board, self.number + 1
        self.stop()

    def _change_over(self, game: Game[Any]) -> None:
        old = self._seats
        self._minds = {}
        make_room()
        self._seats = [_try(player, game) for player in (*old, None)[: game.players]]
        self._adviser = _try(self._adviser, game)
        start = boards.begin(game, seed=self._seed)
        for seat, player in [*enumerate(self._seats), (ASIDE, self._adviser)]:
            if player is not None:
                self._warm_up(seat, player, start)

    def _mind(self, seat: int, player: Player) -> Mind:
        known = self._minds.get(seat)
        if known is None or known.player is not player:
            known = self._minds[seat] = Mind(player, self._room_bytes, self._points)
        return known

    def _warm_up(self, seat: int, player: Player, board: Board | None = None) -> Thinking:
        mind, thinking = self._mind(seat, player), Thinking(self.number)
        board = board or self.board

        def work() -> None:
            if self._wants(mind):
                self._warm(mind, board)

        self._submit(thinking, work)
        return thinking

    def _wants(self, mind: Mind) -> bool:
        """Whether a player still sits here; who has left meanwhile need not be compiled."""
        with self._lock:
            return not self._closed and any(mind is one for one in self._minds.values())

    def _warm(self, mind: Mind, board: Board) -> None:
        if not mind.ready:
            self._state = "warming up"
            mind.warm(board if not board.over else boards.begin(board.game, seed=self._seed))
            heap.give_back()  # what the compiler took, which is more than what it made

    def _ask(
        self,
        limit: Limit | None,
        seat: int | None,
        on_snapshot: OnSnapshot | None,
        detail: bool,
        own_budget: bool,
        after: Callable[[Thinking, Thought], None] | None = None,
        on_answer: OnAnswer | None = None,
        board: Board | None = None,
        how: How | None = None,
    ) -> Thinking:
        with self._lock:
            board, number = self._now if board is None else (board, ELSEWHERE)
            if board.over:
                raise UsageError("the game is over; take a move back or start another game")
            seat, player = self._thinks_for(board.now.seat if seat is None else seat)
            mind = self._mind(seat, player)
            if limit is None and (own_budget or player.search.budget == 0):
                limit = _own(player)
        return self._search(mind, board, number, limit, on_snapshot, detail, after, on_answer, how)

    def _search(
        self,
        mind: Mind,
        board: Board,
        number: int,
        limit: Limit | None,
        on_snapshot: OnSnapshot | None = None,
        detail: bool = False,
        after: Callable[[Thinking, Thought], None] | None = None,
        on_answer: OnAnswer | None = None,
        how: How | None = None,
    ) -> Thinking:
        thinking = Thinking(number)

        def work() -> Thought:
            self._warm(mind, board)
            self._state = "thinking"
            if how is None:
                thought = mind.think(thinking, board, limit, on_snapshot, detail)
            else:
                thought = how(mind, thinking, board, limit, on_snapshot)
            if after is not None:
                after(thinking, thought)
            return thought

        if on_answer is not None:
            thinking.future.add_done_callback(lambda _: on_answer(thinking))
        self._submit(thinking, work)
        return thinking

    def _submit(self, thinking: Thinking, work: Callable[[], Any]) -> None:
        def job() -> None:
            answer, fault = None, None
            try:
                answer = work()
            except BaseException as error:  # whoever waits for the answer gets it
                fault = error
            with self._lock:  # before the answer: who has it must not see a search that is over
                self._open.remove(thinking)
                self._state = "idle"
            if fault is not None:
                thinking.future.set_exception(fault)
            else:
                thinking.future.set_result(answer)

        with self._lock:
            if self._closed:
                raise UsageError("this session is closed; open another one")
            self._open.append(thinking)
            self._jobs.put(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="search", daemon=True)
                self._thread.start()
                aside.leave_alone(self._thread)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


def _own(player: Player) -> Limit:
    """The simulations that are in a player's name."""
    return Limit(simulations=max(1, player.search.budget))


def _another(player: Player, game: Game[Any]) -> Player:
    """The player at another game; a UsageError where it cannot play that."""
    return load_player(player.asked or player.name, game)


def _try(player: Player | None, game: Game[Any]) -> Player | None:
    try:
        return _another(player, game) if player else None
    except UsageError:
        return None
