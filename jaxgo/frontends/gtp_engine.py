"""What the commands of the Go Text Protocol work on: a session, clocks, and the lines that have come."""

import queue
import threading
from collections.abc import Callable
from typing import Any

from jaxgo.core.game import Game
from jaxgo.core.play import View
from jaxgo.frontends import board as boards
from jaxgo.frontends.board import Board
from jaxgo.frontends.clock import Clock, freeze_garbage
from jaxgo.frontends.go_rules import long_enough
from jaxgo.frontends.lines import Teller
from jaxgo.frontends.session import Session
from jaxgo.frontends.thinking import Thinking
from jaxgo.records.record import GameRecord
from jaxgo.search.think import Limit

Write = Callable[[str], None]
INTERRUPT = "# interrupt"  # a comment that ends a search (GoGui)


class GtpEngine:
    """An engine with its board, its clocks, and the line that it reads."""

    def __init__(
        self,
        game: Game[Any],
        name: str,
        player: str,
        *,
        seconds: float = 0.0,
        resign: float = 0.0,
        ponders: bool = False,
        write: Write,
    ) -> None:
        self.seconds, self.resign, self.ponders = seconds, resign, ponders
        self.named = game  # as its user named it
        self.session = Session(long_enough(game, game), name)
        for seat in range(game.players):
            self.session.set_player(seat, player)
        self.clocks = [Clock() for _ in range(2)]
        self.over = False  # it was told to quit
        self.own: int | None = None  # the seat that it generated a move for
        self.played: set[int] = set()  # all those of this game
        self.beyond: list[View] = []  # ends of games at which it passed once more; `undo` takes each back
        self._pondering: Thinking | None = None
        self._write, self._writing = write, threading.Lock()
        self._input: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._ahead: list[str | None] = []  # lines that were looked at already
        # commands that came, that were begun, and that had come when the last interrupt did: it ends what these search
        self._came, self._begun, self._interrupted = 0, 0, 0
        self._warmed: Game[Any] | None = None
        self._tell = Teller()
        self.warm_up()

    @property
    def game(self) -> Game[Any]:
        return self.session.game

    # -- lines -------------------------------------------------------------------------------------------------
    def put_line(self, text: str | None) -> None:
        """A line has come, or, with None, the last one has; for the thread that reads."""
        if text is not None and text.strip().lower() == INTERRUPT:
            self._interrupted = self._came
            self.session.stop()
        else:
            self._came += 1
            self._input.put(text)

    def next_line(self) -> str | None:
        """Waits for a line."""
        line = self._ahead.pop() if self._ahead else self._input.get()
        self._begun += 1
        return line

    def searching(self, thinking: Thinking) -> Thinking:
        """The search that the command of this line has begun: ended where an interrupt came before it."""
        if self._begun <= self._interrupted:
            thinking.stop()
        return thinking

    def write(self, text: str) -> None:
        with self._writing:
            self._write(text)

    def wait_for_line(self, thinking: Thinking) -> None:
        """Returns when another line has come, which is kept, or when the search has failed."""
        while not self._ahead:
            try:
                self._ahead.append(self._input.get(timeout=0.05))
            except queue.Empty:
                if thinking.done() and thinking.future.exception() is not None:
                    return

    # -- the time of the other side ----------------------------------------------------------------------------
    def ponder(self) -> None:
        """Searches on behind its own last move, where nobody has anything to say; `rest` ends that."""
        board, seat = self.session.board, self.own
        if not self.ponders or seat is None or self.over or self._ahead or not self._input.empty():
            return
        if board.over or not board.actions or board.now.seat == seat or board.views[-2].seat != seat:
            return
        search = self.session.player_of(seat).search
        if search.budget > 0 and search.resumable:
            self._pondering = self.session.ponder(seat)

    def rest(self) -> None:
        """Ends the search on the other side's time; what it has found is kept."""
        if self._pondering is not None:
            self._pondering.stop()
            self._pondering = None

    # -- what commands share -----------------------------------------------------------------------------------
    def warm_up(self) -> None:
        """Compiles the player for the game as it is now, before a clock runs."""
        self.session.warm_up().result()
        if self._warmed != self.game:
            self._warmed = self.game
            freeze_garbage()
            self._tell(self.session.player_of(0))

    def change(self, game: Game[Any], *, keep: bool) -> None:
        """Goes over to another game, with the moves so far or without; a UsageError leaves everything as it was."""
        if game == self.game:
            if not keep:
                self.new_game()
            return
        self.put_board(boards.like(self.session.board, game) if keep else boards.begin(game))

    def new_game(self) -> None:
        """Starts the same game again."""
        self.beyond.clear()
        self.played.clear()
        self.session.new_game()

    def put_board(self, board: Board, source: GameRecord | None = None) -> None:
        """Goes on with another board, and the record that it is from; a UsageError if the player cannot play that."""
        self.session.check_players(board.game)
        self.beyond.clear()
        if source is not None or not board.actions:  # another game, and not this one with another komi
            self.played.clear()
        self.session.restore(board, source=source)

    def take_turn(self, seat: int) -> None:
        """Makes it the turn of a seat, see `boards.take_turn`."""
        board = self.session.board
        turned = boards.take_turn(board, seat)
        if turned is not board:
            self.session.restore(turned)

    def limit(self, seat: int) -> Limit:
        """How long to think: by the clock, and never more than the player itself, or its seconds for a move, would."""
        player = self.session.player_of(seat)
        budget = max(1, player.search.budget)
        points = self.game.shape[0] * self.game.shape[1]
        moves = int(0.75 * points - len(self.session.board.actions)) // 2
        seconds = self.clocks[seat].budget(moves)
        if seconds is None:
            return Limit(seconds=self.seconds) if self.seconds else Limit(simulations=budget)
        if seconds < 0.02:
            return Limit(simulations=1)
        return Limit(seconds=min(seconds, self.seconds)) if self.seconds else Limit(simulations=budget, seconds=seconds)
