"""Gumbel search: mctx's numbers bit for bit, and the same statistics however many leaves go side by side."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from judges import Hashed, Opinion, Road, alike, edges, paths, peer, positions, searched, verbs, whole, without_index
from mctx._src import seq_halving

from jaxgo.core.errors import UsageError
from jaxgo.games.connect4 import ConnectFour
from jaxgo.games.kamisado.rules import Kamisado
from jaxgo.games.minerace import MineRace
from jaxgo.games.mnk import Mnk
from jaxgo.search.edges import root_edges
from jaxgo.search.gumbel import Gumbel
from jaxgo.search.model import UNLIKELY, Model

FIVE = Model(Mnk(5, 5, 4), Hashed())
MINES = Model(MineRace("...I.II.I.I.IIII"), Hashed())
PLAIN = Gumbel(400, 8, gumbel_scale=0.0, solver=False)
# by how many moves are considered: of one program for all budgets
LARGEST = {1: 9, 16: 400}
LANES = 32


def fives():
    """From the empty board to boards with fewer empty cells than considered moves."""
    return positions(FIVE.game, LANES, 22)


@functools.cache
def as_mctx(model: Model, plies: int, simulations: int, considered: int, scale: float):
    """mctx's output, and our result and tree for the same noise."""
    root = positions(model.game, LANES, plies)
    options = {"max_num_considered_actions": considered, "gumbel_scale": scale}
    begin = jax.random.split(jax.random.key(5), 3)[0]  # with which `searched` begins
    theirs = jax.device_get(peer("gumbel_muzero_policy", model, simulations, **options)(begin, root))
    most = LARGEST.get(considered, simulations) if scale == 0 else simulations
    search = Gumbel(most, considered, gumbel_scale=scale, solver=False)
    ours, state = searched(search, model, root, simulations, seed=5)
    # the noise is drawn by the same key
    np.testing.assert_allclose(state.noise, theirs.search_tree.extra_data.root_gumbel, rtol=1e-6)
    return theirs, ours, state.tree


def check_equal(theirs, ours, at_least: float = 1.0) -> None:
    """Where the same moves survived, which is everywhere unless mctx's new scores within a phase choose others."""
    summary = theirs.search_tree.summary()
    same = (summary.visit_counts == ours.visits).all(axis=-1)
    assert same.mean() >= at_least
    np.testing.assert_array_equal(theirs.action[same], ours.action[same])
    np.testing.assert_allclose(theirs.action_weights[same], ours.policy[same], atol=1e-6, rtol=1e-3)
    np.testing.assert_allclose(summary.value[same], ours.value[same], atol=1e-6)
    np.testing.assert_allclose(np.where(ours.visits > 0, summary.qvalues, 0)[same], ours.q[same], atol=1e-6)


@pytest.mark.parametrize(
    ("simulations", "considered"),
    [(64, 2), *(pytest.param(n, m, marks=pytest.mark.slow) for n, m in ((1, 1), (9, 1), (16, 16), (50, 7), (100, 16)))],
)
def test_mctx_bit_for_bit(simulations: int, considered: int):
    """Without a halving from more than two nothing can survive in another way: then all lanes are the same."""
    theirs, ours, tree = as_mctx(FIVE, 22, simulations, considered, 0.0)
    check_equal(theirs, ours, 1.0 if considered <= 2 else 0.75)
    assert (ours.visits.sum(axis=-1) == simulations).all()
    assert tree.proven.any() or simulations < 16, "no terminal leaf was searched"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "plies"),
    [(ConnectFour(), 36), (Road(), 8), (Kamisado(points=3), 25)],
    ids=["connect4", "road", "kamisado"],
)
def test_mctx_bit_for_bit_with_noise(game, plies: int):
    """Fewer legal moves than considered ones, terminal leaves, two moves of one seat in a row."""
    theirs, ours, tree = as_mctx(Model(game, Hashed()), plies, 40, 16, 1.0)
    check_equal(theirs, ours, 0.75)
    assert tree.proven[:, 1:].any(), "no terminal leaf was searched"
    node = np.arange(1, tree.seat.shape[1])
    again = tree.seat[:, 1:] == np.take_along_axis(tree.seat, np.maximum(tree.parent[:, 1:], 0), axis=1)
    assert (again & (node < tree.used[:, None])).any() != isinstance(game, ConnectFour)


