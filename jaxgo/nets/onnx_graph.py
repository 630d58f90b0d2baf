"""Nets of jaxgo as ONNX graphs, for runtimes without JAX: planes in, the logits of all moves and the value out.

A graph has the layers of the net's module, one function here for each kind of net; weights are kept as they are, and
everything computes in float32. Games stay with whoever runs it: he makes planes as `Game.observe` does, and leaves
illegal moves out.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jaxgo.core import names
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.nets.base import Net, planes_shape
from jaxgo.nets.mlp import Mlp
from jaxgo.nets.resnet import ResNet

OPSET = 18
IR = 9  # the format of the file, which runtimes since 2023 read
TINY = 1e-6  # what Flax adds to a variance


def to_onnx(net: Net, game: Game[Any], params: Any, note: Mapping[str, str]) -> bytes:
    """The file of a net with its weights; the note goes into its metadata."""
    if type(net) not in GRAPHS:
        raise UsageError(
            f"ONNX files are made of jaxgo's own nets ({', '.join(kind.kind for kind in GRAPHS)}), not of {net.kind}; "
            "export these weights as .safetensors"
        )
    onnx = names.package("onnx", "an .onnx file", "export")
    graph = _Graph(onnx, params["params"])
    logits, value = GRAPHS[type(net)](graph, net.module(game))
    graph.name(logits, "logits")
    graph.name(value, "value")
    batch, real, info = "batch", onnx.TensorProto.FLOAT, onnx.helper.make_tensor_value_info
    made = onnx.helper.make_model(
        onnx.helper.make_graph(
            graph.nodes,
            "jaxgo",
            [info("planes", real, [batch, *planes_shape(game)])],
            [info("logits", real, [batch, game.num_actions]), info("value", real, [batch])],
            [onnx.numpy_helper.from_array(array, name) for name, array in graph.arrays.items()],
        ),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR,
        producer_name="jaxgo",
    )
    onnx.helper.set_model_props(made, dict(note))
    onnx.checker.check_model(made, full_check=True)
    data: bytes = made.SerializeToString()
    return data


@dataclasses.dataclass
class _Graph:
    """A graph that grows: its nodes, and the arrays that they read."""

    onnx: Any
    params: Mapping[str, Any]
    nodes: list[Any] = dataclasses.field(default_factory=list)
    arrays: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)

    def op(self, kind: str, *inputs: str, **settings: Any) -> str:
        """A node, by the name of what it makes."""
        made = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [made], **settings))
        return made

    def name(self, made: str, name: str) -> None:
        """Hands what a node makes out under a name."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [made], [name]))

    def array(self, name: str, value: Any) -> str:
        self.arrays[name] = np.asarray(value)
        return name

    def weight(self, layer: str, part: str) -> str:
        return self.array(f"{layer}/{part}", np.asarray(self.params[layer][part], np.float32))

    def whole(self, name: str, *numbers: int) -> str:
        return self.array(name, np.array(numbers, np.int64))

    # -- layers ----------------------------------------------------------------------------------------------
    def dense(self, x: str, layer: str) -> str:
        return self.op("Add", self.op("MatMul", x, self.weight(layer, "kernel")), self.weight(layer, "bias"))

    def relu(self, x: str) -> str:
        return self.op("Relu", x)

    def norm(self, x: str, layer: str) -> str:
        """Over the channels of each cell."""
        scale, bias = self.weight(layer, "scale"), self.weight(layer, "bias")
        return self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=TINY)

    def conv(self, x: str, layer: str) -> str:
        """ONNX has channels before cells."""
        kernel = np.transpose(np.asarray(self.params[layer]["kernel"], np.float32), (3, 2, 0, 1))
        first = self.op("Transpose", x, perm=[0, 3, 1, 2])
        made = self.op("Conv", first, self.array(f"{layer}/kernel", kernel), auto_pad="SAME_UPPER")
        return self.op("Transpose", made, perm=[0, 2, 3, 1])

    def flat(self, x: str) -> str:
        return self.op("Flatten", x, axis=1)

    def join(self, *parts: str) -> str:
        return self.op("Concat", *parts, axis=-1)

    def pool(self, x: str) -> str:
        axes = self.whole("board", 1, 2)
        return self.join(*(self.op(kind, x, axes, keepdims=0) for kind in ("ReduceMean", "ReduceMax")))

    def everywhere(self, x: str) -> str:
        """The same for every cell."""
        return self.op("Unsqueeze", x, self.whole("board", 1, 2))

    def value(self, features: str) -> str:
        """The value in [-1, 1] that the head's logit stands for."""
        half = self.op("Mul", self.dense(features, "value"), self.array("half", np.float32(0.5)))
        return self.op("Tanh", self.op("Squeeze", half, self.whole("last", 1)))


def _mlp(graph: _Graph, module: Any) -> tuple[str, str]:
    x = graph.dense(graph.flat("planes"), "stem")
    for block in range(module.blocks):
        y = graph.relu(graph.dense(graph.norm(x, f"norm{block}"), f"in{block}"))
        x = graph.op("Add", x, graph.dense(y, f"out{block}"))
    x = graph.relu(graph.norm(x, "norm"))
    return graph.dense(x, "policy"), graph.value(x)


def _resnet(graph: _Graph, module: Any) -> tuple[str, str]:
    def active(x: str, layer: str) -> str:
        return graph.relu(graph.norm(x, layer))

    x = graph.conv("planes", "stem")
    for block in range(module.blocks):
        y = graph.conv(active(x, f"norm_in{block}"), f"in{block}")
        if module.pool_every and block % module.pool_every == module.pool_every - 1:
            heard = graph.dense(graph.pool(graph.relu(y)), f"pool{block}")
            y = graph.op("Add", y, graph.everywhere(heard))
        x = graph.op("Add", x, graph.conv(active(y, f"norm_out{block}"), f"out{block}"))
    x = active(x, "norm")
    seen = graph.pool(x)
    if not module.by_cell:
        seen = graph.join(graph.flat(graph.relu(graph.dense(x, "few"))), seen)
    pooled = graph.relu(graph.dense(seen, "pooled"))
    if not module.by_cell:
        return graph.dense(pooled, "policy"), graph.value(pooled)
    aware = graph.everywhere(graph.dense(pooled, "policy_pooled"))
    cells = graph.relu(graph.op("Add", graph.dense(x, "policy_cells"), aware))
    logits = graph.flat(graph.dense(cells, "policy"))
    if module.actions > module.cells:
        logits = graph.join(logits, graph.dense(pooled, "policy_pass"))
    return logits, graph.value(pooled)


GRAPHS: dict[type[Net], Callable[[_Graph, Any], tuple[str, str]]] = {Mlp: _mlp, ResNet: _resnet}
