"""Searching against the clock, from outside: chunks of a search, with the clock and a stop flag read between them.

The compiled programs are those of this file, one for each verb; search and model are static, the budget is traced, so
neither another budget nor another chunk compiles anything. What does compile is another batch shape, and a tree that
had to grow: each time to twice its room, so rarely.
"""

import dataclasses
import functools
import math
import numbers
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int32

from jaxgo.core import keys
from jaxgo.core.errors import UsageError
from jaxgo.core.play import Position
from jaxgo.evaluators.base import MOST, Params
from jaxgo.search import health, reuse
from jaxgo.search.base import Budget, Search, SearchResult, SearchState, Temperature, check_parts
from jaxgo.search.model import Model, check_batch, check_moves
from jaxgo.search.tree import Tree

CHUNK_SECONDS = 0.15  # what a chunk should take: short for the eye, long beside the cost of a call
FIRST_CHUNK = 16
MOST_BYTES = 2**31  # a tree that would be larger than this grows no more
# room at the start where nobody limits the search, or for each second of a clock: what a core makes of a small game
MOST_AHEAD, BYTES_AHEAD = 2**14, 2**28
SURE = 0.8  # of what a clock's time will bring is planned: it is better to end early than to be cut short
GROWING = 10.0  # seconds that must be left on a clock for a tree to grow


def _own(root: Position) -> Position:
    """A copy: a state is given away with all its arrays when it is extended, and the caller keeps his position."""
    return jax.tree.map(jnp.copy, root)


# XLA shares an operation out among the cores of a processor by the size of what it reads from, and a simulation of one
# game reads a few numbers of columns that are as long as the tree: it would wait for the other cores each time
UNPARTED = {"xla_disable_hlo_passes": "cpu-parallel-task-assigner"}
LARGE = 2**18  # numbers of a network from which on its own layers are worth parting


