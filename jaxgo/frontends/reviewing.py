"""A review of the game on a board, one position after another, for a session whose player is compiled already."""

from collections.abc import Callable

import jax
import numpy as np

from jaxgo.arena import review
from jaxgo.core.errors import UsageError
from jaxgo.frontends.board import Board
from jaxgo.frontends.thinking import Thought
from jaxgo.records.record import GameRecord


class Reviewing:
    """What is known of a game, which is that of a board with all that was taken back, and what is to be searched."""

    def __init__(self, board: Board, record: Callable[[Board], GameRecord]) -> None:
        """`record` tells who played the game on a board, and its moves since somebody put a position there by hand."""
        whole = board.whole
        if board.game.players != 2:
            raise UsageError("a puzzle is for one; jaxgo solve finds its shortest solution")
        self.record = record(whole)
        if not self.record.moves:
            raise UsageError("there are no moves to review; play some, or load a game")
        self.first = len(whole.actions) - len(self.record.moves)  # moves of the board before those of the record
        self._start, self._actions = whole.views[0], whole.actions
        self._views = whole.views[self.first :]
        self._thoughts: list[Thought] = []

    @property
    def total(self) -> int:
        """How many positions there are to search: only the last one may be over."""
        return sum(not view.over for view in self._views)

    @property
    def done(self) -> int:
        return len(self._thoughts)

    def still(self, board: Board) -> bool:
        """Whether this is a review of the game on the board, wherever somebody has walked to in it."""
        return board.views[0] is self._start and board.whole.actions == self._actions

    def next(self) -> Board | None:
        """The position to search next, as a board without a past: what was thought of the one before does not count."""
        return Board(self.record.game, (self._views[self.done],)) if self.done < self.total else None

    def add(self, thought: Thought) -> None:
        """What is thought of that position."""
        self._thoughts.append(thought)

    def result(self) -> review.Review:
        """The review, when all is searched."""
        views, thoughts = self._views, self._thoughts
        played = [self._played(thought, action) for thought, action in zip(thoughts, self.record.moves, strict=False)]
        played += [(False, 0.0)] * (self.total - len(played))  # behind the last move of a game that goes on
        line = review.Line(
            place="",
            record=self.record,
            skipped=0,
            positions=jax.tree.map(lambda *parts: np.stack(parts), *[view.position for view in views]),
            over=np.array([view.over for view in views]),
            gains=np.array([view.returns for view in views], np.float32),
        )
        found = review.Found(
            choice=np.array([thought.action for thought in thoughts], np.int32),
            worth=np.array([thought.value for thought in thoughts], np.float32),
            solved=np.array([thought.solved for thought in thoughts]),
            known=np.array([known for known, _ in played]),
            played=np.array([value for _, value in played], np.float32),
        )
        return review.judged(thoughts[0].decided_by, line, found)

    @staticmethod
    def _played(thought: Thought, action: int) -> tuple[bool, float]:
        """Whether the worth of the move that was played is proven, and that worth."""
        return next(((move.proven, move.value) for move in thought.moves if move.action == action), (False, 0.0))
