"""Go by hand: captures and suicide, what the state carries, ends, handicap, names and options, guesses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from go_boards import KO, RULES, board
from support import Host, codes, perft_json, untyped

from jaxgo.core.errors import UsageError
from jaxgo.core.game import state_bytes
from jaxgo.games import GAMES, make
from jaxgo.games.go.board import Grid, label_chains, numpy_set
from jaxgo.games.go.rules import Go

# -- positions ------------------------------------------------------------------------------------------------------
TAKEN, BEFORE = ".XO../X.XO./.XO../...../.....", ".XO../XO.O./.XO../...../....."


@pytest.mark.parametrize("record", perft_json()["go"]["positions"], ids=lambda r: r["name"][:30])
def test_positions(record):
    game = board(5, KO[record["ko"]], record["suicide"])
    if record["board"] == TAKEN:  # reached by taking, as the history tells
        host = Host.at(game, BEFORE).play(7)
    else:
        host = Host.at(game, record["board"], "XO".index(record["to_move"]))
    assert host.rows == record["board"]
    assert host.legal() == record["legal"]
    assert int(game.score(host.state)) == record["area_score_black"]
    if "query" in record:
        assert (record["query"] in host.legal()) == record["query_legal"]
    if record.get("board_after"):
        assert host.play(record["query"]).rows == record["board_after"]


def test_simple_ko_lasts_one_ply():
    host = Host.at(board(5, "simple"), BEFORE).play(7)
    assert host.state.ko == 6
    assert 6 not in host.legal()
    assert 6 in host.play(24, 20).legal()
    after_passes = Host.at(board(5, "simple"), BEFORE).play(7, 25, 24)
    assert 6 in after_passes.legal()


def test_capture_of_several_chains_at_once():
    host = Host.at(board(5), "...../.X.XX/XO.OO/.XOXX/.XOX.")
    lines = host.game.lines
    assert int(lines.count(host.state.atari)) == 8  # five white stones, and three black ones that get free
    host.play(12)
    assert host.rows == "...../.X.XX/X.X../.X.XX/.X.X."
    assert host.state.ko == -1
    assert not host.state.atari.any()


def test_snapback():
    """Black gives one stone and takes four at once with the next: no ko, though the first point is played again."""
    for ko in KO.values():
        host = Host.at(board(5, ko), "..OX./OOX../XX.../...../.....").play(0, 1)
        assert host.rows == ".OOX./OOX../XX.../...../....."
        assert host.play(0).rows == "X..X./..X../XX.../...../....."


@pytest.mark.parametrize("ko", KO.values())
def test_suicide_of_several_stones(ko):
    rows = ".OX../OX.../X..../...../....."
    assert 0 not in Host.at(board(5, ko), rows, 1).legal()
    host = Host.at(board(5, ko, True), rows, 1).play(0)
    assert host.rows == "..X../.X.../X..../...../....."
    same = Go(5).place(codes(Go(5), host.rows), 0)
    np.testing.assert_array_equal(host.state.key, same.key)
    np.testing.assert_array_equal(host.state.atari, same.atari)


def test_suicide_of_one_stone():
    """It is a pass that leaves its seat's mark: only the situational rule has room for it."""
    rows = ".X.../X..../...../...../....."
    for ko, suicide in RULES:
        host = Host.at(board(5, ko, suicide), rows, 1)
        assert (0 in host.legal()) == (suicide and ko == "situational"), (ko, suicide)


def test_suicide_of_one_stone_once():
    """The same board with White having moved may not come a second time."""
    host = Host.at(board(5, "situational", True), ".X.../X..../...../...../.....", 1)
    rows = host.rows
    assert host.play(0).rows == rows
    assert 0 not in host.play(25).legal()


def test_hash_knows_mover_ko_and_pass():
    game = board(5)
    taken = Host.at(game, BEFORE).play(7).state
    quiet = taken._replace(ko=jnp.int16(-1))
    passed = quiet._replace(recent=quiet.recent.at[0].set(25))
    turned = quiet._replace(to_play=jnp.int8(0))
    keys = {tuple(np.asarray(game.hash(state)).tolist()) for state in (taken, quiet, passed, turned)}
    assert len(keys) == 4


def test_bytes():
    assert [state_bytes(GAMES[name]) for name in ("go9", "go19")] == [155, 935]


# -- the end --------------------------------------------------------------------------------------------------------
def test_komi_and_draws():
    rows = "XXXOO/XXXOO/X.XOO/XXXO./.XXOO"  # 16 to 10, one point each side counted
    for komi, result in ((3.5, 1), (5.0, 0), (6.5, -1)):
        game = Go(5, komi=komi)
        state = game.place(codes(game, rows), 0)
        assert int(game.score(state)) == 5
        assert not game.over(state)
        passed = state._replace(recent=state.recent.at[:2].set(25))
        assert game.over(passed)
        assert jax.jit(game.returns)(passed).tolist() == [result, -result]


def test_two_passes_or_the_limit_end_a_game():
    assert Host(board(5)).play(25, 25).over
    host = Host(Go(3, move_limit=3, komi=0.5)).play(9, 4, 9)
    assert host.over
    assert host.result == -1  # White's stone owns the board
    assert host.legal() == []
    assert Go(5).max_plies == 50


