"""Breadth-first search that runs ahead of whoever plays a puzzle: a slice of it before every move.

As soon as a solution is found it is played to its end, and none is shorter from there. Until then the next move leads
towards the position that the evaluator likes best of all that were found, but never back to where the game has been
while there is another way; where all lead back, to where it was longest ago. So a game goes on with any budget, 0 too.

`jaxgo.solvers.puzzles` solves first, with room for a hundred million positions; this one answers at any time.
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32, Int32, UInt32

from jaxgo.core import keys as lucks
from jaxgo.core.choice import best_of_equals
from jaxgo.core.errors import UsageError
from jaxgo.core.game import SOLVED
from jaxgo.core.lanes import column_of
from jaxgo.core.play import Position
from jaxgo.evaluators.base import Params
from jaxgo.search.base import Budget, Search, SearchResult, Temperature, decide, per_game
from jaxgo.search.model import ILLEGAL, Model
from jaxgo.search.stack import BEYOND

NONE = -1
PLACES = 4  # of the table, for each position that there is room for
LOOKS = 8  # places of the table at which a position may be


class BreadthState(NamedTuple):
    """Positions are numbered in the order of their discovery, which is that of their distance; 0 is the root."""

    root: Position
    states: Any  # [B, N, ...]
    key: UInt32[Array, "B N 2"]  # of its class
    parent: Int32[Array, "B N"]
    action: Int32[Array, "B N"]  # that led here from the parent
    first: Int32[Array, "B N"]  # the same from the root
    guess: Float32[Array, "B N"]  # what the evaluator says of it
    table: Int32[Array, "B T"]  # which position is where its key says, or NONE
    used: Int32[Array, " B"]
    head: Int32[Array, " B"]  # whose moves are made next
    goal: Int32[Array, " B"]  # the first one that is solved, or NONE
    plan: Int32[Array, "B P"]  # what is left of a solution that was found before; NONE behind its end
    past: UInt32[Array, "B P 2"]  # where the game has been
    walked: Int32[Array, " B"]  # so many positions of it
    last: Int32[Array, "B A"]  # when it was where a move of the root leads, from 1 on; 0: never
    prior: Float32[Array, "B A"]
    luck: Float32[Array, "B A"]  # which of equals comes first
    done: Int32[Array, " B"]
    calls: Int32[Array, ""]
    healthy: Bool[Array, " B"]
    tree: None = None


@dataclasses.dataclass(frozen=True)
class BreadthFirst(Search[BreadthState]):
    """Looks at a puzzle's positions in the order of their distance; equal ones, as the game counts them, once.

    The bargain of its table: a position that finds its places taken is not remembered, and may be found again.
    """

    simulations: int = 1000  # positions whose moves are made, at each move
    room: int = 16_384  # positions that are kept; with so many the search ends

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.simulations < 1 or self.room < 1:
            raise UsageError("bfs needs simulations and room of at least 1")

    # -- the verbs ---------------------------------------------------------------------------------------------
    def begin(
        self, model: Model, params: Params, key: Array, root: Position, plan: Budget | None = None
    ) -> BreadthState:
        if model.pays or model.game.players != 1:
            raise UsageError("bfs looks for the solution of a puzzle, a game of one; use another search here")
        games, most = model.legal(root).shape[0], model.game.max_plies
        nowhere = jnp.full((games, most), NONE, jnp.int32)
        past = jnp.zeros((games, most, 2), jnp.uint32)
        return self._begun(model, params, key, root, nowhere, past, jnp.zeros(games, jnp.int32))

    def follow(
        self,
        model: Model,
        params: Params,
        key: Array,
        state: BreadthState,
        action: Int32[Array, " B"],
        root: Position,
        plan: Budget | None = None,
    ) -> BreadthState:
        """Keeps the solution, if the move is its first, and where the game has been."""
        route = _route(state)
        kept = (action >= 0) & (route[:, 0] == action)
        rest = jnp.where(kept[:, None], jnp.roll(route, -1, axis=1).at[:, -1].set(NONE), NONE)
        goes_on = action >= 0
        games, most = jnp.arange(action.shape[0]), state.past.shape[1]
        past = state.past.at[games, jnp.where(goes_on, state.walked, most)].set(state.key[:, 0], mode="drop")
        return self._begun(model, params, key, root, rest, past, jnp.where(goes_on, state.walked + 1, 0))

    def extend(self, model: Model, params: Params, key: Array, state: BreadthState, budget: Budget) -> BreadthState:
        spent = state.done + per_game(budget, state.done.shape[0], jnp.int32)
        room = state.key.shape[1] - model.game.num_actions

        def active(state: BreadthState) -> Bool[Array, " B"]:
            waits = (state.head < state.used) & (state.used <= room) & ~_known(state)
            return waits & ((state.head == 0) | (state.done < spent))  # a look at the root's own moves is free

        def step(state: BreadthState) -> BreadthState:
            on = active(state)
            state = self._expanded(model, params, lucks.of_step(key, state.calls, state.done), state, on)
            return state._replace(done=state.done + (on & (state.head > 1)), calls=state.calls + 1)

        return jax.lax.while_loop(lambda state: active(state).any(), step, state)

    @property
    def draws(self) -> bool:
        return False

    def result(self, key: Array, state: BreadthState, temperature: Temperature = 0.0) -> SearchResult:
        rows, actions = jnp.arange(state.done.shape[0])[:, None], state.prior.shape[1]
        numbers = jnp.arange(state.first.shape[1])[None]
        found = (numbers > 0) & (numbers < state.used[:, None])
        below = jnp.where(found, state.first, actions)
        guess = jnp.full_like(state.prior, -BEYOND).at[rows, below].max(state.guess, mode="drop")
        visits = jnp.zeros(state.prior.shape, jnp.int32).at[rows, below].add(1, mode="drop")
        legal = state.prior > ILLEGAL
        fresh = legal & ((visits > 0) | (state.head == 0)[:, None]) & (state.last == 0)
        onward = fresh.any(axis=-1, keepdims=True)
        score = jnp.where(onward, guess, -state.last.astype(jnp.float32))
        action = best_of_equals(score, jnp.where(onward, fresh, legal), state.luck)
        solved = _known(state)
        next_ = jnp.where(state.goal >= 0, state.first[rows[:, 0], state.goal], state.plan[:, 0])
        action = jnp.where(solved, next_, action)
        chosen = jax.nn.one_hot(action, actions, dtype=jnp.float32)
        proven = (chosen > 0) & solved[:, None]
        q = jnp.where(proven, SOLVED, jnp.where(visits > 0, guess, 0.0))
        best = jnp.where(found.any(axis=-1), guess.max(axis=-1), state.guess[:, 0])  # nothing is behind an end
        value = jnp.where(solved, SOLVED, best)
        action, chances = decide(key, action, chosen, temperature)
        return SearchResult(action, chosen, value, visits, q, proven, solved, state.healthy, chances)

    # -- inside ------------------------------------------------------------------------------------------------
    def _begun(
        self,
        model: Model,
        params: Params,
        key: Array,
        root: Position,
        plan: Int32[Array, "B P"],
        past: UInt32[Array, "B P 2"],
        walked: Int32[Array, " B"],
    ) -> BreadthState:
        judge, ties = lucks.split(key)
        leaves, game = model.root(params, judge, root), model.game
        games, actions = leaves.logits.shape
        room = self.room + actions
        own, nothing = jax.vmap(game.class_key)(root.state), jnp.zeros(games, jnp.int32)
        places = 1 << (PLACES * room - 1).bit_length()
        led_to = _led_to(model, root.state, own)
        been = (past[:, None] == led_to[:, :, None]).all(axis=-1)  # [B, A, P]
        when = jnp.arange(1, past.shape[1] + 1, dtype=jnp.int32)[None, None]
        been &= when <= walked[:, None, None]

        column = functools.partial(column_of, places=room)
        return BreadthState(
            root=root,
            states=jax.tree.map(column, root.state),
            key=column(own),
            parent=column(nothing + NONE),
            action=column(nothing + NONE),
            first=column(nothing + NONE),
            guess=column(leaves.value),
            table=jnp.full((games, places), NONE, jnp.int32).at[jnp.arange(games), _place(own, places)].set(0),
            used=nothing + 1,
            head=leaves.over.astype(jnp.int32),
            goal=nothing + NONE,
            plan=plan,
            past=past,
            walked=walked,
            last=jnp.where(been, when, 0).max(axis=-1),
            prior=leaves.logits,
            luck=lucks.sample(jax.random.uniform, ties, leaves.logits.shape, jnp.float32),
            done=nothing,
            calls=jnp.int32(0),
            healthy=leaves.healthy,
        )

    def _expanded(
        self, model: Model, params: Params, key: Array, state: BreadthState, on: Bool[Array, " B"]
    ) -> BreadthState:
        """The state with all moves made of the next position in line, where `on`."""
        rows, actions = jnp.arange(on.shape[0]), model.game.num_actions
        here = jax.tree.map(lambda x: x[rows, state.head], state.states)
        legal = jax.vmap(model.game.legal)(here) & on[:, None]
        each = jax.tree.map(lambda x: jnp.repeat(x, actions, axis=0), here)
        moves = jnp.tile(jnp.arange(actions, dtype=jnp.int32), on.shape[0])
        leaves = model.expand(params, key, each, moves, legal.reshape(-1))
        over, value, healthy = (x.reshape(legal.shape) for x in (leaves.over, leaves.value, leaves.healthy))
        solved = legal & over & (value >= SOLVED)
        led_to = _led_to(model, here, state.key[rows, state.head])
        fresh = legal & (~over | solved) & ~_twins(led_to, legal) & ~_seen(state, led_to)
        number = state.used[:, None] + jnp.cumsum(fresh, axis=1, dtype=jnp.int32) - 1
        place = jnp.where(fresh, number, state.key.shape[1])
        own_moves = moves.reshape(legal.shape)
        at_root = (state.head == 0)[:, None]

        def write(column: Array, new: Array) -> Array:
            return column.at[rows[:, None], place].set(new.astype(column.dtype), mode="drop")

        def write_all(column: Array, new: Array) -> Array:
            return write(column, new.reshape(*legal.shape, *new.shape[1:]))

        solved &= fresh
        goal = jnp.where(solved.any(axis=-1), number[rows, jnp.argmax(solved, axis=-1)], state.goal)
        return state._replace(
            states=jax.tree.map(write_all, state.states, leaves.states),
            key=write(state.key, led_to),
            parent=write(state.parent, jnp.broadcast_to(state.head[:, None], legal.shape)),
            action=write(state.action, own_moves),
            first=write(state.first, jnp.where(at_root, own_moves, state.first[rows, state.head][:, None])),
            guess=write(state.guess, value),
            table=_remembered(state, led_to, fresh, number),
            used=state.used + fresh.sum(axis=-1, dtype=jnp.int32),
            head=state.head + on,
            goal=goal,
            healthy=state.healthy & (healthy | ~legal).all(axis=-1),
        )


def _known(state: BreadthState) -> Bool[Array, " B"]:
    """Whether a solution is known."""
    return (state.goal >= 0) | (state.plan[:, 0] >= 0)


def _led_to(model: Model, states: Any, own: UInt32[Array, "B 2"]) -> UInt32[Array, "B A 2"]:
    """The keys of the classes that all moves lead to; of illegal ones anything."""
    actions = jnp.arange(model.game.num_actions, dtype=jnp.int32)
    return jax.vmap(jax.vmap(model.game.next_class_key, (None, 0, None)), (0, None, 0))(states, actions, own)


def _place(key: UInt32[Array, "*B 2"], places: int) -> Int32[Array, "*B"]:
    return ((key[..., 0] ^ key[..., 1]) & jnp.uint32(places - 1)).astype(jnp.int32)


def _looks(state: BreadthState, key: UInt32[Array, "B A 2"]) -> Int32[Array, "B A L"]:
    """The places at which positions of these keys may be."""
    places = state.table.shape[1]
    return (_place(key, places)[:, :, None] + jnp.arange(LOOKS, dtype=jnp.int32)[None, None]) & (places - 1)


def _seen(state: BreadthState, key: UInt32[Array, "B A 2"]) -> Bool[Array, "B A"]:
    """Whether positions of these keys are remembered."""
    rows = jnp.arange(key.shape[0])[:, None, None]
    there = state.table[rows, _looks(state, key)]
    same = (state.key[rows, jnp.maximum(there, 0)] == key[:, :, None]).all(axis=-1)
    return (same & (there >= 0)).any(axis=-1)


def _twins(key: UInt32[Array, "B A 2"], legal: Bool[Array, "B A"]) -> Bool[Array, "B A"]:
    """Whether an earlier legal move leads to the same class."""
    same = (key[:, :, None] == key[:, None]).all(axis=-1) & legal[:, None]
    return jnp.tril(same, -1).any(axis=-1)


def _remembered(
    state: BreadthState, key: UInt32[Array, "B A 2"], fresh: Bool[Array, "B A"], number: Int32[Array, "B A"]
) -> Int32[Array, "B T"]:
    """The table with the fresh ones in the first of their places that are free.

    Who has none is left out, and of two that want the same place at once, one.
    """
    rows, looks = jnp.arange(key.shape[0])[:, None], _looks(state, key)
    free = state.table[rows[:, :, None], looks] == NONE
    first = jnp.take_along_axis(looks, jnp.argmax(free, axis=-1)[:, :, None], axis=-1)[:, :, 0]
    place = jnp.where(fresh & free.any(axis=-1), first, state.table.shape[1])
    return state.table.at[rows, place].max(number, mode="drop")


def _route(state: BreadthState) -> Int32[Array, "B P"]:
    """The solution that is known, from the root on; NONE behind its end."""
    rows = jnp.arange(state.goal.shape[0])

    def back(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        node, route = carry
        on = node > 0
        longer = jnp.roll(route, 1, axis=1).at[:, 0].set(state.action[rows, jnp.maximum(node, 0)])
        return jnp.where(on, state.parent[rows, node], node), jnp.where(on[:, None], longer, route)

    start = jnp.maximum(state.goal, 0), jnp.full_like(state.plan, NONE)
    found = jax.lax.while_loop(lambda carry: (carry[0] > 0).any(), back, start)[1]
    return jnp.where((state.goal >= 0)[:, None], found, state.plan)
