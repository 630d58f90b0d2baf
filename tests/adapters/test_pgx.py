"""Games of pgx as ours: they move, end and pay as pgx says, and everything above plays them."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pgx
import pytest
from support import untyped

from jaxgo.adapters import pgx as adapter
from jaxgo.adapters.pgx import PgxGame
from jaxgo.core import choice, play
from jaxgo.core.errors import UsageError
from jaxgo.evaluators import Uniform
from jaxgo.games import make
from jaxgo.search import Model, Uct

LANES, PLIES = 32, 48


@functools.cache
def played(name):
    """Random games, ply by ply: states before each move and after the last, actions, transitions."""
    game = PgxGame(name)

    def move(position, ply):
        word = jax.vmap(choice.word, in_axes=(None, 0))(ply, jnp.arange(LANES))
        legal = jax.vmap(functools.partial(play.legal, game))(position)
        action = jax.vmap(choice.pick)(legal, word)
        after, transition = jax.vmap(functools.partial(play.play, game))(position, action)
        hashes = jax.vmap(game.hash)(position.state)
        return after, (position, legal, action, transition, hashes)

    start = jax.jit(jax.vmap(functools.partial(play.start, game)))(jax.random.split(jax.random.key(0), LANES))
    return game, jax.jit(lambda start: jax.lax.scan(move, start, jnp.arange(PLIES)))(start)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four"])
def test_games_are_those_of_pgx(name):
    game, (last, (position, legal, action, transition, _)) = played(name)
    env = pgx.make(name)
    step = jax.jit(jax.vmap(env.step))
    inner = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(0), LANES))
    first, total = np.asarray(inner.current_player), np.zeros((LANES, 2))
    for ply in range(game.max_plies):
        live = ~np.asarray(inner.terminated)
        np.testing.assert_array_equal(np.asarray(legal[ply])[live], np.asarray(inner.legal_action_mask)[live])
        assert not np.asarray(legal[ply])[~live].any()
        seat = np.asarray(inner.current_player) ^ first
        np.testing.assert_array_equal(np.asarray(position.state.to_play[ply])[live], seat[live])
        mover = np.asarray(inner.current_player)
        inner = step(inner, action[ply])
        total += np.where(live[:, None], np.asarray(inner.rewards), 0)
        paid = np.asarray(inner.rewards)[np.arange(LANES), mover]
        np.testing.assert_array_equal(np.asarray(transition.reward[ply])[live], paid[live])
        np.testing.assert_array_equal(np.asarray(transition.discount[ply] == 0), np.asarray(inner.terminated))
    assert np.asarray(inner.terminated).all()
    seats = np.take_along_axis(total, np.stack([first, 1 - first], axis=1), axis=1)
    np.testing.assert_array_equal(np.asarray(jax.jit(jax.vmap(game.returns))(last.state)), seats)
    assert set(np.unique(seats)) >= {-1.0, 1.0}, "no side ever won"
    assert len(set(first.tolist())) == 2, "one player always begins, so seats are not tested"


def test_positions_have_hashes_of_their_own():
    """Tic-tac-toe: equal boards have equal keys, whichever player pgx let begin, and others have others."""
    _, (_, (position, _, _, transition, hashes)) = played("tic_tac_toe")
    live = np.asarray(transition.discount != 0).reshape(-1)
    game = PgxGame("tic_tac_toe")
    boards = np.asarray(jax.jit(jax.vmap(jax.vmap(game.cells)))(position.state)).reshape(-1, 9)[live]
    keys = np.asarray(hashes).reshape(-1, 2)[live]
    first = np.repeat(np.asarray(position.state.first)[:1], PLIES, axis=0).reshape(-1)[live]
    known = {}
    for board, key, begins in zip(map(bytes, boards), map(tuple, keys.tolist()), first.tolist(), strict=True):
        known.setdefault((board, begins), set()).add(key)
    assert all(len(keys) == 1 for keys in known.values())
    assert len({next(iter(keys)) for keys in known.values()}) >= len({board for board, _ in known})


@pytest.mark.slow  # compiles for seconds
def test_a_search_finds_the_win():
    """a3 is a win in one for X: our tic-tac-toe and pgx's agree on values and on the move."""
    results = []
    for game in (make("tictactoe"), PgxGame("tic_tac_toe")):
        model = Model(game, Uniform())
        move = jax.jit(model.play)
        position = jax.jit(lambda key, model=model: model.start(key, 1))(jax.random.key(3))
        for action in (0, 3, 1, 4):
            position, _ = move(position, jnp.array([action]))
        search = Uct(simulations=64)
        found = jax.jit(lambda key, root, model=model, search=search: search.run(model, (), key, root))(
            jax.random.key(0), position
        )
        results.append((int(found.action[0]), float(found.value[0]), bool(found.solved[0])))
    assert results == [(2, 1.0, True)] * 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tic_tac_toe", "othello"])
def test_a_search_takes_what_pgx_begins_with(name):
    """Othello begins with plain numbers of Python, which no search knows."""
    model = Model(PgxGame(name), Uniform())
    found = jax.eval_shape(lambda key: Uct(simulations=2).run(model, (), key, model.start(key, 2)), jax.random.key(0))
    assert found.policy.shape == (2, model.game.num_actions)


@pytest.mark.slow  # pgx makes its boards of Go in seconds
def test_go_is_as_long_as_pgx_plays_it():
    assert [PgxGame(name).max_plies for name in ("go_9x9", "go_19x19")] == [162, 722]


def test_names_and_mistakes():
    assert adapter.connect_four == PgxGame("connect_four")
    assert hash(adapter.connect_four) == hash(PgxGame("connect_four"))
    with pytest.raises(UsageError, match="pgx has no game 'ludo'"):
        PgxGame("ludo")
    assert not hasattr(adapter, "ludo")
    with pytest.raises(UsageError, match="pgx has no game 'ludo'"):
        make("jaxgo.adapters.pgx:ludo")
    with pytest.raises(UsageError, match="players"):
        PgxGame("minatar-asterix")
    for limit in (-1, 10_001):
        with pytest.raises(
            UsageError, match=f"limit={limit} of tic_tac_toe of pgx is not between 1 and 10000, or 0 for"
        ):
            PgxGame("tic_tac_toe", limit=limit)
    with pytest.raises(UsageError, match=r"PgxGame: limit=2\.5 is not a whole number"):
        untyped(PgxGame, env="tic_tac_toe", limit=2.5)
