"""Weights of one run for another: which nets can have them, and what is said where they cannot."""

import dataclasses
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgo.core.errors import UsageError
from jaxgo.nets import Mlp, ResNet, to_json
from jaxgo.nets.base import planes_shape
from jaxgo.system import devices
from jaxgo.system.rundir import RunDir
from jaxgo.system.weights import find_weights, save_weights
from jaxgo.training import inherit
from jaxgo.training.config import TargetsConfig, TrainConfig
from jaxgo.training.trainer import Trainer

NET = ResNet(channels=4, blocks=2)


def trainer(game, net, *heads):
    return Trainer(TrainConfig(game=game, net=net, targets=TargetsConfig(heads=heads)), devices.make_mesh())


def shapes(trainer):
    planes = jax.ShapeDtypeStruct((1, *planes_shape(trainer.game)), jnp.float32)
    return jax.eval_shape(trainer.learner.module.init, jax.random.key(0), planes)


def kept(tmp_path, trainer) -> Path:
    """A file of weights as a run of this trainer makes them, all different."""
    random = np.random.default_rng(3)
    params = jax.tree.map(lambda x: random.normal(size=x.shape).astype(np.float32), shapes(trainer))
    config, path = trainer.config, tmp_path / "given.npz"
    about = {"game": config.game_name, "options": dict(config.options), "net": to_json(config.network)}
    save_weights(path, params, about)
    return path


def test_a_small_board_teaches_a_large_one(tmp_path):
    """Every array of the smaller board is that of the larger one; a head that the first run had not stays new."""
    small, large = trainer("go7", NET, "ownership"), trainer("go9", NET, "ownership", "reply")
    start = inherit.find(large, str(kept(tmp_path, small)), tmp_path)
    assert start is not None
    ours = jax.tree.map(lambda x: np.zeros(x.shape, np.float32), shapes(large))
    merged = inherit._merged(ours, start.params)["params"]
    assert {name for name in merged if not any(leaf.any() for leaf in jax.tree.leaves(merged[name]))} == {
        "reply", "reply_cells", "reply_pass", "reply_pooled"
    }  # fmt: skip
    jax.tree.map(np.testing.assert_array_equal, merged["ownership"], start.params["params"]["ownership"])


@pytest.mark.parametrize(
    ("there", "here", "said"),
    [
        (("go7", NET), ("go9", dataclasses.replace(NET, channels=8)), "as net.channels is 4 there and 8 here"),
        (("go7", NET), ("go9", Mlp()), "as net.kind is resnet there and mlp here"),
        (("go7", NET), ("go9", dataclasses.replace(NET, blocks=1)), "as net.blocks is 2 there and 1 here"),
        # no array tells that these weights heard from the whole board
        (("go7", NET), ("go7", dataclasses.replace(NET, pool_every=0)), "as net.pool_every is 2 there and 0 here"),
        (
            ("go5", Mlp(width=4)),
            ("go7", Mlp(width=4)),
            "policy/bias is [26] there and [50] here; its size belongs to the board",
        ),
        # columns are moves, so the policy is a dense layer
        (("tictactoe", NET), ("connect4", NET), "its size belongs to the board, so these weights cannot move"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_what_does_not_fit_is_refused_by_its_name(there, here, said, tmp_path):
    path = kept(tmp_path, trainer(*there))
    with pytest.raises(UsageError, match=re.escape(said)) as told:
        inherit.find(trainer(*here), str(path), tmp_path)
    assert str(told.value).startswith(f"--init-from: the weights of {path} do not fit, as ")


@pytest.mark.parametrize("lost", ["policy", "value", "in0"])
def test_a_deeper_net_does_not_hide_what_is_missing(lost, tmp_path):
    path = kept(tmp_path, trainer("go5", NET))
    _, about, params = find_weights(path)
    left = {name: array for name, array in params["params"].items() if name != lost}
    save_weights(path, {"params": left}, about)
    for blocks in (2, 3):
        with pytest.raises(UsageError, match=f"do not fit, as there is no {lost}"):
            inherit.find(trainer("go5", dataclasses.replace(NET, blocks=blocks)), str(path), tmp_path)


def test_weights_with_broken_numbers_are_refused_before_the_run_has_a_folder(tmp_path):
    """It compiled, and ended with advice to begin with weights of its own."""
    path = kept(tmp_path, trainer("go5", NET))
    _, about, params = find_weights(path)
    params["params"]["policy"]["bias"] = np.full_like(params["params"]["policy"]["bias"], np.nan)
    save_weights(path, params, about)
    with pytest.raises(UsageError, match=f"the weights of {path} have numbers that are not finite"):
        inherit.find(trainer("go5", NET), str(path), tmp_path)


@pytest.mark.parametrize("net", ["resnet", None, {**to_json(NET), "blocks": "x"}])
def test_a_note_that_names_no_net_is_told(net, tmp_path):
    path = kept(tmp_path, trainer("go5", NET))
    _, about, params = find_weights(path)
    save_weights(path, params, {**about, "net": net})
    with pytest.raises(UsageError):
        inherit.find(trainer("go5", dataclasses.replace(NET, blocks=3)), str(path), tmp_path)


def test_a_run_that_lost_what_it_began_with_is_told_how_it_goes_on(tmp_path):
    small = trainer("go7", NET)
    path, home = kept(tmp_path, small), tmp_path / "run"
    with RunDir(home, {}) as run:
        start = inherit.find(small, str(path), home)
        inherit.keep(run, start, {})
        run.checkpoints.wait()
        (note,) = (home / "players").iterdir()
        note.write_bytes(note.read_bytes()[:100])
        with pytest.raises(
            UsageError, match=r"began with is not known, as .* no sound weights .*; go on with --init-f"
        ):
            inherit.find(small, str(path), home)
        note.unlink()
        run.checkpoints.save(1, {"x": jnp.zeros(2)})
        run.checkpoints.wait()
        with pytest.raises(
            UsageError, match=r"new weights, or its note of step 0 is gone, and not with .* --init-from ''"
        ):
            inherit.keep(run, start, {})


def test_only_what_computes_may_differ(tmp_path):
    half = dataclasses.replace(NET, precision="bfloat16")
    assert inherit.find(trainer("go7", half), str(kept(tmp_path, trainer("go7", NET))), tmp_path) is not None


@pytest.mark.slow
@pytest.mark.parametrize("net", [NET, Mlp(width=4, blocks=1)], ids=["resnet", "mlp"])
def test_a_deeper_net_begins_as_the_net_it_was(net, tmp_path):
    """It says the same until it learns, as a player of step 0 too, and what it has new can learn."""
    small, large = trainer("go5", net, "score"), trainer("go5", dataclasses.replace(net, blocks=3), "score", "reply")
    path = kept(tmp_path, small)
    start = inherit.find(large, str(path), tmp_path)
    assert start is not None
    assert "score" in start.params["params"], "a head that both runs have is kept"
    planes = jax.random.normal(jax.random.key(0), (3, *planes_shape(small.game)))
    play = [run.config.network.module(run.game) for run in (small, large)]
    given, taken = (jax.tree.map(jnp.asarray, params) for params in (find_weights(path)[2], start.params))
    was, now = play[0].apply(given, planes), play[1].apply(taken, planes)
    jax.tree.map(np.testing.assert_array_equal, was, now)
    slope = jax.grad(lambda params: play[1].apply(params, planes)[1].sum())(taken)
    assert jnp.abs(slope["params"]["out2"]["kernel"]).max() > 0
