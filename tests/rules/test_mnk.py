"""k in a row: counts, exact values, and a plain reference at every ply."""

import numpy as np
import pytest
from explore import explore, values
from reference.mnk import Mnk as Reference
from reference.replay import check_agreement
from support import Host, perft_json, random_games

from jaxgo.core.errors import UsageError
from jaxgo.games import make
from jaxgo.games.mnk import Mnk

GOLDEN = perft_json()["gomoku"]


@pytest.mark.parametrize(("side", "k", "depth"), [(3, 3, 9), (4, 4, 4), (4, 3, 5)])
def test_perft(side, k, depth):
    golden = GOLDEN["perft"][f"mnk_{side}_{side}_{k}"]
    layers = explore(Mnk(side, side, k), depth)[1:]
    assert [int(layer.paths.sum()) for layer in layers] == golden["nodes"][:depth]
    assert [len(layer.paths) for layer in layers] == golden["distinct_states"][:depth]
    for layer, ends in zip(layers, golden["ends"], strict=False):
        first = layer.returns[:, 0]
        for name, value in (("p0_wins", 1), ("draws", 0), ("p1_wins", -1)):
            assert int(layer.paths[layer.over & (first == value)].sum()) == ends[name]


def test_values():
    """Tic-tac-toe is a draw; three in a row on 4 x 4 is won."""
    assert values(explore(Mnk(3, 3, 3)))[0].tolist() == [GOLDEN["mnk_values"]["3,3,3"][0]]
    # six plies are enough: what is undecided then counts as lost for the first seat, and it wins all the same
    assert values(explore(Mnk(4, 4, 3), depth=6))[0].tolist() == [GOLDEN["mnk_values"]["4,4,3"][0]]


@pytest.mark.slow
@pytest.mark.parametrize(
    "game", [(3, 3, 3), (4, 6, 4), pytest.param((7, 5, 5), marks=pytest.mark.slow), (1, 8, 3)], ids=str
)
def test_the_reference_agrees(game):
    games = random_games(Mnk(*game), 256)
    assert check_agreement(Mnk(*game), Reference(*game), games) > 256 * game[2]


def test_a_line_on_the_last_cell_wins():
    host = Host.at(Mnk(), "XXO/OOX/XO.", 0)
    assert host.play(8).result == 0
    host = Host.at(Mnk(), "XOX/OXO/OX.", 0)
    assert host.play(8).result == 1


def test_rows_do_not_run_on():
    assert Host.at(Mnk(), "..X/X../O.O", 0).play(4).result is None
    assert Host.at(Mnk(3, 4, 3), "..XX/X.../O.O.", 1).play(5).result is None


def test_names():
    game = make("tictactoe")
    assert [game.action_name(a) for a in range(9)] == ["a3", "b3", "c3", "a2", "b2", "c2", "a1", "b1", "c1"]
    assert game.parse_action(" B2 ") == 4


@pytest.mark.parametrize(
    ("options", "text"), [((3, 3, 4), "k=4"), ((0, 3, 1), "0 x 3"), ((27, 3, 3), "27 x 3"), ((3, 3, 0), "k=0")]
)
def test_wrong_sizes(options, text):
    with pytest.raises(UsageError, match=text):
        Mnk(*options)


def test_planes_show_the_mover_first():
    game = make("tictactoe")
    host = Host(game).play(4, 0)
    planes = host.planes
    assert np.argwhere(planes[:, :, 0]).tolist() == [[1, 1]]
    assert np.argwhere(planes[:, :, 1]).tolist() == [[0, 0]]


def test_who_moves_is_part_of_the_hash():
    """A drawn board does not tell it, and tables of solved games are asked by the hash."""
    game, cells = Mnk(), np.array([1, 1, 0, 2, 0, 0, 0, 0, 0], np.int8)
    first, second = (np.asarray(game.hash(game.place(cells, seat))).tolist() for seat in (0, 1))
    assert first != second
