"""Seed 001, Zero+: items of the checklist that are about engines, and not about programs to play with.

1.9 threat types and weights as data: tests/rules/test_gomoku_threats.py
1.13 the heuristic bot: tests/search/test_simple.py
1.14 alpha-beta, 1.15 null windows, 1.17 deepening: tests/search/test_alphabeta.py
1.16 threats beyond the horizon, by fours: tests/search/test_threats.py
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgo.core import play
from jaxgo.games import make
from jaxgo.players import load_player

GAME = make("gomoku", size=9)
# Black has a four that White stopped at one end; White has nothing
CLOSED_FOUR = ".........|.........|..OXXXX..|...O.....|....O....|.........|.........|.........|........."


def root(rows: str, seat: int):
    cells = np.array([".XO".index(stone) for stone in rows.replace("|", "")], np.int8)
    return jax.tree.map(lambda x: jnp.asarray(x)[None], play.resume(GAME, GAME.place(cells, seat)))


def move(spec: str, rows: str, seat: int) -> int:
    player, position = load_player(spec, GAME), root(rows, seat)
    run = jax.jit(lambda key: player.search.run(player.model, player.params, key, position).action)
    return int(run(jax.random.key(0))[0])


PLAYERS = [
    "greedy",
    "threats:50",
    pytest.param("alphabeta:300,depth=2,breadth=6", marks=pytest.mark.slow),
    pytest.param("zeroplus:20", marks=pytest.mark.slow),
    pytest.param("chain:win+careful+random", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("spec", PLAYERS)
def test_1_13_every_classical_player_takes_a_five_and_stops_one(spec):
    assert move(spec, CLOSED_FOUR, 0) == 2 * 9 + 7
    assert move(spec, CLOSED_FOUR, 1) == 2 * 9 + 7


def test_1_12_personalities_have_names_that_load_the_same_player():
    for spec in (
        "alphabeta:20000,depth=6,breadth=12",
        "alphabeta:20000,breadth=12,quiescence=8",
        "threats:500",
        "puct:100,breadth=8,threats=yes,vcf=40",
        "zeroplus:200",
    ):
        player = load_player(spec, GAME)
        assert load_player(player.name, GAME) == player
