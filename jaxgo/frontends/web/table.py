"""One visitor's game: a session, who plays and for how long, the score, and what the page is told of all that.

A request changes the session at once; searches answer later, from their own threads, and a table then goes on by
itself: the next player thinks, or the next game of a loop begins. Whatever is wrong with a request is told in one
sentence and changes nothing.
"""

import copy
import functools
import logging
import random
import threading
from collections.abc import Callable, Sequence
from typing import Any

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.words import write_settings, write_value
from jaxgo.frontends import board as boards
from jaxgo.frontends.reviewing import Reviewing
from jaxgo.frontends.session import Session
from jaxgo.frontends.thinking import Thinking, Thought
from jaxgo.frontends.web import drawing, offers, protocol, told
from jaxgo.frontends.web.rounds import Rounds
from jaxgo.frontends.web.score import Kept, Score
from jaxgo.frontends.web.shared import Shared
from jaxgo.frontends.web.status import StatusLine
from jaxgo.games.names import name_of, read_game
from jaxgo.players import BEST, Player
from jaxgo.records.record import GameRecord
from jaxgo.search.think import Limit

HUMAN = "you"
LOG = logging.getLogger(__name__)
Tell = Callable[[dict[str, Any]], None]


class Table:
    """A visitor's board. Requests may come from any thread, one at a time; `tell` must be callable from all."""

    def __init__(self, shared: Shared, tell: Tell, name: str, options: dict[str, str] | None = None) -> None:
        self.shared, self._tell = shared, tell
        self._lock = threading.RLock()
        self.name, self.options = name, dict(options or {})
        self._own = name  # what the server was started with: it may be a game of one's own
        self.session = Session(read_game(name, write_settings(self.options)), name, points=True)
        self._limit: Limit | None = None
        self._paused, self._analysing = False, False
        self._review: Reviewing | None = None
        self._rounds = Rounds()
        self._score = Score()
        self._line = StatusLine(self._status, tell)
        self._closed = False
        self._warm = False  # whether lines of moves are compiled for this game

    # -- requests ----------------------------------------------------------------------------------------------
    def open(self) -> None:
        """Tells a new page everything; somebody sits at the other side of the board."""
        with self._lock:
            self._offer()
            self._tell_board()
            self._changed()
            self.session.warm_up()  # when the page has all that it needs

    def handle(self, request: protocol.Request) -> None:
        """Does what the page asks; a UsageError where it cannot be done. Any other exception changes nothing either.

        What a handler refuses, it refuses before it changes anything: a player's move may come meanwhile, and stays.
        """
        with self._lock:
            put_back = self._remember()
            try:
                HANDLERS[type(request)](self, request)
            except UsageError:
                raise
            except Exception:
                put_back()
                raise
            finally:
                self._line.came()

    def _remember(self) -> Callable[[], None]:
        """What makes the table again as it is now; the page is told where it has seen another one."""
        names = ("name", "options", "_limit", "_paused", "_analysing", "_review")
        before = {name: getattr(self, name) for name in names}
        score, rounds, session = copy.copy(self._score), copy.copy(self._rounds), self.session
        board, seats, number, called = session.board, session.seats, session.number, session.name

        def put_back() -> None:
            vars(self).update(before, _score=score, _rounds=rounds)
            other = session.game != board.game
            if session.board is not board:
                session.restore(board, called)
            for seat, player in enumerate(seats):
                if session.seats[seat] is not player:
                    session.set_player(seat, player)
            if other:
                self._tell_board()
            if session.number != number:
                self._changed()

        return put_back

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._rounds.wait_no_more()
        self.shared.searches.forget(self)
        self.session.close()

    def tick(self) -> None:
        """Looks whether the state of the search has another name by now."""
        session, waits = self.session, self.shared.searches.waits(self)
        # nothing here may wait for a lock: the server's loop calls it
        self._line.look(session.state, session.number, waits, self._paused, self._machine())

    # -- the game ----------------------------------------------------------------------------------------------
    def _asked(self, request: protocol.New | protocol.Setup) -> tuple[Game[Any], str, dict[str, str]]:
        """The game that a request is about, its name and its options: those that are here, if it says nothing."""
        name, options = self.name, self.options
        if request.game or request.options:
            name, options = offers.check_game(request.game or name, self._own), dict(request.options)
        if (name, options) == (self.name, self.options):
            return self.session.game, name, options
        self._line.coming(f"setting up {name}")
        return offers.check_length(read_game(name, write_settings(options))), name, options

    def _do_new(self, request: protocol.New) -> None:
        (game, name, options), kept = self._asked(request), self._with_this()
        if (name, options) != (self.name, self.options):
            self._quiet()
            met = any(self._players()) or self.session.game.players == 1  # of a puzzle they had left
            unchosen = any(player.asked == BEST for player in self.session.seats if player)
            self.session.new_game(game, name)
            self.name, self.options = name, options
            self._score, self._analysing = Score(), False
            if unchosen or (met and not any(self._players())):  # or who was there does not play this game
                self._offer()
            self._tell_board()
        else:
            self.session.new_game()
        self._fresh(kept)
        self.session.warm_up()

    def _with_this(self) -> Kept:
        """The games that are kept, and the one on the board as far as it was played: another one takes its place."""
        return self._score.with_left(self.session.board.whole, self._names(), self.session.record)

    def _offer(self) -> None:
        """Somebody to play against; beside a run nobody computes before it is asked."""
        game = self.session.game
        if game.players != 2 or self.shared.run is not None:
            return
        for spec in self.shared.players(self.name, game):
            try:
                return self._sit([None, offers.unchosen(self.shared.seated(spec, game))], warm=False)
            except UsageError:  # its folder has been removed since the server began: the next one
                LOG.warning("%s cannot sit down", spec)

    def _fresh(self, kept: Kept, paused: bool = False) -> None:
        """A game has begun, or was put up."""
        self._line.came()
        self._score.begin(self.session.board, kept, given=paused)
        self._paused = paused
        self._rounds.wait_no_more()
        self._changed()

    def _do_play(self, request: protocol.Play) -> None:
        if request.number != self.session.number:
            raise UsageError("the board has changed since; look again and choose your move")
        seats = self.session.seats
        if seats[self.session.board.now.seat] is not None and not self._paused:
            raise UsageError("it is not your turn; take a seat, or wait")
        self.session.play(request.name if request.action is None else request.action)
        self._paused = False
        self._changed()

    def _stale(self, request: protocol.Undo | protocol.Redo) -> bool:
        """Whether moves are counted from a position that is gone, as by the second click of two."""
        return request.number is not None and request.number != self.session.number

    def _do_undo(self, request: protocol.Undo) -> None:
        if self._stale(request):
            return
        humans = [seat for seat, player in enumerate(self.session.seats) if player is None]
        count = request.count or self.session.board.back_to(humans)
        self.session.undo(count)
        self._rounds.wait_no_more()  # the next game would take this one's place
        self._paused = bool(request.count) or self._machine() is not None
        self._changed()

    def _do_redo(self, request: protocol.Redo) -> None:
        if self._stale(request):
            return
        self.session.redo(min(request.count, len(self.session.board.undone)) or 1)
        board = self.session.board
        given = self._score.look(board)
        self._paused = given or not board.over
        self._changed()

    def _do_resign(self, request: protocol.Resign) -> None:
        seats, seat = self.session.seats, self.session.board.now.seat
        if seats[seat] is not None and None in seats:
            seat = seats.index(None)
        self.session.resign(seat)
        self._paused = False
        self._changed()

    def _do_setup(self, request: protocol.Setup) -> None:
        (game, name, options), kept = self._asked(request), self._with_this()
        board = boards.walked(game, request.text, request.actions, request.resigned, request.undo)
        players = self._load_all(request.players, game, name) if request.players else None
        source = offers.read_record(request.source, self._own) if request.source else None
        self._put_up(board, name, options, source)
        if players is not None:
            self._sit(players)
        self._fresh(kept, paused=bool(request.text or request.actions) or request.resigned is not None)

    def _put_up(
        self, board: boards.Board, name: str, options: dict[str, str], source: GameRecord | None = None
    ) -> None:
        """Another board, which may be of another game, and the record that it is from."""
        if board.game != self.session.game:
            self._score, self._analysing = Score(), False
        self._quiet()
        self.session.restore(board, name, source)
        self.name, self.options = name, options
        self._tell_board()

    # -- who plays ---------------------------------------------------------------------------------------------
    def _do_seats(self, request: protocol.Seats) -> None:
        wanted = self._load_all([spec or "" for spec in request.players], self.session.game, self.name)
        change = zip(request.players, self.session.seats, wanted, strict=True)
        self._reseat([here if spec is None else player for spec, here, player in change])

    def _reseat(self, players: Sequence[Player | None]) -> None:
        self._sit(players)
        self._paused = False
        self._changed()

    def _load_all(self, specs: list[str], game: Game[Any], name: str) -> list[Player | None]:
        """A player for each seat of a game; a UsageError where one of them cannot sit there."""
        if len(specs) != game.players:
            raise UsageError(f"{name} has {game.players} seats, not {len(specs)}")
        return [self.shared.seated(spec, game) for spec in specs]

    def _sit(self, players: Sequence[Player | None], warm: bool = True) -> None:
        """Gives each seat to a player, or to a human."""
        for seat, player in enumerate(players):
            if self.session.seats[seat] is not player:
                self.session.set_player(seat, player, warm=warm)

    def _do_swap(self, request: protocol.Swap) -> None:
        self._reseat(self.session.seats[::-1])

    def _do_draw(self, request: protocol.Draw) -> None:
        players = self.session.seats
        self._reseat(random.sample(players, len(players)))

    def _do_budget(self, request: protocol.Budget) -> None:
        given = request.seconds > 0 or request.simulations > 0
        self._limit = Limit(request.simulations or None, request.seconds or None) if given else None
        self._tell_position()

    def _players(self) -> list[str]:
        return [player.name if player else "" for player in self.session.seats]

    def _names(self) -> list[str]:
        return [name or HUMAN for name in self._players()]

    def _machine(self) -> str | None:
        """The player to move, if it is one."""
        shown, seats = self.session.board, dict(enumerate(self.session.seats))
        # without a lock: while another game is put up, the seats may be its own already, and fewer
        player = None if shown.over else seats.get(shown.now.seat)
        return player.name if player else None

    # -- thinking ----------------------------------------------------------------------------------------------
    def _do_go(self, request: protocol.Go) -> None:
        self._paused = False
        self._changed()

    def _do_hint(self, request: protocol.Hint) -> None:
        if self._plays():
            raise UsageError("it is not your turn; a hint is for who is to move")
        if self._analysing or self._review:
            self.shared.searches.forget(self)  # what goes on when the hint is there
            self._tell_position()  # should it be a player who has just moved
        self._ask(self.session.think, self._limit, hint=True)

    def _do_analyse(self, request: protocol.Analyse) -> None:
        self._analysing = request.on
        if self._plays():  # its move goes on, and an analysis begins behind it
            self._tell_position()
        else:
            self._changed()

    def _do_review(self, request: protocol.Review) -> None:
        if self._plays():
            raise UsageError("a player is about to move; a review is for a game that is over, or paused")
        self._review = Reviewing(self.session.board, self.session.record)
        self._changed()

    def _do_stop(self, request: protocol.Stop) -> None:
        self._review = None
        if self.session.state == "idle" or self.shared.searches.waits(self):  # nothing runs that could answer
            self._paused, self._rounds.on, self._analysing = True, False, False
            self._quiet()
        else:
            self._analysing = self._analysing and self._plays()
            self.shared.searches.stop(self)
        self._tell_position()

    def _quiet(self) -> None:
        self.shared.searches.forget(self)
        self.session.stop()

    def _changed(self) -> None:
        """The board or the players are others: tells it, and lets whoever is next think."""
        self.shared.searches.forget(self)
        shown = self.session.board
        if shown.over:
            self._score.end(shown, self._names(), self.session.record)
            self._wait()
        self._tell_position()
        if self._review and not self._review.still(shown):
            self._review = None
        if self._closed:
            return
        if self._plays():
            self._ask(self.session.genmove, self._limit)
        else:
            self._look_on()

    def _look_on(self) -> None:
        """What is searched while nobody is about to move: a review, and then an analysis."""
        if self._review:
            self._look_back(self._review)
        elif self._analysing and not self.session.board.over:
            self._ask(self.session.analyse, Limit(seconds=protocol.MOST_SECONDS))

    def _plays(self) -> bool:
        """Whether a machine is about to move."""
        return self._machine() is not None and not self._paused

    def _look_back(self, review: Reviewing) -> None:
        """Searches the next position of a review, or tells what came of it. Each is a search of its own, so that other
        visitors have their turns between them."""
        board = review.next()
        if board is None:
            self._review = None
            self._tell(told.review(review))
            return self._look_on()
        self._tell(told.progress(review))
        search = functools.partial(self.session.consider, board)
        self._begin(search, self._limit, aside=True, on_answer=functools.partial(self._looked_back, review))

    def _looked_back(self, review: Reviewing, thinking: Thinking) -> None:
        with self._lock:
            if self._review is review and (thought := self._heard(thinking)):
                review.add(thought)
                if not self.shared.searches.asks(self):
                    self._look_back(review)

    def _ask(self, search: Callable[..., Thinking], limit: Limit | None, hint: bool = False) -> None:
        self._begin(search, limit, on_snapshot=self._tell_thought, on_answer=functools.partial(self._answered, hint))

    def _begin(self, search: Callable[..., Thinking], limit: Limit | None, aside: bool = False, **told_to: Any) -> None:
        number = self.session.number

        def begin() -> Thinking | None:
            if self._closed or number != self.session.number:
                return None
            try:  # another visitor's thread may be at this, with the lock of that table: no answer may come there
                return search(limit, **told_to)
            except UsageError as error:
                self._tell({"tell": "error", "text": str(error)})
                return None

        try:
            preparing = self.session.prepare(aside)
        except UsageError as error:  # who gives hints is read when he is needed
            return self._tell({"tell": "error", "text": str(error)})
        self.shared.searches.ask(self, begin, None if preparing is None else preparing.future)

    def _heard(self, thinking: Thinking) -> Thought | None:
        """What a search has found; None where nobody waits for it, or it failed, which is told."""
        error = thinking.future.exception()
        words = str(error)
        if error is not None and not isinstance(error, UsageError):
            LOG.error("a search failed", exc_info=error)
            words = "the search failed; see the server's log"
        if self._closed or thinking.dropped:
            return None
        if error is None:
            found: Thought = thinking.result()
            return found
        self._tell({"tell": "error", "text": words})
        self._paused, self._review = True, None
        self._tell_position()
        return None

    def _answered(self, hint: bool, thinking: Thinking) -> None:
        """A search is over: what it found is told, and the game goes on where a move was played, or what was searched
        before where that was ended for a hint or for others."""
        with self._lock:
            thought = self._heard(thinking)
            if thought is None:
                return
            self._tell_thought(thought, hint)
            if thought.number + 1 == self.session.number and not hint:
                self._changed()
            elif thought.number == self.session.number and not self._plays():
                cut = thinking.stopped.is_set()  # for others: who stops his own unticks it
                if (hint or cut) and not self.shared.searches.asks(self):
                    self._look_on()

    # -- one game after another --------------------------------------------------------------------------------
    def _do_loop(self, request: protocol.Loop) -> None:
        begins = request.on and not self._rounds.on and self.session.board.over and not self._paused
        self._rounds.on, self._rounds.delay = request.on, request.delay
        if begins:
            self._again()
        else:
            self._wait()
            self._tell_position()

    def _wait(self) -> None:
        """The next game of a loop begins after the pause, if this one has ended and nobody only looks at it."""
        if self._rounds.on and self.session.board.over and not self._paused:
            self._rounds.wait(self._go_on)
        else:
            self._rounds.wait_no_more()

    def _go_on(self) -> None:
        """The pause is over, unless a request that this had to wait for has ended it."""
        with self._lock:
            if self._rounds.due:
                self._again()

    def _again(self) -> None:
        """The next game of a loop, with the sides changed."""
        self._sit(self.session.seats[::-1])
        self.session.new_game()
        self._fresh(self._score.kept)

    # -- records -----------------------------------------------------------------------------------------------
    def _do_save(self, request: protocol.Save) -> None:
        self._tell(told.file(*self._score.record(request.game, self.session.record()), request.kind))

    def _do_load(self, request: protocol.Load) -> None:
        self._line.coming("setting up the game of the file")
        record = offers.read_record(request.text, self._own)
        name, options = name_of(record.game)
        board, kept = boards.of_record(record), self._with_this()
        self._put_up(board, name, {key: write_value(value) for key, value in options.items()}, record)
        self._fresh(kept, paused=True)

    # -- what the page is told ---------------------------------------------------------------------------------
    def _tell_board(self) -> None:
        self._warm = False
        shown = self.session.board
        self._tell(told.board(shown, self.name, self.options, self.shared.players(self.name, shown.game)))

    def _tell_position(self) -> None:
        shown, number = self.session.now
        said = self._line.now()
        limit = {name: self._limit and getattr(self._limit, name) for name in ("seconds", "simulations")}
        table = {
            "players": self._players(),
            "limit": limit,
            "paused": self._paused,
            "analysing": self._analysing,
            "reviewing": self._review is not None,
            "loop": {"on": self._rounds.on, "delay": self._rounds.delay},
            "score": [[name, *row] for name, row in self._score.rows.items()],
            "kept": [{k: v for k, v in game.items() if k != "record"} for game in self._score.kept],
            "status": said,
        }
        self._tell(told.position(shown, number) | table)
        self._line.told(said)  # behind it: a look meanwhile may have told newer words
        if not self._warm and not shown.over:  # before a search is shown, which would wait for this to compile
            self._warm = True
            drawing.ghosts(shown, [shown.game.action_name(shown.legal()[0])])

    def _status(self) -> str:
        session, waits = self.session, self.shared.searches.waits(self)
        return told.status(session.board, session.state, self._machine(), waits, self._paused)

    def _tell_thought(self, thought: Thought, hint: bool = False) -> None:
        self._tell(told.thought(*self.session.now, thought, hint))


HANDLERS: dict[type[Any], Callable[[Table, Any], None]] = {
    kind: getattr(Table, f"_do_{word}") for word, kind in protocol.KINDS.items()
}
