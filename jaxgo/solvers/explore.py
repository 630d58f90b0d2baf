"""Walking a game's positions in batches: which moves there are, where they lead, what of it is new.

The host decides what to expand next and keeps the order of it; the device holds the positions that wait, in a pool of
slots, and the set of all that were seen. When the pool is full, those that would be expanded last go to the host.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int32

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.solvers import visited
from jaxgo.solvers.visited import Visited

WIDER = 8  # how much more room a full table of keys gets; every size is compiled once
FAR = np.iinfo(np.int32).max


@dataclasses.dataclass(frozen=True)
class Room:
    """How much is held where. The figures change speed and memory, never the answer."""

    batch: int = 2048  # positions expanded at once
    fan: int = 4  # moves made at once, for each of them
    slots: int = 1 << 18  # positions that wait on the device
    places: int = 1 << 20  # of the table of keys at the start; it grows
    most: int = 100_000_000  # positions in all; more are an error

    def __post_init__(self) -> None:
        if min(self.batch, self.fan) < 1 or self.slots < 2 * self.batch * self.fan or self.most < 1:
            raise UsageError(
                "a solver needs a batch and a fan of at least 1, and slots of at least twice their product"
            )
        if self.places & (self.places - 1) or self.places < 4 * self.batch * self.fan:
            raise UsageError("places of a solver's table are a power of two, at least four times batch * fan")


class Made(NamedTuple):
    """Moves made, as the host sees them: where from, which, and what came of each."""

    parent: np.ndarray  # int32[k] numbers of positions
    action: np.ndarray  # int32[k]
    number: np.ndarray  # int32[k] of the position after it
    better: np.ndarray  # bool[k]: it is new, or reached by fewer moves than before; of equal ones, one
    over: np.ndarray  # bool[k]
    value: np.ndarray  # float32[k] for who is to move after it; read where over
    same: np.ndarray  # bool[k]: the seat that moved is to move again
    bound: np.ndarray  # int32[k] the game's `least_moves`


class _Lanes(NamedTuple):
    """What one program gives back for its lanes."""

    lane: Int32[Array, " M"]
    action: Int32[Array, " M"]
    number: Int32[Array, " M"]
    better: Bool[Array, " M"]
    over: Bool[Array, " M"]
    value: Array
    same: Bool[Array, " M"]
    bound: Int32[Array, " M"]


class _Waiting(NamedTuple):
    number: np.ndarray
    depth: np.ndarray
    slot: np.ndarray | None  # on the device
    states: Any  # or here, on the host


class Explorer:
    """Positions of a game from some roots on, each class of equals once."""

    def __init__(self, game: Game[Any], roots: Any, room: Room) -> None:
        """`roots` is a batch of states."""
        self.game, self.room = game, room
        self._moves = jax.jit(self._list_moves)
        self._make = jax.jit(self._make_moves, donate_argnums=(0, 1, 2))
        self._fill = jax.jit(_fill, donate_argnums=0)
        self._take = jax.jit(lambda pool, slots: jax.tree.map(lambda x: x[slots], pool))
        self._waiting: dict[tuple[int, int], list[_Waiting]] = {}
        self._free = np.arange(room.slots, dtype=np.int32)[::-1].copy()
        self._unused = room.slots
        self.spilled = 0
        self.expanded = 0
        self.pool = jax.tree.map(lambda x: jnp.zeros((room.slots, *x.shape[1:]), x.dtype), roots)
        self.visited = visited.empty(room.places)
        self.depth_on_device = jnp.full(room.places // 2, FAR, jnp.int32)
        self.depths = np.full(room.places // 2, FAR, np.int32)
        self.roots = self._plant(roots)

    def _plant(self, roots: Any) -> Made:
        """The roots as positions 0, 1, ... of which equal ones are one."""
        keys = jax.jit(jax.vmap(self.game.class_key))(roots)
        self.visited, found = jax.jit(visited.insert)(self.visited, keys, jnp.ones(keys.shape[0], bool))
        number, fresh = np.asarray(found.number), np.asarray(found.fresh)
        zero = np.zeros(len(number), np.int32)
        over = np.asarray(jax.vmap(self.game.over)(roots))
        value = np.asarray(jax.vmap(self._value)(roots))
        bound = np.asarray(jax.vmap(self.game.least_moves)(roots))
        self.count = int(self.visited.total)
        self.depths[: self.count] = 0
        self.depth_on_device = self.depth_on_device.at[: self.count].set(0)
        host = jax.device_get(roots)
        self._host_roots = _Waiting(number[fresh], zero[fresh], None, jax.tree.map(lambda x: x[fresh], host))
        return Made(zero - 1, zero - 1, number, fresh, over, value, zero > 0, bound)

    def _value(self, state: Any) -> Array:
        result = self.game.returns(state)
        return result[state.to_play if self.game.players == 2 else 0]

    # -- programs ----------------------------------------------------------------------------------------------
    def _list_moves(self, pool: Any, slots: Int32[Array, " B"], count: Int32[Array, ""]) -> tuple[Array, Array]:
        """The moves of the positions in these slots, as `lane * actions + action`, and how many they are."""
        states = jax.tree.map(lambda x: x[slots], pool)
        legal = jax.vmap(self.game.legal)(states) & ~jax.vmap(self.game.over)(states)[:, None]
        legal = (legal & (jnp.arange(slots.shape[0]) < count)[:, None]).reshape(-1)
        (moves,) = jnp.nonzero(legal, size=legal.shape[0], fill_value=0)
        # a whole slice more, so that the last one can be cut anywhere
        return jnp.pad(moves.astype(jnp.int32), (0, self.room.batch * self.room.fan)), legal.sum(dtype=jnp.int32)

    def _make_moves(
        self,
        pool: Any,
        table: Visited,
        depths: Int32[Array, " N"],
        slots: Int32[Array, " B"],
        depth: Int32[Array, " B"],
        moves: Int32[Array, " X"],
        begin: Int32[Array, ""],
        total: Int32[Array, ""],
        free: Int32[Array, " M"],
    ) -> tuple[Any, Visited, Int32[Array, " N"], _Lanes]:
        """Makes a slice of the moves, and puts what is new or better into the free slots."""
        lanes = free.shape[0]
        pair = jax.lax.dynamic_slice_in_dim(moves, begin, lanes)
        here = jnp.arange(lanes) < total - begin
        lane, action = pair // self.game.num_actions, pair % self.game.num_actions
        before = _read(pool, slots[lane])
        keys = jax.vmap(self.game.next_class_key)(before, action)
        table, found = visited.insert(table, keys, here)
        after = jax.vmap(self.game.step)(before, action)
        reached = depth[lane] + 1
        # the lanes of a batch are equally deep; a new position has one fresh lane, an old one may have several
        nobody = depths.shape[0]
        depths = depths.at[jnp.where(found.fresh, found.number, nobody)].set(reached, mode="drop")
        number = jnp.where(here, found.number, nobody)
        shorter = here & (reached < _read(depths, jnp.minimum(number, nobody - 1)))
        depths = depths.at[number].min(reached, mode="drop")
        better = found.fresh | _first_of_equals(number, shorter)
        slot = free[jnp.cumsum(better, dtype=jnp.int32) - 1]
        target = jnp.where(better, slot, jax.tree.leaves(pool)[0].shape[0])
        pool = jax.tree.map(lambda x, y: x.at[target].set(y, mode="drop"), pool, after)
        out = _Lanes(
            lane=lane,
            action=action,
            number=found.number,
            better=better,
            over=jax.vmap(self.game.over)(after),
            value=jax.vmap(self._value)(after),
            same=before.to_play == after.to_play,
            bound=jax.vmap(self.game.least_moves)(after),
        )
        return pool, table, depths, out

    # -- what waits --------------------------------------------------------------------------------------------
    def wait(self, made: Made, which: np.ndarray, priority: np.ndarray) -> None:
        """Puts the `which` of the moves just made (among those `better`) in line; the lowest priority comes first.

        Among equals those deeper down do. What is better and not put in line is forgotten.
        """
        place = np.cumsum(made.better) - 1
        number, depth, slot = made.number[which], self.depths[made.number[which]], self._given[place[which]]
        priority = priority[which]
        order = np.lexsort((-depth, priority))
        keys = np.stack([priority[order], -depth[order]])
        cuts = np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)) + 1
        for part in np.split(order, cuts) if len(order) else []:
            entry = _Waiting(number[part], depth[part], slot[part], None)
            self._waiting.setdefault((int(priority[part[0]]), -int(depth[part[0]])), []).append(entry)
        self._release(self._given[place[made.better & ~which]])

    def wait_roots(self, priority: int = 0) -> None:
        """Puts the roots in line."""
        self._waiting.setdefault((priority, 0), []).append(self._host_roots)

    @property
    def next_priority(self) -> int | None:
        """The lowest priority in line; None: nothing waits."""
        return min(self._waiting)[0] if self._waiting else None

    def _release(self, slots: np.ndarray) -> None:
        self._free[self._unused : self._unused + len(slots)] = slots
        self._unused += len(slots)

    def _grant(self, count: int) -> np.ndarray:
        """Free slots, all of which are in use now."""
        self._unused -= count
        return self._free[self._unused : self._unused + count].copy()

    def _spill(self) -> None:
        """Moves what would be expanded last to the host, until half of the pool is free."""
        for key in sorted(self._waiting, reverse=True):
            for i, entry in enumerate(self._waiting[key]):
                if self._unused >= self.room.slots // 2:
                    return
                if entry.slot is not None:
                    states = self._read(entry.slot)
                    self._release(entry.slot)
                    self.spilled += len(entry.slot)
                    self._waiting[key][i] = entry._replace(slot=None, states=states)

    def _read(self, slots: np.ndarray) -> Any:
        """The states in these slots, on the host."""
        size, parts = self.room.batch, []
        for i in range(0, len(slots), size):
            part = slots[i : i + size]
            parts.append(jax.device_get(self._take(self.pool, jnp.asarray(_padded(part, size)))))
        return jax.tree.map(lambda *x: np.concatenate(x)[: len(slots)], *parts)

    def _load(self, entry: _Waiting) -> _Waiting:
        """Back to the device."""
        size, count = self.room.batch, len(entry.number)
        slot = self._grant(count)
        padded = jax.tree.map(lambda x: _padded(x, size), entry.states)
        target = np.concatenate([slot, np.full(size - count, self.room.slots, np.int32)])
        self.pool = self._fill(self.pool, jnp.asarray(target), padded)
        return entry._replace(slot=slot, states=None)

    def _pop(self) -> _Waiting:
        """Up to a batch of those that come first, on the device; those that were reached better since are dropped."""
        key = min(self._waiting)
        size, taken, count = self.room.batch, [], 0
        entries = self._waiting[key]
        while entries and count < size:
            entry = entries.pop()
            if len(entry.number) > size - count:
                entries.append(_part(entry, slice(size - count, None)))
                entry = _part(entry, slice(0, size - count))
            count += len(entry.number)
            taken.append(self._load(entry) if entry.slot is None else entry)
        if not entries:
            del self._waiting[key]
        number, depth, slot = (np.concatenate([x[i] for x in taken]) for i in range(3))
        stale = depth > self.depths[number]
        self._release(slot[stale])
        return _Waiting(number[~stale], depth[~stale], slot[~stale], None)

    # -- walking -----------------------------------------------------------------------------------------------
    def expand(self) -> Iterator[Made]:
        """Expands the next batch, in slices; each must be answered by `wait` before the next."""
        size, lanes = self.room.batch, self.room.batch * self.room.fan
        if self._unused < lanes + size:
            self._spill()
        batch = self._pop()
        assert batch.slot is not None
        slots, depth = jnp.asarray(_padded(batch.slot, size)), jnp.asarray(_padded(batch.depth, size))
        moves, total = self._moves(self.pool, slots, jnp.int32(len(batch.number)))
        count = int(total)
        self.expanded += len(batch.number)
        for begin in range(0, count, lanes):
            self._make_room(lanes)
            if self._unused < lanes:
                self._spill()
            free = jnp.asarray(self._free[self._unused - lanes : self._unused].copy())
            self.pool, self.visited, self.depth_on_device, out = self._make(
                self.pool, self.visited, self.depth_on_device, slots, depth, moves, jnp.int32(begin), total, free
            )
            yield self._read_made(out, batch, min(lanes, count - begin), np.asarray(free))
        self._release(batch.slot)

    def _read_made(self, out: _Lanes, batch: _Waiting, count: int, free: np.ndarray) -> Made:
        lanes = jax.tree.map(lambda x: x[:count], jax.device_get(out))
        better = lanes.better
        number = lanes.number
        self.depths[number[better]] = batch.depth[lanes.lane[better]] + 1
        self.count = max(self.count, int(number.max()) + 1)
        # the program took the free slots from the bottom of those it was given
        taken = int(better.sum())
        self._given = free[:taken]
        rest = free[taken:]
        self._unused -= len(free)
        self._release(rest)
        return Made(batch.number[lanes.lane], lanes.action, number, better, *lanes[4:])

    def _make_room(self, lanes: int) -> None:
        """Grows the table of keys before it is more than half full."""
        if self.count > self.room.most:
            raise UsageError(
                f"there are more than {self.room.most:,} positions; solve from a later one, or allow more (--most)"
            )
        places = self.visited.numbers.shape[0]
        if 2 * (self.count + lanes) > places:
            self.visited = visited.widened(self.visited, places * WIDER)
            more = places * (WIDER - 1) // 2
            self.depth_on_device = jnp.concatenate([self.depth_on_device, jnp.full(more, FAR, jnp.int32)])
            self.depths = np.concatenate([self.depths, np.full(more, FAR, np.int32)])


def _first_of_equals(number: Int32[Array, " M"], again: Bool[Array, " M"]) -> Bool[Array, " M"]:
    """Of the lanes `again` with equal numbers, the first."""

    def sort(_: None) -> Bool[Array, " M"]:
        order = jnp.argsort(jnp.where(again, number, FAR), stable=True)
        ranked = number[order]
        first = jnp.concatenate([jnp.ones(1, bool), ranked[1:] != ranked[:-1]])
        return jnp.zeros(number.shape[0], bool).at[order].set(first) & again

    return jax.lax.cond(again.any(), sort, lambda _: again, None)


def _read(columns: Any, index: Int32[Array, " M"]) -> Any:
    """Rows of arrays that are written later: a plain read would be fused into the write, and XLA then copies all."""

    def read(columns: Any) -> Any:
        return jax.tree.map(lambda x: x[index], columns)

    return jax.lax.cond(index.max() >= 0, read, lambda c: jax.tree.map(jnp.zeros_like, read(c)), columns)


def _fill(pool: Any, slots: Int32[Array, " B"], states: Any) -> Any:
    return jax.tree.map(lambda x, y: x.at[slots].set(y, mode="drop"), pool, states)


def _part(entry: _Waiting, which: slice) -> _Waiting:
    return jax.tree.map(lambda x: x[which], entry)


def _padded(values: np.ndarray, size: int) -> np.ndarray:
    return np.concatenate([values, np.zeros((size - len(values), *values.shape[1:]), values.dtype)])
