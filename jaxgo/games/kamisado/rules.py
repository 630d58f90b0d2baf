"""Kamisado: towers that run straight or diagonally forward, each move naming the tower that must answer it.

Passes that come back to a tower are a deadlock; the ring for it goes to the tower that the last real move named by its
own square. After a push the next tower is named by the square where the furthest of the pushed towers landed.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int8, UInt32

from jaxgo.core import board, zobrist
from jaxgo.core.errors import UsageError
from jaxgo.core.game import EMPTY, Action, Game, Piece, check_ply_limit, returns_of_seat
from jaxgo.core.lanes import where_lanes
from jaxgo.games.kamisado.towers import (
    ANY,
    CELLS,
    FILL,
    FILL_LEFT,
    MOST_RINGS,
    MOVES,
    PASS,
    REACH,
    SIDE,
    TOWERS,
    KamisadoState,
    Reach,
    colours,
    end_round,
    give_way,
    move,
    reach,
    regroup,
    sides,
)

TARGETS = (1, 3, 7, 15)
NAMES = ("orange", "blue", "purple", "pink", "yellow", "red", "green", "brown")
LETTERS = "OBUIYRGW"
SHADES = ("#f08a24", "#3f73c4", "#8155a8", "#ef86b4", "#f2d13c", "#d8433b", "#4ca65a", "#8a5a3a")
WAYS = ("ahead", "a-side", "h-side")


@dataclasses.dataclass(frozen=True)
class Kamisado(Game[KamisadoState]):
    """One round (`points` 1), or a match to 3, 7 or 15 points with two more actions: fill from left, from right."""

    points: int = 1
    move_limit: int = 0  # plies, a draw then; 0: 128 in a round and 1000 in a match

    pieces = (
        EMPTY,
        *(
            Piece(letter if seat == 0 else letter.lower(), seat, letter + (str(rings) if rings else ""), shade)
            for rings in range(MOST_RINGS + 1)
            for seat in range(2)
            for letter, shade in zip(LETTERS, SHADES, strict=True)
        ),
    )
    ply_limit = "move_limit"
    notation = (
        "the tower, ahead or diagonally to the side of file a or h, and how far: `orange-ahead-3`, `orange-a-side-2`; "
        "or `pass`, and in matches `fill-left`, `fill-right`"
    )

    @property
    def how_to_play(self) -> str:
        wins, ends = "wins", ""
        if self.points > 1:
            wins, ends = (
                "wins the round",
                " Then the tower that has won it gets a ring, the winner says "
                "from which side both line up again, and the loser begins. Towers with rings move less far, and push "
                "enemy towers that have fewer rings one square back, straight ahead; who has pushed moves again. "
                f"Towers with 1, 2, 3 and 4 rings count 1, 3, 7 and 15 points; {self.points} points win the match.",
            )
        return (
            "Move a tower straight or diagonally forward, away from your own side, as far as you like while the way is "
            "free. The first move is free; then the colour of the square where a tower has just come to names the "
            "tower that the other player must move. If that is blocked he passes, and the colour of the square under "
            f"it names the next one. Who brings a tower to the far row {wins}. If the passes go in a circle, who made "
            f"the last real move has lost.{ends}"
        )

    def __post_init__(self) -> None:
        if self.points not in TARGETS:
            raise UsageError(f"a Kamisado match to {self.points} points is not known; choose 1, 3, 7 or 15")
        check_ply_limit(self, "Kamisado", "128 in a round and 1000 in a match")

    @property
    def shape(self) -> tuple[int, int]:
        return SIDE, SIDE

    @property
    def num_actions(self) -> int:
        return MOVES + 1 if self.points == 1 else MOVES + 3

    @property
    def max_plies(self) -> int:
        return self.move_limit or (128 if self.points == 1 else 1000)

    def init(self, key: Array) -> KamisadoState:
        first = np.argsort(colours()[-SIDE:]) + CELLS - SIDE
        second = np.argsort(colours()[:SIDE])
        return self._begin(np.stack([first, second]), np.zeros((2, TOWERS)), 0)

    def _begin(self, towers: np.ndarray, rings: np.ndarray, to_play: int) -> KamisadoState:
        return KamisadoState(
            towers=jnp.asarray(towers, jnp.int8),
            rings=jnp.asarray(rings, jnp.int8),
            required=jnp.int8(ANY),
            passed=jnp.uint32(0),
            last=jnp.int8(-1),
            to_play=jnp.int8(to_play),
            ply=jnp.int16(0),
        )

    def legal(self, state: KamisadoState) -> Bool[Array, " A"]:
        can = reach(state, state.to_play)
        named = (jnp.arange(TOWERS, dtype=jnp.int8) == state.required) | (state.required == ANY)
        far = jnp.where(named[:, None], can.far, jnp.int8(0))
        push = can.push & named
        distances = jnp.arange(1, REACH + 1, dtype=jnp.int8)
        moves = distances[None, None] <= far[:, :, None]
        moves |= push[:, None, None] & jnp.asarray(np.arange(21).reshape(1, 3, REACH) == 0)
        filling = state.required == FILL
        rest = [~(far > 0).any() & ~push.any() & ~filling]
        rest += [filling, filling] if self.points > 1 else []
        return jnp.concatenate([moves.reshape(-1), jnp.stack(rest)])

    def step(self, state: KamisadoState, action: Action) -> KamisadoState:
        passes = action == PASS
        moved, passed = move(state, jnp.minimum(action, MOVES - 1)), give_way(state)
        after = where_lanes(passes, passed, moved)
        after = end_round(after, state.to_play)
        if self.points > 1:
            regrouped = regroup(state, action == FILL_LEFT)
            after = where_lanes(action > PASS, regrouped, after)
        return after._replace(ply=state.ply + jnp.int16(1))

    def score(self, state: KamisadoState) -> Int8[Array, " 2"]:
        """The points of both seats: a tower with r rings is worth 2^r - 1."""
        return jnp.sum((jnp.int8(1) << state.rings) - jnp.int8(1), axis=1, dtype=jnp.int8)

    def scores(self, state: KamisadoState) -> Int8[Array, " 2"] | None:
        return self.score(state) if self.points > 1 else None

    def _won(self, state: KamisadoState) -> Bool[Array, ""]:
        """Whether the round that was just won also wins the game, for the seat to move."""
        ended = state.required == FILL
        first, second = self.score(state)
        own = jnp.where(state.to_play == 0, first, second)
        return ended if self.points == 1 else ended & (own >= self.points)

    def over(self, state: KamisadoState) -> Bool[Array, ""]:
        return self._won(state) | (state.ply >= self.max_plies)

    def returns(self, state: KamisadoState) -> Float32[Array, " 2"]:
        return returns_of_seat(self._won(state).astype(jnp.float32), state.to_play)

    def observe(self, state: KamisadoState) -> Bool[Array, "H W 30"]:
        """Own towers and the opponent's, and what the rules make of them, in planes that no symmetry mixes.

        Eight planes a side hold the towers by (colour xor colour of the square they stand on), which the mirror and
        the half turn leave alone; a plane per colour would have to be permuted.
        """
        seat, rival = state.to_play, jnp.int8(1) - state.to_play
        own, enemy = sides(state.towers, seat)
        squares = jnp.arange(CELLS, dtype=jnp.int8)
        here, there = (towers[:, None] == squares[None] for towers in (own, enemy))
        by_xor = np.arange(TOWERS)[:, None] ^ colours()[None].astype(np.int32), np.arange(CELLS)[None]
        kind = jnp.arange(TOWERS, dtype=jnp.int8)
        named = (kind == state.required) | (state.required == ANY)
        answer = reach(state, rival)
        blocked = (answer.far.max(axis=1) == 0) & ~answer.push
        comes_home = (answer.far == answer.home[:, None]).any(axis=1)
        passed = state.passed >> jnp.arange(16, dtype=jnp.uint32) & 1 != 0
        mine, theirs = sides(passed.reshape(2, TOWERS).astype(jnp.int8), seat)
        at_stake = (kind == state.last & 7) & (state.last >= 0)  # gets a ring if this ends in a deadlock
        by_rival = state.last >> 3 == rival
        stake = jnp.where(by_rival, self._at(here, at_stake), self._at(there, at_stake))
        top, bottom = jnp.asarray(np.arange(CELLS) < SIDE), jnp.asarray(np.arange(CELLS) >= CELLS - SIDE)
        rings, rival_rings = sides(state.rings, seat)
        planes = [
            here[by_xor],
            there[by_xor],
            self._at(here, named)[None],
            blocked[colours()][None],  # squares that name a tower of the opponent that is blocked,
            comes_home[colours()][None],  # or that comes home at once
            (self._at(here, mine == 1) | self._at(there, theirs == 1))[None],
            stake[None],
            jnp.where(seat == 0, jnp.stack([top, bottom]), jnp.stack([bottom, top])),  # where who wants to go
            jnp.broadcast_to(state.required == FILL, (1, CELLS)),
            *(self._at(here, rings >= k)[None] for k in range(1, MOST_RINGS)),
            *(self._at(there, rival_rings >= k)[None] for k in range(1, MOST_RINGS)),
        ]
        return jnp.concatenate(planes).T.reshape(SIDE, SIDE, -1)

    def _at(self, squares: Bool[Array, "8 64"], chosen: Bool[Array, " 8"]) -> Bool[Array, " 64"]:
        """The squares of the chosen towers."""
        return (squares & chosen[:, None]).any(axis=0)

    def cells(self, state: KamisadoState) -> Int8[Array, " cells"]:
        kind = jnp.arange(2 * TOWERS, dtype=jnp.int8) + jnp.int8(1)
        codes = kind + state.rings.reshape(-1) * jnp.int8(2 * TOWERS)
        here = state.towers.reshape(-1)[:, None] == jnp.arange(CELLS, dtype=jnp.int8)[None]
        return jnp.sum(jnp.where(here, codes[:, None], jnp.int8(0)), axis=0, dtype=jnp.int8)

    def hash(self, state: KamisadoState) -> UInt32[Array, "2"]:
        small = jnp.stack([state.required, state.last, state.to_play, jnp.int8(0)])
        quads = jnp.concatenate([state.towers.reshape(4, 4), state.rings.reshape(4, 4), small[None]])
        words = jax.lax.bitcast_convert_type(quads, jnp.uint32)
        return zobrist.of_words(jnp.append(words, state.passed))

    def heuristic(self, state: KamisadoState) -> Float32[Array, ""]:
        """Towers with a free way home, less the other seat's."""
        own, enemy = (_runners(reach(state, seat)) for seat in (state.to_play, jnp.int8(1) - state.to_play))
        lead = own.sum(dtype=jnp.int32) - enemy.sum(dtype=jnp.int32)
        return lead.astype(jnp.float32) / 16

    def move_weights(self, state: KamisadoState) -> Float32[Array, " A"]:
        """Home before all else; never, if it can be helped, onto the colour of a tower that then goes home."""
        can, seat = reach(state, state.to_play), state.to_play
        danger = _runners(reach(state, jnp.int8(1) - seat))
        own, _ = sides(state.towers, seat)
        action = np.arange(MOVES)
        tower, way, distance = action // 21, action % 21 // 7, action % 7 + 1
        up = jnp.where(seat == 0, -SIDE, SIDE)
        target = own.astype(jnp.int32)[tower] + distance * (up + np.where(way == 0, 0, 2 * way - 3))
        colour = jnp.asarray(colours())[jnp.clip(target, 0, CELLS - 1)]
        home = distance == can.home.astype(jnp.int32)[tower]
        weights = jnp.where(home, 1000.0, jnp.where(danger[colour], 0.01, 1.0)).astype(jnp.float32)
        return jnp.concatenate([weights, jnp.ones(self.num_actions - MOVES, jnp.float32)])

    def symmetries(self) -> board.Symmetries:
        """The mirror, which exchanges colour k and 7 - k; the half turn, which exchanges the seats; and both."""
        grid = np.arange(CELLS, dtype=np.int32).reshape(SIDE, SIDE)
        cells = np.stack([g.reshape(-1) for g in (grid, grid[:, ::-1], grid[::-1, ::-1], grid[::-1])])
        moves = np.arange(MOVES, dtype=np.int32).reshape(TOWERS, 3, REACH)
        other_way = moves[:, [0, 2, 1]]
        actions = np.stack([m.reshape(-1) for m in (moves, other_way[::-1], other_way, moves[::-1])])
        rest = np.array([[PASS, FILL_LEFT, FILL_LEFT + 1], [PASS, FILL_LEFT + 1, FILL_LEFT]], np.int32)[[0, 1, 0, 1]]
        return board.Symmetries(cells, np.concatenate([actions, rest], axis=1)[:, : self.num_actions])

    def place(self, cells: np.ndarray, to_play: int) -> KamisadoState:
        """A round that begins from this position: any tower may move."""
        codes = self.drawn(cells, to_play).astype(np.int64) - 1
        where = np.flatnonzero(codes >= 0)
        kinds = codes[where] % (2 * TOWERS)
        if sorted(kinds.tolist()) != list(range(2 * TOWERS)):
            raise UsageError("a Kamisado position needs each of the sixteen towers exactly once")
        order = np.argsort(kinds)
        towers, rings = where[order].reshape(2, TOWERS), (codes[where] // (2 * TOWERS))[order].reshape(2, TOWERS)
        state = self._begin(towers, rings, to_play)
        if (towers[0] < SIDE).any() or (towers[1] >= CELLS - SIDE).any():
            raise UsageError("in this Kamisado position a tower has come home, so the round is over")
        can = jax.jit(reach)(state, state.to_play)
        if not ((np.asarray(can.far) > 0).any() or np.asarray(can.push).any()):
            raise UsageError("in this Kamisado position the mover cannot move any tower")
        return state

    def square_colours(self) -> tuple[str, ...]:
        return tuple(SHADES[colour] for colour in colours().tolist())

    def edges(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return tuple("abcdefgh"), tuple("87654321")

    def action_name(self, action: int) -> str:
        """`orange-ahead-3`, `orange-a-side-2` (diagonally towards file a), `orange-h-side-2`; `pass`, `fill-left`."""
        if action >= PASS:
            return ("pass", "fill-left", "fill-right")[action - PASS]
        tower, rest = divmod(action, 21)
        return f"{NAMES[tower]}-{WAYS[rest // REACH]}-{rest % REACH + 1}"


def _runners(can: Reach) -> Bool[Array, " 8"]:
    """The towers with a free way to the far row."""
    return (can.far >= can.home[:, None]).any(axis=1) & (can.home > 0)
