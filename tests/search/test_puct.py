"""PUCT: mctx's numbers, the hand-made trees of the formula, several leaves a round, noise, forced playouts."""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from judges import Hashed, alike, paths, peer, positions, searched
from support import mostly_slow

from jaxgo.core.errors import UsageError
from jaxgo.evaluators import Dirichlet
from jaxgo.games.connect4 import ConnectFour
from jaxgo.games.mnk import Mnk
from jaxgo.search import base
from jaxgo.search.edges import Children, Edges
from jaxgo.search.model import ILLEGAL, UNLIKELY, Model
from jaxgo.search.puct import Puct
from jaxgo.search.tree import NOWHERE

FIVE = Model(Mnk(5, 5, 4), Hashed())
THREE = Model(Mnk(3, 3, 3), Hashed())
SHAFT = Model(ConnectFour(width=1, height=6, k=6), Hashed())  # one legal move at every ply
LANES = 32


class Node(NamedTuple):
    """One node by hand: what a walk reads of it, and what its result reads."""

    below: Children
    edges: Edges


def node(visits, wins, priors, parent: int, value: float = 0.0) -> Node:
    """Visits, sums of values and priors of the moves of a node; a prior below 0 is an illegal move."""
    visits, wins, priors = (np.array([x], np.float32) for x in (visits, wins, priors))
    q = jnp.asarray(wins / np.maximum(visits, 1))
    counts = jnp.asarray(visits, jnp.int32)
    nothing = jnp.zeros(visits.shape, bool)
    node_visits, node_value = jnp.array([parent], jnp.int32), jnp.array([value], jnp.float32)
    new = np.where((visits == 0) & (priors >= 0), priors, -np.inf)
    below = Children(
        there=jnp.asarray(visits > 0),
        action=jnp.arange(visits.shape[1])[None],
        visits=counts,
        q=q,
        lost=nothing,
        prior=jnp.asarray(priors),
        untried=jnp.asarray(np.where(np.isneginf(new.max(-1)), NOWHERE, new.argmax(-1)), jnp.int32),
        untried_prior=jnp.asarray(new.max(-1)),
        node_visits=node_visits,
        value=node_value,
    )
    edges = Edges(
        visits=counts,
        q=q,
        proven=nothing,
        lost=nothing,
        logits=jnp.where(priors >= 0, jnp.log(jnp.maximum(priors, 1e-30)), ILLEGAL),
        node_visits=node_visits,
        value=node_value,
        raw=node_value,
        node=jnp.zeros(1, jnp.int32),
        game=jnp.zeros(1, jnp.int32),
    )
    return Node(below, edges)


def scores(search: Puct, at: Node) -> np.ndarray:
    below = at.below
    worth, _ = search._worth(below.there, below.q, below.prior, below.value)
    return np.asarray(worth + search._exploration(below.node_visits)[:, None] * below.prior / (below.visits + 1))[0]


def chosen(search: Puct, at: Node, depth: int = 1) -> list[int]:
    return search.prefer(at.below, jnp.array([depth == 0])).tolist()


def test_hand_tree():
    """c = 5: 0.5 + 20 * 0.2 / 4, -0.5 + 20 * 0.5 / 2, 0 + 20 * 0.3 / 1."""
    search = Puct(fpu="even", c_init=5.0, c_base=1e9)
    at = node([3, 1, 0], [1.5, -0.5, 0.0], [0.2, 0.5, 0.3], parent=16)
    np.testing.assert_allclose(scores(search, at), [1.5, 4.5, 6.0], rtol=1e-5)
    assert chosen(search, at, 0) == [2]
    first = node([0, 0, 0], [0, 0, 0], [0.25, 0.5, 0.25], parent=1)
    assert chosen(search, first, 1) == [1]
    # the first of equals, and never an illegal move
    assert chosen(search, node([0] * 3, [0] * 3, [0.4, 0.4, 0.2], 1), 1) == [0]
    assert chosen(search, node([9, 9, 0], [-9, -9, 0], [0.5, 0.5, -1], 19), 1) == [0]


