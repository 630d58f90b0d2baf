"""Three Musketeers: listed positions, counts, playouts, solved endings, and a plain reference at every ply."""

import jax
import numpy as np
import pytest
from reference.musketeers import Musketeers as Reference
from reference.musketeers import soldiers_win
from reference.replay import check_agreement
from sparse import perft
from support import Host, check_playout, codes, perft_json, random_games

from jaxgo.core.errors import UsageError
from jaxgo.games.musketeers import Musketeers

GAME = Musketeers()
LANES = 32
GOLDEN = perft_json()["three_musketeers"]
SOLVED = GOLDEN["solved_positions"]
CHEAP = 100_000  # solved positions up to this many states take about a second of plain Python


def test_perft():
    assert perft(GAME, 7) == GOLDEN["perft"]["nodes"][:7]


@pytest.mark.slow
def test_perft_deep():
    assert perft(GAME, 8) == GOLDEN["perft"]["nodes"]


@pytest.mark.parametrize("record", GOLDEN["playouts"], ids=lambda r: f"seed{r['seed']}")
def test_playouts(record):
    check_playout(GAME, record)


@pytest.mark.parametrize("name", GOLDEN["hand_positions"])
def test_listed_positions(name):
    position = GOLDEN["hand_positions"][name]
    host = Host.at(GAME, position["board"], "Me".index(position["to_move"]))
    assert host.legal() == position["legal"]
    assert host.result == position["result_musketeers"]


def test_alignment_comes_before_being_stuck():
    """The musketeers have nothing to capture, but they stand in one row."""
    assert Host.at(GAME, "...../...../.M.MM/...../e....", 0).result == -1
    assert Host.at(GAME, "M..../.M.../..M../...../e....", 0).result == 1, "a diagonal is no line"


def test_musketeers_may_have_to_align_themselves():
    host = Host.at(GAME, "M..../M..../...../...../eM...", 0)
    assert [GAME.action_name(a) for a in host.legal()] == ["b1-a1"]
    host.play(GAME.parse_action("b1-a1"))
    assert host.result == -1
    assert float(host.transition.reward) == -1, "the musketeers lined up by their own move"


@pytest.mark.slow
@pytest.mark.parametrize(
    "position",
    [pytest.param(p, marks=() if p["searched"] <= CHEAP else pytest.mark.slow) for p in SOLVED],
    ids=lambda p: p["board"],
)
def test_solved_positions(position):
    seat = "Me".index(position["to_move"])
    assert Host.at(GAME, position["board"], seat).legal() == position["legal"]
    reference = Reference()
    root, known = reference.at(position["board"], seat), {}
    for action, winner in position["winner_after_action"].items():
        assert soldiers_win(reference, reference.step(root, int(action)), known) == (winner == "soldiers")


@pytest.mark.parametrize("seed", range(4))
def test_reference_agrees_at_every_ply(seed):
    assert check_agreement(GAME, Reference(), random_games(GAME, LANES, seed)) > 10 * LANES


def test_hash_from_scratch():
    games = random_games(GAME, LANES)
    rehash = jax.jit(GAME.hash)
    for t in range(len(games.actions)):
        for lane in range(0, LANES, 16):
            state = GAME.place(games.cells[t, lane], int(games.to_play[t, lane]))
            np.testing.assert_array_equal(rehash(state), games.keys[t, lane])
    other = GAME.place(games.cells[0, 0], 1)
    assert (np.asarray(rehash(other)) != games.keys[0, 0]).any(), "the side to move is part of the key"


def test_all_symmetries_of_the_square():
    """The contract test sees only those that keep the start; here every group element moves drawn positions."""
    rng = np.random.default_rng(0)
    cells, actions = GAME.symmetries()
    assert len(cells) == 8
    see = jax.jit(lambda s: (GAME.legal(s), GAME.observe(s), GAME.over(s), GAME.returns(s)))
    for trial in range(20):
        board = np.where(rng.random(25) < 0.5, 2, 0).astype(np.int8)
        board[rng.choice(25, 3, replace=False)] = 1
        mask, planes, over, returns = see(GAME.place(board, trial % 2))
        for group in range(8):
            mask_g, planes_g, over_g, returns_g = see(GAME.place(board[cells[group]], trial % 2))
            np.testing.assert_array_equal(mask_g, np.asarray(mask)[actions[group]])
            np.testing.assert_array_equal(planes_g.reshape(25, 3), np.asarray(planes).reshape(25, 3)[cells[group]])
            assert over_g == over
            np.testing.assert_array_equal(returns_g, returns)


def test_observation_is_the_movers():
    board = codes(GAME, "M..../.e.../..M../...e./....M")
    for seat in (0, 1):
        planes = np.asarray(GAME.observe(GAME.place(board, seat))).reshape(25, 3)
        np.testing.assert_array_equal(planes[:, 0], board == seat + 1)
        np.testing.assert_array_equal(planes[:, 1], board == 2 - seat)
        assert (planes[:, 2] == seat).all()


def test_a_position_needs_three_musketeers():
    with pytest.raises(UsageError, match="not 2"):
        GAME.place(codes(GAME, "M..../.e.../..M../...e./....."), 0)
