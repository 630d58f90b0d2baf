"""Paired games of two or more agents, all in one jitted program, on all devices.

Every agent has a row of S games and moves in them at every tick; then rows change places with the row of the
opponent. A row's games all wait for the same seat: seat 0 at even ticks, seat 1 at odd ones, so at even ticks agent k
has the games in which it sits on seat 0, and its opponent has them at odd ones. A game that waits for the other seat
(a double move, or a fresh game at an odd tick) is left alone for a tick. A game that ends makes room for the next
opening of its queue, so every search is always asked about a full row.

A game draws its luck from its own key and from how many moves were made in it, and from nothing else: the result does
not hang on slots, devices, or on what else is played.

Letters: K agents, S slots, M openings of each queue, T plies, D devices.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Bool, Float32, Int, Int32

from jaxgo.agents import Agent
from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.core.play import Position
from jaxgo.search.base import Search
from jaxgo.search.health import EvaluatorError
from jaxgo.search.model import Model
from jaxgo.system import devices

FOREVER = np.int32(2**30)  # ticks
EMPTY = -1  # the number of a slot without a game
MOST_SLOTS = 512
SLOT_BYTES = 2**31  # that the trees of one row may take


class Queues(NamedTuple):
    """What is to be played; row k holds the games in which agent k sits on seat 0."""

    partner: Int32[Array, " K"]  # whom an agent plays; itself: it has a rest
    openings: Position  # [K M ...], all of them live
    keys: Array  # [K M]
    given: Int32[Array, "K D"]  # how many of the openings are meant, on each device
    temperature: Float32[Array, ""]  # of the moves up to `hot`
    hot: Int32[Array, ""]


class Games(NamedTuple):
    """What is being played, and what came of it. A game is numbered by its place in its queue."""

    tick: Int32[Array, " D"]
    position: Position  # [K S ...]; of live games, or of any opening where the slot is empty
    number: Int32[Array, "K S"]
    length: Int32[Array, "K S"]  # moves since the opening
    started: Int32[Array, "K D"]
    result: Float32[Array, "K M"]  # for seat 0; NaN until the game is over
    plies: Int32[Array, "K M"]
    moves: Int[Array, "K M T"]
    healthy: Bool[Array, "K D"]


class Score(NamedTuple):
    """What agent `a` got from each opening: 1 for a win, 0.5 for a draw."""

    first: Float32[np.ndarray, " n"]  # on seat 0
    second: Float32[np.ndarray, " n"]  # on seat 1
    plies: Int32[np.ndarray, "n 2"]  # since the opening
    moves: Int[np.ndarray, "n 2 T"]  # actions since the opening

    @property
    def games(self) -> int:
        return 2 * len(self.first)

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
    def outcomes(self) -> Int[np.ndarray, "5"]:
        """How many pairs gave 0, 0.5, 1, 1.5 and 2 points."""
        return np.bincount(np.rint(2 * (self.first + self.second)).astype(int), minlength=5)


Player = tuple[Search, Model]  # what an agent is to the compiler: its parameters come as arguments


def play_match(
    a: Agent,
    b: Agent,
    key: Array,
    openings: Position,
    *,
    slots: int | None = None,
    mesh: Mesh | None = None,
    temperature: float = 0.0,
    hot_plies: int = 0,
) -> Score:
    """Plays every opening twice, with seats swapped; game i of each half has a key that follows from `key` and i.

    Searches play as they are: see `without_noise` for those that explore. `temperature` holds for the first
    `hot_plies` moves of a game.
    """
    count = openings.state.ply.shape[0]
    pool = Pool([a, b], count, slots, mesh, temperature, hot_plies)
    keys = jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(count))
    pool.begin([(0, 1)], [openings], [keys])
    pool.advance(FOREVER)
    return pool.score(0)


class Pool:
    """Agents that play each other in one program. Which plays which can change; what is compiled does not."""

    def __init__(
        self,
        agents: Sequence[Agent],
        capacity: int,
        slots: int | None = None,
        mesh: Mesh | None = None,
        temperature: float = 0.0,
        hot_plies: int = 0,
    ) -> None:
        game = agents[0].model.game
        if any(agent.model.game != game for agent in agents):
            raise UsageError("the agents of a match must play the same game")
        if game.players != 2:
            raise UsageError(f"a match needs two seats; {type(game).__name__} is a puzzle for one")
        if capacity < 1 or (slots is not None and slots < 1):
            raise UsageError("a match needs at least one opening and one slot")
        self.agents, self.game = tuple(agents), game
        self.mesh = mesh or devices.make_mesh()
        self.capacity = capacity
        spread = self.mesh.devices.size
        self._each = -(-capacity // spread)  # openings of one device
        self.slots = min(self._each, slots or _room(self.agents))
        self._heat = jnp.float32(temperature), jnp.int32(hot_plies)
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
            if bool(jax.vmap(functools.partial(play.over, self.game))(position).any()):
                raise UsageError("an opening is over before the first move; leave it out")
        self._queues = self._queue(openings, keys)
        self._games = _begin(self.game, self.mesh, self.slots, self._queues)

    def advance(self, ticks: int | np.int32 = FOREVER) -> bool:
        """Plays on for so many ticks, or to the end; tells whether games are left."""
        players = tuple((agent.search, agent.model) for agent in self.agents)
        params = tuple(agent.params for agent in self.agents)
        self._games = _advance(players, self.mesh, params, self._queues, self._games, jnp.int32(ticks))
        sick = ~np.asarray(self._games.healthy).all(axis=1)
        if sick.any():
            agent = self.agents[int(sick.argmax())]
            raise EvaluatorError(f"{agent.name}: {agent.model.evaluator} gave NaN or infinite numbers in a match")
        return bool((np.asarray(self._games.number) != EMPTY).any())

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
        # each for its own seat 0; the second game is that of b
        return (result[a] + 1) / 2, (1 - result[b]) / 2

    def _queue(self, openings: Sequence[Position], keys: Sequence[Array]) -> Queues:
        partner = np.arange(len(self.agents), dtype=np.int32)
        rows: list[tuple[int, int] | None] = [None] * len(self.agents)  # the match of a row, and its side there
        for match, (a, b) in enumerate(self.pairs):
            partner[a], partner[b] = b, a
            rows[a], rows[b] = (match, 0), (match, 1)
        counts = np.zeros((len(self.agents), self.mesh.devices.size), np.int32)
        lanes = []  # which opening of all those given lies where
        offsets = np.cumsum([0, *self.counts])
        for k, row in enumerate(rows):
            count = self.counts[row[0]] if row else 0
            lanes.append(np.where(self._order < count, self._order + offsets[row[0] if row else 0], 0))
            counts[k] = (self._order < count).reshape(counts.shape[1], -1).sum(axis=1)
        index = np.stack(lanes)
        side = np.array([row[1] if row else 0 for row in rows], np.int32)
        every = jax.tree.map(lambda *x: jnp.concatenate(x)[index], *openings)
        keyed = jax.vmap(jax.vmap(jax.random.fold_in, (0, None)))(jnp.concatenate(keys)[index], jnp.asarray(side))
        return Queues(jnp.asarray(partner), every, keyed, jnp.asarray(counts), *self._heat)


def _room(agents: Sequence[Agent]) -> int:
    """How many slots a row may have: as many as the trees of the largest agent leave memory for."""

    def start(agent: Agent) -> Any:
        root = agent.model.start(jax.random.key(0), 1)
        return agent.search.start(agent.model, agent.params, jax.random.key(0), root)

    most = 1
    for agent in agents:
        shapes = jax.tree.leaves(jax.eval_shape(functools.partial(start, agent)))
        most = max(most, sum(leaf.size * leaf.dtype.itemsize for leaf in shapes))
    return max(1, min(MOST_SLOTS, SLOT_BYTES // most))


# -- the program ----------------------------------------------------------------------------------------------------

_ROWS = PartitionSpec(None, devices.AXIS)
_QUEUES = Queues(PartitionSpec(), _ROWS, _ROWS, _ROWS, PartitionSpec(), PartitionSpec())  # type: ignore[arg-type]
_GAMES = Games(PartitionSpec(devices.AXIS), *[_ROWS] * 8)  # type: ignore[arg-type]


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _begin(game: Any, mesh: Mesh, slots: int, queues: Queues) -> Games:
    """The first games of every queue, on the board."""

    def begin(queues: Queues) -> Games:
        agents, openings = queues.keys.shape
        first = jnp.arange(slots, dtype=jnp.int32)[None]
        kind = jnp.int16 if game.num_actions < 2**15 else jnp.int32
        return Games(
            tick=jnp.zeros(1, jnp.int32),
            position=jax.tree.map(lambda x: x[:, :slots], queues.openings),
            number=jnp.where(first < queues.given, first, EMPTY),
            length=jnp.zeros((agents, slots), jnp.int32),
            started=jnp.minimum(queues.given, slots),
            result=jnp.full((agents, openings), jnp.nan),
            plies=jnp.zeros((agents, openings), jnp.int32),
            moves=jnp.zeros((agents, openings, game.max_plies), kind),
            healthy=jnp.ones((agents, 1), bool),
        )

    return jax.shard_map(begin, mesh=mesh, in_specs=(_QUEUES,), out_specs=_GAMES, check_vma=False)(queues)


@functools.partial(jax.jit, static_argnums=(0, 1), donate_argnums=4)
def _advance(
    players: tuple[Player, ...], mesh: Mesh, params: Any, queues: Queues, games: Games, ticks: Int32[Array, ""]
) -> Games:
    """The program of a match: plays on until all games are over, or for so many ticks."""

    def run(params: Any, queues: Queues, games: Games, ticks: Int32[Array, ""]) -> Games:
        last = games.tick[0] + ticks

        def going(games: Games) -> Bool[Array, ""]:
            return (games.number != EMPTY).any() & (games.tick[0] < last)

        return jax.lax.while_loop(going, functools.partial(_tick, players, params, queues), games)

    replicated = PartitionSpec()
    specs = (replicated, _QUEUES, _GAMES, replicated)
    return jax.shard_map(run, mesh=mesh, in_specs=specs, out_specs=_GAMES, check_vma=False)(
        params, queues, games, ticks
    )


def _tick(players: tuple[Player, ...], params: Any, queues: Queues, games: Games) -> Games:
    """Every agent moves in its row; ended games are written down and replaced; rows change places."""
    model = players[0][1]
    agents, slots = games.number.shape
    seat = games.tick[0] % 2
    half = jnp.where(seat == 0, jnp.arange(agents), queues.partner)[:, None]  # the queue that a row's games are of
    number = jnp.maximum(games.number, 0)
    mine = (games.number != EMPTY) & (games.position.state.to_play == seat)
    keys = jax.vmap(jax.vmap(jax.random.fold_in))(queues.keys[half, number], games.length)
    heat = jnp.where(games.length < queues.hot, queues.temperature, 0.0)
    action, healthy = _actions(players, params, (keys, games.position, mine, heat))

    def flat(x: Array) -> Array:
        return x.reshape(agents * slots, *x.shape[2:])

    moved, _ = model.play(jax.tree.map(flat, games.position), flat(action))
    over = model.over(moved).reshape(agents, slots) & mine
    result = jax.vmap(functools.partial(play.returns, model.game))(moved)[:, 0].reshape(agents, slots)
    position = _where(mine, jax.tree.map(lambda x: x.reshape(agents, slots, *x.shape[1:]), moved), games.position)

    beyond = games.result.shape[1]
    made, ended = jnp.where(mine, number, beyond), jnp.where(over, number, beyond)
    games = games._replace(
        tick=games.tick + 1,
        position=position,
        length=games.length + mine,
        moves=games.moves.at[half, made, games.length].set(action.astype(games.moves.dtype), mode="drop"),
        plies=games.plies.at[half, ended].set(games.length + 1, mode="drop"),
        result=games.result.at[half, ended].set(result, mode="drop"),
        healthy=games.healthy & healthy[:, None],
    )
    return _swap(queues, _refill(queues, games, over, half))


def _actions(players: tuple[Player, ...], params: Any, rows: Any) -> tuple[Int32[Array, "K S"], Bool[Array, " K"]]:
    """What every agent plays in its row. Agents that differ only in their parameters share one piece of program."""
    order: dict[Any, list[int]] = {}
    for k, player in enumerate(players):
        order.setdefault((player, str(jax.tree.map(jnp.shape, params[k]))), []).append(k)
    found: dict[int, tuple[Array, Array]] = {}
    for (player, _), same in order.items():
        if len(same) == 1:
            row = jax.tree.map(lambda x, k=same[0]: x[k], rows)
            found[same[0]] = _row(player, params[same[0]], *row)
            continue
        index = np.array(same)
        picked = jax.tree.map(lambda x, at=index: x[at], rows)
        weights = jax.tree.map(lambda *x: jnp.stack(x), *(params[k] for k in same))
        action, healthy = jax.lax.map(lambda x, p=player: _row(p, x[0], *x[1]), (weights, picked))
        found |= {k: (action[i], healthy[i]) for i, k in enumerate(same)}
    every = [found[k] for k in range(len(players))]
    return jnp.stack([action for action, _ in every]), jnp.stack([healthy for _, healthy in every])


def _row(
    player: Player, params: Any, keys: Array, position: Position, mine: Bool[Array, " S"], heat: Float32[Array, " S"]
) -> tuple[Int32[Array, " S"], Bool[Array, ""]]:
    """One agent's moves. Games that do not wait for it get no simulations; a row without any is not searched."""
    search, model = player

    def think(_: None) -> tuple[Array, Array]:
        key = keys[0]
        begin, go, choose = jax.random.split(key, 3)
        whole = getattr(search, "peer", None) is not None  # mctx knows no budgets
        budget = search.budget if whole else jnp.where(mine, search.budget, 0)
        q = search.start(model, params, begin, position, search.budget)
        q = search.extend(model, params, go, position, q, budget)
        result = search.result(model, choose, position, q, heat)
        return result.action, (result.healthy | ~mine).all()

    nothing = jnp.zeros(mine.shape, jnp.int32), jnp.bool_(True)
    return jax.lax.cond(mine.any(), think, lambda _: nothing, None)


