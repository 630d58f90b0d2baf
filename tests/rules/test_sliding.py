"""Sliding blocks: shortest solutions, counts with equal blocks merged and apart, n-puzzles that can be solved."""

import dataclasses

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest
from explore import explore
from reference.replay import check_agreement
from reference.sliding import SlidingBlocks as Reference
from reference.sliding import breadth_first
from support import Host, end, mostly_slow, perft_json, random_games, start, step

from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.games import GAMES, make
from jaxgo.games.sliding import SlidingBlocks

GOLDEN = perft_json()["sliding_puzzles"]
PUZZLES = {"hughe": "hughe", "klotski": "red_donkey"}
HUGHE = GAMES["hughe"]


@pytest.mark.parametrize("name", PUZZLES)
def test_the_registered_layouts(name):
    game, golden = GAMES[name], GOLDEN[PUZZLES[name]]
    assert game.rows.split("/") == golden["rows"]
    goal = game.goal.split("/")
    cells = [(r, c) for r, row in enumerate(goal) for c, letter in enumerate(row) if letter == golden["target"]]
    assert list(cells[0]) == golden["goal_topleft_row_col"]
    names = [game.action_name(a) for a in Host(game).legal()]
    assert names == [f"{move[0]}-{move[1]}" for move in golden["legal_at_start"]]


@pytest.mark.parametrize("name", PUZZLES)
def test_perft(name):
    layers = explore(GAMES[name], 8)[1:]
    assert [int(layer.paths.sum()) for layer in layers] == GOLDEN[PUZZLES[name]]["perft"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        ("hughe", "distinct_blocks"),
        pytest.param("hughe", "identical_blocks", marks=pytest.mark.slow),
        pytest.param("klotski", "identical_blocks", marks=pytest.mark.slow),
    ],
)
def test_every_position(name, blocks):
    """Breadth first through all positions by the array rules: how many, how far, and the shortest solution."""
    game, golden = GAMES[name], GOLDEN[PUZZLES[name]][blocks]
    key = game.repetition_key if blocks == "identical_blocks" else game.hash
    layers = explore(game, key=key, revisit=False, past_ends=True, thorough=name == "klotski")
    sizes = [len(layer.over) for layer in layers]
    assert sum(sizes) == golden["reachable"]
    assert sizes[: len(golden["level_sizes"])] == golden["level_sizes"]
    assert len(sizes) - 1 == golden["eccentricity"]
    solved = [(layer.returns[:, 0] == 1).any() for layer in layers]
    assert solved.index(True) == golden["shortest_unit_moves"]


@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        ("hughe", "identical_blocks"),
        pytest.param("hughe", "distinct_blocks", marks=pytest.mark.slow),
        pytest.param("klotski", "identical_blocks", marks=pytest.mark.slow),
    ],
)
def test_the_reference_s_breadth_first_search(name, blocks):
    golden = GOLDEN[PUZZLES[name]][blocks]
    found = breadth_first(Reference(GAMES[name].rows, GAMES[name].goal), blocks == "distinct_blocks")
    assert found.positions == golden["reachable"]
    assert found.shortest == golden["shortest_unit_moves"]
    assert found.expanded == golden["expanded_until_goal"]
    assert found.layers[: len(golden["level_sizes"])] == golden["level_sizes"]


def shortest_solution(game) -> list[int]:
    layers = explore(game, key=game.repetition_key, revisit=False)
    last = next(t for t, layer in enumerate(layers) if layer.over.any())
    at = int(np.flatnonzero(layers[last].over)[0])
    actions = []
    for layer in reversed(layers[:last]):
        # several moves may lead to equal positions; the first is the one whose blocks `explore` went on with
        move = int(np.flatnonzero(layer.child == at)[0])
        at = int(layer.parent[move])
        actions.append(int(layer.action[move]))
    return actions[::-1]


