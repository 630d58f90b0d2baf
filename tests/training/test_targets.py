"""Labels: the sign law against results told by seat, tails, random moves, resignation, auxiliary targets, windows."""

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from judges import Hashed, Road, RoadState

from jaxgo.core.errors import UsageError
from jaxgo.games import make
from jaxgo.nets.base import Head
from jaxgo.search import Gumbel, Model
from jaxgo.selfplay import Selfplay, SelfplayConfig, Trajectory
from jaxgo.training import targets
from jaxgo.training.config import TargetsConfig

SHORT, REPLY, OWN = Head("short", "values", 2), Head("reply", "policy"), Head("ownership", "cells")
PLAIN = TargetsConfig(td_lambda=1.0, surprise=0.0, heads=("short", "reply"), horizons=(1.0, 4.0))
make_samples = jax.jit(targets.make_samples, static_argnums=(0, 1, 4))


def plies(rows, games=1):
    """A trajectory of hand-made plies; each row says what differs from a quiet full search."""
    count = len(rows)

    def column(name, default, dtype):
        return np.asarray([[row.get(name, default)] * games for row in rows], dtype)

    ply = np.broadcast_to(np.arange(count, dtype=np.int16)[:, None], (count, games))
    seat = column("seat", 0, jnp.int8)
    return Trajectory(
        state=RoadState(ply.astype(jnp.int8), seat, seat, ply),
        policy=column("policy", [0.5, 0.5, 0.0], jnp.float16),
        value=column("value", 0.0, jnp.float32),
        reward=column("reward", 0.0, jnp.float32),
        discount=column("discount", -1.0, jnp.float32),
        surprise=column("surprise", 0.0, jnp.float32),
        solved=column("solved", False, bool),
        full=column("full", True, bool),
        random_move=column("random_move", False, bool),
        ruled=column("ruled", False, bool),
        aux_targets={"ownership": column("own", [0.0] * 3, jnp.float16)},
    )


def labels(config, rows, heads=(SHORT, REPLY, OWN), horizon=0, at_once=1):
    """The samples of one window that holds exactly these plies, oldest first."""
    fresh = plies(rows)
    window, samples, present = make_samples(config, heads, targets.empty_window(fresh, horizon), fresh, at_once)
    return window, jax.tree.map(lambda x: np.asarray(x)[np.asarray(present)], samples)


def test_a_game_of_two_plies():
    """Seat 0 moves, seat 1 wins."""
    _, found = labels(PLAIN, [{"seat": 0, "value": 0.2}, {"seat": 1, "value": 0.4, "reward": 1.0, "discount": 0.0}])
    np.testing.assert_array_equal(found.value, [-1.0, 1.0])
    np.testing.assert_array_equal(found.value_weight, [1.0, 1.0])
    # of one ply: the root value itself; of four: 1/4 of it and 3/4 of what follows
    later = 0.25 * 0.4 + 0.75 * 1.0
    np.testing.assert_allclose(found.heads["short"], [[0.2, 0.25 * 0.2 - 0.75 * later], [0.4, later]], rtol=1e-2)
    np.testing.assert_array_equal(found.head_weights["reply"], [1.0, 0.0])


def test_a_seat_that_moves_twice_keeps_its_sign():
    rows = [{"seat": 0, "discount": 1.0}, {"seat": 0}, {"seat": 1, "reward": -1.0, "discount": 0.0}]
    _, found = labels(PLAIN, rows)
    np.testing.assert_array_equal(found.value, [1.0, 1.0, -1.0])
    # the next policy of the same seat is no reply
    np.testing.assert_array_equal(found.head_weights["reply"], [0.0, 1.0, 0.0])


def test_td_lambda_mixes_the_result_with_later_root_values():
    rows = [{"value": 0.5}, {"seat": 1, "value": 0.6}, {"value": 0.1, "reward": 1.0, "discount": 0.0}]
    _, found = labels(TargetsConfig(td_lambda=0.5, heads=()), rows, ())
    second = -(0.5 * 1.0 + 0.5 * 0.1)
    np.testing.assert_allclose(found.value, [-(0.5 * second + 0.5 * 0.6), second, 1.0], rtol=1e-6)


