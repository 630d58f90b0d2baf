"""Which positions have been seen: a hash table of keys on the device, filled by whole batches at once.

A key is all that is kept of a position. Two positions with equal 64-bit keys would be taken for one; among a hundred
million positions that happens once in four thousand solutions, and never in games whose keys are a mixing of at most
64 bits of board.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int32, UInt32

NOBODY = -1


class Visited(NamedTuple):
    """Open addressing over a power of two of places; at most half of them are filled."""

    keys: UInt32[Array, "places 2"]
    numbers: Int32[Array, " places"]  # of the position in each place, in the order of discovery; NOBODY: empty
    total: Int32[Array, ""]


class Found(NamedTuple):
    number: Int32[Array, " M"]
    fresh: Bool[Array, " M"]  # the lane whose position was new; of equal ones, one


def empty(places: int) -> Visited:
    """A table without positions."""
    return Visited(jnp.zeros((places, 2), jnp.uint32), jnp.full(places, NOBODY, jnp.int32), jnp.int32(0))


class _Probe(NamedTuple):
    """Lanes on their way through the table, and what stands where they look."""

    table: Visited
    place: Int32[Array, " M"]
    waiting: Bool[Array, " M"]
    here: Int32[Array, " M"]
    same: Bool[Array, " M"]
    found: Found


def insert(table: Visited, keys: UInt32[Array, "M 2"], wanted: Bool[Array, " M"]) -> tuple[Visited, Found]:
    """Looks the wanted keys up and adds those that are new, each once."""
    places, lanes = table.numbers.shape[0], keys.shape[0]
    lane = jnp.arange(lanes, dtype=jnp.int32)
    cells = 2 << lanes.bit_length()

    def look(table: Visited, place: Int32[Array, " M"]) -> tuple[Array, Array]:
        return table.numbers[place], (table.keys[place] == keys).all(axis=1)

    def step(at: _Probe) -> _Probe:
        table, place = at.table, at.place
        vacant = at.waiting & (at.here < 0)
        # of the lanes that want one place one gets it; the others look at it again. Claims meet in a small array, so
        # that the table is written once and read after that: XLA copies an array that is read beside a write
        cell = place & (cells - 1)
        claims = jnp.full(cells, NOBODY, jnp.int32).at[jnp.where(vacant, cell, cells)].max(lane, mode="drop")
        won = vacant & (claims[cell] == lane)
        number = jnp.where(won, table.total + jnp.cumsum(won, dtype=jnp.int32) - 1, at.here)
        target = jnp.where(won, place, places)
        table = Visited(
            keys=table.keys.at[target].set(keys, mode="drop"),
            numbers=table.numbers.at[target].set(number, mode="drop"),
            total=table.total + won.sum(dtype=jnp.int32),
        )
        known = at.waiting & (at.here >= 0)
        settled = known & at.same | won
        place = jnp.where(known & ~at.same, (place + 1) & (places - 1), place)
        found = Found(jnp.where(settled, number, at.found.number), at.found.fresh | won)
        return _Probe(table, place, at.waiting & ~settled, *look(table, place), found)

    first = ((keys[:, 0] ^ keys[:, 1] * jnp.uint32(0x9E3779B1)) & jnp.uint32(places - 1)).astype(jnp.int32)
    nothing = Found(jnp.full(lanes, NOBODY, jnp.int32), jnp.zeros(lanes, bool))
    at = _Probe(table, first, wanted, *look(table, first), nothing)
    at = jax.lax.while_loop(lambda at: at.waiting.any(), step, at)
    return at.table, at.found


@functools.partial(jax.jit, static_argnums=1)
def widened(table: Visited, places: int) -> Visited:
    """The same positions with the same numbers in more places."""
    old = table.numbers
    wider, found = insert(empty(places), table.keys, old >= 0)
    lanes = jnp.zeros(places, jnp.int32).at[jnp.where(old >= 0, found.number, places)].set(old, mode="drop")
    return wider._replace(numbers=jnp.where(wider.numbers >= 0, lanes[wider.numbers], NOBODY))
