"""A game of your own, without a line in the package: Nim, of which who takes the last match wins.

    uv run jaxgo show examples.own_game:Nim
    uv run jaxgo train examples.own_game:Nim --budget.seconds 60
    uv run jaxgo eval examples.own_game:Nim --agents gumbel:64@runs/Nim uct:100 random

Run as it is, this file trains a little and plays a move.
"""

import dataclasses
import tempfile
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int8, Int16, UInt32

from jaxgo.core import zobrist
from jaxgo.core.game import EMPTY, Action, Game, Piece
from jaxgo.nets import Mlp
from jaxgo.players import load_player
from jaxgo.search import Gumbel
from jaxgo.selfplay import SelfplayConfig
from jaxgo.system.rundir import RunDir
from jaxgo.training.config import Budget, JudgeConfig, LearnerConfig, ReplayConfig, TrainConfig, to_json
from jaxgo.training.loop import train


class NimState(NamedTuple):
    heaps: Int8[Array, " heaps"]  # matches in each
    to_play: Int8[Array, ""]
    ply: Int16[Array, ""]


@dataclasses.dataclass(frozen=True)
class Nim(Game[NimState]):
    """An action takes 1 to `most` matches from one of the heaps; who cannot move has lost."""

    heaps: tuple[int, ...] = (1, 3, 5)
    most: int = 3

    pieces = (EMPTY, Piece("I", -1))
    notation = "the heap and how many matches: `b2`"

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.heaps), max(self.heaps)

    @property
    def num_actions(self) -> int:
        return len(self.heaps) * self.most

    max_plies = property(lambda self: sum(self.heaps))

    def init(self, key: Array) -> NimState:
        return NimState(jnp.asarray(self.heaps, jnp.int8), jnp.int8(0), jnp.int16(0))

    def legal(self, state: NimState) -> Bool[Array, " A"]:
        return (state.heaps[:, None] >= np.arange(1, self.most + 1, dtype=np.int8)[None]).reshape(-1)

    def step(self, state: NimState, action: Action) -> NimState:
        heap, take = action // self.most, (action % self.most + 1).astype(jnp.int8)
        return NimState(state.heaps.at[heap].add(-take), 1 - state.to_play, state.ply + jnp.int16(1))

    def over(self, state: NimState) -> Bool[Array, ""]:
        return (state.heaps == 0).all()

    def returns(self, state: NimState) -> Float32[Array, " P"]:
        return jnp.where(state.to_play == 0, jnp.array([-1.0, 1.0]), jnp.array([1.0, -1.0]))

    def observe(self, state: NimState) -> Bool[Array, "H W C"]:
        return (np.arange(self.shape[1], dtype=np.int8)[None] < state.heaps[:, None])[..., None]

    def cells(self, state: NimState) -> Int8[Array, " cells"]:
        return self.observe(state).reshape(-1).astype(jnp.int8)

    def hash(self, state: NimState) -> UInt32[Array, "2"]:
        return zobrist.of_words(jnp.append(state.heaps, state.to_play).astype(jnp.uint32))

    def action_name(self, action: int) -> str:
        return f"{chr(ord('a') + action // self.most)}{action % self.most + 1}"


def main() -> None:
    sizes: Any = {"replay": ReplayConfig(1024, 64), "learner": LearnerConfig(64), "budget": Budget(iterations=4)}
    sizes |= {"judge": JudgeConfig(final=("random",), final_pairs=4), "selfplay": SelfplayConfig(16, 4)}
    config = TrainConfig(Nim(), net=Mlp(16, 1), search=Gumbel(4), **sizes)
    with tempfile.TemporaryDirectory() as folder:
        with RunDir(f"{folder}/nim", to_json(config)) as run:
            train(config, run)
        player = load_player(f"gumbel:4@{folder}/nim", Nim())
        root = player.model.start(jax.random.key(0), 1)
        found = player.search.run(player.model, player.params, jax.random.key(1), root)
        print("takes", Nim().action_name(int(found.action[0])))


if __name__ == "__main__":
    main()
