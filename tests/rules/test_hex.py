"""Hex: a plain reference at every ply, swaps, edges that meet, solved small boards, and whole games of pgx."""

import functools
import heapq

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference.hex import Hex as Reference
from reference.hex import around
from reference.replay import check_agreement
from reference.solve import solve
from support import Host, codes, random_games, sample_lanes

from jaxgo.core.errors import UsageError
from jaxgo.evaluators.solved import judge, on_device
from jaxgo.games import GAMES, make
from jaxgo.games.hex import CUT, SAVE, Hex
from jaxgo.solvers.explore import Room
from jaxgo.solvers.retrograde import solve_game

GAME = GAMES["hex5"]
LANES = 32
SWAP = 25


@functools.cache
def look():
    """All that is asked of a position of the small board."""
    hooks = (GAME.legal, GAME.observe, GAME.over, GAME.hash, GAME.distances, GAME.move_weights, GAME.aux_values)
    return jax.jit(jax.vmap(lambda state: {hook.__name__: hook(state) for hook in hooks}))


def seen(states) -> dict:
    """The same of up to LANES positions, by one program."""
    states = [*states, *[states[-1]] * (LANES - len(states))]
    return jax.device_get(look()(jax.tree.map(lambda *x: jnp.stack(x), *states)))


def drawn(rows: str, to_play: int = 0):
    return GAME.place(codes(GAME, rows), to_play)


def test_reference_agrees_at_every_ply():
    games = random_games(GAME, LANES, 4)
    assert check_agreement(GAME, Reference(5), games) > 15 * LANES
    assert ((games.actions[1] == SWAP) & games.live[1]).any(), "some games swap"


@pytest.mark.slow
@pytest.mark.parametrize("swap", [True, False], ids=["swap", "plain"])
@pytest.mark.parametrize("size", [2, 3, 7, 11, 12, 19])
def test_reference_agrees_on_all_sizes(size, swap):
    game = Hex(size, swap)
    games = random_games(game, 256, 1)
    lanes = sample_lanes(games, 256 if size < 11 else 32)
    swapped = np.flatnonzero((games.actions[1] == size * size) & games.live[1])
    check_agreement(game, Reference(size, swap), games, sorted({*lanes, *swapped.tolist()}))
    assert swap or not len(swapped)


def test_blue_takes_the_first_stone_over():
    host = Host(GAME).play(GAME.parse_action("d1"))
    assert host.legal() == [*range(3), *range(4, 25), SWAP]
    host.play(SWAP)
    assert host.rows == "...../...../...../B..../....."
    assert host.state.to_play == 0
    assert host.legal() == [*range(15), *range(16, 25)], "the cell of the first stone is free again"
    assert SWAP not in host.play(0).legal()
    late = Host(GAME).play(0, 1)
    assert SWAP not in late.legal()


def test_red_never_swaps():
    """An empty board where Blue begins is no start of the game."""
    host = Host.at(GAME, "...../...../...../...../.....", 1).play(7)
    assert host.legal() == [*range(7), *range(8, 25)]
    np.testing.assert_array_equal(host.state.chains, drawn("...../..B../...../...../.....").chains)


def test_a_swapped_stone_is_linked_to_the_edge_that_it_comes_to():
    planes = Host(GAME).play(GAME.parse_action("c1"), SWAP).planes
    assert np.argwhere(planes[:, :, 1]).tolist() == np.argwhere(planes[:, :, 3]).tolist() == [[2, 0]]


def test_without_the_pie_rule_nobody_swaps():
    game = make("hex5", swap=False)
    assert (game.num_actions, game.max_plies) == (25, 25)
    with pytest.raises(UsageError, match="swap"):
        game.parse_action("swap")


@pytest.mark.parametrize(("swap", "ply"), [(True, 2), (False, 1)], ids=["swap", "plain"])
def test_plies_behind_one_stone(swap, ply):
    """No game that begins with it is longer than games are."""
    game = Hex(3, swap)
    state = game.place(codes(game, ".../.B./..."), 0)
    assert int(state.ply) == ply
    assert ply + 8 <= game.max_plies