def test_a_tail_rests_on_its_last_root_value_with_less_weight():
    _, found = labels(PLAIN, [{"value": 0.1}, {"seat": 1, "value": 0.3}])
    np.testing.assert_allclose(found.value, [-0.3, 0.3], rtol=1e-6)
    np.testing.assert_array_equal(found.value_weight, [0.5, 0.5])


def test_a_random_move_tells_nothing_of_the_position_before_it():
    rows = [
        {"value": 0.1},
        {"seat": 1, "value": 0.3, "random_move": True},
        {"value": 0.2, "reward": 1.0, "discount": 0.0},
    ]
    _, found = labels(PLAIN, rows)
    np.testing.assert_allclose(found.value, [-0.3, 0.3, 1.0], rtol=1e-6)
    np.testing.assert_array_equal(found.value_weight, [0.5, 0.5, 1.0])
    np.testing.assert_array_equal(found.head_weights["reply"], [1.0, 0.0, 0.0])


def test_a_game_that_a_random_move_ends_settles_nothing_before_it():
    """Its result is no label of the position that the move was drawn in, so no result stands behind the search's."""
    rows = [
        {"value": 0.1},
        {"seat": 1, "value": -0.2},
        {"value": 0.3, "random_move": True, "reward": 1.0, "discount": 0.0},
    ]
    _, found = labels(PLAIN, rows)
    np.testing.assert_allclose(found.value, [0.3, -0.3, 0.3], rtol=1e-6)
    np.testing.assert_array_equal(found.value_weight, [0.5, 0.5, 0.5])


def test_an_exact_value_is_the_label_whatever_was_played():
    rows = [{"value": 0.1}, {"seat": 1, "value": 1.0, "solved": True}, {"value": 0.2, "reward": 1.0, "discount": 0.0}]
    _, found = labels(PLAIN, rows)
    np.testing.assert_array_equal(found.value, [-1.0, 1.0, 1.0])


def test_auxiliary_targets_turn_round_for_the_other_seat_and_a_game_given_up_has_none():
    over = {"reward": 1.0, "discount": 0.0}
    rows = [{}, {"seat": 1, **over, "ruled": True, "own": [1.0, 0.0, -1.0]}, {}, {"seat": 1, **over}]
    _, found = labels(PLAIN, rows)
    np.testing.assert_array_equal(found.heads["ownership"][:2], [[1.0, 0.0, -1.0], [-1.0, 0.0, 1.0]])
    np.testing.assert_array_equal(found.head_weights["ownership"], [1.0, 1.0, 0.0, 0.0])
    # nor does it take those of the game that came after it
    _, found = labels(PLAIN, [*rows[2:], *rows[:2]])
    np.testing.assert_array_equal(found.head_weights["ownership"], [0.0, 0.0, 1.0, 1.0])


def test_fast_searches_teach_no_policy_and_surprises_come_more_often():
    rows = [{"surprise": 3.0}, {"seat": 1, "surprise": 1.0}, {"full": False}, {"reward": 1.0, "discount": 0.0}]
    _, found = labels(TargetsConfig(surprise=0.5, fast_weight=0.25, heads=()), rows, ())
    np.testing.assert_array_equal(found.policy_weight, [1.0, 1.0, 0.0, 1.0])
    np.testing.assert_allclose(found.weight, [0.5 + 0.5 * 9 / 4, 0.5 + 0.5 * 3 / 4, 0.25, 0.5], rtol=1e-6)


def test_plies_that_are_labelled_in_one_turn_of_the_loop_have_the_same_labels():
    """Of seven plies, with the end of a game and the beginning of the next among them."""
    config = TargetsConfig(td_lambda=0.5, heads=("short", "reply"))
    rows = [{"seat": number % 2, "value": 0.1 * number, "own": [number, 0.5, 0.0]} for number in range(7)]
    rows[4] |= {"reward": 1.0, "discount": 0.0, "ruled": True}
    rows[2] |= {"random_move": True}
    (_, one), (_, several) = (labels(config, rows, at_once=count) for count in (1, 3))
    assert len(one.value) == 7
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-6), several, one)


