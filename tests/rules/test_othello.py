"""Othello: published counts, lines in all directions, passes and ends, a plain reference at every ply, and pgx."""

import functools

import jax
import numpy as np
import pytest
from reference.othello import Othello as Reference
from reference.replay import check_agreement
from sparse import perft
from support import Host, check_hashes, mostly_slow, random_games, sample_lanes

from jaxgo.games import make
from jaxgo.games.othello import Othello
from jaxgo.solvers import retrograde

GAME, SMALL = Othello(), Othello(6)
LANES = 32
# https://www.aartbik.com/strategy.php, passes counted as plies; there the last number counts, too, the 228 games that
# have ended after nine plies
PERFT = [4, 12, 56, 244, 1396, 8200, 55092, 390216, 3005288, 24571284 - 228]


def names(host: Host) -> list[str]:
    return [host.game.action_name(action) for action in host.legal()]


def played(host: Host, moves: str) -> Host:
    return host.play(*map(host.game.parse_action, moves.split()))


def test_perft():
    assert perft(GAME, 7) == PERFT[:7]


@pytest.mark.slow
def test_perft_deep():
    assert perft(GAME, 10) == PERFT


def test_a_disc_turns_lines_in_all_directions_up_to_the_next_own_one():
    host = Host.at(GAME, "X..X..X./.O.O.O../..OOO.../XOO.OOO./..OOO.../.O.O.O../O..O..O./...X...X", 0)
    played(host, "d4")
    # to a7, at the side, and to the empty h4 no line is closed
    assert host.rows == "X..X..X./.X.X.X../..XXX.../XXXXOOO./..OXX.../.O.X.X../O..X..X./...X...X"
    assert host.state.to_play == 1


def test_lines_end_at_the_sides_of_the_board():
    """Neighbours by number that stand at two sides of the board are none."""
    host = Host.at(GAME, "......XO/O......./......../......../.......X/O......./O......X/........", 0)
    assert names(host) == ["pass"]
    assert names(Host.at(GAME, "......XO/O......./......../......../.......X/O......./O......X/........", 1)) == ["f1"]


def test_the_shortest_game_takes_all_discs():
    host = played(Host(GAME), "e6 f4 e3 f6 g5 d6 e7 f5")
    assert host.result is None
    played(host, "c5")
    assert host.result == 1
    assert host.rows == "......../......../....X.../...XXX../..XXXXX./...XXX../....X.../........"
    assert float(host.transition.reward) == 1
    assert np.asarray(GAME.scores(host.state)).tolist() == [13, 0]


def test_who_cannot_move_passes_and_may_move_again_later():
    host = Host.at(GAME, "......../......../...O..../XO....../......../......../......../........", 1)
    assert names(host) == ["pass"]
    played(host, "pass")
    assert (int(host.state.to_play), float(host.transition.discount)) == (0, -1)
    assert names(host) == ["c4"]
    played(host, "c4")
    assert names(host) == ["b5"]


@pytest.mark.parametrize(
    ("top", "result", "moves"),
    [("XO", None, ["c1"]), ("OX", None, ["pass"]), ("XX", 1, []), ("O", -1, []), ("X.O", 0, [])],
)
def test_the_game_is_over_where_neither_can_move_whatever_is_empty(top, result, moves):
    host = Host.at(GAME, "/".join([f"{top:.<8}", *["........"] * 7]), 0)
    assert (host.result, names(host)) == (result, moves)


@pytest.mark.parametrize("size", mostly_slow([4, 6, 8, 10, 12, 14], [6]))
def test_reference_agrees_at_every_ply(size):
    game = Othello(size)
    assert check_agreement(game, Reference(size), random_games(game, LANES)) > LANES * size


@pytest.mark.slow
def test_drawn_positions_like_the_reference():
    """Boards that no game reaches: discs apart from each other, at all edges."""
    rng = np.random.default_rng(1)
    for size in (4, 6, 8):
        game, reference = Othello(size), Reference(size)
        see = jax.jit(lambda state, game=game: (game.legal(state), game.over(state)))
        for _ in range(200):
            codes = rng.choice(3, size * size, p=[0.3, 0.35, 0.35]).astype(np.int8)
            seat = int(rng.integers(2))
            state = reference.at("".join(".XO"[code] for code in codes), seat)
            mask, over = see(game.place(codes, seat))
            assert bool(over) == (reference.result(state) is not None)
            assert bool(over) or np.flatnonzero(mask).tolist() == reference.legal(state)


