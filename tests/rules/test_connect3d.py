"""3D Connect Four: counts, playouts with their scores, the examples of the rules, a plain reference at every ply."""

import functools

import jax
import numpy as np
import pytest
from explore import explore
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import connect3d as reference
from reference.replay import check_agreement
from support import Host, check_playout, mostly_slow, perft_json, random_games

from jaxgo.core import play, replay
from jaxgo.frontends import board as boards
from jaxgo.games import make
from jaxgo.games.connect3d import FOOTPRINT, Connect3D, windows

GAME = Connect3D()
REAL = Connect3D(floor=False)
GOLDEN = perft_json()["nycu_3d_connect_four"]


def test_points_are_told_with_a_position():
    board = boards.begin(GAME)
    for action in (0, 1, 0, 1, 0, 1, 0, 2):
        board = board.play(action)
    assert play.scores(GAME, board.now.position.state) == [100.0, 0.0]
    assert replay.status(GAME, board.now.position).endswith(", score 100 : 0")
    assert play.scores(make("connect4"), play.begin(make("connect4")).state) is None


def scores(host: Host) -> list[float]:
    return np.asarray(host.game.scores(host.state)).tolist()


def lines(host: Host) -> list[int]:
    return np.roll(np.asarray(host.state.lines), int(host.state.to_play)).tolist()


def test_geometry():
    assert [list(cell) for cell in FOOTPRINT] == GOLDEN["cells_xy_in_action_order"]
    assert len(windows()) == GOLDEN["windows"] == len(np.unique(windows(), axis=0))
    assert (np.bitwise_count(windows()).sum(axis=1) == 4).all()
    count = {str(d): len(found) for d, found in reference.windows().items()}
    assert count == GOLDEN["windows_per_direction_l_x_y"]


@pytest.mark.slow
def test_perft():
    assert [int(layer.paths.sum()) for layer in explore(GAME, 4)[1:]] == GOLDEN["perft_nodes"][:4]


@pytest.mark.parametrize("record", GOLDEN["playouts_floor"], ids=lambda r: f"seed{r['seed']}")
def test_playouts(record):
    host = check_playout(GAME, record)
    assert lines(host) == record["final"]["lines"]
    assert scores(host) == record["final"]["score"]


@pytest.mark.parametrize("record", GOLDEN["playouts_floor"][:2], ids=lambda r: f"seed{r['seed']}")
def test_the_score_after_every_line(record):
    host, trace = Host(GAME), []
    before = [0, 0]
    for ply, action in enumerate(record["moves"], 1):
        host.play(action)
        if lines(host) != before:
            before = lines(host)
            trace.append([ply, *before, *scores(host)])
    assert trace == record["trace_ply_linesB_linesW_scoreB_scoreW"]


@pytest.mark.parametrize("record", GOLDEN["playouts_floor"], ids=lambda r: f"seed{r['seed']}")
def test_scores_without_floor(record):
    host = Host(REAL).play(*record["moves"])
    np.testing.assert_allclose(scores(host), record["final_unfloored_score"], rtol=1e-6)
    assert host.result == record["result_p0"]


@pytest.mark.parametrize("example", GOLDEN["scoring_examples"], ids=lambda e: e["what"])
def test_scoring_examples(example):
    host = Host(GAME).play(*[GAME.parse_action(f"{x}{y}") for x, y in example["moves_xy"]])
    assert lines(host) == example["lines"]
    assert scores(host) == example["score"]
    mover = int(host.state.to_play)
    assert float(GAME.margin(host.state)) == scores(host)[mover] - scores(host)[1 - mover]
    assert np.sign(host.heuristic) == np.sign(float(GAME.margin(host.state)))
    assert not host.over


def test_a_row_of_six_without_floor():
    places = GOLDEN["scoring_examples"][2]["moves_xy"]
    host = Host(REAL).play(*[REAL.parse_action(f"{x}{y}") for x, y in places])
    np.testing.assert_allclose(scores(host), [100 + 50 + 100 / 3, 0], rtol=1e-6)


@functools.cache
def prior(game):
    return jax.jit(lambda state: (*game.connect_and_block(state), game.move_weights(state)))


def test_connect_and_block_in_the_published_figure():
    rows = ["  ..  ", " .... ", "..XX..", ".O.X..", " .O.. ", "  ..  "]
    void = [row.replace("X", ".").replace("O", ".") for row in rows]
    picture = "/".join(" ".join([row] + [empty] * 5) for row, empty in zip(rows, void, strict=True))
    host = Host.at(GAME, picture, 1)
    assert host.rows == picture
    connect, block, weights = prior(GAME)(host.state)
    golden = GOLDEN["method6_figure_prior_block_connect_in_units_of_c"]
    mine = {f"{x},{y}": [int(block[a]), 2 * int(connect[a])] for a, (x, y) in enumerate(FOOTPRINT)}
    assert mine == {name.split("@")[0]: pair for name, pair in golden.items()}
    assert np.flatnonzero(weights == 3).tolist() == [GAME.parse_action("20"), GAME.parse_action("53")]
    np.testing.assert_array_equal(weights, [1 + sum(pair) for pair in mine.values()])
    np.testing.assert_allclose(prior(Connect3D(prior=0.25))(host.state)[2], 1 + 0.25 * (np.asarray(weights) - 1))


