"""What is foreseen of points: never more than a board is worth, and by a net that has learnt it from either side."""

import pytest

from jaxgo.frontends import board as boards
from jaxgo.frontends.outlook import foresee
from jaxgo.games import make
from jaxgo.players import load_player


@pytest.mark.slow
def test_nobody_leads_by_more_than_the_board_and_komi_allow():
    outlook = foresee(boards.begin(make("go5", komi=7.0)), load_player("random", make("go5", komi=7.0)))
    wide = outlook._replace(spread=25.0)
    assert [wide.lead(1.0, seat) for seat in (0, 1)] == [18.0, 32.0]
    assert [wide.lead(-1.0, seat) for seat in (0, 1)] == [-32.0, -18.0]
    assert abs(outlook.lead(0.0, 0)) < 1e-6
    discs = foresee(boards.begin(make("othello", size=4)), load_player("random", make("othello", size=4)))
    assert [discs._replace(spread=25.0).lead(1.0, seat) for seat in (0, 1)] == [16.0, 16.0]


@pytest.mark.slow
def test_a_net_tells_the_lead_here_and_after_each_move_for_either_side():
    """Black has all but the lower edge, and White more by komi; a game that is over is counted, not guessed."""
    game, ahead = make("go5"), -19.5
    player = load_player("greedy@go5-cpu", game)
    board = boards.from_text(game, "XXXXX/X.X.X/XXXXX/OOOOO/O.O.O 0")
    outlook = foresee(board.play(game.num_actions - 1), player)
    assert outlook.lead(0.9, 0) == -outlook.lead(-0.9, 1), "whatever a search thinks"
    assert outlook.lead(0.9, 0) == pytest.approx(ahead, abs=10)
    assert [outlook.lead(0.9, seat, game.num_actions - 1) for seat in (0, 1)] == pytest.approx([ahead, -ahead])
    assert min(outlook.owned[:15]) > 0.5 > -0.5 > max(outlook.owned[15:])
    other = foresee(board, load_player("random", game))
    assert other.leads is None
    assert other.spread > 0
