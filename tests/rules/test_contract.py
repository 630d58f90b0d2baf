"""What every registered game promises. A new entry in GAMES is tested here without another line."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import random_games, start

from jaxgo.core import play
from jaxgo.core.game import state_bytes
from jaxgo.games import GAMES

# bytes of a node: big boards of crossings and stacks cost more, and nobody else may
BUDGET = {"go9": 400, "go13": 800, "go19": 1400, "gomoku15": 300, "gomoku19": 450, "swap2-15": 320}
LANES = 32
SCALARS = {"to_play": jnp.int8, "ply": jnp.int16}


def kind(game) -> tuple:
    """What games have in common that differ in their size only."""
    options = dataclasses.asdict(game).values()
    return type(game), *(value for value in options if isinstance(value, (bool, str)))


def played() -> list:
    """All games; of those that differ in size only the smallest is played in every run, the others are slow.

    So are games whose rules take long to compile and have tests of their own.
    """
    smallest: dict[tuple, str] = {}
    for name in sorted(GAMES, key=lambda name: (GAMES[name].num_actions, GAMES[name].max_plies)):
        smallest.setdefault(kind(GAMES[name]), name)
    return [
        name
        if smallest[kind(GAMES[name])] == name and name not in ("maharajah", "archimedes", "renju15", "chess")
        else pytest.param(name, marks=pytest.mark.slow)
        for name in sorted(GAMES)
    ]


@pytest.fixture(params=sorted(GAMES))
def game(request):
    return GAMES[request.param]


on_played = pytest.mark.parametrize("game", played(), indirect=True)


def test_shapes_and_dtypes_stay(game):
    state = jax.eval_shape(game.init, jax.random.key(0))
    after = jax.eval_shape(game.step, state, jnp.int32(0))
    assert jax.tree.map(lambda x: (x.shape, x.dtype), state) == jax.tree.map(lambda x: (x.shape, x.dtype), after)
    for name, dtype in SCALARS.items():
        assert getattr(state, name).dtype == dtype
        assert getattr(state, name).shape == ()
    height, width = game.shape
    planes = jax.eval_shape(game.observe, state)
    assert planes.shape[:2] == (height, width)
    assert planes.ndim == 3
    assert jax.eval_shape(game.legal, state).shape == (game.num_actions,)
    assert jax.eval_shape(game.returns, state).shape == (game.players,)
    assert jax.eval_shape(game.cells, state).shape == (game.picture[0] * game.picture[1],)
    assert jax.eval_shape(game.hash, state).dtype == jnp.uint32


@pytest.mark.parametrize("name", sorted(GAMES))
def test_a_state_keeps_its_byte_budget(name):
    assert state_bytes(GAMES[name]) <= BUDGET.get(name, 400)


@on_played
def test_random_games(game):
    """Legal moves while live, the sign law, zero sums, an end by max_plies, and finished games that stand still."""
    games = random_games(game, LANES)
    some_legal = games.legal_bits.any(-1)
    np.testing.assert_array_equal(some_legal, games.live, err_msg="legal actions exist exactly while a game is live")
    can_move, ended = jax.jit(jax.vmap(lambda p: (play.legal(game, p), play.over(game, p))))(games.final)
    assert not np.asarray(can_move).any()
    if game.players == 2:
        np.testing.assert_allclose(games.returns.sum(-1), 0.0)
        assert set(np.unique(games.to_play)) <= {0, 1}
    else:
        assert not games.to_play.any()
    assert (np.abs(games.returns) <= 1).all()

    # the sign law: rolling the transitions back from the end gives the mover of every ply his own result
    value = np.zeros(LANES, np.float32)
    for t in reversed(range(len(games.actions))):
        value = np.where(games.live[t], games.rewards[t] + games.discounts[t] * value, value)
        mine = np.take_along_axis(games.returns, games.to_play[t][:, None].astype(int), 1)[:, 0]
        np.testing.assert_allclose(value[games.live[t]], mine[games.live[t]], atol=1e-6)
        dead = ~games.live[t]
        np.testing.assert_array_equal(games.cells[t + 1][dead], games.cells[t][dead])
        assert not games.rewards[t][dead].any()
        assert not games.discounts[t][dead].any()
    assert np.asarray(ended).all(), f"games run past max_plies={game.max_plies}"


@on_played
def test_hash_tells_positions_apart(game):
    """Equal keys mean equal boards, and the same key comes from the same board and mover."""
    games = random_games(game, LANES)
    cells = games.cells.reshape(-1, games.cells.shape[-1])
    keys = games.keys.reshape(-1, 2).astype(np.uint64)
    movers, seen = games.to_play.reshape(-1).tolist(), dict[int, tuple[bytes, int]]()
    for key, board, mover in zip((keys[:, 0] << np.uint64(32) | keys[:, 1]).tolist(), cells, movers, strict=True):
        there = board.tobytes(), mover
        assert seen.setdefault(key, there) == there, "two boards, or movers, share a key"


def test_names_of_actions_parse_back(game):
    for action in range(game.num_actions):
        assert game.parse_action(game.action_name(action)) == action
    with pytest.raises(ValueError, match="zz9"):
        game.parse_action("zz9")


def test_symmetries_are_permutations(game):
    cells, actions = game.symmetries()
    np.testing.assert_array_equal(cells[0], np.arange(cells.shape[1]))
    np.testing.assert_array_equal(actions[0], np.arange(game.num_actions))
    for rows in (cells, actions):
        np.testing.assert_array_equal(np.sort(rows, axis=1), np.broadcast_to(np.arange(rows.shape[1]), rows.shape))


@on_played
def test_symmetric_games_stay_symmetric(game):
    """A game replayed through a symmetry that keeps the start shows the transformed planes and masks at every ply."""
    cells, actions = game.symmetries()
    first = start(game)(jax.random.key(0))
    planes = np.asarray(jax.jit(game.observe)(first.state))
    flat = planes.reshape(-1, planes.shape[-1])
    keeps = [g for g in range(1, len(cells)) if (flat[cells[g]] == flat).all()]
    if not keeps:
        return  # the identity, or symmetries that move the start: the game's own tests set positions up
    games = random_games(game, LANES)
    see = jax.jit(jax.vmap(lambda p: (play.legal(game, p), game.observe(p.state))))
    move = jax.jit(jax.vmap(functools.partial(play.play, game)))
    lanes = max(1, 16 // len(keeps))
    plain = jax.tree.map(lambda x: np.stack([x] * (lanes * len(keeps))), jax.device_get(first))
    mirrored = plain
    group = np.repeat(keeps, lanes)
    inverse = np.argsort(actions[group], axis=1)
    picks = np.tile(np.arange(lanes), len(keeps))
    rows = np.arange(len(group))
    for t in range(min(len(games.actions), 120)):
        mask, seen = jax.device_get(see(plain))
        mask_m, seen_m = jax.device_get(see(mirrored))
        np.testing.assert_array_equal(mask_m, mask[rows[:, None], actions[group]])
        seen = seen.reshape(len(group), -1, seen.shape[-1])
        np.testing.assert_array_equal(seen_m.reshape(seen.shape), seen[rows[:, None], cells[group]])
        action = games.actions[t, picks]
        plain, _ = move(plain, jnp.asarray(action))
        mirrored, _ = move(mirrored, jnp.asarray(inverse[rows, action].astype(np.int32)))
