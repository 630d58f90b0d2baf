"""The drop-in against mctx itself: every number of the tree, on models with rewards and discounts of all kinds."""

import functools
import inspect
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import pytest
from mctx._src import seq_halving
from toy import numbers_of

from jaxgo.core.errors import UsageError
from jaxgo.search import mctx as dropin

GAMES, ACTIONS, SIMULATIONS = 48, 7, 30
EXACT = ("node_visits", "parents", "action_from_parent", "children_index", "children_visits", "root_invalid_actions")
NEAR = ("raw_values", "node_values", "children_prior_logits", "children_rewards", "children_discounts")
NEAR = (*NEAR, "children_values")


class Place(NamedTuple):
    """An embedding of more than one array: words, and a picture that holds the steps so far."""

    word: Any
    more: dict[str, Any]


@functools.partial(jax.jit, static_argnums=(0, 1))
def root_of(library, games=GAMES, seed=0):
    word = jax.random.bits(jax.random.key(seed), (games,), jnp.uint32)
    numbers = numbers_of(word, ACTIONS + 1)
    place = Place(word, {"steps": jnp.zeros((games, 2, 1), jnp.int8)})
    return library.RootFnOutput(prior_logits=numbers[:, 1:] * 3, value=numbers[:, 0] * 2 - 1, embedding=place)


def model_of(library, moody, params, key, action, place):
    """`params` scales rewards; a moody model says something new of a place each time it is asked."""
    word = (place.word ^ (action.astype(jnp.uint32) + 1) * jnp.uint32(0x9E3779B9)) * jnp.uint32(747796405)
    word = word ^ (word >> 16)
    numbers = numbers_of(word, ACTIONS + 3)
    mood = jax.random.uniform(key, numbers.shape) * 0.2 if moody else 0.0 * numbers
    discount = jnp.array([0.0, 0.97, 0.97, 1.0, -1.0, -0.9])[(numbers[:, 2] * 6).astype(jnp.int32)]
    said = library.RecurrentFnOutput(
        reward=(numbers[:, 1] * 2 - 1 + mood[:, 1]) * params,
        discount=discount,
        prior_logits=(numbers + mood)[:, 3:] * 3,
        value=numbers[:, 0] * 2 - 1 + mood[:, 0],
    )
    return said, Place(word, {"steps": place.more["steps"] + jnp.int8(1)})


def squared(tree, node_index):
    """A transform of one's own, which reads whatever a tree has of a node."""
    q = tree.children_rewards[node_index] + tree.children_discounts[node_index] * tree.children_values[node_index]
    there = tree.children_visits[node_index] > 0
    spread = jax.nn.softmax(tree.children_prior_logits[node_index]).max() + 0.1 * jnp.abs(tree.node_values[node_index])
    return jnp.where(there, q * jnp.abs(q) * spread, tree.raw_values[node_index] * 0.1)


def invalid_of(games):
    """One action fewer is valid from each root to the next, down to none."""
    return np.arange(ACTIONS)[None] >= (ACTIONS - np.arange(games) % (ACTIONS + 1))[:, None]


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "gumbel": ("gumbel_muzero_policy", {"masked": True, "max_num_considered_actions": 5}),
    "gumbel, short walks": ("gumbel_muzero_policy", {"moody": True, "max_depth": 2, "gumbel_scale": 0.5}),
    "gumbel, own transform": ("gumbel_muzero_policy", {"qtransform": squared}),
    "puct": ("muzero_policy", {"masked": True, "temperature": 0.7, "pb_c_init": 2.0, "pb_c_base": 50.0}),
    "puct, short walks": (
        "muzero_policy",
        {"moody": True, "max_depth": 3, "dirichlet_fraction": 0.5, "dirichlet_alpha": 0.1, "bounds": (-2.0, 2.0)},
    ),
    "puct, own transform": ("muzero_policy", {"masked": True, "qtransform": squared, "dirichlet_fraction": 0.0}),
}


@functools.cache
def searched(library, case, games=GAMES, simulations=SIMULATIONS):
    policy, options = CASES[case][0], dict(CASES[case][1])
    model = functools.partial(model_of, library, options.pop("moody", False))
    options["invalid_actions"] = invalid_of(games) if options.pop("masked", False) else None
    if bounds := options.pop("bounds", None):
        by_bounds = functools.partial(library.qtransform_by_min_max, min_value=bounds[0], max_value=bounds[1])
        options["qtransform"] = by_bounds

    @jax.jit
    def run(key, root):
        output = getattr(library, policy)(jnp.float32(0.8), key, root, model, simulations, **options)
        tree = output.search_tree
        arrays = {name: getattr(tree, name) for name in (*EXACT, *NEAR, "embeddings")}
        return output.action, output.action_weights, tree.summary(), arrays, output

    return jax.device_get(run(jax.random.key(3), root_of(library, games)))


