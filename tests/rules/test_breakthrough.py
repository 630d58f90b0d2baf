"""Breakthrough: counts, moves and captures by hand, both ways to win, a solved board, a reference at every ply."""

import jax
import numpy as np
import pytest
from reference.breakthrough import Breakthrough as Reference
from reference.replay import check_agreement
from reference.solve import solve
from sparse import perft
from support import Host, check_hashes, codes, mostly_slow, random_games, sample_lanes

from jaxgo.core.errors import UsageError
from jaxgo.core.lanes import alone
from jaxgo.evaluators.solved import judge, on_device
from jaxgo.games.breakthrough import Breakthrough
from jaxgo.solvers import retrograde

GAME, SMALL = Breakthrough(), Breakthrough(6, 6)
LANES = 32
EMPTY_ROW = "......"


def names(host: Host) -> list[str]:
    return [host.game.action_name(action) for action in host.legal()]


def count(reference: Reference, depth: int) -> list[int]:
    """Sequences of moves, by the reference."""
    level, counts = {reference.initial(): 1}, []
    while True:
        moves = [(state, times, action) for state, times in level.items() for action in reference.legal(state)]
        counts.append(sum(times for _, times, _ in moves))
        if len(counts) == depth:
            return counts
        level = {}
        for state, times, action in moves:
            after = reference.step(state, action)
            level[after] = level.get(after, 0) + times


def test_perft():
    assert perft(SMALL, 4) == [16, 256, 4308, 71478] == count(Reference(6, 6), 4)


@pytest.mark.slow
def test_perft_deep():
    """The first four numbers of both boards are counted by the reference, too."""
    assert perft(SMALL, 6) == [16, 256, 4308, 71478, 1248290, 21470998]
    assert perft(GAME, 5) == [22, 484, 11132, 256036, 6182818]
    assert count(Reference(), 4) == [22, 484, 11132, 256036]


def test_a_piece_goes_forward_and_captures_aside_only():
    rows = f"{EMPTY_ROW}/{EMPTY_ROW}/.OO.../.X..../O...../{EMPTY_ROW}"
    host = Host.at(SMALL, rows, 0)
    assert names(host) == ["b3-left", "b3-right"], "what stands in front is not captured, but in the way"
    host.play(SMALL.parse_action("b3-right"))
    assert host.rows == f"{EMPTY_ROW}/{EMPTY_ROW}/.OX.../{EMPTY_ROW}/O...../{EMPTY_ROW}"


def test_left_and_right_are_those_of_the_player_and_end_at_the_sides():
    rows = f"{EMPTY_ROW}/O....O/{EMPTY_ROW}/{EMPTY_ROW}/X....X/{EMPTY_ROW}"
    assert names(Host.at(SMALL, rows, 0)) == ["a2-forward", "a2-right", "f2-forward", "f2-left"]
    host = Host.at(SMALL, rows, 1)
    assert names(host) == ["a5-forward", "a5-left", "f5-forward", "f5-right"]
    host.play(SMALL.parse_action("a5-left"))
    assert host.rows == f"{EMPTY_ROW}/.....O/.O..../{EMPTY_ROW}/X....X/{EMPTY_ROW}"


def test_who_reaches_the_far_row_has_won():
    host = Host.at(SMALL, f"..O.../X...../{EMPTY_ROW}/{EMPTY_ROW}/...O../{EMPTY_ROW}", 0)
    host.play(SMALL.parse_action("a5-forward"))
    assert (host.result, float(host.transition.reward), host.legal()) == (1, 1, [])
    other = Host.at(SMALL, f"..O.../X...../{EMPTY_ROW}/{EMPTY_ROW}/...O../{EMPTY_ROW}", 1)
    assert other.play(SMALL.parse_action("d2-forward")).result == -1


def test_who_has_lost_all_pieces_has_lost():
    host = Host.at(SMALL, f"{EMPTY_ROW}/{EMPTY_ROW}/..O.../.X..../{EMPTY_ROW}/{EMPTY_ROW}", 0)
    assert host.play(SMALL.parse_action("b3-right")).result == 1


