"""The game on the table, on the host: what was played, what may be played, what came of it; undo and redo.

A `Board` never changes: a move makes another. So one thread can look at a board while another one plays on.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Int32

from jaxgo.core import play, position_text
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.play import NOTHING, Position, View, look
from jaxgo.core.replay import score, some_legal
from jaxgo.games.go.rules import Go
from jaxgo.records.record import GameRecord

RESIGNED = "resigned"
SEATS = ("seat 0", "seat 1")
Ending = tuple[tuple[int, ...], int | None]  # the moves, and who gave up


class Result(NamedTuple):
    """How a game ended."""

    returns: tuple[float, ...]
    reason: str
    text: str


@dataclasses.dataclass(frozen=True)
class Board:
    """A game with its past, and what was taken back of it."""

    game: Game[Any]
    views: tuple[View, ...]  # of all positions so far, the start first
    actions: tuple[int, ...] = ()  # that led from each to the next; NOTHING: it was arranged by hand
    undone: tuple[tuple[int, View], ...] = ()  # the last one taken back comes last
    resigned: int | None = None  # the seat that gave up
    resigns: int | None = None  # the seat that gave up behind what was taken back

    @property
    def now(self) -> View:
        return self.views[-1]

    @property
    def over(self) -> bool:
        return self.now.over or self.resigned is not None

    @property
    def whole(self) -> "Board":
        """The board at the end of the game, with all that was taken back."""
        return self.redo(len(self.undone)) if self.undone else self

    @property
    def ending(self) -> Ending:
        """What tells an end of the game from the one that it had before moves were taken back."""
        return self.actions, self.resigned

    @property
    def moves(self) -> list[str]:
        """The names of the moves so far."""
        return [self.game.action_name(action) for action in self.actions if action != NOTHING]

    def legal(self) -> list[int]:
        """The actions that may be played."""
        return np.flatnonzero(self._mask()).tolist()

    def _mask(self) -> np.ndarray:
        return np.zeros_like(self.now.legal) if self.over else self.now.legal

    def named(self, name: str) -> list[int]:
        """The legal actions that are called so now, see `Game.named`."""
        return self.game.named(name, self.now.cells, self._mask())

    def read(self, move: int | str) -> int:
        """The action of a move that is legal now; a UsageError names others where it is not."""
        found = self.named(move) if isinstance(move, str) else [move] if move in self.legal() else []
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(f"{move!r} may be any of {', '.join(map(self._name, found))}; say which")
        called = move if isinstance(move, str) else self._name(move)
        raise UsageError(f"{called!r} is not legal; legal moves are: {some_legal(self.game, self._mask())}")

    def play(self, action: int) -> "Board":
        """The board after a legal action. What was taken back is kept only where the move is the same again."""
        undone = self.undone[:-1] if self.undone and self.undone[-1][0] == action else ()
        return self._with(action, look(self.game, self.now.position, action), undone)

    def arrange(self, position: Position) -> "Board":
        """The board with another position on it, which undo takes off again."""
        return self._with(NOTHING, look(self.game, position), ())

    def undo(self, count: int = 1) -> "Board":
        """The board so many moves before, where nobody has given up yet; 0 takes back a resignation alone."""
        if count > len(self.actions):
            raise UsageError(f"cannot take back {_moves(count)}; {_moves(len(self.actions))} can be")
        if count < 1:
            return self if self.resigned is None else dataclasses.replace(self, resigned=None)
        back = tuple(zip(self.actions[-count:], self.views[-count:], strict=True))[::-1]
        resigns = self.resigns if self.resigned is None else self.resigned
        return Board(self.game, self.views[:-count], self.actions[:-count], self.undone + back, resigns=resigns)

    def back_to(self, seats: Sequence[int]) -> int:
        """How many moves back one of these seats was to move last; 1 where none was, and 0 where somebody gave up."""
        if self.resigned is not None:
            return 0
        before = (count for count in range(1, len(self.views)) if self.views[-1 - count].seat in seats)
        return next(before, 1)

    def redo(self, count: int = 1) -> "Board":
        if count > len(self.undone):
            raise UsageError(f"cannot play {_moves(count)} again; {_moves(len(self.undone))} can be")
        board = self
        for _ in range(count):
            action, view = board.undone[-1]
            board = board._with(action, view, board.undone[:-1])
        return board if board.undone else dataclasses.replace(board, resigned=self.resigns)

    def resign(self, seat: int) -> "Board":
        if self.over:
            raise UsageError("the game is over; start another one")
        if self.game.players < 2:
            raise UsageError("nobody can resign in a game of one player")
        return dataclasses.replace(self, resigned=seat, undone=(), resigns=None)  # the game ends here

    def result(self, seats: tuple[str, str] = SEATS) -> Result | None:
        """How the game ended, in words that call the seats so; None while it goes on."""
        if self.resigned is not None:
            returns = tuple(-1.0 if seat == self.resigned else 1.0 for seat in range(2))
            return Result(returns, RESIGNED, f"{seats[1 - self.resigned]} wins: {seats[self.resigned]} resigned")
        if not self.now.over:
            return None
        reason = self._reason()
        if self.game.players == 1:
            return Result(self.now.returns, reason, "solved" if self.now.returns[0] >= 1 else f"not solved: {reason}")
        return Result(self.now.returns, reason, f"{_said(self.now.returns, seats)}{self._score()}: {reason}")

    def _with(self, action: int, view: View, undone: tuple[tuple[int, View], ...]) -> "Board":
        resigns = self.resigns if undone else None  # who plays on has not given up
        return Board(self.game, (*self.views, view), (*self.actions, action), undone, resigns=resigns)

    def _name(self, action: int) -> str:
        return self.game.action_name(action) if 0 <= action < self.game.num_actions else str(action)

    def _reason(self) -> str:
        state, history = self.now.position
        if self.game.repetition not in ("none", "forbidden") and int(history.verdict):
            return "the position came back"
        counted = isinstance(self.game, Go)
        if int(state.ply) >= self.game.max_plies and (counted or max(self.now.returns) <= 0):  # the last move may win
            return "no more moves are allowed"
        if counted:
            return "both passed"
        if self.game.players == 1 and self.now.returns[0] <= 0:
            return "no move is left"
        return "by the rules"

    def _score(self) -> str:
        said = go_score(self.game, self.now) if isinstance(self.game, Go) else score(self.game, self.now.position.state)
        return f" ({said})" if said else ""


def begin(game: Game[Any], position: Position | None = None, seed: int = 0) -> Board:
    """A board at the start of a game, or at a position."""
    return Board(game, (look(game, play.begin(game, seed) if position is None else position),))


def placed(game: Game[Any], cells: np.ndarray, seat: int) -> Board:
    """A board that begins with these pieces; a UsageError where they cannot stand so."""
    return begin(game, play.put(game, game.place(cells, seat)))


def of_record(record: GameRecord) -> Board:
    """The board at the end of a game from a file; a UsageError names the first move that is not legal."""
    board = from_text(record.game, record.start or position_text.START)
    for number, action in enumerate(record.moves, 1):
        try:
            board = board.play(board.read(action))
        except UsageError as error:
            raise UsageError(f"{record.place(number)}, {error}") from None
    gave_up = record.verdict.strip().upper().endswith(("+R", "+RESIGN")) or record.reason == RESIGNED
    gains = record.returns or (0.0, 0.0)
    if gave_up and not board.over and (len(gains) == 1 or gains[0] != gains[1]):  # who gives up loses: that is no draw
        # of a puzzle [-1] is the only player, whom `resign` refuses
        board = board.resign(int(gains[0] > gains[-1]))
    return board


def to_record(board: Board, name: str, players: tuple[str, ...] = ()) -> GameRecord:
    """The game on the board, since a position was last put there by hand. Turns that were taken in Go are passes."""
    board = _with_passes(board)
    first = max((ply for ply, action in enumerate(board.actions, 1) if action == NOTHING), default=0)
    result, verdict = board.result(), ""
    if result is not None and board.resigned is not None:
        verdict = f"{'WB'[board.resigned]}+R"
    elif result is not None and isinstance(board.game, Go):
        verdict = go_score(board.game, board.now)
    return GameRecord(
        game=board.game,
        name=name,
        moves=board.actions[first:],
        start=start_text(board.game, board.views[first]),
        players=players,
        returns=result.returns if result else None,
        verdict=verdict,
        reason=result.reason if result else "",
    )


def start_text(game: Game[Any], view: View) -> str:
    """Where a game began, as text; nothing where that is the game's usual start."""
    state, usual = view.position.state, play.begin(game).state
    drawn, looks = position_text.drawn(game, view.cells.tolist(), view.seat), position_text.drawing(game, usual)
    # a drawn board may look like the usual start and be another one: where openings are chosen, nothing is chosen there
    return "" if drawn == looks and play.alike(game, state, usual) else game.write_position(state) or drawn


