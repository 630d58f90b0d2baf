"""Where games begin: random balanced moves that are distinct up to symmetry, or a book of openings in a file.

Where random moves give one seat the game a pair of games tells nothing of its players: playouts sort such openings out,
where games are short, or a player does, whoever is asked for.

Opening i is the same however many are asked for, so a longer match begins with the games of a shorter one. Where all
openings of a length are drawn, longer ones follow; where there are none left, `numbers` is at its end.
"""

import functools
import itertools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int32, UInt32

from jaxgo.core import choice, play
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.lanes import where_lanes
from jaxgo.core.play import Position
from jaxgo.core.replay import BookLine, follow_all, padded, read_lines
from jaxgo.evaluators.base import Params
from jaxgo.evaluators.rollout import Rollout
from jaxgo.players import Player
from jaxgo.search import Chain, Random
from jaxgo.search.base import Search
from jaxgo.search.model import Model

BATCH = 256  # candidates that are drawn at once
LONGEST = 16  # random plies
ENOUGH = 200  # distinct openings; more plies are played as long as there are fewer
PATIENCE = 3 * BATCH  # candidates without anything new after which there are no more
SHORT = 100  # plies of a game whose openings are judged unasked: elsewhere a few random moves decide little
PLAYOUTS = 16  # that judge whether a candidate is balanced
BY_PLAYOUTS, BY_PLAYER = 0.6, 0.3  # the value to either seat that still passes for balanced, by who says it


Line = tuple[int, ...]
Candidate = tuple[Line, bytes] | None  # an opening with the key that its mirror images share; None: not usable
Worth = Callable[[Array, Position], Float32[Array, " B"]]  # what positions are worth to either seat, by luck of a key


class Openings:
    """Distinct openings of a game, as the actions that lead there, drawn when they are needed.

    A stream of candidates is left for the next one after `patience` of them without anything new. When there are no
    more streams, the first openings come again: look at `distinct`, or take `numbers`.
    """

    def __init__(self, game: Game[Any], streams: Iterable[Iterable[Candidate]], patience: float = PATIENCE) -> None:
        self.game, self._patience = game, patience
        self._fresh = self._draw(iter(streams))
        self._lines: list[Line] = []
        self._spent = False

    def _draw(self, streams: Iterator[Iterable[Candidate]]) -> Iterator[Line]:
        """Each opening once, however many of its images are among the candidates."""
        found = set()
        for candidates in streams:
            stale = 0
            for candidate in candidates:
                if candidate and candidate[1] not in found:
                    found.add(candidate[1])
                    stale = 0
                    yield candidate[0]
                stale += 1
                if stale > self._patience:
                    break

    def actions(self, number: int) -> Line:
        """The moves of opening `number`."""
        while number >= len(self._lines) and not self._spent:
            line = next(self._fresh, None)
            if line is None:
                self._spent = True
            else:
                self._lines.append(line)
        if not self._lines:
            raise UsageError("no game is live and balanced after these random plies; ask for fewer, or more balance")
        return self._lines[number % len(self._lines)]

    def distinct(self, count: int) -> int:
        """How many of the first `count` openings differ."""
        if count < 1:
            return 0
        self.actions(count - 1)
        return min(count, len(self._lines))

    @property
    def most(self) -> int | None:
        """How many openings there are; None as long as that is not known."""
        return len(self._lines) if self._spent else None

    def numbers(self, count: int, luck: bool = False) -> range:
        """The openings of a match of so many pairs: without luck (see `Player.lucky`) none of them twice."""
        return range(count if luck else self.distinct(count))

    def names(self, number: int) -> tuple[str, ...]:
        """The moves of an opening as people write them."""
        return tuple(self.game.action_name(action) for action in self.actions(number))

    def positions(self, numbers: Sequence[int]) -> Position:
        """The positions after these openings, as a batch."""
        return follow_all(self.game, [self.actions(number) for number in numbers]).position


