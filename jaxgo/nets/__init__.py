"""Networks by name; a new one is one file in this folder and one line here."""

import dataclasses
from typing import Any

from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.nets.base import Head, Net
from jaxgo.nets.mlp import Mlp
from jaxgo.nets.resnet import ResNet

NETS: dict[str, Net] = {
    "mlp": Mlp(),
    "resnet": ResNet(),
}


def to_json(net: Net) -> dict[str, Any]:
    """A net as plain data, its name first."""
    return {"kind": net.kind, **dataclasses.asdict(net)}


def from_json(data: dict[str, Any]) -> Net:
    """The net that `to_json` wrote."""
    fields = dict(data)
    kind = fields.pop("kind", None)
    if kind not in NETS:
        raise unknown_name("net", kind, NETS)
    valid = {field.name for field in dataclasses.fields(NETS[kind])}
    if unknown := fields.keys() - valid:
        raise UsageError(f"a net of kind {kind} has no setting {min(unknown)!r}; it has: {', '.join(sorted(valid))}")
    return dataclasses.replace(NETS[kind], **fields)


__all__ = ["NETS", "Head", "Mlp", "Net", "ResNet", "from_json", "to_json"]
