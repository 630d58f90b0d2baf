"""Gomoku: counts, playouts, who wins by which rules, and a plain reference at every ply."""

import functools

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest
from explore import explore
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.gomoku import DIRECTIONS, put
from reference.gomoku import Gomoku as Reference
from reference.replay import check_agreement
from support import Host, check_playout, mostly_slow, perft_json, random_games, step

from jaxgo.core import play, zobrist
from jaxgo.core.errors import UsageError
from jaxgo.core.game import state_bytes
from jaxgo.games import GAMES, make
from jaxgo.games.gomoku.lines import pack
from jaxgo.games.gomoku.rules import WINS, Gomoku

GOLDEN = perft_json()["gomoku"]
ALL_RULES = list(WINS)
LISTED = ["freestyle", "standard", "renju"]


def test_registered_values():
    assert GAMES["gomoku"] == GAMES["gomoku15"] == Gomoku(15, "freestyle", "none")
    assert [GAMES[name].size for name in ("gomoku9", "gomoku19", "renju15", "swap2-15")] == [9, 19, 15, 15]
    assert make("gomoku", size=13, rules="renju") == Gomoku(13, "renju")
    assert state_bytes(GAMES["gomoku15"]) <= 150
    assert state_bytes(GAMES["renju15"]) <= 210


def test_perft_9():
    """The last number comes from the legal moves of the last layer: nobody can win before the ninth ply."""
    golden = GOLDEN["perft"]["gomoku_9"]["nodes"]
    layers = explore(Gomoku(9), 3)
    assert [int(layer.paths.sum()) for layer in layers[1:]] == golden[:3]
    assert not layers[-1].over.any()
    assert int(layers[-1].paths.sum()) * 78 == golden[3]


@pytest.mark.slow
def test_perft_15():
    layers = explore(Gomoku(15), 2)
    assert [int(layer.paths.sum()) for layer in layers[1:]] == GOLDEN["perft"]["gomoku_15"]["nodes"][:2]


@pytest.mark.parametrize("rules", ["freestyle", "standard"])
@pytest.mark.parametrize("size", [9, 15])
def test_playouts(size, rules):
    for record in GOLDEN["playouts"][f"{size}_{rules}"]:
        check_playout(Gomoku(size, rules), record)


# -- who wins -----------------------------------------------------------------------------------------------------
@functools.cache
def last_stone(game):
    """Puts a stone on a board; the result for who put it."""

    def result(cells, seat, cell):
        stones = jnp.stack([pack(cells == code, game.size) for code in (1, 2)])
        state = game.init(jax.random.key(0))._replace(stones=stones, to_play=seat)
        after = game.step(state, cell)
        return game.over(after), game.returns(after)[seat]

    return jax.jit(result)


def wins(size, rules, cells, cell, seat):
    """Whether the stone wins; `cells` is a text."""
    codes = np.array([".XO".index(c) for c in cells], np.int8)
    over, value = last_stone(Gomoku(size, rules))(codes, jnp.int8(seat), jnp.int32(cell))
    return bool(over) and float(value) == 1


@pytest.mark.parametrize("rules", LISTED)
@pytest.mark.parametrize("record", GOLDEN["win_tests"], ids=lambda r: r["name"])
def test_listed_wins(record, rules):
    cells = "." * 225
    for stone, places in (("X", record["x"]), ("O", record["o"])):
        for row, column in places:
            cells = put(cells, row * 15 + column, stone)
    row, column = record["last"]
    assert wins(15, rules, cells, row * 15 + column, "XO".index(record["by"])) == record["wins"][rules]


@pytest.mark.parametrize(("left", "right"), [(3, 2), (2, 3), (1, 4), (4, 4), (0, 5), (5, 0), (2, 2), (3, 1), (0, 4)])
@pytest.mark.parametrize("seat", [0, 1])
def test_two_runs_joined_by_a_stone(left, right, seat):
    """Three joined with two is six in a row: a win of freestyle in all directions, from edge to edge."""
    length, stone = left + 1 + right, "XO"[seat]
    for down, over in DIRECTIONS:
        for row in {0, 2, 15 - (length - 1) * down - 1}:
            for column in {0 if over >= 0 else length - 1, 15 - length if over > 0 else 14}:
                line = [(row + i * down) * 15 + column + i * over for i in range(length)]
                cells = "." * 225
                for cell in line[:left] + line[left + 1 :]:
                    cells = put(cells, cell, stone)
                assert wins(15, "freestyle", cells, line[left], seat) == (length >= 5)
                assert wins(15, "standard", cells, line[left], seat) == (length == 5)
                assert wins(15, "renju", cells, line[left], seat) == (length == 5 or (length > 5 and seat == 1))


