"""Programs for accelerators, made on this host: what is traced on a processor for another platform is the other's."""

import dataclasses
import os
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import lowered
import pytest
from lowered import TARGETS
from support import mostly_slow

from jaxgo.evaluators import Network, Uniform
from jaxgo.games import GAMES, find, make
from jaxgo.nets import ResNet, product
from jaxgo.nets.base import planes_shape
from jaxgo.search import Gumbel, Model
from jaxgo.selfplay import Selfplay, SelfplayConfig
from jaxgo.system import devices
from jaxgo.training import presets
from jaxgo.training.presets import preset
from jaxgo.training.trainer import Trainer, _learn

ROOT = Path(__file__).parents[1]
FEW = 32  # few enough for products on a processor


@pytest.fixture(scope="module", params=mostly_slow(TARGETS, ("tpu",)))
def program(request):
    """The text of a ply of self-play, lowered for a target, and the target."""
    game = make("tictactoe")
    module = ResNet(channels=4, blocks=1).module(game)
    model = Model(game, Network(module), TARGETS[request.param])
    player = Selfplay(Gumbel(simulations=2), model, SelfplayConfig(games=FEW, steps=1))

    def play(params, key):
        return player.collect(params, player.begin(key, FEW), key)[1:]

    params = jax.eval_shape(model.init, jax.random.key(0))
    return jax.jit(play).trace(params, jax.random.key(0)).lower(
        lowering_platforms=(request.param,)
    ).as_text(), request.param


def test_an_accelerator_gets_its_own_program(program):
    """Convolutions of XLA there, matrix products here."""
    text, target = program
    assert ("stablehlo.convolution" in text) == (target != "cpu")


def test_no_callback_no_wide_number_no_collective(program):
    text, _ = program
    assert not lowered.exchanges(text)
    assert not lowered.reaches_the_host(text)
    assert not lowered.wide_numbers(text)


# each game costs a second of tracing; the first has a column without room
@pytest.mark.parametrize(
    "name", ["gomoku9", *(pytest.param(name, marks=pytest.mark.slow) for name in GAMES if name != "gomoku9")]
)
def test_every_game_is_searched_by_the_program_of_an_accelerator(name):
    model = Model(find(name), Uniform(), "gpu")

    def search(key):
        return Gumbel(simulations=16).run(model, (), key, model.start(key, games=3))

    assert jax.eval_shape(search, jax.random.key(0)).policy.shape == (3, model.game.num_actions)


@pytest.mark.slow  # a preset's own sizes: as much tracing as a user's start
@pytest.mark.parametrize(
    ("name", "target"),
    [pytest.param(*one, id=f"day{os.environ[lowered.DAY]}-{'-'.join(one)}") for one in lowered.sample(1)],
)
def test_a_preset_is_what_it_is_on_every_host(name, target):
    """Another preset or accelerator every day; its programs as a host with a processor or an accelerator makes them."""
    mine, theirs = lowered.programs(name, target), lowered.programs(name, target, host=TARGETS[target])
    assert mine.keys() == {"_play", "_learn"}
    for program, text in mine.items():
        assert text == theirs[program], program
        assert not lowered.reaches_the_host(text)
        assert not lowered.wide_numbers(text)
    assert not lowered.exchanges(mine["_play"])
    assert lowered.exchanges(mine["_learn"]) == {"all_reduce"}


def test_each_preset_has_its_day(monkeypatch):
    seen = []
    for day in range(1, 366):
        monkeypatch.setenv(lowered.DAY, str(day))
        seen += lowered.sample(1)
    assert set(seen) == {(name, target) for name in presets.names() for target in ("cuda", "tpu")}


def test_no_program_asks_which_backend_runs_it():
    """A choice by the backend of the process would be wrong for whoever lowers a program for another machine."""
    asked = {
        str(path.relative_to(ROOT)): path.read_text().count("default_backend")
        for path in (ROOT / "jaxgo").rglob("*.py")
        if "default_backend" in path.read_text()
    }
    # the platform of a model that names none, the preset of a machine and who plays best on it, and a hint about the
    # memory of the host
    places = {"players/best.py", "search/model.py", "training/presets.py", "training/machine.py"}
    assert set(asked) <= {f"jaxgo/{place}" for place in places}