class _Searching:
    """A program of searches; for a single game on a processor operations stay whole, unless the network is large."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self.parted = jax.jit(function, static_argnums=(0, 1), **options)
        self.whole = jax.jit(function, static_argnums=(0, 1), compiler_options=UNPARTED, **options)

    def program(self, model: Model, params: Params, games: int) -> Any:
        small = sum(np.size(x) for x in jax.tree.leaves(params)) < LARGE
        return self.whole if model.on_cpu and games == 1 and small else self.parted

    def __call__(self, search: Search, model: Model, params: Params, key: Array, state: Any, *more: Any) -> Any:
        games: int = state.done.shape[0]
        return self.program(model, params, games)(search, model, params, key, state, *more)

    def _cache_size(self) -> int:
        programs: tuple[Any, ...] = self.parted, self.whole
        return sum(program._cache_size() for program in programs)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _begin(search: Search, model: Model, params: Params, key: Array, root: Position, plan: Budget | None) -> Any:
    return search.begin(model, params, key, _own(root), plan)


@functools.partial(_Searching, donate_argnums=4)
def _extend(search: Search, model: Model, params: Params, key: Array, state: Any, budget: Budget) -> Any:
    return search.extend(model, params, key, state, budget)


@_Searching
def _whole(search: Search, model: Model, params: Params, key: Array, state: Any) -> Any:
    return search.extend(model, params, key, state, search.budget)


@functools.partial(jax.jit, static_argnums=0)
def _result(search: Search, key: Array, state: Any, temperature: Temperature) -> SearchResult:
    return search.result(key, state, temperature)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _follow(
    search: Search,
    model: Model,
    params: Params,
    key: Array,
    state: Any,
    action: Int32[Array, " B"],
    root: Position,
    plan: Budget | None,
) -> Any:
    return search.follow(model, params, key, state, action, _own(root), plan)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _line(search: Search, model: Model, params: Params, state: Any) -> Array | None:
    return search.line(model, params, state)


_grow = functools.partial(jax.jit, static_argnums=1)(reuse.grow)


def compiled() -> int:
    """How many searches are compiled in this process: one for each player and game that has thought."""
    program: Any = _begin
    return int(program._cache_size())


@dataclasses.dataclass(frozen=True)
class Limit:
    """When to stop: after so many simulations of each game, or after so many seconds, whichever is first."""

    simulations: int | None = None  # of each game
    seconds: float | None = None  # by the clock on the wall

    def __post_init__(self) -> None:
        if not isinstance(self.simulations, int | np.integer | None) or isinstance(self.simulations, bool):
            raise UsageError(f"a limit counts whole simulations, not {self.simulations!r}")
        a_number = isinstance(self.seconds, int | float | np.integer | np.floating | None)
        if not a_number or isinstance(self.seconds, bool):
            raise UsageError(f"the seconds of a limit are a number, not {self.seconds!r}")
        if not self.simulations and not self.seconds:
            raise UsageError("a limit needs simulations or seconds above 0")
        if not (0 <= (self.simulations or 0) <= MOST and 0.0 <= (self.seconds or 0.0) < math.inf):
            raise UsageError(
                f"a limit is 0 to {MOST:,} simulations and a finite time: simulations={self.simulations}, "
                f"seconds={self.seconds}"
            )


class Snapshot(NamedTuple):
    """What a search knows so far; numpy arrays, which stay as they are while the search goes on."""

    result: SearchResult
    simulations: np.ndarray  # int32[B]: so far, those of a kept tree not counted
    seconds: float


class Thinker:
    """One search over one batch of games, driven from the host: think, ponder, stop, follow the game.

    Only `stop` may be called from another thread while it thinks; it ends the thought that is under way.
    """

    def __init__(
        self,
        search: Search,
        model: Model,
        params: Params,
        key: Array,
        temperature: float = 0.0,
        chunk_seconds: float = CHUNK_SECONDS,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        check_parts(search, model)
        keys.check_one(key)
        given: dict[str, Any] = {"temperature": temperature, "chunk_seconds": chunk_seconds, "most_bytes": most_bytes}
        for name, value in given.items():
            if not isinstance(value, numbers.Real) or not 0.0 <= float(value) < math.inf:
                raise UsageError(f"{name} of a thinker is a number of at least 0, not {value!r}")
        self.search, self.model, self.params = search, model, params
        self.temperature = temperature
        self.chunk_seconds, self.most_bytes = chunk_seconds, most_bytes
        self.state: SearchState | None = None
        self._root: Position | None = None
        self._played: list[tuple[Array, Position]] = []  # moves since the state was made, and where they led
        self._key, self._moves = key, 0
        self._busy, self._stop = threading.Lock(), threading.Event()
        self._rate = 0.0  # simulations a second, as the last chunk had it

    # -- what to think about -----------------------------------------------------------------------------------
    def begin(self, root: Position, key: Array | None = None) -> None:
        """Takes up new positions, a batch of live games; with a key it draws as a thinker that was made with it."""
        check_batch(root)
        if key is not None:
            keys.check_one(key)
        with _Alone(self._busy):
            self.state, self._root, self._played = None, root, []
            if key is not None:
                self._key, self._moves = key, 0
            self._moves += 1

    def follow(self, action: Int32[Array, " B"] | np.ndarray, root: Position) -> None:
        """The games went on by `action` to `root`: keeps what the tree knows of it. Action -1 begins a game anew."""
        with _Alone(self._busy):
            check_moves(action, root)
            if self.state is not None:
                self._played.append((jnp.asarray(action, jnp.int32), root))
            self._root = root
            self._moves += 1

    def warm(self, limit: Limit | None, follows: bool = True) -> None:
        """Compiles whatever a thought of this limit needs, so that its clock counts nothing but searching.

        The thoughts after a move as well, unless the game is not going to be followed.
        """
        with _Alone(self._busy):
            self._prepare(limit)
            if self._chunked:
                self._advance(0)
            elif self.search.budget > 0:  # a whole search, which is all that it takes
                jax.block_until_ready(_whole(self.search, self.model, self.params, self._key_of(1), self.state))
            self._conclude()
            if follows:
                moves = np.full(len(jax.tree.leaves(self.root)[0]), -1, np.int32)  # as they come: taking them compiles
                anew = check_moves(moves, self.root)
                jax.block_until_ready(self._followed(0, anew, self.root, self._plan(limit)))

    # -- thinking ----------------------------------------------------------------------------------------------
    def think(self, limit: Limit) -> Snapshot:
        """Searches up to the limit, or until `stop`."""
        if not isinstance(limit, Limit):
            raise UsageError(f"a thought has a limit, such as Limit(simulations=400), and {limit!r} is none")
        return deque(self.watch(limit), maxlen=1).pop()

    def ponder(self) -> Snapshot:
        """Searches until `stop`, or until there is nothing more to find."""
        return deque(self.watch(None), maxlen=1).pop()  # of thousands

    def watch(self, limit: Limit | None) -> Iterator[Snapshot]:
        """The same, with a snapshot after every chunk; None: no limit. At least one chunk is searched."""
        with _Alone(self._busy):
            self._stop.clear()
            began = time.monotonic()
            self._prepare(limit)
            if not self._chunked:
                yield self._at_once(began)
                return
            before = last = self._done()
            chunk = FIRST_CHUNK
            while True:
                count = self._next(chunk, limit, int((last - before).max()), began)
                started = time.monotonic()
                hurried = limit and limit.seconds and limit.seconds - (started - began) < GROWING
                self._advance(count, grows=not hurried)
                now = self._done()  # waits for the chunk
                taken = time.monotonic() - started
                yield Snapshot(self._conclude(), now - before, time.monotonic() - began)
                if self._finished(limit, now - before, now - last, began):
                    return
                made = int((now - last).max())  # fewer than `count` where all is proven or the tree is full
                self._rate, last = made / max(taken, 1e-6), now  # some clocks stand still for so short
                chunk = _resized(count, taken, self.chunk_seconds)

    def stop(self) -> None:
        """Ends the thought that is under way after its current chunk; for other threads."""
        self._stop.set()

    @property
    def root(self) -> Position:
        """The positions that it thinks about."""
        if self._root is None:
            raise UsageError("there is no position to think about; call begin first")
        return self._root

    @property
    def tree(self) -> Tree | None:
        """What the search has so far, if it keeps a tree."""
        return self.state.tree if self.state else None

    @property
    def lines(self) -> np.ndarray | None:
        """The moves that the search expects of each game, if it knows them without a tree, see `Search.line`."""
        if self.state is None or type(self.search).line is Search.line:
            return None
        return np.array(_line(self.search, self.model, self.params, self.state))

    @property
    def _chunked(self) -> bool:
        """Searches without simulations, and those that cannot be resumed, come as a whole."""
        return self.search.budget > 0 and self.search.resumable

    def _key_of(self, purpose: int) -> Array:
        return jax.random.fold_in(jax.random.fold_in(self._key, self._moves), purpose)

    def _prepare(self, limit: Limit | None) -> None:
        """The state of the search at the root, with room for what is to come."""
        plan = self._plan(limit)
        if self.state is None:
            self.state = _begin(self.search, self.model, self.params, self._key_of(0), self.root, plan)
        while self._played:  # each is taken out with its state, so that an interruption plays none twice
            action, led_to = self._played[0]
            self.state = self._followed(len(self._played) - 1, action, led_to, plan)
            del self._played[0]
        if limit and limit.simulations and not limit.seconds:
            self._make_room(limit.simulations, self.most_bytes)
        else:  # growing compiles, which takes time that a clock would count: the same room, whatever was kept
            self._make_room(_ahead(limit) - self._used(), min(BYTES_AHEAD, self.most_bytes))

    def _plan(self, limit: Limit | None) -> Array:
        """How many simulations are to come; by a clock as many as the last thought would have made."""
        asked = limit.simulations if limit else None
        if limit and limit.seconds and self._rate:
            return jnp.int32(max(1, min(asked or MOST, int(SURE * self._rate * limit.seconds))))
        return jnp.int32(asked or self.search.budget)

    def _followed(self, left: int, action: Array, led_to: Position, plan: Array) -> SearchState:
        """The state behind a move, with so many moves left that were made since the last thought."""
        key = jax.random.fold_in(self._key_of(0), left)
        return _follow(self.search, self.model, self.params, key, self.state, action, led_to, plan)

    def _done(self) -> np.ndarray:
        """Simulations of each game since the state was made."""
        assert self.state is not None, "there is a state after _prepare"
        return np.array(self.state.done)

    def _next(self, chunk: int, limit: Limit | None, done: int, began: float) -> int:
        """How many simulations the next chunk has: fewer towards the end of the limit."""
        leaves = max(1, self.search.parallel_leaves)  # a round that is cut searches otherwise than a whole one
        if limit and limit.seconds and self._rate:  # half of what is left: a machine that gets busy makes chunks longer
            chunk = min(chunk, int(self._rate * (limit.seconds - (time.monotonic() - began)) / 2))
        chunk = max(leaves, chunk // leaves * leaves)
        return min(chunk, limit.simulations - done) if limit and limit.simulations else chunk

    def _advance(self, count: int, grows: bool = True) -> None:
        if grows:
            self._make_room(count, self.most_bytes)
        # the chunk takes the state's buffers over; should it be interrupted, the next thought starts afresh
        state, self.state = self.state, None
        self.state = _extend(self.search, self.model, self.params, self._key_of(1), state, jnp.int32(count))

    def _used(self) -> int:
        """Nodes that the fullest tree has."""
        return int(np.asarray(self.tree.used).max()) if self.tree else 0

    def _make_room(self, count: int, most_bytes: int) -> None:
        """Grows the tree of a search without fixed room, to twice its size as often as needed."""
        state, tree = self.state, self.tree
        if state is None or tree is None or self.search.nodes != 0:
            return
        room = before = tree.visits.shape[1]
        needed = self._used() + count
        size = sum(leaf.nbytes for leaf in jax.tree.leaves(tree)) / before
        while room < needed and 2 * room * size <= most_bytes:
            room *= 2
        if room > before:
            self.state = state._replace(tree=_grow(tree, room))

    def _conclude(self) -> SearchResult:
        result = _result(self.search, self._key_of(2), self.state, self.temperature)
        # copies, because the next chunk takes the state's buffers over, and some of them are in the result
        copied: SearchResult = jax.tree.map(lambda x: np.array(x), result)
        health.check(self.model, copied)
        return copied

    def _finished(self, limit: Limit | None, done: np.ndarray, now: np.ndarray, began: float) -> bool:
        if self._stop.is_set() or not now.any():  # nothing was searched: solved, or the tree is full
            return True
        enough = limit and limit.simulations and done.max() >= limit.simulations
        late = limit and limit.seconds and time.monotonic() - began >= limit.seconds
        return bool(enough or late)

    def _at_once(self, began: float) -> Snapshot:
        budget = self.search.budget
        if budget > 0:
            self.state = _whole(self.search, self.model, self.params, self._key_of(1), self.state)
        result = self._conclude()
        return Snapshot(result, np.full(len(result.action), budget, np.int32), time.monotonic() - began)


class _Alone:
    """Holds a lock, or complains at once that somebody else does."""

    def __init__(self, lock: threading.Lock) -> None:
        self.lock = lock

    def __enter__(self) -> None:
        if not self.lock.acquire(blocking=False):
            raise UsageError("this thinker is thinking already; stop it first, or use another")

    def __exit__(self, *error: object) -> None:
        self.lock.release()


def _ahead(limit: Limit | None) -> int:
    """Nodes that a tree has room for at the start, where a clock or nobody limits the search."""
    if limit is None:
        return MOST_AHEAD
    if limit.simulations:
        return max(MOST_AHEAD, 2 * limit.simulations)
    return MOST_AHEAD * max(1, math.ceil(limit.seconds or 0.0))


def _resized(count: int, taken: float, wanted: float) -> int:
    """The size of the next chunk. It at most doubles or halves: the first call of a shape compiles, which says
    nothing of the next."""
    return max(1, int(count * min(2.0, max(0.5, wanted / max(taken, 1e-6)))))