@pytest.mark.slow
def test_hughe_s_puzzle_is_solved_in_31_moves():
    solution = shortest_solution(HUGHE)
    host = Host(HUGHE).play(*solution)
    assert len(solution) == 31
    assert host.result == 1
    assert float(host.transition.reward) == 1
    assert float(host.transition.discount) == 0
    assert [row[2] for row in host.rows.split("/")][2:] == ["A", "A"]
    assert host.heuristic == 1


def test_the_cap_is_no_solution():
    host = Host(make("hughe", max_plies=3)).play(*[HUGHE.parse_action(name) for name in ("b-W", "b-E")])
    assert float(host.transition.discount) == 1
    assert host.play(HUGHE.parse_action("c-W")).result == 0


def test_equal_blocks_share_the_repetition_key_only():
    """Two unit squares that change places: other boards, other hashes, the same position for repetition."""
    one, two = Host.at(HUGHE, "A.b/A.c/dee/ffg"), Host.at(HUGHE, "A.c/A.b/dee/ffg")
    other = Host.at(HUGHE, "Ab./A.c/dee/ffg")
    keys = [np.asarray(HUGHE.repetition_key(host.state)).tolist() for host in (one, two, other)]
    hashes = [np.asarray(HUGHE.hash(host.state)).tolist() for host in (one, two, other)]
    assert keys[0] == keys[1] != keys[2]
    assert len({tuple(h) for h in hashes}) == 3


@dataclasses.dataclass(frozen=True)
class Onward(SlidingBlocks):
    """A puzzle that is lost by going back to a position."""

    repetition = "loss"


def test_a_puzzle_may_be_lost_by_repetition():
    game = Onward("12/3.", "../.3")
    position = start(game)(jax.random.key(0))
    for move in ("2-s", "2-n"):
        assert not end(game)(position)[0]
        position, moved = step(game)(position, jnp.int32(game.parse_action(move)))
    over, returns = end(game)(position)
    assert bool(over)
    assert returns.tolist() == [-1.0], "one seat, one result"
    assert (float(moved.reward), float(moved.discount)) == (-1.0, 0.0)


@pytest.mark.parametrize("name", mostly_slow(["hughe", "slide8", "slide15"], ["hughe"]))  # klotski below
def test_reference_agrees_at_every_ply(name):
    game = GAMES[name]
    games = random_games(game, 64)
    width = game.shape[1]
    for lane in range(2):
        start = "".join(game.pieces[code].glyph for code in games.cells[0, lane].tolist())
        start = "/".join(start[i : i + width] for i in range(0, len(start), width))
        assert check_agreement(game, Reference(start, game.goal), games, [lane]) > 100


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hughe", "klotski"])
def test_reference_agrees_in_256_games(name):
    game = GAMES[name]
    assert check_agreement(game, Reference(game.rows, game.goal), random_games(game, 256, seed=1, thorough=True)) > 256


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hughe", "klotski", "slide8", "slide15"])
def test_hash_from_scratch(name):
    game = GAMES[name]
    games = random_games(game, 64)
    cells = games.cells[::25].reshape(-1, games.cells.shape[-1])
    keys = jax.jit(jax.vmap(lambda c: game.hash(game._state(c))))(jnp.asarray(cells))
    np.testing.assert_array_equal(keys, games.keys[::25].reshape(-1, 2))


def reachable_arrangements(game) -> set[bytes]:
    """Every arrangement that can be solved: what moves from the solved one reach."""
    solved = make("slide8", rows="123/45./786", scramble=False) if game is None else game
    layers = explore(solved, revisit=False, past_ends=True)
    return {row.tobytes() for layer in layers for row in np.asarray(layer.states.blocks)}


@pytest.mark.slow
def test_starts_of_the_small_puzzle_can_all_be_solved():
    """Half of all 9! arrangements can be solved; 20,000 drawn starts are all among them, and spread evenly."""
    can = reachable_arrangements(None)
    assert len(can) == 181_440
    check_starts(GAMES["slide8"], can, 20_000)


