"""What games without a score of their own guess: lines that are still open, ways home, room between musketeers."""

import itertools

import jax
import numpy as np
import pytest
from support import random_games

from jaxgo.games import GAMES, make

LANES = 32


def plain_lead(stones: dict[tuple[int, ...], int], lines: list[list[tuple[int, ...]]], seat: int) -> float:
    total = 0
    for line in lines:
        count = [sum(stones.get(cell) == who for cell in line) for who in (seat, 1 - seat)]
        if min(count) == 0 and max(count) > 0:
            total += 4 ** (max(count) - 1) * (1 if count[0] else -1)
    return float(np.tanh(total / 40))


def lines_of(size: tuple[int, ...], k: int) -> list[list[tuple[int, ...]]]:
    found = set()
    for cell in itertools.product(*map(range, size)):
        for step in itertools.product((-1, 0, 1), repeat=len(size)):
            line = [tuple(c + i * d for c, d in zip(cell, step, strict=True)) for i in range(k)]
            if any(step) and all(0 <= v < n for point in line for v, n in zip(point, size, strict=True)):
                found.add(tuple(sorted(line)))
    return [list(line) for line in found]


@pytest.mark.parametrize("name", ["connect4", "scorefour"])
def test_open_lines_are_counted(name):
    game = GAMES[name]
    games = random_games(game, LANES)
    guess = np.asarray(jax.jit(jax.vmap(game.heuristic))(games.final.state))
    seats = np.asarray(games.final.state.to_play)
    for cells, seat, value in zip(games.cells[-1], seats.tolist(), guess, strict=True):
        if name == "connect4":
            stones = {(i // 7, i % 7): c - 1 for i, c in enumerate(cells.tolist()) if c in (1, 2)}
            lines = lines_of((6, 7), 4)
        else:
            board = np.asarray(cells).reshape(4, -1)
            stones = {
                (level, r, c): int(board[r, 5 * level + c]) - 1
                for level, r, c in itertools.product(range(4), repeat=3)
                if board[r, 5 * level + c] in (1, 2)
            }
            lines = lines_of((4, 4, 4), 4)
        assert value == pytest.approx(plain_lead(stones, lines, seat), abs=1e-5)


def test_score_four_weighs_wins_above_blocks_above_the_rest():
    game = make("scorefour")
    state = jax.jit(game.init)(jax.random.key(0))
    step = jax.jit(game.step)
    for action in (0, 4, 1, 5, 2, 6):  # each has three in a row at the bottom
        state = step(state, action)
    weights = np.asarray(jax.jit(game.move_weights)(state))
    assert np.argsort(-weights)[:2].tolist() == [3, 7]
    assert weights[3] > 1000 > weights[7] > 300 > weights[8:].max()


def test_towers_go_home_and_do_not_send_others_home():
    game = GAMES["kamisado"]
    games = random_games(game, LANES)
    ask = jax.jit(jax.vmap(lambda s: (game.legal(s), game.move_weights(s), game.heuristic(s))))
    step = jax.jit(jax.vmap(lambda s, a: (game.over(game.step(s, a)), game.step(s, a))))
    state = jax.jit(jax.vmap(lambda key: game.init(key)))(jax.random.split(jax.random.key(0), LANES))
    homes = 0
    for actions in games.actions[:20]:
        legal, weights, guess = (np.asarray(x) for x in ask(state))
        assert (np.abs(guess) <= 0.5).all()
        best = np.where(legal, weights, 0).argmax(axis=1)
        over = np.asarray(step(state, best)[0])
        home = np.where(legal, weights, 0).max(axis=1) == 1000
        assert over[home].all()  # where a tower may go home, the game is won
        homes += int(home.sum())
        state = step(state, actions)[1]
    assert homes > 5


def test_musketeers_like_room():
    game = GAMES["musketeers"]
    value = jax.jit(game.heuristic)

    def of(rows: str, seat: int) -> float:
        return float(value(game.place(np.array([".Me".index(c) for c in rows.replace("/", "")], np.int8), seat)))

    apart, near = "M..../...../..M../...../....M", "MM.../...../..M../...../....."
    assert of(apart, 0) > of(near, 0)
    assert of(apart, 0) == -of(apart, 1)
