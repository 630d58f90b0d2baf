"""What a preset is, and those of tic-tac-toe, Connect Four and of one GPU: each says for which machine and how long it
is, and what it reached.

One that was not trained to its end says so by an empty `reached`; figures come from docs/strength.md and results.md.
"""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

from jaxgo.games import find
from jaxgo.nets import Mlp, ResNet
from jaxgo.search import Gumbel
from jaxgo.selfplay import SelfplayConfig
from jaxgo.training.config import (
    Budget,
    JudgeConfig,
    LearnerConfig,
    ReplayConfig,
    TargetsConfig,
    TrainConfig,
)

CPU = "2 CPU cores, 4 GB"
ACCELERATORS = "GPUs or TPUs, 16 GB each"
GPU = "one GPU, 16 GB"  # with sizes for a few minutes, which do not grow with the devices


@dataclasses.dataclass(frozen=True)
class Preset:
    """A config with what one should know before starting it."""

    config: TrainConfig
    hardware: str
    memory: int  # GB of it, or of each device
    minutes: float  # that it trains; compiling and the last judgement come on top
    reached: str = ""  # what was measured at its end; empty: nobody has measured it yet
    init_from: str = ""  # weights that it begins with, in the words of --init-from

    @property
    def by_device(self) -> bool:
        """Whether its sizes are those of one device, and grow with the devices that a run begins on."""
        return self.hardware == ACCELERATORS

    def __post_init__(self) -> None:
        limited = dataclasses.replace(self.config, budget=Budget(seconds=60 * self.minutes))
        object.__setattr__(self, "config", limited)


def heads_of(name: str) -> tuple[str, ...]:
    """What there is to learn besides policy and value: values of the next plies, and the game's auxiliary targets."""
    return ("short", *(target.name for target in find(name).aux_targets()))


def head_weight_of(name: str) -> float:
    """How the end of a game looks is worth as much as its moves and its result; a number's loss is large by itself."""
    kinds = {target.kind for target in find(name).aux_targets()}
    return LearnerConfig.head_weight if not kinds else 0.5 if "number" in kinds else 1.0


def late(
    rate: float = 0.001, final: float = LearnerConfig.final, like: LearnerConfig = LearnerConfig(batch=256)
) -> LearnerConfig:
    """How weights that are good already learn on: at a rate that falls all the time."""
    return dataclasses.replace(like, ema=0.998, rate=rate, cooldown=1.0, final=final)


def _goes_on(
    before: Preset,
    weights: str,
    *,
    simulations: int,
    minutes: float,
    reached: str,
    rate_left: float = 0.05,
    final: tuple[str, ...] = (),
) -> Preset:
    """A preset once more, from its weights, with larger searches; `rate_left` is the share that its rate falls to."""
    config = before.config
    learner = late(final=rate_left, like=config.learner)
    judge = dataclasses.replace(config.judge, every=0.0, final=final or config.judge.final)
    search = dataclasses.replace(config.search, simulations=simulations)  # type: ignore[type-var]  # a Gumbel search
    config = dataclasses.replace(config, search=search, learner=learner, judge=judge)
    return dataclasses.replace(before, config=config, minutes=minutes, reached=reached, init_from=weights)


TICTACTOE = Preset(
    TrainConfig(
        game="tictactoe",
        net=Mlp(width=64, blocks=2),
        search=Gumbel(simulations=16, max_considered=4, min_value_range=1.0),
        selfplay=SelfplayConfig(games=128, steps=8, opening_plies=3),
        replay=ReplayConfig(capacity=2**15, start=2**11),
        learner=LearnerConfig(batch=256, warmup=20, ema=0.98),
        targets=TargetsConfig(heads=()),
        judge=JudgeConfig(every=0.0, past=0, final=("random",), final_pairs=16),
    ),
    hardware=CPU,
    memory=4,
    minutes=0.15,
    reached="no line of play wins against it, from either seat",
)

CONNECT4 = Preset(
    TrainConfig(
        game="connect4",
        # on a CPU dense layers judge and learn many times as fast as convolutions of the same strength
        net=Mlp(width=184, blocks=3, precision="bfloat16"),
        search=Gumbel(simulations=32, max_considered=7, min_value_range=1.0),
        # games that begin anywhere teach positions that good players never see, and how a game ends teaches more than
        # who wins it; matches do not show it, but benchmarks/oracle.py does
        selfplay=SelfplayConfig(games=256, steps=8, opening=0.9, opening_plies=12),
        targets=TargetsConfig(heads=heads_of("connect4")),
        replay=ReplayConfig(capacity=2**18, start=2**13),
        learner=LearnerConfig(batch=512, reuse=8.0, head_weight=head_weight_of("connect4")),
        judge=JudgeConfig(every=120.0, pairs=16, simulations=64, final_pairs=64),
    ),
    hardware=CPU,
    memory=4,
    minutes=8.0,
    reached="keeps the value of 93.7 to 95.2 % of positions from ply 2 on at 64 simulations, in five runs",
)

