"""Playing by the rules: how a node moves (`advance`) and how a game moves (`play`).

This is the one place of the sign law: `value_before = reward + discount * value_after`, all values being for the
side to move; discount is -1 when the mover changes, +1 when the same seat moves again, 0 when the game is over.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int32

from jaxgo.core import history as histories
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Action, Game, S
from jaxgo.core.history import History
from jaxgo.core.lanes import where_lanes

NOTHING = -1  # the action that leaves a game as it is


class Transition(NamedTuple):
    """A move: where it led, its reward for the seat that moved, and the discount of what follows."""

    state: Any  # the game's own NamedTuple
    reward: Float32[Array, ""]
    discount: Float32[Array, ""]


class Position(NamedTuple):
    """What a game carries. A tree node carries only the state."""

    state: Any  # the game's own NamedTuple
    history: History


class View(NamedTuple):
    """A position as people and referees look at it; all but the position itself is on the host."""

    position: Position
    legal: np.ndarray  # bool[A]
    over: bool
    seat: int  # that moves
    returns: tuple[float, ...]  # read only when over
    cells: np.ndarray  # int8[cells]


def _transition(before: S, after: S, over: Bool[Array, ""], returns: Float32[Array, " P"]) -> Transition:
    reward = jnp.where(over, returns[before.to_play], 0.0).astype(jnp.float32)
    turn = jnp.where(before.to_play == after.to_play, 1.0, -1.0)
    return Transition(after, reward, jnp.where(over, 0.0, turn).astype(jnp.float32))


def step(game: Game[S], state: S, action: Action) -> S:
    """Where a move of a node leads; a finished state stands still."""
    return where_lanes(game.over(state), state, game.step(state, action))


def advance(game: Game[S], state: S, action: Action) -> Transition:
    """Moves a node. A finished state stands still, with reward and discount 0."""
    done, after = game.over(state), step(game, state, action)
    moved = _transition(state, after, game.over(after), game.returns(after))
    return moved._replace(reward=jnp.where(done, 0.0, moved.reward))


def start(game: Game[S], key: Array) -> Position:
    """The start of a game."""
    return resume(game, game.init(key))


def resume(game: Game[S], state: S) -> Position:
    """A game that starts at any state, with nothing behind it."""
    return Position(state, histories.begin(game, state))


def play(game: Game[S], position: Position, action: Action) -> tuple[Position, Transition]:
    """Moves a game by a legal action, repetition rules included. A finished game stands still."""
    before, past = position
    done = over(game, position)
    state = where_lanes(done, before, game.step(before, action))
    after = Position(state, histories.record(game, past, before, state, frozen=done))
    moved = _transition(before, after.state, over(game, after), returns(game, after))
    return after, moved._replace(reward=jnp.where(done, 0.0, moved.reward))


def legal(game: Game[S], position: Position) -> Bool[Array, " A"]:
    """The exact legal actions of a game; none when it is over."""
    state, history = position
    live = ~over(game, position)
    return histories.allowed(game, history, state, game.legal(state) & live, live)


def over(game: Game[S], position: Position) -> Bool[Array, ""]:
    """Whether a game has ended, by its rules or by repetition."""
    ended = game.over(position.state)
    return ended if game.repetition in ("none", "forbidden") else ended | histories.over(position.history)


def returns(game: Game[S], position: Position) -> Float32[Array, " P"]:
    """The result for each seat of a game that is over."""
    result = game.returns(position.state).astype(jnp.float32)  # rules of somebody's own may have 64 bits
    if game.repetition in ("none", "forbidden"):
        return result
    return jnp.where(histories.over(position.history), histories.returns(position.history)[: game.players], result)


# -- from the host: each game is compiled once in a process ------------------------------------------------------------


def begin(game: Game[S], seed: int = 0) -> Position:
    """The start of a game, which `seed` draws if the game draws it."""
    return _start(game, jax.random.key(seed))


@functools.partial(jax.jit, static_argnums=0)
def _start(game: Game[Any], key: Array) -> Position:
    return start(game, key)


@functools.partial(jax.jit, static_argnums=0)
def put(game: Game[Any], state: Any) -> Position:
    """A game that starts at any state, as `resume` makes it."""
    return resume(game, state)


def cells(game: Game[Any], state: Any) -> np.ndarray:
    """`int8[cells]`: the board of a state."""
    codes = np.asarray(_cells(game, state))
    strange = codes[(codes < 0) | (codes >= len(game.pieces))]
    if len(strange):
        last = len(game.pieces) - 1
        raise UsageError(
            f"cells of {type(game).__name__} gives {strange[0]}, and its last piece is {last}; make each code a piece"
        )
    return codes


@functools.partial(jax.jit, static_argnums=0)
def _cells(game: Game[Any], state: Any) -> Array:
    return game.cells(state)


def scores(game: Game[Any], state: Any) -> list[float] | None:
    """What each seat has scored so far; None in games that count no points."""
    found = game.scores(state)  # not compiled: most games have nothing to say
    return None if found is None else [float(points) for points in found]


@functools.lru_cache(maxsize=256)
def keeping(game: Game[Any]) -> list[int]:
    """The symmetries that leave the start as it is; the others belong to other starts, or change the seats."""
    planes = np.asarray(_planes(game))
    planes = planes.reshape(-1, planes.shape[-1])
    return [g for g, cells in enumerate(game.symmetries().cells) if (planes[cells] == planes).all()]


@functools.partial(jax.jit, static_argnums=0)
def _planes(game: Game[Any]) -> Array:
    return game.observe(start(game, jax.random.key(0)).state)


def alike(game: Game[Any], one: Any, other: Any) -> bool:
    """Whether two states have the same key."""
    return bool(_alike(game, one, other))


@functools.partial(jax.jit, static_argnums=0)
def _alike(game: Game[Any], one: Any, other: Any) -> Bool[Array, ""]:
    return (game.hash(one) == game.hash(other)).all()


def look(game: Game[Any], position: Position, action: int = NOTHING) -> View:
    """The position after an action, seen from the host; `NOTHING` only looks."""
    position, mask, done, seat, gains, cells = _look(game, position, jnp.int32(action))
    result = tuple(float(gain) for gain in np.asarray(gains))
    return View(position, np.asarray(mask), bool(done), int(seat), result, np.asarray(cells))


@functools.partial(jax.jit, static_argnums=0)
def _look(game: Game[Any], position: Position, action: Int32[Array, ""]) -> tuple[Any, ...]:
    moved, _ = play(game, position, jnp.maximum(action, 0))
    position = where_lanes(action >= 0, moved, position)
    seen = position.state.to_play, returns(game, position), game.cells(position.state)
    return position, legal(game, position), over(game, position), *seen


def compiled() -> int:
    """How many games `look` knows."""
    program: Any = _look
    return int(program._cache_size())
