"""What a network plays without any search: openings, some games, and its view of two positions, for the report."""

import collections
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int32

from jaxgo.core.game import Game
from jaxgo.core.lanes import alone, where_lanes
from jaxgo.core.play import Position, returns
from jaxgo.evaluators.base import Params
from jaxgo.evaluators.network import Network
from jaxgo.search.model import Model
from jaxgo.training.config import TrainConfig

SAMPLED = 32  # games
LONGEST = 300  # plies that are watched
FREE = 8  # plies that are drawn from the policy; then the best move is played
LINE = 4  # plies of an opening


class PositionView(NamedTuple):
    """A position and what the network says of it."""

    state: Any
    ply: int
    seat: int
    value: float  # for the side to move
    moves: list[tuple[str, float]]  # the likeliest first


class ShownGame(NamedTuple):
    """A game, and how it ended."""

    moves: list[str]
    result: str
    state: Any  # at its end
    start: Any = None  # where it began; None is the game's own start


class PolicyPreview(NamedTuple):
    """What the report shows of a network."""

    sampled: int
    openings: list[tuple[list[str], float]]  # the first moves, and the share of games that begin so
    positions: list[PositionView]
    games: list[ShownGame]


class _Played(NamedTuple):
    start: Any  # the states
    position: Position
    actions: Int32[Array, "T B"]
    length: Int32[Array, " B"]
    middle: Any  # the states after the plies that are drawn
    over: Bool[Array, " B"]
    ply: Int32[Array, ""]


def read(config: TrainConfig, params: Params) -> PolicyPreview:
    """Lets a network play some games by its first thought."""
    return reader(config)(params)


def reader(config: TrainConfig) -> Callable[[Params], PolicyPreview]:
    """The same for any number of players of one run, compiled once."""
    game = config.make_game()
    module: Any = config.network.module(game)
    model = Model(game, Network(module))
    plies = min(game.max_plies, LONGEST)
    play = jax.jit(lambda params: _play(model, params, plies))
    look = jax.jit(lambda params, state: _look(model, params, state))
    results = jax.jit(jax.vmap(functools.partial(returns, game)))

    def preview(params: Params) -> PolicyPreview:
        params = jax.tree.map(jnp.asarray, params)
        played = play(params)
        ends = results(played.position)
        return _told(game, played, ends, lambda state: look(params, state))

    return preview


def _told(
    game: Game[Any], played: "_Played", returns: Array, look: Callable[[Any], tuple[Array, Array]]
) -> PolicyPreview:
    def of(states: Any, lane: int) -> Any:
        return jax.tree.map(lambda x: x[lane], states)

    actions, lengths = np.asarray(played.actions), np.asarray(played.length)
    names = [[game.action_name(int(a)) for a in actions[:n, lane]] for lane, n in enumerate(lengths)]
    counted = collections.Counter(tuple(line[:LINE]) for line in names)
    common = [(list(line), count / SAMPLED) for line, count in counted.most_common(8)]
    firsts = of(played.start, 0), of(played.middle, 0)
    views = [_see(game, look(state), state) for state in firsts if not bool(game.over(state))]
    games = [
        ShownGame(line, _result(bool(over), result), of(played.position.state, i), of(played.start, i))
        for i, (line, over, result) in enumerate(zip(names[:3], played.over[:3], returns[:3], strict=True))
    ]
    return PolicyPreview(SAMPLED, common, views, games)


def _play(model: Model, params: Params, plies: int) -> _Played:
    """Plays all games, until they are over or so long that nobody reads on."""
    key = jax.random.key(0)
    position = model.start(key, SAMPLED)

    def live(now: _Played) -> Bool[Array, ""]:
        return (now.ply < plies) & ~now.over.all()

    def move(now: _Played) -> _Played:
        logits = model.evaluate(params, key, now.position.state, model.legal(now.position)).logits
        drawn = jax.random.categorical(jax.random.fold_in(key, now.ply), logits)
        action = jnp.where(now.ply < FREE, drawn, logits.argmax(-1)).astype(jnp.int32)
        after, _ = model.play(now.position, action)
        middle = where_lanes(now.ply == FREE, now.position.state, now.middle)
        length = now.length + ~now.over
        actions = now.actions.at[now.ply].set(action)
        return _Played(now.start, after, actions, length, middle, model.over(after), now.ply + 1)

    zeros = jnp.zeros(SAMPLED, jnp.int32)
    none = jnp.zeros((plies, SAMPLED), jnp.int32)
    begun = _Played(position.state, position, none, zeros, position.state, model.over(position), jnp.int32(0))
    return jax.lax.while_loop(live, move, begun)


def _look(model: Model, params: Params, state: Any) -> tuple[Float32[Array, " A"], Float32[Array, ""]]:
    one = alone(state)
    legal = jax.vmap(model.game.legal)(one)
    said = model.evaluate(params, jax.random.key(0), one, legal)
    return jnp.where(legal[0], jax.nn.softmax(said.logits[0]), 0.0), said.value[0]


def _see(game: Game[Any], said: tuple[Array, Array], state: Any) -> PositionView:
    policy, value = np.asarray(said[0]), float(said[1])
    best = np.argsort(-policy)[:8]
    moves = [(game.action_name(int(a)), float(policy[a])) for a in best if policy[a] > 0]
    return PositionView(state, int(state.ply), int(state.to_play), value, moves)


def _result(over: bool, returns: Array) -> str:
    if not over:
        return "not over yet"
    result = np.asarray(returns).tolist()
    if len(result) == 1:
        return f"result {result[0]:+g}"
    return f"seat {int(result[0] < 0)} wins" if result[0] else "a draw"