@pytest.mark.parametrize(
    ("row", "rules_that_win"),
    [
        ("..XX.XX..", ["freestyle", "standard", "renju", "caro", "caro5"]),
        (".OXX.XX..", ["freestyle", "standard", "renju", "caro", "caro5"]),
        (".OXX.XXO.", ["freestyle", "standard", "renju"]),  # a five between two enemies
        ("XX.XXO...", ["freestyle", "standard", "renju", "caro", "caro5"]),  # the edge is no enemy
        ("..XX.XXX.", ["freestyle", "caro"]),
        ("OXX.XXXO.", ["freestyle", "caro"]),  # more than five win between enemies too
        ("XX.XX.XX.", ["freestyle", "standard", "renju", "caro", "caro5"]),
    ],
)
def test_a_line_by_all_rules(row, rules_that_win):
    cells = "." * 36 + row + "." * 36
    assert [rules for rules in ALL_RULES if wins(9, rules, cells, 36 + row.index(".", row.index("X")), 0)] == (
        rules_that_win
    )


def test_play_goes_on_after_a_line_that_does_not_count():
    rows = "/".join([".........", ".OXXXX.O.", *["........."] * 7])
    assert not Host.at(Gomoku(9, "caro"), rows, 0).play(15, 80).over
    rows = rows.replace(".OXXXX.O.", "X.XXXX...")
    assert not Host.at(Gomoku(9, "standard"), rows, 0).play(10, 80).over
    assert Host.at(Gomoku(9, "standard"), rows, 0).play(15).result == 1


BOARD = st.lists(st.sampled_from("XXXXO."), min_size=49, max_size=49).map("".join)


@pytest.mark.slow
@pytest.mark.parametrize("rules", ALL_RULES)
@settings(max_examples=100)
@given(cells=BOARD, cell=st.integers(0, 48), seat=st.integers(0, 1))
def test_wins_on_crowded_boards(rules, cells, cell, seat):
    """Only the lines through the new stone count, whatever else stands on the board."""
    if seat:
        cells = cells.translate(str.maketrans("XO", "OX"))
    cells = put(cells, cell, ".")
    assert wins(7, rules, cells, cell, seat) == Reference(7, rules).wins(put(cells, cell, "XO"[seat]), cell)


def test_a_win_on_the_last_cell_is_no_draw():
    rows = "XXXX./OOXOO/XXOXX/OOXOO/XXOXX"
    assert Host.at(Gomoku(5), rows, 0).play(4).result == 1
    host = Host.at(Gomoku(5), rows, 1).play(4)
    assert host.over
    assert host.result == 0


# -- the reference --------------------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("rules", mostly_slow(["freestyle", "standard", "caro", "caro5"], ["caro"]))
def test_the_reference_agrees(rules):
    games = random_games(Gomoku(9, rules), 256)
    assert check_agreement(Gomoku(9, rules), Reference(9, rules), games) > 256 * 9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gomoku15", "gomoku19"])
def test_the_reference_agrees_on_large_boards(name):
    game = GAMES[name]
    check_agreement(game, Reference(game.size), random_games(game, 64), range(8))


@pytest.mark.slow
@pytest.mark.parametrize("rules", mostly_slow([*WINS], ["standard", "caro"]))
def test_what_an_end_teaches(rules):
    """The stones of the winner that are part of a winning line, by the reference; nothing of a draw."""
    game, reference = Gomoku(9, rules), Reference(9, rules)
    games = random_games(game, 256)
    taught = jax.device_get(jax.jit(jax.vmap(game.aux_values))(games.final.state))["line"]
    boards = jax.device_get(jax.vmap(game.cells)(games.final.state))
    for board, line, result in zip(boards, taught, games.returns[:, 0], strict=True):
        cells = "".join(".XO"[code] for code in board)
        stone = {1: "X", -1: "O", 0: "-"}[int(result)]
        expected = [result if c == stone and reference.wins(cells, cell) else 0 for cell, c in enumerate(cells)]
        np.testing.assert_array_equal(line, expected)
    assert (np.abs(taught).sum(axis=1) >= 5).sum() > 200


