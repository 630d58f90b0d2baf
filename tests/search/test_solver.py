"""Proofs: they never contradict plain minimax, every forced win within the budget is found, and a closed root stops."""

import functools
import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from judges import positions, searched, stacked
from reference.solve import solve
from support import mostly_slow, perft_json, step

from jaxgo.core import play
from jaxgo.evaluators.uniform import Uniform
from jaxgo.games import GAMES, make
from jaxgo.search.gumbel import Gumbel
from jaxgo.search.model import Model
from jaxgo.search.puct import Puct
from jaxgo.search.tree import ROOT
from jaxgo.search.uct import Uct

# by default a test runs with one or two of them, or none; with the others it is slow
SEARCHES = {
    "gumbel": Gumbel(simulations=100, max_considered=4, gumbel_scale=0.0),
    "puct": Puct(simulations=100),
    "puct-8": Puct(simulations=100, parallel_leaves=8),
    "uct": Uct(simulations=100),
    "uct-shared": Uct(simulations=100, shared_proofs=True),
    "uct-8": Uct(simulations=100, parallel_leaves=8),
}
LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def won(cells: tuple[int, ...]) -> int:
    return next((cells[a] for a, b, c in LINES if cells[a] and cells[a] == cells[b] == cells[c]), 0)


@functools.cache
def minimax(cells: tuple[int, ...]) -> int:
    """The value of a tic-tac-toe board for the side to move."""
    if won(cells):
        return -1
    if all(cells):
        return 0
    return max(-minimax(after) for _, after in moves(cells))


def moves(cells: tuple[int, ...]) -> list[tuple[int, tuple[int, ...]]]:
    stone = 1 + (sum(map(bool, cells)) % 2)
    return [(i, (*cells[:i], stone, *cells[i + 1 :])) for i in range(9) if not cells[i]]


def boards() -> list[tuple[int, ...]]:
    """Every live tic-tac-toe board that play can reach with six stones or more."""
    level = {(0,) * 9}
    out = []
    for stones in range(1, 9):
        level = {after for cells in level for _, after in moves(cells) if not won(after)}
        out += sorted(level) if stones >= 6 else []
    return out


@functools.cache
def late():
    """All such boards as positions, and what they are worth."""
    game, some = GAMES["tictactoe"], boards()
    root = stacked([game.place(np.array(c, np.int8), sum(map(bool, c)) % 2) for c in some], game)
    return root, np.array([minimax(c) for c in some])


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHES)
def test_late_tictactoe_is_played_perfectly_everywhere(name):
    """With three empty cells or fewer 100 simulations play the best move and close nearly every root.

    (A search may spend its visits on a move that is proven a draw and leave a worse one unproven.)
    """
    game, (root, exact) = GAMES["tictactoe"], late()
    some = boards()
    result, q = searched(SEARCHES[name], Model(game, Uniform()), root)
    assert result.solved.mean() > 0.9
    np.testing.assert_array_equal(result.value[result.solved], exact[result.solved])
    assert result.solved[exact == 1].all(), "a forced win is found"
    np.testing.assert_array_equal(result.first, result.action, "most visits may go to a move before another is proven")
    for lane, cells in enumerate(some):
        values = {action: -minimax(after) for action, after in moves(cells)}
        assert values[int(result.action[lane])] == max(values.values())
        for action in np.flatnonzero(result.proven[lane]):
            assert result.q[lane, action] == values[int(action)]
    assert (q.done <= 100).all()
    assert q.done.min() < 10, "a closed root stops its game early"


@functools.cache
def dodgem():
    """All live states of 3 x 3 Dodgem as positions, and for each the exact value of every action."""
    from reference.dodgem import Dodgem

    reference, game = Dodgem(3), GAMES["dodgem3"]
    solution = solve(reference, reference.initial())
    live = [s for s in solution.values if solution.moves[s]]
    codes = [[1 if i in s[0] else 2 if i in s[1] else 0 for i in range(9)] for s in live]
    root = stacked([game.place(np.array(c, np.int8), s[2]) for c, s in zip(codes, live, strict=True)], game)
    return root, [solution.after(s) for s in live], [solution.values[s] for s in live]


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHES)
def test_dodgem_wins_within_three_plies_are_found(name):
    root, after, values = dodgem()
    result, _ = searched(SEARCHES[name], Model(GAMES["dodgem3"], Uniform()), root, brisk=not name.startswith("puct"))
    seen = 0
    for lane, (moves_, value) in enumerate(zip(after, values, strict=True)):
        exact = {action: -child for action, (child, _) in moves_.items()}
        if result.solved[lane]:
            assert result.value[lane] == value
        for action in np.flatnonzero(result.proven[lane]):
            assert result.q[lane, action] == exact[int(action)], "a proof contradicts retrograde analysis"
        quick = [a for a, (child, distance) in moves_.items() if child == -1 and distance <= 2]
        if quick:
            seen += 1
            assert exact[int(result.action[lane])] == 1
    assert seen > 100


