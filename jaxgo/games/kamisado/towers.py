"""The towers of Kamisado: where they are, how far they reach, and what moves, pushes, passes and regrouping do."""

import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Int8, Int16, UInt32

from jaxgo.core.game import Action
from jaxgo.games.boards import bits

SIDE, CELLS, TOWERS, REACH = 8, 64, 8, 7
# action = colour * 21 + way * 7 + distance - 1; ways: straight, diagonal towards file a, file h
MOVES = TOWERS * 3 * REACH
PASS, FILL_LEFT, FILL_RIGHT = MOVES, MOVES + 1, MOVES + 2  # the last two in matches only
ANY, FILL = 8, 9  # values of `required` beyond the colours: move any tower; choose how to regroup
MOST_RINGS = 4

Vector = Int8[Array, " 8"]


class KamisadoState(NamedTuple):
    towers: Int8[Array, "2 8"]  # the square of each tower, by seat and colour
    rings: Int8[Array, "2 8"]
    required: Int8[Array, ""]  # the colour that must move, or ANY, or FILL: to_play has won the round
    passed: UInt32[Array, ""]  # bit seat * 8 + colour: towers passed over since the last real move
    last: Int8[Array, ""]  # the last real move: its seat * 8 + the colour of its square; -1 when the round begins
    to_play: Int8[Array, ""]
    ply: Int16[Array, ""]


class Reach(NamedTuple):
    """What the towers of one seat can do."""

    far: Int8[Array, "8 3"]  # the furthest free square in each way
    push: Bool[Array, " 8"]
    home: Int8[Array, " 8"]  # rows to the far row


@functools.cache
def colours() -> np.ndarray:
    """`int8[CELLS]`: the colour of every square, from a8 to h1."""
    rows = "01234567 50361472 63052741 32107654 45670123 14725036 27416305 76543210"
    return np.array([int(c) for c in rows.replace(" ", "")], np.int8)


def _colour(cell: Int[Array, ""]) -> Int8[Array, ""]:
    return jnp.asarray(colours())[cell]


def _forward(seat: Int8[Array, ""]) -> Int8[Array, ""]:
    """The change of row of a step forward: seat 0 moves up."""
    return jnp.where(seat == 0, jnp.int8(-1), jnp.int8(1))


def sides(pair: Int8[Array, "2 8"], seat: Int8[Array, ""]) -> tuple[Vector, Vector]:
    """The rows of a seat and of the other one."""
    first = seat == 0
    return jnp.where(first, pair[0], pair[1]), jnp.where(first, pair[1], pair[0])


def _pair(own: Vector, enemy: Vector, seat: Int8[Array, ""]) -> Int8[Array, "2 8"]:
    """The inverse of `sides`."""
    return jnp.where(seat == 0, jnp.stack([own, enemy]), jnp.stack([enemy, own]))


def reach(state: KamisadoState, seat: Int8[Array, ""]) -> Reach:
    """How far the towers of a seat can go, from the nearest tower ahead of each: no square is looked up."""
    own, enemy = sides(state.towers, seat)
    rings, rival_rings = sides(state.rings, seat)
    forward = _forward(seat)
    row, column = own >> 3, own & 7
    others = jnp.concatenate([own, enemy])
    ahead = ((others >> 3)[None] - row[:, None]) * forward
    aside = (others & 7)[None] - column[:, None]
    on_line = [aside == 0, aside == -ahead, aside == ahead]
    none = jnp.int8(SIDE)
    nearest = jnp.stack([jnp.min(jnp.where(line & (ahead > 0), ahead, none), axis=1) for line in on_line], axis=1)
    home = jnp.where(seat == 0, row, 7 - row)
    edge = jnp.minimum(home[:, None], jnp.stack([jnp.full_like(column, 7), column, 7 - column], axis=1))
    limit = jnp.maximum(7 - 2 * rings, 1)
    far = jnp.minimum(jnp.minimum(nearest - 1, edge), limit[:, None])

    # the towers straight ahead, all and those with fewer rings, as bits of their distance
    distance_bit = jnp.where(on_line[0] & (ahead > 0), jnp.uint8(1) << ahead.astype(jnp.uint8), jnp.uint8(0))
    taken = jnp.sum(distance_bit, axis=1, dtype=jnp.uint8)
    weaker = jnp.where(rival_rings[None] < rings[:, None], distance_bit[:, TOWERS:], jnp.uint8(0))
    weak = jnp.sum(weaker, axis=1, dtype=jnp.uint8)
    push = jnp.zeros(TOWERS, bool)
    for count in range(1, MOST_RINGS):
        in_a_row, behind = np.uint8((2 << count) - 2), np.uint8(2 << count)
        push |= (weak & in_a_row == in_a_row) & (taken & behind == 0) & (home > count) & (rings >= count)
    return Reach(far, push, home)


