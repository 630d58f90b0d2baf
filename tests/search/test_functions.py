"""Searches on environments of two functions: exact values, mctx's numbers where moves pay, reuse, refusals."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import untyped
from toy import numbers_of

from jaxgo.core.errors import UsageError
from jaxgo.search import AlphaBeta, Flat, Gumbel, Model, Puct, Uct
from jaxgo.search import mctx as dropin
from jaxgo.search.functions import Asked, Functions
from jaxgo.search.think import Limit, Thinker

COINS = np.array([[3, 9, 1, 2, 7, 4], [1, 2, 9, 2, 1, 1], [2, 8, 3, 1, 1, 3], [4, 4, 4, 4, 4, 4]])
KEY = jax.random.key(0)


class Row(NamedTuple):
    coins: Any
    low: Any
    high: Any
    luck: Any  # a typed key, which nobody draws from: a state may have one


def take(params, row, action):
    """Coins from either end, two players in turns; the reward is a tenth of the coin."""
    reward = jnp.where(action == 0, row.coins[row.low], row.coins[row.high]) / 10
    after = row._replace(low=row.low + (action == 0), high=row.high - (action == 1))
    return after, reward, jnp.where(after.low > after.high, 0.0, -1.0)


def even(params, key, rows):
    return jnp.zeros((rows.low.shape[0], 2)), jnp.zeros(rows.low.shape[0])


def exact(coins):
    if not len(coins):
        return 0
    return max(coins[0] - exact(coins[1:]), coins[-1] - exact(coins[:-1]))


MODEL = Model.from_functions(take, even, 2)


def rows():
    games, length = COINS.shape
    return MODEL.positions(
        Row(
            jnp.array(COINS),
            jnp.zeros(games, jnp.int32),
            jnp.full(games, length - 1, jnp.int32),
            jax.random.split(KEY, games),
        )
    )


@pytest.mark.slow
def test_leaves_side_by_side_are_different_leaves():
    """Where nothing is known of a leaf it counts as its parent, less the loss; as even it was the best of bad ones."""
    bad = Model.from_functions(
        lambda params, state, action: (state + 1, 0.0, 1.0),
        lambda params, key, states: (jnp.zeros((*states.shape, 4)), jnp.full(states.shape, -0.9)),
        4,
    )
    thinker = Thinker(Puct(8, parallel_leaves=8), bad, (), KEY)
    thinker.begin(bad.positions(jnp.zeros(2, jnp.int32)))
    found = thinker.think(Limit(simulations=8)).result
    assert ((found.visits > 0).sum(axis=-1) >= 3).all(), found.visits


@pytest.mark.slow
@pytest.mark.parametrize(
    "search",
    [
        Puct(simulations=300, c_init=6.0),
        pytest.param(Uct(simulations=300, c=8.0, parallel_leaves=2), marks=pytest.mark.slow),
    ],
)
def test_the_solver_finds_exact_values_where_moves_pay(search):
    short = COINS[:, :4]
    games = len(short)
    row = Row(
        jnp.array(short), jnp.zeros(games, jnp.int32), jnp.full(games, 3, jnp.int32), jax.random.split(KEY, games)
    )
    result = jax.jit(lambda position: search.run(MODEL, (), KEY, position))(MODEL.positions(row))
    sides = np.array([[c[0] - exact(c[1:].tolist()), c[-1] - exact(c[:-1].tolist())] for c in short])
    np.testing.assert_allclose(np.where(result.proven, 10 * result.q, sides), sides, atol=1e-4)
    assert result.solved.all()
    np.testing.assert_allclose(10 * result.value, sides.max(axis=-1), atol=1e-4)
    np.testing.assert_array_equal(sides[np.arange(games), result.action], sides.max(axis=-1))


@pytest.mark.slow  # compiles for seconds
def test_a_solved_root_names_its_best_move_outside_of_a_program():
    """One call after the other rounds otherwise than one program: the value of a root is not that of its best move to
    the last bit."""

    def later(params, row, action):
        after, reward, discount = take(params, row, action)
        return after, reward, 0.97 * discount

    def worth(coins):
        return max(coins[0] - 0.97 * worth(coins[1:]), coins[-1] - 0.97 * worth(coins[:-1])) if coins else 0

    games, search, model = 256, Puct(simulations=300, c_init=6.0), Model.from_functions(later, even, 2)
    coins = np.random.default_rng(5).random((games, 4), np.float32)
    zero = jnp.zeros(games, jnp.int32)
    position = model.positions(Row(jnp.array(coins), zero, zero + 3, jax.random.split(KEY, games)))
    state = jax.jit(lambda at: search.extend(model, (), KEY, search.begin(model, (), KEY, at), 300))(position)
    result = search.result(KEY, state)
    assert result.solved.all()
    sides = np.array([[c[0] - 0.97 * worth(c[1:]), c[-1] - 0.97 * worth(c[:-1])] for c in coins.tolist()])
    np.testing.assert_array_equal(result.action, sides.argmax(axis=-1))


@pytest.mark.slow  # compiles for seconds
def test_games_go_on_by_the_functions_and_trees_are_kept():
    search = Puct(simulations=40, solver=False)
    position, play = rows(), jax.jit(MODEL.play)
    begin, extend, follow = (
        jax.jit(functools.partial(verb, MODEL, (), KEY)) for verb in (search.begin, search.extend, search.follow)
    )
    state = extend(begin(position), 40)
    action = search.result(KEY, state).action
    kept = np.asarray(state.tree.visits)[np.arange(4), np.asarray(state.tree.child)[np.arange(4), 0, action]]
    after, moved = play(position, action)
    np.testing.assert_allclose(10 * moved.reward, np.where(action == 0, COINS[:, 0], COINS[:, -1]), rtol=1e-6)
    assert (moved.discount == -1).all()
    state = follow(state, action, after)
    np.testing.assert_array_equal(state.tree.visits[:, 0], kept)
    # the values of the kept nodes are still those of what lies below them: one row has one mean, by hand
    again = extend(state, 3)
    np.testing.assert_array_equal(again.tree.visits[:, 0], kept + 3)
    result = search.result(KEY, again)
    means = (result.visits * result.q).sum(axis=-1) / again.tree.visits[:, 0]  # the root's own first value is 0
    np.testing.assert_allclose(result.value, means, atol=1e-5)
    for _ in range(5):
        after, moved = play(after, jnp.zeros(4, jnp.int32))
    assert MODEL.over(after).all()
    assert (moved.discount == 0).all()
    assert not play(after, jnp.zeros(4, jnp.int32))[1].reward.any(), "what is over pays no more"


@pytest.mark.slow  # compiles for seconds
def test_a_kept_tree_goes_on_from_what_came_and_not_from_what_was_foreseen():
    """A learned step is a guess: new moves of the root began at the guess, whatever had come of the move."""

    def guess(params, state, action):
        return state + 1, 0.0, -1.0

    def judge_none(params, key, states):
        return jnp.zeros((*states.shape, 3)), jnp.zeros(states.shape)

    model, search = Model.from_functions(guess, judge_none, 3), Puct(simulations=4, nodes=16)

    @jax.jit
    def run(seen, came):
        state = search.extend(model, (), KEY, search.begin(model, (), KEY, model.positions(seen)), 4)
        kept = search.follow(model, (), KEY, state, jnp.zeros(1, jnp.int32), model.positions(came))
        return kept.tree, search.extend(model, (), KEY, kept, 6).tree

    kept, tree = jax.device_get(run(jnp.array([0]), jnp.array([100])))
    assert kept.used[0] == 2, "the move and one behind it"
    children = tree.child[0, 0][tree.child[0, 0] >= kept.used[0]]
    assert len(children) == 2
    assert tree.states.state[0, 0] == 100
    assert (tree.states.state[0, children] == 101).all()


@pytest.mark.slow  # compiles for seconds
def test_a_known_best_value_closes_nodes_at_once():
    def race(params, place, action):
        """One to three steps; who reaches the fourth step wins."""
        after = place + action + 1
        return after, jnp.where(after >= 4, 1.0, 0.0), jnp.where(after >= 4, 0.0, -1.0)

    def evaluate(params, key, places):
        return jnp.zeros((places.shape[0], 3)), jnp.zeros(places.shape[0])

    solved = []
    for best in (None, 1.0):
        model = Model.from_functions(race, evaluate, 3, best=best)
        search = Puct(simulations=9)
        result = jax.jit(lambda p, m=model, s=search: s.run(m, (), KEY, p))(model.positions(jnp.array([2, 0])))
        solved.append(result.solved.tolist())
        assert result.action[0] in (1, 2)
    assert solved == [[False, False], [True, True]]


def wander(params, state, action):
    after = (state ^ (action.astype(jnp.uint32) + 1) * jnp.uint32(0x9E3779B9)) * jnp.uint32(747796405)
    after = after ^ (after >> 16)
    numbers = numbers_of(after[None], 2)[0]
    return after, numbers[0] * 2 - 1, jnp.where(numbers[1] < 0.5, 0.97, -0.9)


def judge(params, key, states):
    numbers = numbers_of(states, 8)
    return numbers[:, 3:] * 3, numbers[:, 2] * 2 - 1


@pytest.mark.slow  # compiles for seconds
@pytest.mark.parametrize("search", [Gumbel(simulations=8), Puct(simulations=8), Uct(simulations=8)])
def test_a_learned_model_takes_other_parameters_without_another_trace(search):
    traced = []

    def step(params, state, action):
        traced.append("step")
        return state + 1, params["pay"][action], 0.5

    def evaluate(params, key, states):
        return jnp.zeros((*states.shape, 3)), params["worth"] + jnp.zeros(states.shape)

    model = Model.from_functions(step, evaluate, 3)
    run = jax.jit(lambda params, position: search.run(model, params, KEY, position))
    counts = []
    for best in range(3):
        params = {"pay": jnp.eye(3)[best], "worth": jnp.float32(best)}
        found = run(params, model.positions(jnp.zeros(2, jnp.int32)))
        assert found.action.tolist() == [best, best]
        np.testing.assert_allclose(
            model.play(model.positions(jnp.zeros(2)), found.action, params)[1].reward, [1.0, 1.0]
        )
        counts.append(traced.count("step"))
        traced.clear()
    assert counts[0] > counts[1] == counts[2] == 0, "nor does play ask again, which no program surrounds"


@pytest.mark.slow  # compiles for seconds
def test_puct_has_the_numbers_of_the_drop_in():
    """The same model by two functions, and as mctx has it."""
    states = jax.random.bits(KEY, (32,), jnp.uint32)
    model, search = Model.from_functions(wander, judge, 5), Puct(simulations=60, solver=False)
    ours = jax.jit(lambda position: search.run(model, (), KEY, position))(model.positions(states))

    def recurrent_fn(params, key, action, states):
        after, reward, discount = jax.vmap(functools.partial(wander, params))(states, action)
        logits, value = judge((), key, after)
        return dropin.RecurrentFnOutput(reward, discount, logits, value), after

    root = dropin.RootFnOutput(*judge((), KEY, states), states)
    policy = functools.partial(dropin.muzero_policy, dirichlet_fraction=0.0)
    theirs = jax.jit(lambda root: policy((), KEY, root, recurrent_fn, 60).search_tree.summary())(root)
    np.testing.assert_array_equal(ours.visits, theirs.visit_counts)
    np.testing.assert_allclose(ours.q, theirs.qvalues, atol=1e-5)
    np.testing.assert_allclose(ours.value, theirs.value, atol=1e-5)


@pytest.mark.slow  # compiles for seconds
def test_the_most_visited_move_is_played_however_large_values_are():
    def lottery(params, state, action):
        return state + 1, jnp.where(action == 1, 900.0, 0.0) * jnp.where(state == 0, 1.0, 0.0), 1.0

    def evaluate(params, key, states):
        return jnp.broadcast_to(jnp.array([9.0, 0.0]), (1, 2)), jnp.zeros(1)

    model = Model.from_functions(lottery, evaluate, 2)
    search = Puct(simulations=4, fpu="even", c_init=1e6)
    result = jax.jit(lambda place: search.run(model, (), KEY, model.positions(place)))(np.zeros(1, np.int32))
    assert result.action[0] == np.asarray(result.visits)[0].argmax() == 0


@pytest.mark.slow  # compiles for seconds
def test_a_known_debt_is_no_loss():
    """The best move pays -3 and is proven, the other one costs more; that was the first, and what all was worth."""

    def borrow(params, state, action):
        return state + 1, jnp.where(action == 0, -3.0, -5.0), jnp.where(action == 0, 0.0, 1.0)

    def judge_none(params, key, states):
        return jnp.zeros((*states.shape, 2)), jnp.zeros(states.shape)

    model = Model.from_functions(borrow, judge_none, 2)
    run = jax.jit(lambda position: Puct(simulations=12).run(model, (), KEY, position))
    found = jax.device_get(run(model.positions(jnp.zeros(1, jnp.int32))))
    assert found.proven.tolist() == [[True, False]]
    assert not found.lost.any()
    assert (found.action.tolist(), found.first.tolist(), found.worth.tolist()) == ([0], [0], [-3.0])


@pytest.mark.slow  # compiles for seconds
def test_illegal_actions_are_left_alone_and_the_clock_works():
    def legal(state):
        return jnp.arange(5) != state % 5

    model = Model.from_functions(wander, judge, 5, legal=legal)
    states = jnp.arange(10, dtype=jnp.uint32)
    thinker = Thinker(Gumbel(simulations=16), model, (), KEY)
    thinker.begin(model.positions(states))
    found = thinker.think(Limit(simulations=16)).result
    visits = np.asarray(found.visits)
    assert (visits[np.arange(10), np.arange(10) % 5] == 0).all()
    assert (visits.sum(axis=-1) == 16).all()


def test_a_learned_step_has_its_parameters_before_a_delay_is_over():
    """Until then nobody is asked what a position is worth, and it had none."""
    model = Model.from_functions(lambda params, state, action: (state, params["pay"], 0.5), judge, 5)
    position, search = model.positions(jnp.zeros(3, jnp.uint32)), Uct(simulations=4, delay=2)
    found = jax.eval_shape(lambda pay: search.run(model, {"pay": pay}, KEY, position), jnp.float32(1))
    assert found.action.shape == (3,)


def test_nonsense_is_refused():
    states = jnp.zeros(3, jnp.uint32)

    def run(step=wander, evaluate=judge, search=Puct(simulations=2), **options):  # noqa: B008
        model = Model.from_functions(step, evaluate, 5, **options)
        jax.eval_shape(lambda: search.run(model, (), KEY, model.positions(states)))  # nothing is computed

    for words, change in [
        ("step must give three things", {"step": lambda p, s, a: (s, 0.0)}),
        ("step gave a state of .* where it took one of uint32", {"step": lambda p, s, a: (jnp.zeros(2), 0.0, 1.0)}),
        ("both are plain numbers", {"step": lambda p, s, a: (s, jnp.zeros(2), 1.0)}),
        ("evaluate must give two things", {"evaluate": lambda p, k, s: jnp.zeros(3)}),
        ("two arrays of real numbers, .*, not NoneType and str", {"evaluate": lambda p, k, s: (None, "b")}),
        (
            "real numbers, .*, not complex64 numbers and float32",
            {"evaluate": lambda *x: (judge(*x)[0] * 1j, judge(*x)[1])},
        ),
        (
            "a reward and a discount that are real numbers, not NoneType and float",
            {"step": lambda p, s, a: (s, None, 1.0)},
        ),
        ("real numbers, not complex64 numbers and float", {"step": lambda p, s, a: (s, a * 1j, 1.0)}),
        ("evaluate gave logits of shape", {"evaluate": lambda p, k, s: (jnp.zeros((3, 4)), jnp.zeros(3))}),
        ("legal gave the shape", {"legal": lambda s: jnp.ones(4, bool)}),
        ("no move weights: search it by gumbel", {"search": Flat(simulations=2)}),
        ("no move weights", {"search": Flat(simulations=2), "step": lambda p, s, a: (s, p["pay"], 1.0)}),
        ("no keys of positions", {"search": AlphaBeta()}),
    ]:
        with pytest.raises(UsageError, match=words):
            run(**change)
    with pytest.raises(UsageError, match=r"is called as step\(params, state, action\), not step\(s, a\)$"):
        run(step=lambda s, a: (s, 0.0, 1.0))
    with pytest.raises(UsageError, match=r"is called as legal\(state\), not legal\(params, state\)$"):
        run(legal=lambda params, state: None)
    for wrong in (jnp.int32(0), {"a": jnp.zeros(2), "b": jnp.zeros(3)}, ()):
        with pytest.raises(UsageError, match="positions takes a batch of states"):
            MODEL.positions(wrong)
    with pytest.raises(UsageError, match="no start of its own"):
        MODEL.start(KEY, 2)
    with pytest.raises(UsageError, match="at least 1 action"):
        Model.from_functions(take, even, 0)


def test_what_is_no_environment_is_refused():
    for actions in ("2", None, 2.0, True):
        with pytest.raises(UsageError, match=f"at least 1 action, and {actions!r} is no such whole number"):
            untyped(Functions, of_step=take, actions=actions, of_legal=None)
    for part in ({"of_step": None}, {"of_legal": 3}):
        with pytest.raises(UsageError, match="of an environment is no function; it takes a state"):
            untyped(Functions, **{"of_step": take, "actions": 2, "of_legal": None, **part})
    with pytest.raises(UsageError, match="evaluate=None of an environment is no function; it judges states"):
        untyped(Asked, evaluate=None)


def test_functions_that_programs_cannot_be_kept_by_are_refused():
    class Unhashed:
        __hash__ = None

        def __call__(self, *given: Any) -> Any: ...

    for name, model in (
        ("step", lambda: Model.from_functions(Unhashed(), even, 2)),
        ("legal", lambda: Model.from_functions(take, even, 2, legal=Unhashed())),
        ("evaluate", lambda: Model.from_functions(take, Unhashed(), 2)),
    ):
        with pytest.raises(UsageError, match=f"{name} of an environment, a Unhashed, cannot be hashed"):
            model()