@pytest.mark.slow
def test_starts_of_a_tiny_puzzle_can_all_be_solved():
    """Two rows of three: 360 arrangements of 720, each drawn about as often as the others; never the solved one."""
    rows = "123/45."
    can = reachable_arrangements(SlidingBlocks(rows, rows))
    assert len(can) == 360
    drawn = check_starts(SlidingBlocks(rows, rows, scramble=True), can, 20_000)
    assert len(drawn) == 359
    expected = 20_000 / 360
    assert max(abs(n - expected) for n in drawn.values()) < 6 * 2 * np.sqrt(expected)


def check_starts(game, can: set[bytes], number: int) -> dict[bytes, int]:
    states = jax.jit(jax.vmap(game.init))(jax.random.split(jax.random.key(5), number))
    assert not jax.jit(jax.vmap(game.over))(states).any()
    drawn: dict[bytes, int] = {}
    for row in np.asarray(states.blocks):
        drawn[row.tobytes()] = drawn.get(row.tobytes(), 0) + 1
    assert set(drawn) <= can
    return drawn


@pytest.mark.parametrize("rows", ["1234/5678/9abc/d.ef", "1234/5678/9a.c/deb f".replace(" ", "")])
def test_starts_of_the_15_puzzle_keep_the_parity(rows):
    """The famous 14-15 exchange cannot be drawn, by the parity of the whole arrangement counted here by cycles."""
    game = GAMES["slide15"]
    starts = jax.jit(jax.vmap(game.init))(jax.random.split(jax.random.key(1), 200))
    odd = [is_odd(np.asarray(blocks)) for blocks in starts.blocks]
    assert not any(odd)
    exchanged = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 14, 0], np.int8)
    assert is_odd(exchanged)
    codes = np.array([(".", *game.letters).index(c) for c in rows.replace("/", "")], np.int8)
    assert not is_odd(codes), "a few moves from the solved puzzle"


def is_odd(blocks: np.ndarray) -> bool:
    """Whether the parity of the permutation differs from that of the way of the empty cell."""
    home = [*range(1, 16), 0]
    target = {code: cell for cell, code in enumerate(home)}
    permutation = [target[int(code)] for code in blocks]
    seen, swaps = set(), 0
    for cell in range(16):
        while cell not in seen:
            seen.add(cell)
            cell, swaps = permutation[cell], swaps + (permutation[cell] not in seen)
    row, column = divmod(blocks.tolist().index(0), 4)
    return (swaps + 3 - row + 3 - column) % 2 == 1


def test_names_of_tiles():
    game = GAMES["slide15"]
    assert game.pieces[10].label == "10"
    assert game.action_name(4 * 9) == "10-N"
    assert game.parse_action("15-w") == 4 * 14 + 3
    start = play.begin(game, 3)
    assert sorted(play.cells(game, start.state).tolist()) == list(range(16))


def test_planes_show_block_by_block():
    planes = Host(HUGHE).planes
    assert planes.shape == (4, 3, 7)
    assert np.argwhere(planes[..., 0]).tolist() == [[0, 0], [1, 0]]
    assert np.argwhere(planes[..., 4]).tolist() == [[2, 1], [2, 2]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rows": "A.b/A.c/dee/ff"}, "rectangle"),
        ({"rows": "A.b/A.c/dee/f!g"}, "letters"),
        ({"rows": "A.b/A.a/dee/ffg"}, "both cases"),
        ({"goal": ".../..."}, "same size"),
        ({"goal": ".../.../.../.AA"}, "another shape"),
        ({"scramble": True}, "scrambled"),
        ({"rows": "1/2/3/.", "goal": "1/2/3/.", "scramble": True}, "scrambled"),
        ({"max_plies": 0}, "max_plies=0 of sliding blocks is not between 1 and 10000"),
        ({"max_plies": 10_001}, "max_plies=10001 of sliding blocks"),
        ({"rows": "AB/CD", "goal": "BA/.."}, "can move"),
    ],
)
def test_wrong_options_are_told(options, words, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(UsageError, match=words):
        make("hughe", **options)


def test_a_drawing_keeps_the_shapes():
    with pytest.raises(UsageError, match="block e"):
        Host.at(HUGHE, "A.b/A.c/de./ffg")
