"""Go with area scoring (Tromp-Taylor), on boards from 1 x 1 to 19 x 19.

The state keeps, beside the stones, which chain each stone belongs to and which stones are in atari (their chain has
one liberty). So a capture is a look at four neighbours, the legal mask is a few operations on sets of points, and a
move has to count liberties of at most five chains.
"""

import dataclasses
import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int8, Int32, Integer, UInt32

from jaxgo.core import board, zobrist
from jaxgo.core.bitwise import xor
from jaxgo.core.errors import UsageError
from jaxgo.core.game import EMPTY, Action, AuxTarget, Game, Piece, Repetition, check_ply_limit
from jaxgo.core.tracing import traced_once
from jaxgo.games.boards.vertices import vertex
from jaxgo.games.go import superko, views
from jaxgo.games.go.board import GoState, Grid, handicap_points, label_chains, numpy_set, recolour, stone_keys
from jaxgo.games.go.superko import GoTrace

BLACK, WHITE = 0, 1
KO_RULES = ("simple", "positional", "situational")
MOST_KOMI = 1000  # more than any board has points


class Contact(NamedTuple):
    """What a new stone meets on its four sides."""

    near: Int32[Array, " 4"]  # the points beside it
    same: Bool[Array, "4 bits"]  # the chains there, bit by bit
    chains: UInt32[Array, "4 W"]  # the same as sets
    own: Bool[Array, " 4"]  # whether the chain is the mover's
    captured: Bool[Array, " 4"]  # whether it is the opponent's and loses its last liberty
    pressed: Bool[Array, " 4"]  # whether it is the opponent's and stays


def _union(sets: UInt32[Array, "k W"], chosen: Bool[Array, " k"]) -> UInt32[Array, " W"]:
    picked = jnp.where(chosen[:, None], sets, jnp.uint32(0))
    return functools.reduce(jnp.bitwise_or, [picked[i] for i in range(sets.shape[0])])


