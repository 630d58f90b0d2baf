"""Whose win is it? Double moves, moves that only look good, bans that only the real game knows, judges that shout."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from judges import Broken, Opinion, Road, paths, picked, positions, road_values, searched, stacked, verbs
from support import mostly_slow

from jaxgo.evaluators.uniform import Uniform
from jaxgo.games import make
from jaxgo.games.go.rules import Go
from jaxgo.games.mnk import Mnk
from jaxgo.search import reuse
from jaxgo.search.alphabeta import AlphaBeta
from jaxgo.search.gumbel import Gumbel
from jaxgo.search.model import ILLEGAL, UNLIKELY, Model, masked
from jaxgo.search.puct import Puct
from jaxgo.search.tree import ROOT
from jaxgo.search.uct import Uct
from jaxgo.selfplay import expected_value, sharpen, surprise

THREE = Mnk(3, 3, 3)
SEARCHES = {
    "gumbel": Gumbel(200, 5, gumbel_scale=0.0),
    "puct": Puct(200),
    "puct-8": Puct(200, parallel_leaves=8),
    "uct": Uct(200),
    "uct-8": Uct(200, parallel_leaves=8),
}


@functools.cache
def roads():
    """Both seats on every cell where the game goes on, with the exact worth of each move."""
    game = Road()
    starts = [(cell, seat) for cell, kind in enumerate(game.road) if kind in ".+" for seat in (0, 1)]
    return stacked([game.at(*start) for start in starts], game), [road_values(game.road, cell) for cell, _ in starts]


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_slow(SEARCHES, ["gumbel", "uct"]))
def test_proofs_through_double_moves(name: str):
    root, exact = roads()
    result, q = searched(SEARCHES[name], Model(Road(), Uniform()), root)
    again = [q.tree.seat[lane, 0] == q.tree.seat[lane, child] for lane, child in children(q.tree)]
    assert 0 < sum(again) < len(again)
    for lane, values in enumerate(exact):
        for action in np.flatnonzero(result.proven[lane]).tolist():
            assert result.q[lane, action] == values[action]
        if result.solved[lane]:
            assert result.value[lane] == max(values.values()) == values[int(result.action[lane])]
    solved = {int(result.value[lane]) for lane in np.flatnonzero(result.solved)}
    assert solved == {-1, 0, 1}
    assert result.solved.mean() > 0.5


def children(tree):
    return [(lane, child) for lane, row in enumerate(tree.child[:, ROOT]) for child in row[row >= 0]]


@pytest.mark.slow
def test_means_through_double_moves():
    """Without proofs the means have to carry the signs."""
    root, exact = roads()
    result, _ = searched(Uct(1000, solver=False), Model(Road(), Uniform()), root)
    right = []
    for lane, values in enumerate(exact):
        right.append(values[int(result.action[lane])] == max(values.values()))
        for action, value in values.items():
            if value and result.visits[lane, action] > 300:
                assert result.q[lane, action] * value > 0
    assert np.mean(right) > 0.9


def traps():
    """Either seat must block cell 2; cell 8 is what the judge recommends, who finds the mover well off anyway."""
    judge = Opinion(logits=(0, 0, 0, 0, 0, 0, 0, 0, 3.0), value=0.8)
    boards = [np.array([b, b, 0, 0, a, 0, 0, a, 0], np.int8) for a, b in ((1, 2), (2, 1))]
    return Model(THREE, judge), stacked([THREE.place(cells, seat) for seat, cells in enumerate(boards)], THREE)


@pytest.mark.parametrize(
    "name",
    mostly_slow(["gumbel", "puct-8", "gumbel-plain", "puct-plain", "uct-plain"], ["gumbel"]),
)
def test_the_move_that_looks_best_is_refuted(name: str):
    """By proofs, and by means alone."""
    search = SEARCHES[name.removesuffix("-plain")]
    model, root = traps()
    result, _ = searched(dataclasses.replace(search, solver="plain" not in name), model, root)
    assert result.action.tolist() == [2, 2]
    assert (result.q[:, 8] < result.q[:, 2]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "search", [Gumbel(200, 9, breadth=1), Puct(200, breadth=1), Uct(200, breadth=1)], ids=["gumbel", "puct", "uct"]
)
def test_where_all_candidates_are_lost_the_other_moves_are_played_learnt_and_judged(search):
    model, root = traps()
    result, _ = searched(search, model, root)
    assert result.proven[:, 8].all(), "the only candidate is lost"
    assert result.action.tolist() == [2, 2]
    policy = sharpen(result)
    assert policy.argmax(axis=-1).tolist() == [2, 2]
    np.testing.assert_allclose(policy.sum(axis=-1), 1.0, rtol=1e-5)
    assert (expected_value(result, policy) > -1.0).all()
    assert (surprise(policy, jnp.full(policy.shape, UNLIKELY).at[:, 8].set(0.0)) < 100).all()


def test_the_trap_is_one():
    model, root = traps()
    early, _ = searched(SEARCHES["gumbel"], model, root, 1)
    assert early.visits[:, 8].tolist() == [1, 1]
    assert (early.q[:, 8] > 0.7).all()


def test_no_logit_makes_a_move_illegal():
    inf, nan = np.inf, np.nan
    legal = jnp.array([True, True, True, False])
    for logits in ([0, -inf, 1, 0], [-inf, -inf, -inf, 5], [3e38, -3e38, 0, inf], [ILLEGAL, 0, 0, nan]):
        out = masked(jnp.array(logits, jnp.float32), legal)
        assert np.isfinite(out).all()
        np.testing.assert_array_equal(out > ILLEGAL, legal)
        assert out.max() == 0 or np.isinf(logits[:3]).all()
    for logits in ([0, inf, 0, 0], [nan, 0, 0, 0]):
        assert np.isnan(masked(jnp.array(logits, jnp.float32), legal)).any()
    nothing = masked(jnp.zeros(4), jnp.zeros(4, bool))
    assert (nothing == ILLEGAL).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["puct", "uct"])
def test_a_move_that_the_judge_rules_out_still_counts_in_proofs(name: str):
    """All moves but cell 2 lose at once; nobody may call the position lost because a judge never wants it filled."""
    _, root = traps()
    judge = Opinion(logits=(0, 0, -np.inf, 0, 0, 0, 0, 0, 0))
    result, _ = searched(SEARCHES[name], Model(THREE, judge), root)
    assert (result.value > -1).all()
    assert result.healthy.all()
    assert name == "puct" or result.action.tolist() == [2, 2], "UCT tries every move"


@pytest.mark.slow
def test_a_move_of_no_weight_is_searched_where_no_breadth_is_asked_for():
    _, root = traps()
    judge = Opinion(logits=(0, 0, -np.inf, 0, 0, 0, 0, 0, 0))
    result, _ = searched(AlphaBeta(400), Model(THREE, judge), root)
    assert result.action.tolist() == [2, 2]


@pytest.mark.slow
@pytest.mark.parametrize("number", ["nan", "inf"])
def test_broken_logits_are_reported(number: str):
    root = positions(THREE, 16, 4)
    result, q = searched(Puct(30), Model(THREE, Broken("logit", number)), root)
    assert 0 < result.healthy.sum() < 16
    assert np.isfinite(result.policy).all()
    assert np.isfinite(q.tree.logits).all()
    np.testing.assert_allclose(result.policy.sum(axis=-1), 1.0, atol=1e-5)


SMALL = Go(3, komi=0.5)


@functools.cache
def bans():
    """Positions whose next one has moves that only superko forbids: before, the action, after, and these moves."""
    model = Model(SMALL, Uniform())
    tick = jax.jit(lambda root, action: model.play(root, action)[0])
    legal = jax.jit(model.legal)
    open_ = jax.jit(jax.vmap(lambda s: SMALL.legal(s) & ~SMALL.over(s)))
    root = model.start(jax.random.key(0), 256)
    found = []
    for step in range(24):
        weights = jnp.where(legal(root), 0.0, -jnp.inf).at[:, -1].add(-4.0)  # few passes
        action = jax.random.categorical(jax.random.key(step), weights).astype(jnp.int32)
        after = tick(root, action)
        banned = np.asarray(open_(after.state)) & ~np.asarray(legal(after))
        lanes = np.flatnonzero(banned.any(axis=-1) & ~np.asarray(jax.vmap(SMALL.over)(after.state)))
        found += [(picked(root, i), action[i], picked(after, i), banned[i]) for i in lanes]
        root = after
    assert len(found) >= 8
    return jax.tree.map(lambda *x: jnp.stack(x), *found[:8])


@pytest.mark.parametrize(
    "search",
    [
        pytest.param(Uct(300, nodes=601), marks=pytest.mark.slow, id="uct"),
        pytest.param(Puct(300, nodes=601, parallel_leaves=4), marks=pytest.mark.slow, id="puct"),
    ],
)
def test_moves_that_superko_bans_take_their_results_with_them(search):
    before, action, root, banned = bans()
    banned = np.asarray(banned)
    key = jax.random.key(0)
    run = verbs(search, Model(SMALL, Uniform()))
    blank = jax.eval_shape(lambda: search.begin(Model(SMALL, Uniform()), (), key, before))
    blank = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), blank)
    budget = jnp.full(8, 300, jnp.int32)
    old = run.extend(key, run.follow(key, blank, jnp.full(8, -1, jnp.int32), before), budget)
    q = jax.device_get(run.follow(key, old, action, root))
    old = jax.device_get(old)
    lost = 0
    for lane in range(8):
        was = {way[1:]: n for way, n in paths(old.tree, lane).items() if way[:1] == (int(action[lane]),)}
        now = paths(q.tree, lane)
        gone = {way for way in was if way and banned[lane, way[0]]}
        lost += sum(was[way].visits for way in gone if len(way) == 1)
        assert now.keys() == was.keys() - gone
        assert all(now[way][:5] == was[way][:5] for way in now if way)
        below = [now[way] for way in now if len(way) == 1]
        assert now[()].visits == was[()].visits - sum(was[way].visits for way in gone if len(way) == 1)
        own = now[()].visits - sum(child.visits for child in below)
        mean = (own * now[()].raw + sum(child.visits * child.value for child in below)) / now[()].visits
        sign = 1 if now[()].seat == 0 else -1
        known = [sign * child.value for child in below if child.proven]
        left = int((q.tree.logits[lane, ROOT] > ILLEGAL).sum())
        if gone:
            closed = max(known, default=-1) >= 1 or len(known) == left
            assert now[()].proven == closed
            assert now[()].value == pytest.approx(sign * max(known) if closed else mean, abs=1e-5)
    assert lost > 0, "no tree had walked into a ban"
    result = run.result(key, run.extend(key, q, budget))
    assert (np.asarray(result.visits)[banned] == 0).all()
    assert (np.asarray(result.policy)[banned] == 0).all()
    np.testing.assert_allclose(result.policy.sum(axis=-1), 1.0, atol=1e-5)
    assert not banned[np.arange(8), np.asarray(result.action)].any()
    assert (np.asarray(result.visits).sum(axis=-1) > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("repetition", ["draw", "loss"])
@pytest.mark.parametrize("name", ["puct", "puct-8", "gumbel"])
def test_a_tree_ends_where_the_past_of_a_game_comes_back(name: str, repetition: str):
    """It knew only what a state carries. No tree is kept that does not know where the game has been by now."""
    game = make("dodgem3", repetition=repetition)
    model, lanes, search = Model(game, Uniform()), jnp.arange(2), SEARCHES[name]

    @jax.jit
    def begun() -> tuple[Any, ...]:
        start = model.start(jax.random.key(0), 2)
        action, other = jax.lax.top_k(model.legal(start).astype(jnp.int32), 2)[1].T
        again = jax.vmap(game.repetition_key)(model.play(start, action)[0].state)
        size = jnp.array([3 if repetition == "draw" else 2, 1], jnp.int16)  # the first of both games has been there
        past = start.history.keys.at[lanes, 1].set(again).at[lanes, 2].set(again)
        root = start._replace(history=start.history._replace(keys=past, size=size))
        return root, action, other, model.over(model.play(root, action)[0]), model.play(root, other)[0]

    root, action, other, over, after = begun()
    found, state = searched(search, model, root)
    assert (found.visits[lanes, action] > 0).all()
    assert found.proven[lanes, action].tolist() == over.tolist() == [True, False]
    assert found.q[0, action[0]] == (0.0 if repetition == "draw" else -1.0)
    node = state.tree.child[lanes, ROOT, action]
    told = jax.jit(lambda tree: reuse.judged(model, tree).known)(state.tree)[lanes, node]
    assert told.tolist() == [False, True], "of what has ended the judge said nothing"
    kept = verbs(search, model).follow(jax.random.key(1), state, other, after)
    assert (np.asarray(kept.tree.used) > 1).tolist() == [False, repetition == "draw"]
