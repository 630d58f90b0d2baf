"""Networks of people outside the package: any Flax module, linen or nnx, as a `Net`.

It maps planes `[B, H, W, C]` to logits `[B, A]` and the value for the side to move `[B]`, in [-1, 1]; a third result
may be a dict of further heads by name, which are learnt where `targets.heads` has them, too.
"""

import contextlib
import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import flax.errors
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array

from jaxgo.core import names
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.nets.base import Head, Net, Outputs, planes_shape

Source = nn.Module | nnx.Module | Callable[..., Any]
NEARLY = 1.0 - 1e-6  # the largest value that has a logit


@dataclasses.dataclass(frozen=True)
class Outside(Net):
    """A module, or a function that makes one for a game: `build(game)` of linen, `build(game, rngs)` of nnx."""

    source: Source

    kind: ClassVar[str] = names.PLACE

    def module(self, game: Game[Any], heads: tuple[Head, ...] = ()) -> Any:
        return _adapted(self.source, game, heads)

    def _shapes(self, game: Game[Any]) -> tuple[Any, Any, dict[str, Any]]:
        """What it gives for two positions, as shapes: logits, values and further heads."""
        module = _adapted(self.source, game, ())
        planes = jax.ShapeDtypeStruct((2, *planes_shape(game)), jnp.float32)
        with _told(self.source):
            params = jax.eval_shape(module.init, jax.random.key(0), planes)
            _check_kept(params)
            return _read(jax.eval_shape(module.raw, params, planes))

    def heads(self, game: Game[Any], wanted: tuple[Head, ...]) -> tuple[Head, ...]:
        found = self._shapes(game)
        for what, array, wanted_shape in (("logits", found[0], (2, game.num_actions)), ("values", found[1], (2,))):
            if (shape := _shape(array)) != wanted_shape:
                raise UsageError(f"the net gives {what} of shape {shape} for 2 positions; they must be {wanted_shape}")
        for head in wanted:
            shape = _shape(found[2].get(head.name))
            if head.name in found[2] and shape != (2, *head.shape(game)):
                raise UsageError(
                    f"the net's head {head.name!r} is of shape {shape} for 2 positions; it must be "
                    f"{(2, *head.shape(game))}"
                )
        return tuple(head for head in wanted if head.name in found[2])

    def unlearnt(self, game: Game[Any], wanted: tuple[Head, ...]) -> str:
        given, named = list(self._shapes(game)[2]), [head.name for head in wanted]
        lacking, spare = ([x for x in some if x not in others] for some, others in ((named, given), (given, named)))
        parts = [f"targets.heads names {', '.join(lacking)}, which the net does not give"] if lacking else []
        parts += [f"the net gives {', '.join(map(str, spare))}, which targets.heads does not name"] if spare else []
        return f"{', and '.join(parts)}: what only one of them has is not learnt" if parts else ""

    def to_json(self) -> dict[str, Any]:
        if not isinstance(self.source, nn.Module):
            return {"kind": names.place_of(self.source)}
        settings = {}
        for field in dataclasses.fields(self.source):
            value = getattr(self.source, field.name)
            if field.name in ("parent", "name") or value is field.default:
                continue
            if not _is_plain(value):
                raise UsageError(
                    f"{field.name}={value} of the net cannot be written down; make it a function of the game"
                )
            settings[field.name] = value
        return {"kind": names.place_of(type(self.source)), **settings}


@contextlib.contextmanager
def _told(source: Source) -> Iterator[None]:
    """Tells in a sentence what a net of somebody's own was made or asked for in vain."""
    try:
        yield
    except flax.errors.InvalidRngError as error:
        raise UsageError(
            f"the net {_called(source)} draws random numbers where it is asked ({_first(error)}); leave dropout out"
        ) from error
    except UsageError:
        raise
    except Exception as error:  # of Flax, of JAX, of its own code
        raise UsageError(
            f"the net {_called(source)} cannot be made or asked ({type(error).__name__}: {_first(error)}); it is a "
            "module that takes the planes of this game and nothing else, or is made by a function of the game, with "
            "`rngs` for nnx"
        ) from error


def _called(source: Any) -> str:
    return str(getattr(source, "__qualname__", type(source).__qualname__))


def _first(error: Exception) -> str:
    """The first line of an error, without the page of Flax on it."""
    return str(error).strip().partition("\n")[0].partition(" (https://")[0]


def _shape(array: Any) -> Any:
    """None for what is no array."""
    return getattr(array, "shape", None)


def _is_plain(value: Any) -> bool:
    """Whether JSON can tell a value, tuples as lists."""
    return all(map(_is_plain, value)) if isinstance(value, tuple) else isinstance(value, bool | int | float | str)


def _check_kept(params: Any) -> None:
    """Refuses parameters that cannot be learnt or kept in a file, and a net without any, before anything is learnt."""
    if not jax.tree.leaves(params):
        raise UsageError("the net has no parameters, so there is nothing that it could learn; give it a layer")
    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        kind = np.dtype(leaf.dtype).kind
        if kind != "f":
            why = "no gradient can change" if kind in "iu" else "a file of weights cannot hold"
            name = jax.tree_util.keystr(path, simple=True, separator="/")
            raise UsageError(
                f"{name} of the net is of {leaf.dtype}, which {why}; keep parameters in float32 (param_dtype), compute "
                "in another type (dtype), and leave tables of numbers in the code"
            )