@pytest.mark.parametrize(
    ("rows", "seat", "move", "result"),
    [
        ("..R../..R../...../.R.../.R...", 0, "b3", 1),
        ("..R../..R../...../.R.../.R...", 0, "c3", 1),
        ("..R../..R../...../.R.../.R...", 0, "d3", None),
        ("...../BB.BB/...../...../.....", 1, "c2", -1),
        ("...../BB.BB/...../...../.....", 1, "c3", None),
        ("R..../R...R/R.R.R/RR..R/....R", 0, "d2", 1),  # down, up and down again
    ],
)
def test_edges_meet(rows, seat, move, result):
    host = Host.at(GAME, rows, seat)
    assert host.result is None
    assert host.play(GAME.parse_action(move)).result == result


def test_a_position_that_is_set_up_is_the_one_that_was_played():
    games = random_games(GAME, LANES)
    for ply in (0, 1, 2, 9, 18, -1):
        states = [
            GAME.place(games.cells[ply, lane], int(games.to_play[ply, lane])) for lane in range(games.actions.shape[1])
        ]
        here = seen(states)
        np.testing.assert_array_equal(here["hash"], games.keys[ply])
        live = ~here["over"]
        if ply < 0:
            assert not live.any()
            assert [int(state.winner) for state in states] == [1 if r > 0 else 2 for r in games.returns[:, 0]]
        else:
            np.testing.assert_array_equal(live, games.live[ply])
            np.testing.assert_array_equal(np.packbits(here["legal"], axis=1)[live], games.legal_bits[ply][live])
            assert (here["observe"][live][..., 5].all((1, 2)) == (ply == 1)).all()


def plain_distances(reference, state) -> list[int]:
    """The empty cells on the cheapest way, by Dijkstra's algorithm."""
    out = []
    for seat in (0, 1):
        cost = {place: int(place not in state[seat]) for place in reference.places if place not in state[1 - seat]}
        queue = [(cost[place], place) for place in cost if place[seat] == 0]
        heapq.heapify(queue)
        known: dict = {}
        while queue:
            far, place = heapq.heappop(queue)
            if place not in known:
                known[place] = far
                for other in around(place) & cost.keys():
                    heapq.heappush(queue, (far + cost[other], other))
        last = reference.size - 1
        out.append(min((far for place, far in known.items() if place[seat] == last), default=reference.size**2))
    return out


def chain_of_the_winner(reference, state) -> list[int]:
    seat = 0 if reference.result(state) == 1 else 1
    for start in state[seat]:
        chain, todo = set(), [start]
        while todo:
            place = todo.pop()
            if place not in chain:
                chain.add(place)
                todo += around(place) & state[seat]
        if reference.joined(frozenset(chain), seat):
            return [(1 - 2 * seat) * (place in chain) for place in reference.places]
    raise AssertionError("nobody has won")


def test_distances_and_the_chain_that_won():
    reference, games = Reference(5), random_games(GAME, LANES)
    states = [GAME.place(games.cells[ply, lane], 0) for lane in range(8) for ply in (4, 12, 18, -1)]
    here = seen(states)
    for row, state in enumerate(states):
        rows = GAME.cells(state).reshape(5, 5).tolist()
        red, blue = (frozenset(p for p in reference.places if rows[p[0]][p[1]] == code) for code in (1, 2))
        plain = red, blue, 0, 0
        assert here["distances"][row].tolist() == plain_distances(reference, plain)
        if reference.result(plain) is not None:
            assert here["aux_values"]["line"][row].tolist() == chain_of_the_winner(reference, plain)
        owner = [(place in red) - (place in blue) for place in reference.places]
        assert here["aux_values"]["ownership"][row].tolist() == owner


def test_broken_bridges_are_mended_or_parted():
    """Blue stands on b3, between c2 and b4 of Red's, which c3 joins, and on b5: a5 still links b4 to the bottom."""
    rows = "...../..R../.B.../.R.../.B..."
    both = seen([drawn(rows, 0), drawn(rows, 1)])["move_weights"]
    for weights, more in zip(both, (SAVE, CUT), strict=False):
        heavy = {GAME.action_name(a): float(w) for a, w in enumerate(weights) if w > 1}
        assert heavy == {"c3": 1 + more, "a5": 1 + more}


