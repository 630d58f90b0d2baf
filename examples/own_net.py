"""Nets of your own: any Flax module that maps planes to (logits, value), of linen or of nnx.

    uv run jaxgo train tictactoe-cpu --net examples.own_net:Small --run runs/small
    uv run jaxgo train tictactoe-cpu --net examples.own_net:build --run runs/build
    uv run jaxgo eval tictactoe --agents gumbel:64@runs/small gumbel:64@runs/build uct:100

A class of linen whose fields have defaults, a function of the game that makes a module (of nnx: with `rngs`), or a
module itself may be named. Run as it is, this file trains both for a moment.
"""

import tempfile
from typing import Any

import flax.linen as nn
import jax.numpy as jnp
from flax import nnx

from jaxgo.games import make
from jaxgo.players import load_player
from jaxgo.search import Gumbel
from jaxgo.selfplay import SelfplayConfig
from jaxgo.system.rundir import RunDir
from jaxgo.training.config import Budget, JudgeConfig, LearnerConfig, ReplayConfig, TargetsConfig, TrainConfig, to_json
from jaxgo.training.loop import train

GAME = make("tictactoe")


class Small(nn.Module):
    """Of linen. The third result is optional: further heads, learnt where `targets.heads` names them, too."""

    actions: int = GAME.num_actions
    width: int = 32

    @nn.compact
    def __call__(self, planes: Any) -> Any:
        x = nn.relu(nn.Dense(self.width)(planes.reshape(planes.shape[0], -1)))
        value = nn.tanh(nn.Dense(1)(x)[:, 0])  # for the side to move, from -1 to 1
        return nn.Dense(self.actions)(x), value, {"reply": nn.Dense(self.actions)(x)}


class Cells(nnx.Module):
    """Of nnx: sizes come from the game."""

    def __init__(self, channels: int, actions: int, height: int, width: int, rngs: nnx.Rngs) -> None:
        self.look = nnx.Conv(channels, 16, (3, 3), rngs=rngs)
        self.policy = nnx.Linear(16 * height * width, actions, rngs=rngs)
        self.value = nnx.Linear(16 * height * width, 1, rngs=rngs)

    def __call__(self, planes: Any) -> Any:
        x = nnx.relu(self.look(planes)).reshape(planes.shape[0], -1)
        return self.policy(x), jnp.tanh(self.value(x)[:, 0])


def build(game: Any, rngs: nnx.Rngs) -> Cells:
    return Cells(2, game.num_actions, *game.shape, rngs=rngs)


def main() -> None:
    for number, net in enumerate((Small(width=16), build)):
        config = TrainConfig(
            game=GAME,
            net=net,
            search=Gumbel(simulations=4),
            selfplay=SelfplayConfig(games=16, steps=4),
            targets=TargetsConfig(heads=("short", "reply")),
            replay=ReplayConfig(capacity=2**10, start=64),
            learner=LearnerConfig(batch=64),
            judge=JudgeConfig(every=0.0, past=0, final=()),
            budget=Budget(iterations=4),
        )
        with tempfile.TemporaryDirectory() as folder:
            with RunDir(f"{folder}/{number}", to_json(config)) as run:
                steps = int(train(config, run).learner.step)
            player = load_player(f"gumbel:4@{folder}/{number}", GAME)
            heads = [head.name for head in config.heads]
            print(type(player.model.evaluator).__name__, "after", steps, "steps; further heads:", heads)


if __name__ == "__main__":
    main()
