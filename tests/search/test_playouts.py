"""Dagaz's log of playouts: every line is of the search that it shows, and tells where its playout ended."""

import re

import jax
import numpy as np
import pytest

from jaxgo.cli import main as cli
from jaxgo.evaluators import Rollout
from jaxgo.games import make
from jaxgo.search import Flat, Model, playouts

PULLS = 40
LINE = re.compile(r"Move: (\w\d); Goal: (-?[01]); Deep: (\d+); Player: ([12]); P1: ([\d ]*); P2: ([\d ]*)")
LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


@pytest.mark.slow
def test_every_playout_is_logged_with_its_true_end():
    """On the empty board of tic-tac-toe, where the stones at the end tell depth, mover and winner."""
    game, flat = make("tictactoe"), Flat()
    model = Model(game, Rollout())
    root = jax.jit(lambda key: model.start(key, 1))(jax.random.key(0))
    state, found = playouts.watch(flat, model, (), jax.random.key(3), root, PULLS)
    lines = list(playouts.log(flat, game, state, found, game.action_name))
    each, moves = lines[:PULLS], lines[PULLS:]
    assert len(found) == PULLS == int(state.visits.sum())
    for line, playout in zip(each, found, strict=True):
        name, goal, deep, seat, first, second = LINE.fullmatch(line).groups()
        stones = [{int(cell) for cell in text.split()} for text in (first, second)]
        won = [any(set(row) <= of for row in LINES) for of in stones]
        assert int(goal) == won[0] - won[1]
        assert int(deep) == len(stones[0]) + len(stones[1]) >= 5
        assert int(seat) == 1 + int(deep) % 2
        assert game.parse_action(name) == playout.move
        assert playout.move in stones[0]
    total = np.zeros(9)
    np.add.at(total, [p.move for p in found], [p.goal for p in found])
    np.testing.assert_allclose(total, np.asarray(state.total)[0], err_msg="not the playouts of the search")
    heads = [float(line.split(";")[0].removeprefix("Weight = ")) for line in moves]
    assert heads == sorted(heads, reverse=True)
    assert sum(int(re.search(r"All = (\d+)", line)[1]) for line in moves) == PULLS
    best = int(flat.result(jax.random.key(0), state).action[0])
    assert moves[0].endswith(f"Move = {game.action_name(best)}") or heads[0] == heads[1]


def test_only_flat_searches_with_rollouts_have_playouts(capsys):
    assert cli.main(["analyse", "tictactoe", "--playouts", "--agent", "greedy"]) == 2
    assert "flat search with rollouts" in capsys.readouterr().err
    assert cli.main(["analyse", "tictactoe", "--playouts", "--json"]) == 2
    assert "choose one" in capsys.readouterr().err
    for more in (["--seconds", "60"], ["--rows", "1"], ["--line", "zz"]):
        assert cli.main(["analyse", "tictactoe", "--playouts", "--agent", "flat:6", *more]) == 2
        assert "leave --seconds, --rows and --line out" in capsys.readouterr().err
