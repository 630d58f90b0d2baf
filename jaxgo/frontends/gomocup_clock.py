"""What a move of Gomocup may take: a limit for the move, one for the match, and what the manager says is left."""

import dataclasses
from collections import deque

TURN = 5.0  # seconds of a move where nobody says
ENDLESS = 2**31 / 1000 - 1  # seconds; managers write the largest number for no limit
LAG, PART = 0.05, 0.12  # seconds, and a part of the time, that are kept back
WAY = 0.02  # seconds of an answer on its way, where a machine is so busy that thoughts end late
MEMORY = 8  # moves whose lateness is remembered
LEAST = 0.1  # the part of a turn that is used however late thoughts end
FEW, MANY = 12, 40  # moves that a match may still need


@dataclasses.dataclass
class MatchClock:
    """In seconds; a limit of 0 for the match is none."""

    turn: float = TURN
    match: float = 0.0
    left: float | None = None
    late: deque[float] = dataclasses.field(default_factory=lambda: deque(maxlen=MEMORY))  # by how much thoughts were

    def told(self, key: str, seconds: float) -> None:
        """A word of the manager."""
        if key == "timeout_turn":
            self.turn = seconds
        elif key == "timeout_match":
            self.match = seconds
            self.left = seconds or None
        else:
            self.left = None if seconds >= ENDLESS else seconds

    def new_game(self) -> None:
        self.left = self.match or None

    def spend(self, seconds: float, budget: float) -> None:
        """A move took so long, where so much was planned: a busy machine is given more room from now on."""
        self.late.append(max(0.0, seconds - budget))
        if self.left is not None:
            self.left = max(0.0, self.left - seconds)

    def budget(self, plies: int, points: int) -> float:
        """Seconds for the next move; 0 is a move at once."""
        turn = self.turn
        if self.left is not None:
            moves = max(FEW, min(MANY, points // 4) - plies // 2)
            turn = min(turn, self.left / moves)
        usual = turn - max(LAG, PART * turn)
        return max(0.0, min(usual, max(LEAST * turn, turn - WAY - max(self.late, default=0.0))))
