"""The transposition table of alpha-beta: for each game, what is known of positions that were searched before.

The bargain: a position counts as known where all 64 bits of its key agree. Two positions of one game that share a key
would share a value; with a million nodes that happens once in some thirty million searches. An entry gives way to a new
one of its place unless it is another position's and lies farther from the horizon.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32, Int32, UInt32

NONE, LOWER, UPPER, EXACT = range(4)
FINAL = 4  # a bit beside the bound
DEPTHS = 128  # added to the distance from the horizon, which may be below 0


class Entry(NamedTuple):
    key: UInt32[Array, "B 2"]
    value: Float32[Array, " B"]  # for the mover
    move: Int32[Array, " B"]  # the best, or the one that cut
    left: Int32[Array, " B"]  # plies to the horizon
    bound: Int32[Array, " B"]  # what the value is; NONE: nothing is known
    final: Bool[Array, " B"]  # true at any distance from the horizon
    far: Int32[Array, " B"]  # plies to the end of the game, where the value is a final win or loss


def blank(games: int, bits: int) -> UInt32[Array, "B T 4"]:
    """Tables that know nothing, of 2 ** bits entries; of none for 0 bits."""
    return jnp.zeros((games, 2**bits if bits else 0, 4), jnp.uint32)


def _place(table: UInt32[Array, "B T 4"], key: UInt32[Array, "B 2"]) -> Int32[Array, " B"]:
    return (key[:, 0] & jnp.uint32(table.shape[1] - 1)).astype(jnp.int32)


def _read(row: UInt32[Array, "B 4"]) -> Entry:
    facts = row[:, 3].astype(jnp.int32)
    told = jax.lax.bitcast_convert_type(row[:, 2], jnp.float32)
    return Entry(
        key=row[:, :2],
        value=jnp.clip(told, -1.0, 1.0),
        move=facts >> 11,
        left=(facts >> 3 & 255) - DEPTHS,
        bound=facts & 3,
        final=facts & FINAL != 0,
        far=jnp.maximum(jnp.abs(told) - 1.0, 0.0).astype(jnp.int32),
    )


def look_up(table: UInt32[Array, "B T 4"], key: UInt32[Array, "B 2"]) -> Entry:
    """What is known of a position of each game."""
    entry = _read(table[jnp.arange(table.shape[0]), _place(table, key)])
    return entry._replace(bound=jnp.where((entry.key == key).all(axis=-1), entry.bound, NONE))


def settles(
    entry: Entry, left: Int32[Array, " B"], low: Float32[Array, " B"], high: Float32[Array, " B"]
) -> Bool[Array, " B"]:
    """Whether an entry tells as much as a search to that distance from the horizon, within that window, would."""
    usable = (entry.left >= left) | entry.final
    tells = (entry.bound == EXACT) | ((entry.bound == LOWER) & (entry.value >= high))
    return usable & (tells | ((entry.bound == UPPER) & (entry.value <= low)))


def store(table: UInt32[Array, "B T 4"], entry: Entry, on: Bool[Array, " B"]) -> UInt32[Array, "B T 4"]:
    """Notes an entry of each game where `on` holds."""
    rows, place = jnp.arange(table.shape[0]), _place(table, entry.key)
    there = _read(table[rows, place])
    kept = (there.bound != NONE) & (there.key != entry.key).any(axis=-1) & (there.left > entry.left)
    facts = entry.move << 11 | (entry.left + DEPTHS) << 3 | jnp.where(entry.final, FINAL, 0) | entry.bound
    # no value is beyond 1, so what is written there tells how far a win or a loss is
    told = jnp.where(jnp.abs(entry.value) >= 1.0, entry.value * (1.0 + entry.far.astype(jnp.float32)), entry.value)
    value = jax.lax.bitcast_convert_type(told, jnp.uint32)
    row = jnp.concatenate([entry.key, value[:, None], facts.astype(jnp.uint32)[:, None]], axis=1)
    return table.at[rows, jnp.where(on & ~kept, place, table.shape[1])].set(row, mode="drop")
