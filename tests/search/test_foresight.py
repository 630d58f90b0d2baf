"""What nets have learnt of the ends of games: with the right sign, for both seats, by those alone who know it."""

import dataclasses
import functools
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from jaxgo.core import position_text
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.lanes import alone
from jaxgo.evaluators import Likely, Mix, Network, Uniform
from jaxgo.games import make
from jaxgo.nets import as_net, to_json
from jaxgo.nets.base import Head
from jaxgo.players import load_player
from jaxgo.players.of_weights import network
from jaxgo.search.model import Model


def starts(game: Game[Any], count: int) -> Any:
    return jax.vmap(game.init)(jax.random.split(jax.random.key(0), count))


@functools.cache
def of_go(name: str) -> Any:
    """A player with shipped weights, and what it foresees as a program."""
    player = load_player(f"greedy@{name}", make("go5"))
    return player, jax.jit(player.model.foresee)


@pytest.mark.parametrize("seat", [0, 1])
def test_a_net_that_has_learnt_how_games_end_foresees_whose_the_points_are(seat):
    """The upper part is Black's but for nothing, the lower one White's, whoever moves; with the colours it turns."""
    player, foresee = of_go("go5-cpu")
    rows = ".X.XX/XXXX./OOOOX/.O.OO/OO.O."
    swapped = rows.translate(str.maketrans("XO", "OX"))
    here, there = (position_text.read(player.model.game, f"{drawn} {seat}")[0].state for drawn in (rows, swapped))
    found, other = (foresee(player.params, alone(state)) for state in (here, there))
    owned, turned = (np.asarray(told["ownership"])[0] for told in (found, other))
    assert owned[:9].min() > 0.3
    assert owned[16:].max() < -0.3
    assert turned[:9].max() < -0.3
    # 24.5 points of komi are in the lead, which is told in units of a side
    assert found["score"][0] * 5 == pytest.approx(-24.5, abs=8)


def test_images_of_a_position_come_to_images_of_one_end():
    player = load_player("greedy,symmetric=yes@go5-cpu", make("go5"))
    assert player.model.evaluator.symmetric
    game = player.model.game
    foresee = jax.jit(player.model.foresee)
    cells = np.array([0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 2, 2] + [0] * 8 + [2, 0], np.int8)
    found = foresee(player.params, alone(game.place(cells, 1)))
    for order in game.symmetries().cells:
        turned = foresee(player.params, alone(game.place(cells[order], 1)))
        np.testing.assert_allclose(turned["ownership"][0], found["ownership"][0][order], rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(turned["score"], found["score"], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "weights", "known"),
    [
        ("connect4", "connect4-late-cpu", {"ownership": (2, 42), "line": (2, 42)}),
        ("kono", "kono-cpu", {"ownership": (2, 16)}),
        ("connect4", "connect4-cpu", {}),  # of a run that had not learnt it
        ("tictactoe", "tictactoe-cpu", {}),  # a game that teaches nothing of the kind
    ],
)
def test_a_net_foresees_what_it_has_learnt(name, weights, known):
    player = load_player(f"greedy@{weights}", make(name))
    found = jax.eval_shape(player.model.foresee, player.params, starts(player.model.game, 2))
    assert {target: array.shape for target, array in found.items()} == known


def test_who_is_made_of_a_net_foresees_what_it_does():
    player, foresee = of_go("go5-cpu")
    net, states = player.model.evaluator, starts(player.model.game, 1)
    likely, both, one = (
        dataclasses.replace(player.model, evaluator=judge)
        for judge in (Likely(net), Mix(net, net, 0.25), Mix(Uniform(), net))
    )
    double = jax.tree.map(lambda x: 2 * x, player.params)
    plain, other = (foresee(params, states) for params in (player.params, double))
    mixed = jax.jit(both.foresee)((player.params, double), states)
    for name, expected in plain.items():
        np.testing.assert_allclose(mixed[name], 0.25 * expected + 0.75 * other[name], rtol=1e-3, atol=1e-4)
    for model, params in ((likely, player.params), (one, ((), player.params))):
        assert jax.eval_shape(model.foresee, params, states).keys() == plain.keys()


class Several(nn.Module):
    """A module of somebody's own, which gives one head, and names something else `heads`."""

    actions: int
    heads: tuple[int, ...] = (2, 2)

    @nn.compact
    def __call__(self, planes: Array) -> Any:
        x = planes.reshape(planes.shape[0], -1)
        return nn.Dense(self.actions)(x), jnp.tanh(nn.Dense(1)(x)[:, 0]), {"ownership": nn.Dense(25)(x)}


@pytest.mark.slow
def test_nets_of_other_people_foresee_by_the_heads_that_they_have():
    game = make("go5")
    module, states = Several(game.num_actions), starts(make("go5"), 3)
    bare = Model(game, Network(nn.Dense(1)))
    assert bare.foresee((), states) == {}
    wanted = (Head("ownership", "cells"), Head("score", "number"))
    net = as_net(module)
    model = Model(game, Network(net.module(game, net.heads(game, wanted))))
    params = jax.jit(model.init)(jax.random.key(0))
    found = jax.jit(model.foresee)(params, states)
    assert {target: array.shape for target, array in found.items()} == {"ownership": (3, 25)}
    said = module.apply(params, jax.vmap(game.observe)(states))[2]["ownership"]  # Black is to move
    np.testing.assert_allclose(found["ownership"], np.tanh(np.asarray(said) / 2), rtol=1e-4, atol=1e-5)
    assert Model(game, Uniform()).foresee((), states) == {}


@pytest.mark.slow
def test_nets_of_other_people_foresee_what_they_were_taught_and_not_all_that_they_give():
    game = make("go5")
    net = as_net(Several(game.num_actions))
    params = jax.jit(Model(game, Network(net.module(game))).init)(jax.random.key(0))
    about = {"game": "go5", "options": {}, "net": to_json(net)}

    def foreseen(**more):
        model, _ = network("w.npz", about | more, params, game)
        return set(jax.eval_shape(model.foresee, params, starts(game, 1)))

    assert foreseen(heads=["short", "ownership"]) == {"ownership"}
    assert foreseen(heads=["short"]) == foreseen() == set()
    with pytest.raises(UsageError, match="do not say which heads they have learnt"):
        foreseen(heads=5)
