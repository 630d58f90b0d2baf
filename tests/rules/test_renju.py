"""Renju: the forbidden points of 750 games, hand-made shapes, deep recursions, and a plain reference at every ply."""

import functools
import gzip
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference.gomoku import Gomoku as Reference
from reference.replay import check_agreement
from support import GOLDEN as FOLDER
from support import Host, check_playout, legal, perft_json, random_games, sample_lanes, step

from jaxgo.core import play
from jaxgo.games.gomoku import lines, renju
from jaxgo.games.gomoku.rules import Gomoku

GOLDEN = perft_json()["gomoku"]
GAME, SMALL = Gomoku(15, "renju"), Gomoku(9, "renju")
REFERENCE = Reference(15, "renju")
# found among random boards: to judge one of their points the rule calls itself up to eight times over
DEEP = (
    ".X.X.....O...../O...........OO./......X...OX.X./..........OO.../........X.X..../....O.......X.X/OO....X......O./"
    ".XX..X..X....../.O...X..X.....X/X..O..XX...O.../.X.....X....X../X...........X.X/..X.O.....OOO../...XO.........O/"
    "....X.X..X.....",
    "X...X..X......./X...OX........./........X.X..XO/..O....X.X...O./....X....X..OX./.OXO.X..X.X..../....O........../"
    ".OX...........X/......O.......X/..O...X.....X../X....X.O.X.X.X./..O....XX..X.../....O..X.....X./...........O.../"
    "...............",
    ".........X..X../....X.......X../XX....O..X..X../...X.......XX../..X..X........./O...X.O......../.XO.......X..../"
    "...OO.......X../X....XX.....XX./.X.XX........../X..X....XX..XO./..O.O.XX......./X......X...X..X/X...O....XX..../"
    "..XOX..........",
)


@functools.cache
def forbidden():
    """Forbidden points of a batch of boards, one program for each size of a batch."""

    def points(cells):
        black, white = (lines.pack(cells == code, 15) for code in (1, 2))
        return lines.unpack(renju.forbidden_points(black, white))

    return jax.jit(jax.vmap(points))


def codes(board):
    return np.array([".XO".index(c) for c in board.replace("/", "")], np.int8)


