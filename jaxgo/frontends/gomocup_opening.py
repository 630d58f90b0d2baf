"""The opening by swap2: three stones that are even, and who wants which colour."""

import abc
import random
from collections.abc import Sequence

from jaxgo.core.errors import UsageError
from jaxgo.frontends.board import Board
from jaxgo.frontends.session import Session
from jaxgo.frontends.thinking import Thought
from jaxgo.games.gomoku.rules import Gomoku

EVEN = 0.1  # values up to here are nobody's advantage
# black, white, black near an edge, where the first stones weigh little: columns and rows from a corner
FIRST = (((1, 2), (3, 1), (6, 1)), ((0, 3), (2, 2), (1, 6)), ((2, 1), (2, 3), (7, 0)), ((4, 0), (3, 2), (0, 5)))


class Opener(abc.ABC):
    """What an opening asks of the brain that plays it."""

    game: Gomoku

    @property
    @abc.abstractmethod
    def table(self) -> Session:
        """The session that plays now: another than before, once other rules are taken over."""

    @abc.abstractmethod
    def restore(self, board: Board) -> None:
        """Puts a board on the table, by the rules that are played there now."""

    @abc.abstractmethod
    def name_of(self, action: int) -> str:
        """How the protocol writes a point."""

    @abc.abstractmethod
    def played(self, line: Sequence[int]) -> Board:
        """The board after these moves."""

    @abc.abstractmethod
    def think(self, share: float = 1.0) -> Thought:
        """A thought within a share of the time of a move."""


def answer_swap2(brain: Opener, stones: Sequence[int]) -> str:
    """What the protocol wants to hear: three stones; or SWAP, the next stone, or two stones for the other to choose.

    After three and after five stones White is to move, so a stone means to stay with White, and SWAP to take Black.
    """
    if len(set(stones)) < len(stones):
        raise UsageError("two stones stand on one point")
    if not stones:
        return _first_three(brain)
    if len(stones) not in (3, 5):
        raise UsageError(f"SWAP2BOARD has 0, 3 or 5 stones, not {len(stones)}")
    before = brain.table.board
    try:
        board = brain.played(stones)
        if board.over:
            raise UsageError("the game is over on this board")
        brain.restore(board)
        thought = brain.think(share=1.0 if len(stones) == 5 else 0.5)
        if len(stones) == 5 or abs(thought.value) > EVEN:
            return brain.name_of(thought.action) if thought.value >= 0 else "SWAP"
        brain.table.play(thought.action)
        if brain.table.board.over:
            return brain.name_of(thought.action)
        moves = brain.think(share=0.95).moves
        tried = [move for move in moves if move.visits] or moves[:1]
        level = min(tried, key=lambda move: (abs(move.value), -move.visits))
        return f"{brain.name_of(thought.action)} {brain.name_of(level.action)}"
    finally:
        brain.restore(before)


def _first_three(brain: Opener) -> str:
    size, draw = brain.game.size, random.Random()
    right, down = draw.random() < 0.5, draw.random() < 0.5
    names = []
    for x, y in draw.choice(FIRST):
        x, y = min(x, size - 1), min(y, size - 1)
        names.append(f"{size - 1 - x if right else x},{size - 1 - y if down else y}")
    if len(set(names)) < 3:  # a board of five
        return "0,0 2,1 4,4"
    return " ".join(names)
