"""Go against what is known: counts, solved values, stored games, and a plain reference at every ply."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from go_boards import RULES, board, golden, variant
from reference import go as plain
from reference.replay import check_agreement
from support import Host, check_playout, mostly_slow, perft, perft_json, random_games, unchecked

from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.games import GAMES
from jaxgo.games.go.rules import Go, GoState


def reference(game):
    return plain.Go(*game.shape, game.ko, game.suicide, game.komi, game.max_plies)


# -- counts and values ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "depth"),
    [("2x2_ssk_nosuicide", 6)],  # all of them below
)
def test_perft(name, depth):
    assert perft(variant(name), depth) == golden("perft")[name]["nodes"][:depth]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(perft_json()["go"]["perft"]))
def test_perft_as_deep_as_stored(name):
    nodes = golden("perft")[name]["nodes"]
    assert perft(variant(name), len(nodes)) == nodes


@pytest.mark.parametrize("name", ["1x1", "2x1", "3x1", "2x2", "3x2", pytest.param("3x3", marks=pytest.mark.slow)])
@unchecked()
def test_count_of_legal_positions(name):
    """A board may be drawn just when every chain on it has a liberty."""
    width, height = map(int, name.split("x"))
    assert legal_positions(Go(height, width)) == golden("legal_positions")[name]


def legal_positions(game):
    count = 0
    for cells in np.array([*np.ndindex(*[3] * game.points)], np.int8):
        try:  # what `place` refuses, without the state that it makes of the others
            game.chains(cells)
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
    points = game.points
    passed = position.state.recent[0] == points
    actions = np.flatnonzero(legal).tolist()
    actions.sort(key=lambda a: (a == points) != passed)  # after a pass, the other pass first
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


# -- stored games and the plain reference ---------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(perft_json()["go"]["playouts"]))
def test_playouts(name):
    game = variant(name)
    for record in golden("playouts")[name]:
        host = check_playout(game, record)
        assert host.rows == record["final"]["board"]
        assert int(game.score(host.state)) == record["final"]["area_score_black"]


@pytest.mark.slow
@pytest.mark.parametrize(("ko", "suicide"), RULES)
def test_reference_5x5(ko, suicide):
    game = board(5, ko, suicide)
    assert check_agreement(game, reference(game), random_games(game, 256)) > 5000


@pytest.mark.slow
@pytest.mark.parametrize(("ko", "suicide"), RULES)
@pytest.mark.parametrize(("height", "width"), [(3, 3), (1, 7), (4, 2), (9, 9)])
def test_reference_of_all_rules(height, width, ko, suicide):
    """Small boards come back to old positions again and again."""
    game = Go(height, width, ko=ko, suicide=suicide, komi=0.5, move_limit=400)
    check_agreement(game, reference(game), random_games(game, 256, thorough=game.points > 25))


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_slow(["go7", "go9"], ["go7"]))
def test_reference_of_registered_games(name):
    game = GAMES[name]
    check_agreement(game, reference(game), random_games(game, 64))


@pytest.mark.slow
def test_reference_of_13x13():
    game = GAMES["go13"]
    check_agreement(game, reference(game), random_games(game, 64), lanes=range(2))


@pytest.mark.slow
def test_programs_of_accelerators_keep_the_rules(monkeypatch):
    """They flood many steps at a time, and know chains by their names."""
    monkeypatch.setattr(jax.lax, "platform_dependent", lambda *operands, default, **_: default(*operands))
    game = Go(5, suicide=True, komi=0.25, move_limit=120)  # not compiled for a processor by another test
    assert check_agreement(game, reference(game), random_games(game, 64)) > 1000


@functools.cache
def _games_19x19():
    return random_games(GAMES["go19"], 256, thorough=True)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 256, 64))
def test_reference_of_256_games_19x19(first):
    game = GAMES["go19"]
    check_agreement(game, reference(game), _games_19x19(), lanes=range(first, first + 64))


# -- what the state carries -----------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize(("size", "suicide"), [(5, True), (9, False)])
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
