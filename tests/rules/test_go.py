"""Go: counts, stored games, positions by hand, superko cycles, and a plain reference at every ply."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import go as plain
from reference.replay import check_agreement
from support import Host, check_playout, codes, mostly_slow, perft, perft_json, random_games

from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game, state_bytes
from jaxgo.games import GAMES, make
from jaxgo.games.go import Go, GoState

KO = {"psk": "positional", "ssk": "situational", "simple": "simple"}
RULES = [(ko, suicide) for ko in KO.values() for suicide in (False, True)]


def golden(part):
    return perft_json()["go"][part]


def board(size, ko="positional", suicide=False, width=0):
    """Few different games, so that few programs are compiled; no stored game reaches the limit."""
    return Go(size, width, ko=ko, suicide=suicide, komi=0.5, move_limit=400 if size > 5 else 120)


def variant(name):
    """The game of a name such as `3x2_psk_nosuicide` (width x height) or `9_simple_nosuicide_komi0.5`."""
    size, ko, suicide = name.split("_")[:3]
    width, _, height = size.partition("x")
    width, height = int(width), int(height or width)
    return board(height, KO[ko], suicide == "suicide", 0 if width == height else width)


# -- counts and values ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "depth"),
    [("2x2_ssk_nosuicide", 6), ("5x5_psk_nosuicide", 3)],  # all of them below
)
def test_perft(name, depth):
    assert perft(variant(name), depth) == golden("perft")[name]["nodes"][:depth]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(perft_json()["go"]["perft"]))
def test_perft_as_deep_as_stored(name):
    nodes = golden("perft")[name]["nodes"]
    assert perft(variant(name), len(nodes)) == nodes


@pytest.mark.parametrize("name", ["1x1", "2x1", "3x1", "2x2", "3x2", pytest.param("3x3", marks=pytest.mark.slow)])
def test_count_of_legal_positions(name):
    """A board may be drawn just when every chain on it has a liberty."""
    width, height = map(int, name.split("x"))
    assert legal_positions(Go(height, width)) == golden("legal_positions")[name]


def legal_positions(game):
    count = 0
    for cells in np.ndindex(*[3] * game.points):
        try:
            game.place(np.array(cells, np.int8), 0)
        except UsageError:
            continue
        count += 1
    return count


SOLVED = sorted(perft_json()["go"]["solved"])
QUICK = ("3x1_ssk_nosuicide",)


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in SOLVED])
def test_solved_values(name):
    """Alpha-beta over whole games, superko included: Black's best area on tiny boards."""
    game = variant(name)
    assert solve(game, Host(game).position, -99, 99) == golden("solved")[name]


@functools.cache
def _node(game):
    """Over, area, legal moves and all next positions of a position, in one call."""

    def look(position):
        after = jax.vmap(lambda a: play.play(game, position, a)[0])(jnp.arange(game.num_actions))
        return play.over(game, position), game.score(position.state), play.legal(game, position), after

    return jax.jit(look)


def solve(game, position, low, high):
    over, area, legal, after = jax.device_get(_node(game)(position))
    if over:
        return int(area)
    passed = position.state.recent[0] == game.points
    actions = np.flatnonzero(legal).tolist()
    actions.sort(key=lambda a: (a == game.points) != passed)  # after a pass, the other pass first
    best = -99 if position.state.to_play == 0 else 99
    for action in actions:
        value = solve(game, jax.tree.map(lambda x, a=action: x[a], after), low, high)
        if position.state.to_play == 0:
            best = max(best, value)
            low = max(low, value)
        else:
            best = min(best, value)
            high = min(high, value)
        if low >= high:
            break
    return best


# -- stored games and positions -------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", sorted(perft_json()["go"]["playouts"]))
def test_playouts(name):
    game = variant(name)
    for record in golden("playouts")[name]:
        host = check_playout(game, record)
        assert host.rows == record["final"]["board"]
        assert int(game.score(host.state)) == record["final"]["area_score_black"]


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


# -- superko --------------------------------------------------------------------------------------------------------
# (rows, who moves, a cycle of moves that brings the board back, stones taken by each move)
SENDING_TWO = (".O.O./XXOO./...../...../.....", 1, [0, 2, 1], [0, 2, 1])
ETERNAL_LIFE = ("X.O./OOXX/.O.X", 1, [3, 1, 2, 0], [0, 2, 2, 0])
ROTATING = ("XXOO/.XO./.OX.", 0, [7, 3, 11, 6, 10, 2], [3, 0, 0, 3, 0, 0])
TRIPLE_KO = (
    ".XO...XO./XO.O.X.XO/.XO...XO./........./.XO....../XO.O...../.XO....../........./.........",
    0,
    [11, 15, 47, 10, 16, 46],
    [1] * 6,
)
CYCLES = [SENDING_TWO, ETERNAL_LIFE, ROTATING, TRIPLE_KO]