@pytest.mark.slow  # compiles for seconds
def test_without_the_solver_a_lost_move_is_played_as_mctx_does():
    theirs, ours, _ = as_mctx(MINES, 4, 64, 2, 0.0)
    check_equal(theirs, ours)
    chosen = np.arange(LANES), ours.action
    assert (ours.proven[chosen] & (ours.q[chosen] <= -1)).any()


@pytest.mark.slow
def test_with_the_solver_a_lost_move_is_played_only_where_all_are_lost():
    root = positions(MINES.game, LANES, 4)
    result, _ = searched(Gumbel(64, 2, gumbel_scale=0.0), MINES, root)
    lost = result.proven & (result.q <= -1)
    chosen = np.arange(LANES), result.action
    legal = np.asarray(MINES.legal(root))
    np.testing.assert_array_equal(lost[chosen], (lost | ~legal).all(axis=-1))
    # of the moves that are left the most visited is played, not just the first
    open_ = legal & ~lost & ~result.solved[:, None]
    most = np.where(open_, result.visits, -1).max(axis=-1)
    assert (result.visits[chosen] == most)[open_.any(axis=-1)].all()


@pytest.mark.slow
def test_boundary_rule_spends_the_same_visits():
    """Who gets them may differ, but the counts follow mctx's table, whatever the budget."""
    root = fives()
    legal = np.asarray(FIVE.legal(root)).sum(axis=-1)
    assert legal.min() < 8 < legal.max()
    for budget in (1, 5, 16, 31, 32, 64, 100, 399):
        ours, _ = searched(PLAIN, FIVE, root, budget)
        for lane in range(LANES):
            turns = seq_halving.get_sequence_of_considered_visits(min(8, int(legal[lane])), budget)
            visits = ours.visits[lane]
            # a turn of `v` takes some move from v visits to v + 1
            assert np.bincount(turns).tolist() == [(visits > v).sum() for v in range(visits.max())]
    assert whole(PLAIN, FIVE, False)._cache_size() == 1, "another budget must not trace anew"


@pytest.mark.slow  # compiles for seconds
@pytest.mark.parametrize("leaves", [1, 3])
def test_leaves_side_by_side_change_nothing(leaves: int):
    root = fives()
    result, q = searched(PLAIN, FIVE, root, 64)
    serial, other = searched(dataclasses.replace(PLAIN, parallel_leaves=leaves), FIVE, root, 64)
    assert other.calls > q.calls
    for name in ("action", "policy", "visits", "q", "proven"):
        alike(getattr(serial, name), getattr(result, name))
    for lane in range(LANES):
        one, two = (without_index(paths(tree, lane)) for tree in (q.tree, other.tree))
        alike(one, two)


@pytest.mark.slow
def test_the_program_of_an_accelerator_finds_the_same():
    """There is one loop for all widths, and only the judge is there in each."""
    root = fives()
    result, q = searched(PLAIN, FIVE, root, 64)
    same, other = searched(PLAIN, dataclasses.replace(FIVE, platform="gpu"), root, 64)
    assert other.calls <= q.calls
    asked = [  # where a game is over nobody asks for logits
        tree._replace(logits=np.where(tree.proven[..., None], 0.0, tree.logits)) for tree in (q.tree, other.tree)
    ]
    alike((result, asked[0]), (same, asked[1]))


@pytest.mark.slow
def test_evaluator_calls():
    root = fives()
    wide = dataclasses.replace(PLAIN, simulations=LARGEST[16], max_considered=16)
    for budget, calls in ((32, 4), (64, 15), (400, 97)):
        _, q = searched(wide, FIVE, root, np.where(np.asarray(root.state.ply) == 0, budget, 0))
        assert q.calls == calls
        assert set(q.done.tolist()) == {0, budget}


@pytest.mark.slow
def test_budgets_of_their_own():
    root = fives()
    search = Gumbel(64, 8)
    budgets = np.array([64, 16, 0, 37])[np.arange(LANES) % 4]
    mixed, q = searched(search, FIVE, root, budgets)
    for budget in (64, 16, 0, 37):
        alone, other = searched(search, FIVE, root, budget)
        mine = budgets == budget
        for one, two in zip(jax.tree.leaves((mixed, q.tree)), jax.tree.leaves((alone, other.tree)), strict=True):
            np.testing.assert_array_equal(one[mine], two[mine])
    spent = mixed.visits.sum(axis=-1)
    assert ((spent == budgets) | (mixed.solved & (spent < budgets))).all()
    assert mixed.solved.any()