def test_plies_wait_for_the_end_of_their_game_and_come_once():
    window = targets.empty_window(plies([{}]), 3)
    seen = []
    make = functools.partial(make_samples, PLAIN, (SHORT,))
    #             ends at 2                    falls out of the window without an end, then the end of the rest
    ends = [False, False, True, False, False, False, False, True]
    for number, end in enumerate(ends):
        row = {"value": number / 10, "seat": number % 2, **({"reward": 1.0, "discount": 0.0} if end else {})}
        fresh = plies([row])
        fresh = fresh._replace(state=fresh.state._replace(ply=jnp.full((1, 1), number, jnp.int16)))
        window, samples, present = make(window, fresh)
        got = np.asarray(samples.state.ply)[np.asarray(present)].tolist()
        seen.append(got)
        for at, value in zip(got, np.asarray(samples.value)[np.asarray(present)].tolist(), strict=True):
            due = next(n for n in range(at, len(ends)) if ends[n])
            left_early = due > number
            expected = row["value"] * (-1) ** (number - at) if left_early else (-1.0) ** (due - at)
            assert value == pytest.approx(expected), (at, number)
    # at most two at a time; the others wait for their turn
    assert seen == [[], [], [0, 1], [2], [], [], [3], [4, 5]]


def test_a_state_may_have_parts_without_a_number_in_them():
    fresh = plies([{}, {"reward": 1.0, "discount": 0.0}])
    fresh = fresh._replace(state=(fresh.state, jnp.zeros((2, 1, 0, 3), jnp.int8)))
    fresh = fresh._replace(state=_Pair(*fresh.state, fresh.state[0].to_play))
    _, samples, _ = make_samples(PLAIN, (SHORT,), targets.empty_window(fresh, 1), fresh)
    assert samples.state.nothing.shape == (4, 0, 3)


class _Pair(NamedTuple):
    state: RoadState
    nothing: Any
    to_play: Any


@pytest.fixture(scope="module")
def road():
    """Self-play of a game of double moves, with its labels when nothing is left to the search."""
    config = SelfplayConfig(games=16, steps=40, opening=0.0)
    player = Selfplay(Gumbel(simulations=3, max_considered=2, solver=False), Model(Road(), Hashed()), config)

    @jax.jit
    def run(key):
        state = player.begin(key, 16)
        _, fresh, tally = player.collect((), state, key)
        window = targets.empty_window(fresh, 0)
        return fresh, tally, targets.make_samples(PLAIN, (SHORT,), window, fresh)[1:]

    return jax.device_get(run(jax.random.key(3)))


def test_labels_of_real_games_are_their_results_by_seat(road):
    fresh, _, (samples, present) = road
    steps, games = fresh.value.shape
    assert present[: steps * games].all()
    value = samples.value[: steps * games].reshape(steps, games)
    weight = samples.value_weight[: steps * games].reshape(steps, games)
    assert (fresh.discount == 1).sum() > 10, "no double moves"
    checked = 0
    for game in range(games):
        result = None  # for seat 0, of the game that the plies below belong to
        for step in reversed(range(steps)):
            mover = fresh.state.to_play[step, game]
            if fresh.discount[step, game] == 0:
                result = fresh.reward[step, game] * (1 if mover == 0 else -1)
            assert weight[step, game] == (0.5 if result is None else 1.0)
            if result is not None:
                assert value[step, game] == (result if mover == 0 else -result)
                checked += 1
    assert checked > 300


@pytest.mark.slow
def test_games_say_which_heads_they_teach():
    go = make("go5")
    assert {target.name for target in go.aux_targets()} == {"ownership", "score"}
    assert TargetsConfig(heads=("ownership",)).make_heads(go) == (OWN,)
    with pytest.raises(UsageError, match="this game does not teach; it has: short, reply"):
        TargetsConfig(heads=("ownership",)).make_heads(make("tictactoe"))
    with pytest.raises(UsageError, match="has a head twice"):
        TargetsConfig(heads=("short", "reply", "short"))
    with pytest.raises(UsageError, match=r"targets\.horizons=inf is not a finite number"):
        TargetsConfig(horizons=(4.0, math.inf))
    with pytest.raises(UsageError, match=r"targets\.horizons is empty"):
        TargetsConfig(heads=("short",), horizons=())
    assert TargetsConfig(heads=("reply",), horizons=()).make_heads(go) == (Head("reply", "policy"),)
    state = go.place(np.array([1] * 10 + [0] * 5 + [2] * 10, np.int8), 0)
    taught = go.aux_values(state)
    assert np.asarray(taught["ownership"]).tolist() == [1] * 10 + [0] * 5 + [-1] * 10
    assert float(taught["score"]) == pytest.approx((0 - 24.5) / 5)