@functools.cache
def vectors():
    with gzip.open(FOLDER / "renju_vectors.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


def board_of(vector):
    cells = np.zeros(225, np.int8)
    for ply, (row, column) in enumerate(vector["moves"]):
        cells[row * 15 + column] = 1 + ply % 2
    return cells


def points_of(vector):
    return {tuple(map(int, point.split(","))): reason for point, reason in vector["forbidden"].items()}


@pytest.mark.slow
def test_all_vectors():
    """Every forbidden point of every position, and no other."""
    assert len(vectors()) == 750
    assert all(vector["size"] == 15 for vector in vectors())
    found = np.asarray(forbidden()(np.stack([board_of(vector) for vector in vectors()])))
    wrong = [
        index
        for index, vector in enumerate(vectors())
        if {divmod(cell, 15) for cell in np.flatnonzero(found[index]).tolist()} != set(points_of(vector))
    ]
    assert wrong == []


def check_reasons(some):
    for vector in some:
        cells = "".join(".XO"[code] for code in board_of(vector).tolist())
        for (row, column), reason in points_of(vector).items():
            assert REFERENCE.forbidden(cells, row * 15 + column) == reason
        allowed = {c for c, stone in enumerate(cells) if stone == "."} - {15 * r + c for r, c in points_of(vector)}
        assert not any(REFERENCE.forbidden(cells, cell) for cell in allowed)


def test_the_reference_passes_the_vectors():
    check_reasons(vectors()[::10])


@pytest.mark.slow
def test_the_reference_passes_all_vectors():
    check_reasons(vectors())


@pytest.mark.parametrize("record", GOLDEN["renju_tests"], ids=lambda r: r["name"])
def test_listed_points(record):
    cells = np.zeros(225, np.int8)
    for code, stones in ((1, record["x"]), (2, record["o"])):
        for row, column in stones:
            cells[row * 15 + column] = code
    row, column = record["point"]
    position = play.resume(GAME, state_at(cells))
    assert bool(legal(GAME)(position)[row * 15 + column]) == (record["forbidden"] is None)


def state_at(cells):
    """As `place`, through the program that all tests of forbidden points share."""
    return _placed(cells, forbidden()(cells[None])[0])


@jax.jit
def _placed(cells, found):
    stones = jnp.stack([lines.pack(cells == code, 15) for code in (1, 2)])
    return GAME.init(jax.random.key(0))._replace(stones=stones, forbidden=lines.pack(found, 15))


@pytest.mark.slow
def test_recursion():
    """Doubtful points in one lane of many, in more lanes than are searched side by side, and outside a batch."""
    want = [[bool(board[c] == "." and REFERENCE.forbidden(board, c)) for c in range(225)] for board in plain(DEEP)]
    lanes = np.arange(3 * renju.LANES) % (len(DEEP) + 1)
    boards = np.stack([*map(codes, DEEP), np.zeros(225, np.int8)])
    found = np.asarray(forbidden()(boards[lanes]))
    np.testing.assert_array_equal(found, np.array([*want, [False] * 225])[lanes])
    state = GAME.place(codes(DEEP[0]), 0)
    np.testing.assert_array_equal(np.asarray(GAME.legal(state)), (codes(DEEP[0]) == 0) & ~np.array(want[0]))


def plain(boards):
    return [board.replace("/", "") for board in boards]


@pytest.mark.slow
def test_random_boards():
    """Dense boards that no game reaches are judged like the reference judges them."""
    rng = np.random.default_rng(1)
    boards = np.zeros((48, 225), np.int8)
    for board, black in zip(boards, rng.integers(20, 70, 48), strict=True):
        places = rng.permutation(225)
        board[places[:black]], board[places[black : black + 25]] = 1, 2
    found = np.asarray(forbidden()(boards))
    for board, mask in zip(boards, found, strict=True):
        cells = "".join(".XO"[code] for code in board.tolist())
        want = [cell for cell in range(225) if cells[cell] == "." and REFERENCE.forbidden(cells, cell)]
        assert np.flatnonzero(mask).tolist() == want


@pytest.mark.slow
@pytest.mark.parametrize("size", [9, 15])
def test_playouts(size):
    for record in GOLDEN["playouts"][f"{size}_renju"]:
        check_playout(Gomoku(size, "renju"), record)


@pytest.mark.slow
def test_the_reference_agrees():
    games = random_games(SMALL, 64)
    assert check_agreement(SMALL, Reference(9, "renju"), games, sample_lanes(games, 8)) > 200


@pytest.mark.slow
def test_the_reference_agrees_in_many_games():
    check_agreement(SMALL, Reference(9, "renju"), random_games(SMALL, 256, thorough=True))


@pytest.mark.slow
def test_a_black_without_points_has_a_draw():
    """The last free cell would make a line of six: White's move before it ends the game."""
    rows = "XXX.XXOO./OOXXOOXXO/XXOOXXOOX/OOXXOOXXO/XXOOXXOOX/OOXXOOXXO/XXOOXXOOX/OOXXOOXXO/XXOOXXOOX"
    host = Host.at(SMALL, rows, 1)
    assert host.legal() == [3, 8]
    host.play(8)
    assert host.over
    assert host.result == 0
    assert Host.at(SMALL, rows, 1).play(3).legal() == [8]  # the other way round Black has a point


@pytest.mark.slow
def test_white_may_go_where_black_may_not():
    rows = "........./........./..OO...../....X..../....X..../........./........./........./........."
    rows = rows.replace("O", "X")
    black, white = Host.at(SMALL, rows, 0), Host.at(SMALL, rows, 1)
    assert white.legal() == [cell for cell in range(81) if rows.replace("/", "")[cell] == "."]
    assert set(white.legal()) - set(black.legal()) == {2 * 9 + 4}


@pytest.mark.slow
def test_only_white_wins_with_six():
    rows = "........./.OOO.OO../.XXX.XX../........./........./........./........./........./........."
    assert Host.at(SMALL, rows, 1).play(13).result == -1
    host = Host.at(SMALL, rows, 0)
    assert 22 not in host.legal()
    after, _ = step(SMALL)(host.position, jnp.int32(22))
    assert not play.over(SMALL, after)


def test_the_planes_show_forbidden_points():
    rows = "........./........./..XX...../....X..../....X..../........./........./........./........."
    for seat in (0, 1):
        planes = Host.at(SMALL, rows, seat).planes
        assert planes.shape == (9, 9, 8)
        assert np.argwhere(planes[:, :, 6]).tolist() == [[2, 4]]
        assert planes[:, :, 7].all() == (seat == 0)
