"""Rules of people outside the package that break what every search takes for granted: one sentence says how."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from examples.own_game import Nim
from jaxgo.arena.games_file import movers
from jaxgo.arena.match import Pool
from jaxgo.cli import train_job
from jaxgo.core import trial
from jaxgo.core.errors import UsageError
from jaxgo.evaluators import Uniform
from jaxgo.games import GAMES
from jaxgo.nets import Mlp
from jaxgo.players import load_player
from jaxgo.search import Flat, Greedy, Model, Random, Uct, health
from jaxgo.solvers.retrograde import solve_game
from jaxgo.system.devices import make_mesh
from jaxgo.training.config import TrainConfig
from jaxgo.training.trainer import Trainer


@dataclasses.dataclass(frozen=True)
class Sound(Nim):
    heaps: tuple[int, ...] = (1, 1)
    most: int = 1

    def legal(self, state: Any) -> Any:
        return state.heaps > 0


@dataclasses.dataclass(frozen=True)
class Stuck(Sound):
    """Who cannot move goes on all the same."""

    def over(self, state: Any) -> Any:
        return jnp.bool_(False)


SEARCHES = [Greedy(), Random(), Flat(2), Uct(4)]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
def test_a_live_position_without_a_move_is_no_healthy_one(search):
    game = Stuck()
    model = Model(game, Uniform())
    start = model.start(jax.random.key(0), 1)
    empty = model.positions(start.state._replace(heaps=jnp.zeros_like(start.state.heaps)))
    run = jax.jit(lambda root: search.run(model, (), jax.random.key(1), root).healthy)
    assert run(empty).tolist() == [False]
    # below the root, where a search makes moves at all
    assert run(start).tolist() == [not isinstance(search, Uct)]


def test_random_games_tell_whose_fault_broken_numbers_are():
    game = Stuck()
    with pytest.raises(UsageError, match=r"Stuck.* goes on and has no legal action, after 2 random moves; let `over`"):
        health.told(Model(game, Uniform()), "in a match")
    assert "infinite numbers in a match, or the game went on" in health.told(Model(Sound(), Uniform()), "in a match")
    assert health.told(Model(GAMES["tictactoe"], Uniform()), "there") == (
        "Uniform() gave NaN or infinite numbers there; look at its parameters"
    )
    trial.check(Sound())


@dataclasses.dataclass(frozen=True)
class Lasting(Sound):
    """Promises to end after one move, and ends after two."""

    max_plies = property(lambda self: 1)


def test_a_game_that_outlasts_its_plies_is_refused_before_a_run_and_a_match(tmp_path):
    game = Lasting()
    players = [load_player(name, game) for name in ("random", "greedy")]
    config = TrainConfig(game, net=Mlp(4, 1))
    for begin in (
        lambda: Pool(players, 1),
        lambda: Trainer(config, make_mesh()).game,
        lambda: train_job.check(config),
    ):
        with pytest.raises(UsageError, match="goes on after 1 random moves, as many as its max_plies; raise max_plies"):
            begin()
    assert movers(game, [0, 1]) == [0, 1], "a file of its games can be written all the same"


def test_a_table_does_not_call_a_position_without_a_move_a_draw():
    with pytest.raises(UsageError, match="has positions that go on and have no legal action, 1 of 4; let `over`"):
        solve_game(Stuck())


def test_an_environment_without_a_legal_action_is_not_healthy():
    def step(state: Any, action: Any) -> Any:
        return state + 1, 0.0, 1.0

    def judge(params: Any, key: Any, states: Any) -> Any:
        return jnp.zeros((states.shape[0], 2)), jnp.zeros(states.shape[0])

    model = Model.from_functions(step, judge, 2, legal=lambda state: jnp.zeros(2, bool))
    root = model.positions(jnp.zeros(1))
    found = jax.jit(lambda: Uct(2).run(model, (), jax.random.key(0), root))()
    with pytest.raises(health.EvaluatorError, match="or the game went on without a legal action; look at"):
        health.check(model, found)