def test_formula_of_the_text():
    search = Puct(fpu="even", c_init=1.414, c_base=1e9)
    at = node([4, 20], [2, 0], [0.1, 0.9], parent=25)
    assert scores(search, at)[0] == pytest.approx(0.6414, abs=1e-4)
    grows = dataclasses.replace(search, c_base=19652.0)
    c = 1.414 + np.log((25 + 19652 + 1) / 19652)
    assert scores(grows, at)[0] == pytest.approx(0.5 + c * 0.1 * 5 / 5, abs=1e-5)


def test_formula_that_adds_the_prior():
    """By hand, with N = 25: 0.5 + 1.414 * 5 / 5 + 0.1 = 2.014, and 1.414 * 5 + 0.2 = 7.27 of a move without visits."""
    search = Puct(fpu="even", c_init=1.414, c_base=1e9, added=True)
    bonus = search._bonus(search._exploration(jnp.array([25])), jnp.array([0.1]), 5)
    assert float(bonus[0]) + 0.5 == pytest.approx(2.014, abs=1e-4)
    # 0.5 + 7.07 / 5 + 0.01 = 1.92 against 7.07 / 7 + 0.9 = 1.91; where the prior weighs, 0.51 against 0.91
    at = node([4, 6], [2, 0], [0.01, 0.9], parent=25)
    assert chosen(search, at) == [0]
    assert chosen(dataclasses.replace(search, added=False), at) == [1]
    assert chosen(search, node([1, 12, 0], [0.9, 0, 0], [0.1, 0.7, 0.2], parent=25)) == [2]
    with pytest.raises(UsageError, match="leave forced or added out"):
        Puct(added=True, forced=2.0)


