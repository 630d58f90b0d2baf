"""Walking a game's positions in batches: which moves there are, where they lead, what of it is new.

The device makes the moves; the host decides what to expand next, keeps the positions that wait and knows all that were
seen. While the host looks keys up, the device makes the next moves.
"""

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Bool, Int32, UInt32

from jaxgo.core import trial
from jaxgo.core.errors import UsageError, check_settings
from jaxgo.core.game import Game
from jaxgo.evaluators.solved import as_numbers
from jaxgo.solvers.visited import Visited

FAR = np.iinfo(np.int32).max
PLACES = 1 << 16  # of the table of keys at the start; it grows
FEWER = 8  # how many times fewer lanes the next smaller program has
MOST_BATCH = 1 << 20  # positions that one program expands


@dataclasses.dataclass(frozen=True)
class Room:
    """How much is done at once. The figures change speed and memory, never the answer."""

    batch: int = 1 << 14  # positions expanded at once
    fan: int = 4  # moves made at once, for each of them
    most: int = 100_000_000  # positions in all; more are an error

    def __post_init__(self) -> None:
        check_settings("Room: ", self)
        if min(self.batch, self.fan, self.most) < 1:
            raise UsageError("a solver needs a batch, a fan and room for positions of at least 1")
        if self.batch > MOST_BATCH:
            raise UsageError(f"a batch of {self.batch:,} positions is too large; at most {MOST_BATCH:,}")


class Made(NamedTuple):
    """Moves made, as the host sees them: where from, which, and what came of each."""

    parent: np.ndarray  # int32[k] numbers of positions
    action: np.ndarray  # int32[k]
    number: np.ndarray  # int32[k] of the position after it
    better: np.ndarray  # bool[k]: it is new, or reached by fewer moves than before; of equal ones, one
    over: np.ndarray  # bool[k]
    value: np.ndarray  # float32[k] for who is to move after it; read where over
    same: np.ndarray  # bool[k]: the seat that moved is to move again
    bound: np.ndarray  # int32[k] the game's `least_moves`, if asked for
    states: Any  # [k, ...] after the move
    keys: np.ndarray  # uint32[k, 2] of their classes


class _Facts(NamedTuple):
    """What one program gives back for its lanes: the last fields of `Made`."""

    over: Bool[Array, " M"]
    value: Array
    same: Bool[Array, " M"]
    bound: Int32[Array, " M"]
    states: Any
    keys: UInt32[Array, "M 2"]


class _Waiting(NamedTuple):
    number: np.ndarray
    depth: np.ndarray
    states: Any
    keys: np.ndarray


class _Slice(NamedTuple):
    """Moves that the device is making."""

    batch: _Waiting
    lane: np.ndarray
    action: np.ndarray
    facts: _Facts


