"""What a visitor's games of one kind came to: who won how often, and the games that can still be saved."""

from collections.abc import Callable
from typing import Any

from jaxgo.core.errors import UsageError
from jaxgo.frontends.board import Board, Ending
from jaxgo.records.record import GameRecord

SIDES = ("first", "second")  # what the page calls the seats
KEPT = 100  # games that a visitor can still save


Kept = tuple[dict[str, Any], ...]


class Score:
    """A game counts once: who walks through it, or puts one up that is over, has not played it."""

    def __init__(self) -> None:
        self.rows: dict[str, list[int]] = {}  # by player: won, drawn, lost
        self.kept: Kept = ()
        self._given: Ending | None = None  # of a game that was put up: nobody has played it here
        self._counted: frozenset[Ending | None] = frozenset()  # those that are known, or must not count

    def begin(self, board: Board, kept: Kept, given: bool) -> None:
        """Another game: a new one, or one that is `given` whole; and the games that are kept from before."""
        self.kept = kept
        self._given = board.whole.ending if given else None
        self._counted = frozenset({self._given})

    def look(self, board: Board) -> bool:
        """Somebody has walked to this position of the game; whether it is the end of one that was put up."""
        self._counted |= {board.ending}
        return board.ending == self._given

    def record(self, number: int, current: GameRecord) -> tuple[GameRecord, int]:
        """The record of a game that is kept, or below 0 the `current` one, and the number in the name of its file."""
        if number >= len(self.kept):
            raise UsageError(f"game {number} is not among the {len(self.kept)} that are kept")
        records = [game["record"] for game in self.kept]
        if number < 0:  # a file of its own, unless it is among them
            return current, (records.index(current) if current in records else len(records)) + 1
        return records[number], number + 1

    def end(self, board: Board, players: list[str], record: Callable[[], GameRecord]) -> None:
        """A game is over: it counts, unless it is known. `record` tells how files tell it."""
        result = board.result(SIDES)
        if result is None or board.ending in self._counted:
            return
        self._counted |= {board.ending}
        rows = {name: list(row) for name, row in self.rows.items()}
        same = len(set(players)) < len(players)  # both seats in one row would win and lose every game
        for seat, name in enumerate(f"{name} ({SIDES[seat]})" if same else name for seat, name in enumerate(players)):
            gain = result.returns[seat]
            rows.setdefault(name, [0, 0, 0])[0 if gain > 0 else 2 if gain < 0 else 1] += 1
        self.rows = rows
        self.kept = self._with(board, players, result.text, record())

    def with_left(self, board: Board, players: list[str], record: Callable[[Board], GameRecord]) -> Kept:
        """The games that are kept when one that somebody has played at is left; `board` is the whole of it."""
        if not board.moves or board.over or board.ending == self._given:
            return self.kept
        return self._with(board, players, "unfinished", record(board))

    def _with(self, board: Board, players: list[str], result: str, record: GameRecord) -> Kept:
        game = {"players": players, "result": result, "moves": len(board.actions), "record": record}
        return (*self.kept, game)[-KEPT:]