# -- handicap, names, options ---------------------------------------------------------------------------------------
STARS = {
    2: "D4 Q16", 3: "D4 Q16 D16", 4: "D4 Q16 D16 Q4", 5: "D4 Q16 D16 Q4 K10", 6: "D4 Q16 D16 Q4 D10 Q10",
    7: "D4 Q16 D16 Q4 D10 Q10 K10", 8: "D4 Q16 D16 Q4 D10 Q10 K4 K16", 9: "D4 Q16 D16 Q4 D10 Q10 K4 K16 K10",
}  # fmt: skip


@pytest.mark.parametrize("stones", STARS)
def test_handicap_stones_stand_on_the_star_points_and_white_moves(stones):
    game = make("go19", handicap=stones)
    state = game.init(jax.random.key(0))
    on = {game.action_name(a) for a in np.flatnonzero(np.asarray(game.cells(state)) == 1).tolist()}
    assert on == set(STARS[stones].split())
    assert not (np.asarray(game.cells(state)) == 2).any()
    assert state.to_play == 1


def test_handicap_of_small_boards():
    state = make("go9", handicap=4).init(jax.random.key(0))
    names = [GAMES["go9"].action_name(a) for a in np.flatnonzero(np.asarray(GAMES["go9"].cells(state))).tolist()]
    assert sorted(names) == ["C3", "C7", "G3", "G7"]


def test_names():
    game = GAMES["go19"]
    assert [game.action_name(a) for a in (0, 8, 18, 342, 361)] == ["A19", "J19", "T19", "A1", "pass"]
    assert game.parse_action("d4") == 15 * 19 + 3
    assert game.parse_action("PASS") == 361
    with pytest.raises(UsageError, match="I5"):
        game.parse_action("I5")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"size": 20}, "1 to 19"),
        ({"ko": "super"}, "positional"),
        ({"handicap": 1}, "2 to 9"),
        ({"size": 8, "handicap": 5}, "2 to 4"),
        ({"size": 5, "handicap": 2}, "no handicap"),
        ({"komi": float("nan")}, "komi"),
        ({"komi": -1e308}, "from -1000 to 1000"),
        ({"move_limit": -1}, "move_limit"),
    ],
)
def test_wrong_options(options, text):
    with pytest.raises(UsageError, match=text):
        make("go9", **options)


def test_no_komi_is_too_large_to_be_refused():
    with pytest.raises(UsageError, match="from -1000 to 1000"):
        untyped(Go, komi=10**400)


def test_a_chain_without_liberties_cannot_be_drawn():
    with pytest.raises(UsageError, match="without liberties"):
        Host.at(board(5), "OX.../X..../...../...../.....")


# -- playouts and guesses -------------------------------------------------------------------------------------------
def test_playouts_keep_their_eyes_and_pass_last():
    game = board(5)
    weights = Host.at(game, ".XO../XX.../....X/...X./..X.X").weights
    ordinary, eye, passing = weights[12], weights[0], weights[25]
    assert ordinary > 100 * passing > 10_000 * eye > 0
    assert weights[23] == eye  # at the edge, with no white stone on its corners
    false_eye = Host.at(game, ".X.../XO.../...../...../.....").weights
    assert false_eye[0] == ordinary  # White on the corner of an edge point
    for rows, is_eye in (
        ("...../..X../.X.X./..X../.....", True),
        (".O.../.OX../.X.X./..X../.....", True),
        ("...../.OX../.X.X./.OX../.....", False),
    ):
        weight = Host.at(game, rows).weights[12]
        assert (weight == eye) == is_eye, rows


def test_heuristic_likes_the_side_with_more_room():
    game = Go(9, komi=0.5)
    rows = "/".join(["....X...."] * 9)
    values = [Host.at(game, rows, seat).heuristic for seat in (0, 1)]
    assert values[0] > 0.9
    assert values[1] == -values[0]
    assert abs(Host(game).heuristic) < 0.1


def test_sets_of_accelerators_are_those_of_processors():
    """On nine boards of random stones: what is connected with some of them, and whole chains of some of them."""
    lines, random = Grid(9, 9), np.random.default_rng(3)
    cells = random.random((9, lines.points)) < np.linspace(0.3, 0.9, 9)[:, None]
    names = np.full((9, lines.bits), lines.nowhere, np.uint8)
    seeds, whole = np.zeros_like(cells), np.zeros_like(cells)
    for lane, stands in enumerate(cells):
        chain, _ = label_chains(lines, stands)
        names[lane, lines.bit[:-1]] = np.where(stands, lines.bit[chain], lines.nowhere)
        seeds[lane] = stands & (random.random(lines.points) < 0.1)
        whole[lane] = stands & np.isin(chain, chain[seeds[lane]])
    some, area = (np.stack([numpy_set(lines, one) for one in many]) for many in (seeds, cells))
    flooded = jax.vmap(
        lambda s, a, n: (lines._flood(s, a), lines._flood_in_strides(s, a), lines._chains_by_name(s, a, n))
    )
    for found in jax.jit(flooded)(some, area, names):
        np.testing.assert_array_equal(jax.vmap(lines.unpack)(found), whole)
