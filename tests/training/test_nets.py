"""The contract of a network, over all of `NETS`."""

import dataclasses

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgo.core.errors import UsageError
from jaxgo.evaluators import Network
from jaxgo.games import make
from jaxgo.nets import NETS, ResNet, from_json, outside, product, to_json
from jaxgo.nets.base import Head, cast_once, cell_actions, planes_shape, squash
from jaxgo.nets.conv import Conv, fastest
from jaxgo.nets.resnet import highest
from jaxgo.search.model import Model

GAMES = ("go5", "connect4", "kamisado")
HEADS = (Head("short", "values", 3), Head("reply", "policy"), Head("area", "cells"), Head("lead", "number"))


def shapes(net, game, heads=HEADS, batch=2):
    """Shapes of the parameters, and of all that the network says of some positions."""
    module = net.module(game, heads)
    planes = jax.eval_shape(game.observe, jax.eval_shape(game.init, jax.random.key(0)))
    stacked = jax.ShapeDtypeStruct((batch, *planes.shape), jnp.float32)
    params = jax.eval_shape(module.init, jax.random.key(0), stacked)
    said = jax.eval_shape(lambda p, x: module.apply(p, x, method="learn"), params, stacked)
    return params, said


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("game", GAMES)
def test_a_net_says_what_is_asked_in_float32(name, game):
    game = make(game)
    net = NETS[name]
    if hasattr(net, "precision"):
        net = dataclasses.replace(net, precision="bfloat16")
    params, said = shapes(net, game)
    assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves((params, said)))
    assert said.logits.shape == (2, game.num_actions)
    assert said.value.shape == (2,)
    for head in HEADS:
        assert said.heads[head.name].shape == (2, *head.shape(game))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "shape"),
    [
        ("products", (2, 1, 1, 3)),
        ("products", (2, 3, 7, 3)),
        ("convolution", (500, 3, 3, 2)),
        ("winograd", (9, 6, 9, 16)),
    ],
    ids=str,
)
@pytest.mark.usefixtures("exact_products")
def test_a_convolution_is_the_one_of_flax(way, shape):
    """Whichever way is the fastest for the batch; with its gradients; with the same parameters."""
    x, channels = jax.random.normal(jax.random.key(0), shape), max(4, shape[-1])
    ours = Conv(channels, "float32", nn.initializers.he_normal(), "cpu")
    flax = nn.Conv(channels, (3, 3), use_bias=False, kernel_init=nn.initializers.he_normal())
    params = jax.jit(ours.init)(jax.random.key(1), x)
    jax.tree.map(np.testing.assert_array_equal, params, jax.jit(flax.init)(jax.random.key(1), x))
    assert fastest(x, params["params"]["kernel"]).__name__ == way

    def said(module):
        def loss(params, x):
            out = module.apply(params, x)
            return (out**2 + out).mean(), out

        return jax.jit(jax.value_and_grad(loss, argnums=(0, 1), has_aux=True))(params, x)

    for one, other in zip(jax.tree.leaves(said(ours)), jax.tree.leaves(said(flax)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.fixture
def halves(monkeypatch):
    """A processor that multiplies bfloat16 quickly; any other one computes the same, in its own time."""
    monkeypatch.setattr(product, "multiplies_bfloat16", lambda: True)


def near(one, other, share):
    """Whether arrays differ by so small a share of their size."""
    apart = jax.tree.map(lambda a, b: np.linalg.norm(a - b) / np.linalg.norm(b), one, other)
    return max(jax.tree.leaves(apart)) < share


@pytest.mark.slow
@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("game", GAMES)
@pytest.mark.usefixtures("exact_products", "halves")
def test_on_a_processor_factors_alone_are_rounded(name, game):
    """What is said, and its slopes, are near those of float32, the more so with the weights rounded before."""
    game = make(game)
    nets = [dataclasses.replace(NETS[name], precision=precision) for precision in ("float32", "bfloat16")]
    exact, ours = (net.module(game, HEADS).on("cpu") for net in nets)
    assert ours.precision == "bfloat16"
    planes = jax.random.normal(jax.random.key(1), (4, *planes_shape(game)))
    params = jax.jit(exact.init)(jax.random.key(0), planes)
    keys = jax.random.split(jax.random.key(2), len(jax.tree.leaves(params)))  # no layer is zero
    noise = [0.1 * jax.random.normal(key, leaf.shape) for key, leaf in zip(keys, jax.tree.leaves(params), strict=True)]
    params = jax.tree.map(jnp.add, params, jax.tree.unflatten(jax.tree.structure(params), noise))

    def told(module, params):
        def loss(params):
            said = module.apply(params, planes, method="learn")
            return sum((leaf**2).mean() for leaf in jax.tree.leaves(said)), said

        (_, said), slope = jax.jit(jax.value_and_grad(loss, has_aux=True))(params)
        return said, slope

    said, slope = told(ours, params)
    assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves((said, slope)))
    exactly = told(exact, params)
    assert near(said, exactly[0], 0.05)
    assert near(slope, exactly[1], 0.2)
    assert not near(said, exactly[0], 1e-5)  # something was rounded
    once = jax.jit(lambda params: ours.apply(params, planes, method="learn"))(cast_once(ours, params))
    jax.tree.map(np.testing.assert_array_equal, once, said)


@pytest.mark.usefixtures("halves")
def test_products_in_halves_have_a_program_whatever_stands_around_them():
    """XLA moves transpositions through choices, and has no program for a product of halves with one inside."""
    x, kernel = jnp.arange(1024.0).reshape(64, 16) % 7, jnp.ones((64, 32))  # smaller ones XLA does otherwise

    @jax.jit
    def turned(x, kernel, chosen):
        made = product.rounded(jnp.where(chosen, x.T, 0), kernel)
        return jnp.where(chosen, made.T, 0)

    np.testing.assert_array_equal(turned(x, kernel, True), (x.T @ kernel).T)
    slope = jax.jit(jax.grad(lambda kernel, chosen: turned(x, kernel, chosen)[0].sum()))(kernel, True)
    np.testing.assert_array_equal(slope[:, 0], x.sum(axis=1))


def test_a_processor_that_gains_nothing_by_halves_computes_with_all_digits(monkeypatch):
    monkeypatch.setattr(product, "multiplies_bfloat16", lambda: False)
    for net in NETS.values():
        module = dataclasses.replace(net, precision="bfloat16").module(make("go5"))
        assert module.on("cpu").precision == "float32"
        assert module.on("gpu").precision == "bfloat16"


@pytest.mark.parametrize("name", NETS)
def test_equal_nets_make_equal_modules_and_go_through_json(name):
    net, game = NETS[name], make("go5")
    assert net.module(game, HEADS) == net.module(make("go5"), HEADS)
    assert hash(net.module(game, HEADS)) == hash(net.module(make("go5"), HEADS))
    assert from_json(to_json(net)) == net
    with pytest.raises(UsageError, match="has no setting 'deep'"):
        from_json({**to_json(net), "deep": 3})


@pytest.mark.parametrize("name", NETS)
def test_a_search_does_not_pay_for_further_heads(name):
    game, net = make("tictactoe"), NETS[name]
    planes = jnp.zeros((1, 3, 3, 2))

    def products(heads):
        module = net.module(game, heads)
        params = jax.eval_shape(module.init, jax.random.key(0), planes)
        return str(jax.make_jaxpr(module.apply)(params, planes)).count("dot_general")

    assert products(HEADS) == products(())


@pytest.mark.slow
@pytest.mark.parametrize("name", NETS)
def test_an_untrained_net_has_no_opinion(name):
    game = make("tictactoe")
    model = Model(game, Network(NETS[name].module(game)))
    params = jax.jit(model.init)(jax.random.key(0))

    @jax.jit
    def judge(params, key):
        root = model.start(key, 2)
        return model.evaluate(params, key, root.state, model.legal(root))

    logits, value = jax.device_get(judge(params, jax.random.key(0)))
    assert abs(value).max() < 0.2
    assert np.ptp(logits) < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_weights_are_cast_once_where_all_that_uses_them_casts_them(game):
    """Layers that compute with all digits keep theirs, so what the network says does not change by a bit."""
    game = make(game)
    module = ResNet(channels=8, blocks=2, precision="bfloat16").module(game, HEADS).on("gpu")
    params, _ = shapes(ResNet(channels=8, blocks=2, precision="bfloat16"), game)
    planes = jnp.zeros((2, *planes_shape(game)))
    program = jax.make_jaxpr(lambda params: module.apply(params, planes, method="learn"))(params).jaxpr
    casts = jax.eval_shape(lambda params: cast_once(module, params), params)
    for (path, leaf), weight in zip(jax.tree_util.tree_leaves_with_path(casts), program.invars, strict=True):
        uses = [step for step in program.eqns if any(one is weight for one in step.invars)]
        halved = {step.params.get("new_dtype") for step in uses} == {jnp.dtype("bfloat16")}
        assert uses
        assert (leaf.dtype == jnp.bfloat16) == halved, jax.tree_util.keystr(path)


def test_one_set_of_weights_plays_every_size_of_board():
    net = ResNet(channels=8, blocks=2)
    small, _ = shapes(net, make("go5"))
    large, _ = shapes(net, make("go19"))
    assert jax.tree.map(jnp.shape, small) == jax.tree.map(jnp.shape, large)


def test_actions_that_are_cells_are_found_by_the_symmetries():
    found = {
        name for name in ("go9", "gomoku9", "tictactoe", "connect4", "kono", "kamisado") if cell_actions(make(name))
    }
    assert found == {"go9", "gomoku9", "tictactoe"}


def test_sizes_reach_from_ten_thousand_to_fifty_million():
    nets = ResNet(channels=16, blocks=1), ResNet(channels=384, blocks=18)
    small, large = (sum(leaf.size for leaf in jax.tree.leaves(shapes(net, make("go9"), ())[0])) for net in nets)
    assert small < 12_000
    assert large > 45_000_000


def test_a_logit_of_a_value_is_twice_its_artanh():
    np.testing.assert_allclose(squash(2 * jnp.arctanh(jnp.array([-0.5, 0.0, 0.9]))), [-0.5, 0.0, 0.9], rtol=1e-5)


def test_a_net_of_ones_own_learns_most_where_it_is_most_wrongly_sure():
    def loss(z):
        value = jnp.tanh(z)[None]
        logit = outside._said((jnp.zeros((1, 2)), value), (), "learn").value
        return jax.nn.softplus(logit).sum()  # the game was lost

    slopes = [float(jax.grad(loss)(jnp.float32(z))) for z in (3.0, 6.0, 8.0, 12.0)]
    assert min(slopes[:2]) > 1.9
    assert all(np.isfinite(slopes))
    assert slopes[2] > 0.1


def test_impossible_nets_are_refused():
    for net, change in (("mlp", {"width": 0}), ("resnet", {"channels": 0}), ("resnet", {"blocks": -1})):
        with pytest.raises(UsageError):
            dataclasses.replace(NETS[net], **change)


def test_the_slope_of_a_maximum_is_finite_however_it_is_compiled():
    """With the flags of this suite XLA computes cells anew to look for the highest one, and finds none."""
    game, random = make("go5"), np.random.default_rng(3)
    module = ResNet(channels=4, blocks=3).module(game)
    planes = jax.random.normal(jax.random.key(0), (3, *planes_shape(game)))
    shapes = jax.eval_shape(module.init, jax.random.key(0), planes)
    params = jax.tree.map(lambda leaf: jnp.asarray(random.normal(size=leaf.shape), leaf.dtype), shapes)
    slope = jax.jit(jax.grad(lambda params: module.apply(params, planes)[1].sum()))(params)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(slope))


def test_the_slope_of_a_maximum_is_shared_by_the_cells_that_have_it():
    x = jnp.asarray(np.random.default_rng(0).integers(0, 3, (4, 3, 3, 5)), jnp.float32)
    weights = jnp.arange(20.0).reshape(4, 5)
    ours, jaxs = (
        jax.jit(jax.grad(lambda x, top=top: (top(x) * weights).sum()))(x)
        for top in (highest, lambda x: x.max(axis=(1, 2)))
    )
    np.testing.assert_allclose(ours, jaxs, rtol=1e-6)