# the same for longer: unlike wider nets and other rates, time does help since the ends of games are learnt
CONNECT4_LONG = dataclasses.replace(
    CONNECT4,
    minutes=46.0,
    reached="keeps the value of 96.4 % of positions from ply 2 on at 64 simulations, 97.2 % at 400",
)

# what it has learnt by then it learns better from larger searches, at a rate that falls
CONNECT4_LATE = _goes_on(
    CONNECT4_LONG,
    "connect4-long-cpu",
    simulations=128,
    minutes=67.0,
    reached="keeps the value of 96.7 and 97.4 % of positions from ply 2 on at 64 simulations, 97.8 and 98.2 % "
    "at 400, by two draws",
    final=("random", "uct:100", "uct:400", "@connect4-long-cpu"),
)

# on a GPU convolutions are as fast as anything, and learn more from as many positions
CONNECT4_GPU = Preset(
    TrainConfig(
        game="connect4",
        net=ResNet(channels=64, blocks=5, precision="bfloat16"),
        search=Gumbel(simulations=64, max_considered=7, min_value_range=1.0),
        selfplay=SelfplayConfig(games=4096, steps=8, opening=0.9, opening_plies=12),
        targets=TargetsConfig(heads=heads_of("connect4")),
        replay=ReplayConfig(capacity=2**20, start=2**16),
        learner=LearnerConfig(batch=1024, reuse=6.0, ema=0.998, head_weight=head_weight_of("connect4")),
        judge=JudgeConfig(every=0.0, simulations=64, final_pairs=128),
    ),
    hardware=GPU,
    memory=16,
    minutes=2.5,
    reached="keeps the value of 97.7 % of positions from ply 2 on at 64 simulations, 98.8 % at 400",
)

CONNECT4_LATE_GPU = _goes_on(
    CONNECT4_GPU,
    "connect4-gpu",
    simulations=128,
    minutes=8.4,
    reached="keeps the value of 98.7 and 98.4 % of positions from ply 2 on at 64 simulations, 99.5 and 99.1 % "
    "at 400, by two draws",
    final=("random", "uct:100", "uct:400", "@connect4-gpu", "@connect4-late-cpu"),
)

# few games at once and small batches: weights of minutes must change often
GO9_GPU = Preset(
    TrainConfig(
        game="go9",
        net=ResNet(channels=64, blocks=6, precision="bfloat16"),
        search=Gumbel(simulations=32),
        selfplay=SelfplayConfig(games=2048, steps=16),
        targets=TargetsConfig(heads=heads_of("go9")),
        replay=ReplayConfig(capacity=2**20, start=2**16),
        learner=LearnerConfig(batch=1024, ema=0.998, head_weight=head_weight_of("go9"), cooldown=1.0),
        judge=JudgeConfig(every=0.0, simulations=64, final=("random", "@go9-deep-cpu"), final_pairs=128),
    ),
    hardware=GPU,
    memory=16,
    minutes=6.0,
    reached="75.5 % of 100 games against GNU Go at level 10 with 64 simulations, after 117 iterations on a busy H100",
)

GO9_LATE_GPU = _goes_on(
    GO9_GPU,
    "go9-gpu",
    simulations=64,
    rate_left=0.1,
    minutes=6.0,
    reached="98 % of 100 games against GNU Go at level 10 with 64 simulations, after 118 iterations on an H100",
)

# shapes are the same on a larger board
GO13_GPU = _goes_on(
    dataclasses.replace(
        GO9_LATE_GPU,
        config=dataclasses.replace(
            GO9_LATE_GPU.config,
            game="go13",
            # games are long: half as many at once, or those that are learnt from would be of the first weights alone
            selfplay=SelfplayConfig(games=1024, steps=16),
        ),
    ),
    "go9-late-gpu",
    simulations=64,
    rate_left=0.1,
    minutes=7.25,
    reached="all of 40 games against GNU Go at level 10 with 400 simulations, after 138 iterations on a busy H100",
    final=("random", "@go13-late-cpu"),
)


BY_HAND: Mapping[str, Preset] = MappingProxyType(
    {
        "tictactoe-cpu": TICTACTOE,
        "connect4-cpu": CONNECT4,
        "connect4-long-cpu": CONNECT4_LONG,
        "connect4-late-cpu": CONNECT4_LATE,
        "connect4-gpu": CONNECT4_GPU,
        "connect4-late-gpu": CONNECT4_LATE_GPU,
        "go9-gpu": GO9_GPU,
        "go9-late-gpu": GO9_LATE_GPU,
        "go13-gpu": GO13_GPU,
    }
)
