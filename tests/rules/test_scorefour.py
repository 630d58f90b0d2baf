"""Score Four: counts, playouts, every one of the 76 lines, a plain reference at every ply."""

import jax
import numpy as np
import pytest
from explore import explore
from reference.replay import check_agreement
from reference.scorefour import LINES
from reference.scorefour import ScoreFour as Reference
from support import Host, check_playout, perft_json, random_games

from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.games import GAMES
from jaxgo.games.scorefour import PEGS, ScoreFour, lines

GAME = ScoreFour()
GOLDEN = perft_json()["score_four"]


def test_perft():
    layers = explore(GAME, 5)[1:]
    assert [int(layer.paths.sum()) for layer in layers] == GOLDEN["perft"]["nodes"]
    assert [len(layer.paths) for layer in layers] == GOLDEN["perft"]["distinct_states"]
    assert not any(layer.over.any() for layer in layers)


@pytest.mark.parametrize("record", GOLDEN["playouts"], ids=lambda r: f"seed{r['seed']}")
def test_playouts(record):
    check_playout(GAME, record)


def test_the_lines_are_the_reference_s():
    assert len(lines()) == GOLDEN["lines"] == len(LINES)
    mine = {tuple(line) for line in lines().tolist()}
    assert mine == {tuple(PEGS.mask([(x + 4 * y, z) for x, y, z in line]).tolist()) for line in LINES}


def test_four_on_one_peg_win_at_ply_seven():
    host = Host(GAME).play(0, 1, 0, 1, 0, 1)
    assert not host.over
    host.play(0)
    assert host.result == 1
    assert host.rows == "XO.. XO.. XO.. X.../" + "/".join(["...." + " ...." * 3] * 3)
    assert GAME.parse_action("A4") == 0


def test_a_rising_diagonal_wins_for_the_second_seat():
    host = Host(GAME).play(5, 0, 10, 5, 10, 10, 15, 3, 15, 3, 15)
    assert not host.over
    placed = GAME.place(np.asarray(GAME.cells(host.state)), 1)
    np.testing.assert_array_equal(placed.stones, host.state.stones)
    assert host.play(15).result == -1


def test_reference_agrees_at_every_ply():
    assert check_agreement(GAME, Reference(), random_games(GAME, 256)) > 256


def test_planes_show_own_beads_level_by_level():
    planes = Host(GAME).play(6, 6, 6, 1).planes
    assert np.argwhere(planes).tolist() == [[0, 1, 4], [1, 2, 0], [1, 2, 2], [1, 2, 5]]


def test_a_hanging_bead_is_refused():
    with pytest.raises(UsageError, match="hangs"):
        Host.at(GAME, "/".join([".... X... .... ...."] + [".... .... .... ...."] * 3))


@pytest.mark.parametrize("name", ["scorefour", "connect3d"])
def test_a_stone_that_is_drawn_beside_the_board_is_refused(name):
    """It was left out without a word."""
    game = GAMES[name]
    drawn = np.array(play.cells(game, game.init(jax.random.key(0))))
    for gap in np.flatnonzero(drawn == 3)[[0, -1]]:
        cells = drawn.copy()
        cells[gap] = 1
        with pytest.raises(UsageError, match="drawn beside the boards"):
            game.place(cells, 0)


def test_a_gap_that_is_drawn_on_a_board_is_refused():
    cells = np.array(play.cells(GAME, GAME.init(jax.random.key(0))))
    gap, on_board = cells.max(), np.flatnonzero(cells == 0)[0]
    cells[on_board] = gap
    with pytest.raises(UsageError, match="drawn as a gap between boards"):
        GAME.place(cells, 0)
