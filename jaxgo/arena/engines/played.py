"""What came of games with engines, and what went wrong in them."""

import dataclasses
from typing import NamedTuple

from jaxgo.records.record import winner

SAID = {1.0: "B", 0.0: "W", 0.5: "a draw"}


@dataclasses.dataclass(frozen=True)
class PlayedGame:
    """How one game went. Players are 0 (`a`) and 1 (`b`)."""

    result: float  # of seat 0: 1 won, 0.5 drawn, 0 lost
    moves: tuple[int, ...]  # since the opening
    forfeit: tuple[int, str] | None = None  # the player that lost by a fault, and which
    resigned: int | None = None  # the player that gave up
    verdicts: tuple[str, str] = ("", "")  # who has won and by how much, as each player sees it; "" where it did not say

    def disputes(self) -> list[int]:
        """The players that see another winner."""
        gain = 2 * self.result - 1
        return [i for i, said in enumerate(self.verdicts) if (seen := winner(said)) is not None and seen[0] != gain]


class PlayedPair(NamedTuple):
    """Two games of one opening."""

    number: int  # of the opening, among those that were asked for
    games: tuple[PlayedGame, PlayedGame]  # `a` has seat 0 in the first

    def problems(self) -> list[str]:
        """How games ended that did not end on the board, and what went wrong, in words for the record."""
        out = []
        for number, game in enumerate(self.games, 1):
            if game.forfeit:
                out.append(f"game {number}: {'ab'[game.forfeit[0]]} forfeits, {game.forfeit[1]}")
            if game.resigned is not None:
                out.append(f"game {number}: {'ab'[game.resigned]} resigned")
            for player in game.disputes():
                said = game.verdicts[player]
                out.append(f"game {number}: {'ab'[player]} counts {said}, and the rules here {SAID[game.result]}")
        return out