@pytest.mark.slow
def test_boundary_rule_rarely_changes_the_move():
    differ = []
    for model, plies, simulations, considered in ((FIVE, 22, 50, 7), (MINES, 4, 64, 2)):
        theirs, ours, _ = as_mctx(model, plies, simulations, considered, 0.0)
        differ += (theirs.action != ours.action).tolist()
    assert np.mean(differ) < 0.1


@pytest.mark.slow  # compiles for seconds
def test_moves_that_are_no_candidates_cost_no_simulations():
    root = fives()
    result, _ = searched(Gumbel(16, 8, gumbel_scale=0.0, breadth=3, solver=False), FIVE, root)
    legal = np.asarray(jax.vmap(FIVE.game.legal)(root.state)).sum(axis=-1)
    assert (result.visits.sum(axis=-1) == 16).all()
    assert ((result.visits > 0).sum(axis=-1) == np.minimum(legal, 3)).all()


ALL_OF_THEM = jnp.full(1, 32, jnp.int32)


@functools.cache
def by_the_mine():
    """Verbs, a root two cells before a mine, and the one a cell before it, where move 0 is likely and lost."""
    model = Model(MineRace("..I" + 40 * "." + "I"), Opinion((9.0, 0.0, 0.0, 0.0)))
    root = positions(model.game, 1, 0)
    beside, _ = jax.jit(model.play)(root, jnp.zeros(1, jnp.int32))
    return verbs(Gumbel(32, 4, gumbel_scale=0.0, nodes=97), model), root, beside


@pytest.mark.slow
def test_a_likely_move_that_is_proven_lost_is_halved_away():
    """Its prior outweighs what is known of it, and it kept half of the simulations of every later phase."""
    run, _, beside = by_the_mine()
    key = jax.random.key(0)
    result = run.result(key, run.extend(key, run.begin(key, beside), ALL_OF_THEM))
    assert result.lost[0].tolist() == [True, False, False, False]
    assert sorted(result.visits[0].tolist()) == [4, 4, 12, 12]
    assert int(result.visits[0, 0]) == 4


@pytest.mark.slow
def test_a_search_that_goes_on_behind_its_plan_halves_all_moves_again():
    """All simulations of a clock went to the two moves that were left after the first 16."""
    search, model = Gumbel(16, 4, gumbel_scale=0.0, nodes=256), Model(MineRace(200 * "." + "I"), Hashed())
    run, visits_of = verbs(search, model), jax.jit(lambda tree: root_edges(tree).visits)
    state = run.begin(jax.random.key(0), positions(model.game, 1, 0))
    visits = []
    for _ in range(7):  # in parts, as a clock has them
        state = run.extend(jax.random.key(1), state, jnp.full(1, 16, jnp.int32))
        visits.append(sorted(visits_of(state.tree)[0].tolist()))
    assert [sum(counts) for counts in visits] == [16, 32, 48, 64, 80, 96, 112]
    assert visits[0] == [2, 2, 6, 6]
    assert visits[2][0] == 2 + 4, "in a halving of 32"
    assert visits[6][0] >= 2 + 4 + 8, "and in one of 64"


@pytest.mark.slow
def test_a_lost_move_is_not_one_of_the_last_two():
    model = Model(MineRace(".I" + 40 * "." + "I"), Opinion((9.0, 3.0, 0.0, 0.0)))
    result, _ = searched(Gumbel(32, 2, gumbel_scale=0.0), model, positions(model.game, 1, 0))
    assert result.lost[0].tolist() == [True, False, False, False]
    assert result.visits[0, 0] == 1


@pytest.mark.slow
def test_where_one_candidate_is_left_that_is_not_lost_it_has_all_simulations():
    """Half of them went to a move that is no candidate, or to the lost one where no other was legal."""
    model = Model(MineRace(".I" + 40 * "." + "I"), Opinion((9.0, 3.0, 0.0, 0.0)))
    result, _ = searched(Gumbel(32, 2, gumbel_scale=0.0, breadth=2), model, positions(model.game, 1, 0))
    assert result.lost[0].tolist() == [True, False, False, False]
    assert result.visits[0].tolist() == [1, 31, 0, 0]