class Explorer:
    """Positions of a game from some roots on, each class of equals once."""

    def __init__(self, game: Game[Any], roots: Any, room: Room, guided: bool = False) -> None:
        """`roots` is a batch of states; who is `guided` asks the game for `least_moves`, others read 0."""
        if room.batch * game.num_actions > FAR:  # the moves of a batch are numbered in int32
            most = FAR // game.num_actions
            raise UsageError(
                f"a batch of {room.batch:,} positions is too large for {game.num_actions:,} actions; at most {most:,}"
            )
        ply: Any = getattr(roots, "ply", None)
        if np.ndim(ply) != 1:
            raise UsageError(
                f"roots are a batch of states, as model.start(key, 1).state gives one; {type(roots).__name__} is none"
            )
        trial.check_states(game, roots)
        self.game, self.room, self.guided = game, room, guided
        self._waiting: dict[tuple[int, int], list[_Waiting]] = {}
        self.expanded = self.made = 0  # positions, and moves
        self.visited = Visited(PLACES)
        self.depths = np.full(PLACES, FAR, np.int32)
        self.roots = self._plant(roots)

    @property
    def count(self) -> int:
        """Positions seen."""
        return self.visited.total

    def _plant(self, roots: Any) -> Made:
        """The roots as positions 0, 1, ... of which equal ones are one."""
        facts = jax.device_get(_look_at(self.game, self.guided, roots))
        number, fresh = self._number(facts.keys)
        zero = np.zeros(len(number), np.int32)
        self.depths[: self.count] = 0
        return Made(zero - 1, zero - 1, number, fresh, *facts)

    def _number(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of positions with these keys, and which of them are new."""
        found = self.visited.insert(as_numbers(keys))
        if self.count > self.room.most:
            raise UsageError(
                f"there are more than {self.room.most:,} positions; solve from a later one, or allow more (--most)"
            )
        while self.count > len(self.depths):
            self.depths = np.concatenate([self.depths, np.full_like(self.depths, FAR)])
        return found.number, found.fresh

    # -- what waits --------------------------------------------------------------------------------------------
    def wait(self, made: Made, which: np.ndarray, priority: np.ndarray) -> None:
        """Puts the `which` of the moves just made (among those `better`) in line; the lowest priority comes first.

        Among equals those deeper down do. What is better and not put in line is forgotten. All of one call are equally
        deep.
        """
        chosen = np.flatnonzero(which)
        if not len(chosen):
            return
        for value in np.unique(priority[chosen]).tolist():
            part = chosen[priority[chosen] == value]
            number = made.number[part]
            states = jax.tree.map(lambda x, i=part: x[i], made.states)
            entry = _Waiting(number, self.depths[number], states, made.keys[part])
            self._waiting.setdefault((value, -int(entry.depth[0])), []).append(entry)

    def wait_roots(self) -> None:
        """Puts the roots in line."""
        self.wait(self.roots, self.roots.better, np.zeros(len(self.roots.number), np.int64))

    @property
    def next_priority(self) -> int | None:
        """The lowest priority in line; None: nothing waits."""
        return min(self._waiting)[0] if self._waiting else None

    def _pop(self) -> _Waiting:
        """Up to a batch of those that come first; those that were reached better since are dropped."""
        key = min(self._waiting)
        size, taken, count = self.room.batch, [], 0
        entries = self._waiting[key]
        while entries and count < size:
            entry = entries.pop()
            if len(entry.number) > size - count:
                entries.append(_part(entry, slice(size - count, None)))
                entry = _part(entry, slice(0, size - count))
            count += len(entry.number)
            taken.append(entry)
        if not entries:
            del self._waiting[key]
        batch: _Waiting = taken[0] if len(taken) == 1 else jax.tree.map(lambda *x: np.concatenate(x), *taken)
        stale = batch.depth > self.depths[batch.number]
        return _part(batch, ~stale) if stale.any() else batch

    # -- walking -----------------------------------------------------------------------------------------------
    def expand(self) -> Iterator[Made]:
        """Expands the next batch, in slices; each must be answered by `wait` before the next."""
        batch = self._pop()
        self.expanded += len(batch.number)
        size = self._size(len(batch.number), self.room.batch)
        states, keys = jax.tree.map(lambda x: padded(x, size), (batch.states, batch.keys))
        legal = np.asarray(_list_moves(self.game, states))[: len(batch.number)]
        pairs = np.flatnonzero(legal).astype(np.int32)
        whole, ahead = self.room.batch * self.room.fan, None
        for begin in range(0, len(pairs), whole):
            pair = pairs[begin : begin + whole]
            facts = _make_moves(self.game, self.guided, states, keys, padded(pair, self._size(len(pair), whole)))
            if ahead is not None:
                yield self._read(ahead)
            lane, action = np.divmod(pair, np.int32(self.game.num_actions))
            ahead = _Slice(batch, lane, action, facts)
        if ahead is not None:
            yield self._read(ahead)

    def _size(self, count: int, most: int) -> int:
        """Lanes of the program for so many: all, an eighth, or an eighth of that, so that few programs are compiled."""
        size = most
        while FEWER * count <= size and most // size < FEWER**2:
            size //= FEWER
        return size

    def _read(self, made: _Slice) -> Made:
        count = len(made.lane)
        self.made += count
        facts = jax.tree.map(lambda x: np.asarray(x)[:count], made.facts)
        number, fresh = self._number(facts.keys)
        reached = made.batch.depth[made.lane] + 1
        shorter = ~fresh & (reached < self.depths[number])
        self.depths[number[fresh]] = reached[fresh]
        better = fresh
        if shorter.any():
            shorter &= reached < self.depths[number]  # not those that were new in this very slice
            again = np.flatnonzero(shorter)
            better = fresh.copy()
            better[again[np.unique(number[again], return_index=True)[1]]] = True
            self.depths[number[better]] = reached[better]
        parent = made.batch.number[made.lane]
        return Made(parent, made.action, number, better, *facts)


@functools.partial(jax.jit, static_argnums=0)
def _list_moves(game: Game[Any], states: Any) -> Bool[Array, "B A"]:
    return jax.vmap(game.legal)(states) & ~jax.vmap(game.over)(states)[:, None]


@functools.partial(jax.jit, static_argnums=(0, 1))
def _make_moves(
    game: Game[Any], guided: bool, states: Any, keys: UInt32[Array, "B 2"], pair: Int32[Array, " M"]
) -> _Facts:
    """What comes of moves given as `lane * actions + action`."""
    lane, action = pair // game.num_actions, pair % game.num_actions
    before = jax.tree.map(lambda x: x[lane], states)
    after = jax.vmap(game.step)(before, action)
    return _facts(game, guided, after, jax.vmap(game.next_class_key)(before, action, keys[lane]), before.to_play)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _look_at(game: Game[Any], guided: bool, states: Any) -> _Facts:
    return _facts(game, guided, states, jax.vmap(game.class_key)(states), states.to_play)


def _facts(game: Game[Any], guided: bool, states: Any, keys: Array, mover: Array) -> _Facts:
    def value(state: Any) -> Array:
        result = game.returns(state)
        return result[state.to_play if game.players == 2 else 0]

    return _Facts(
        over=jax.vmap(game.over)(states),
        value=jax.vmap(value)(states),
        same=mover == states.to_play,
        bound=jax.vmap(game.least_moves)(states) if guided else jax.lax.full_like(mover, 0, np.int32),
        states=states,
        keys=keys,
    )


def _part(entry: _Waiting, which: slice | np.ndarray) -> _Waiting:
    return jax.tree.map(lambda x: x[which], entry)


def padded(values: np.ndarray, size: int) -> np.ndarray:
    """With zeros behind them, so many in all: programs of few sizes."""
    if len(values) == size:
        return values
    out = np.zeros((size, *values.shape[1:]), values.dtype)
    out[: len(values)] = values
    return out
