"""Random, Greedy and Flat: the searches without a tree."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import mostly_slow

from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.evaluators import Evaluator, Heuristic, Rollout, Uniform
from jaxgo.games import make
from jaxgo.games.mnk import Mnk
from jaxgo.search import PRESETS, SEARCHES, Flat, Greedy, Model, Random, Search, SearchResult

TICTACTOE, DODGEM = make("tictactoe"), make("dodgem3")


@pytest.mark.slow
def test_a_draw_that_ends_the_game_is_the_policy_where_it_is_the_best():
    """It is never tried, as its result is known; what was tried has visits and is worse."""
    flat, root = Flat(), repeated(play.begin(TICTACTOE), 1)
    begun = flat.begin(Model(TICTACTOE, Uniform()), (), jax.random.key(0), root)
    first = jnp.arange(9)[None] == 0
    visits = jnp.where(first, 0, 5).astype(jnp.int32)
    state = begun._replace(ends=first, visits=visits, total=jnp.where(first, 0.0, -5.0))
    result = flat.result(jax.random.key(1), state)
    assert result.action.tolist() == [0]
    assert result.policy.tolist() == [[1.0] + [0.0] * 8]
    assert result.worth.tolist() == [0.0]


@functools.cache
def program(search: Search, model: Model) -> Any:
    return jax.jit(lambda key, root, budget, heat: search.run(model, (), key, root, budget, heat))


def search(
    how: Search, game: Game[Any], evaluator: Evaluator, root: Any, budget: int = 400, seed: int = 0, heat: float = 0.0
) -> SearchResult:
    return jax.device_get(program(how, Model(game, evaluator))(jax.random.key(seed), root, budget, heat))


def repeated(position: Any, times: int) -> Any:
    return jax.tree.map(lambda x: np.repeat(x[None], times, axis=0), jax.device_get(position))


def placed(rows: list[int], to_play: int, times: int = 1) -> Any:
    return repeated(play.resume(TICTACTOE, TICTACTOE.place(np.array(rows, np.int8), to_play)), times)


# X to move: 2 wins at once (top row); O threatens 5
WIN_IN_ONE = [1, 1, 0, 2, 2, 0, 0, 0, 0]
# X to move cannot win at once; O threatens 5
MUST_BLOCK = [1, 0, 0, 2, 2, 0, 1, 0, 0]


def test_random_plays_every_legal_move_as_often():
    root = placed(MUST_BLOCK, 0, 4096)
    result = search(Random(), TICTACTOE, Uniform(), root)
    counts = np.bincount(result.action, minlength=9)
    empty = np.array(MUST_BLOCK) == 0
    assert (counts[~empty] == 0).all()
    expected = 4096 / empty.sum()
    assert ((counts[empty] - expected) ** 2 / expected).sum() < 4 + 5 * 8**0.5
    np.testing.assert_allclose(result.policy[0], empty / empty.sum(), rtol=1e-6)
    again = search(Random(), TICTACTOE, Uniform(), root)
    other = search(Random(), TICTACTOE, Uniform(), root, seed=1)
    assert again.action.tolist() == result.action.tolist() != other.action.tolist()


def test_greedy_plays_the_heaviest_move_and_draws_by_weight_with_a_temperature():
    model = Model(DODGEM, Heuristic())
    root = jax.jit(lambda key: model.start(key, 2048))(jax.random.key(0))
    result = search(Greedy(), DODGEM, Heuristic(), root)
    weights = np.asarray(jax.jit(jax.vmap(DODGEM.move_weights))(root.state))[0]
    legal = np.asarray(jax.jit(model.legal)(root))[0]
    weights = np.where(legal, weights, 0.0)
    assert set(result.action.tolist()) == set(np.flatnonzero(weights == weights.max()).tolist())
    np.testing.assert_allclose(result.policy[0], weights / weights.sum(), rtol=1e-4, atol=1e-7)
    drawn = search(Greedy(), DODGEM, Heuristic(), root, heat=1.0)
    shares = np.bincount(drawn.action, minlength=len(weights)) / 2048
    error = np.sqrt(result.policy[0] * (1 - result.policy[0]) / 2048)
    assert (np.abs(shares - result.policy[0]) <= 4 * error + 1e-6).all()
    assert (shares > 0).sum() > 1


@pytest.mark.slow  # compiles for seconds
def test_greedy_draws_equals_and_takes_its_own_five_before_all_else():
    root = placed([0] * 9, 0, 1024)
    counts = np.bincount(search(Greedy(), TICTACTOE, Heuristic(), root).action, minlength=9)  # no weights here
    assert ((counts - 1024 / 9) ** 2 / (1024 / 9)).sum() < 8 + 5 * 16**0.5
    game = make("gomoku", size=9)
    rows = ["." * 9, "XXXX.....", "." * 9, "..OOOO...", "." * 9, "." * 9, "." * 9, "." * 9, "." * 9]
    cells = np.array([".XO".index(stone) for stone in "".join(rows)], np.int8)
    for seat, wins in ((0, {13}), (1, {28, 33})):
        root = repeated(play.resume(game, game.place(cells, seat)), 8)
        assert set(search(Greedy(), game, Heuristic(), root).action.tolist()) <= wins
    cells[9:14] = 0  # nothing to win with: then stop the four
    root = repeated(play.resume(game, game.place(cells, 0)), 8)
    assert set(search(Greedy(), game, Heuristic(), root).action.tolist()) <= {28, 33}


def test_flat_wins_at_once_without_a_single_pull():
    result = search(Flat(), TICTACTOE, Rollout(), placed(WIN_IN_ONE, 0))
    assert result.action.tolist() == [2]
    assert result.visits.sum() == 0
    assert result.solved.all()
    assert result.value.tolist() == [1.0]
    assert np.flatnonzero(result.proven[0]).tolist() == [2]


def test_flat_sees_the_threat_that_playouts_show():
    result = search(Flat(), TICTACTOE, Rollout(count=4), placed(MUST_BLOCK, 0, 8))
    assert result.action.tolist() == [5] * 8
    assert (result.visits.sum(axis=1) == 400).all()
    assert not result.solved.any()


@dataclasses.dataclass(frozen=True)
class Shares(Mnk):
    """Every first move ends the game: the more it wins, the less the game believes in it."""

    def over(self, state: Any) -> Any:
        return state.ply > 0

    def returns(self, state: Any) -> Any:
        share = 0.1 * jnp.argmax(state.stones != 0).astype(jnp.float32)
        return jnp.stack([share, -share])

    def move_weights(self, state: Any) -> Any:
        return jnp.arange(5.0, 0.0, -1.0)


def test_flat_takes_the_best_result_where_every_move_ends_the_game():
    game = Shares(5, 1, 5)
    root = repeated(play.begin(game), 2)
    for heat in (0.0, 1.0):
        result = search(Flat(), game, Uniform(), root, heat=heat)
        assert result.action.tolist() == [4, 4]
        np.testing.assert_allclose(result.value, 0.4)
        assert result.solved.all()


@pytest.mark.slow
def test_flat_pulls_every_move_once_first_and_counts_every_playout():
    root = placed([0] * 9, 0, 2)
    result = search(Flat(), TICTACTOE, Rollout(unfinished="even"), root, budget=9)
    assert result.visits.tolist() == [[1] * 9] * 2
    assert set(result.q.reshape(-1).tolist()) <= {-1.0, 0.0, 1.0}
    several = search(Flat(parallel_leaves=4), TICTACTOE, Rollout(), root, budget=103)
    assert several.visits.sum(axis=1).tolist() == [103, 103]
    assert (several.visits >= 1).all()


@pytest.mark.slow
def test_flat_believes_the_game_where_playouts_see_nothing():
    # no playout ends within one ply, so all results are even; the weights know the way out
    root = jax.jit(lambda key: Model(DODGEM, Uniform()).start(key, 4))(jax.random.key(0))
    result = search(Flat(), DODGEM, Rollout(depth=1, unfinished="even"), root, budget=20)
    legal = np.asarray(jax.jit(Model(DODGEM, Uniform()).legal)(root))[0]
    weights = np.where(legal, np.asarray(jax.jit(jax.vmap(DODGEM.move_weights))(root.state))[0], 0.0)
    assert (weights[result.action] == weights.max()).all()
    assert (result.q[:, legal] == 0.0).all()


def test_a_clear_lead_in_results_beats_belief():
    # weight 0.7: the least believed move wins as soon as its mean result leads by more than 0.3 / 0.7 = 0.43
    flat, model = Flat(weight=0.7), Model(TICTACTOE, Uniform())
    root = placed([0] * 9, 0)
    state = jax.jit(lambda root: flat.begin(model, (), jax.random.key(0), root))(root)
    choose = jax.jit(lambda state: flat.result(jax.random.key(1), state).action[0])
    unbelieved = np.arange(9) == 3
    belief = np.where(unbelieved, np.float32(0), np.float32(1))[None]
    for lead, action in ((0.45, 3), (0.41, None)):
        # values in [-1, 1]: a lead of x in the share of wins is one of 2x
        total = np.where(unbelieved, np.float32(20.0 * lead), np.float32(0))[None]
        known = state._replace(belief=belief, total=total, visits=np.full((1, 9), 10, np.int32))
        best = int(choose(known))
        assert (best == 3) == (action == 3)


def test_a_bandit_finds_the_better_arm_and_wastes_little():
    # the only move that does not lose at once to the reply: regret must be small against uniform play
    result = search(Flat(), TICTACTOE, Rollout(), placed(MUST_BLOCK, 0, 64), budget=500)
    share = result.visits[:, 5] / result.visits.sum(axis=1)
    assert (share > 1.5 / 5).all()


def test_resumed_is_one_shot_for_flat():
    model, root, key = Model(TICTACTOE, Rollout()), placed(MUST_BLOCK, 0, 3), jax.random.key(4)
    flat = Flat()
    start = jax.jit(lambda: flat.begin(model, (), key, root))()
    extend = jax.jit(lambda state, budget: flat.extend(model, (), key, state, budget))
    once = extend(start, jnp.int32(50))
    parts = extend(extend(start, jnp.int32(20)), jnp.int32(30))
    assert all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(once), jax.tree.leaves(parts), strict=True))
    assert extend(start, jnp.array([0, 7, 20])).done.tolist() == [0, 7, 20]


KNOWN = {name: known for name, known in SEARCHES.items() if name not in ("threats", "bfs")}  # which need other games
KNOWN |= {name: preset.search for name, preset in PRESETS.items()}


@pytest.mark.parametrize("name", mostly_slow(KNOWN, ("random", "greedy", "flat")))
def test_every_registered_search_plays_a_legal_move(name):
    root = placed(MUST_BLOCK, 0, 2)
    result = search(KNOWN[name], TICTACTOE, Heuristic(), root, budget=24)
    assert all(MUST_BLOCK[a] == 0 for a in result.action.tolist())
    np.testing.assert_allclose(result.policy.sum(axis=1), 1.0, rtol=1e-5)
    assert result.healthy.all()


def test_settings_that_make_no_sense_are_refused():
    for wrong in ({"simulations": 0}, {"parallel_leaves": 0}, {"weight": 1.5}, {"c": -1.0}):
        with pytest.raises(UsageError):
            Flat(**wrong)