@pytest.mark.parametrize("cycle", CYCLES, ids=["sending two", "eternal life", "rotating", "triple ko"])
@pytest.mark.parametrize("ko", KO.values())
def test_superko_forbids_what_closes_a_cycle(cycle, ko):
    rows, seat, moves, taken = cycle
    lines = rows.split("/")
    game = board(len(lines), ko, width=len(lines[0]) if len(lines) != len(lines[0]) else 0)
    host = Host.at(game, rows, seat)
    for move, captures in zip(moves[:-1], taken[:-1], strict=True):
        stones = sum(glyph != "." for glyph in host.rows.replace("/", ""))
        host.play(move)
        assert sum(glyph != "." for glyph in host.rows.replace("/", "")) == stones + 1 - captures
    # an odd cycle leaves the other player to move, which only the positional rule minds
    closes = moves[-1] in host.legal()
    assert closes == (ko == "simple" or (ko == "situational" and len(moves) % 2 == 1))
    if closes:
        assert host.play(moves[-1]).rows == rows


def test_situational_superko_counts_passes():
    """Sending two, returning one, pass: the board and the player to move are those of the start."""
    rows, seat, moves, _ = SENDING_TWO
    host = Host.at(board(5, "situational"), rows, seat).play(*moves, 25)
    assert host.rows == rows
    assert moves[0] not in host.legal()


def test_a_game_may_go_round_as_long_as_simple_ko_lets_it():
    rows, seat, moves, _ = TRIPLE_KO
    host = Host.at(board(9, "simple"), rows, seat).play(*moves * 66, *moves[:3])
    assert not host.over
    assert host.play(moves[3]).over


def test_history_set_back_to_its_start_forgets_the_last_game():
    """Hosts restart a game by cutting its history to one key; what the last game left must not count."""
    game = board(3)
    used = Host(game).play(0, 1, 3, 4, 6, 7, 9, 2)
    fresh = Host(game)
    position = play.Position(fresh.state, used.position.history._replace(size=jnp.int16(1)))
    again = Host(game, position)
    for action in (4, 0, 1, 2, 3, 9, 5):
        assert again.legal() == fresh.legal()
        again.play(action)
        fresh.play(action)
    jax.tree.map(np.testing.assert_array_equal, again.position.history.trace, fresh.position.history.trace)


class Thorough(Go):
    """Compares every move but the pass with all earlier positions, as games do that name no suspects."""

    def next_suspect(self, state, trace, action):
        following = Game.next_suspect(self, state, trace, action)
        return jnp.where(following < self.points, following, self.num_actions)


@pytest.mark.parametrize(
    ("ko", "suicide"), mostly_slow([("positional", False), ("situational", True)], [("positional", False)])
)
def test_suspects_miss_nothing(ko, suicide):
    options = {"size": 3, "ko": ko, "suicide": suicide, "komi": 0.5, "move_limit": 120}
    quick, thorough = (random_games(kind(**options), 64) for kind in (Go, Thorough))
    np.testing.assert_array_equal(quick.legal_bits, thorough.legal_bits)
    np.testing.assert_array_equal(quick.actions, thorough.actions)


# -- against the plain reference ------------------------------------------------------------------------------------
def reference(game):
    return plain.Go(*game.shape, game.ko, game.suicide, game.komi, game.max_plies)


@pytest.mark.parametrize(("ko", "suicide"), mostly_slow(RULES, [("positional", False)]))
def test_reference_5x5(ko, suicide):
    game = board(5, ko, suicide)
    assert check_agreement(game, reference(game), random_games(game, 256)) > 5000


@pytest.mark.slow
@pytest.mark.parametrize(("ko", "suicide"), RULES)
@pytest.mark.parametrize(("height", "width"), [(3, 3), (1, 7), (4, 2), (9, 9)])
def test_reference_of_all_rules(height, width, ko, suicide):
    """Small boards come back to old positions again and again."""
    game = Go(height, width, ko=ko, suicide=suicide, komi=0.5, move_limit=400)
    check_agreement(game, reference(game), random_games(game, 256))


@pytest.mark.parametrize("name", mostly_slow(["go7", "go9"], ["go9"]))
def test_reference_of_registered_games(name):
    game = GAMES[name]
    check_agreement(game, reference(game), random_games(game, 64))


@pytest.mark.parametrize("name", mostly_slow(["go13", "go19"], ["go13"]))
def test_reference_of_big_boards(name):
    game = GAMES[name]
    check_agreement(game, reference(game), random_games(game, 64), lanes=range(2))


