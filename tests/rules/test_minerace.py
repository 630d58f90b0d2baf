"""The mine race: solved boards, counts, exact values of random play, and the lines of the rules."""

import jax
import jaxtyping
import numpy as np
import pytest
from explore import counts, explore, values
from reference.minerace import MineRace as Reference
from reference.minerace import lost_cells
from reference.replay import check_agreement
from support import Host, perft_json, random_games

from jaxgo.core.errors import UsageError
from jaxgo.games import make
from jaxgo.games.minerace import MineRace

GOLDEN = perft_json()["silly_game"]
BOARDS = {name: record for name, record in GOLDEN.items() if name != "uct_reproduction"}
GAME = MineRace()


@pytest.fixture(params=BOARDS)
def board(request):
    return BOARDS[request.param]


def test_perft(board):
    layers = explore(MineRace(board["board"]), 12)[1:]
    golden = board["perft"]
    assert [int(layer.paths.sum()) for layer in layers] == golden["nodes"]
    assert [len(layer.paths) for layer in layers] == golden["distinct_states"]
    for layer, ends in zip(layers, golden["ends"], strict=True):
        assert int(layer.paths[layer.over & (layer.returns[:, 0] > 0)].sum()) == ends["p0_wins"]
        assert int(layer.paths[layer.over & (layer.returns[:, 0] < 0)].sum()) == ends["p1_wins"]


def test_solved(board):
    layers = explore(MineRace(board["board"]))
    value = values(layers)
    assert board["first_player_wins"] == (value[0][0] == 1)
    winning = [int(a) + 1 for a, child in zip(layers[0].action, layers[0].child, strict=True) if value[1][child] == -1]
    assert winning == board["winning_first_moves"]
    lost = {
        int(cell)
        for layer, worth in zip(layers, value, strict=True)
        for cell, v, over in zip(layer.states.token, worth, layer.over, strict=True)
        if v == -1 and not over
    }
    reached = {
        int(cell) for layer in layers for cell, over in zip(layer.states.token, layer.over, strict=True) if not over
    }
    # what is lost on a board is lost wherever it is met; cells that play cannot reach are the reference's alone
    assert sorted(lost) == [c for c in board["losing_positions_for_the_side_to_move"] if c in reached]
    assert lost_cells(board["board"]) == board["losing_positions_for_the_side_to_move"]
    assert len(lost) >= 3


def test_complete_games(board):
    layers = explore(MineRace(board["board"]))
    assert counts(layers, lambda layer: layer.over)[0][0] == board["total_game_lines"]


def test_value_of_random_play(board):
    """Exactly, by averaging backwards over every position of the game."""
    layers = explore(MineRace(board["board"]))
    average: list[np.ndarray] = []
    for layer in reversed(layers):
        seat = np.asarray(layer.states.to_play).astype(int)
        value = np.where(layer.over, layer.returns[np.arange(len(seat)), seat].astype(float), 0.0)
        if len(layer.parent):
            moves = np.bincount(layer.parent, minlength=len(value))
            following = np.bincount(layer.parent, weights=average[-1][layer.child], minlength=len(value))
            value = np.where(layer.over, value, -following / np.maximum(moves, 1))
        average.append(value)
    average.reverse()
    assert average[0][0] == pytest.approx(board["uniform_random_value_black"], abs=1e-12)
    first = dict(zip((layers[0].action + 1).tolist(), average[1][layers[0].child], strict=True))
    expected = dict(zip((1, 2, 3, 4), board["uniform_random_value_after_first_move_for_white"], strict=True))
    assert first == pytest.approx(expected, abs=1e-12)


def moves(*cells: int) -> list[int]:
    return [m - 1 for m in cells]


def test_the_notebook_s_trace():
    host = Host(MineRace(BOARDS["complex_b_win"]["board"])).play(*moves(1, 1))
    assert float(host.transition.discount) == -1
    host.play(*moves(4))
    assert int(host.state.token) == 6
    assert host.result == -1
    assert float(host.transition.reward) == -1


def test_the_notebook_s_line_with_lookahead():
    game = MineRace(BOARDS["complex_b_win"]["board"], lookahead=True)
    host, visited = Host(game), []
    for m in (2, 2, 1, 2, 1, 4, 4, 1, 4, 2, 2, 1, 1, 3):
        assert float(game.move_weights(host.state)[m - 1]) == 1, "the line steps on no mine"
        host.play(m - 1)
        visited.append(int(host.state.token))
    assert visited == [2, 4, 5, 7, 8, 12, 16, 17, 21, 23, 25, 26, 27, 30]
    assert int(host.state.to_play) == 0
    assert host.heuristic == -1, "black has only mines ahead"
    assert host.play(0).result == -1


def test_a_path_to_a_mine_of_white():
    host = Host(GAME).play(*moves(4, 4, 1, 2, 3, 1))
    assert int(host.state.token) == 15
    assert host.result == 1


def test_lookahead_avoids_mines_and_nothing_else():
    board = BOARDS["complex_b_win"]["board"]
    plain, careful = MineRace(board), MineRace(board, lookahead=True)
    weigh = jax.jit(careful.move_weights)
    for cell in range(len(board) - 4):
        if board[cell] == "I":
            continue
        drawn = np.where(np.arange(len(board)) == cell, np.int8(3), np.int8(0))
        weights = np.asarray(weigh(careful.place(drawn, 0)))
        for m in range(1, 5):
            assert (weights[m - 1] == 1) == (board[cell + m] != "I")
        assert (weights > 0).all()
        assert weights.max() == 1 or all(c == "I" for c in board[cell + 1 : cell + 5])
    np.testing.assert_array_equal(plain.move_weights(Host(plain).state), np.ones(4))


def test_nobody_runs_over_the_end():
    host = Host.at(MineRace("..-I"), ".@-I")
    assert host.legal() == [0, 1]
    assert [GAME.action_name(a) for a in range(4)] == ["1", "2", "3", "4"]


def test_reference_agrees_at_every_ply(board):
    game = MineRace(board["board"])
    assert check_agreement(game, Reference(board["board"]), random_games(game, 256)) > 256


@pytest.mark.parametrize("board", ["....", "I..I", "..x.I", "I", ""])
def test_wrong_boards_are_told(board, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(UsageError, match="board"):
        make("minerace", board=board)


def test_a_drawing_needs_one_token():
    with pytest.raises(UsageError, match="one token"):
        Host.at(GAME, "@...-@...-....-IIII")
