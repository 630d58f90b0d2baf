"""Dodgem: listed positions, counts, playouts, the solved 3x3 board in full, and a plain reference at every ply."""

import functools
import re

import jax
import numpy as np
import pytest
from reference.dodgem import Dodgem as Reference
from reference.replay import check_agreement, text
from reference.solve import solve
from support import Host, check_playout, codes, mostly_slow, perft, perft_json, random_games

from jaxgo.games import GAMES, make
from jaxgo.games.dodgem import Dodgem

LANES = 32
SIZES = range(3, 9)
GOLDEN = perft_json()["dodgem"]
DEPTH = {3: 10, 4: 7, 5: 5, 6: 5, 7: 4, 8: 4}


def parse(name: str) -> tuple[int, bool]:
    """Size and blocked_wins of an entry of perft.json."""
    return int(re.findall(r"\d", name)[0]), not name.endswith("loses")


@functools.cache
def solved(size: int, blocked_wins: bool):
    reference = Reference(size, blocked_wins)
    return reference, solve(reference, reference.initial())


@pytest.mark.parametrize("size", mostly_slow(SIZES, (3, 5, 8)))
def test_perft(size):
    name = next(n for n in GOLDEN if parse(n) == (size, True))
    assert perft(Dodgem(size), DEPTH[size]) == GOLDEN[name]["perft"]["nodes"][: DEPTH[size]]


@pytest.mark.slow
@pytest.mark.parametrize("name", GOLDEN)
def test_perft_deep(name):
    nodes = GOLDEN[name]["perft"]["nodes"]
    assert perft(Dodgem(*parse(name)), len(nodes)) == nodes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "number"), [(n, i) for n, entry in GOLDEN.items() for i in range(len(entry["playouts"]))]
)
def test_playouts(name, number):
    check_playout(Dodgem(*parse(name)), GOLDEN[name]["playouts"][number])


def check_solution(name: str) -> None:
    """Everything that perft.json knows of a solved board, and of the positions on it."""
    expected = GOLDEN[name]
    reference, solution = solved(*parse(name))
    values = list(solution.values.values())
    assert len(values) == expected["reachable_states"]
    assert values.count(1) == expected["mover_wins"]
    assert values.count(-1) == expected["mover_losses"]
    start = reference.initial()
    assert solution.values[start] == expected["initial_value_for_first"]
    assert solution.distances[start] == expected["initial_distance_plies"]
    first = [[action, -value, plies] for action, (value, plies) in solution.after(start).items()]
    assert first == expected["first_moves_action_value_distance"]
    for position in expected["positions"]:
        check_position(name, position, solution)


def check_position(name: str, position, known=None) -> None:
    """A listed position: legal moves by the game, its value by the solver, which may have solved it already."""
    size, blocked_wins = parse(name)
    game, reference = Dodgem(size, blocked_wins), Reference(size, blocked_wins)
    seat = "BR".index(position["to_move"])
    assert Host.at(game, position["board"], seat).legal() == position["legal"]
    root = reference.at(position["board"], seat)
    solution = known if known and root in known.values else solve(reference, root)
    assert solution.values[root] == position["value_for_mover"]
    assert solution.distances[root] == position["distance"]
    winning = [action for action, (value, _) in solution.after(root).items() if value == -1]
    assert winning == position["winning_actions"]


SOLVED_3 = [name for name in GOLDEN if "3x3" in name]
SOLVED_4 = [name for name in GOLDEN if "4x4" in name]


