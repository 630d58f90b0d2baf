"""UCT: its formula, every move once first, and the rule of five that it finds in the mine race."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from judges import Hashed, edges, searched, stacked

from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.evaluators.rollout import Rollout
from jaxgo.games import GAMES, make
from jaxgo.search.model import ILLEGAL, Model
from jaxgo.search.uct import Uct

SALT = jnp.uint32(7)


def preferred(search, some):
    """The move below one node, by one program."""
    return int(jax.jit(search.prefer)(some, SALT)[0])


def test_the_bonus_is_that_of_ucb1():
    """By hand, with ln 25 = 3.22: 0.4 + 1.4 * sqrt(3.22 / 16) = 1.028 against 0.1 + 1.4 * sqrt(3.22 / 8) = 0.988."""
    some = edges([16, 8], [0.4, 0.1], 25)
    assert preferred(Uct(c=1.4), some) == 0
    assert preferred(Uct(c=3.0), some) == 1
    # with a decimal logarithm the bonus shrinks by sqrt(ln 10) = 1.52, so a larger c still keeps the first move
    assert preferred(Uct(c=2.0, log="natural"), some) == 1
    assert preferred(Uct(c=2.0, log="decimal"), some) == 0


def test_moves_without_visits_come_first_and_illegal_ones_never():
    some = edges([3, 0, 0], [1.0, 0.0, 0.0], 4, logits=[0.0, ILLEGAL, -30.0])
    assert preferred(Uct(), some) == 2


def test_first_visits_come_in_another_order_with_another_salt():
    some = edges([0] * 8, [0.0] * 8, 1)
    choose = jax.jit(jax.vmap(lambda salt: Uct().prefer(some, salt)[0]))
    firsts = set(np.asarray(choose(np.arange(60, dtype=np.uint32))).tolist())
    assert firsts == set(range(8))


@pytest.mark.slow
def test_every_root_move_is_tried_before_any_is_tried_again():
    model = Model(GAMES["connect4"], Hashed())
    position = play.begin(model.game)
    result, _ = searched(Uct(simulations=7, solver=False), model, stacked([position.state], model.game))
    assert (result.visits == 1).all()


@pytest.mark.slow
def test_the_formula_of_the_notebook():
    """By hand, with ln 9 = 2.197: 0.5 * 6 / 7 + 1.4 sqrt(2.197 / 7) = 1.213 against 0.9 * 1 / 2 + 1.467 = 1.917, and
    2.075 of a move without visits, which is not forced; of equals any is taken."""
    some = edges([6, 1], [0.5, 0.9], 9)
    assert preferred(Uct(c=1.4, smooth=True), some) == 1
    later = edges([6, 1, 0], [0.5, 0.9, 0.0], 9)
    assert preferred(Uct(c=1.4, smooth=True), later) == 2
    assert preferred(Uct(c=0.5, smooth=True), later) == 1  # 0.69, 0.974 and 0.741
    even = edges([4] * 5, [0.1] * 5, 21)
    choose = jax.jit(jax.vmap(lambda salt: Uct(smooth=True).prefer(even, salt)[0]))
    firsts = np.bincount(np.asarray(choose(jnp.arange(100, dtype=jnp.uint32))), minlength=5)
    assert ((firsts - 20.0) ** 2 / 20.0).sum() < 4 + 5 * 8**0.5


def test_a_mixed_choice_weighs_results_and_belief():
    """By hand: 0.7 (q + 1) / 2 + 0.3 p / p_max is 0.49 + 0.03, 0.28 + 0.30 and 0.00 + 0.30; visits say otherwise."""
    some = edges([9, 3, 0], [0.4, -0.2, 0.9], 13, logits=np.log([0.1, 1.0, 1.0]))
    score = Uct(final="mix").rank(some, some.visits.astype(jnp.float32), some.logits)
    np.testing.assert_allclose(score, [[0.52, 0.58, 0.30]], atol=1e-6)
    most = Uct().rank(some, some.visits.astype(jnp.float32), some.logits)
    assert int(most.argmax()) == 0
    with pytest.raises(UsageError, match="weight from 0 to 1"):
        Uct(final="mix", weight=1.5)


def race(board: str, lanes: int):
    game = make("minerace", board=board)
    position = play.begin(game)
    return Model(game, Rollout(weighted=False)), stacked([position.state] * lanes, game)


@pytest.mark.slow
def test_the_rule_of_five_is_found():
    """10,000 simulations choose the move of four cells, whose value the notebook prints as .85 to .95."""
    model, root = race("....-....-....-IIII", 4)
    result, _ = searched(Uct(simulations=10_000, solver=False), model, root)
    assert (result.action == 3).all()
    assert ((result.q[:, 3] > 0.75) & (result.q[:, 3] < 1.0)).all()
    assert (result.q[:, :3] < 0.2).all()


@pytest.mark.slow  # compiles for seconds
def test_a_lost_race_looks_lost_whatever_one_does():
    model, root = race(".....-....-....-IIII", 4)
    result, _ = searched(Uct(simulations=10_000, solver=False), model, root)
    assert (result.q < -0.3).all()
    assert (np.ptp(result.q, axis=1) < 0.25).all()
    solved, _ = searched(Uct(simulations=10_000), model, root)
    assert solved.solved.all()
    assert (solved.value == -1).all()


@pytest.mark.slow
def test_until_the_delay_every_expansion_counts_as_even():
    """The rest ends on mines, which are won and lost; all simulations are counted."""
    model, root = race("..-...I-.II.-....-III....-....-IIII", 2)
    _, state = searched(Uct(simulations=300, delay=300, smooth=True, solver=False), model, root)
    live = [int((~state.tree.proven[lane, : state.tree.used[lane]]).sum()) - 1 for lane in range(2)]  # but the root
    assert state.outcomes[:, 1].tolist() == live
    assert state.outcomes.sum(axis=1).tolist() == [300, 300]
    assert (state.outcomes[:, [0, 2]] > 0).all()


LONG_RACE = "..-...I-.II.-....-III....-....-IIII"


@pytest.mark.slow
def test_the_long_race_is_won_by_one_move_only():
    model, root = race(LONG_RACE, 4)
    result, _ = searched(Uct(simulations=40_000, solver=False), model, root, brisk=True)
    assert (result.action == 1).all()


@functools.cache
def proven_races(lookahead: bool):
    """50 runs of 4,000 simulations, with the c of the notebook's last cells; proofs hold for all equal positions."""
    game = make("minerace", board=LONG_RACE, lookahead=lookahead)
    root = stacked([play.begin(game).state] * 50, game)
    search = Uct(simulations=4_000, c=0.5, shared_proofs=True)
    return searched(search, Model(game, Rollout(weighted=lookahead)), root, brisk=True)[0]


@pytest.mark.slow
def test_proofs_find_the_long_race():
    """At least 95 % play the only winning move: all ways to a cell at one ply are worth the same."""
    result = proven_races(lookahead=False)
    assert (result.action == 1).mean() >= 0.95
    assert (result.value[result.solved] == 1).all()
    assert result.solved.mean() >= 0.95


@pytest.mark.slow
def test_looking_ahead_proves_the_long_race_no_later():
    uniform, ahead = proven_races(lookahead=False), proven_races(lookahead=True)
    assert (ahead.action == 1).mean() >= (uniform.action == 1).mean()
    assert ahead.visits.sum(axis=1).mean() <= uniform.visits.sum(axis=1).mean()