@pytest.mark.slow
def test_reference_of_256_games_19x19():
    game = GAMES["go19"]
    check_agreement(game, reference(game), random_games(game, 256))


# -- what the state carries -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(("size", "suicide"), [pytest.param(5, True, marks=pytest.mark.slow), (9, False)])
def test_states_of_play_equal_states_drawn_anew(size, suicide):
    """Chains, atari, liberties, area and key after many moves, as if computed from scratch."""
    game = board(size, suicide=suicide)
    rules = reference(game)
    see = jax.jit(lambda s: (game.hash(s), game.owner(s), game.score(s), game.observe(s)))
    host = Host(game)
    rng = np.random.default_rng(1)
    for ply in range(250):
        if host.over:
            host = Host(game)
        drawn = game.place(np.asarray(game.cells(host.state)), int(host.state.to_play))
        for field in ("stones", "atari", "key", "to_play"):
            np.testing.assert_array_equal(getattr(host.state, field), getattr(drawn, field), err_msg=f"{field} {ply}")
        assert same_partition(game, host.state, drawn)
        quiet = host.state._replace(ko=jnp.int16(-1), recent=drawn.recent)
        np.testing.assert_array_equal(game.hash(quiet), game.hash(drawn))
        _, owner, score, planes = jax.device_get(see(host.state))
        stones = tuple(np.asarray(game.cells(host.state)).tolist())
        assert owner.tolist() == rules.owners(stones)
        assert score == rules.score(stones)
        check_planes(game, host.state, stones, rules, planes)
        legal = host.legal()
        host.play(int(rng.choice(legal[:-1] or legal)))


def same_partition(game: Go, one: GoState, other: GoState) -> bool:
    """Whether two states have the same chains under whatever names."""
    a, b = (np.asarray(state.chain)[game.lines.bit[:-1]].tolist() for state in (one, other))
    pairs = set(zip(a, b, strict=True))
    return len(pairs) == len(set(a)) == len(set(b))


def check_planes(game, state, stones, rules, planes):
    flat = planes.reshape(game.points, -1)
    seat = int(state.to_play)
    for point in range(game.points):
        own, other = stones[point] == seat + 1, stones[point] == 2 - seat
        liberties = len(rules.chain(stones, point)[1]) if stones[point] else 0
        expected = [own, other, *(own and liberties == n for n in (1, 2, 3))]
        expected += [other and liberties == n for n in (1, 2, 3)] + [point == state.ko]
        expected += [point == action for action in np.asarray(state.recent).tolist()]
        assert flat[point, :14].tolist() == [float(x) for x in expected], point
    assert (flat[:, 14] == (int(state.recent[0]) == game.points)).all()
    assert (flat[:, 15] == (seat == 0)).all()
    np.testing.assert_allclose(flat[:, 16], (10 if seat else -10) * game.komi / game.points, rtol=1e-6)


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
        ({"move_limit": -1}, "move_limit"),
    ],
)
def test_wrong_options(options, text):
    with pytest.raises(UsageError, match=text):
        make("go9", **options)


def test_a_chain_without_liberties_cannot_be_drawn():
    with pytest.raises(UsageError, match="without liberties"):
        Host.at(board(5), "OX.../X..../...../...../.....")


# -- playouts and guesses -------------------------------------------------------------------------------------------
def test_playouts_keep_their_eyes_and_pass_last():
    game = board(5)
    weights = np.asarray(game.move_weights(Host.at(game, ".XO../XX.../....X/...X./..X.X").state))
    ordinary, eye, passing = weights[12], weights[0], weights[25]
    assert ordinary > 100 * passing > 10_000 * eye > 0
    assert weights[23] == eye  # at the edge, with no white stone on its corners
    false_eye = np.asarray(game.move_weights(Host.at(game, ".X.../XO.../...../...../.....").state))
    assert false_eye[0] == ordinary  # White on the corner of an edge point
    for rows, is_eye in (
        ("...../..X../.X.X./..X../.....", True),
        (".O.../.OX../.X.X./..X../.....", True),
        ("...../.OX../.X.X./.OX../.....", False),
    ):
        weight = np.asarray(game.move_weights(Host.at(game, rows).state))[12]
        assert (weight == eye) == is_eye, rows


def test_heuristic_likes_the_side_with_more_room():
    game = Go(9, komi=0.5)
    rows = "/".join(["....X...."] * 9)
    values = [float(game.heuristic(Host.at(game, rows, seat).state)) for seat in (0, 1)]
    assert values[0] > 0.9
    assert values[1] == -values[0]
    assert abs(float(game.heuristic(Host(game).state))) < 0.1
