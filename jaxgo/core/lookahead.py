"""What one move and one reply come to, for every legal move of one position: by playing them, whatever the game.

Moves and replies are tried one after the other, so a game with thousands of action numbers costs no more than its
legal ones; a batch of positions goes side by side.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int32

from jaxgo.core.lanes import where_lanes


class Lookahead(NamedTuple):
    """Of every legal action; False and 0 elsewhere."""

    wins: Bool[Array, " A"]  # ends the game, won
    loses: Bool[Array, " A"]  # ends it lost, or lets a reply do so
    takes: Int32[Array, " A"]  # pieces of the other seat that vanish
    exposes: Bool[Array, " A"]  # a reply takes pieces that the mover has behind this move
    idle: Bool[Array, " A"]  # changes nothing on the board: a pass


class _Walk(NamedTuple):
    action: Int32[Array, ""]  # that is looked at
    after: Any
    held: Int32[Array, ""]  # pieces of the mover behind this action
    replies: Bool[Array, " A"]  # still to be tried
    moves: Bool[Array, " A"]  # still to be looked at, this one apart
    found: Lookahead


def _pieces(game: Any, state: Any, seat: Array) -> Int32[Array, ""]:
    """How many pieces a seat has on the board."""
    owner = np.array([piece.seat for piece in game.pieces], np.int8)
    return (jnp.asarray(owner)[game.cells(state)] == seat).sum(dtype=jnp.int32)


def look(game: Any, state: Any, legal: Bool[Array, " A"]) -> Lookahead:
    """Plays every legal move, and every reply of the other seat."""
    nothing = jnp.zeros_like(legal)
    seat = state.to_play
    other = jnp.int8(1) - seat
    before = _pieces(game, state, other)
    found = Lookahead(nothing, nothing, jnp.zeros(legal.shape, jnp.int32), nothing, nothing)
    begun = _Walk(jnp.int32(0), state, jnp.int32(0), nothing, legal, found)

    def visit(walk: _Walk) -> _Walk:
        action = jnp.argmax(walk.moves).astype(jnp.int32)
        after = game.step(state, action)
        over, result = game.over(after), game.returns(after)[seat]
        answers = game.legal(after) & ~over & (after.to_play != seat)
        taken = jnp.maximum(before - _pieces(game, after, other), 0)
        same = (game.cells(after) == game.cells(state)).all()
        found = walk.found
        found = Lookahead(
            wins=found.wins.at[action].set(over & (result > 0)),
            loses=found.loses.at[action].set(over & (result < 0)),
            takes=found.takes.at[action].set(taken),
            exposes=found.exposes,
            idle=found.idle.at[action].set(same),
        )
        return _Walk(action, after, _pieces(game, after, seat), answers, walk.moves.at[action].set(False), found)

    def answer(walk: _Walk) -> _Walk:
        reply = jnp.argmax(walk.replies).astype(jnp.int32)
        then = game.step(walk.after, reply)
        lost = game.over(then) & (game.returns(then)[seat] < 0)
        hurt = _pieces(game, then, seat) < walk.held
        found = walk.found._replace(
            loses=walk.found.loses.at[walk.action].max(lost), exposes=walk.found.exposes.at[walk.action].max(hurt)
        )
        return walk._replace(replies=walk.replies.at[reply].set(False), found=found)

    def step(walk: _Walk) -> _Walk:
        answering = walk.replies.any()
        return where_lanes(answering, answer(walk), visit(walk))

    return jax.lax.while_loop(lambda w: w.moves.any() | w.replies.any(), step, begun).found


def passes(game: Any, state: Any, legal: Bool[Array, " A"]) -> Bool[Array, " A"]:
    """The legal moves that change nothing on the board."""

    def visit(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        left, found = carry
        action = jnp.argmax(left).astype(jnp.int32)
        same = (game.cells(game.step(state, action)) == game.cells(state)).all()
        return left.at[action].set(False), found.at[action].set(same)

    return jax.lax.while_loop(lambda c: c[0].any(), visit, (legal, jnp.zeros_like(legal)))[1]
