"""Peg solitaire on the English and the French board, played forward, or backward from the last peg.

Holes are the cells of a 7 x 7 frame. An action is `from * 4 + direction` (N E S W): the peg on `from` jumps over its
neighbour into the hole behind, and the neighbour goes. A jump flips the same three holes whether it is played or
taken back, so both directions of play share their tables.
"""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int8, Int16, Int32, UInt32

from jaxgo.core import board, zobrist
from jaxgo.core.board import Symmetries
from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.core.game import EMPTY, VOID, Action, Game, Piece

SIDE = 7
CELLS = SIDE * SIDE
CENTRE = CELLS // 2
VOID_CODE = 2
WORDS, WORD = 2, 32

# pegs at the start; "central" is the full board without its middle peg
FIGURES = {
    "central": "",
    "latin_cross": "d3 d4 d5 d6 c5 e5",
    "greek_cross": "b4 c4 d2 d3 d4 d5 d6 e4 f4",
    "tiny_pyramid": "b3 c3 c4 d3 d4 d5 e3 e4 f3",
    "tiny_diamond": "b4 c3 c4 c5 d2 d3 d5 d6 e3 e4 e5 f4",
    "large_cross": "a4 b4 c3 c4 c5 d1 d2 d3 d5 d6 d7 e3 e4 e5 f4 g4",
}
BOARDS = ("english", "french")


class PegsState(NamedTuple):
    pegs: UInt32[Array, "2"]  # cell c is bit c % 32 of word c // 32
    to_play: Int8[Array, ""]  # always 0
    ply: Int16[Array, ""]


class Jumps(NamedTuple):
    """The words of each action: which holes must hold a peg, which must be empty. Impossible ones need every peg."""

    full: np.ndarray  # uint32[A, 2]
    empty: np.ndarray  # uint32[A, 2]


@functools.cache
def holes(kind: str) -> np.ndarray:
    """`bool[49]`: the cells of the frame that are holes."""
    row, column = np.divmod(np.arange(CELLS), SIDE)
    if kind == "french":
        return np.abs(row - 3) + np.abs(column - 3) <= 4
    return (np.abs(row - 3) <= 1) | (np.abs(column - 3) <= 1)


@functools.cache
def figure_pegs(kind: str, figure: str) -> np.ndarray:
    """`bool[49]`: the pegs of a figure."""
    if figure == "central":
        return holes(kind) & (np.arange(CELLS) != CENTRE)
    names = [board.square_name(cell, SIDE, SIDE) for cell in range(CELLS)]
    return np.isin(names, FIGURES[figure].split())


def pack(cells: np.ndarray) -> np.ndarray:
    """`uint32[..., 2]` of `bool[..., 49]`."""
    bits = np.zeros((*cells.shape[:-1], WORDS * WORD), np.uint32)
    bits[..., :CELLS] = cells
    words = bits.reshape(*cells.shape[:-1], WORDS, WORD) << np.arange(WORD, dtype=np.uint32)
    return words.sum(axis=-1, dtype=np.uint32)


@functools.cache
def jumps(kind: str, backward: bool) -> Jumps:
    """What every action needs; backward, a peg leaves the target and two appear."""
    inside, rays = holes(kind), board.rays(SIDE, SIDE)
    everything = np.full(WORDS, 2**WORD - 1, np.uint32)
    full, empty = [], []
    for start in range(CELLS):
        for over, target in rays[start, :4, :2]:
            if target < CELLS and inside[[start, over, target]].all():
                two = pack(np.isin(np.arange(CELLS), [start, over]))
                one = pack(np.arange(CELLS) == target)
                full.append(one if backward else two)
                empty.append(two if backward else one)
            else:
                full.append(everything)
                empty.append(np.zeros(WORDS, np.uint32))
    return Jumps(np.stack(full), np.stack(empty))