@settings(max_examples=30)
@given(st.lists(st.integers(0, 23), min_size=10, max_size=60))
def test_connect_and_block_like_the_reference(drops):
    rules = reference.Connect3D()
    state = rules.initial()
    for action in drops:
        if len(state[0][action]) < 6:
            state = rules.step(state, action)
    seat = rules.to_move(state)
    codes = np.array([" .XO".index(c) for c in rules.cells(state)], np.int8)
    placed = GAME.place(np.array([3, 0, 1, 2], np.int8)[codes], seat)
    connect, block, _ = prior(GAME)(placed)
    expected = [reference.connect_and_block(state[0], seat, action) for action in range(24)]
    assert list(zip(connect.tolist(), block.tolist(), strict=True)) == expected
    assert np.roll(placed.lines, seat).tolist() == list(state[2])


@pytest.mark.parametrize("floor", mostly_slow([True, False], [True]))
def test_reference_agrees_at_every_ply(floor):
    games = random_games(Connect3D(floor), 64)
    rules = reference.Connect3D(floor)
    lanes = range(8)
    assert check_agreement(Connect3D(floor), rules, games, lanes) == 64 * len(lanes)
    for lane in lanes:
        state = rules.initial()
        for t in range(64):
            state = rules.step(state, int(games.actions[t, lane]))
        final = jax.tree.map(lambda x, lane=lane: x[lane], games.final.state)
        np.testing.assert_allclose(final.score, state[3], rtol=1e-6)
        np.testing.assert_array_equal(final.lines, state[2])


@pytest.mark.slow
def test_reference_agrees_in_256_games():
    assert check_agreement(GAME, reference.Connect3D(), random_games(GAME, 256, seed=1)) == 64 * 256


def test_planes():
    host = Host(GAME).play(*[GAME.parse_action(name) for name in ("22", "33", "22", "33", "22", "33", "22")])
    planes = host.planes
    assert planes[3, 3, :6].tolist() == [1, 1, 1, 0, 0, 0]
    assert planes[2, 2, 6:12].tolist() == [1, 1, 1, 1, 0, 0]
    assert planes[..., :12].sum() == 7
    assert (planes[..., 12:] == [0, 1, 0, 0.5, 1]).all()


def test_the_key_knows_the_score():
    """The same stones in another order make other points: who comes first gets 100."""
    build = ["20", "30", "21", "31", "22", "32"]
    early = Host(GAME).play(*[GAME.parse_action(n) for n in [*build, "23", "33", "02", "03"]])
    late = Host(GAME).play(*[GAME.parse_action(n) for n in [*build, "02", "33", "23", "03"]])
    assert scores(early) == [100, 50]
    assert scores(late) == [50, 100]
    assert early.rows == late.rows
    assert (np.asarray(GAME.hash(early.state)) != np.asarray(GAME.hash(late.state))).any()


def test_a_lead_may_be_part_of_the_result():
    """By hand: 134 points to 100 are 0.75 of a win and 0.25 tanh 0.34; as many points for both are a draw."""
    state = random_games(GAME, 1).final.state
    first = jax.tree.map(lambda x: np.asarray(x)[0], state)
    for score, expected in (((134.0, 100.0), 0.75 + 0.25 * np.tanh(0.34)), ((100.0, 100.0), 0.0)):
        ended = first._replace(score=np.array(score, np.float32), to_play=np.int8(0))
        np.testing.assert_allclose(Connect3D(by_lead=0.25).returns(ended), [expected, -expected], atol=1e-6)
        np.testing.assert_allclose(GAME.returns(ended), [np.sign(expected), -np.sign(expected)])


def dominant(game, state):
    """The moves that make a line; else those after which the other seat makes none; else all."""

    def makes(state, action):
        seat = game.to_move(state)
        return game.step(state, action)[2][seat] > state[2][seat]

    legal = game.legal(state)
    lines = [a for a in legal if makes(state, a)]
    after = {a: game.step(state, a) for a in legal}
    safe = [a for a in legal if not any(makes(after[a], reply) for reply in game.legal(after[a]))]
    return lines or safe or legal


@pytest.mark.slow
def test_dominant_pruning_is_what_play_shows():
    game, rng = reference.Connect3D(), np.random.default_rng(3)
    host, state, kinds = Host(GAME), game.initial(), set()
    prune = jax.jit(lambda state: GAME.prune(state, GAME.legal(state)))
    for _ in range(63):
        kept = np.flatnonzero(np.asarray(prune(host.state))).tolist()
        expected = dominant(game, state)
        assert kept == expected
        kinds.add((len(expected) == len(game.legal(state)), game.step(state, expected[0])[2] != state[2]))
        # half of the time a move that the rule leaves out, so that threats stay on the board
        action = int(rng.choice(game.legal(state) if rng.random() < 0.5 else expected))
        host.play(action)
        state = game.step(state, action)
    assert len(kinds) >= 3  # quiet positions, lines to make, lines to deny