@dataclasses.dataclass(frozen=True)
class Go(Game[GoState]):
    """ko: what may not come back. `simple`: the single stone just taken; `positional`: any earlier board;
    `situational`: any earlier board with the same player to move. suicide: whether own chains may be taken.
    With a handicap Black's stones stand on the usual star points and White moves first; Black keeps seat 0.
    """

    size: int = 9  # rows
    width: int = 0  # columns; 0: as many as rows
    ko: str = "positional"
    suicide: bool = False
    komi: float = 7.0  # an integer lets games end in draws
    handicap: int = 0
    move_limit: int = 0  # plies, scored as the board then stands; 0: twice the number of points

    pieces = (EMPTY, Piece("X", BLACK), Piece("O", WHITE))
    grid = "points"
    ply_limit = "move_limit"
    notation = "a letter, I being left out, and a row from the bottom: `E5`; or `pass`"

    @property
    def how_to_play(self) -> str:
        back = {"simple": "the single stone that was just taken", "positional": "any earlier board"}
        own = "" if self.suicide else "leave a chain of one's own without such a point, nor "
        return (
            "Black moves first. Put a stone on an empty point, or pass. Stones that touch along the lines are a chain; "
            f"a chain with no empty point beside it is taken off the board. No move may {own}bring back "
            f"{back.get(self.ko, 'an earlier board with the same player to move')}. Two passes in a row end the game. "
            "All stones on the board count, and the empty points that only stones of one colour surround; White gets "
            f"{self.komi:g} points on top. Who has more points wins."
        )

    def __post_init__(self) -> None:
        if not (1 <= self.size <= 19 and 0 <= self.width <= 19):
            raise UsageError(f"a Go board has 1 to 19 lines a side, not {self.size} x {self.width or self.size}")
        if self.ko not in KO_RULES:
            raise UsageError(f"the ko rule is one of {', '.join(KO_RULES)}, not {self.ko!r}")
        if not abs(self.komi) <= MOST_KOMI:
            raise UsageError(f"komi must be a number from -{MOST_KOMI} to {MOST_KOMI}, not {self.komi}")
        check_ply_limit(self, "Go", "twice the number of points")
        if self.handicap:
            handicap_points(self.lines, self.handicap)

    @property
    def lines(self) -> Grid:
        return Grid(self.size, self.width or self.size)

    @property
    def shape(self) -> tuple[int, int]:
        return self.lines.height, self.lines.width

    @property
    def points(self) -> int:
        """Number of points, and the number of the pass."""
        return self.lines.points

    @property
    def num_actions(self) -> int:
        return self.points + 1

    @property
    def max_plies(self) -> int:
        return self.move_limit or 2 * self.points

    # -- start ---------------------------------------------------------------------------------------------------
    def init(self, key: Array) -> GoState:
        cells = np.zeros(self.points, np.int8)
        if self.handicap:
            cells[handicap_points(self.lines, self.handicap)] = BLACK + 1
        return self.place(cells, WHITE if self.handicap else BLACK)

    def chains(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The chain of each drawn stone and its liberties; a UsageError where it has none."""
        chain, liberties = label_chains(self.lines, cells)
        if ((cells > 0) & (liberties == 0)).any():
            raise UsageError("the drawn position has a chain without liberties; take it off the board")
        return chain, liberties

    def place(self, cells: np.ndarray, to_play: int) -> GoState:
        cells, lines = self.drawn(cells, to_play), self.lines
        chain, liberties = self.chains(cells)
        names = np.full(lines.bits, lines.nowhere)
        names[lines.bit[:-1]] = np.where(cells > 0, lines.bit[chain], lines.nowhere)
        stones = np.stack([numpy_set(lines, cells == seat + 1) for seat in (BLACK, WHITE)])
        words = stone_keys(lines)[:, lines.bit[:-1]]
        black, white = (np.bitwise_xor.reduce(words[:, cells == seat + 1], axis=1) for seat in (BLACK, WHITE))
        return GoState(
            stones=jnp.asarray(stones),
            atari=jnp.asarray(numpy_set(lines, (cells > 0) & (liberties == 1))),
            chain=jnp.asarray(names, jnp.uint8 if lines.bits <= 256 else jnp.int16),
            to_play=jnp.int8(to_play),
            ply=jnp.int16(0),
            ko=jnp.int16(-1),
            recent=jnp.full(5, -1, jnp.int16),
            key=jnp.asarray(black) ^ recolour(jnp.asarray(white)),
        )

    # -- legal moves ---------------------------------------------------------------------------------------------
    def _sides(self, state: GoState) -> tuple[UInt32[Array, " W"], UInt32[Array, " W"], UInt32[Array, " W"]]:
        """The mover's stones, the opponent's, and the empty points."""
        black, white = state.stones[0], state.stones[1]
        mine = state.to_play == BLACK
        own, other = jnp.where(mine, black, white), jnp.where(mine, white, black)
        return own, other, self.lines.all & ~(black | white)

    def _breathing(self, state: GoState) -> UInt32[Array, " W"]:
        """Empty points where the mover's stone would have a liberty, its own, a neighbour's or by capture."""
        own, other, empty = self._sides(state)
        return empty & self.lines.beside(empty | (own & ~state.atari) | (other & state.atari))

    def legal(self, state: GoState) -> Bool[Array, " A"]:
        points = self._breathing(state)
        if self.suicide:
            own, _, empty = self._sides(state)
            # a single stone that takes itself leaves the board as it is: only situational superko may allow that
            points = empty if self.ko == "situational" else points | (empty & self.lines.beside(own))
        points &= ~self.lines.single(self._bit(state.ko))
        return jnp.append(self.lines.unpack(points), True)

    def _bit(self, action: Integer[Array, ""]) -> Int32[Array, ""]:
        return jnp.asarray(self.lines.bit)[action.astype(jnp.int32)]  # -1 is the last: nowhere

    # -- a move --------------------------------------------------------------------------------------------------
    def _meet(self, state: GoState, action: Action) -> Contact:
        lines = self.lines
        own, other, _ = self._sides(state)
        near = jnp.asarray(lines.near)[action]
        bits = jnp.asarray(lines.bit)[near]
        same = state.chain[None] == state.chain[bits][:, None]
        enemy, atari = lines.holds(other, bits), lines.holds(state.atari, bits)
        return Contact(near, same, lines.pack(same), lines.holds(own, bits), enemy & atari, enemy & ~atari)

    def step(self, state: GoState, action: Action) -> GoState:
        lines, contact = self.lines, self._meet(state, action)
        own, other, _ = self._sides(state)
        taken = _union(contact.chains, contact.captured)
        joined = lines.single(self._bit(action)) | _union(contact.chains, contact.own)
        own, other = own | joined, other & ~taken
        empty = lines.all & ~(own | other)
        breaths = lines.count(lines.beside(joined) & empty)
        alone = (lines.count(taken) == 1) & (breaths == 1) & ~contact.own.any()
        ko = jnp.where(alone, jnp.where(contact.captured, contact.near, -1).max(), -1)
        gainers, drowned = own & ~joined, jnp.bool_(False)
        if self.suicide:
            drowned = (breaths == 0) & (action < self.points)
            taken = jnp.where(drowned, joined, taken)
            gainers = jnp.where(drowned, other, gainers)
            own, empty = own & ~taken, empty | taken
        # chains beside removed stones had one liberty elsewhere and get another; those pressed may be down to one
        atari = state.atari & ~(joined | taken)
        freed = lines.beside(taken) & atari & gainers
        atari &= ~lines.chains_of(freed, atari & gainers, state.chain)
        tight = lines.count(lines.beside(contact.chains) & empty[None]) == 1
        atari |= _union(contact.chains, contact.pressed & tight) | jnp.where(breaths == 1, joined, jnp.uint32(0))
        chain, key = self._rename(state, contact, action, drowned)
        return GoState(
            stones=jnp.where(state.to_play == BLACK, jnp.stack([own, other]), jnp.stack([other, own])),
            atari=atari,
            chain=chain,
            to_play=jnp.int8(1) - state.to_play,
            ply=state.ply + jnp.int16(1),
            ko=ko.astype(jnp.int16),
            recent=jnp.concatenate([action.astype(jnp.int16)[None], state.recent[:-1]]),
            key=key,
        )

    def _rename(
        self, state: GoState, contact: Contact, action: Action, drowned: Bool[Array, ""]
    ) -> tuple[Integer[Array, " bits"], UInt32[Array, "2"]]:
        """The names of the chains and the key of the stones after a move."""
        bit, words = self._bit(action), jnp.asarray(stone_keys(self.lines))
        joined = (contact.same & contact.own[:, None]).any(0) | (jnp.arange(self.lines.bits) == bit)
        taken = (contact.same & contact.captured[:, None]).any(0) | (joined & drowned)
        nowhere = state.chain.dtype.type(self.lines.nowhere)
        chain = jnp.where(taken, nowhere, jnp.where(joined, bit.astype(state.chain.dtype), state.chain))
        removed = xor(jnp.where(taken, words, jnp.uint32(0)), axis=1)
        black = state.to_play == BLACK
        of_black = jnp.where(black, words[:, bit], jnp.uint32(0)) ^ jnp.where(black == drowned, removed, jnp.uint32(0))
        of_white = jnp.where(black, jnp.uint32(0), words[:, bit]) ^ jnp.where(black == drowned, jnp.uint32(0), removed)
        return chain, state.key ^ of_black ^ recolour(of_white)

    # -- the end -------------------------------------------------------------------------------------------------
    def over(self, state: GoState) -> Bool[Array, ""]:
        return self._both_passed(state) | (state.ply >= self.max_plies)

    def _both_passed(self, state: GoState) -> Bool[Array, ""]:
        return (state.recent[0] == self.points) & (state.recent[1] == self.points)

    @traced_once
    def _areas(self, state: GoState, wanted: Bool[Array, ""]) -> UInt32[Array, "2 W"]:
        """Stones of each colour and the empty points that reach only this colour; no flood where not wanted."""
        empty = jnp.where(wanted, self._sides(state)[2], jnp.uint32(0))
        empty = jnp.stack([empty, empty])
        reached = self.lines.flood(self.lines.beside(state.stones) & empty, empty)
        return state.stones | (reached & ~reached[::-1])

    def _score(self, state: GoState, wanted: Bool[Array, ""]) -> Int32[Array, ""]:
        black, white = self.lines.count(self._areas(state, wanted))
        return black - white

    def score(self, state: GoState) -> Int32[Array, ""]:
        """Black's area less White's, komi not counted; at any time."""
        return self._score(state, jnp.bool_(True))

    def owner(self, state: GoState) -> Int8[Array, " cells"]:
        """Whose area each point is: 1 Black's, -1 White's, 0 nobody's."""
        black, white = (self.lines.unpack(area) for area in self._areas(state, jnp.bool_(True)))
        return black.astype(jnp.int8) - white.astype(jnp.int8)

    def returns(self, state: GoState) -> Float32[Array, " 2"]:
        result = jnp.sign(self._score(state, self.over(state)).astype(jnp.float32) - jnp.float32(self.komi))
        return jnp.stack([result, -result])

    def aux_targets(self) -> tuple[AuxTarget, ...]:
        return AuxTarget("ownership", "cells"), AuxTarget("score", "number")

    def aux_values(self, state: GoState) -> dict[str, Float32[Array, "*target"]]:
        lead = self.score(state).astype(jnp.float32) - jnp.float32(self.komi)
        # in units of a board's side, so that boards of all sizes teach alike
        return {"ownership": self.owner(state).astype(jnp.float32), "score": lead / np.float32(self.points**0.5)}

    # -- repetition ----------------------------------------------------------------------------------------------
    @property
    def repetition(self) -> Repetition:
        return "none" if self.ko == "simple" else "forbidden"

    def repetition_key(self, state: GoState) -> UInt32[Array, "2"]:
        return state.key if self.ko == "positional" else state.key ^ self._side_key(state)

    def begin_trace(self, state: GoState) -> GoTrace:
        return superko.begin(self.lines)

    def extend_trace(self, trace: GoTrace, before: GoState, after: GoState) -> GoTrace:
        return superko.extend(self.lines, trace, before, after)

    def next_suspect(self, state: GoState, trace: GoTrace, action: Action) -> Int32[Array, ""]:
        breathing = self._breathing(state)
        points = breathing & trace.suspects
        if self.suicide:
            points |= self._sides(state)[2] & ~breathing
        points &= ~self.lines.single(self._bit(state.ko))  # forbidden anyway
        bit = self.lines.first_beyond(points, action + action // self.lines.width)
        return jnp.where(bit < self.lines.bits, bit - bit // self.lines.stride, self.num_actions)

    # -- keys, views, names --------------------------------------------------------------------------------------
    def _side_key(self, state: GoState) -> UInt32[Array, "2"]:
        return jnp.where(state.to_play == BLACK, jnp.uint32(0), jnp.asarray(zobrist.table("go side", 1)[0]))

    def hash(self, state: GoState) -> UInt32[Array, "2"]:
        ko, passed = zobrist.table("go ko", self.points), jnp.asarray(zobrist.table("go pass", 2))
        ko_key = jnp.where(state.ko >= 0, jnp.asarray(ko)[state.ko.astype(jnp.int32)], jnp.uint32(0))
        # a finished game is no live one on the same board
        pass_word = jnp.where(self._both_passed(state), passed[1], passed[0])
        pass_key = jnp.where(state.recent[0] == self.points, pass_word, jnp.uint32(0))
        return state.key ^ self._side_key(state) ^ ko_key ^ pass_key

    def cells(self, state: GoState) -> Int8[Array, " cells"]:
        black, white = self.lines.unpack(state.stones[0]), self.lines.unpack(state.stones[1])
        return black.astype(jnp.int8) + jnp.int8(2) * white.astype(jnp.int8)

    def observe(self, state: GoState) -> Float32[Array, "H W 17"]:
        return views.planes(self.lines, state, self.komi)

    def heuristic(self, state: GoState) -> Float32[Array, ""]:
        """Points nearer to one's own stones, komi included, squashed."""
        lead = views.influence(self.lines, state.stones[0], state.stones[1]).astype(jnp.float32) - self.komi
        value = jnp.tanh(lead / np.float32(self.points**0.5))
        return jnp.where(state.to_play == BLACK, value, -value)

    def move_weights(self, state: GoState) -> Float32[Array, " A"]:
        own, other, _ = self._sides(state)
        return views.weights(self.lines, own, other)

    def symmetries(self) -> board.Symmetries:
        return board.of_cell_actions(board.symmetries(*self.shape), 1)

    def action_name(self, action: int) -> str:
        return "pass" if action == self.points else vertex(self.shape, action)
