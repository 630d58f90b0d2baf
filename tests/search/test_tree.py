"""The tree: resumed is one-shot, kept subtrees keep their numbers, lanes do not hear each other, broken judges show."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judges import Broken, Hashed, is_bad, paths, picked, positions, searched, verbs
from support import mostly_slow

from jaxgo.games import GAMES
from jaxgo.search import edges, reuse
from jaxgo.search import tree as trees
from jaxgo.search.backup import backup
from jaxgo.search.gumbel import Gumbel
from jaxgo.search.model import ILLEGAL, Model
from jaxgo.search.puct import Puct
from jaxgo.search.tree import NOWHERE, ROOT, Descent, Spot, games_of
from jaxgo.search.uct import Uct

GAME = GAMES["connect4"]
MODEL = Model(GAME, Hashed())
SEARCHES = {
    "puct": Puct(simulations=32, nodes=129),
    "uct": Uct(simulations=32, nodes=129),
    "gumbel": Gumbel(simulations=32, gumbel_scale=0.0, nodes=129),
}
KEY = jax.random.key(0)
play, over_of = jax.jit(MODEL.play), jax.jit(MODEL.over)


def begin(search, root):
    lanes = root.state.ply.shape[0]
    nothing = jnp.full(lanes, -1, jnp.int32)
    shape = jax.eval_shape(lambda: search.begin(MODEL, (), KEY, root))
    blank = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), shape)
    return verbs(search, MODEL).follow(KEY, blank, nothing, root)


def extend(search, root, q, budget):
    lanes = root.state.ply.shape[0]
    return verbs(search, MODEL).extend(KEY, q, jnp.broadcast_to(jnp.asarray(budget, jnp.int32), (lanes,)))


def check(tree, lane: int) -> None:
    """What holds in every tree: counts add up, means are means, and pointers agree both ways."""
    found = paths(tree, lane)
    assert len(found) == tree.used[lane], "a node in use cannot be reached"
    for path, node in found.items():
        below = {a: found[(*path, a)] for a in range(GAME.num_actions) if (*path, a) in found}
        assert np.isfinite(node.value)
        if path:
            assert tree.action[lane, node.index] == path[-1]
            assert tree.parent[lane, node.index] == found[path[:-1]].index
        if tree.frontier is not None:
            check_frontier(tree, lane, node.index)
        if node.proven:
            assert abs(node.value) in (0.0, 1.0)
            continue
        visits = sum(child.visits for child in below.values())
        assert node.visits == 1 + visits
        if not any(child.proven for child in below.values()):
            mean = (node.raw + sum(child.visits * child.value for child in below.values())) / node.visits
            assert node.value == pytest.approx(mean, abs=1e-4)


def check_frontier(tree, lane: int, node: int) -> None:
    """The likeliest move without a node is known, and each node knows the prior of the move that led to it."""
    logits, child = tree.logits[lane, node], tree.child[lane, node]
    prior = np.asarray(jax.nn.softmax(logits))
    unknown = np.where((child < 0) & (logits > ILLEGAL), prior, -1.0)
    assert tree.frontier.untried[lane, node] == (unknown.argmax() if unknown.max() >= 0 else NOWHERE)
    if unknown.max() >= 0:
        assert tree.frontier.untried_prior[lane, node] == pytest.approx(unknown.max(), rel=1e-5)
    known = child >= 0
    np.testing.assert_allclose(tree.frontier.prior[lane, child[known]], prior[known], rtol=1e-5)


@pytest.mark.parametrize("name", mostly_slow(SEARCHES, ["puct"]))
def test_resumed_is_one_shot(name):
    search, root = SEARCHES[name], positions(GAME, 16, 20)
    once = extend(search, root, begin(search, root), 32)
    parts = begin(search, root)
    for budget in (10, 0, 1, 21):
        parts = extend(search, root, parts, budget)
    for a, b in zip(jax.tree.leaves(once.tree), jax.tree.leaves(parts.tree), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
    np.testing.assert_array_equal(once.tree.visits, parts.tree.visits)


@pytest.mark.parametrize("name", mostly_slow(SEARCHES, ["puct", "uct"]))
def test_following_a_move_keeps_its_subtree_node_by_node(name):
    search, root = SEARCHES[name], positions(GAME, 16, 20)
    q = extend(search, root, begin(search, root), 32)
    result = verbs(search, MODEL).result(KEY, q)
    moved, _ = play(root, result.action)
    after = jax.device_get(verbs(search, MODEL).follow(KEY, q, result.action, moved))
    before = jax.device_get(q)
    for lane, action in enumerate(np.asarray(result.action).tolist()):
        old, new = paths(before.tree, lane), paths(after.tree, lane)
        if bool(after.tree.proven[lane, ROOT]) and len(new) == 1:
            continue  # the game is over there
        kept = {path[1:]: node for path, node in old.items() if path and path[0] == action}
        assert kept.keys() == new.keys()
        for path, node in kept.items():
            assert node[:5] == new[path][:5]


NARROW = {
    "uct": Uct(simulations=16, breadth=2),
    "gumbel": Gumbel(simulations=16, breadth=2),
    "puct": Puct(16, breadth=2),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NARROW)
def test_a_root_that_was_a_node_has_the_candidates_that_it_had(name):
    """All legal moves were candidates there: Uct tried each of them before its formula was asked."""
    search, root = NARROW[name], positions(GAME, 16, 4)
    q = extend(search, root, begin(search, root), 16)
    action = edges.root_edges(q.tree).visits.argmax(axis=-1).astype(jnp.int32)
    after = verbs(search, MODEL).follow(KEY, q, action, play(root, action)[0])
    assert (np.asarray(after.tree.used) > 1).all()
    found = edges.root_edges(after.tree)
    assert (np.asarray(found.legal).sum(axis=-1) > 2).all()
    assert (np.asarray(found.candidate).sum(axis=-1) == 2).all()


def test_a_new_game_or_an_untried_move_begins_afresh():
    search, root = SEARCHES["puct"], positions(GAME, 16, 4)
    q = extend(search, root, begin(search, root), 3)
    tried = np.asarray(q.tree.child[:, ROOT]) >= 0
    untried = np.array([np.flatnonzero(~row & legal)[0] for row, legal in zip(tried, MODEL.legal(root), strict=True)])
    moved, _ = play(root, jnp.asarray(untried, jnp.int32))
    for action in (untried, np.full(16, -1)):
        fresh = verbs(search, MODEL).follow(KEY, q, jnp.asarray(action, jnp.int32), moved)
        assert (np.asarray(fresh.tree.used) == 1).all()
        assert (np.asarray(fresh.tree.visits)[:, ROOT] == 1).all()


@pytest.mark.parametrize("name", mostly_slow(SEARCHES, ["puct"]))
def test_lanes_do_not_hear_their_neighbours(name):
    search, root = SEARCHES[name], positions(GAME, 16, 20)
    order = np.random.default_rng(0).permutation(16)
    plain, shuffled = (
        jax.device_get(verbs(search, MODEL).result(KEY, extend(search, some, begin(search, some), 32)))
        for some in (root, picked(root, order))
    )
    np.testing.assert_array_equal(plain.visits[order], shuffled.visits)
    np.testing.assert_array_equal(plain.action[order], shuffled.action)


@pytest.mark.slow
@settings(max_examples=12)
@given(
    st.sampled_from(sorted(SEARCHES)),
    st.lists(st.tuples(st.sampled_from(["extend", "follow", "grow"]), st.integers(0, 40)), min_size=1, max_size=6),
)
def test_any_sequence_of_verbs_leaves_sound_trees(name, steps):
    search, root = SEARCHES[name], positions(GAME, 16, 8)
    q = begin(search, root)
    for verb, amount in steps:
        if verb == "extend":
            q = extend(search, root, q, amount)
        elif verb == "follow":
            action = verbs(search, MODEL).result(KEY, q).action
            moved, _ = play(root, action)
            over = np.asarray(over_of(moved))
            if over.any():
                break
            q, root = verbs(search, MODEL).follow(KEY, q, action, moved), moved
        else:
            grown = reuse.grow(q.tree, 140)
            np.testing.assert_array_equal(grown.visits[:, :129], q.tree.visits)
            assert (np.asarray(grown.child)[:, 129:] == -1).all()
    tree = jax.device_get(q.tree)
    for lane in range(0, 16, 5):
        check(tree, lane)


@pytest.mark.slow
def test_a_full_tree_stops_and_stays_sound():
    search = Puct(simulations=200, nodes=20)
    result, q = searched(search, MODEL, positions(GAME, 16, 8))
    assert (q.tree.used <= 20).all()
    assert (q.done < 200).all()
    assert (result.action >= 0).all()
    for lane in range(16):
        check(q.tree, lane)


@pytest.mark.slow
@pytest.mark.parametrize("number", ["nan", pytest.param("inf", marks=pytest.mark.slow)])
def test_a_broken_judge_is_reported_for_its_lanes_only(number):
    root = positions(GAME, 64, 20)
    sound, _ = searched(SEARCHES["puct"], MODEL, root)
    model = Model(GAME, Broken("value", number))
    result, q = searched(SEARCHES["puct"], model, root)
    broken = np.zeros(64, bool)
    keys = np.asarray(jax.vmap(jax.vmap(GAME.hash))(q.tree.states))
    for lane in range(64):
        used = q.tree.used[lane]
        over = q.tree.proven[lane, :used] & (q.tree.child[lane, :used] < 0).all(-1)
        broken[lane] = (np.asarray(is_bad(keys[lane, :used])) & ~over).any()
    assert broken.any()
    assert not broken.all()
    np.testing.assert_array_equal(~result.healthy, broken)
    np.testing.assert_array_equal(result.visits[~broken], sound.visits[~broken])
    assert np.isfinite(result.q).all()
    assert np.isfinite(result.value).all()


@pytest.mark.slow
def test_both_ways_to_read_a_tree_tell_the_same(monkeypatch):
    """Over all nodes where they are few, by look-up where they are many."""
    search = SEARCHES["puct"]
    _, q = searched(search, MODEL, positions(GAME, 16, 20))
    tree = jax.device_put(q.tree)
    games = games_of(tree, 16)
    told = {}
    for crowd in (0, 1000):
        monkeypatch.setattr(edges, "CROWD", crowd)

        @jax.jit
        def read(node):
            spot = Spot(tree, games, jnp.minimum(node, tree.used - 1))
            return edges.read_edges(spot), search.choose(spot, jnp.uint32(0))

        told[crowd] = [read(np.int32(node)) for node in (0, 1, 5, 9)]
    for looked_up, dense in zip(told[0], told[1000], strict=True):
        jax.tree.map(np.testing.assert_array_equal, looked_up, dense)


@pytest.mark.slow
def test_all_walks_come_to_the_same(monkeypatch):
    """Processors go on with fewer and fewer lanes, accelerators with all, by a map where trees are small."""
    monkeypatch.setattr(trees, "NARROW", 2)
    monkeypatch.setattr(trees, "STRIDE", 2)
    search = SEARCHES["puct"]
    _, q = searched(search, MODEL, positions(GAME, 16, 20))
    tree, active = jax.tree.map(jnp.asarray, q.tree), np.arange(16) % 5 > 0

    @functools.partial(jax.jit, static_argnums=(0, 1))
    def walk(on_cpu, mapped):
        monkeypatch.setattr(trees, "MAPPED", mapped)
        return trees.descend(
            tree, lambda spot: search.choose(spot, jnp.uint32(0)), jnp.asarray(active), None, 20, on_cpu
        )

    parted, together, by_map = walk(True, 0), walk(False, 0), walk(False, tree.logits.size)
    jax.tree.map(np.testing.assert_array_equal, parted, together)
    jax.tree.map(np.testing.assert_array_equal, parted, by_map)
    lengths = np.asarray(together.length)
    assert (lengths[~active] == 0).all()
    assert len({*lengths[active].tolist()}) > 2, "lanes that arrive at different levels"


def test_nobody_walks_below_the_end_of_a_game():
    _, q = searched(SEARCHES["puct"], MODEL, positions(GAME, 32, 34))
    over = np.asarray(jax.vmap(jax.vmap(GAME.over))(q.tree.states))
    used = np.arange(q.tree.visits.shape[1])[None] < q.tree.used[:, None]
    assert (over & used).any()
    assert (q.tree.child[over & used] == -1).all()


@pytest.mark.parametrize("on_cpu", [True, False])
def test_what_is_proven_stays_exact_however_often_it_is_visited(on_cpu):
    """The mean of many times 0.7 is another number once it is rounded; on a GPU not even 1 is that of many ones."""
    _, q = searched(SEARCHES["puct"], MODEL, positions(GAME, 32, 34))
    tree, worth = jax.tree.map(jnp.asarray, q.tree), jnp.float32(0.7)
    lane, node = (int(n) for n in np.argwhere(q.tree.proven & (q.tree.parent == ROOT))[0])
    path = jnp.full((32, trees.BLOCK), NOWHERE, jnp.int32).at[lane, :2].set(jnp.array([ROOT, node]))
    at = Descent(path[:, 0], path[:, 1], path[:, 1], path, (path[:, 1] >= 0).astype(jnp.int32))

    @jax.jit
    def visited(tree, times):
        return jax.lax.fori_loop(0, times, lambda _, t: backup(t, at, jnp.full(32, worth), on_cpu=on_cpu), tree)

    begun = tree._replace(value=tree.value.at[lane, node].set(worth))
    ended = visited(begun, 200)
    assert ended.value[lane, node] == worth
    assert ended.visits[lane, node] == tree.visits[lane, node] + 200
    assert begun.proven[lane, ROOT] or ended.value[lane, ROOT] != tree.value[lane, ROOT]
    open_ = begun._replace(proven=jnp.zeros_like(begun.proven))
    assert visited(open_, 200).value[lane, node] != worth, "else rounding would keep it anyway"


@pytest.mark.slow
@pytest.mark.skipif(jax.default_backend() != "cpu", reason="an accelerator copies columns quicker than it is asked")
@pytest.mark.parametrize("name", mostly_slow(SEARCHES, ["puct", "uct"]))
def test_a_simulation_copies_no_column_of_its_tree(name):
    """Else its work grows with the room of the tree, and that of a search of n simulations with n squared."""
    room = 4099  # a size that nothing else has
    search = dataclasses.replace(SEARCHES[name], nodes=room)
    state = jax.eval_shape(lambda: search.begin(MODEL, (), KEY, MODEL.start(KEY, 1)))
    extend = jax.jit(lambda state: search.extend(MODEL, (), KEY, state, 32), donate_argnums=0)
    text = extend.lower(state).compile().as_text()
    assert f",{room}]" in text
    assert [line for line in text.splitlines() if " copy(" in line and f",{room}" in line.split(" copy(")[0]] == []
