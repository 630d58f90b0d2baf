"""Repetition, once for all games: the keys of the positions that a game has seen, and what a return means.

The history belongs to the game that is being played, not to the nodes of a search tree. A search sees where a line
comes back to what the game has seen and so ends, and not where it comes back to itself; moves that superko forbids it
knows at the root alone, beyond what the state itself carries (simple ko). The real game is exact.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32, Int8, Int16, Int32, UInt32

from jaxgo.core.errors import UsageError
from jaxgo.core.game import MOST_PLIES, Game, S
from jaxgo.core.lanes import where_lanes

RUNNING, DRAWN, LOST_BY_0, LOST_BY_1 = range(4)


class History(NamedTuple):
    """Keys of all positions so far (no rows where the game needs none), and a verdict that repetition gave."""

    keys: UInt32[Array, "M 2"]
    size: Int16[Array, ""]
    verdict: Int8[Array, ""]
    trace: Any  # what the game itself remembers, see `Game.next_suspect`


def begin(game: Game[S], state: S) -> History:
    """The history of a game that starts at `state`."""
    rows = 0 if game.repetition == "none" else game.max_plies + 1
    if rows > MOST_PLIES:
        raise UsageError(
            f"a {type(game).__name__} whose rules look back lasts {MOST_PLIES - 1} plies at most, not "
            f"{game.max_plies}; lower its max_plies"
        )
    keys = jnp.zeros((rows, 2), jnp.uint32)
    if rows:
        keys = keys.at[0].set(game.repetition_key(state))
    trace = game.begin_trace(state) if game.repetition == "forbidden" else ()
    return History(keys, jnp.int16(min(rows, 1)), jnp.int8(RUNNING), trace)


def occurrences(history: History, key: UInt32[Array, "2"]) -> Int16[Array, ""]:
    """How often the game has seen this key."""
    valid = jnp.arange(history.keys.shape[0], dtype=jnp.int16) < history.size
    same = (history.keys[:, 0] == key[0]) & (history.keys[:, 1] == key[1])
    return jnp.sum(valid & same, dtype=jnp.int16)


def record(game: Game[S], history: History, before: S, state: S, frozen: Bool[Array, ""]) -> History:
    """The history after a move from `before` to `state`, with a verdict where the repetition rule gives one.

    A `frozen` history stays as it is. (A select between two whole histories would copy them at every move.)
    """
    if game.repetition == "none":
        return history
    key = game.repetition_key(state)
    verdict = verdict_of(game, history, before, key)
    slot = jnp.where(frozen, history.keys.shape[0], history.size)
    keys = history.keys.at[slot].set(key, mode="drop")
    verdict = jnp.where(frozen, history.verdict, verdict)
    trace = history.trace
    if game.repetition == "forbidden":
        # a history cut back to its first key begins a new game
        begun = game.begin_trace(before)
        trace = where_lanes(history.size <= 1, begun, trace)
        trace = game.extend_trace(trace, before, state)
    return History(keys, history.size + (~frozen).astype(jnp.int16), verdict, trace)


def verdict_of(game: Game[S], history: History, before: S, key: UInt32[Array, "2"]) -> Int8[Array, ""]:
    """What a move from `before` to the position of a key comes to; nothing is recorded."""
    if not judges(game):
        return history.verdict
    seen = occurrences(history, key)
    if game.repetition == "draw":  # the third occurrence ends the game
        return jnp.where(seen >= 2, jnp.int8(DRAWN), history.verdict)
    # who brings a position back loses
    return jnp.where(seen >= 1, jnp.int8(LOST_BY_0) + before.to_play.astype(jnp.int8), history.verdict)


def judges(game: Game[Any]) -> bool:
    """Whether a position that comes back may end the game."""
    return game.repetition in ("draw", "loss")


def allowed(
    game: Game[S], history: History, state: S, mask: Bool[Array, " A"], live: Bool[Array, ""]
) -> Bool[Array, " A"]:
    """The actions of `mask` that the repetition rule leaves in a game that is live.

    Only suspects are looked at, one after the other; mostly there are none, and nothing is done.
    """
    if game.repetition != "forbidden":
        return mask

    def check(carry: tuple[Bool[Array, " A"], Int32[Array, ""]]) -> tuple[Bool[Array, " A"], Int32[Array, ""]]:
        left, action = carry
        repeats = occurrences(history, game.repetition_key(game.step(state, action))) > 0
        left &= ~((jnp.arange(game.num_actions) == action) & repeats)
        return left, game.next_suspect(state, history.trace, action)

    first = jnp.where(live, game.next_suspect(state, history.trace, jnp.int32(-1)), game.num_actions)
    return jax.lax.while_loop(lambda carry: carry[1] < game.num_actions, check, (mask, first))[0]


def over(history: History) -> Bool[Array, ""]:
    """Whether repetition ended the game."""
    return history.verdict != RUNNING


def returns(history: History) -> Float32[Array, " 2"]:
    """The result that repetition gave."""
    lost = jnp.stack([history.verdict == LOST_BY_0, history.verdict == LOST_BY_1]).astype(jnp.float32)
    return lost[::-1] - lost


def kept(history: History) -> bool:
    """Whether the rules look back at all; if they do, a search tree, which does not look back at its own lines, can
    prove little for certain."""
    return history.keys.shape[-2] > 0


def alone(game: Game[S], history: History) -> Bool[Array, " B"]:
    """Of a batch: whether what the rules decide without the past is so in the real game, too.

    Where a position is drawn when it comes for the third time, it is, unless the past has one twice: who can win can do
    so without coming to any position twice, and who can hold a draw can do so with more draws.
    """
    games = history.size.shape[0]
    if game.repetition == "none":
        return jnp.ones(games, bool)
    if game.repetition != "draw":
        return jnp.zeros(games, bool)

    def twice(history: History) -> Bool[Array, ""]:
        blank = jnp.arange(history.keys.shape[0]) >= history.size
        # equal ones lie side by side: a table of all pairs would be large
        *words, blank = jax.lax.sort((history.keys[:, 0], history.keys[:, 1], blank), num_keys=3)
        same = (words[0][1:] == words[0][:-1]) & (words[1][1:] == words[1][:-1])
        return (same & ~blank[1:] & ~blank[:-1]).any()

    return ~jax.vmap(twice)(history)


def steady(game: Game[S], history: History) -> Bool[Array, " B"]:
    """Of a batch: whether what a search found before the last moves is still so: no position may end the game by now
    as soon as it comes back, which did not then."""
    return alone(game, history) if judges(game) else jnp.ones(history.size.shape[0], bool)