def like(board: Board, game: Game[Any]) -> Board:
    """The same moves by other rules; a UsageError where they do not allow them."""
    record = to_record(board, "")
    again = of_record(dataclasses.replace(record, game=game))
    return dataclasses.replace(again, actions=board.actions[len(board.actions) - len(record.moves) :])


def _with_passes(board: Board) -> Board:
    """The board with a pass for every turn that was taken (see `take_turn`), where no other pass followed."""
    game = board.game
    if not isinstance(game, Go):
        return board
    actions = list(board.actions)
    for number, (before, after, then) in enumerate(zip(board.views, board.views[1:], actions[1:], strict=False)):
        follows = int(after.position.state.ply) == int(before.position.state.ply) + 1  # else it was put there anew
        same = follows and np.array_equal(before.cells, after.cells)
        if actions[number] == NOTHING and same and then != game.points:
            actions[number] = game.points
    return dataclasses.replace(board, actions=tuple(actions))


def from_text(game: Game[Any], text: str) -> Board:
    """The board that a text tells of, its moves played."""
    position, moves = position_text.read(game, text)
    board = begin(game, position)
    for number, move in enumerate(moves, 1):
        try:
            board = board.play(board.read(move))
        except UsageError as error:
            raise UsageError(f"move {number}: {error}") from None
    return board