def test_weights_are_cast_once_where_a_device_computes_in_halves(monkeypatch):
    """For a whole program; a processor that does not, and a net in float32, keep what they are given."""
    game = make("go5")
    for precision, target, quick in (
        ("bfloat16", "gpu", False),
        ("bfloat16", "cpu", True),
        ("bfloat16", "cpu", False),
        ("float32", "gpu", True),
    ):
        monkeypatch.setattr(product, "multiplies_bfloat16", lambda quick=quick: quick)
        net = ResNet(channels=4, blocks=2, precision=precision)
        model = Model(game, Network(net.module(game)), target)
        params = jax.eval_shape(model.init, jax.random.key(0))

        def judge(params, net=net, target=target):
            module = net.module(game).on(target)
            return module.apply(params, jnp.zeros((3, *planes_shape(game))))

        ready = jax.eval_shape(model.ready, params)
        program = jax.make_jaxpr(judge)(ready)
        weights = set(program.jaxpr.invars)
        left = [
            step
            for step in program.eqns
            if step.primitive.name == "convert_element_type"
            and step.params["new_dtype"] == jnp.bfloat16
            and step.invars[0] in weights
            and step.invars[0].aval.dtype != jnp.bfloat16
            and step.invars[0].aval.ndim > 1
        ]
        halves = {str(leaf.dtype) for leaf in jax.tree.leaves(ready)} == {"bfloat16", "float32"}
        assert halves == (precision == "bfloat16" and (target == "gpu" or quick))
        assert not left


def test_bfloat16_nets_convolve_in_bfloat16():
    game = make("go5")
    module = ResNet(channels=8, blocks=1, precision="bfloat16").module(game)
    seen = jax.eval_shape(lambda key: game.observe(game.init(key)), jax.random.key(0))
    planes = jax.ShapeDtypeStruct((4, *seen.shape), jnp.float32)
    params = jax.eval_shape(module.init, jax.random.key(0), planes)
    text = jax.jit(module.apply).trace(params, planes).lower(lowering_platforms=("cuda",)).as_text()
    kinds = re.findall(r"stablehlo\.convolution.*?->\s*tensor<[^>]*x(\w+)>", text)
    assert kinds
    assert set(kinds) == {"bf16"}


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cuda", "tpu"])
@pytest.mark.usefixtures("two_devices")
def test_devices_exchange_gradients_in_float32(target, monkeypatch):
    """Of a net that computes in bfloat16: all of its gradient is in one exchange, beside the sums of the weights."""
    monkeypatch.setattr(product, "multiplies_bfloat16", lambda: True)  # or this processor's own net is in float32
    config = preset("tictactoe-cpu").config
    net = ResNet(channels=4, blocks=1, precision="bfloat16")
    trainer = Trainer(dataclasses.replace(config, net=net), devices.make_mesh())
    state = jax.eval_shape(trainer.begin)
    _, batches = jax.eval_shape(trainer.replay.draw, state.replay)
    spent = jax.ShapeDtypeStruct((), jnp.float32)
    arguments = trainer, state.learner, batches, state.key, state.iteration, spent
    text = _learn.trace(*arguments).lower(lowering_platforms=(target,)).as_text()
    assert "bf16" in text
    exchanged = re.findall(r"stablehlo\.all_reduce.*?\}\) : \(tensor<(\d+)x(\w+)>\)", text, flags=re.DOTALL)
    assert len(exchanged) == text.count('all_reduce"') + text.count("all_gather") + text.count("reduce_scatter") == 2
    assert {kind for _, kind in exchanged} == {"f32"}
    weights = sum(leaf.size for leaf in jax.tree.leaves(state.learner.params))
    assert weights < max(int(count) for count, _ in exchanged) < weights + 10, "the loss and its parts are with it"
