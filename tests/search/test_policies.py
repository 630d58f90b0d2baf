"""Policies: the likeliest moves of a judge, Dirichlet noise at every node, and the chances of a temperature."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from judges import Opinion, positions, searched

from jaxgo.core.errors import UsageError
from jaxgo.core.lanes import alone
from jaxgo.evaluators import Dirichlet, Evaluation, Evaluator, Heuristic, Likely, Uniform
from jaxgo.games import make
from jaxgo.games.minerace import MineRace
from jaxgo.search import Gumbel, Model, Puct, Uct
from jaxgo.search.base import decide

LOGITS = [3.0, 2.0, 1.0, 0.5, 0.0, -1.0, 9.0, -2.0, 0.0]
GAME = make("tictactoe")


class Told(Evaluator):
    """Says the same of every position."""

    def __call__(self, game: Any, params: Any, key: Any, states: Any) -> Evaluation:
        count = states.ply.shape[0]
        return Evaluation(jnp.tile(jnp.array(LOGITS), (count, 1)), jnp.full(count, 0.5))


def test_chances_are_visits_to_the_power_of_the_inverse_temperature():
    weights = jnp.array([[10.0, 10.0, 5.0]] * 4 + [[1e6, 0.0, 1.0]])
    heat = jnp.array([0.001, 1.0, 0.5, 0.0, 0.001])
    key, best = jax.random.key(0), jnp.zeros(5, jnp.int32)
    action, chances = jax.jit(decide)(key, best, weights, heat)
    expected = [[0.5, 0.5, 0], [0.4, 0.4, 0.2], [4 / 9, 4 / 9, 1 / 9], [1, 0, 0], [1, 0, 0]]
    np.testing.assert_allclose(chances, expected, atol=1e-6)
    assert action[3] == action[4] == 0


def test_a_policy_of_the_likeliest_moves():
    """By hand: of the legal moves 0..5, 7, 8 (6 is taken) the three best are 0, 1, 2, at half of their sharpness."""
    position = GAME.place(np.array([0, 0, 0, 0, 0, 0, 1, 0, 0], np.int8), 1)
    states = alone(position)
    policy = Likely(Told(), top=3, bias=0.5, scale=0.2)
    logits, value = jax.jit(lambda states: policy(GAME, (), jax.random.key(0), states))(states)
    shares = np.asarray(jax.nn.softmax(logits[0]))
    powers = np.exp(0.5 * np.array(LOGITS[:3]))
    np.testing.assert_allclose(shares[:3], powers / powers.sum(), rtol=1e-4)
    assert shares[3:].max() < 1e-10
    np.testing.assert_allclose(value, [0.1])
    many = jax.tree.map(lambda x: np.repeat(np.asarray(x), 512, axis=0), states)
    choice = jax.jit(lambda states: policy.choice(GAME, (), jax.random.key(1), states))
    drawn = np.bincount(np.asarray(choice(many)), minlength=9) / 512
    assert np.abs(drawn - shares).max() < 5 * np.sqrt(0.25 / 512)
    with pytest.raises(UsageError, match="top of at least 1"):
        Likely(top=0)


@pytest.mark.parametrize("known", [(), (1.0, 2.0)])
@pytest.mark.parametrize("bias", [0.0, 1.0, 3.0])
def test_moves_of_no_weight_may_be_among_the_likeliest(bias: float, known: tuple[float, ...]):
    """With `bias=0`, or where no move has a weight, they were no numbers."""
    policy = Likely(Opinion((*known, *[-math.inf] * (9 - len(known)))), top=3, bias=bias)
    logits = policy(GAME, (), jax.random.key(0), alone(GAME.init(jax.random.key(0)))).logits
    wanted = np.exp(bias * np.array([-1.0, 0.0])) if known and bias else np.ones(9)
    np.testing.assert_allclose(jax.nn.softmax(logits[0])[: len(wanted)], wanted / wanted.sum(), atol=1e-6)


def test_the_likeliest_moves_ask_their_judge_of_no_more_than_is_wanted():
    class Some(Told):
        def evaluate_wanted(self, game: Any, params: Any, key: Any, states: Any, wanted: Any) -> Evaluation:
            logits, value = self(game, params, key, states)
            return Evaluation(logits, jnp.where(wanted, value, 0.0))

    @jax.jit
    def found(wanted: Any) -> Evaluation:
        states = jax.vmap(GAME.init)(jax.random.split(jax.random.key(0), 2))
        return Likely(Some(), scale=0.2).evaluate_wanted(GAME, (), jax.random.key(0), states, wanted)

    np.testing.assert_allclose(found(np.array([True, False])).value, [0.1, 0.0])


def test_noise_leaves_a_policy_on_legal_moves():
    legal = np.tile([True, True, False, True], (4096, 1))
    logits = np.tile(np.log(np.array([0.6, 0.3, 0.0, 0.1], np.float32) + np.float32(1e-30)), (4096, 1))
    noisy = jax.jit(lambda *given: jax.nn.softmax(Dirichlet(0.25, 0.03, 1.0).mixed(*given), axis=-1))
    mixed = np.asarray(noisy(jax.random.key(0), logits, legal))
    np.testing.assert_allclose(mixed.sum(axis=1), 1.0, rtol=1e-5)
    assert (mixed[:, 2] == 0).all()
    prior = np.array([0.6, 0.3, 0.0, 0.1])
    assert (mixed >= 0.75 * prior - 1e-6).all()
    np.testing.assert_allclose(mixed.mean(axis=0), 0.75 * prior + 0.25 * np.array([1, 1, 0, 1]) / 3, atol=0.02)


@pytest.mark.slow
def test_noise_everywhere_is_in_the_prior_of_every_node():
    """With an even judge every expanded node has other priors; without the option only the root has."""
    model = Model(GAME, Heuristic())
    root = jax.jit(lambda key: model.start(key, 4))(jax.random.key(0))
    for everywhere in (False, True):
        search = Puct(24, noise=0.25, alpha=0.3, noise_everywhere=everywhere, solver=False)

        def run(key: Any, search: Puct = search) -> Any:
            return search.extend(model, (), key, search.begin(model, (), key, root), 24)

        state = jax.jit(run)(jax.random.key(3))
        tree = jax.device_get(state.tree)
        live = np.where(tree.logits > -1e30, tree.logits, np.nan)
        spread = np.nanmax(live, axis=-1) - np.nanmin(live, axis=-1)
        inner = (np.arange(25)[None] > 0) & (np.arange(25)[None] < tree.used[:, None])
        assert (spread[:, 0] > 0).all()
        assert ((spread[inner] > 0).mean() > 0.9) == everywhere

    def follow(key: Any, state: Any) -> Any:
        after, _ = model.play(root, jnp.zeros(4, jnp.int32))
        return search.follow(model, (), key, state, jnp.zeros(4, jnp.int32), after).prior

    prior = jax.jit(follow)(jax.random.key(4), state)
    assert (np.where(prior > -1e30, prior, 0.0) == 0.0).all()  # or noise would come on top of noise
    assert search.quiet() == Puct(24, noise=0.0, alpha=0.3, solver=False)


@pytest.mark.slow  # compiles for seconds
@pytest.mark.slow
@pytest.mark.parametrize("search", [Puct(2), Uct(2)], ids=["puct", "uct"])
def test_where_all_visits_went_to_lost_moves_the_likeliest_other_one_is_played(search):
    """It was the first of the others, whatever anybody thinks of them."""
    model = Model(MineRace(".II" + 40 * "." + "I"), Opinion((90.0, 80.0, 0.0, 1.0)))
    found, _ = searched(search, model, positions(model.game, 1, 0))
    assert found.visits[0].tolist() == [1, 1, 0, 0]
    assert found.lost[0].tolist() == [True, True, False, False]
    assert int(found.action[0]) == 3
    assert found.policy[0, :2].sum() == 0
    assert found.policy[0, 3] > found.policy[0, 2] > 0


@pytest.mark.slow
def test_a_position_is_worth_what_its_best_move_is():
    """Gumbel looks at the moves that lose, too: their simulations say nothing of what the position is worth."""
    game = make("connect4")
    model = Model(game, Uniform())
    rows = ["." * 7] * 4 + ["OO.....", "XXX...O"]
    state = game.place(np.array([".XO".index(cell) for row in rows for cell in row], np.int8), 1)
    position = model.positions(alone(state))
    gumbel = Gumbel(simulations=256, solver=False, gumbel_scale=0.0)
    found = jax.jit(lambda position: gumbel.run(model, (), jax.random.key(0), position))(position)
    assert int(found.action[0]) == 3, "the only move that does not lose at once"
    assert found.value[0] < -0.3
    assert abs(float(found.worth[0])) < 0.2
    solved = found._replace(value=jnp.ones(1), solved=jnp.ones(1, bool))
    assert float(solved.worth[0]) == 1.0
    visited = found._replace(policy=found.policy.at[0, 5].set(0.9), q=found.q.at[0, 5].set(-0.9))
    assert float(visited.worth[0]) == float(found.q[0, 3]), "by the move that is played, whatever the policy says"
    found = found._replace(chances=None)
    lost = found._replace(
        policy=found.policy.at[0, 5].set(0.9), proven=found.proven.at[0, 5].set(True), q=found.q.at[0, 5].set(-1.0)
    )
    assert float(lost.worth[0]) == float(found.q[0, 3]), "most visits may go to a move before it is proven lost"
    untried = found._replace(visits=found.visits.at[0, 3].set(0))
    assert float(untried.worth[0]) == float(found.value[0])
    tied = found._replace(policy=found.policy.at[0, 1].set(found.policy[0, 3]), q=found.q.at[0, 1].set(-0.9))
    assert float(tied.worth[0]) == float(found.q[0, 3]), "of moves that are tied that which is played"
    drawn = tied._replace(action=jnp.array([6]))
    assert float(drawn.worth[0]) == float(tied.q[0, 1]), "not that which a temperature drew"