def random_openings(
    game: Game[Any],
    *,
    seed: int = 0,
    plies: int | None = None,
    balance: float | None = None,
    judge: Player | None = None,
) -> Openings:
    """Openings of `plies` random moves; None: as many as it takes to have enough different ones, then longer ones.

    Where one seat wins by more than `balance` an opening is left out; 1 asks nobody. `judge` is the player who says so.
    Without one random playouts do, and unasked (None) in short games alone.
    """
    if plies is not None and not 0 <= plies <= LONGEST:
        raise UsageError(f"openings have 0 to {LONGEST} random plies, not {plies}")
    if balance is not None and not 0.0 < balance <= 1.0:
        raise UsageError(f"the balance of openings is a number above 0 and up to 1, not {balance}")
    if balance is None:
        balance = BY_PLAYER if judge else BY_PLAYOUTS if game.max_plies <= SHORT else 1.0
    worth = by_player(judge) if judge else functools.partial(_by_playouts, game)
    if plies is not None:
        return Openings(game, [_candidates(game, seed, plies, balance, worth)])
    return Openings(game, _longer_and_longer(game, seed, balance, worth))


def by_player(player: Player) -> Worth:
    """What a player's search says of positions."""
    search = player.search
    if isinstance(search.search if isinstance(search, Chain) else search, Random):
        raise UsageError(f"{player.name} has no word on positions; let a search or a network say what is balanced")
    return functools.partial(_by_search, search, player.model, player.params)


def book(game: Game[Any], path: str | os.PathLike[str]) -> Openings:
    """The openings of a file, one a line."""
    lines = read_lines(game, path)
    if not lines:
        raise UsageError(f"there are no openings in {path}; write one a line, such as d4 e5")
    return Openings(game, [_checked(game, lines)], math.inf)  # a file has an end


def start_only(game: Game[Any]) -> Openings:
    """The start of the game and nothing else."""
    return Openings(game, [[((), b"")]])


# -- random candidates ----------------------------------------------------------------------------------------------