def test_the_seat_with_black_is_taught_by_its_own_sign():
    """After a swap the second seat has the black stones."""
    game = Gomoku(7, opening="swap2")
    games = random_games(game, 64)
    taught = jax.device_get(jax.jit(jax.vmap(game.aux_values))(games.final.state))["line"]
    swapped = np.asarray(games.final.state.black) == 1
    np.testing.assert_array_equal(np.sign(taught.sum(axis=1)), games.returns[:, 0])
    assert (swapped & (games.returns[:, 0] != 0)).sum() > 8


def test_the_hash_is_that_of_the_board():
    """Keys grown move by move are those of the drawn position, and boards of other sizes have others."""
    games = random_games(Gomoku(9), 256)
    words = zobrist.table("stones", 81, 2)
    last = games.live.sum(0)
    keys, cells = (x[last // 2, np.arange(256)] for x in (games.keys, games.cells))
    seats = games.to_play[last // 2, np.arange(256)]
    scratch = jax.jit(jax.vmap(functools.partial(zobrist.of_cells, words)))(cells)
    empty = [np.asarray(Gomoku(9).hash(Gomoku(9).place(np.zeros(81, np.int8), seat))) for seat in (0, 1)]
    np.testing.assert_array_equal(keys, np.asarray(scratch) ^ np.stack(empty)[seats])
    placed = Gomoku(9).place(cells[0], int(seats[0]))
    np.testing.assert_array_equal(np.asarray(Gomoku(9).hash(placed)), keys[0])
    assert not np.isin(zobrist.table("stones", 225, 2), words).any()


def test_transpositions_share_a_key():
    one, two = Host(Gomoku(9)).play(1, 2, 3, 4), Host(Gomoku(9)).play(3, 4, 1, 2)
    assert one.rows == two.rows
    np.testing.assert_array_equal(Gomoku(9).hash(one.state), Gomoku(9).hash(two.state))
    other = play.resume(Gomoku(9), Gomoku(9).place(np.asarray(Gomoku(9).cells(one.state)), 1))
    assert (np.asarray(Gomoku(9).hash(other.state)) != np.asarray(Gomoku(9).hash(one.state))).any()


# -- views ----------------------------------------------------------------------------------------------------------
def test_names():
    game = GAMES["gomoku15"]
    assert game.action_name(112) == "h8"
    assert [game.action_name(a) for a in (0, 8, 14, 210, 224)] == ["a15", "i15", "o15", "a1", "o1"]
    assert game.parse_action("H8") == 112
    assert Gomoku(20).action_name(19) == "t20"
    with pytest.raises(UsageError, match="p1"):
        game.parse_action("p1")


def test_planes():
    game = GAMES["gomoku9"]
    host = Host(game).play(40, 41, 31, 50, 22, 21)
    planes = host.planes.reshape(81, 7)
    assert np.flatnonzero(planes[:, 0]).tolist() == [22, 31, 40]
    assert np.flatnonzero(planes[:, 1]).tolist() == [21, 41, 50]
    assert [np.flatnonzero(planes[:, 2 + i]).tolist() for i in range(4)] == [[21], [22], [50], [31]]
    assert planes[:, 6].all()
    white = host.play(13).planes.reshape(81, 7)
    assert np.flatnonzero(white[:, 0]).tolist() == [21, 41, 50]
    assert not white[:, 6].any()


def test_pictures_come_back():
    rows = "XO.../...../..X../...../....O"
    assert Host.at(Gomoku(5), rows, 1).rows == rows


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"size": 4}, "between 5 and 20"),
        ({"size": 21}, "between 5 and 20"),
        ({"rules": "gobang"}, "freestyle"),
        ({"opening": "taraguchi"}, "swap2"),
        ({"sise": 9}, "size"),
    ],
)
def test_wrong_options(options, text, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as outside of tests, where nobody checks types
    with pytest.raises(UsageError, match=text):
        make("gomoku", **options)


def test_two_sizes_at_once():
    small, large = Host(Gomoku(5)), Host(Gomoku(20))
    for move in range(4):
        small.play(move, move + 5)
        large.play(move, move + 20)
    assert step(Gomoku(5)) is not step(Gomoku(20))
    assert (small.play(4).result, large.play(4).result) == (1, 1)