DEAR = ("puct", "puct, own transform", "gumbel, own transform", "gumbel, short walks", "puct, short walks")


@pytest.mark.parametrize("case", [pytest.param(c, marks=[pytest.mark.slow] * (c in DEAR)) for c in CASES])
def test_every_number_is_that_of_mctx(case):
    ours, theirs = searched(dropin, case), searched(mctx, case)
    for name in EXACT:
        np.testing.assert_array_equal(ours[3][name], theirs[3][name], err_msg=name)
    for name in NEAR:
        np.testing.assert_allclose(ours[3][name], theirs[3][name], atol=2e-5, err_msg=name)
    jax.tree.map(np.testing.assert_array_equal, ours[3]["embeddings"], theirs[3]["embeddings"])
    np.testing.assert_array_equal(ours[0], theirs[0])
    np.testing.assert_allclose(ours[1], theirs[1], atol=1e-4)
    for name in ("visit_counts", "visit_probs", "value", "qvalues"):
        np.testing.assert_allclose(getattr(ours[2], name), getattr(theirs[2], name), atol=2e-5, err_msg=name)
    assert ours[3]["embeddings"].more["steps"].max() >= 2, "no walk went below the first moves"


@pytest.mark.slow
def test_short_walks_come_back_to_their_leaves():
    arrays = searched(dropin, "gumbel, short walks")[3]
    unused = arrays["parents"][:, 1:] == dropin.Tree.NO_PARENT
    assert unused.any(), "no simulation ended in a leaf that was there"
    assert arrays["embeddings"].more["steps"].max() == 2


@pytest.mark.slow
def test_a_batch_of_one_is_a_batch():
    ours, theirs = (searched(library, "gumbel", 1, 9) for library in (dropin, mctx))
    np.testing.assert_array_equal(ours[3]["children_visits"], theirs[3]["children_visits"])
    np.testing.assert_array_equal(ours[0], theirs[0])


def test_a_tree_has_the_names_of_mctx():
    ours, theirs = (searched(library, "gumbel")[4].search_tree for library in (dropin, mctx))
    for name in ("ROOT_INDEX", "NO_PARENT", "UNVISITED", "num_actions", "num_simulations"):
        assert getattr(ours, name) == getattr(theirs, name)
    np.testing.assert_allclose(ours.extra_data.root_gumbel, theirs.extra_data.root_gumbel)
    node = jnp.arange(GAMES) % 3
    np.testing.assert_allclose(ours.qvalues(node), theirs.qvalues(node), atol=2e-5)
    one = jax.tree.map(lambda x: x[5], ours), jax.tree.map(lambda x: x[5], theirs)
    np.testing.assert_allclose(one[0].qvalues(2), one[1].qvalues(2), atol=2e-5)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("qtransform_by_parent_and_siblings", {"epsilon": 1e-3}),
        ("qtransform_by_min_max", {"min_value": -1.5, "max_value": 2.0}),
        ("qtransform_completed_by_mix_value", {"value_scale": 0.3, "maxvisit_init": 7.0}),
        ("qtransform_completed_by_mix_value", {"rescale_values": False}),
        ("qtransform_completed_by_mix_value", {"use_mixed_value": False}),
    ],
)
def test_transforms_read_the_trees_of_both(name, options):
    """Each library's transforms on the trees of each."""
    results = []
    for transforms in (dropin, mctx):
        for trees in (dropin, mctx):
            transform = jax.vmap(functools.partial(getattr(transforms, name), **options), in_axes=(0, None))
            results.append(transform(searched(trees, "gumbel")[4].search_tree, 1))
    for other in results[1:]:
        np.testing.assert_allclose(other, results[0], atol=1e-4)