@pytest.mark.slow
def test_behind_a_move_nothing_is_spent_on_what_the_kept_tree_has_proven_lost():
    """The first phase of the next halving visited it again."""
    run, root, beside = by_the_mine()
    key = jax.random.key(0)
    state = run.extend(key, run.begin(key, root), ALL_OF_THEM)
    kept = run.follow(key, state, jnp.zeros(1, jnp.int32), beside)
    before = run.result(key, kept)
    assert before.lost[0].tolist() == [True, False, False, False]
    spent = run.result(key, run.extend(key, kept, ALL_OF_THEM)).visits - before.visits
    assert spent[0, 0] == 0
    assert spent.sum() == 32


@pytest.mark.slow  # compiles for seconds
def test_below_the_root_other_moves_wait_until_all_candidates_are_lost():
    """The visits of the second move are ahead of its small prior, and those of moves that are no candidates are not."""
    some = edges([10, 2, 0], [0.0, 0.0, 0.0], 13, logits=[np.log(0.9), np.log(0.1), UNLIKELY])
    lost = some._replace(lost=jnp.array([[True, False, False]]))
    every = some._replace(lost=jnp.array([[True, True, False]]))
    assert [int(Gumbel().prefer(at)[0]) for at in (lost, every)] == [2, 2]
    for narrow in (Gumbel(breadth=2), Gumbel(prune=True)):
        assert [int(narrow.prefer(at)[0]) for at in (lost, every)] == [1, 2]


@pytest.mark.slow
def test_policy_improves_on_the_prior_and_has_no_illegal_mass():
    result, q = searched(Gumbel(64, 8), FIVE, fives())
    legal = np.asarray(FIVE.legal(fives()))
    np.testing.assert_allclose(result.policy.sum(axis=-1), 1.0, atol=1e-5)
    assert (result.policy[~legal] == 0).all()
    assert (result.visits[~legal] == 0).all()
    assert legal[np.arange(LANES), result.action].all()
    prior = jax.nn.softmax(q.tree.logits[:, 0], axis=-1)
    worth = np.where(result.visits > 0, result.q, result.value[:, None])
    assert ((result.policy - prior) * worth).sum() > 0


@pytest.mark.slow
def test_noise():
    one, two = (searched(Gumbel(64, 8), FIVE, fives(), 64, seed=seed)[1].noise for seed in (1, 2))
    assert (one != two).all()
    assert 0.45 < one.mean() < 0.7  # Euler's constant is 0.577
    assert not searched(PLAIN, FIVE, fives(), 0)[1].noise.any()


@pytest.mark.parametrize("wrong", [{"simulations": 0}, {"max_considered": 0}, {"parallel_leaves": -1}, {"nodes": -1}])
def test_settings_are_checked(wrong):
    with pytest.raises(UsageError, match="gumbel needs"):
        Gumbel(**wrong)


def test_the_scores_of_a_fresh_root_are_not_divided_by_next_to_nothing():
    """XLA for a GPU made `9 * (1 / tiny)` of a sum over nine actions: infinite, and all scores were NaN."""

    @jax.jit
    def fresh(root):
        return root_edges(PLAIN.begin(FIVE, (), jax.random.key(0), root).tree)

    root = fresh(positions(FIVE.game, 2, 0))
    traced = jax.make_jaxpr(PLAIN._completed_q)(root)

    def run(jaxpr, consts, values, divisors):
        known = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *values], strict=True))

        def read(atom):
            return atom.val if hasattr(atom, "val") else known[atom]

        for step in jaxpr.eqns:
            inputs = [read(atom) for atom in step.invars]
            if "jaxpr" in step.params:
                results = run(step.params["jaxpr"].jaxpr, step.params["jaxpr"].consts, inputs, divisors)
            else:
                if step.primitive.name == "div":
                    divisors.append(jnp.abs(inputs[1]).min())
                results = step.primitive.bind(*inputs, **step.params)
                results = results if step.primitive.multiple_results else [results]
            known.update(zip(step.outvars, results, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    @jax.jit
    def with_divisors(values):
        divisors = []
        return run(traced.jaxpr, traced.consts, values, divisors), divisors

    (scores,), divisors = with_divisors(jax.tree.leaves(root))
    assert (scores == 0).all()
    assert len(divisors) > 2
    assert np.isfinite(np.float32(FIVE.game.num_actions) / np.array(divisors, np.float32)).all()
