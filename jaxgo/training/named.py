"""The presets that have a name of their own: each says for which machine and how long it is, and what it reached.

One that was not trained to its end says so by an empty `reached`; figures come from docs/strength.md and results.md.
"""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from jaxgo.core.game import Game
from jaxgo.games import find
from jaxgo.nets import Mlp, Net, ResNet
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
GIB = 2**30
LONG = 30.0  # minutes of a run that looks at itself on its way


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


def _late(
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
    learner = _late(final=rate_left, like=config.learner)
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
        net=Mlp(width=184, blocks=3),
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
    reached="keeps the value of 95.1 % of positions from ply 2 on at 64 simulations, after 1,635 iterations",
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


def _halved(count: int, size: int, most: int) -> int:
    """As many things of this size, or half as many and so on, as fit into so many bytes."""
    while count * size > most:
        count //= 2
    return count


def _sample_size(game: Game[Any]) -> int:
    """About how many bytes a sample takes."""
    return 2 * game.num_actions + 6 * game.shape[0] * game.shape[1] + 64


@dataclasses.dataclass(frozen=True)
class OnCpu:
    """What two cores can learn a game with; the rest is the same for all of them."""

    minutes: float
    net: Net
    simulations: int
    games: int
    reached: str = ""
    game: str = ""  # where it is not the preset's own name
    threats: bool = False
    init_from: str = ""
    opening_plies: int = 0  # 0: 24, or 8 of a net of convolutions
    final_temperature: float = SelfplayConfig.final_temperature
    learner: LearnerConfig = LearnerConfig(batch=256)
    final: tuple[str, ...] = JudgeConfig.final

    def preset(self, name: str) -> Preset:
        name = self.game or name
        game, heads = find(name), heads_of(name)
        dense = isinstance(self.net, Mlp)
        return Preset(
            TrainConfig(
                game=name,
                net=self.net,
                search=Gumbel(
                    simulations=self.simulations, min_value_range=1.0 if dense else 0.0, threats=self.threats
                ),
                selfplay=SelfplayConfig(
                    games=self.games,
                    steps=8 if dense else 16,
                    # the search weighs places that no good player comes to, too: see the Connect Four above
                    opening=0.8 if dense else 0.5,
                    opening_plies=self.opening_plies or min(24 if dense else 8, max(1, game.max_plies // 3)),
                    final_temperature=self.final_temperature,
                ),
                targets=TargetsConfig(heads=heads, surprise=0.5 if dense else 0.0),
                replay=ReplayConfig(capacity=_halved(2**18, _sample_size(game), GIB // 2), start=2**13),
                learner=dataclasses.replace(
                    self.learner, reuse=8.0 if dense else 4.0, head_weight=head_weight_of(name)
                ),
                # to compile a judgement takes longer than these games to be learnt; weights that were good at the
                # start, whose rate falls, are judged at the end alone
                judge=JudgeConfig(
                    every=0.0 if self.learner.cooldown == 1 or self.minutes < LONG else 840.0,
                    pairs=8,
                    simulations=64,
                    final=self.final,
                    final_pairs=32,
                ),
            ),
            hardware=CPU,
            memory=4,
            minutes=self.minutes,
            reached=self.reached,
            init_from=self.init_from,
        )


# where games are long and have many moves, playouts to their ends would be judged four times as long as was learnt
SHORT_PLAYOUTS = ("random", "careful", "uct:100,depth=20")
GRHINO = "78 % of 50 games against GRhino at level 2 with 64 simulations, after 1,440 iterations"
OWN_GAME = OnCpu(10.0, Mlp(width=64, blocks=2), 16, 128)
# on a CPU dense layers think many times as fast as convolutions, which learn a shape once for all places: these have
# the boards where a shape may stand anywhere
ON_CPU: Mapping[str, OnCpu] = MappingProxyType(
    {
        "go5": OnCpu(
            5.0, ResNet(channels=32, blocks=2), 32, 64, "+705 ± 329 Elo at 64 simulations, where uct:400 has +448 ± 345"
        ),
        "go7": OnCpu(
            20.0,
            ResNet(channels=32, blocks=2),
            32,
            64,
            "+784 ± 426 Elo at 64 simulations, where uct:400 has -113 ± 533 and uct:100 has 0",
        ),
        "go9": OnCpu(
            70.0,
            ResNet(channels=32, blocks=3),
            32,
            64,
            "+1128 ± 579 Elo at 64 simulations, where uct:400 has +390 ± 688",
        ),
        "go9-late": OnCpu(
            50.0,
            ResNet(channels=32, blocks=3),
            32,
            64,
            "75 % of 40 games against GNU Go at level 10 with 400 simulations, where go9-cpu took 52.5 %",
            game="go9",
            init_from="go9-cpu",
            learner=_late(),
        ),
        "go9-later": OnCpu(
            90.0,
            ResNet(channels=32, blocks=3),
            64,  # better play teaches a net that is good already; half as many positions a minute
            64,
            "85 % of 100 games against GNU Go at level 10 with 400 simulations, where go9-late-cpu took 75 %",
            game="go9",
            init_from="go9-late-cpu",
            learner=_late(rate=0.0008, final=0.05),
            final=("random", "uct:100", "@go9-late-cpu"),
        ),
        "go9-last": OnCpu(
            75.0,
            ResNet(channels=32, blocks=3),
            64,
            64,
            "85 % of 100 games against GNU Go at level 10 with 64 simulations, where go9-later-cpu took 77 %",
            game="go9",
            init_from="go9-later-cpu",
            learner=_late(rate=0.0007, final=0.05),
            final=("random", "@go9-later-cpu"),
        ),
        "go9-deep": OnCpu(
            115.0,
            ResNet(channels=32, blocks=5),  # the last two begin as the identity
            64,
            64,
            "61 % of 50 games against GNU Go with two handicap stones, at 400 simulations",
            game="go9",
            init_from="go9-last-cpu",
            learner=_late(final=0.05),
            final=("random", "@go9-last-cpu"),
        ),
        "go13": OnCpu(
            75.0,
            ResNet(channels=32, blocks=3),
            32,
            64,
            "57.5 % of 40 games against GNU Go at level 10 with 400 simulations",
            init_from="go9-late-cpu",
            learner=_late(),
            final=("random", "uct:100"),
        ),
        "go13-late": OnCpu(
            70.0,
            ResNet(channels=32, blocks=3),
            64,
            64,
            "65 % of 40 games against GNU Go at level 10 with 400 simulations, where go13-cpu took 57.5 %",
            game="go13",
            init_from="go13-cpu",
            learner=_late(final=0.05),
            final=("random", "@go13-cpu"),
        ),
        "gomoku9": OnCpu(
            12.0,
            ResNet(channels=32, blocks=2),
            32,
            64,
            "every game of 64 against uct:400 won at 64 simulations, and 57 % of 100 against zeroplus:200, "
            "after 436 iterations",
            threats=True,  # a win is taken and a loss is stopped before anything is weighed
        ),
        "gomoku15": OnCpu(
            60.0,
            ResNet(channels=32, blocks=2),
            32,
            64,
            "97 % of 100 games against greedy at 64 simulations, every game against uct:400, after 499 iterations",
            threats=True,
            init_from="gomoku9-cpu",  # shapes are the same on a larger board
        ),
        "othello": OnCpu(30.0, ResNet(channels=32, blocks=2), 32, 64, "+465 ± 174 Elo, where uct:400 has +212 ± 206"),
        "othello-late": OnCpu(
            90.0, ResNet(channels=32, blocks=2), 32, 64, GRHINO, "othello", init_from="othello-cpu", learner=_late()
        ),
        "hex7": OnCpu(
            20.0, ResNet(channels=32, blocks=2), 32, 64, "every game of 64 against uct:400 won at 64 simulations"
        ),
        "connect3d": OnCpu(
            5.0, Mlp(width=160, blocks=3), 32, 256, "+1122 ± 1084 Elo at 64 simulations, where uct:400 has +377 ± 1071"
        ),
        "scorefour": OnCpu(
            4.0, Mlp(width=160, blocks=3), 32, 256, "+701 ± 343 Elo at 64 simulations, where uct:400 has +364 ± 367"
        ),
        # one careless move gives a draw or a long win away: games that begin deep, and no chance in them later on
        "kono": OnCpu(
            12.0,
            Mlp(width=128, blocks=3),
            32,
            256,
            "+724 ± 259 Elo at 64 simulations, where uct:400 has +516 ± 263, after 1,096 iterations",
            opening_plies=48,
            final_temperature=0.0,
            learner=LearnerConfig(batch=256, ema=0.998),
        ),
        # a wider net, larger searches, and a rate that falls to the end
        "kono-long": OnCpu(
            95.0,
            Mlp(width=256, blocks=3),
            64,
            256,
            "keeps the value of 98.5 % of positions at 64 simulations, where kono-cpu keeps 97.3 %",
            game="kono",
            opening_plies=48,
            final_temperature=0.0,
            learner=_late(rate=0.002, final=0.05),
        ),
        "dodgem3": OnCpu(
            1.0, Mlp(width=96, blocks=2), 16, 256, "the value of all 1,865 positions kept by the policy alone"
        ),
        "dodgem4": OnCpu(
            3.0, Mlp(width=128, blocks=3), 32, 256, "+430 ± 158 Elo at 64 simulations, where uct:400 has +154 ± 188"
        ),
        "dodgem5": OnCpu(
            4.0,
            Mlp(width=128, blocks=3),
            32,
            256,
            "+588 ± 250 Elo at 64 simulations, where uct:100 has 0",
            final=("random", "uct:100"),
        ),
        "dodgem6": OnCpu(
            3.0,
            Mlp(width=128, blocks=3),
            32,
            256,
            "every game of 64 against uct:100 won at 64 simulations",
            final=("random", "uct:100"),
        ),
        "kamisado": OnCpu(
            4.0, Mlp(width=64, blocks=3), 32, 256, "+118 ± 85 Elo at 64 simulations, where uct:400 has +129 ± 114"
        ),
        "musketeers": OnCpu(
            4.0, Mlp(width=128, blocks=3), 32, 256, "+179 ± 99 Elo at 64 simulations, where uct:400 has +53 ± 143"
        ),
        "maharajah": OnCpu(
            4.0,
            Mlp(width=48, blocks=3),
            32,
            64,
            "+19 ± 80 Elo at 64 simulations beside careful, where uct:100,depth=20 has -258 ± 133",
            final=SHORT_PLAYOUTS,
        ),
        "archimedes": OnCpu(
            4.0,
            Mlp(width=48, blocks=3),
            32,
            64,
            "every game of 64 against careful and of 64 against random won at 64 simulations",
            final=("random", "careful"),
        ),
        "minerace": OnCpu(
            0.5, Mlp(width=64, blocks=2), 16, 128, "+77 ± 54 Elo at 64 simulations, where uct:400 has +77 ± 56"
        ),
    }
)
NAMED: Mapping[str, Preset] = MappingProxyType(
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
    | {f"{name}-cpu": size.preset(name) for name, size in ON_CPU.items()}
)