@pytest.mark.parametrize("value", [-3.0, 0.4, 3.0])
@pytest.mark.parametrize("visits", [(1, 2, 3), (0, 2, 1), (0, 0, 0)])
def test_a_node_counts_among_its_children(visits, value):
    """Where all of them have been visited, too: its own value may lie outside theirs."""

    class Node:
        children_visits, node_values = jnp.array([visits]), jnp.array([value])

        def qvalues(self, index):
            return jnp.where(self.children_visits[index] > 0, jnp.array([0.1, 0.5, 0.9]), 0.0)

    ours, theirs = (library.qtransform_by_parent_and_siblings(Node(), jnp.int32(0)) for library in (dropin, mctx))
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize("policy", ["gumbel_muzero_policy", "muzero_policy"])
def test_signatures_are_those_of_mctx(policy):
    ours, theirs = (inspect.signature(getattr(library, policy)).parameters for library in (dropin, mctx))
    assert list(ours) == list(theirs)
    for name, parameter in theirs.items():
        default = getattr(parameter.default, "__name__", parameter.default)
        assert getattr(ours[name].default, "__name__", ours[name].default) == default, name
        assert ours[name].kind == parameter.kind, name


def test_names_are_those_of_mctx_or_say_why_not():
    for name in mctx.__all__:
        if not hasattr(dropin, name):
            with pytest.raises(AttributeError, match=f"has no {name}.*import this one from mctx"):
                getattr(dropin, name)
    assert {"RootFnOutput", "RecurrentFnOutput", "PolicyOutput", "Tree", "GumbelMuZeroExtraData"} <= {*dropin.__all__}


@pytest.mark.slow  # compiles for seconds
@pytest.mark.usefixtures("two_devices")
def test_more_axes_by_vmap_and_by_devices_and_outputs_that_can_be_replaced():
    model = functools.partial(model_of, dropin, False)

    def run(key, root):
        output = dropin.gumbel_muzero_policy(1.0, key, root, model, 6, max_num_considered_actions=3)
        return output.search_tree.summary().visit_counts

    keys = jax.random.split(jax.random.key(0), 2)
    roots = [root_of(dropin, 3, seed).replace(value=jnp.full(3, 0.1 * seed)) for seed in (1, 2)]
    stacked = keys, jax.tree.map(lambda *x: jnp.stack(x), *roots)
    both, single = jax.jit(jax.vmap(run)), jax.jit(run)
    mesh, each = jax.make_mesh((2,), ("data",), (jax.sharding.AxisType.Auto,)), jax.P("data")
    spread = jax.jit(jax.shard_map(jax.vmap(run), mesh=mesh, in_specs=each, out_specs=each, check_vma=False))
    for lane, (by_vmap, by_devices) in enumerate(zip(both(*stacked), spread(*stacked), strict=True)):
        counts = single(keys[lane], roots[lane])
        np.testing.assert_array_equal(by_vmap, counts)
        np.testing.assert_array_equal(by_devices, counts)


def test_the_loop_may_be_ones_own():
    calls = []

    def loop(low, high, body, carry):
        calls.append((low, high))
        return jax.lax.fori_loop(low, high, body, carry)

    model = functools.partial(model_of, dropin, False)
    jax.eval_shape(
        lambda k: dropin.muzero_policy(1.0, k, root_of(dropin, 2), model, 4, loop_fn=loop), jax.random.key(0)
    )
    assert calls == [(0, 4)]


def test_the_schedule_is_that_of_mctx():
    for simulations in range(1, 129):
        theirs = seq_halving.get_table_of_considered_visits(16, simulations)
        np.testing.assert_array_equal(dropin.considered_visits(16, simulations), theirs)