@pytest.mark.slow
def test_four_by_four_is_won_by_white():
    """11 discs to 3, as is published; the solver knows who wins."""
    reference = Reference(4)

    @functools.cache
    def lead(state) -> int:
        if reference.result(state) is not None:
            return reference.lead(state)
        after = [lead(reference.step(state, action)) for action in reference.legal(state)]
        return max(after) if reference.to_move(state) == 0 else min(after)

    assert lead(reference.initial()) == 3 - 11
    assert retrograde.solve_game(make("othello", size=4)).values[0] == -1


@pytest.mark.slow
def test_what_an_end_teaches():
    games = random_games(SMALL, LANES)
    taught = jax.vmap(SMALL.aux_values)(games.final.state)
    owned = np.array([0.0, 1.0, -1.0])[games.cells[-1]]
    np.testing.assert_array_equal(taught["ownership"], owned)
    np.testing.assert_allclose(taught["score"], owned.sum(axis=1) / 6, rtol=1e-6)
    np.testing.assert_array_equal(np.sign(owned.sum(axis=1)), games.returns[:, 0])


def test_hash_from_scratch():
    check_hashes(SMALL, random_games(SMALL, LANES))


def test_all_symmetries_of_the_square():
    """The contract test sees only those that keep the start; here every one turns positions of games."""
    games, (cells, actions) = random_games(SMALL, LANES), SMALL.symmetries()
    assert len(cells) == 8
    see = jax.jit(lambda s: (SMALL.legal(s), SMALL.observe(s)))
    for lane in sample_lanes(games, 3):
        codes, seat = games.cells[12, lane], int(games.to_play[12, lane])
        mask, planes = jax.device_get(see(SMALL.place(codes, seat)))
        for group in range(8):
            mask_g, planes_g = see(SMALL.place(codes[cells[group]], seat))
            np.testing.assert_array_equal(mask_g, mask[actions[group]])
            np.testing.assert_array_equal(planes_g.reshape(36, 4), planes.reshape(36, 4)[cells[group]])


def test_corners_are_worth_more_than_discs_until_the_end():
    early = "X......./XX....../......../...OO.../..OOOOO./...OOO../....OO../........"
    assert Host.at(GAME, early, 0).heuristic > 0.3
    assert Host.at(GAME, early, 1).heuristic == -Host.at(GAME, early, 0).heuristic
    late = "/".join(["XOOOOOOO", *["OOOOOOOO"] * 6, "OOOOOO.."])
    assert Host.at(GAME, late, 0).heuristic < -0.9


def test_moves_that_give_corners_away_are_avoided_in_playouts():
    weights = Host(GAME).weights
    kinds = [weights[GAME.parse_action(name)] for name in ("a1", "d3", "pass", "h7", "b2")]
    np.testing.assert_allclose(kinds, [10, 1, 1, 0.3, 0.1])


@pytest.mark.slow
def test_pgx_agrees():
    """Whole random games. pgx lets both seats pass where neither can move, unless the board is full or a colour gone;
    here the game is over then."""
    pgx = pytest.importorskip("pgx")
    env, games = pgx.make("othello"), random_games(GAME, 256)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        move = jax.jit(jax.vmap(env.step))
        state = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(0), 256))
        first, paid = np.asarray(state.current_player), np.zeros((256, 2))  # pgx draws who is Black
        for t in range(len(games.actions)):
            live, ended = games.live[t], np.asarray(state.terminated)
            assert not (live & ended).any()
            own = np.array([[0, 1, -1], [0, -1, 1]])[games.to_play[t][:, None], games.cells[t]]
            np.testing.assert_array_equal(np.asarray(state._x.board)[live], own[live])
            legal = np.unpackbits(games.legal_bits[t], axis=1, count=GAME.num_actions).astype(bool)
            legal[~live, GAME.squares] = True
            np.testing.assert_array_equal(np.asarray(state.legal_action_mask)[~ended], legal[~ended])
            state = move(state, np.where(live, games.actions[t], GAME.squares).astype(np.int32))
            paid += np.where(ended[:, None], 0, np.asarray(state.rewards))
        for _ in range(2):  # the passes of games that end last
            ended = np.asarray(state.terminated)
            state = move(state, np.full(256, GAME.squares, np.int32))
            paid += np.where(ended[:, None], 0, np.asarray(state.rewards))
    assert np.asarray(state.terminated).all()
    np.testing.assert_array_equal(np.take_along_axis(paid, first[:, None], axis=1)[:, 0], games.returns[:, 0])
