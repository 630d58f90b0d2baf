"""Networks by name; a new one is one file in this folder and one line here."""

import dataclasses
from typing import Any

from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.core.names import PLACE, is_place, place_of
from jaxgo.core.words import native
from jaxgo.nets.base import Head, Net
from jaxgo.nets.mlp import Mlp
from jaxgo.nets.outside import Outside, Source, as_net, from_place
from jaxgo.nets.resnet import ResNet

NETS: dict[str, Net] = {
    "mlp": Mlp(),
    "resnet": ResNet(),
}


def find(name: str) -> Net:
    """The net of this name, registered or at `package.module:Object`."""
    return from_json({"kind": name})


def to_json(net: Net) -> dict[str, Any]:
    """A net as plain data, its name first."""
    own = net.kind in NETS and type(NETS[net.kind]) is type(net)
    return net.to_json() if own or isinstance(net, Outside) else {**net.to_json(), "kind": place_of(type(net))}


def from_json(data: dict[str, Any]) -> Net:
    """The net that `to_json` wrote."""
    fields = dict(data)
    kind = fields.pop("kind", None)
    if kind not in NETS:
        if not is_place(str(kind)):
            raise unknown_name("net", kind, [*NETS, PLACE])
        return from_place(str(kind), {name: native(value) for name, value in fields.items()})
    valid = {field.name for field in dataclasses.fields(NETS[kind])}
    if unknown := fields.keys() - valid:
        raise UsageError(f"a net of kind {kind} has no setting {min(unknown)!r}; it has: {', '.join(sorted(valid))}")
    return dataclasses.replace(NETS[kind], **fields)


__all__ = ["NETS", "Head", "Mlp", "Net", "Outside", "ResNet", "Source", "as_net", "find", "from_json", "to_json"]
