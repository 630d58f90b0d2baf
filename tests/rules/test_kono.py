"""Four-Field Kono: listed positions, counts, playouts, solved endgames, and a plain reference at every ply."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.kono import Kono as Reference
from reference.replay import check_agreement
from reference.solve import solve
from sparse import perft
from support import Host, check_hashes, check_playout, mostly_slow, perft_json, random_games

from jaxgo.core import play
from jaxgo.games import make
from jaxgo.games.kono import Kono

GAME = Kono()
LANES = 32
GOLDEN = perft_json()["four_field_kono"]
POSITIONS = GOLDEN["positions"]


def test_perft():
    assert perft(GAME, 7) == GOLDEN["perft"]["nodes"][:7]


@pytest.mark.slow
def test_perft_deep():
    assert perft(GAME, 9) == GOLDEN["perft"]["nodes"]


@pytest.mark.parametrize("record", GOLDEN["playouts"], ids=lambda r: f"seed{r['seed']}")
def test_playouts(record):
    check_playout(GAME, record)


@pytest.mark.parametrize("name", POSITIONS)
def test_listed_positions(name):
    position = POSITIONS[name]
    seat = "BW".index(position["to_move"])
    host = Host.at(GAME, position["board_rows_from_rank4"], seat)
    assert host.legal() == position["legal_ids"]
    assert [GAME.action_name(a) for a in host.legal()] == position["legal"]
    assert host.result == position["result_p0"]


def test_a_capture_that_leaves_one_piece_wins():
    host = Host.at(GAME, "W.../..W./..B./..B.", 0)
    jump = GAME.parse_action("c1xc3")
    assert [GAME.action_name(a) for a in host.legal()] == ["c2-d2", "c2-b2", "c1-d1", "c1-b1", "c1xc3"]
    host.play(jump)
    assert host.rows == "W.../..B./..B./...."
    assert host.result == 1
    assert float(host.transition.reward) == 1
    assert float(host.transition.discount) == 0


def test_a_single_piece_fights_on_by_option():
    rows = POSITIONS["article log: black left with a2 only"]["board_rows_from_rank4"]
    assert Host.at(GAME, rows, 0).result == -1
    lenient = Kono(alive_min=1)
    assert Host.at(lenient, rows, 0).result is None
    reference = Reference(alive_min=1)
    root = reference.at(rows, 0)
    assert loss_in(reference, root, 7)
    assert not loss_in(reference, root, 5)


def loss_in(reference, state, plies: int) -> bool:
    """Whether the mover loses within so many plies whatever he does."""
    if (result := reference.result(state)) is not None:
        return result == (-1 if reference.to_move(state) == 0 else 1)
    return plies > 0 and all(win_in(reference, reference.step(state, a), plies - 1) for a in reference.legal(state))


def win_in(reference, state, plies: int) -> bool:
    if (result := reference.result(state)) is not None:
        return result == (1 if reference.to_move(state) == 0 else -1)
    return plies > 0 and any(loss_in(reference, reference.step(state, a), plies - 1) for a in reference.legal(state))


def test_two_against_two_is_a_draw_exactly():
    reference = Reference()
    root = reference.at(POSITIONS["two against two"]["board_rows_from_rank4"], 0)
    solution = solve(reference, root)
    assert solution.values[root] == POSITIONS["two against two"]["solved_alive_min_2"][0] == 0
    assert {abs(v) for v in solution.values.values()} == {0, 1}, "the endgame has wins and losses too"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["three v two", "three v three"])
def test_endgames_that_are_draws(name):
    reference = Reference()
    root = reference.at(POSITIONS[name]["board_rows_from_rank4"], 0)
    assert solve(reference, root).values[root] == POSITIONS[name]["solved_alive_min_2"][0]


def test_compulsory_captures():
    host = Host.at(Kono(compulsory=True), "W.../..W./..B./..B.", 0)
    assert [GAME.action_name(a) for a in host.legal()] == ["c1xc3"]


def test_a_long_game_is_a_draw():
    host = Host.at(Kono(max_plies=3), "W..W/..../..../B..B", 0)
    host.play(*[GAME.parse_action(name) for name in ("a1-a2", "a4-a3", "d1-d2")])
    assert host.result == 0


@pytest.mark.parametrize(("rule", "plies", "result"), [("none", 9, None), ("draw", 8, 0), ("loss", 4, 1)])
def test_repetition(rule, plies, result):
    """Two cars shuttle: the start comes back at ply 4 (by player 1) and for the third time at ply 8."""
    host = Host.at(Kono(repetition=rule), "W..W/..../..../B..B", 0)
    shuttle = [GAME.parse_action(name) for name in ("a1-a2", "a4-a3", "a2-a1", "a3-a4")]
    for ply in range(plies):
        assert host.result is None
        host.play(shuttle[ply % 4])
    assert host.result == result


@pytest.mark.parametrize("seed", mostly_slow(range(4), (0,)))
def test_reference_agrees_at_every_ply(seed):
    assert check_agreement(GAME, Reference(max_plies=200), random_games(GAME, LANES, seed)) > LANES


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{"alive_min": 1, "max_plies": 120}, {"compulsory": True, "max_plies": 150}, {"repetition": "loss"}],
    ids=lambda o: next(iter(o)),
)
def test_reference_agrees_on_options(options):
    game = make("kono", **options)
    reference = Reference(**{"max_plies": 200, **options})
    assert check_agreement(game, reference, random_games(game, 32)) > 32


@pytest.mark.slow
def test_what_an_end_teaches():
    """Whose piece each point has: what is left decides the game."""
    state = random_games(GAME, 64).final.state
    owned = np.asarray(jax.vmap(GAME.aux_values)(state)["ownership"])
    boards = np.asarray(jax.vmap(GAME.cells)(state))
    np.testing.assert_array_equal(owned, np.where(boards == 1, 1.0, np.where(boards == 2, -1.0, 0.0)))
    assert set(boards.reshape(-1).tolist()) == {0, 1, 2}


def test_hash_from_scratch():
    check_hashes(GAME, random_games(GAME, LANES))


@pytest.mark.slow
@given(st.lists(st.sampled_from([0, 0, 1, 2]), min_size=16, max_size=16), st.integers(0, 1))
def test_any_position_like_the_reference(codes, seat):
    codes = np.array(codes, np.int8)
    state = GAME.place(codes, seat)
    reference = Reference()
    root = reference.at("".join(".BW"[c] for c in codes), seat)
    assert Host(GAME, play.resume(GAME, state)).legal() == reference.legal(root)
    assert bool(GAME.over(state)) == (reference.result(root) is not None)
    np.testing.assert_array_equal(GAME.cells(state), codes)


def test_all_symmetries_of_the_square():
    """The contract test sees only the one that keeps the start; here every group element moves drawn positions."""
    rng = np.random.default_rng(0)
    cells, actions = GAME.symmetries()
    assert len(cells) == 8
    see = jax.jit(lambda s: (GAME.legal(s), GAME.observe(s)))
    for _ in range(20):
        codes = rng.choice(3, 16, p=[0.4, 0.3, 0.3]).astype(np.int8)
        mask, planes = see(GAME.place(codes, 0))
        for group in range(8):
            mask_g, planes_g = see(GAME.place(codes[cells[group]], 0))
            np.testing.assert_array_equal(mask_g, np.asarray(mask)[actions[group]])
            np.testing.assert_array_equal(planes_g.reshape(16, 2), planes.reshape(16, 2)[cells[group]])


def test_weights_and_heuristic():
    weights = Host(GAME).weights
    for action in range(GAME.num_actions):
        assert weights[action] == (10 if "x" in GAME.action_name(action) else 1)
    assert Host.at(GAME, "WBBW/B..B/..../....", 1).heuristic == -2 / 8
    assert Host(GAME).heuristic == 0