@pytest.mark.parametrize(("height", "width"), mostly_slow([(6, 6), (4, 4), (8, 8), (5, 9), (9, 5), (16, 16)], [(6, 6)]))
def test_reference_agrees_at_every_ply(height, width):
    game = Breakthrough(height, width)
    assert check_agreement(game, Reference(height, width), random_games(game, LANES)) > LANES


@pytest.mark.slow
def test_an_endgame_is_solved_as_by_plain_python():
    """Nobody is ever without a move, or the solver would have refused the position."""
    game, reference = Breakthrough(5, 4), Reference(5, 4)
    rows = "OO../..../..../..../..XX"
    solution = solve(reference, reference.at(rows, 0))
    table = retrograde.solve_game(game, alone(game.place(codes(game, rows), 0)))
    assert len(table.values) == len(solution.values)
    known = [state for state in solution.values if reference.result(state) is None]
    states = [game.place(codes(game, reference.cells(state)), reference.to_move(state)) for state in known]
    # by numpy: a program with so many operands compiles for long
    here, _ = judge(game, on_device(table), jax.tree.map(lambda *x: np.stack(x), *states))
    assert here.known.all()
    assert here.value.tolist() == [solution.values[state] for state in known]
    assert here.distance.tolist() == [solution.distances[state] for state in known]
    assert set(solution.values.values()) == {-1, 1}


def test_hash_from_scratch():
    check_hashes(SMALL, random_games(SMALL, LANES))


def test_mirrors_of_left_and_right_and_of_the_sides():
    """The contract test sees only the one that keeps the start; those that swap top and bottom swap the sides."""
    games, (cells, actions) = random_games(SMALL, LANES), SMALL.symmetries()
    see = jax.jit(lambda s: (SMALL.legal(s), SMALL.observe(s), SMALL.heuristic(s)))
    for lane in sample_lanes(games, 3):
        drawn, seat = games.cells[12, lane], int(games.to_play[12, lane])
        mask, planes, guess = jax.device_get(see(SMALL.place(drawn, seat)))
        for group in range(4):
            turned = drawn[cells[group]]
            swaps = group >= 2
            turned = np.array([0, 2, 1])[turned] if swaps else turned
            mask_g, planes_g, guess_g = see(SMALL.place(turned, 1 - seat if swaps else seat))
            np.testing.assert_array_equal(mask_g, mask[actions[group]])
            np.testing.assert_array_equal(planes_g.reshape(36, 3), planes.reshape(36, 3)[cells[group]])
            assert guess_g == pytest.approx(guess, abs=1e-6)


def test_hints_know_how_far_pieces_have_come():
    host = Host.at(SMALL, f"O...../..X.../{EMPTY_ROW}/{EMPTY_ROW}/{EMPTY_ROW}/{EMPTY_ROW}", 1)
    assert SMALL.distances(host.state).tolist() == [1, 5]
    assert host.heuristic < 0
    assert Host.at(SMALL, host.rows, 0).heuristic == -host.heuristic
    capture = Host.at(SMALL, f"{EMPTY_ROW}/{EMPTY_ROW}/..O.../.X..../{EMPTY_ROW}/{EMPTY_ROW}", 0)
    weights = {name: float(capture.weights[SMALL.parse_action(name)]) for name in names(capture)}
    assert weights == {"b3-forward": 1, "b3-left": 1, "b3-right": 5}
    assert float(host.weights[SMALL.parse_action("a2-forward")]) == 1000


@pytest.mark.slow
def test_what_an_end_teaches():
    games = random_games(SMALL, LANES)
    taught = jax.vmap(SMALL.aux_values)(games.final.state)
    np.testing.assert_array_equal(taught["ownership"], np.array([0.0, 1.0, -1.0])[games.cells[-1]])


def test_a_board_with_more_pieces_than_a_side_has_is_refused():
    with pytest.raises(UsageError, match="a side has 13 pieces; there are at most 12"):
        SMALL.place(np.repeat([0, 1, 2], [22, 13, 1]), 0)
