"""Matches: every opening played twice with seats swapped, hundreds of games at once, by the program of `program.py`."""

import functools
import math
import numbers
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float32, Float64, Int, Int32

from jaxgo.arena import program
from jaxgo.arena.program import Queues
from jaxgo.arena.tally import five_of
from jaxgo.core import trial
from jaxgo.core.errors import UsageError, is_whole
from jaxgo.core.game import check_seats, tree_bytes
from jaxgo.core.keys import check_one
from jaxgo.core.play import Position
from jaxgo.players import Player
from jaxgo.search import health
from jaxgo.system import devices

FOREVER = np.int32(2**30)  # ticks
MOST_PAIRS = 100_000  # of a match whose openings are all drawn at once
GLANCE = 0.5  # seconds between two looks at a match
MOST_SLOTS = {"cpu": 512}  # in a row; more would only leave the caches
MOST_SLOTS_ELSEWHERE = 2048
ROWS_SHARE = 16  # the trees of a row may take one part in so many of a device's memory
LITTLE = 2**33  # bytes of memory that are counted with where nobody tells


class Score(NamedTuple):
    """What agent `a` got from each opening: 1 for a win, 0.5 for a draw."""

    first: Float32[np.ndarray, " n"]  # on seat 0
    second: Float32[np.ndarray, " n"]  # on seat 1
    plies: Int32[np.ndarray, "n 2"]  # since the opening
    moves: Int[np.ndarray, "n 2 T"]  # actions since the opening, and 0 behind the last: see `line`

    @property
    def games(self) -> int:
        return 2 * len(self.first)

    def line(self, lane: int) -> list[list[int]]:
        """The moves of both games of a pair, since the opening."""
        return [self.moves[lane, side, : self.plies[lane, side]].tolist() for side in range(2)]

    @property
    def mean(self) -> float:
        """The share of all points that `a` got."""
        return float((self.first + self.second).mean() / 2)

    @property
    def error(self) -> float:
        """The standard error of `mean`, from the pairs: two games of one opening are not independent."""
        pairs = (self.first + self.second) / 2
        return float(pairs.std(ddof=1) / np.sqrt(len(pairs))) if len(pairs) > 1 else float("inf")

    @property
    def outcomes(self) -> Float64[np.ndarray, "5"]:
        """How many pairs gave 0, 0.5, 1, 1.5 and 2 points."""
        return five_of((self.first + self.second).astype(np.float64))


def play_match(
    a: Player,
    b: Player,
    key: Array,
    openings: Position,
    *,
    slots: int | None = None,
    mesh: Mesh | None = None,
    temperature: float = 0.0,
    hot_plies: int = 0,
) -> Score:
    """Plays every opening twice, with seats swapped; game i of each half has a key that follows from `key` and i.

    Searches play as they are: `Search.quiet` turns the exploration of one off. `temperature` holds for the first
    `hot_plies` moves of a game.
    """
    for agent in (a, b):
        if not isinstance(agent, Player):
            raise UsageError(f"{agent!r} does not play a match; give a Player, such as load_player('uct:400', game)")
    check_one(key, "the key of a match")
    if not isinstance(openings, Position) or jnp.ndim(openings.state.ply) != 1:
        raise UsageError("the openings of a match are one batch of positions, such as model.start(key, games)")
    count = openings.state.ply.shape[0]
    pool = Pool([a, b], count, slots, mesh, temperature, hot_plies)
    keys = jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(count))
    pool.begin([(0, 1)], [openings], [keys])
    pool.advance(FOREVER)
    return pool.score(0)


def check_temperature(temperature: Any, hot_plies: Any) -> None:
    """A UsageError where this is no temperature of so many moves."""
    a_number = isinstance(temperature, numbers.Real) and not isinstance(temperature, bool)
    if not (a_number and 0 <= temperature < math.inf and is_whole(hot_plies) and hot_plies >= 0):
        raise UsageError(
            f"temperature and hot plies are numbers that cannot be below 0, the second a whole one, and not "
            f"{temperature!r} and {hot_plies!r}"
        )


def check_slots(slots: Any) -> None:
    """A UsageError where this is no number of games that are under way; None leaves it to the memory."""
    if slots is not None and not (is_whole(slots) and slots >= 1):
        raise UsageError(f"a match needs at least one slot, a game that is under way, not {slots!r}")


