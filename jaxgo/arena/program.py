"""The program of a match: paired games of two or more agents, all in one jitted loop, on all devices.

Every agent has a row of S games and moves in them at every tick; then rows change places with the row of the
opponent. A row's games all wait for the same seat: seat 0 at even ticks, seat 1 at odd ones, so at even ticks agent k
has the games in which it sits on seat 0, and its opponent has them at odd ones. A game that waits for the other seat
(a double move, or a fresh game at an odd tick) is left alone for a tick. A game that ends makes room for the next
opening of its queue, so every search is always asked about a full row.

A game draws at random from its own key and from how many moves were made in it, and from nothing else: the result does
not hang on slots, devices, or on what else is played.

Letters: K agents, S slots, M openings of each queue, T plies, D devices.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Bool, Float32, Int, Int32

from jaxgo.core import keys as batches
from jaxgo.core import play
from jaxgo.core.lanes import where_lanes
from jaxgo.core.play import Position
from jaxgo.search import outside
from jaxgo.search.base import Search
from jaxgo.search.model import Model
from jaxgo.search.tree import index_type
from jaxgo.system import devices

EMPTY = -1  # the number of a slot without a game
RUNNING = 2.0  # no result: NaN would trip over `jax_debug_nans`


Static = tuple[Search, Model]  # what a player is to the compiler: its parameters come as arguments


class Crew(NamedTuple):
    """Agents that are alike but for their parameters."""

    player: Static
    rows: list[int]
    params: Any  # of the one agent, or of all of them on a leading axis


class Queues(NamedTuple):
    """What is to be played; row k holds the games in which agent k sits on seat 0."""

    partner: Int32[Array, " K"]  # whom an agent plays; itself: it has a rest
    openings: Position  # [K M ...], all of them live
    keys: Array  # [K M], the same for both games of an opening
    side: Int32[Array, " K"]  # tells these two apart
    given: Int32[Array, "K D"]  # how many of the openings are meant, on each device
    temperature: Float32[Array, ""]  # of the moves up to `hot`
    hot: Int32[Array, ""]
    own: Float32[Array, " K"]  # the temperature of each agent in the moves that have no higher one


class Games(NamedTuple):
    """What is being played, and what came of it. A game is numbered by its place in its queue."""

    tick: Int32[Array, " D"]
    position: Position  # [K S ...]; of live games, or of any opening where the slot is empty
    number: Int32[Array, "K S"]
    length: Int32[Array, "K S"]  # moves since the opening
    started: Int32[Array, "K D"]
    result: Float32[Array, "K M"]  # for seat 0; RUNNING until the game is over
    plies: Int32[Array, "K M"]
    moves: Int[Array, "K M T"]
    healthy: Bool[Array, "K D"]


_ROWS = PartitionSpec(None, devices.AXIS)
_ALL = PartitionSpec()
_QUEUES = Queues(_ALL, _ROWS, _ROWS, _ALL, _ROWS, _ALL, _ALL, _ALL)  # type: ignore[arg-type]
_GAMES = Games(PartitionSpec(devices.AXIS), *[_ROWS] * 8)  # type: ignore[arg-type]


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def begin(game: Any, mesh: Mesh, slots: int, queues: Queues) -> tuple[Games, Bool[Array, "K M"]]:
    """The first games of every queue on the board, and which openings are over already."""

    def fill(queues: Queues) -> tuple[Games, Bool[Array, "K M"]]:
        agents, openings = queues.keys.shape
        dead = jax.vmap(jax.vmap(functools.partial(play.over, game)))(queues.openings)
        first = jnp.arange(slots, dtype=jnp.int32)[None]
        kind = index_type(game.num_actions)
        games = Games(
            tick=jnp.zeros(1, jnp.int32),
            position=jax.tree.map(lambda x: x[:, :slots], queues.openings),
            number=jnp.where(first < queues.given, first, EMPTY),
            length=jnp.zeros((agents, slots), jnp.int32),
            started=jnp.minimum(queues.given, slots),
            result=jnp.full((agents, openings), RUNNING, jnp.float32),
            plies=jnp.zeros((agents, openings), jnp.int32),
            moves=jnp.zeros((agents, openings, game.max_plies), kind),
            healthy=jnp.ones((agents, 1), bool),
        )
        return games, dead

    specs = (_GAMES, _ROWS)
    return jax.shard_map(fill, mesh=mesh, in_specs=(_QUEUES,), out_specs=specs, check_vma=False)(queues)


@functools.partial(jax.jit, static_argnums=(0, 1), donate_argnums=4)
def advance(
    players: tuple[Static, ...], mesh: Mesh, params: Any, queues: Queues, games: Games, ticks: Int32[Array, ""]
) -> Games:
    """The program of a match: plays on until all games are over, or for so many ticks."""

    def run(params: Any, queues: Queues, games: Games, ticks: Int32[Array, ""]) -> Games:
        last, crews = games.tick[0] + ticks, _crews(players, params)

        def going(games: Games) -> Bool[Array, ""]:
            return (games.number != EMPTY).any() & (games.tick[0] < last)

        return jax.lax.while_loop(going, functools.partial(_tick, crews, queues), games)

    specs = (_ALL, _QUEUES, _GAMES, _ALL)
    return jax.shard_map(run, mesh=mesh, in_specs=specs, out_specs=_GAMES, check_vma=False)(
        params, queues, games, ticks
    )


def _tick(crews: list[Crew], queues: Queues, games: Games) -> Games:
    """Every agent moves in its row; ended games are written down and replaced; rows change places."""
    model = crews[0].player[1]
    agents, slots = games.number.shape
    seat = games.tick[0] % 2
    half = jnp.where(seat == 0, jnp.arange(agents), queues.partner)[:, None]  # the queue that a row's games are of
    number = jnp.maximum(games.number, 0)
    mine = (games.number != EMPTY) & (games.position.state.to_play == seat)
    step = 2 * games.length + queues.side[half]
    keys = jax.vmap(jax.vmap(jax.random.fold_in))(queues.keys[half, number], step)
    asked = jnp.where(games.length < queues.hot, queues.temperature, 0.0)
    temperature = jnp.maximum(asked, queues.own[:, None])
    action, healthy = _actions(crews, (keys, games.position, mine, temperature))

    def flat(x: Array) -> Array:
        return x.reshape(agents * slots, *x.shape[2:])

    moved, _ = model.play(jax.tree.map(flat, games.position), flat(action))
    over = model.over(moved).reshape(agents, slots) & mine
    result = jax.vmap(functools.partial(play.returns, model.game))(moved)[:, 0].reshape(agents, slots)
    position = where_lanes(mine, jax.tree.map(lambda x: x.reshape(agents, slots, *x.shape[1:]), moved), games.position)

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


def _crews(players: tuple[Static, ...], params: Any) -> list[Crew]:
    """Agents that differ only in their parameters are one crew, and share one piece of program."""
    alike: dict[Any, list[int]] = {}
    for k, player in enumerate(players):
        alike.setdefault((player, str(jax.tree.map(jnp.shape, params[k]))), []).append(k)
    return [
        Crew(player, rows, params[rows[0]] if len(rows) == 1 else jax.tree.map(_stacked, *(params[k] for k in rows)))
        for (player, _), rows in alike.items()
    ]


def _stacked(*arrays: Array) -> Array:
    return jnp.stack(arrays)


def _actions(crews: list[Crew], asked: Any) -> tuple[Int32[Array, "K S"], Bool[Array, " K"]]:
    """What every agent plays in its row, and whether its evaluator gave numbers."""
    found: dict[int, tuple[Array, Array]] = {}
    for player, rows, params in crews:
        if len(rows) == 1:
            found[rows[0]] = _row(player, params, *jax.tree.map(lambda x, k=rows[0]: x[k], asked))
            continue
        picked = jax.tree.map(lambda x, k=tuple(rows): x[np.array(k)], asked)
        action, healthy = jax.lax.map(lambda x, p=player: _row(p, x[0], *x[1]), (params, picked))
        found |= {k: (action[i], healthy[i]) for i, k in enumerate(rows)}
    every = [found[k] for k in range(len(found))]
    return jnp.stack([action for action, _ in every]), jnp.stack([healthy for _, healthy in every])


def _row(
    player: Static,
    params: Any,
    keys: Array,
    position: Position,
    mine: Bool[Array, " S"],
    temperature: Float32[Array, " S"],
) -> tuple[Int32[Array, " S"], Bool[Array, ""]]:
    """One agent's moves. Games that do not wait for it get no simulations; a row without any is not searched."""
    search, model = player

    def think(_: None) -> tuple[Array, Array]:
        begin, go, choose = batches.split(keys, 3)
        budget = jnp.where(mine, search.budget, 0) if search.resumable else search.budget
        state = search.begin(model, params, begin, position, search.budget)
        state = search.extend(model, params, go, state, budget)
        result = search.result(choose, state, temperature)
        sound = result.healthy & outside.legal_moves(search, model, position, result.action)
        return result.action, (sound | ~mine).all()

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
        position=where_lanes(over, fresh, games.position),
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
