"""The shortest way: distances of Dodgem counted by hand, and a bot that takes nothing but steps ahead."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.evaluators import Race
from jaxgo.games import make
from jaxgo.players import load_player

GAME = make("dodgem3")
BOARD = ["R..", ".B.", "..B"]  # Blue needs 2 + 3 moves, Red 3


def test_a_race_is_worth_the_difference_of_distances():
    cells = np.array([".BR".index(c) for c in "".join(BOARD)], np.int8)
    states = [GAME.place(cells, seat) for seat in (0, 1)]
    assert [GAME.distances(state).tolist() for state in states] == [[5, 3]] * 2
    both = jax.tree.map(lambda *x: jnp.stack(x), *states)
    judge = jax.jit(lambda s: (*Race(sharp=1.0)(GAME, (), jax.random.key(0), s), jax.vmap(GAME.legal)(s)))
    logits, value, legal = (np.asarray(x) for x in judge(both))
    np.testing.assert_allclose(value, [-2 / 8, 2 / 8])
    for seat, lead in ((0, -2), (1, 2)):
        for action in np.flatnonzero(legal[seat]):
            ahead = action % 3 == 0
            assert logits[seat, action] == lead + ahead


@pytest.mark.slow
def test_the_shortest_way_beats_chance():
    bot, chance = load_player("shortest-path", GAME), load_player("random", GAME)
    model, games = bot.model, 64

    @jax.jit
    def tick(key, position):
        one, two = jax.random.split(key)
        a = bot.search.run(model, bot.params, one, position).action
        b = chance.search.run(model, (), two, position).action
        first = jnp.arange(games) < games // 2
        ours = (position.state.to_play == 0) == first
        return model.play(position, jnp.where(ours, a, b))[0]

    position = jax.jit(lambda key: model.start(key, games))(jax.random.key(0))
    for ply in range(GAME.max_plies):
        position = tick(jax.random.fold_in(jax.random.key(1), ply), position)
    result = np.asarray(jax.vmap(lambda p: play.returns(GAME, p))(position))[:, 0]
    assert (np.where(np.arange(games) < games // 2, result, -result) > 0).mean() > 0.8


def test_what_is_no_race_says_so():
    game = make("tictactoe")
    with pytest.raises(UsageError, match="is no race"):
        game.distances(game.init(jax.random.key(0)))
