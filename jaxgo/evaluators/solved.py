"""The truth about a game, position by position: kept by key, saved, loaded, looked up, and used as an evaluator."""

import dataclasses
import functools
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int8, Int32, UInt32

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.evaluators.base import Evaluation, Evaluator, Params, States
from jaxgo.system.files import replacing, version

VERSION = 2  # 1: keys of Go did not tell finished positions from live ones
SURE = 20.0  # what a won move's logit lies above a drawn one's; nearer ends of the same value differ by less
HASTE = 0.01  # for each move to the end
MOST_HASTE = SURE / 2  # a far win is a win
# what numpy, zipfile and zlib raise for damaged files
DAMAGE: tuple[type[Exception], ...] = (
    *(OSError, KeyError, ValueError, TypeError, EOFError, MemoryError, RuntimeError, SyntaxError),
    *(zipfile.BadZipFile, zlib.error, tokenize.TokenError),
)


class Table(NamedTuple):
    """Solved positions in the order of their class keys."""

    keys: np.ndarray  # uint64[N]
    values: np.ndarray  # int8[N] for the mover: 1 won, 0 drawn, -1 lost
    distances: np.ndarray  # uint16[N] moves to the end, the winner hurrying; 0 for draws

    def ordered(self) -> "Table":
        order = np.argsort(self.keys)
        return Table(self.keys[order], self.values[order], self.distances[order])

    def counts(self) -> tuple[int, int, int]:
        """Positions won, drawn and lost for their movers."""
        return tuple(int((self.values == value).sum()) for value in (1, 0, -1))  # type: ignore[return-value]

    def save(self, path: Path, about: str) -> None:
        """Writes a file that `load` reads; `about` says of what game it is."""
        with replacing(path) as file:
            np.savez_compressed(file, version=VERSION, about=about, **self._asdict())


def load(path: Path) -> tuple[Table, str]:
    """The table of a file, and what it is about."""
    try:
        with np.load(path) as file:
            if int(file["version"]) != VERSION:
                raise ValueError("it is of another version; solve the game again")
            table = Table(*(file[name] for name in Table._fields))
            _check(table)
            return table, str(file["about"])
    except DAMAGE as error:
        raise UsageError(f"cannot read a solved table from {path}, as `jaxgo solve` writes it: {error}") from None


def _check(table: Table) -> None:
    """A ValueError for arrays in which nothing can be looked up."""
    kinds = [(column.dtype, column.shape) for column in table]
    if kinds != [(np.dtype(kind), (table.keys.size,)) for kind in ("uint64", "int8", "uint16")] or not table.keys.size:
        raise ValueError("its columns are no table")
    if (table.keys[1:] <= table.keys[:-1]).any():
        raise ValueError("its keys are not in order")


class Lookup(NamedTuple):
    """A table on the device."""

    keys: UInt32[Array, "N 2"]
    values: Int8[Array, " N"]
    distances: Int32[Array, " N"]


class Answer(NamedTuple):
    known: Bool[Array, " M"]
    value: Int32[Array, " M"]
    distance: Int32[Array, " M"]


def as_numbers(keys: np.ndarray) -> np.ndarray:
    """Keys of two words as one number each."""
    return keys[:, 0].astype(np.uint64) << np.uint64(32) | keys[:, 1].astype(np.uint64)


def on_device(table: Table) -> Lookup:
    words = np.stack([table.keys >> np.uint64(32), table.keys & np.uint64(0xFFFFFFFF)], axis=1).astype(np.uint32)
    return Lookup(jnp.asarray(words), jnp.asarray(table.values), jnp.asarray(table.distances.astype(np.int32)))


def look_up(table: Lookup, keys: UInt32[Array, "M 2"]) -> Answer:
    """What a table knows of some keys."""
    size = table.keys.shape[0]

    def halve(_: Any, span: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = span
        middle = (low + high) // 2
        there = table.keys[jnp.minimum(middle, size - 1)]
        less = (there[:, 0] < keys[:, 0]) | ((there[:, 0] == keys[:, 0]) & (there[:, 1] < keys[:, 1]))
        open_ = low < high
        return jnp.where(open_ & less, middle + 1, low), jnp.where(open_ & ~less, middle, high)

    low = jnp.zeros(keys.shape[0], jnp.int32)
    place, _ = jax.lax.fori_loop(0, max(1, size.bit_length()), halve, (low, low + size))
    place = jnp.minimum(place, size - 1)
    known = (table.keys[place] == keys).all(axis=1)
    value = jnp.where(known, table.values[place].astype(jnp.int32), 0)
    return Answer(known, value, jnp.where(known, table.distances[place], 0))


def judge(game: Game[Any], table: Lookup, states: States) -> tuple[Answer, Answer]:
    """What a table knows of live positions, and of what each move leads to, as the mover sees it."""
    here = look_up(table, jax.vmap(game.class_key)(states))

    def after(state: Any) -> tuple[Array, Array]:
        moved = jax.vmap(lambda action: game.step(state, action))(jnp.arange(game.num_actions))
        return jax.vmap(game.class_key)(moved), moved.to_play == state.to_play

    keys, same = jax.vmap(after)(states)
    below = look_up(table, keys.reshape(-1, 2))
    known, value, distance = jax.tree.map(lambda x: x.reshape(same.shape), below)
    return here, Answer(known, jnp.where(same, value, -value), distance)


@dataclasses.dataclass(frozen=True)
class Solved(Evaluator):
    """The truth out of a table of `jaxgo solve`; a position that is not in it counts as even."""

    file: str = ""  # of a table that `jaxgo solve` wrote

    def init(self, game: Game[Any], key: Array) -> Params:
        if not self.file:
            raise UsageError("evaluator=solved needs file=TABLE, which `jaxgo solve GAME --out TABLE` writes")
        table, about = _loaded(self.file, version(Path(self.file)))
        if about != describe(game):
            raise UsageError(f"the table {self.file} is about {about}, not about {describe(game)}")
        return on_device(table)

    def __call__(self, game: Game[Any], params: Params, key: Array, states: States) -> Evaluation:
        here, below = judge(game, params, states)
        # the winner hurries, the loser holds out
        logits = (SURE - jnp.minimum(HASTE * below.distance, MOST_HASTE)) * below.value
        return Evaluation(logits.astype(jnp.float32), here.value.astype(jnp.float32))


@functools.lru_cache(maxsize=4)
def _loaded(path: str, written: object) -> tuple[Table, str]:
    """A table, read once as long as nobody writes it anew."""
    return load(Path(path))


def describe(game: Game[Any]) -> str:
    """The rules that a table is about; the ply limit is none of them."""
    fields = (field.name for field in dataclasses.fields(game))  # type: ignore[arg-type]
    options = " ".join(f"{name}={getattr(game, name)}" for name in fields if name != game.ply_limit)
    return f"{type(game).__name__} {options}".strip()