def walked(game: Game[Any], text: str, actions: Sequence[int], resigned: int | None, undo: int) -> Board:
    """The board that a text tells of, or the usual one; moves are played, a seat gives up, and moves are taken back."""
    board = from_text(game, text) if text else begin(game)
    for action in actions:
        board = board.play(board.read(action))
    if resigned is not None:
        board = board.resign(resigned)
    return board.undo(undo) if undo else board


def take_turn(board: Board, seat: int) -> Board:
    """Makes it the turn of a seat. In Go the other one leaves its turn, or the board goes on where the game had ended.

    So it does in every game that somebody gave up: that was no move. A turn that is left is no pass either, which the
    next pass would end the game behind.
    """
    game = board.game
    if board.now.over and not isinstance(game, Go):
        raise UsageError("the game is over")
    board = board.undo(0)
    if board.now.seat == seat and not board.over:
        return board
    if not isinstance(game, Go):
        raise UsageError(f"it is the turn of {'bw'[board.now.seat]}")
    passed = look(game, board.now.position, game.points)
    if passed.over:
        return board.arrange(play.put(game, game.place(board.now.cells, seat)))
    state, history = passed.position
    return board.arrange(Position(state._replace(recent=state.recent.at[0].set(-1)), history))


def go_score(game: Go, view: View) -> str:
    """Black's area less White's and komi, as `B+3.5`, `W+0.5` or `0`."""
    lead = int(_go_score(game, view.position.state)) - game.komi
    return "0" if lead == 0 else f"{'B' if lead > 0 else 'W'}+{abs(lead):g}"


@functools.partial(jax.jit, static_argnums=0)
def _go_score(game: Go, state: Any) -> Int32[Array, ""]:
    return game.score(state)


def _said(returns: tuple[float, ...], seats: tuple[str, str]) -> str:
    if returns[0] == returns[1]:
        return "a draw"
    return f"{seats[returns[1] > returns[0]]} wins"


def _moves(count: int) -> str:
    return "1 move" if count == 1 else f"{count} moves"