def test_blue_s_bridges_are_red_s_on_the_transposed_board():
    games, at = random_games(GAME, LANES), [(ply, lane) for lane in range(8) for ply in (6, 10, 13, 16)]
    cells, seats = (np.array([kept[place] for place in at]) for kept in (games.cells, games.to_play))
    mirrored = np.array([0, 2, 1], np.int8)[cells.reshape(-1, 5, 5).transpose(0, 2, 1)].reshape(-1, 25)
    weights = seen([GAME.place(codes, int(seat)) for codes, seat in zip(cells, seats, strict=True)])["move_weights"]
    other = seen([GAME.place(codes, 1 - int(seat)) for codes, seat in zip(mirrored, seats, strict=True)])[
        "move_weights"
    ]
    np.testing.assert_array_equal(other[:, :25].reshape(-1, 5, 5), weights[:, :25].reshape(-1, 5, 5).transpose(0, 2, 1))
    assert {1, 1 + SAVE, 1 + CUT} <= set(weights.reshape(-1).tolist())


def test_heuristic_is_the_mover_s_lead():
    rows = "..R../..R../...../...../....."  # Red needs 3, Blue 5
    values = [float(GAME.heuristic(drawn(rows, seat))) for seat in (0, 1)]
    np.testing.assert_allclose(values, np.tanh([1, -1]), rtol=1e-6)


def test_heuristic_knows_that_the_first_stone_may_be_swapped():
    stones = [GAME.place(cells, 1) for cells in np.eye(25, dtype=np.int8)]
    values = jax.jit(jax.vmap(GAME.heuristic))(jax.tree.map(lambda *x: jnp.stack(x), *stones))
    np.testing.assert_allclose(values, np.full(25, np.tanh(0.5)), rtol=1e-6)  # one side needs a stone less
    assert GAME.heuristic(drawn("...../..R../..R../...../.B...", 1)) < 0, "nobody may swap any more"


def test_names():
    game = GAMES["hex11"]
    assert [game.action_name(a) for a in (0, 10, 11, 120, 121)] == ["a1", "k1", "a2", "k11", "swap"]
    assert game.parse_action("Swap-Pieces") == game.parse_action("SWAP") == 121


@pytest.mark.parametrize("size", [1, 27])
def test_sizes(size):
    with pytest.raises(UsageError, match=f"size {size} is not between 2 and 26"):
        Hex(size)


@pytest.mark.slow  # compiles for seconds
@pytest.mark.parametrize("swap", [False, True], ids=["plain", "swap"])
def test_three_by_three_is_what_plain_python_finds(swap):
    game, reference = Hex(3, swap), Reference(3, swap)
    table, truth = solve_game(game, room=Room(batch=2048)), solve(reference, reference.initial())
    values, distances = truth.values, truth.distances
    known = [state for state in values if reference.result(state) is None]
    states = [game.place(codes(game, reference.cells(state)), state[2]) for state in known]
    # by numpy: a program with so many operands compiles for most of a minute
    here, _ = judge(game, on_device(table), jax.tree.map(lambda *x: np.stack(x), *states))
    assert here.known.all()
    assert here.value.tolist() == [values[state] for state in known]
    assert here.distance.tolist() == [distances[state] for state in known]
    assert values[reference.initial()] == (-1 if swap else 1), "who may swap wins"
    assert {a for a, (value, _) in truth.after(reference.initial()).items() if value < 0} == (
        set() if swap else {2, 3, 4, 5, 6}  # without corners of two edges, and b1 and b3
    )


@pytest.mark.slow
def test_pgx_agrees_at_every_ply():
    pgx = pytest.importorskip("pgx")
    env, game, lanes = pgx.make("hex"), GAMES["hex11"], 512
    games = random_games(game, lanes)
    assert (games.actions[1] == 121).any(), "nobody swaps"
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        move = jax.jit(jax.vmap(env.step))
        state = jax.vmap(env.init)(jax.random.split(jax.random.key(0), lanes))
        for t in range(len(games.actions)):
            live = games.live[t]
            np.testing.assert_array_equal(~np.asarray(state.terminated), live)
            mask = np.unpackbits(games.legal_bits[t], axis=-1, count=game.num_actions).astype(bool)
            np.testing.assert_array_equal(np.asarray(state.legal_action_mask)[live], mask[live])
            mover = np.asarray(state.current_player)
            stones = np.sign(np.asarray(state._x.board)) * np.where(games.to_play[t] == 0, 1, -1)[:, None]
            colours = np.array([0, 1, -1])[games.cells[t]]
            np.testing.assert_array_equal(stones[live], colours[live])
            state = move(state, jnp.asarray(games.actions[t]))
            reward = np.asarray(state.rewards)[np.arange(lanes), mover]
            np.testing.assert_array_equal(reward[live], games.rewards[t][live])