@pytest.mark.parametrize("name", SOLVED_3)
def test_three_by_three_is_solved(name):
    check_solution(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", SOLVED_3)
def test_three_by_three_all_positions(name):
    """Every position that can be reached, not a sample: legal moves, end and result."""
    size, blocked_wins = parse(name)
    game = Dodgem(size, blocked_wins)
    reference, solution = solved(size, blocked_wins)
    states = solution.states
    boards = [codes(game, reference.cells(state)) for state in states]
    placed = jax.tree.map(
        lambda *leaves: np.stack(leaves), *[game.place(b, s[2]) for b, s in zip(boards, states, strict=True)]
    )
    look = jax.jit(jax.vmap(lambda s: (game.legal(s), game.over(s), game.returns(s)[0])))
    for state, mask, over, result in zip(states, *jax.device_get(look(placed)), strict=True):
        assert over == (reference.result(state) is not None)
        if over:
            assert result == reference.result(state)
        else:
            assert np.flatnonzero(mask).tolist() == reference.legal(state)


@pytest.mark.slow
@pytest.mark.parametrize("name", SOLVED_4)
def test_four_by_four_is_solved(name):
    check_solution(name)


@pytest.mark.parametrize("name", SOLVED_4)
def test_four_by_four_endings(name):
    """The listed endings with two cars of a side or fewer are quick to solve."""
    few = [p for p in GOLDEN[name]["positions"] if p["board"].count("B") + p["board"].count("R") <= 4]
    assert few
    for position in few:
        check_position(name, position)


def test_the_last_car_leaves():
    host = Host.at(Dodgem(3), "B../.R./.R.", 0)
    host.play(Dodgem(3).parse_action("a3-forward"))
    assert host.rows == ".../.R./.R."
    assert host.result == 1


def test_locking_in():
    """Blue cannot move: by default that wins for Blue, by option for Red."""
    rows = ".R./RBR/.R."
    assert Host.at(Dodgem(3), rows, 0).result == 1
    assert Host.at(Dodgem(3, blocked_wins=False), rows, 0).result == -1
    assert Host.at(Dodgem(3), rows, 1).result is None, "Red can move"


def test_a_long_game_is_a_draw():
    game = make("dodgem3", move_limit=2)
    host = Host(game).play(24, 0)
    assert host.result == 0
    assert [GAMES[f"dodgem{n}"].max_plies for n in SIZES] == [40 * n for n in SIZES]


@pytest.mark.parametrize(("rule", "plies", "result"), [("none", 9, None), ("draw", 8, 0), ("loss", 4, 1)])
def test_repetition(rule, plies, result):
    game = Dodgem(4, repetition=rule)
    host = Host.at(game, "R.../..../..../...B", 0)
    shuttle = [game.parse_action(name) for name in ("d1-left", "a4-right", "c1-right", "a3-left")]
    for ply in range(plies):
        assert host.result is None
        host.play(shuttle[ply % 4])
    assert host.result == result


@pytest.mark.parametrize("size", [3, 5])  # all of them below
def test_reference_agrees_at_every_ply(size):
    game = GAMES[f"dodgem{size}"]
    assert check_agreement(game, Reference(size, max_plies=40 * size), random_games(game, LANES)) > 10 * LANES


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("blocked_wins", [True, False])
def test_reference_agrees_in_256_games(size, blocked_wins):
    game = Dodgem(size, blocked_wins)
    check_agreement(game, Reference(size, blocked_wins, max_plies=40 * size), random_games(game, 256, 1))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"repetition": "loss"}, {"repetition": "draw"}], ids=str)
def test_reference_agrees_on_options(options):
    game = make("dodgem3", **options)
    assert check_agreement(game, Reference(3, **options, max_plies=120), random_games(game, LANES, 2)) > LANES


def test_hash_from_scratch_tells_boards_apart():
    game = GAMES["dodgem8"]
    games = random_games(game, LANES)
    keys = {}
    rehash = jax.jit(game.hash)
    for t in range(0, len(games.actions), 5):
        for lane in range(0, LANES, 9):
            seat = int(games.to_play[t, lane])
            board = text(game, games.cells[t, lane])
            key = tuple(games.keys[t, lane].tolist())
            assert keys.setdefault(key, (board, seat)) == (board, seat)
            np.testing.assert_array_equal(rehash(game.place(games.cells[t, lane], seat)), games.keys[t, lane])
    assert len(keys) > 100


@pytest.mark.parametrize("size", [3, 8])
def test_the_mirror_swaps_the_teams(size):
    """The contract test sees no symmetry that keeps the start; this one sets drawn positions up."""
    game = Dodgem(size)
    cells, actions = game.symmetries()
    rng = np.random.default_rng(size)
    see = jax.jit(
        lambda s: (
            game.legal(s),
            game.observe(s),
            game.over(s),
            game.returns(s),
            game.heuristic(s),
            game.move_weights(s),
        )
    )
    for trial in range(20):
        board = rng.choice(3, size * size, p=[0.4, 0.3, 0.3]).astype(np.int8)
        mirrored = np.array([0, 2, 1], np.int8)[board[cells[1]]]
        seat = trial % 2
        mask, planes, over, returns, guess, weights = jax.device_get(see(game.place(board, seat)))
        mask_m, planes_m, over_m, returns_m, guess_m, weights_m = jax.device_get(see(game.place(mirrored, 1 - seat)))
        np.testing.assert_array_equal(mask_m, mask[actions[1]])
        np.testing.assert_array_equal(planes_m.reshape(-1, 4), planes.reshape(-1, 4)[cells[1]])
        np.testing.assert_array_equal(returns_m, returns[::-1])
        np.testing.assert_array_equal(weights_m, weights[actions[1]])
        assert over_m == over
        assert guess_m == guess


def test_weights_and_heuristic():
    game = Dodgem(3)
    host = Host.at(game, "B../R.B/...", 0)
    named = {game.action_name(a): float(w) for a, w in enumerate(game.move_weights(host.state))}
    assert named["a3-forward"] == 16
    assert named["c2-forward"] == 11
    assert named["c2-left"] == named["a3-right"] == 1
    # Blue needs 1 + 2 steps, Red 3: nobody leads
    assert host.heuristic == 0
    assert Host.at(game, "B../R../...", 0).heuristic == pytest.approx(2 / 6)
    assert Host.at(game, "B../R../...", 1).heuristic == pytest.approx(-2 / 6)