class Pool:
    """Agents that play each other in one program. Which plays which can change; what is compiled does not."""

    def __init__(
        self,
        agents: Sequence[Player],
        capacity: int,
        slots: int | None = None,
        mesh: Mesh | None = None,
        temperature: float = 0.0,
        hot_plies: int = 0,
    ) -> None:
        game = agents[0].model.game
        if any(agent.model.game != game for agent in agents):
            raise UsageError("the agents of a match must play the same game")
        check_seats(game)
        trial.check(game)
        if capacity < 1:
            raise UsageError("a match needs at least one opening")
        check_slots(slots)
        if not isinstance(mesh, Mesh | None):
            raise UsageError(f"{mesh!r} is no mesh of devices, such as jaxgo.system.devices.make_mesh()")
        check_temperature(temperature, hot_plies)
        self.agents, self.game = tuple(agents), game
        self.mesh = mesh or devices.of_this_host(devices.make_mesh())  # hosts play for themselves
        self.capacity = capacity
        spread = self.mesh.devices.size
        self._each = -(-capacity // spread)  # openings of one device
        self.slots = min(self._each, slots or _room(self.agents, self.mesh))
        own = jnp.asarray([agent.temperature for agent in agents], jnp.float32)
        self._temperature = jnp.float32(temperature), jnp.int32(min(hot_plies, int(FOREVER))), own
        # opening i lies on device i modulo D, so that few openings are shared out, too
        self._order = np.arange(spread * self._each).reshape(self._each, spread).T.reshape(-1)
        self._place = np.argsort(self._order)

    def begin(self, pairs: Sequence[tuple[int, int]], openings: Sequence[Position], keys: Sequence[Array]) -> None:
        """Sets up matches of disjoint pairs of agents, each with its own openings [n] and keys [n], n <= capacity."""
        self.pairs = tuple(pairs)
        self.counts = [position.state.ply.shape[0] for position in openings]
        busy = [agent for pair in pairs for agent in pair]
        if len(set(busy)) < len(busy) or not pairs:
            raise UsageError("each agent can play in one match at a time, and there must be a match")
        if not 1 <= min(self.counts) <= max(self.counts) <= self.capacity:
            raise UsageError(f"a match takes 1 to {self.capacity} openings here, not {self.counts}")
        for position in openings:
            trial.check_states(self.game, position.state)
        self._queues = self._queue(openings, keys)
        self._games, dead = program.begin(self.game, self.mesh, self.slots, self._queues)
        if np.asarray(dead).any():
            raise UsageError("an opening is over before the first move; leave it out")

    def advance(self, ticks: int | np.int32 = FOREVER) -> bool:
        """Plays on for so many ticks, or to the end; tells whether games are left."""
        players = tuple((agent.search, agent.model) for agent in self.agents)
        params = tuple(agent.params for agent in self.agents)
        self._games = program.advance(players, self.mesh, params, self._queues, self._games, jnp.int32(ticks))
        sick = ~np.asarray(self._games.healthy).all(axis=1)
        if sick.any():
            agent = self.agents[int(sick.argmax())]
            raise health.EvaluatorError(f"{agent.name}: {health.told(agent.model, 'in a match', agent.search)}")
        return bool((np.asarray(self._games.number) != program.EMPTY).any())

    def slices(self) -> Iterator[float]:
        """Plays on to the end, about half a second at a time, and tells how long each took: between them somebody may
        look at the games, and a signal is heard."""
        ticks, going = 1, True
        while going:
            began = time.monotonic()
            going = self.advance(ticks)
            taken = time.monotonic() - began
            ticks = max(1, round(ticks * min(4.0, max(0.5, GLANCE / max(taken, 1e-6)))))
            yield taken

    def finished(self, match: int) -> Bool[np.ndarray, " n"]:
        """Which openings of a match have both games over."""
        first, second = self._results(match)
        return ~(np.isnan(first) | np.isnan(second))

    def score(self, match: int) -> Score:
        """The results of a match so far; NaN where a game is not over."""
        first, second = self._results(match)
        both = list(self.pairs[match])
        pick = self._place[: self.counts[match]]
        plies = np.asarray(self._games.plies)[both][:, pick]
        moves = np.asarray(self._games.moves)[both][:, pick]
        return Score(first, second, plies.T, np.swapaxes(moves, 0, 1))

    def _results(self, match: int) -> tuple[np.ndarray, np.ndarray]:
        a, b = self.pairs[match]
        result = np.asarray(self._games.result)[:, self._place[: self.counts[match]]]
        result = np.where(result == program.RUNNING, np.float32(np.nan), result)
        # each for its own seat 0; the second game is that of b
        return (result[a] + 1) / 2, (1 - result[b]) / 2

    def _queue(self, openings: Sequence[Position], keys: Sequence[Array]) -> Queues:
        """What is to be played, laid out on the host: nothing is compiled for another number of openings."""
        agents = len(self.agents)
        partner, side, match = np.arange(agents, dtype=np.int32), np.zeros(agents, np.int32), np.zeros(agents, int)
        given = np.zeros((agents, self.mesh.devices.size), np.int32)
        for number, (a, b) in enumerate(self.pairs):
            partner[[a, b]], side[b], match[[a, b]] = [b, a], 1, number
            given[[a, b]] = (self._order < self.counts[number]).reshape(given.shape[1], -1).sum(axis=1)
        # which of the openings given lies where; the first of its match stands where nothing is meant
        first = np.cumsum([0, *self.counts])[match]
        index = first[:, None] + np.where(self._order < np.array(self.counts)[match][:, None], self._order, 0)
        every = jax.tree.map(lambda *x: np.concatenate(x)[index], *map(jax.device_get, openings))
        data = np.concatenate([np.asarray(jax.random.key_data(key)) for key in keys])[index]
        keyed = jax.random.wrap_key_data(jnp.asarray(data), impl=jax.random.key_impl(keys[0]))
        return Queues(jnp.asarray(partner), every, keyed, jnp.asarray(side), jnp.asarray(given), *self._temperature)


def _room(agents: Sequence[Player], mesh: Mesh) -> int:
    """How many slots a row may have: as many as the trees of the largest agent leave memory for."""
    largest = 1
    for agent in {(agent.search, agent.model): agent for agent in agents}.values():  # others take no more
        root = jax.eval_shape(functools.partial(agent.model.start, games=1), jax.random.key(0))
        largest = max(largest, tree_bytes(agent.begun(root)))
    most = MOST_SLOTS.get(devices.platform(mesh), MOST_SLOTS_ELSEWHERE)
    room = (devices.memory(mesh) or LITTLE) // mesh.devices.size // ROWS_SHARE
    return max(1, min(most, room // largest))