def move(state: KamisadoState, action: Action) -> KamisadoState:
    """A tower moves or pushes."""
    seat = state.to_play
    tower, way, distance = action // 21, action % 21 // 7, action % 7 + 1
    own, enemy = sides(state.towers, seat)
    mine = jnp.arange(TOWERS) == tower
    source = jnp.sum(jnp.where(mine, own, jnp.int8(0)), dtype=jnp.int8)
    up = _forward(seat) * jnp.int8(8)
    turn = jnp.where(way == 0, 0, 2 * way - 3).astype(jnp.int8)
    target = source + distance.astype(jnp.int8) * (up + turn)

    in_file = [(enemy == source + up * jnp.int8(k)).any() for k in range(1, MOST_RINGS)]
    pushes = (way == 0) & (distance == 1) & in_file[0]
    run = jnp.cumprod(jnp.stack(in_file).astype(jnp.int8)).sum(dtype=jnp.int8)  # enemy towers in front, one by one
    ahead = (enemy - source) * jnp.sign(up)
    pushed = pushes & (ahead & 7 == 0) & (ahead > 0) & (ahead >> 3 <= run)
    landing = jnp.where(pushes, source + up * (run + jnp.int8(1)), target)
    return state._replace(
        towers=_pair(jnp.where(mine, target, own), jnp.where(pushed, enemy + up, enemy), seat),
        required=_colour(landing),
        passed=jnp.uint32(0),
        last=seat * jnp.int8(8) + _colour(target),
        to_play=jnp.where(pushes, seat, jnp.int8(1) - seat),
    )


def give_way(state: KamisadoState) -> KamisadoState:
    """A forced pass: the square under the blocked tower names the next one."""
    own, _ = sides(state.towers, state.to_play)
    blocked = jnp.arange(TOWERS, dtype=jnp.int8) == state.required
    square = jnp.sum(jnp.where(blocked, own, jnp.int8(0)), dtype=jnp.int8)
    return state._replace(
        required=_colour(square),
        passed=state.passed | bits.bit(state.to_play * jnp.int8(8) + state.required),
        to_play=jnp.int8(1) - state.to_play,
    )


def end_round(state: KamisadoState, mover: Int8[Array, ""]) -> KamisadoState:
    """Gives the winner his ring and the choice of regrouping, if `mover` came home or ran into a deadlock."""
    at_home = jnp.stack([state.towers[0] < SIDE, state.towers[1] >= CELLS - SIDE])
    came_home = at_home.any()
    again = state.passed & bits.bit(state.to_play * jnp.int8(8) + state.required) != 0
    winner = jnp.where(came_home, mover, jnp.int8(1) - (state.last >> 3))
    # in a deadlock the ring goes to the tower that the last real move had named by its own square
    named = jnp.arange(TOWERS, dtype=jnp.int8) == state.last & 7
    tower = jnp.where(came_home, at_home.any(axis=0), named)
    gains = (came_home | again) & tower[None] & (jnp.arange(2, dtype=jnp.int8) == winner)[:, None]
    ended = came_home | again
    return state._replace(
        rings=jnp.minimum(state.rings + gains.astype(jnp.int8), jnp.int8(MOST_RINGS)),
        required=jnp.where(ended, jnp.int8(FILL), state.required),
        to_play=jnp.where(ended, winner, state.to_play),
    )


def regroup(state: KamisadoState, left: Bool[Array, ""]) -> KamisadoState:
    """Both seats line up again, row by row from home, each from his own left or right hand; the loser moves first."""
    lines = []
    for seat in range(2):
        row, column = state.towers[seat] >> 3, state.towers[seat] & 7
        from_a = left == (seat == 0)  # seat 1 looks the other way
        order = (7 - row if seat == 0 else row) * jnp.int8(8) + jnp.where(from_a, column, 7 - column)
        place = jnp.sum(order[None] < order[:, None], axis=1, dtype=jnp.int8)
        lines.append(jnp.where(from_a, place, 7 - place) + jnp.int8(56 if seat == 0 else 0))
    return state._replace(
        towers=jnp.stack(lines),
        required=jnp.int8(ANY),
        passed=jnp.uint32(0),
        last=jnp.int8(-1),
        to_play=jnp.int8(1) - state.to_play,
    )