def from_place(place: str, settings: dict[str, Any]) -> Net:
    """The net at `package.module:Object`: a `Net`, a module, or a function that makes one."""
    found = names.resolve(place, "net")
    if isinstance(found, type) and issubclass(found, Net | nn.Module):
        try:
            found = found(**settings)
        except TypeError as error:
            raise UsageError(f"net {place!r} cannot be made of {settings or 'nothing'} ({error})") from None
    elif settings:
        raise UsageError(f"net {place!r} takes no settings; it was given {', '.join(settings)}")
    return as_net(found)


def as_net(source: Any) -> Net:
    """A net as it is, a module of Flax as a net."""
    if isinstance(source, Net):
        return source
    if isinstance(source, type) and issubclass(source, Net):
        raise UsageError(f"{source.__name__} is the class of a net: give one of it, such as {source.__name__}()")
    if isinstance(source, type) and issubclass(source, nn.Module):
        with _told(source):
            source = source()
    if not (isinstance(source, nn.Module | nnx.Module) or callable(source)):
        raise UsageError(f"{source!r} is no net: give a Net, a Flax module, or a function of the game that makes one")
    return Outside(source)


@dataclasses.dataclass(frozen=True)
class _Linen:
    """A linen module with the methods of jaxgo's own."""

    inner: nn.Module
    heads: tuple[Head, ...]

    def init(self, key: Array, planes: Any) -> Any:
        variables = self.inner.init(key, planes)
        if kept := sorted(set(variables) - {"params"}):
            raise _stateful(kept)
        return variables

    def raw(self, params: Any, planes: Any) -> Any:
        return self.inner.apply(params, planes)

    def apply(self, params: Any, planes: Any, method: str = "") -> Any:
        return _said(self.raw(params, planes), self.heads, method)


@dataclasses.dataclass(frozen=True)
class _Nnx:
    """An nnx module with the methods of jaxgo's own. Its parameters are a flat dict by path."""

    source: Any
    game: Game[Any]
    heads: tuple[Head, ...]

    def init(self, key: Array, planes: Any) -> Any:
        _, state = _split(self._make(nnx.Rngs(key)))
        return {"params": dict(zip(_paths(state), jax.tree.leaves(state), strict=True))}

    def _make(self, rngs: nnx.Rngs) -> Any:
        if isinstance(self.source, nnx.Module):
            return self.source
        with _told(self.source):
            return self.source(self.game, rngs=rngs)

    def raw(self, params: Any, planes: Any) -> Any:
        graph, state = _graph(self.source, self.game)
        order = [params["params"][path] for path in _paths(state)]
        return nnx.merge(graph, jax.tree.unflatten(jax.tree.structure(state), order))(planes)

    def apply(self, params: Any, planes: Any, method: str = "") -> Any:
        return _said(self.raw(params, planes), self.heads, method)


@functools.cache
def _graph(source: Any, game: Game[Any]) -> Any:
    """How the module is built, and what it knows as shapes."""
    if isinstance(source, nnx.Module):
        return _split(source)
    with _told(source):
        return _split(nnx.eval_shape(lambda: source(game, rngs=nnx.Rngs(0))))


def _split(module: Any) -> Any:
    if not isinstance(module, nnx.Module):
        raise UsageError(f"what takes `rngs` made {type(module).__name__}, not a module of flax.nnx; leave `rngs` out")
    split: Any = nnx.split
    graph, params, rest = split(module, nnx.Param, ...)
    if jax.tree.leaves(rest):
        raise _stateful(sorted({str(path[-1]) for path, _ in nnx.to_flat_state(rest)}))
    return graph, params


def _paths(state: Any) -> list[str]:
    return [
        jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in jax.tree_util.tree_leaves_with_path(state)
    ]


def _stateful(parts: list[str]) -> UsageError:
    return UsageError(
        f"the net has a state besides its parameters ({', '.join(parts)}), which training does not keep; "
        "take LayerNorm in the place of BatchNorm, and leave dropout out"
    )


@functools.cache
def _adapted(source: Any, game: Game[Any], heads: tuple[Head, ...]) -> Any:
    if isinstance(source, nn.Module):
        return _Linen(source, heads)
    of_nnx = isinstance(source, nnx.Module) or (isinstance(source, type) and issubclass(source, nnx.Module))
    if of_nnx or "rngs" in inspect.signature(source).parameters:
        return _Nnx(source, game, heads)
    with _told(source):
        made = source(game)
    if not isinstance(made, nn.Module):
        kind = type(made).__name__
        raise UsageError(f"{_called(source)} made {kind}, not a module of flax.linen; one of nnx takes `rngs`")
    return _Linen(made, heads)


def _read(said: Any) -> tuple[Any, Any, dict[str, Any]]:
    if isinstance(said, tuple) and len(said) == 2:
        said = (*said, {})
    if not isinstance(said, tuple) or len(said) != 3 or not isinstance(said[2], Mapping):
        raise UsageError("a net gives (logits, value), or (logits, value, heads) with a dict of further heads")
    return said[0], said[1], dict(said[2])


def _said(said: Any, heads: tuple[Head, ...], method: str) -> Any:
    """What a search asks for, or all that the learner does."""
    logits, value, more = _read(said)
    if method != "learn":
        return logits, value
    value = value.astype(jnp.float32)
    # clipped by a number that no gradient passes: where the net is most wrongly sure it must learn most
    value += jax.lax.stop_gradient(jnp.clip(value, -NEARLY, NEARLY) - value)
    told = {head.name: more[head.name].astype(jnp.float32) for head in heads}
    return Outputs(logits.astype(jnp.float32), 2.0 * jnp.arctanh(value), told)