def test_nonsense_is_refused():
    key, root = jax.random.key(0), root_of(dropin, 3)
    good = functools.partial(model_of, dropin, False)

    def bad(field, value):
        def model(*arguments):
            said, place = good(*arguments)
            return (said, value(place)) if field == "embedding" else (said.replace(**{field: value(said)}), place)

        return model

    def halved(place):
        """mctx cuts these to the kind of the root, with a warning."""
        return jax.tree.map(lambda x: x / 2, place)

    cases = [
        ("num_simulations is 0", {"num_simulations": 0}),
        ("max_depth is 0", {"max_depth": 0}),
        ("max_num_considered_actions is 0", {"max_num_considered_actions": 0}),
        ("the root has 0 games", {"root": jax.tree.map(lambda x: x[:0], root)}),
        ("prior_logits of shape", {"root": root.replace(prior_logits=jnp.zeros(3))}),
        ("a value of shape", {"root": root.replace(value=jnp.zeros((3, 1)))}),
        ("root.embedding", {"root": root.replace(embedding=jnp.zeros(2))}),
        ("invalid_actions has the shape", {"invalid_actions": jnp.zeros(ACTIONS)}),
        ("gave reward of shape", {"recurrent_fn": bad("reward", lambda said: said.reward[0])}),
        ("gave prior_logits of shape", {"recurrent_fn": bad("prior_logits", lambda said: said.prior_logits[:, :2])}),
        ("gave an embedding", {"recurrent_fn": bad("embedding", lambda place: place.word)}),
        ("num_simulations=2.5 is not a plain whole number", {"num_simulations": 2.5}),
        ("num_simulations=True is not a plain whole number", {"num_simulations": True}),
        ("rng_key is one key for all games", {"rng_key": jax.random.split(key, 3)}),
        ("the root is a RootFnOutput, and tuple is none", {"root": tuple(root)}),
        ("value of the root must be an array of real numbers, not NoneType", {"root": root.replace(value=None)}),
        ("give at least one of each", {"root": root.replace(prior_logits=jnp.zeros((3, 0)))}),
        ("must give two things: a RecurrentFnOutput", {"recurrent_fn": lambda *x: good(*x)[::-1]}),
        ("must give two things: a RecurrentFnOutput", {"recurrent_fn": lambda *x: None}),
        ("reward of recurrent_fn must be .* not complex64", {"recurrent_fn": bad("reward", lambda s: s.reward + 1j)}),
        ("gave an embedding of float32, where the root has", {"recurrent_fn": bad("embedding", halved)}),
        ("gave values of shape .* for a node", {"qtransform": lambda tree, node: jnp.zeros(1)}),
        ("0 is no key of randomness", {"rng_key": 0}),
    ]
    # types are checked in tests, and not where people use it
    search = inspect.unwrap(dropin.gumbel_muzero_policy)
    for words, change in cases:
        options = {"rng_key": key, "root": root, "recurrent_fn": good, "num_simulations": 4} | change
        with pytest.raises(UsageError, match=words):
            search(1.0, **options)
    options = {"rng_key": key, "root": root, "recurrent_fn": good, "num_simulations": 4}
    with pytest.raises(UsageError, match=r"max_depth=.* is not a plain whole number"):
        jax.eval_shape(lambda depth: search(1.0, **options, max_depth=depth), jnp.int32(2))


@jax.tree_util.register_pytree_node_class
class Own:
    """A node of trees that knows nothing of equality."""

    def __init__(self, x):
        self.x = x

    def tree_flatten(self):
        return (self.x,), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)


def test_a_root_on_an_explicit_axis_is_refused():
    mesh = jax.NamedSharding(jax.make_mesh((1,), ("data",)), jax.P("data"))
    root, model = jax.device_put(root_of(dropin, 2), mesh), functools.partial(model_of, dropin, False)
    for policy in (dropin.gumbel_muzero_policy, dropin.muzero_policy):
        with pytest.raises(UsageError, match="games of the root are spread over devices by a mesh of explicit axes"):
            policy(1.0, jax.random.key(0), root, model, 4)


def test_an_embedding_may_be_of_any_class():
    def model(params, key, action, place):
        zero = jnp.zeros(2)
        return dropin.RecurrentFnOutput(reward=zero, discount=zero, prior_logits=jnp.zeros((2, 3)), value=zero), place

    root = dropin.RootFnOutput(prior_logits=jnp.zeros((2, 3)), value=jnp.zeros(2), embedding=Own(jnp.zeros(2)))
    said = jax.eval_shape(lambda key: dropin.gumbel_muzero_policy((), key, root, model, 3).action, jax.random.key(0))
    assert said.shape == (2,)


@pytest.mark.slow
def test_keys_of_randomness_may_be_part_of_an_embedding():
    """As in environments that draw their chances from a key in the state."""

    def step(library, params, key, action, keys):
        keys = jax.vmap(jax.random.fold_in)(keys, action)
        value = jax.vmap(jax.random.uniform)(keys)
        logits = jnp.zeros((len(value), 3))
        return library.RecurrentFnOutput(
            reward=value, discount=jnp.ones_like(value), prior_logits=logits, value=value
        ), keys

    def visits(library, key):
        keys = jax.random.split(key, 4)
        root = library.RootFnOutput(prior_logits=jnp.zeros((4, 3)), value=jnp.zeros(4), embedding=keys)
        model = functools.partial(step, library)
        return library.gumbel_muzero_policy((), key, root, model, 6).search_tree.summary().visit_counts

    mine, theirs = (jax.jit(functools.partial(visits, library))(jax.random.key(0)) for library in (dropin, mctx))
    np.testing.assert_array_equal(mine, theirs)
