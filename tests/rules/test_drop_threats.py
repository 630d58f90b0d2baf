"""Threats of games with gravity: by the plain references, by the look at every reply, and proofs by exact values."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from explore import explore, values
from reference.connect4 import ConnectFour as PlainConnectFour
from reference.scorefour import ScoreFour as PlainScoreFour
from support import mostly_slow, random_games

from jaxgo.core import lookahead
from jaxgo.games.connect4 import ConnectFour
from jaxgo.games.scorefour import ScoreFour
from jaxgo.search import forcing, threats

SMALL = ConnectFour(4, 3, 3)
GAMES = {
    "4x3": (SMALL, PlainConnectFour(4, 3, 3), 400),
    "7x6": (ConnectFour(), PlainConnectFour(), 200),
    "score four": (ScoreFour(), PlainScoreFour(), 12),
}


@functools.cache
def positions(name: str) -> tuple[Any, list[Any]]:
    """Live positions of random games, as the arrays have them and as columns of seats."""
    game, plain, count = GAMES[name]
    games = random_games(game, 64)
    rng = np.random.default_rng(4)
    start, step = game.init(jax.random.key(0)), jax.jit(game.step)
    arrays, columns = [], []
    while len(columns) < count:
        lane = int(rng.integers(64))
        plies = int(rng.integers(games.live[:, lane].sum()))
        state, reference = start, plain.initial()
        for action in games.actions[:plies, lane].tolist():
            state, reference = step(state, jnp.int32(action)), plain.step(reference, action)
        arrays.append(jax.device_get(state))
        columns.append((reference[0], reference[1] % 2))
    return jax.tree.map(lambda *x: np.stack(x), *arrays), columns


def room(plain: Any, columns: Any) -> set[int]:
    return set(plain.legal((columns, 0, None)))


def after(plain: Any, columns: Any, seat: int, column: int) -> Any:
    return plain.step((columns, seat, None), column)[0]


def wins(plain: Any, columns: Any, seat: int) -> set[int]:
    return {c for c in room(plain, columns) if plain.step((columns, seat, None), c)[2] == 1 - 2 * seat}


def named(plain: Any, columns: Any, mover: int) -> list[list[set[int]]]:
    """What `Threats` should say, by its definitions and by playing everything."""
    kinds: list[list[set[int]]] = [[], [], [], []]
    for seat in (mover, 1 - mover):
        ways = {c: after(plain, columns, seat, c) for c in room(plain, columns)}
        left = {c: len(wins(plain, board, seat)) for c, board in ways.items()}
        twice = {
            c: [len(wins(plain, after(plain, board, seat, d), seat)) for d in room(plain, board)]
            for c, board in ways.items()
        }
        kinds[0].append(wins(plain, columns, seat))
        kinds[1].append({c for c in left if left[c] >= 1})
        kinds[2].append({c for c in left if left[c] >= 2})
        kinds[3].append({c for c in left if max(twice[c], default=0) >= 2})
    safe = {c for c in room(plain, columns) if not wins(plain, after(plain, columns, mover, c), 1 - mover)}
    all_safe = safe == room(plain, columns) and not kinds[0][1]
    return [*kinds, [set() if all_safe else safe or kinds[0][1]]]


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_slow(GAMES, ["4x3"]))
def test_threats_are_what_playing_everything_says(name):
    game, plain, _ = GAMES[name]
    states, columns = positions(name)
    found = jax.device_get(jax.jit(jax.vmap(game.threats))(states))
    seen = np.zeros(5, int)
    for i, (board, mover) in enumerate(columns):
        for kind, (field, expected) in enumerate(zip(found, named(plain, board, mover), strict=True)):
            rows = field[i].reshape(-1, game.num_actions)
            assert [set(np.flatnonzero(row)) for row in rows] == expected, (board, mover, kind)
            seen[kind] += sum(map(len, expected))
    assert (seen > 5).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_slow(GAMES, ["4x3", "score four"]))
def test_safe_moves_are_those_of_a_look_at_every_reply(name):
    """And what threats let a search look at is no move that loses at once, as long as there is another."""
    game = GAMES[name][0]
    states, _ = positions(name)

    @jax.jit
    def ask(states: Any) -> Any:
        legal = jax.vmap(game.legal)(states)
        plain = jax.vmap(functools.partial(lookahead.look, game))(states, legal)
        return legal, plain, jax.vmap(game.safe)(states, legal), forcing.narrowed(game, states, legal)

    legal, plain, safe, counted = jax.device_get(ask(states))
    np.testing.assert_array_equal(safe, legal & ~plain.loses)
    some, won = safe.any(axis=1, keepdims=True), plain.wins.any(axis=1, keepdims=True)
    assert 0 < won.sum() < len(won)
    assert not some.all()
    np.testing.assert_array_equal(counted[some[:, 0]], np.where(won, plain.wins, safe)[some[:, 0]])
    assert (counted & legal).any(axis=1).all()


@pytest.mark.slow
def test_proofs_by_threats_are_true_in_every_position_of_a_small_board():
    """By forcing and by quiet moves: nobody is called a winner who is none, to the last cell of the board."""
    layers = explore(SMALL)
    states = jax.tree.map(lambda *x: np.concatenate(x), *[layer.states for layer in layers])
    worth = np.concatenate(values(layers))
    live = ~np.concatenate([layer.over for layer in layers])

    def prove(quiet: bool) -> np.ndarray:
        @jax.jit
        def ask(states: Any) -> Any:
            legal = jax.vmap(SMALL.legal)(states)
            return threats.prove(SMALL, states, legal, jnp.asarray(live), 100, depth=12, quiet=quiet)[0]

        return np.asarray(ask(states))

    fours, quiet = prove(False), prove(True)
    wins = live & (worth == 1)
    assert not (fours & ~wins).any()
    assert not (quiet & ~wins).any()
    assert 0.8 * wins.sum() < fours.sum() < (fours | quiet).sum() < wins.sum()
