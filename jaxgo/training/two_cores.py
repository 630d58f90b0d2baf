"""What two cores can learn each game with, and what it reached there."""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from jaxgo.core.game import Game
from jaxgo.games import find
from jaxgo.nets import Mlp, ResNet
from jaxgo.search import Gumbel
from jaxgo.selfplay import SelfplayConfig
from jaxgo.training.config import JudgeConfig, LearnerConfig, ReplayConfig, TargetsConfig, TrainConfig
from jaxgo.training.named import CPU, Preset, head_weight_of, heads_of, late

LONG = 30.0  # minutes of a run that looks at itself on its way


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
    net: Mlp | ResNet
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
                net=dataclasses.replace(self.net, precision="bfloat16"),
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
                replay=ReplayConfig(capacity=_halved(2**18, _sample_size(game), 2**29), start=2**13),
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
            learner=late(),
        ),
        "go9-later": OnCpu(
            90.0,
            ResNet(channels=32, blocks=3),
            64,  # better play teaches a net that is good already; half as many positions a minute
            64,
            "85 % of 100 games against GNU Go at level 10 with 400 simulations, where go9-late-cpu took 75 %",
            game="go9",
            init_from="go9-late-cpu",
            learner=late(rate=0.0008, final=0.05),
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
            learner=late(rate=0.0007, final=0.05),
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
            learner=late(final=0.05),
            final=("random", "@go9-last-cpu"),
        ),
        "go13": OnCpu(
            75.0,
            ResNet(channels=32, blocks=3),
            32,
            64,
            "57.5 % of 40 games against GNU Go at level 10 with 400 simulations",
            init_from="go9-late-cpu",
            learner=late(),
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
            learner=late(final=0.05),
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
            90.0, ResNet(channels=32, blocks=2), 32, 64, GRHINO, "othello", init_from="othello-cpu", learner=late()
        ),
        "hex7": OnCpu(
            20.0, ResNet(channels=32, blocks=2), 32, 64, "every game of 64 against uct:400 won at 64 simulations"
        ),
        "breakthrough": OnCpu(
            40.0, ResNet(channels=32, blocks=2), 32, 64, "every game of 64 against uct:400 won at 64 simulations"
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
            learner=late(rate=0.002, final=0.05),
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
