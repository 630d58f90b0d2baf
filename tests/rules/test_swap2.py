"""Opening rules of gomoku: swap and swap2 phase by phase, pro and long pro, and a plain reference at every ply."""

import jax
import numpy as np
import pytest
from reference.replay import check_agreement
from reference.swap2 import Swap
from support import Host, random_games, sample_lanes

from jaxgo.core.errors import UsageError
from jaxgo.games import make
from jaxgo.games.gomoku.rules import Gomoku

GAME = make("swap2-15")
SMALL = Gomoku(7, "freestyle", "swap2")
SWAP = Gomoku(7, "standard", "swap")
CELLS = list(range(49))
WHITE, BLACK, MORE = 49, 50, 51


def opened():
    """Seat 0 has put black, white, black on the first row."""
    return Host(SMALL).play(0, 1, 2)


def test_three_stones_by_one_seat():
    host = Host(SMALL)
    for count, row in enumerate(("X......", "XO.....", "XOX....")):
        assert host.state.to_play == 0
        assert host.legal() == CELLS[count:]
        host.play(count)
        assert host.rows.startswith(row)
        assert float(host.transition.discount) == (1 if count < 2 else -1)  # the same seat goes on: no change of sign
    assert host.state.to_play == 1
    assert host.legal() == [WHITE, BLACK, MORE]


def test_the_chooser_takes_white_and_moves():
    host = opened().play(WHITE)
    assert float(host.transition.discount) == 1
    assert host.state.to_play == 1
    host.play(10)
    assert host.rows == "XOX..../...O.../......./......./......./......./......."
    assert host.state.to_play == 0
    assert host.play(11).rows.split("/")[1] == "...OX.."


def test_the_chooser_takes_black_and_the_other_moves():
    host = opened().play(BLACK)
    assert float(host.transition.discount) == -1
    assert host.state.to_play == 0
    assert host.play(10).rows.split("/")[1] == "...O..."
    assert host.state.to_play == 1


@pytest.mark.parametrize(("choice", "seat_of_white"), [(WHITE, 0), (BLACK, 1)])
def test_two_more_stones_hand_the_choice_back(choice, seat_of_white):
    host = opened().play(MORE)
    assert float(host.transition.discount) == 1
    assert host.state.to_play == 1
    assert host.play(10).state.to_play == 1
    assert host.play(11).rows.split("/")[1] == "...OX.."
    assert host.state.to_play == 0
    assert host.legal() == [WHITE, BLACK]
    assert host.play(choice).state.to_play == seat_of_white
    assert host.play(12).rows.split("/")[1] == "...OXO."
    assert host.state.to_play == 1 - seat_of_white


@pytest.mark.parametrize(("choice", "seat_of_black"), [(WHITE, 0), (BLACK, 1)])
def test_results_belong_to_seats(choice, seat_of_black):
    """The black line wins for whoever took Black."""
    host = opened().play(choice)
    for white, black in ((42, 3), (43, 5), (44, 6), (46, 10), (47, 17), (33, 24)):
        host.play(white, black)
    assert not host.over
    host.play(21, 31)  # the fifth stone down the file
    assert host.over
    assert host.result == (1 if seat_of_black == 0 else -1)
    assert float(host.transition.reward) == 1  # the winner moved last


def test_the_choice_changes_the_key():
    keys = [tuple(np.asarray(SMALL.hash(host.state)).tolist()) for host in branches()]
    assert len(set(keys)) == len(keys)


def branches():
    """The same stones, five different futures."""
    yield opened()
    for choice in (WHITE, BLACK, MORE):
        yield opened().play(choice)
    yield Host.at(SMALL, "XOX..../......./......./......./......./......./.......", 0)


def test_planes_tell_the_phases():
    seen = set()
    hosts = [Host(SMALL), opened(), opened().play(MORE), opened().play(MORE, 3, 4), opened().play(WHITE)]
    for host in hosts:
        planes = host.planes
        assert planes.shape == (7, 7, 11)
        phases = planes[:, :, 7:]
        assert (phases == phases[0, 0]).all()
        seen.add(tuple(phases[0, 0].tolist()))
    assert len(seen) == 5
    # the next stone is white: its own stones first
    planes = np.asarray(SMALL.observe(opened().state))
    assert np.argwhere(planes[:, :, 0]).tolist() == [[0, 1]]
    assert np.argwhere(planes[:, :, 1]).tolist() == [[0, 0], [0, 2]]
    assert not planes[:, :, 6].any()


def test_names():
    assert [GAME.action_name(a) for a in (0, 224, 225, 226, 227)] == ["a15", "o1", "white", "black", "more"]
    assert GAME.parse_action("More") == 227
    assert SWAP.num_actions == 51
    with pytest.raises(UsageError, match="more"):
        SWAP.parse_action("more")


def test_choices_keep_still_under_symmetries():
    cells, actions = GAME.symmetries()
    assert len(cells) == 8
    assert (actions[:, 225:] == [225, 226, 227]).all()


def test_nothing_is_guessed_before_the_colours_are_chosen():
    """Two black stones in a row are good for the seat that plays Black, and for nobody before."""
    guess = jax.jit(SMALL.heuristic)
    hosts = [Host(SMALL).play(8, 1, 16, *choice) for choice in ((), (MORE,), (WHITE,), (BLACK,))]
    before, between, white, other_white = (float(guess(host.state)) for host in hosts)
    assert before == between == 0
    assert white == other_white < 0


@pytest.mark.slow
@pytest.mark.parametrize(("game", "more"), [(SMALL, True), (SWAP, False)], ids=["swap2", "swap"])
def test_the_reference_agrees(game, more):
    games = random_games(game, 256)
    check_agreement(game, Swap(7, game.rules, more), games)


def test_the_registered_game_agrees():
    games = random_games(GAME, 64)
    check_agreement(GAME, Swap(15, "standard", True), games, sample_lanes(games, 8))


@pytest.mark.parametrize(("opening", "far"), [("pro", 3), ("long-pro", 4)])
def test_pro_openings(opening, far):
    host = Host(Gomoku(9, "standard", opening))
    assert host.legal() == [40]
    host.play(40)
    assert len(host.legal()) == 80
    host.play(0)
    row, column = np.divmod(np.array(host.legal()), 9)
    distance = np.maximum(abs(row - 4), abs(column - 4))
    assert distance.min() == far
    assert len(distance) == 81 - (2 * far - 1) ** 2 - 1
    host.play(80)
    assert len(host.legal()) == 78


@pytest.mark.parametrize(("size", "opening"), [(14, "pro"), (5, "pro"), (7, "long-pro")])
def test_pro_needs_a_centre_and_room(size, opening):
    with pytest.raises(UsageError, match="odd size of at least"):
        Gomoku(size, opening=opening)
