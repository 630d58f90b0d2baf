"""Presets as runnable notes: the command is `train.py NAME`.

Beside the named ones, every registered game has one under its own name, sized by its board, for accelerators: its
config is for one with 16 GB, and `sizes.fitted` makes it that of others. A game at `package.module:Object` has one for
the machine that asks. They are made when they are asked for, so a game may be registered at any time.
"""

from collections.abc import Mapping
from types import MappingProxyType

import jax

from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.core.names import PLACE, is_place
from jaxgo.games import GAMES, find
from jaxgo.games.gomoku.rules import Gomoku
from jaxgo.nets import ResNet
from jaxgo.search import Gumbel
from jaxgo.selfplay import SelfplayConfig
from jaxgo.training import sizes
from jaxgo.training.config import JudgeConfig, LearnerConfig, TargetsConfig, TrainConfig
from jaxgo.training.named import ACCELERATORS, BY_HAND, Preset, head_weight_of, heads_of
from jaxgo.training.two_cores import ON_CPU, OWN_GAME

NAMED: Mapping[str, Preset] = MappingProxyType(
    {**BY_HAND, **{f"{name}-cpu": size.preset(name) for name, size in ON_CPU.items()}}
)
MINUTES = {"connect3d": 120.0, "gomoku15": 480.0, "go9": 240.0, "go19": 4320.0}  # the others: an hour


def _sized(name: str, minutes: float = 60.0) -> Preset:
    """What a game needs by the size of its board, for accelerators."""
    game = find(name)
    cells = game.shape[0] * game.shape[1]
    # most cells, channels, blocks, simulations
    boards = ((16, 32, 2, 16), (64, 64, 4, 32), (121, 96, 6, 48))
    rows = [row[1:] for row in boards if cells <= row[0]]
    channels, blocks, simulations = rows[0] if rows else (128, 8, 64)
    config = TrainConfig(
        game=name,
        net=ResNet(channels=channels, blocks=blocks, precision="bfloat16"),
        # what was measured on two cores: see "What settings bought" in docs/training.md
        search=Gumbel(simulations=simulations, threats=isinstance(game, Gomoku)),
        selfplay=SelfplayConfig(steps=16),
        targets=TargetsConfig(heads=heads_of(name)),
        # and of the runs on one GPU
        learner=LearnerConfig(ema=0.998, head_weight=head_weight_of(name), cooldown=1.0),
        judge=JudgeConfig(every=600.0, pairs=128, final_pairs=256),
        save_every=600.0,
    )
    return Preset(sizes.fitted(config), hardware=ACCELERATORS, memory=16, minutes=minutes)


def names() -> list[str]:
    """Every preset that can be listed: the named ones, and each registered game by its own name."""
    return [*NAMED, *MINUTES, *(game for game in GAMES if game not in MINUTES)]


def preset(name: str) -> Preset:
    """The preset of this name, made when it is asked for; `package.module:Object` is a game of somebody's own."""
    if name in NAMED:
        return NAMED[name]
    if name in GAMES:
        return _sized(name, MINUTES.get(name, 60.0))
    if not is_place(name):
        if "." in name:
            raise UsageError(
                f"{name!r} is no preset; name a game of your own by module and object, as in {_as_place(name)}"
            )
        raise unknown_name("preset", name, [*names(), PLACE])
    return OWN_GAME.preset(name) if jax.default_backend() == "cpu" else _sized(name)


def _as_place(name: str) -> str:
    """What was probably meant, where somebody typed the path of a file, or a point where the colon belongs."""
    module, _, thing = name.partition(":")
    module = module.removesuffix(".py").strip("./").replace("/", ".")
    package, _, last = module.rpartition(".")
    if not thing and package and last[:1].isupper():
        module, thing = package, last
    place = f"{module}:{thing or 'Nim'}"
    return place if is_place(place) else "examples.own_game:Nim"


def default_preset() -> str:
    """The preset of a bare `train.py`: what this machine can finish."""
    return "connect4-cpu" if jax.default_backend() == "cpu" else "connect4-gpu"
