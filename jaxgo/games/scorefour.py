"""Score Four (Sogo): four in a row in a cube of 4 x 4 pegs, four beads high.

Peg `x + 4 y` stands in row `y` of the pictures. Pictures show the four levels side by side, the lowest at the left.
"""

import dataclasses
import functools
import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int8, Int16, UInt32

from jaxgo.core import board, zobrist
from jaxgo.core.game import EMPTY, VOID, Action, Game, Piece, Threats, returns_of_winner
from jaxgo.games.boards import stacks
from jaxgo.games.boards.stacks import Stacks

SIDE = 4
PEGS = Stacks(SIDE * SIDE, SIDE)
GAP = 3  # the code of the columns between two levels


class ScoreFourState(NamedTuple):
    stones: UInt32[Array, "2 2"]  # the mover's, then the other's
    to_play: Int8[Array, ""]
    ply: Int16[Array, ""]
    winner: Int8[Array, ""]  # 0 nobody yet, 1 or 2


@functools.cache
def lines() -> np.ndarray:
    """`uint32[76, words]`: every straight line of four cells in the cube."""
    found = set()
    for cell in itertools.product(range(SIDE), repeat=3):
        for step in itertools.product((-1, 0, 1), repeat=3):
            points = [tuple(c + i * d for c, d in zip(cell, step, strict=True)) for i in range(SIDE)]
            if any(step) and all(0 <= v < SIDE for point in points for v in point):
                found.add(tuple(sorted((x + SIDE * y, level) for x, y, level in points)))
    return np.stack([PEGS.mask(line) for line in sorted(found)])


@dataclasses.dataclass(frozen=True)
class ScoreFour(Game[ScoreFourState]):
    """There are 76 lines of four."""

    pieces = (EMPTY, Piece("X", 0), Piece("O", 1), VOID)
    notation = "the peg on the 4 x 4 square, letter and row from the bottom: `b2`"
    levels = SIDE

    @property
    def how_to_play(self) -> str:
        return (
            "Put a bead on one of the 16 pegs, each of which holds four. Who first has four of their own in a straight "
            "line, in any direction of the cube, wins; a full cube without that is a draw."
        )

    @property
    def shape(self) -> tuple[int, int]:
        return SIDE, SIDE

    @property
    def picture(self) -> tuple[int, int]:
        return SIDE, SIDE * SIDE + SIDE - 1

    @property
    def num_actions(self) -> int:
        return SIDE * SIDE

    @property
    def max_plies(self) -> int:
        return SIDE**3

    def init(self, key: Array) -> ScoreFourState:
        return ScoreFourState(jnp.zeros((2, PEGS.words), jnp.uint32), jnp.int8(0), jnp.int16(0), jnp.int8(0))

    def legal(self, state: ScoreFourState) -> Bool[Array, " A"]:
        return PEGS.room(state.stones[0] | state.stones[1])

    def step(self, state: ScoreFourState, action: Action) -> ScoreFourState:
        own, other = state.stones[0], state.stones[1]
        own = own | PEGS.landing(own | other, action)
        won = stacks.holds_all(own, lines()).any()
        return ScoreFourState(
            stones=jnp.stack([other, own]),
            to_play=jnp.int8(1) - state.to_play,
            ply=state.ply + jnp.int16(1),
            winner=jnp.where(won, state.to_play + jnp.int8(1), jnp.int8(0)),
        )

    def over(self, state: ScoreFourState) -> Bool[Array, ""]:
        return (state.winner != 0) | (state.ply >= self.max_plies)

    def returns(self, state: ScoreFourState) -> Float32[Array, " 2"]:
        return returns_of_winner(state.winner)

    def observe(self, state: ScoreFourState) -> Bool[Array, "H W 8"]:
        """Four levels of own beads from the lowest up, then four of the other's."""
        planes = jnp.concatenate([PEGS.unpack(state.stones[i]) for i in range(2)], axis=1)
        return planes.reshape(SIDE, SIDE, 2 * SIDE)

    def cells(self, state: ScoreFourState) -> Int8[Array, " cells"]:
        codes = stacks.codes(PEGS.unpack(state.stones[0]), PEGS.unpack(state.stones[1]), state.to_play)
        return stacks.side_by_side(codes.T.reshape(SIDE, SIDE, SIDE), GAP)

    def hash(self, state: ScoreFourState) -> UInt32[Array, "2"]:
        return zobrist.of_words(jnp.append(state.stones.reshape(-1), state.to_play.astype(jnp.uint32)))

    def heuristic(self, state: ScoreFourState) -> Float32[Array, ""]:
        """Lines that only one seat has stones in."""
        return stacks.lead(state.stones[0], state.stones[1], lines())

    def move_weights(self, state: ScoreFourState) -> Float32[Array, " A"]:
        """A stone is worth what stands in the lines through its cell, by 1, 4, 16; the fourth makes it win or stop."""
        own, other = state.stones[0], state.stones[1]
        cells = jax.vmap(lambda a: PEGS.landing(own | other, a))(jnp.arange(SIDE * SIDE))
        through = jax.vmap(lambda cell: stacks.holds_any(cell, lines()))(cells)
        worth = jnp.array([1.0, 4.0, 16.0, 1000.0, 0.0], jnp.float32)
        blocks = jnp.array([0.0, 2.0, 8.0, 300.0, 0.0], jnp.float32)
        mine = jnp.where(stacks.holds_any(other, lines()), 0.0, worth[stacks.open_lines(own, other, lines())])
        theirs = blocks[stacks.open_lines(other, own, lines())]
        return 1.0 + jnp.where(through, (mine + theirs)[None], 0.0).sum(axis=1)

    def threats(self, state: ScoreFourState) -> Threats:
        return stacks.threats(PEGS, state.stones, _gaps())

    def safe(self, state: ScoreFourState, legal: Bool[Array, " A"]) -> Bool[Array, " A"]:
        return legal & stacks.safe_or_won(PEGS, state.stones, _gaps())

    def symmetries(self) -> board.Symmetries:
        return board.of_cell_actions(board.symmetries(SIDE, SIDE))

    def place(self, cells: np.ndarray, to_play: int) -> ScoreFourState:
        codes = stacks.from_side_by_side(self.drawn(cells, to_play), SIDE, SIDE).reshape(SIDE, -1).T
        stones = PEGS.place(codes, to_play)
        mine, theirs = (((seat & lines()) == lines()).all(axis=1).any() for seat in stones)
        won = 2 - to_play if theirs else to_play + 1 if mine else 0  # a line that stands there has won
        plies = int((codes > 0).sum())
        return ScoreFourState(jnp.asarray(stones), jnp.int8(to_play), jnp.int16(plies), jnp.int8(won))

    def edges(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return ("a", "b", "c", "d", "") * (SIDE - 1) + ("a", "b", "c", "d"), ("4", "3", "2", "1")

    def action_name(self, action: int) -> str:
        return board.square_name(action, SIDE, SIDE)


def _gaps() -> stacks.Gaps:
    return functools.partial(stacks.line_gaps, lines())
