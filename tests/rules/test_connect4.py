"""Connect Four: counts, playouts, values of small boards and of positions, a plain reference and pgx at every ply."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from explore import explore, values
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.connect4 import ConnectFour as Reference
from reference.connect4 import value
from reference.replay import check_agreement
from support import Host, check_playout, legal, mostly_slow, perft_json, random_games, step

from jaxgo.core.errors import UsageError
from jaxgo.games.connect4 import ConnectFour, lines

GAME = ConnectFour()
GOLDEN = perft_json()["connect_four"]
FULL = GOLDEN["connect4_6x7"]
SMALL = {
    "connect3_3cols_3rows": ConnectFour(3, 3, 3),
    "connect4_4cols_4rows": ConnectFour(4, 4, 4),
    "connect4_5cols_4rows": ConnectFour(5, 4, 4),
    "connect4_4cols_5rows": ConnectFour(4, 5, 4),
    "connect3_4cols_4rows": ConnectFour(4, 4, 3),
}


def check_counts(game, golden, depth):
    layers = explore(game, depth)[1:]
    assert [int(layer.paths.sum()) for layer in layers] == golden["nodes"][:depth]
    assert [len(layer.paths) for layer in layers] == golden["distinct_states"][:depth]
    for layer, ends in zip(layers, golden["ends"], strict=False):
        first = layer.returns[:, 0]
        assert int(layer.paths[layer.over & (first > 0)].sum()) == ends["p0_wins"]
        assert int(layer.paths[layer.over & (first < 0)].sum()) == ends["p1_wins"]
        assert int(layer.paths[layer.over & (first == 0)].sum()) == ends["draws"]


def test_perft():
    check_counts(GAME, FULL["perft"], 9)


@pytest.mark.parametrize("record", FULL["playouts"], ids=lambda r: f"seed{r['seed']}")
def test_playouts(record):
    check_playout(GAME, record)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_small_boards_perft(name):
    check_counts(SMALL[name], GOLDEN[name]["perft"], 8)


@pytest.mark.parametrize(
    "name",
    [
        "connect3_3cols_3rows",
        "connect3_4cols_4rows",
        "connect4_4cols_4rows",
        pytest.param("connect4_5cols_4rows", marks=pytest.mark.slow),
        pytest.param("connect4_4cols_5rows", marks=pytest.mark.slow),
    ],
)
def test_small_boards_solved(name):
    """Every position, from the ends backwards, by the array rules alone."""
    assert values(explore(SMALL[name]))[0][0] == GOLDEN[name]["value_first_player"]


@pytest.mark.parametrize("record", FULL["midgame_values"], ids=lambda r: "".join(map(str, r["moves"])))
def test_values_of_positions(record):
    """The reference solves the position; the array rules reach it, and have the same columns and quick wins."""
    host = Host(GAME).play(*record["moves"])
    reference = Reference()
    state = reference.after(record["moves"])
    golden = {int(column): worth for column, worth in record["value_per_column"].items()}
    assert host.legal() == reference.legal(state) == sorted(golden)
    assert int(host.state.to_play) == record["to_move"]
    known: dict = {}
    assert {c: -value(reference, reference.step(state, c), known) for c in golden} == golden
    for column in golden:
        after, moved = step(GAME)(host.position, jnp.int32(column))
        child = reference.step(state, column)
        assert float(moved.reward) == (reference.result(child) is not None and golden[column])
        assert np.flatnonzero(legal(GAME)(after)).tolist() == reference.legal(child)


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        ("0011223", "......./......./......./......./OOO..../XXXX..."),
        ("0101010", "......./......./X....../XO...../XO...../XO....."),
        ("01122323363", "......./......./...X.../..XX.../.XXO.../XOOO..O"),
        ("65544343303", "......./......./...X.../...XX../...OXX./O..OOOX"),
    ],
    ids=["across", "up", "rising", "falling"],
)
def test_wins_in_every_direction(columns, rows):
    host = Host(GAME).play(*map(int, columns))
    assert host.rows == rows
    assert host.result == 1
    assert float(host.transition.reward) == 1
    assert host.legal() == []


@pytest.mark.parametrize(
    "game",
    mostly_slow([GAME, ConnectFour(5, 4, 3), ConnectFour(9, 9, 5), ConnectFour(4, 13, 4)], [GAME]),
    ids=lambda g: f"{g.width}x{g.height}",
)
def test_reference_agrees_at_every_ply(game):
    reference = Reference(game.width, game.height, game.k)
    assert check_agreement(game, reference, random_games(game, 256 if game == GAME else 64)) > 64


@pytest.mark.slow
def test_pgx_agrees_at_every_ply():
    pgx = pytest.importorskip("pgx")
    env = pgx.make("connect_four")
    games = random_games(GAME, 256)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        move = jax.jit(jax.vmap(env.step))
        state = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 256))
        for t in range(len(games.actions)):
            live = games.live[t]
            np.testing.assert_array_equal(~np.asarray(state.terminated), live)
            mask = np.unpackbits(games.legal_bits[t], axis=-1, count=GAME.num_actions).astype(bool)
            np.testing.assert_array_equal(np.asarray(state.legal_action_mask)[live], mask[live])
            board = np.where(np.asarray(state._x.board) < 0, 0, np.asarray(state._x.board) + 1)
            np.testing.assert_array_equal(board[live], games.cells[t][live])
            mover = np.asarray(state.current_player)
            state = move(state, jnp.asarray(games.actions[t]))
            reward = np.asarray(state.rewards)[np.arange(256), mover]
            np.testing.assert_array_equal(reward[live], games.rewards[t][live])


def test_planes_show_own_discs_first():
    planes = Host(GAME).play(3, 3, 0).planes
    assert not planes[..., 2:].any()
    assert np.argwhere(planes[..., 0]).tolist() == [[4, 3]]
    assert np.argwhere(planes[..., 1]).tolist() == [[5, 0], [5, 3]]


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(st.lists(st.sampled_from([1, 2]), max_size=6), min_size=7, max_size=7), st.integers(0, 1))
def test_drawn_positions(columns, seat):
    codes = np.zeros((6, 7), np.int8)
    for c, column in enumerate(columns):
        codes[6 - len(column) :, c] = column[::-1]
    state = GAME.place(codes.reshape(-1), seat)
    np.testing.assert_array_equal(GAME.cells(state), codes.reshape(-1))
    np.testing.assert_array_equal(GAME.legal(state), [len(column) < 6 for column in columns])
    own, other, wins, losses = np.moveaxis(np.asarray(GAME.observe(state)), -1, 0)
    np.testing.assert_array_equal(own, codes == seat + 1)
    np.testing.assert_array_equal(other, codes == 2 - seat)
    assert bool(GAME.has_line(state.stones[0])) == has_four(own)
    for planes, stones in ((wins, own), (losses, other)):
        if not has_four(stones):
            np.testing.assert_array_equal(planes, completing(stones, codes == 0))


def completing(stones: np.ndarray, empty: np.ndarray) -> np.ndarray:
    """The empty cells with which there are four in a row, one after the other."""
    found = np.zeros_like(empty)
    for row, column in np.argwhere(empty):
        more = stones.copy()
        more[row, column] = True
        found[row, column] = has_four(more)
    return found


@pytest.mark.parametrize("game", [ConnectFour(9, 7, 5), ConnectFour(3, 4, 3), ConnectFour(2, 26, 4)])
def test_winning_cells_of_other_boards(game):
    """Boards of several words, and lines that reach over the edge of one."""
    rng = np.random.default_rng(0)
    masks = lines(game.width, game.height, game.k)
    see = jax.jit(game.winning_cells)
    for _ in range(20):
        heights = rng.integers(0, game.height + 1, game.width)
        codes = rng.integers(1, 3, (game.width, game.height)) * (np.arange(game.height) < heights[:, None])
        own, other = game.columns.place(codes.astype(np.int8), 0)
        expected = np.zeros_like(own)
        for cell in np.argwhere(codes == 0).tolist():
            bit = game.columns.mask([tuple(cell)])
            made = ((masks & ~(own | bit)) == 0).all(1) & ((masks & bit) != 0).any(1)
            expected |= bit * made.any().astype(np.uint32)
        np.testing.assert_array_equal(np.asarray(see(own, own | other)), expected)


def has_four(own: np.ndarray) -> bool:
    for r, c in np.argwhere(own):
        for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1)):
            line = [(r + i * dr, c + i * dc) for i in range(4)]
            if all(0 <= y < 6 and 0 <= x < 7 and own[y, x] for y, x in line):
                return True
    return False


def test_a_hanging_disc_is_refused():
    with pytest.raises(UsageError, match="hangs"):
        Host.at(GAME, "......./......./......./......./X....../.......")


def test_the_key_knows_the_mover():
    state = Host(GAME).play(3, 3, 0).state
    mirrored = state._replace(stones=state.stones[::-1], to_play=1 - state.to_play)
    np.testing.assert_array_equal(GAME.cells(mirrored), GAME.cells(state))
    assert (np.asarray(GAME.hash(mirrored)) != np.asarray(GAME.hash(state))).any()


@pytest.mark.parametrize("game", [GAME, ConnectFour(4, 4, 3), ConnectFour(9, 4, 5)], ids=["7x6", "4x4", "9x4"])
def test_what_an_end_teaches(game):
    """Whose disc each cell has, and which discs stand in a line of the winner's, found cell by cell."""
    look = jax.jit(jax.vmap(lambda state: (game.aux_values(state), game.cells(state))))
    taught, boards = jax.device_get(look(random_games(game, 64, seed=5).final.state))
    boards = boards.reshape(-1, *game.shape)
    won = 0
    for board, owned, line in zip(boards, taught["ownership"], taught["line"], strict=True):
        stones = np.where(board == 1, 1, np.where(board == 2, -1, 0))
        np.testing.assert_array_equal(owned.reshape(game.shape), stones)
        expected = np.zeros(game.shape)
        for y, x in np.ndindex(game.shape):
            for dy, dx in ((0, 1), (1, 0), (1, 1), (1, -1)):
                cells = [(y + i * dy, x + i * dx) for i in range(game.k)]
                if all(0 <= a < game.height and 0 <= b < game.width for a, b in cells):
                    found = {int(stones[cell]) for cell in cells}
                    if len(found) == 1 and found != {0}:
                        expected[tuple(zip(*cells, strict=True))] = found.pop()
        np.testing.assert_array_equal(line.reshape(game.shape), expected)
        won += bool(expected.any())
    assert won > 8
