"""Weights for other programs: another runtime says what our nets say, files come back as they went, damage is told."""

import json
import sys
import zipfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgo.cli.main import main
from jaxgo.core.errors import UsageError
from jaxgo.games import make
from jaxgo.nets import Mlp, Outside, ResNet, to_json
from jaxgo.nets.base import planes_shape
from jaxgo.nets.onnx_graph import to_onnx
from jaxgo.players import load_player
from jaxgo.system.weights import digest, load_weights, save_weights


def weights(module, planes):
    """Parameters none of which is at the zero that it would begin with."""
    blank = jax.eval_shape(module.init, jax.random.key(0), planes)
    random = np.random.default_rng(1)
    return jax.tree.map(lambda x: jnp.asarray(random.normal(0, 0.3, x.shape), jnp.float32), blank)


@pytest.mark.parametrize(
    ("name", "net"),
    [
        ("tictactoe", Mlp(width=5, blocks=2)),
        # cells and a pass
        pytest.param("go5", ResNet(channels=6, blocks=2, precision="bfloat16"), marks=pytest.mark.slow),
        pytest.param("tictactoe", ResNet(channels=8, blocks=1, pool_every=0), marks=pytest.mark.slow),  # cells
        pytest.param("connect4", ResNet(channels=8, blocks=2, pool_every=1), marks=pytest.mark.slow),  # a dense policy
    ],
    ids=lambda value: value if isinstance(value, str) else value.kind,
)
def test_another_runtime_says_the_same(name, net):
    runtime = pytest.importorskip("onnxruntime")
    game = make(name)
    random = np.random.default_rng(2)
    planes = random.integers(0, 2, (3, *planes_shape(game))).astype(np.float32)
    # runtimes compute in float32 whatever the net was trained in
    exact = ResNet(net.channels, net.blocks, net.pool_every) if isinstance(net, ResNet) else net
    module = exact.module(game)
    params = weights(module, planes)
    session = runtime.InferenceSession(to_onnx(net, game, params, {"sha256": "x"}), providers=["CPUExecutionProvider"])
    assert session.get_modelmeta().custom_metadata_map == {"sha256": "x"}
    ours = jax.jit(module.apply)(params, planes)
    for batch in (1, 3):  # a file takes any number of positions
        logits, value = session.run(["logits", "value"], {"planes": planes[:batch]})
        np.testing.assert_allclose(logits, ours[0][:batch], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(value, ours[1][:batch], rtol=1e-4, atol=1e-4)
        assert np.ptp(logits) > 0.1, "weights at zero would agree whatever the graph is"


NOTE = {"game": "tictactoe", "options": {}, "net": {"kind": "mlp"}}


@pytest.mark.parametrize("kind", ["npz", "onnx"])
@pytest.mark.parametrize(
    ("note", "arrays", "said"),
    [
        ([], ["a"], "holds no sound weights (what it says of them is no JSON object)"),
        ("[" * 100_000, ["a"], "holds no sound weights (nested too deep)"),
        ({}, ["a"], "do not say which game and network they are of"),
        ({**NOTE, "net": "mlp"}, ["a"], "do not say which game and network they are of"),
        (NOTE, ["a", "a/b"], "holds no sound weights (a/b lies in another array)"),
        (NOTE, ["a/b", "a"], "holds no sound weights (other arrays lie in a)"),
    ],
)
def test_a_strange_file_of_weights_is_one_sentence(note, arrays, said, kind, tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "in.npz", "w") as file:
        file.writestr("about.json", note if isinstance(note, str) else json.dumps(note))
        for name in arrays:
            with file.open(f"{name}.npy", "w") as member:
                np.save(member, np.ones(2, np.float32))
    assert main(["export", str(tmp_path / "in.npz"), "--to", str(tmp_path / f"out.{kind}")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / f"out.{kind}").exists()


def test_weights_that_do_not_fit_their_own_note_are_refused(tmp_path, capsys):
    save_weights(tmp_path / "in.npz", {"a": np.ones(2, np.float32)}, NOTE)
    assert main(["export", str(tmp_path / "in.npz"), "--to", str(tmp_path / "out.onnx")]) == 2
    assert "do not fit the game" in capsys.readouterr().err
    save_weights(tmp_path / "search.npz", {"a": np.ones(2, np.float32)}, {**NOTE, "search": "gumbel"})
    with pytest.raises(UsageError, match="name no search that can be read"):
        load_player(f"@{tmp_path / 'search.npz'}", make("tictactoe"))


def test_a_net_of_somebody_is_refused():
    with pytest.raises(UsageError, match=r"made of jaxgo's own nets \(mlp, resnet\), not of .*export these weights as"):
        to_onnx(Outside(lambda game: None), make("tictactoe"), {"params": {}}, {})


def test_weights_go_out_and_come_back(tmp_path, capsys):
    """The same player from all three files, and the same checksum."""
    of, params = load_weights("connect4-cpu")
    for source, name in (("connect4-cpu", "net.safetensors"), (f"{tmp_path}/net.safetensors", "again.npz")):
        assert main(["export", source, "--to", str(tmp_path / name)]) == 0
        assert f"connect4, mlp, step {of['step']}, sha256 {digest(params)}" in capsys.readouterr().out
        about, back = load_weights(tmp_path / name)
        assert about == of
        jax.tree.map(np.testing.assert_array_equal, params, back)
    for name in ("net.onnx", "net.ONNX"):
        assert main(["export", "connect4-cpu", "--to", str(tmp_path / name)]) == 0
    assert (tmp_path / "net.onnx").read_bytes() == (tmp_path / "net.ONNX").read_bytes()
    game = make("connect4")
    assert load_player(f"@{tmp_path}/net.safetensors", game) == load_player("@connect4-cpu", game)
    assert main(["export", "connect4-cpu", "--to", str(tmp_path / "net.SAFETENSORS")]) == 0
    assert load_player(f"@{tmp_path}/net.SAFETENSORS", game) == load_player("@connect4-cpu", game)
    assert main(["export", "connect4-cpu", "--to", str(tmp_path / "net.pt")]) == 2
    assert "end it in .safetensors, .onnx, .npz" in capsys.readouterr().err


@jax.numpy_rank_promotion("allow")  # as people write their games
def test_weights_of_a_game_of_ones_own_go_out_where_it_is_named(tmp_path, monkeypatch, capsys):
    own = "examples.own_game:Nim"
    net, game = Mlp(width=4, blocks=1), make(own)
    params = jax.jit(net.module(game).init)(jax.random.key(0), jnp.zeros((1, *planes_shape(game))))
    save_weights(tmp_path / "w.npz", params, {"game": own, "options": {}, "net": to_json(net)})
    words = ["export", str(tmp_path / "w.npz"), "--to", str(tmp_path / "w.onnx")]
    monkeypatch.delitem(sys.modules, "examples.own_game")
    assert main(words) == 2
    assert f"are of the game {own}, a place in code that no file of data may start" in capsys.readouterr().err
    assert main([*words, "--game", own]) == 0
    assert main([*words, "--game", "go9"]) == 2
    assert f"are of {own}, not of go9; leave out --game" in capsys.readouterr().err


def test_other_programs_read_the_note(tmp_path):
    params = {"params": {"dense": {"kernel": np.arange(6, dtype=np.float32).reshape(2, 3)}}}
    save_weights(tmp_path / "a.safetensors", params, {"game": "go9"})
    package = pytest.importorskip("safetensors")
    with package.safe_open(tmp_path / "a.safetensors", framework="np") as file:
        assert json.loads(file.metadata()["jaxgo"]) == {"game": "go9"}
        assert file.metadata()["sha256"] == digest(params)
        assert list(file.keys()) == ["params/dense/kernel"]


@pytest.mark.parametrize("name", ["a.safetensors", "a.npz"])
def test_a_single_number_comes_back_as_one(name, tmp_path):
    """As nn.PReLU has it."""
    pytest.importorskip("safetensors")
    save_weights(tmp_path / name, {"params": {"slope": np.float32(0.25) * np.ones(())}}, {"game": "go9"})
    (slope,) = jax.tree.leaves(load_weights(tmp_path / name)[1])
    assert slope.shape == ()
    assert float(slope) == 0.25


def test_damage_is_told(tmp_path):
    file: Path = tmp_path / "a.safetensors"
    save_weights(file, {"params": {"x": np.arange(400, dtype=np.float32)}}, {"game": "go9"})
    data = file.read_bytes()
    for number, damage in enumerate((data[:-4], b"", data[:-9] + bytes([data[-9] ^ 1]) + data[-8:], b"\xff" * 64)):
        file.write_bytes(damage)
        with pytest.raises(UsageError, match=r"a\.safetensors holds no sound weights \(.+\); take another") as told:
            load_weights(file)
        assert number != 2 or "its arrays are not those that were written" in str(told.value)


def test_a_missing_package_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    assert main(["export", "connect4-cpu", "--to", str(tmp_path / "net.onnx")]) == 2
    assert "an .onnx file needs onnx: `uv sync --extra export` in a clone" in capsys.readouterr().err