def test_worth_of_unvisited_moves():
    at = node([4, 0, 2], [2, 0, -1], [0.36, 0.36, 0.28], parent=7, value=0.25)
    below = at.below

    def worths(search: Puct) -> np.ndarray:
        worth, unseen = search._worth(below.there, below.q, below.prior, below.value)
        assert worth[0, 1] == unseen[0]
        return np.asarray(worth)[0]

    worth = {kind: worths(Puct(fpu=kind)) for kind in ("worst", "even", "parent")}
    np.testing.assert_allclose(worth["worst"], [1.0, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(worth["even"], [0.5, 0.0, -0.5], atol=1e-6)
    np.testing.assert_allclose(worth["parent"], [0.5, 0.25 - 0.2 * 0.8, -0.5], atol=1e-6)


def test_moves_that_are_no_candidates_wait_until_all_candidates_are_lost():
    """Their prior is nothing, and neither an even guess nor a bonus that is added puts them before a bad candidate."""
    at = node([4, 4, 0], [-3, -2, 0], [0.6, 0.4, 0.0], parent=9, value=-0.6)
    lost = at._replace(below=at.below._replace(lost=at.below.there))
    for search in (Puct(fpu="even"), Puct(fpu="even", added=True)):
        assert chosen(search, at) == [2]
        for narrow in (dataclasses.replace(search, breadth=2), dataclasses.replace(search, prune=True)):
            assert chosen(narrow, at) == [1]
            assert chosen(narrow, lost) == [2]


def test_noise_is_among_candidates(monkeypatch):
    monkeypatch.setattr(Dirichlet, "mixed", lambda self, key, logits, legal: jnp.where(legal, 7.0, ILLEGAL))
    logits = jnp.array([[0.0, -1.0, UNLIKELY, ILLEGAL]])
    assert Puct(noise=0.25).disturb(jax.random.key(0), logits)[0].tolist() == [7.0, 7.0, 7.0, ILLEGAL]
    narrow = Puct(noise=0.25, breadth=2).disturb(jax.random.key(0), logits)
    assert narrow[0].tolist() == [7.0, 7.0, UNLIKELY, ILLEGAL]


@pytest.mark.slow  # compiles for seconds
def test_mctx_where_its_noise_does_not_decide():
    root = positions(FIVE.game, LANES, 22)
    run = peer("muzero_policy", FIVE, 100, dirichlet_fraction=0.0, temperature=0.0)
    one, two = (jax.device_get(run(jax.random.key(k), root).search_tree.summary()) for k in (1, 2))
    ours, _ = searched(Puct(100, solver=False), FIVE, root)
    settled = (one.visit_counts == two.visit_counts).all(axis=-1)
    assert settled.mean() > 0.9
    np.testing.assert_array_equal(one.visit_counts[settled], ours.visits[settled])
    np.testing.assert_allclose(one.value[settled], ours.value[settled], atol=1e-6)
    chosen = ours.visits[np.arange(LANES), ours.action]
    np.testing.assert_array_equal(chosen, ours.visits.max(axis=-1))


@pytest.mark.slow
@pytest.mark.parametrize(("budget", "calls"), mostly_slow([(6400, 800), (13, 2)], [(13, 2)]))
def test_leaves_of_a_round_share_a_call(budget: int, calls: int):
    root = positions(THREE.game, 2, 0)
    result, q = searched(Puct(6400, parallel_leaves=8, solver=False), THREE, root, budget)
    assert q.calls == calls
    assert q.tree.visits[:, 0].tolist() == [budget + 1] * 2
    assert result.visits.sum(axis=-1).tolist() == [budget] * 2
    nodes = paths(q.tree, 0)
    below = {path: [] for path in nodes}
    for path in nodes:
        if path:
            below[path[:-1]].append(nodes[path])
    shared = 0
    for path, at in nodes.items():
        own = at.visits - sum(child.visits for child in below[path])
        shared += own - 1 if not at.proven else 0
        assert at.proven or 1 <= own <= 8
        mean = (own * at.raw + sum(child.visits * child.value for child in below[path])) / at.visits
        assert at.value == pytest.approx(mean, abs=1e-4)
    assert shared <= budget / 4, "walks that meet in a leaf are wasted"


@pytest.mark.slow
def test_leaves_that_meet_are_judged_once():
    """Eight walks of a round down a shaft end in one leaf: one node, eight visits."""
    root = positions(SHAFT.game, 2, 0)
    result, q = searched(Puct(64, parallel_leaves=8), SHAFT, root, [24, 20])
    assert q.tree.used.tolist() == [4, 4]
    assert q.tree.visits[:, :4].tolist() == [[25, 24, 16, 8], [21, 20, 12, 4]]
    assert result.visits.tolist() == [[24], [20]]
    raw = q.tree.raw[0]
    assert q.tree.value[0, 3] == pytest.approx(raw[3], abs=1e-6)
    assert q.tree.value[0, 2] == pytest.approx((raw[2] + raw[3]) / 2, abs=1e-6)
    assert result.healthy.all()
    done, q = searched(Puct(64, parallel_leaves=8), SHAFT, root, 64)
    assert done.solved.all()
    assert not done.value.any()
    assert q.done.tolist() == [48, 48], "the end of the shaft is a draw, and six rounds prove it"


@pytest.mark.slow
def test_walks_under_way_count_as_lost():
    """With a loss the first round of eight spreads; as even results to a mover who stands badly they attract."""
    root = positions(FIVE.game, LANES, 22)
    nodes = {}
    for loss in (0.0, 1.0):
        _, q = searched(Puct(100, solver=False, parallel_leaves=8, virtual_loss=loss), FIVE, root)
        nodes[loss] = q.tree.used.mean()
    assert nodes[1.0] > 1.3 * nodes[0.0]


@pytest.mark.slow
def test_walks_under_way_are_no_proven_losses():
    """Eight walks of a round and two candidates: the others wait for the leaves of these."""
    root = positions(FIVE.game, LANES, 10)
    narrow, _ = searched(Puct(64, parallel_leaves=8, breadth=2), FIVE, root)
    assert ((narrow.visits > 0).sum(axis=-1) <= 2).all()
    assert not narrow.solved.any()


@pytest.mark.slow
def test_one_leaf_a_round_is_plain_search():
    """Several leaves with a budget of one each are the plain search as well."""
    root = positions(FIVE.game, LANES, 22)
    plain, _ = searched(Puct(100, solver=False), FIVE, root, 1)
    batch, _ = searched(Puct(100, solver=False, parallel_leaves=8), FIVE, root, 1)
    np.testing.assert_array_equal(plain.visits, batch.visits)
    wide, q = searched(Puct(100, solver=False, parallel_leaves=8), FIVE, root)
    assert q.calls == 13
    assert (wide.visits.sum(axis=-1) == 100).all()


@pytest.mark.slow
def test_the_program_of_an_accelerator_finds_the_same():
    root = positions(FIVE.game, LANES, 22)
    search = Puct(100, solver=False, parallel_leaves=8)
    here, there = (searched(search, dataclasses.replace(FIVE, platform=name), root) for name in ("cpu", "gpu"))
    alike(here, there)


@pytest.mark.slow
def test_dirichlet_noise():
    games, legal_moves = 20_000, 4
    prior = np.array([0.5, 0.3, 0.15, 0.05])
    logits = jnp.full((games, 6), ILLEGAL).at[:, :legal_moves].set(jnp.log(jnp.asarray(prior, jnp.float32)))
    assert Puct().disturb(jax.random.key(0), logits) is logits
    for alpha in (0.03, 0.0, 2.0):
        noisy = np.asarray(Puct(noise=0.25, alpha=alpha).disturb(jax.random.key(0), logits))
        assert (noisy[:, legal_moves:] == ILLEGAL).all()
        p = np.exp(noisy)[:, :legal_moves]
        np.testing.assert_allclose(p.sum(axis=-1), 1.0, atol=1e-5)
        assert (p >= 0.75 * prior - 1e-6).all()
        np.testing.assert_allclose(p.mean(axis=0), 0.75 * prior + 0.25 / legal_moves, atol=0.006)
        # the spread of a Dirichlet draw tells its alpha
        each = alpha or 10.83 / legal_moves
        share = 1 / legal_moves
        spread = 0.25 * np.sqrt(share * (1 - share) / (legal_moves * each + 1))
        np.testing.assert_allclose(p.std(axis=0), spread, rtol=0.05)
    other = np.asarray(Puct(noise=0.25).disturb(jax.random.key(1), logits))
    assert (other[:, 0] != noisy[:, 0]).all()


def test_temperature():
    lanes = 40_000

    def shares(visits, heat) -> np.ndarray:
        weights = jnp.broadcast_to(jnp.array([visits], jnp.float32), (lanes, len(visits)))
        drawn = np.asarray(base.draw(jax.random.key(0), weights, heat))
        return np.bincount(drawn, minlength=len(visits)) / lanes

    np.testing.assert_allclose(shares([10, 10, 5], 0.001), [0.5, 0.5, 0.0], atol=0.01)
    np.testing.assert_allclose(shares([10, 10, 5], 1.0), [0.4, 0.4, 0.2], atol=0.01)
    np.testing.assert_allclose(shares([10, 10, 5], 0.5), [4 / 9, 4 / 9, 1 / 9], atol=0.01)
    np.testing.assert_allclose(shares([1e6, 999_999, 0], 0.5), [0.5, 0.5, 0.0], atol=0.01)
    np.testing.assert_allclose(shares([1e6, 1, 0], 1e-9), [1, 0, 0])
    assert shares([1, 1, 0], 100.0)[2] == 0, "what was never visited is never drawn"


@pytest.mark.slow
def test_temperature_by_game():
    root = positions(FIVE.game, LANES, 22)
    search = Puct(100, solver=False)
    best, q = searched(search, FIVE, root)
    q = jax.device_put(q)
    run = jax.jit(lambda key, heat: search.result(key, q, heat).action)
    heat = jnp.where(jnp.arange(LANES) % 2 == 0, 0.0, 1.0)
    drawn = np.stack([np.asarray(run(jax.random.key(k), heat)) for k in range(20)])
    assert (drawn[:, ::2] == best.action[::2]).all()
    assert (drawn[:, 1::2] != best.action[1::2]).any()
    assert (best.visits[np.arange(LANES), drawn] > 0).all()


@pytest.mark.slow
def test_forced_playouts_and_their_pruning():
    root = positions(FIVE.game, LANES, 6)
    forced, q = searched(Puct(100, noise=0.25, forced=2.0, solver=False), FIVE, root)
    plain, _ = searched(Puct(100, noise=0.25, solver=False), FIVE, root)
    prior = np.asarray(jax.nn.softmax(q.tree.logits[:, 0], axis=-1))
    due = np.sqrt(2.0 * prior * 100)
    tried = forced.visits > 0
    enough = forced.visits[tried] >= np.floor(due[tried])
    without = (plain.visits >= np.floor(due))[plain.visits > 0]
    assert enough.mean() > without.mean() + 0.2
    # pruned visits are the policy: none gains, the best keeps all
    share = forced.visits / forced.visits.sum(axis=-1, keepdims=True)
    best = forced.visits.argmax(axis=-1)
    lanes = np.arange(LANES)
    kept = forced.policy * (forced.visits[lanes, best] / forced.policy[lanes, best])[:, None]
    assert (kept <= forced.visits + 1e-3).all()
    assert (forced.policy[lanes, best] >= share[lanes, best] - 1e-6).all()
    assert (kept.sum(axis=-1) < 99).any()
    assert not (np.abs(kept - 1.0) < 1e-3).any(), "a single visit is pruned too"
    np.testing.assert_allclose(forced.policy.sum(axis=-1), 1.0, atol=1e-5)


def test_forced_playouts_by_hand():
    """Only at the root, and only moves that were tried; the first due is served."""
    at = node([90, 0, 1, 3], [80, 0, -1, -3], [0.9, 0.05, 0.03, 0.02], parent=95)
    search = Puct(fpu="even", forced=2.0)
    np.testing.assert_array_equal(
        np.asarray(search._forced_visits(at.edges.visits, at.below.prior))[0] > np.array([0, 0, 1, 3]), [1, 1, 1, 0]
    )
    assert chosen(search, at, 0) == [2]
    assert chosen(search, at, 1) == [0]
    assert chosen(Puct(fpu="even"), at, 0) == [0]


def test_pruning_by_hand():
    """A move that the formula alone would not have visited so often is left with what it would."""
    search = Puct(fpu="even", c_init=1.0, c_base=1e9, forced=2.0)
    at = node([60, 30, 9, 0], [30, 9, -9, 0], [0.4, 0.3, 0.2, 0.1], parent=100)
    pruned = np.asarray(search.counted(at.edges))[0]
    target = 0.5 + 10 * 0.4 / 61
    # n moves keep the score 10 p / (n + 1) + q at or below the best one's
    wanted = [np.ceil(10 * 0.3 / (target - 0.3) - 1), np.ceil(10 * 0.2 / (target + 1) - 1)]
    due = [np.floor(np.sqrt(2 * p * 99)) for p in (0.3, 0.2)]
    assert pruned[0] == 60
    assert pruned[1] == max(30 - due[0], min(30, wanted[0]))
    assert pruned[2] == (lambda left: left if left > 1 else 0)(max(9 - due[1], min(9, wanted[1])))
    assert pruned[3] == 0


def test_policy_before_any_simulation_is_the_prior():
    root = positions(FIVE.game, LANES, 22)
    result, q = searched(Puct(100, solver=False), FIVE, root, 0)
    np.testing.assert_allclose(result.policy, jax.nn.softmax(q.prior, axis=-1), atol=1e-6)
    legal = np.asarray(FIVE.legal(root))
    assert (result.policy[~legal] == 0).all()
    np.testing.assert_array_equal(result.action, result.policy.argmax(axis=-1))


def test_searched_policy_is_visits_of_legal_moves():
    root = positions(FIVE.game, LANES, 22)
    result, _ = searched(Puct(100, solver=False), FIVE, root)
    np.testing.assert_allclose(result.policy, result.visits / 100, atol=1e-6)
    assert (result.visits[~np.asarray(FIVE.legal(root))] == 0).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"simulations": 0},
        {"parallel_leaves": 0},
        {"virtual_loss": -1.0},
        {"noise": 1.5},
        {"forced": -1.0},
    ],
)
def test_settings_are_checked(wrong):
    with pytest.raises(UsageError):
        Puct(**wrong)
