"""Remembered judgements: found where they belong, and of no influence but on the time that is spent."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import quick
from judges import Hashed, alike

from jaxgo.evaluators import cache as memories
from jaxgo.evaluators.base import Evaluation
from jaxgo.evaluators.cache import Cached
from jaxgo.games import make
from jaxgo.search import Gumbel, Model, Puct, Search, reuse
from jaxgo.selfplay import Selfplay, SelfplayConfig

LANES = 6
ASKED: list[int] = []
# with the emitters that users have: the suite's own round the sums of two programs in different ways
compiled = functools.partial(jax.jit, compiler_options=quick.USUAL)
PUCT, GUMBEL = Puct(simulations=12, noise=0.25), Gumbel(simulations=12, max_considered=2)


@dataclasses.dataclass(frozen=True)
class Asked(Hashed):
    """Counts how many positions it is asked about, and has no number for others."""

    last: bool = True

    def worth_caching(self, params: Any) -> bool:
        return self.last

    def __call__(self, game: Any, params: Any, key: Any, states: Any) -> Evaluation:
        return self.evaluate_wanted(game, params, key, states, jnp.ones(states.ply.shape, bool))

    def evaluate_wanted(self, game: Any, params: Any, key: Any, states: Any, wanted: Any) -> Evaluation:
        jax.debug.callback(lambda count: ASKED.append(int(count)), wanted.sum())
        logits, value = super().__call__(game, params, key, states)
        return Evaluation(jnp.where(wanted[:, None], logits, jnp.nan), jnp.where(wanted, value, jnp.nan))


@pytest.fixture(scope="module")
def searched() -> Any:
    """Trees of Connect Four, what is remembered of them, and their nodes as a batch."""
    model = Model(make("connect4"), Hashed())

    def search() -> Any:
        root = model.start(jax.random.key(0), LANES)
        begun = Gumbel(simulations=12, max_considered=4).begin(model, (), jax.random.key(1), root)
        tree = Gumbel(simulations=12, max_considered=4).extend(model, (), jax.random.key(2), begun, 12).tree
        return tree, reuse.judged(model, tree)

    tree, memory = compiled(search)()
    return model, tree, memory, jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), tree.states)


@pytest.mark.slow
def test_every_node_but_the_root_is_found_in_its_own_game(searched):
    model, tree, memory, nodes = searched
    (row, column), found = jax.jit(lambda m, s: memories.recall(model.game, m, s))(memory, nodes)
    used = np.asarray(tree.used)
    expected = np.arange(tree.visits.shape[1])[None] < used[:, None]
    expected[:, 0] = False
    np.testing.assert_array_equal(np.asarray(found).reshape(expected.shape), expected)
    there = jax.tree.map(lambda x: np.asarray(x[row, column])[np.asarray(found)], memory.states)
    jax.tree.map(np.testing.assert_array_equal, there, jax.tree.map(lambda x: np.asarray(x)[np.asarray(found)], nodes))
    # a game does not know what its neighbour has seen: the first moves there, asked for here
    others = jax.tree.map(lambda x: jnp.roll(x, 1, axis=0).reshape(-1, *x.shape[2:]), tree.states)
    strangers = memory._replace(known=memory.known & (np.arange(LANES) == 0)[:, None])
    _, elsewhere = memories.recall(model.game, strangers, others)
    assert not np.asarray(elsewhere).reshape(expected.shape)[1:].any()


@pytest.mark.slow
def test_what_was_said_is_said_again(searched):
    """Live nodes come back with the judgement that the judge itself gives, and the judge is not asked."""
    model, _, memory, nodes = searched
    wanted = np.asarray(memory.known).reshape(-1) & ~np.asarray(jax.vmap(model.game.over)(nodes))
    ASKED.clear()
    key = jax.random.key(3)
    again = compiled(lambda w: Cached(Asked()).evaluate_wanted(model.game, ((), memory), key, nodes, w))(
        jnp.asarray(wanted)
    )
    fresh = compiled(lambda: model.evaluate((), key, nodes, jax.vmap(model.game.legal)(nodes)))()
    alike(*([np.asarray(part)[wanted] for part in said] for said in (again, fresh)))
    place, _ = jax.jit(lambda m, s: memories.recall(model.game, m, s))(memory, nodes)
    kept = jax.tree.map(lambda x: x[place], memory.said)  # of which not a bit changes
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(np.asarray(a)[wanted], np.asarray(b)[wanted]), again, kept)
    jax.effects_barrier()
    assert ASKED == [0]
    assert wanted.sum() > LANES


@pytest.mark.slow
def test_positions_of_one_hash_are_not_taken_for_each_other(searched, monkeypatch):
    model, _, memory, nodes = searched
    monkeypatch.setattr(type(model.game), "hash", lambda self, state: jnp.zeros(2, jnp.uint32))
    (row, column), found = memories.recall(model.game, memory._replace(hash=memory.hash * 0), nodes)
    same = [
        (np.asarray(old[row, column]) == np.asarray(new)).reshape(len(found), -1).all(axis=1)
        for old, new in zip(jax.tree.leaves(memory.states), jax.tree.leaves(nodes), strict=True)
    ]
    assert np.all(same, axis=0)[np.asarray(found)].all()
    assert 0 < found.sum() < memory.known.sum()


@pytest.mark.slow
@pytest.mark.parametrize("search", [PUCT, GUMBEL], ids=["puct", "gumbel"])
def test_selfplay_is_the_same_with_a_memory_and_asks_less(search: Search):
    plies, asked = [], []
    for last in (False, True):
        player = Selfplay(search, Model(make("tictactoe"), Asked(last=last)), SelfplayConfig(games=LANES, steps=12))
        ASKED.clear()
        state = player.begin(jax.random.key(4), LANES)
        plies.append(
            compiled(lambda state, key, player=player: player.collect((), state, key)[1:])(state, jax.random.key(5))
        )
        jax.effects_barrier()
        asked.append(sum(ASKED))

    alike(*plies)  # what is near 0 is a difference of numbers around 2, whose last bit is 2.4e-7
    assert asked[1] < 0.9 * asked[0], "little came back"
    assert (plies[0][0].discount == 0).any(), "no game ended, so no memory met a new game"
