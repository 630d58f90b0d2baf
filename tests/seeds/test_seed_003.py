"""Seed 003, Connect Four 3D: the presets.

3.6 connect-and-block, 3.7 dominant pruning as a hook: tests/rules/test_connect3d.py
"""

import jax
import numpy as np

from jaxgo.games import GAMES
from jaxgo.players import load_player

GAME = GAMES["connect3d"]


def test_3_4_and_3_7_the_preset_has_its_prior_and_prunes():
    player = load_player("nycu3d-puct:8", GAME)
    assert player.search.prune
    assert player.model.evaluator.prior == "weights"
    position = jax.jit(lambda key: player.model.start(key, 1))(jax.random.key(0))
    step = jax.jit(player.model.play)
    for action in (0, 23, 0, 23, 0, 22):  # three on one stack: the fourth makes a line
        position = step(position, np.array([action], np.int32))[0]
    run = jax.jit(lambda key: player.search.run(player.model, player.params, key, position))
    result = jax.device_get(run(jax.random.key(0)))
    assert result.action.tolist() == [0]
    assert result.visits[0].sum() == result.visits[0, 0]  # nothing but the line is looked at