@dataclasses.dataclass(frozen=True)
class Pegs(Game[PegsState]):
    """One player. Solved is +1, stuck is -1: backward, too, when there are as many pegs as the figure has."""

    board: str = "english"
    figure: str = "central"
    backward: bool = False

    players = 1
    pieces = (EMPTY, Piece("o", 0), VOID)
    grid = "points"
    notation = "from where to where the peg jumps: `d2-d4`"

    @property
    def how_to_play(self) -> str:
        if self.backward:
            return (
                "The game is played backward, from one peg in the centre: a peg jumps over an empty hole beside it "
                "into the empty hole right behind, and leaves a new peg in the hole between. In the end the pegs have "
                "to stand in the holes of the figure, and nowhere else."
            )
        return (
            "Jump with a peg over a peg beside it into the empty hole right behind; the peg between is taken away. In "
            "the end one peg has to be left, in the centre. Who is stuck before has lost."
        )

    def __post_init__(self) -> None:
        if self.board not in BOARDS:
            raise unknown_name("board of peg solitaire", self.board, BOARDS)
        if self.figure not in FIGURES:
            raise unknown_name("figure of peg solitaire", self.figure, FIGURES)

    @property
    def shape(self) -> tuple[int, int]:
        return SIDE, SIDE

    @property
    def num_actions(self) -> int:
        return CELLS * 4

    @property
    def max_plies(self) -> int:
        return int(figure_pegs(self.board, self.figure).sum()) - 1

    @property
    def _start(self) -> np.ndarray:
        return _last_peg() if self.backward else figure_pegs(self.board, self.figure)

    @property
    def _goal(self) -> np.ndarray:
        return figure_pegs(self.board, self.figure) if self.backward else _last_peg()

    def init(self, key: Array) -> PegsState:
        return PegsState(jnp.asarray(pack(self._start)), jnp.int8(0), jnp.int16(0))

    def legal(self, state: PegsState) -> Bool[Array, " A"]:
        need = jumps(self.board, self.backward)
        wrong = jnp.zeros(self.num_actions, jnp.uint32)
        for i in range(WORDS):
            pegs = state.pegs[i]
            wrong |= (~pegs & jnp.asarray(need.full[:, i])) | (pegs & jnp.asarray(need.empty[:, i]))
        return wrong == 0

    def step(self, state: PegsState, action: Action) -> PegsState:
        need = jumps(self.board, self.backward)
        return PegsState(
            state.pegs ^ jnp.asarray(need.full | need.empty)[action], jnp.int8(0), state.ply + jnp.int16(1)
        )

    def over(self, state: PegsState) -> Bool[Array, ""]:
        stuck = ~self.legal(state).any()
        if not self.backward:
            return stuck
        return stuck | (jax.lax.population_count(state.pegs).sum(dtype=jnp.uint32) > self.max_plies)

    def returns(self, state: PegsState) -> Float32[Array, " 1"]:
        solved = (state.pegs == jnp.asarray(pack(self._goal))).all()
        return jnp.where(solved, jnp.float32(1), jnp.float32(-1))[None]

    def _pegs(self, state: PegsState) -> Bool[Array, " 49"]:
        cell = np.arange(CELLS)
        return (state.pegs[cell // WORD] >> jnp.asarray(cell % WORD, jnp.uint32)) & jnp.uint32(1) != 0

    def observe(self, state: PegsState) -> Bool[Array, "7 7 2"]:
        """The pegs and the empty holes."""
        pegs = self._pegs(state)
        return jnp.stack([pegs, ~pegs & jnp.asarray(holes(self.board))], axis=-1).reshape(SIDE, SIDE, 2)

    def cells(self, state: PegsState) -> Int8[Array, " cells"]:
        return jnp.where(jnp.asarray(holes(self.board)), self._pegs(state).astype(jnp.int8), jnp.int8(VOID_CODE))

    def hash(self, state: PegsState) -> UInt32[Array, "2"]:
        return zobrist.of_words(state.pegs)

    def class_key(self, state: PegsState) -> UInt32[Array, "2"]:
        """The least of the symmetric boards, as one number of two words."""
        rows = (self._pegs(state).reshape(SIDE, SIDE) * jnp.asarray(1 << np.arange(SIDE, dtype=np.int32))[None]).sum(
            axis=1
        )
        turned = jnp.asarray(_turned_rows(self))[jnp.arange(SIDE), rows].sum(axis=0, dtype=jnp.uint32)
        least = turned[:, 1].min()
        low = jnp.where(turned[:, 1] == least, turned[:, 0], jnp.uint32(2**WORD - 1)).min()
        return zobrist.of_words(jnp.stack([low, least]))

    def least_moves(self, state: PegsState) -> Int32[Array, ""]:
        """Exactly so many: every jump changes the number of pegs by one."""
        pegs = jax.lax.population_count(state.pegs).sum(dtype=jnp.uint32).astype(jnp.int32)
        return jnp.abs(int(self._goal.sum()) - pegs)

    def backwards(self) -> "Pegs":
        return dataclasses.replace(self, backward=not self.backward)

    def symmetries(self) -> Symmetries:
        """All eight forward; backward those that keep the figure."""
        cells, turns = board.symmetries(SIDE, SIDE), board.direction_symmetries(SIDE, SIDE)
        keeps = (self._goal[cells] == self._goal).all(axis=1)
        cells, turns = cells[keeps], turns[keeps]
        return Symmetries(cells, (cells[:, :, None] * 4 + turns[:, None, :]).reshape(len(cells), -1))

    def place(self, cells: np.ndarray, to_play: int) -> PegsState:
        codes = self.drawn(cells, to_play)
        if ((codes == VOID_CODE) == holes(self.board)).any():
            raise UsageError(f"that drawing is not the {self.board} board; its holes must be where the board has them")
        pegs, most = int((codes == 1).sum()), self.max_plies + 1
        if pegs > most:
            raise UsageError(f"a position of figure={self.figure} has at most {most} pegs, not {pegs}")
        return PegsState(jnp.asarray(pack(codes == 1)), jnp.int8(0), jnp.int16(0))

    def action_name(self, action: int) -> str:
        """`d2-d4`, or `a1-w` for a jump that would leave the frame."""
        start, direction = divmod(action, 4)
        target = int(board.rays(SIDE, SIDE)[start, direction, 1])
        name = board.square_name(start, SIDE, SIDE)
        return f"{name}-{'nesw'[direction] if target == CELLS else board.square_name(target, SIDE, SIDE)}"


@functools.cache
def _turned_rows(game: Pegs) -> np.ndarray:
    """`uint32[7, 128, G, 2]`: where the pegs of each row, in any pattern, come to under the symmetries."""
    cells = game.symmetries().cells
    grid = np.zeros((SIDE, 2**SIDE, SIDE, SIDE), bool)
    patterns = np.arange(2**SIDE)[:, None] >> np.arange(SIDE) & 1
    grid[np.arange(SIDE), :, np.arange(SIDE)] = patterns
    return pack(grid.reshape(SIDE, 2**SIDE, CELLS)[:, :, cells])


def _last_peg() -> np.ndarray:
    return np.arange(CELLS) == CENTRE