@pytest.mark.slow
@pytest.mark.parametrize("name", ["uct", "gumbel", "puct"])
def test_connect_four_endings(name):
    """Proofs in positions of 24 to 30 plies agree with the exact values of each column, and the best one is played."""
    game = GAMES["connect4"]
    records = perft_json()["connect_four"]["connect4_6x7"]["midgame_values"]
    states = []
    for record in records:
        position = play.begin(game)
        for column in record["moves"]:
            position, _ = step(game)(position, jnp.int32(column))
        states.append(position.state)
    search = {
        "puct": Puct(simulations=4000),
        "uct": Uct(simulations=4000),
        "gumbel": Gumbel(4000, 8, gumbel_scale=0.0),
    }[name]
    result, _ = searched(search, Model(game, Uniform()), stacked(states, game))
    for lane, record in enumerate(records):
        exact = {int(c): v for c, v in record["value_per_column"].items()}
        for column in np.flatnonzero(result.proven[lane]):
            assert result.q[lane, column] == exact[int(column)]
        if result.solved[lane]:
            assert result.value[lane] == record["value_for_mover"]
            assert exact[int(result.action[lane])] == record["value_for_mover"]
    assert result.solved.sum() >= len(records) // 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "plies"), mostly_slow([("swap2-15", 4), ("musketeers", 20), ("kamisado", 8)], [("musketeers", 20)])
)
def test_proofs_are_sound_in_other_games(game, plies):
    """What a search proves holds under plain minimax to the end, double moves and forced passes included."""
    rules = GAMES[game]
    root = positions(rules, 32, plies)
    result, q = searched(Puct(simulations=200), Model(rules, Uniform()), root)
    for lane in range(32):
        _check_node(q.tree, lane, ROOT)
    assert np.isfinite(result.q).all()


def _check_node(tree, lane: int, node: int) -> None:
    """A proven node is over, or follows from proven children: recomputed here from the leaves, in plain Python."""
    children = [int(c) for c in tree.child[lane, node] if c >= 0]
    for child in children:
        _check_node(tree, lane, child)
    if tree.proven[lane, node] and children:
        sign = 1 if tree.seat[lane, node] == 0 else -1
        known = [sign * float(tree.value[lane, c]) for c in children if tree.proven[lane, c]]
        legal = int((tree.logits[lane, node] > -1e38).sum())
        assert known
        assert max(known) == sign * tree.value[lane, node]
        assert max(known) == 1 or len(known) == legal


@pytest.mark.slow
def test_one_player_games_are_solved():
    """The Latin cross has exactly two first jumps that solve it; a proof must say so."""
    record = perft_json()["peg_solitaire"]["figures"]["latin_cross (british_2, the article's log)"]
    game = GAMES["latincross"]
    position = play.begin(game)
    result, _ = searched(Uct(simulations=300), Model(game, Uniform()), stacked([position.state], game))
    assert result.solved[0]
    assert result.value[0] == 1
    good = {action for action, solutions in record["first_jumps_and_solution_counts"] if solutions}
    assert int(result.action[0]) in good
    for action, solutions in record["first_jumps_and_solution_counts"]:
        if result.proven[0, action]:
            assert (result.q[0, action] == 1) == (solutions > 0)


@pytest.mark.slow
def test_no_solver_proves_only_what_is_over():
    game = GAMES["tictactoe"]
    root = positions(game, 32, 6)
    result, q = searched(Puct(simulations=64, solver=False), Model(game, Uniform()), root)
    assert not result.solved.any()
    assert (q.done == 64).all()
    # children of the root that are over are known exactly all the same
    for lane, action in itertools.product(range(32), range(9)):
        if result.proven[lane, action]:
            assert result.q[lane, action] in (0.0, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHES)
def test_a_position_lost_everywhere_still_gives_a_legal_move(name):
    game = make("minerace", board=".IIII")
    position = play.begin(game)
    result, _ = searched(SEARCHES[name], Model(game, Uniform()), stacked([position.state], game))
    assert result.solved[0]
    assert result.value[0] == -1
    assert 0 <= result.action[0] < 4


@pytest.mark.slow
def test_gumbel_looks_at_other_moves_where_all_it_considers_are_lost():
    """Of every board where the likeliest two moves lose and another one does not: such a one is found and played."""
    game, legal = GAMES["tictactoe"], lambda cells: [i for i in range(9) if not cells[i]]
    some = [
        cells
        for cells in boards()
        if len(legal(cells)) >= 3 and minimax(cells) > -1 and all(minimax(after) == 1 for _, after in moves(cells)[:2])
    ]
    assert len(some) > 10
    root = stacked([game.place(np.array(c, np.int8), sum(map(bool, c)) % 2) for c in some], game)
    result, _ = searched(Gumbel(16, max_considered=2, gumbel_scale=0.0), Model(game, Uniform()), root)
    for lane, cells in enumerate(some):
        values = {action: -minimax(after) for action, after in moves(cells)}
        assert values[int(result.action[lane])] > -1, cells
        assert result.visits[lane].sum() > result.visits[lane, legal(cells)[:2]].sum(), "others were looked at"
