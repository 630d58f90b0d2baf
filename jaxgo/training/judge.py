"""How strong has it become? Matches against past checkpoints and plain agents, rated together."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class JudgeConfig:
    """When and against whom a run measures itself. Ratings never decide what is learnt."""

    every: float = 120.0  # seconds between two judgements; 0: only at the end
    pairs: int = 32  # games from the same opening, both seats, against each opponent
    simulations: int = 0  # of the learner's search; 0: as in self-play
    opponents: tuple[str, ...] = ("random", "uct:100")  # agents to stand beside the checkpoints
    past: int = 1  # how many earlier checkpoints of the run to meet
    final: tuple[str, ...] = ("random", "uct:100", "uct:400")  # opponents of the last judgement
    final_pairs: int = 64
