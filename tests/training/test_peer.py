"""The peer of the benchmarks does what it says, and the walk through all lines of play finds what there is."""

import jax
import jax.numpy as jnp
import numpy as np
import peers_alphazero
import pytest
import walk

from jaxgo.evaluators.uniform import Uniform
from jaxgo.games import GAMES
from jaxgo.search.gumbel import Gumbel
from jaxgo.search.model import Model


def test_the_values_of_the_peer_are_the_results_of_games():
    """Two games side by side: the first ends at plies 2 and 5, the second at ply 4; who moves alternates."""
    reward = jnp.zeros((6, 2)).at[2, 0].set(1.0).at[5, 0].set(-1.0).at[4, 1].set(1.0)
    over = jnp.zeros((6, 2), bool).at[2, 0].set(True).at[5, 0].set(True).at[4, 1].set(True)
    plies = peers_alphazero.Ply((), (), reward, jnp.where(over, 0.0, -1.0), over)
    value, known = peers_alphazero.targets(plies)
    np.testing.assert_array_equal(value[:, 0], [1, -1, 1, -1, 1, -1])
    np.testing.assert_array_equal(value[:5, 1], [1, -1, 1, -1, 1])
    np.testing.assert_array_equal(known[:, 0], [True] * 6)
    np.testing.assert_array_equal(known[:, 1], [True] * 5 + [False])


def test_positions_are_told_apart():
    rows = {"board": np.array([[1, 2], [1, 2], [2, 1]], np.int8), "nothing": np.zeros((3, 0), np.float32)}
    kept = walk.distinct(rows)
    assert kept["board"].tolist() == [[1, 2], [2, 1]]
    assert walk.distinct(jax.tree.map(lambda x: x[:0], rows))["board"].shape == (0, 2)


@pytest.mark.slow
def test_the_walk_finds_losses_of_a_weak_player_and_none_of_a_perfect_one():
    model = Model(GAMES["tictactoe"], Uniform())
    searches = (Gumbel(simulations=n, max_considered=9, gumbel_scale=0.0) for n in (1, 4000))
    # of the levels where searches are long the largest has 45 positions, and a lane that is padding costs as much
    weak, perfect = (walk.Walk(model, (), search, width=32) for search in searches)
    assert min(weak.lost(0), weak.lost(1)) > 0
    assert perfect.lost(0) == perfect.lost(1) == 0


@pytest.mark.slow
def test_the_peer_learns():
    peer = peers_alphazero.Peer(channels=4, blocks=1, simulations=2, games=8, plies=12, batch=32)
    loop = peers_alphazero.PeerLoop(peer)
    before = jax.device_get(loop.learnt.variables)
    loop.run(0.0)
    after = jax.device_get(loop.learnt.variables)
    assert loop.frames >= 96
    moved = jax.tree.map(lambda a, b: bool((a != b).any()), before, after)
    assert all(jax.tree.leaves(moved["batch_stats"]))
    assert sum(jax.tree.leaves(moved["params"])) > 10
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(after))