def _most(game: Game[Any]) -> int:
    """The most random plies that are played unasked: a quarter of the game, and less where games are long."""
    return max(1, min(8, game.max_plies // 4))


def _longer_and_longer(game: Game[Any], seed: int, balance: float, worth: Worth) -> Iterator[Iterator[Candidate]]:
    """Streams of openings, the first of as many plies as it takes to have enough; nothing is played before."""
    plies = next((p for p in range(1, _most(game)) if _variety(game, seed, p) >= ENOUGH), _most(game))
    longest = min(LONGEST, max(plies, game.max_plies - 1))
    for length in range(plies, longest + 1):
        yield _candidates(game, seed, length, balance, worth)


def _variety(game: Game[Any], seed: int, plies: int) -> int:
    """How many different openings there are among the first candidates."""
    some = itertools.islice(_candidates(game, seed, plies, 1.0, None), 2 * BATCH)
    return len({candidate[1] for candidate in some if candidate})


def _candidates(game: Game[Any], seed: int, plies: int, balance: float, worth: Worth | None) -> Iterator[Candidate]:
    """Random openings without end."""
    for first in itertools.count(0, BATCH):
        position, actions = _wander(game, jnp.int32(seed), jnp.int32(plies), jnp.int32(first))
        usable = ~np.asarray(_over(game, position))
        if worth and balance < 1.0:
            value = worth(jax.random.fold_in(jax.random.key(seed), first), position)
            usable &= np.abs(np.asarray(value)) <= balance
        names = canonical(game, np.asarray(actions).T, np.full(BATCH, plies, np.int32))
        lines = np.asarray(actions)[:plies].T.tolist()
        for good, line, name in zip(usable.tolist(), lines, names, strict=True):
            yield (tuple(line), name) if good else None


@functools.partial(jax.jit, static_argnums=0)
def _wander(
    game: Game[Any], seed: Int32[Array, ""], plies: Int32[Array, ""], first: Int32[Array, ""]
) -> tuple[Position, Int32[Array, "T B"]]:
    """Random moves from the start, in a batch of games, and what they were."""
    lanes = first + jnp.arange(BATCH, dtype=jnp.int32)
    streams = jax.vmap(choice.word, (None, 0))(seed, lanes)
    start = jax.tree.map(lambda x: jnp.stack([x] * BATCH), play.start(game, jax.random.key(0)))

    def move(carry: Any, ply: Int32[Array, ""]) -> tuple[Any, Int32[Array, " B"]]:
        words = jax.vmap(choice.word, (None, 0))(ply, streams)
        legal = jax.vmap(functools.partial(play.legal, game))(carry)
        action = jax.vmap(choice.pick)(legal, words)
        moved, _ = jax.vmap(functools.partial(play.play, game))(carry, action)
        return where_lanes(ply < plies, moved, carry), action

    return jax.lax.scan(move, start, jnp.arange(LONGEST, dtype=jnp.int32))


@functools.partial(jax.jit, static_argnums=0)
def _over(game: Game[Any], position: Position) -> Bool[Array, " B"]:
    return jax.vmap(functools.partial(play.over, game))(position)


@functools.partial(jax.jit, static_argnums=0)
def _by_playouts(game: Game[Any], key: Array, position: Position) -> Float32[Array, " B"]:
    return Rollout(count=PLAYOUTS)(game, (), key, position.state).value


@functools.partial(jax.jit, static_argnums=(0, 1))
def _by_search(search: Search, model: Model, params: Params, key: Array, position: Position) -> Float32[Array, " B"]:
    worth: Float32[Array, " B"] = search.run(model, params, key, position).worth
    return worth


# -- what is the same opening ---------------------------------------------------------------------------------------


def canonical(game: Game[Any], actions: Int32[np.ndarray, "B P"], lengths: Int32[np.ndarray, " B"]) -> list[bytes]:
    """For each line of moves from the start, bytes that all lines to its position or to a mirror image of it share.

    They are the smallest key of the positions after the line and after its images. What a position came from does not
    matter, although planes of a network may show it.
    """
    images = np.argsort(game.symmetries().actions[play.keeping(game)], axis=1).astype(np.int32)
    keys = np.asarray(_keys(game, images[:, actions], lengths)).astype(np.uint64)
    return [key.tobytes() for key in (keys[..., 0] << np.uint64(32) | keys[..., 1]).min(axis=0)]


@functools.partial(jax.jit, static_argnums=0)
def _keys(
    game: Game[Any], actions: Int32[np.ndarray | Array, "G B P"], lengths: Int32[np.ndarray | Array, " B"]
) -> UInt32[Array, "G B 2"]:
    """The keys of the positions after these moves, which are states alone: images of a line are legal as it is."""

    def one(line: Int32[Array, " P"], length: Int32[Array, ""]) -> UInt32[Array, "2"]:
        def move(state: Any, ply: Int32[Array, ""]) -> tuple[Any, None]:
            moved = game.step(state, line[ply])
            return where_lanes(ply < length, moved, state), None

        begin = play.start(game, jax.random.key(0)).state
        return game.hash(jax.lax.scan(move, begin, jnp.arange(line.shape[0], dtype=jnp.int32))[0])

    return jax.vmap(jax.vmap(one), (0, None))(jnp.asarray(actions), jnp.asarray(lengths))


# -- openings that somebody wrote -----------------------------------------------------------------------------------


def _checked(game: Game[Any], read: Sequence[BookLine]) -> list[Candidate]:
    """The lines with their names; a UsageError at the first that is not legal, or that ends the game."""
    lines = [line.actions for line in read]
    found = follow_all(game, lines)
    over, names = np.asarray(_over(game, found.position)), canonical(game, *padded(lines, max(map(len, lines))))
    for (place, line), good, ended in zip(read, np.asarray(found.made).tolist(), over.tolist(), strict=True):
        if good < len(line):
            raise UsageError(f"{place}: move {good + 1}, {game.action_name(line[good])}, is not legal there")
        if ended:
            raise UsageError(f"{place}: the game is over after these moves; leave the last one out")
    return [(tuple(line), name) for line, name in zip(lines, names, strict=True)]
