"""Games that are played again: from the actions of a line, or from the names of its moves."""

import contextlib
import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int32

from jaxgo.core import play, position_text
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.play import Position

SOME = 8  # legal moves that are named where another one was asked for

See = Callable[[Game[Any], Position], Any]  # what is kept of a position; a function of a module, so that it is one key


class Followed(NamedTuple):
    """Where a line led, as far as its moves were legal, and what was seen on the way."""

    position: Position  # after the legal moves
    made: Int32[Array, "*B"]  # how many those are: all, or those before the first that is not legal
    seen: Any  # of each position from the start to that one; behind it zeros


def follow(game: Game[Any], start: Position, line: Sequence[int], see: See | None = None) -> Followed:
    """Plays these actions from a position, up to the first that is not legal."""
    (actions,), (count,) = padded([line], _width(game, len(line)))
    return _follow(game, see, start, actions, count)


def follow_all(game: Game[Any], lines: Sequence[Sequence[int]]) -> Followed:
    """The same for many lines from the start of the game, side by side."""
    actions, counts = padded(lines, _width(game, max(map(len, lines))))
    return _follow_all(game, play.begin(game), actions, counts)


def padded(lines: Sequence[Sequence[int]], width: int) -> tuple[np.ndarray, np.ndarray]:
    """The lines as an array so wide, and their lengths."""
    actions = np.zeros((len(lines), max(1, width)), np.int32)
    for row, line in zip(actions, lines, strict=True):
        row[: len(line)] = line
    return actions, np.array([len(line) for line in lines], np.int32)


def _width(game: Game[Any], longest: int) -> int:
    """Of padded lines: the same for all of a game, so that they are one program, but for those that cannot be legal."""
    return game.max_plies if longest <= game.max_plies else 1 << longest.bit_length()


@functools.partial(jax.jit, static_argnums=(0, 1))
def _follow(
    game: Game[Any],
    see: See | None,
    start: Position,
    line: Int32[np.ndarray | Array, " T"],
    count: Int32[np.ndarray | np.int32 | Array, ""],
) -> Followed:
    line, count = jnp.asarray(line), jnp.asarray(count)

    def looked(seen: Any, ply: Array, position: Position) -> Any:
        return jax.tree.map(lambda all_, one: all_.at[ply].set(one), seen, see(game, position) if see else ())

    def goes_on(now: Followed) -> Array:
        return (now.made < count) & play.legal(game, now.position)[line[now.made]]

    def move(now: Followed) -> Followed:
        position, _ = play.play(game, now.position, line[now.made])
        return Followed(position, now.made + 1, looked(now.seen, now.made + 1, position))

    shapes = jax.eval_shape(functools.partial(see, game), start) if see else ()
    seen = jax.tree.map(lambda one: jnp.zeros((line.shape[0] + 1, *one.shape), one.dtype), shapes)
    # stops at an illegal move rather than to choose between two positions at every ply, which copies histories
    return jax.lax.while_loop(goes_on, move, Followed(start, jnp.int32(0), looked(seen, jnp.int32(0), start)))


@functools.partial(jax.jit, static_argnums=0)
def _follow_all(
    game: Game[Any],
    start: Position,
    lines: Int32[np.ndarray | Array, "B T"],
    counts: Int32[np.ndarray | Array, " B"],
) -> Followed:
    return jax.vmap(functools.partial(_follow, game, None, start))(jnp.asarray(lines), jnp.asarray(counts))


def split_moves(text: str) -> list[str]:
    """The names in a list of moves; blanks and commas part them, so no name has one (see `Game.action_name`)."""
    return text.replace(",", " ").split()


class BookLine(NamedTuple):
    """A line of moves in a file."""

    place: str  # the file and the number of the line
    actions: list[int]


def read_lines(game: Game[Any], path: str | os.PathLike[str]) -> list[BookLine]:
    """The lines of a book: names of moves parted by blanks or commas; # begins a comment, - stands for no moves."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read the book {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read the book {path}: {error}") from None
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        words, place = split_moves(line.partition("#")[0]), f"{path}, line {number}"
        try:
            actions = [game.parse_action(word) for word in words if word != "-"]
        except UsageError as error:
            raise UsageError(f"{place}: {error}") from None
        if words:
            found.append(BookLine(place, actions))
    return found


def replay(game: Game[Any], moves: Sequence[str], start: str = "", seed: int = 0) -> tuple[Position, int | None]:
    """The position after these moves, and the last of them; a UsageError names the first that is not legal.

    They begin at the start of the game, which `seed` draws if the game draws it, or at a position as text (see
    `position_text`).
    """
    position, before = position_text.read(game, start or position_text.START, seed)
    names, line, unread = [*before, *moves], list[int](), "names no move of this game"
    with contextlib.suppress(UsageError):  # told below, where the moves before it are legal
        for name in names:
            meant = _read(game, position, line, name)
            if len(meant) != 1:
                unread = f"may be any of {', '.join(map(game.action_name, meant))}" if meant else "is not legal"
                break
            line += meant
    found = follow(game, position, line)
    made = int(found.made)
    if made < len(names):
        wrong = "is not legal" if made < len(line) else unread
        legal = some_legal(game, play.look(game, found.position).legal)
        raise UsageError(f"move {made + 1}, {names[made].strip()!r}, {wrong}; legal moves are: {legal}")
    return found.position, line[-1] if line else None


def _read(game: Game[Any], start: Position, line: Sequence[int], name: str) -> list[int]:
    """The actions of a name behind a line, on which it may depend."""
    try:
        return [game.parse_action(name)]
    except UsageError:
        view = play.look(game, follow(game, start, line).position)
        return game.named(name, view.cells, view.legal)


def some_legal(game: Game[Any], mask: np.ndarray) -> str:
    """The names of the first legal actions of a mask, for a message."""
    legal = np.flatnonzero(mask).tolist()
    more = f" and {len(legal) - SOME} more" if len(legal) > SOME else ""
    return ", ".join(game.action_name(a) for a in legal[:SOME]) + more or "none: the game is over"


def status(game: Game[Any], position: Position) -> str:
    """Who moves, or how it ended."""
    ply, counted = int(position.state.ply), score(game, position.state)
    points = f", score {counted}" if counted else ""
    view = play.look(game, position)
    if view.over:
        result = ", ".join(f"{value + 0.0:+g}" for value in view.returns)
        return f"over after {ply} plies{points}; result for each seat: {result}"
    return f"ply {ply}, seat {view.seat} to move, {int(view.legal.sum())} legal actions{points}"


def score(game: Game[Any], state: Any) -> str:
    """The points of both seats; nothing in games that count none."""
    return " : ".join(f"{points:.4g}" for points in play.scores(game, state) or ())
