"""Seed 002, Dagaz: bots by rules.

2.6 chains and books: tests/search/test_chain.py; 2.15 move weights: tests/rules/test_heuristics.py
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgo.games import GAMES
from jaxgo.players import load_player

GAME = GAMES["musketeers"]


@pytest.mark.slow
def test_2_5_careful_musketeers_never_line_up_unless_they_must():
    """Games of careful musketeers against random soldiers, with every lost game's last choices counted."""
    careful, soldiers = load_player("careful", GAME), load_player("random", GAME)
    model, lanes = careful.model, 64

    @jax.jit
    def tick(key, position):
        legal = model.legal(position)
        safe = jax.vmap(GAME.safe)(position.state, legal).any(axis=-1)
        ours = position.state.to_play == 0
        a = careful.search.run(model, careful.params, key, position).action
        b = soldiers.search.run(model, soldiers.params, key, position).action
        live = ~model.over(position)
        after, moved = model.play(position, jnp.where(ours, a, b))
        return after, live & ours & safe & (moved.reward < 0), live & ours & (moved.reward < 0)

    position = model.start(jax.random.key(0), lanes)
    avoidable = 0
    for ply in range(GAME.max_plies):
        position, blunder, _ = tick(jax.random.fold_in(jax.random.key(1), ply), position)
        avoidable += int(blunder.sum())
    assert np.asarray(model.over(position)).all()
    assert avoidable == 0


def test_2_2_bots_have_names():
    for spec in ("careful", "instinct", "aggressive", "chain:win+take+safe+uct:40"):
        assert load_player(load_player(spec, GAME).name, GAME) == load_player(spec, GAME)
