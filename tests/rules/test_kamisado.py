"""Kamisado: listed positions, counts, playouts, deadlocks, sumo pushes, regrouping, and a plain reference."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference.kamisado import COLOUR
from reference.kamisado import Kamisado as Reference
from reference.replay import check_agreement
from sparse import perft
from support import Host, check_playout, codes, mostly_slow, perft_json, random_games

from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.games import make
from jaxgo.games.kamisado.rules import Kamisado
from jaxgo.games.kamisado.towers import ANY, FILL, FILL_LEFT, FILL_RIGHT, PASS, colours, end_round, reach

GAME = Kamisado()
MATCH = Kamisado(points=3)
MARATHON = Kamisado(points=15)
LANES = 32
GOLDEN = perft_json()["kamisado"]
ORANGE = 0
QUIET = "obuiyrgw/......../......../......../......../......../......../WGRYIUBO"


def at(game, rows: str, to_play: int = 0, required: int = ANY, rings: dict[str, int] | None = None, last: int = -1):
    """A position with rings on some towers (by glyph) and a required colour."""
    cells = codes(game, rows)
    for glyph, count in (rings or {}).items():
        cells[rows.replace("/", "").index(glyph)] += 16 * count
    state = game.place(cells, to_play)._replace(required=jnp.int8(required), last=jnp.int8(last))
    return Host(game, play.resume(game, state))


def test_the_board_has_the_official_colours():
    grid = np.array(GOLDEN["colour_grid_rank8_first"])
    np.testing.assert_array_equal(colours().reshape(8, 8), grid)
    assert all(COLOUR[r, c] == grid[r, c] for r in range(8) for c in range(8))
    assert Host(GAME).rows == QUIET


def test_perft():
    assert perft(GAME, 3) == GOLDEN["perft"]["nodes"][:3]


@pytest.mark.slow
def test_perft_deep():
    assert perft(GAME, 5) == GOLDEN["perft"]["nodes"]


@pytest.mark.parametrize("record", GOLDEN["playouts"], ids=lambda r: f"seed{r['seed']}")
def test_playouts(record):
    host = check_playout(GAME, record)
    assert host.rows == record["final"]


def test_start():
    assert len(Host(GAME).legal()) == 102
    assert len(Host(MATCH).legal()) == 102


SUMO = GOLDEN["sumo_positions"]


@pytest.mark.parametrize(
    ("number", "rings"), [(0, {"O": 1}), (1, {"O": 1}), (2, {"O": 2}), (3, {"O": 1, "y": 1})], ids=str
)
@pytest.mark.parametrize("game", [GAME, MATCH], ids=["round", "match"])
def test_sumo_positions(game, number, rings):
    expected = SUMO[number]
    host = at(game, expected["board"], 0, ORANGE, rings)
    assert host.legal() == expected["legal"]
    if "after_push" in expected:
        host.play(0)
        assert host.rows == expected["after_push"]
        assert host.state.to_play == expected["mover_after"]
        assert host.state.required == expected["required_after"]
        assert float(host.transition.discount) == 1, "the same seat moves again"


def test_ordinary_towers_do_not_push():
    assert at(MATCH, SUMO[0]["board"], 0, ORANGE).legal() == [7, 8, 9, 14, 15, 16]


def test_sumo_towers_move_less_far():
    for rings, furthest in enumerate((6, 5, 3, 1)):
        host = at(MATCH, QUIET, 0, ORANGE, {"O": rings})
        straight = [a for a in host.legal() if a < 7]
        assert len(straight) == furthest


def test_three_rings_push_three_but_not_off_the_board():
    rows = "obu..rg./......../...i..../...w..../...y..../...O..../......../WGRYIUB."
    host = at(MATCH, rows, 0, ORANGE, {"O": 3})
    assert 0 in host.legal()
    host.play(0)
    assert host.rows == "obu..rg./...i..../...w..../...y..../...O..../......../......../WGRYIUB."
    assert host.state.required == COLOUR[1, 3], "the square of the furthest pushed tower"
    blocked = "obu..rg./...i..../...w..../...y..../...O..../......../......../WGRYIUB."
    assert 0 in at(MATCH, blocked, 0, ORANGE, {"O": 3}).legal()
    edge = "obui.rg./...w..../...y..../...O..../......../......../......../WGRYIUB."
    assert 0 not in at(MATCH, edge, 0, ORANGE, {"O": 3}).legal(), "nobody is pushed off the board"
    own = "obui.rg./......../......../...R..../...y..../...O..w./......../WG.YIUB."
    assert 0 not in at(MATCH, own, 0, ORANGE, {"O": 3}).legal(), "own towers are not pushed"


@pytest.mark.parametrize("example", GOLDEN["deadlock_examples"], ids=lambda e: e["final"])
def test_deadlock_examples(example):
    """One ply before the end of the listed chain, the next pass closes the loop."""
    (first_seat, first), (second_seat, second) = example["chain"]
    host = at(GAME, example["final"], first_seat, first, last=example["last_real_mover"] * 8 + first)
    assert host.legal() == [PASS]
    host.play(PASS)
    assert (int(host.state.to_play), int(host.state.required)) == (second_seat, second)
    assert host.result is None
    assert host.legal() == [PASS]
    host.play(PASS)
    assert host.result == example["result_p0"]


def test_forced_passes_name_the_next_tower():
    games = random_games(GAME, LANES)
    t, lane = np.argwhere((games.actions == PASS) & games.live)[0]
    assert games.legal(t, lane, GAME.num_actions) == [PASS]
    assert games.to_play[t + 1, lane] != games.to_play[t, lane]
    np.testing.assert_array_equal(games.cells[t + 1, lane], games.cells[t, lane])


def test_a_round_of_a_match():
    """A tower comes home, gains a ring, the winner regroups, the loser begins."""
    rows = "....yrgw/O..iu.../......../.....b../..o...../......../...R..../WG.YIUB."
    for fill, seat0, seat1 in (
        (FILL_LEFT, "WGYIUBRO", "obiuyrgw"),
        (FILL_RIGHT, "ORWGYIUB", "yrgwiubo"),
    ):
        host = at(MATCH, rows, 0, ORANGE)
        host.play(MATCH.parse_action("orange-ahead-1"))
        assert host.result is None
        assert int(host.state.required) == FILL
        assert int(host.state.to_play) == 0
        assert float(host.transition.discount) == 1
        assert MATCH.score(host.state).tolist() == [1, 0]
        assert host.legal() == [FILL_LEFT, FILL_RIGHT]
        host.play(fill)
        assert host.rows.split("/")[7] == seat0
        assert host.rows.split("/")[0] == seat1
        assert int(host.state.to_play) == 1, "the loser of the round begins"
        assert int(host.state.required) == ANY
        assert host.state.rings.tolist() == [[1] + [0] * 7, [0] * 8]


def test_the_same_tower_twice_wins_a_match_to_three():
    rows = "....yrgw/O..iu.../......../.....b../..o...../......../...R..../WG.YIUB."
    host = at(MATCH, rows, 0, ORANGE, {"O": 1})
    assert host.play(MATCH.parse_action("orange-ahead-1")).result == 1
    assert MATCH.score(host.state).tolist() == [3, 0]
    host = at(MARATHON, rows, 0, ORANGE, {"O": 1})
    assert host.play(MARATHON.parse_action("orange-ahead-1")).result is None
    host = at(MARATHON, rows, 0, ORANGE, {"O": 3})
    assert host.play(MARATHON.parse_action("orange-ahead-1")).result == 1
    assert MARATHON.score(host.state).tolist() == [15, 0]


def test_a_deadlock_in_a_match_gives_the_named_tower_a_ring():
    example = GOLDEN["deadlock_examples"][0]
    seat, colour = example["chain"][0]
    host = at(MATCH, example["final"], seat, colour, last=(1 - seat) * 8 + colour).play(PASS, PASS)
    assert int(host.state.required) == FILL
    assert int(host.state.to_play) == seat, "who did not cause it has won the round"
    rings = np.zeros((2, 8), int)
    rings[seat, colour] = 1
    np.testing.assert_array_equal(host.state.rings, rings)


def test_a_long_game_is_a_draw():
    assert Host(make("kamisado", move_limit=1)).play(0).result == 0
    assert [Kamisado(p).max_plies for p in (1, 3, 7, 15)] == [128, 1000, 1000, 1000]


@pytest.mark.parametrize("seed", range(4))
def test_reference_agrees_in_rounds(seed):
    assert check_agreement(GAME, Reference(), random_games(GAME, LANES, seed)) > 10 * LANES


@pytest.mark.parametrize("seed", mostly_slow(range(2), (0,)))
def test_reference_agrees_in_matches(seed):
    assert check_agreement(MATCH, Reference(3, 1000), random_games(MATCH, LANES, seed)) > 20 * LANES


@pytest.mark.slow
@pytest.mark.parametrize("points", [3, 7, 15])
def test_reference_agrees_in_256_matches(points):
    check_agreement(Kamisado(points), Reference(points, 1000), random_games(Kamisado(points), 256, 5))


@pytest.mark.slow
def test_reference_agrees_in_a_marathon_that_is_cut():
    """Long matches have towers with two and three rings, and the cap in the middle of a round is a draw."""
    game = Kamisado(points=15, move_limit=150)
    games = random_games(game, 24)
    check_agreement(game, Reference(15, 150), games)
    assert games.cells.max() > 2 * 16, "some towers have two rings"
    assert (games.returns[:, 0] == 0).any()
    pushes = (games.to_play[:-1] == games.to_play[1:]) & games.live & (games.actions < PASS)
    assert pushes.sum() > 10


@pytest.mark.slow
def test_random_play_statistics():
    """Wins, passes, deadlocks and length agree with a plain program's within three standard errors."""
    expected = GOLDEN["random_play_stats"]
    games = random_games(GAME, 2048)
    live = games.live.sum(axis=0)
    passed = ((games.actions == PASS) & games.live).any(axis=0)
    rows = games.cells[-1].reshape(-1, 8, 8)
    first_home = ((rows[:, 0] > 0) & ((rows[:, 0] - 1) // 8 % 2 == 0)).any(-1)
    second_home = ((rows[:, 7] - 1) // 8 % 2 == 1).any(-1)
    deadlock = ~(first_home | second_home)
    for seen, count in (
        (games.returns[:, 0] > 0, expected["p0_wins"]),
        (passed, expected["games_with_pass"]),
        (deadlock, expected["deadlocks"]),
    ):
        share = count / expected["games"]
        error = math.sqrt(share * (1 - share) * (1 / expected["games"] + 1 / len(seen)))
        assert abs(seen.mean() - share) < 3 * error
    error = live.std() * math.sqrt(1 / expected["games"] + 1 / len(live))
    assert abs(live.mean() - expected["plies"] / expected["games"]) < 3 * error


def test_symmetries():
    """Mirror and half turn of positions in the middle of random matches: moves, planes, and what follows a move."""
    game = MATCH
    cells, actions = game.symmetries()
    final = random_games(game, LANES, plies=23).final.state
    see = jax.jit(jax.vmap(lambda s: (game.legal(s), game.observe(s), game.over(s), game.returns(s))))
    step = jax.jit(jax.vmap(game.step))
    mask, planes, over, returns = jax.device_get(see(final))
    assert mask[~over, :PASS].any()
    rank = jax.random.uniform(jax.random.key(3), mask.shape)
    action = np.asarray(jnp.argmax(jnp.where(mask, rank, -1.0), axis=1)).astype(np.int32)
    for group in range(1, 4):
        turned = transform(final, swap_colours=group in (1, 3), swap_seats=group in (2, 3), cells=cells[group])
        inverse = np.argsort(actions[group]).astype(np.int32)
        after, after_turned = step(final, action), step(turned, inverse[action])
        for one, other in ((final, turned), (after, after_turned)):
            mask, planes, over, returns = jax.device_get(see(one))
            mask_g, planes_g, over_g, returns_g = jax.device_get(see(other))
            np.testing.assert_array_equal(mask_g, mask[:, actions[group]])
            np.testing.assert_array_equal(
                planes_g.reshape(LANES, 64, -1), planes.reshape(LANES, 64, -1)[:, cells[group]]
            )
            np.testing.assert_array_equal(over_g, over)
            np.testing.assert_array_equal(returns_g[over], returns[over, ::-1] if group > 1 else returns[over])


def transform(states, swap_colours: bool, swap_seats: bool, cells):
    """The states as the symmetry shows them, field by field."""
    colour = np.arange(8)[::-1] if swap_colours else np.arange(8)
    seats = [1, 0] if swap_seats else [0, 1]
    passed = (np.asarray(states.passed)[:, None] >> np.arange(16, dtype=np.uint32)) & 1
    passed = passed.reshape(-1, 2, 8)[:, seats][:, :, colour].reshape(-1, 16)
    last, required = np.asarray(states.last), np.asarray(states.required)
    seat, named = last // 8, last % 8
    new_last = (1 - seat if swap_seats else seat) * 8 + colour[named]
    where = np.argsort(cells).astype(np.int8)
    return states._replace(
        towers=jnp.asarray(where[np.asarray(states.towers)][:, seats][:, :, colour]),
        rings=states.rings[:, np.array(seats)][:, :, colour],
        required=jnp.asarray(np.where(required < 8, colour[np.minimum(required, 7)], required).astype(np.int8)),
        passed=jnp.asarray((passed.astype(np.uint32) << np.arange(16, dtype=np.uint32)).sum(1, dtype=np.uint32)),
        last=jnp.asarray(np.where(last < 0, last, new_last).astype(np.int8)),
        to_play=jnp.int8(1) - states.to_play if swap_seats else states.to_play,
    )


def test_hash_tells_states_apart():
    """Equal keys mean equal states, the ply apart, and a state rebuilt field by field has the same key."""
    games = random_games(MATCH, LANES, plies=23)
    final = games.final.state
    keys = np.asarray(jax.vmap(MATCH.hash)(final))
    np.testing.assert_array_equal(keys, games.keys[-1])
    start = Host(MATCH).state
    variants = [
        start,
        start._replace(to_play=jnp.int8(1)),
        start._replace(required=jnp.int8(3)),
        start._replace(last=jnp.int8(9)),
        start._replace(passed=jnp.uint32(4)),
        start._replace(rings=start.rings.at[1, 2].set(1)),
        start._replace(towers=start.towers[:, ::-1]),
    ]
    assert len({tuple(np.asarray(MATCH.hash(s)).tolist()) for s in variants}) == len(variants)
    placed = MATCH.place(np.asarray(MATCH.cells(start)), 0)
    np.testing.assert_array_equal(MATCH.hash(placed), MATCH.hash(start))


@pytest.mark.slow
def test_place_is_the_inverse_of_cells():
    rows = "....yrgw/O..iu.../......../.....b../..o...../......../...R..../WG.YIUB."
    host = at(MATCH, rows, 1, rings={"O": 2, "w": 3})
    assert host.rows == rows
    assert host.state.rings.tolist() == [[2] + [0] * 7, [0] * 7 + [3]]
    assert host.state.towers[0, ORANGE] == 8
    assert reach(host.state, jnp.int8(0)).home[ORANGE] == 1


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (QUIET.replace("O", "."), "exactly once"),
        ("O.uiyrgw/b...o.../......../......../......../......../......../WGRYIUB.", "come home"),
        ("......../......../........" + "/........" * 3 + "/obuiyrgw/WGRYIUBO", "cannot move"),
    ],
)
def test_impossible_positions_are_told(rows, words):
    with pytest.raises(UsageError, match=words):
        GAME.place(codes(GAME, rows), 0)


def test_a_tower_has_no_more_rings_than_there_are_pieces_for():
    rows = "obuiyrgw/O......./......../......../......../......../......../WGRYIUB."
    state = at(GAME, rows, 0, ORANGE, rings={"O": 4}).state
    assert end_round(state._replace(towers=state.towers.at[0, ORANGE].set(0)), jnp.int8(0)).rings.max() == 4


def test_names():
    assert GAME.action_name(GAME.parse_action("Orange-ahead-3")) == "orange-ahead-3"
    assert GAME.parse_action("orange-a-side-1") == 7
    assert GAME.parse_action("brown-h-side-7") == PASS - 1
    assert GAME.parse_action("pass") == PASS
    assert MATCH.parse_action("fill-right") == FILL_RIGHT
    with pytest.raises(UsageError, match="fill"):
        GAME.parse_action("fill-left")