def _refill(queues: Queues, games: Games, over: Bool[Array, "K S"], half: Int32[Array, "K 1"]) -> Games:
    """Puts the next openings of the queues where games ended."""
    rank = jnp.cumsum(over, axis=1, dtype=jnp.int32)
    number = games.started[half[:, 0]] + rank - 1
    some = number < queues.given[half[:, 0]]
    fresh = jax.tree.map(lambda x: x[half, jnp.where(some, number, 0)], queues.openings)
    started = jnp.minimum(games.started[half[:, 0]] + rank[:, -1:], queues.given[half[:, 0]])
    return games._replace(
        position=_where(over, fresh, games.position),
        number=jnp.where(over, jnp.where(some, number, EMPTY), games.number),
        length=jnp.where(over, 0, games.length),
        started=games.started.at[half[:, 0]].set(started),
    )


def _swap(queues: Queues, games: Games) -> Games:
    """Rows change places: every game goes to the agent that has the next seat."""
    there = queues.partner
    return games._replace(
        position=jax.tree.map(lambda x: x[there], games.position),
        number=games.number[there],
        length=games.length[there],
    )


def _where(mask: Bool[Array, "K S"], new: Any, old: Any) -> Any:
    def select(a: Array, b: Array) -> Array:
        return jnp.where(mask.reshape(*mask.shape, *[1] * (a.ndim - 2)), a, b)

    return jax.tree.map(select, new, old)
