"""See `config`."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class LearnerConfig:
    """How the network learns."""

    batch: int = 512  # samples of one step, all devices together
    reuse: float = 4.0  # how often each sample is learnt from, on average
    rate: float = 2e-3
    warmup: int = 100  # steps until the full rate
    decay_steps: int = 0  # steps of a cosine down to `final`; 0: the rate stays
    final: float = 0.1  # of the rate, at the end of the cosine
    weight_decay: float = 1e-2
    clip: float = 1.0  # of the gradient's norm
    ema: float = 0.999  # of the weights to play with; an average over the last 1 / (1 - ema) steps
    value_weight: float = 1.0
    heads: tuple[str, ...] = ("short", "reply")  # besides policy and value; the game's own lessons by name
    head_weight: float = 0.15
    patience: int = 20  # broken steps in a row before the run stops
