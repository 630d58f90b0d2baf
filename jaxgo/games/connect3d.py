"""3D Connect Four on an octagon of 24 stacks, six high: every line scores, and the game lasts all 64 stones.

Stacks are named by row and column of their 6 x 6 square, `23`. Pictures show the six levels side by side, the lowest
at the left.
"""

import dataclasses
import functools
import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int, Int8, Int16, UInt32

from jaxgo.core import board, zobrist
from jaxgo.core.errors import UsageError
from jaxgo.core.game import EMPTY, VOID, Action, Game, Piece
from jaxgo.games.boards import stacks
from jaxgo.games.boards.stacks import Stacks

SIDE, LEVELS, PLIES, LINE = 6, 6, 64, 4
FOOTPRINT = tuple((x, y) for x in range(SIDE) for y in range(SIDE) if 2 <= x + y <= 8 and abs(x - y) <= 3)
STACKS = Stacks(len(FOOTPRINT), LEVELS)
DIRECTIONS = tuple(step for step in itertools.product((-1, 0, 1), repeat=3) if any(step))  # opposites mirror each other
OFF = -1  # no such cell
VOID_CODE = 3
MOST_PRIOR = 1e6  # far beyond any use, and sums of weights stay exact enough
DRAW_MARGIN = 1e-3  # unfloored scores are rounded sums; a smaller difference is none


class Connect3DState(NamedTuple):
    """Everything in pairs is the mover's, then the other's."""

    stones: UInt32[Array, "2 words"]
    lines: Int16[Array, "2"]
    score: Float32[Array, "2"]
    to_play: Int8[Array, ""]
    ply: Int16[Array, ""]


def _slot(x: int, y: int, level: int) -> int:
    """The number of a cell, `stack * LEVELS + level`, or OFF."""
    inside = (x, y) in FOOTPRINT and 0 <= level < LEVELS
    return FOOTPRINT.index((x, y)) * LEVELS + level if inside else OFF


@functools.cache
def rays() -> np.ndarray:
    """`int32[24, LEVELS, 26, 3]`: the next three cells from each cell in each direction; off the board = OFF."""
    return np.array(
        [
            [
                [[_slot(x + i * dx, y + i * dy, z + i * dz) for i in (1, 2, 3)] for dx, dy, dz in DIRECTIONS]
                for z in range(LEVELS)
            ]
            for x, y in FOOTPRINT
        ],
        np.int32,
    )


@functools.cache
def windows() -> np.ndarray:
    """`uint32[336, words]`: every four cells in a straight line."""
    found = []
    for cell, ray in enumerate(rays()[:, :, : len(DIRECTIONS) // 2].reshape(-1, len(DIRECTIONS) // 2, LINE - 1)):
        found += [[divmod(int(c), LEVELS) for c in (cell, *ends)] for ends in ray if (ends != OFF).all()]
    return np.stack([STACKS.mask(window) for window in found])


@functools.cache
def points(floor: bool) -> np.ndarray:
    """`float32[337]`: what the first k lines of a game are worth together."""
    worth = 100.0 / np.arange(1, len(windows()) + 1)
    return np.concatenate([[0.0], np.cumsum(np.floor(worth) if floor else worth)]).astype(np.float32)


@dataclasses.dataclass(frozen=True)
class Connect3D(Game[Connect3DState]):
    """`floor` takes 100 / k down to a whole number. `prior` is the base weight of the connect-and-block rule. `by_lead`
    is the share of a result that is told by the lead, as tanh of it in units of 100 points; the rest by who has won.
    """

    floor: bool = True
    prior: float = 1.0
    by_lead: float = 0.0

    pieces = (EMPTY, Piece("X", 0), Piece("O", 1), VOID)
    notation = "row and column of the stack on its 6 x 6 square, both from 0: `23`"
    levels = LEVELS

    @property
    def how_to_play(self) -> str:
        floor = ", rounded down" if self.floor else ""
        return (
            "Put a stone on a stack, on top of what lies there; six fill it. Four of your own in a straight line, in "
            "any direction in space, score: the first line of the game, whoever makes it, 100 points, the second 50, "
            f"and the k-th 100 / k{floor}. After 32 stones each the higher score wins; equal scores are a draw."
        )

    def __post_init__(self) -> None:
        if not 0 <= self.prior <= MOST_PRIOR:
            raise UsageError(f"prior={self.prior} is not a weight; give a number from 0 to {MOST_PRIOR:,.0f}")
        if not 0 <= self.by_lead <= 1:
            raise UsageError(f"by_lead={self.by_lead} is no share; give a number from 0 to 1")

    @property
    def shape(self) -> tuple[int, int]:
        return SIDE, SIDE

    @property
    def picture(self) -> tuple[int, int]:
        return SIDE, SIDE * LEVELS + LEVELS - 1

    @property
    def num_actions(self) -> int:
        return len(FOOTPRINT)

    @property
    def max_plies(self) -> int:
        return PLIES

    def init(self, key: Array) -> Connect3DState:
        empty = jnp.zeros((2, STACKS.words), jnp.uint32)
        return Connect3DState(empty, jnp.zeros(2, jnp.int16), jnp.zeros(2, jnp.float32), jnp.int8(0), jnp.int16(0))

    def legal(self, state: Connect3DState) -> Bool[Array, " A"]:
        return STACKS.room(state.stones[0] | state.stones[1])

    def step(self, state: Connect3DState, action: Action) -> Connect3DState:
        own, other = state.stones[0], state.stones[1]
        own = own | STACKS.landing(own | other, action)
        lines = stacks.holds_all(own, windows()).sum(dtype=jnp.int16)
        before = state.lines.sum(dtype=jnp.int16)
        worth = jnp.asarray(points(self.floor))
        gain = worth[before + lines - state.lines[0]] - worth[before]
        return Connect3DState(
            stones=jnp.stack([other, own]),
            lines=jnp.stack([state.lines[1], lines]),
            score=jnp.stack([state.score[1], state.score[0] + gain]),
            to_play=jnp.int8(1) - state.to_play,
            ply=state.ply + jnp.int16(1),
        )

    def over(self, state: Connect3DState) -> Bool[Array, ""]:
        return state.ply >= PLIES

    def margin(self, state: Connect3DState) -> Float32[Array, ""]:
        """How many points the mover is ahead."""
        return state.score[0] - state.score[1]

    def scores(self, state: Connect3DState) -> Float32[Array, " 2"]:
        """The points of each seat."""
        return jnp.where(state.to_play == 0, state.score, state.score[::-1])

    def returns(self, state: Connect3DState) -> Float32[Array, " 2"]:
        score = self.scores(state)
        lead = score - score[::-1]
        result = (1.0 - self.by_lead) * jnp.sign(lead) + self.by_lead * jnp.tanh(lead / 100)
        return jnp.where(jnp.abs(lead) < DRAW_MARGIN, jnp.float32(0), result)

    def observe(self, state: Connect3DState) -> Float32[Array, "H W 17"]:
        """Six levels of own stones from the lowest up, six of the other's, scores / 100, lines / 2, and the seat."""
        planes = jnp.concatenate([_square(STACKS.unpack(state.stones[i]), False) for i in range(2)])
        numbers = [state.score / 100, state.lines.astype(jnp.float32) / 2, state.to_play.astype(jnp.float32)[None]]
        scalars = jnp.broadcast_to(jnp.concatenate(numbers), (SIDE, SIDE, 5))
        return jnp.concatenate([jnp.moveaxis(planes, 0, -1).astype(jnp.float32), scalars], axis=-1)

    def cells(self, state: Connect3DState) -> Int8[Array, " cells"]:
        codes = stacks.codes(STACKS.unpack(state.stones[0]), STACKS.unpack(state.stones[1]), state.to_play)
        return stacks.side_by_side(_square(codes, VOID_CODE), VOID_CODE)

    def hash(self, state: Connect3DState) -> UInt32[Array, "2"]:
        """The scores belong to the key: they decide the result, and the order of the lines made them."""
        score = jax.lax.bitcast_convert_type(state.score, jnp.uint32)
        return zobrist.of_words(
            jnp.concatenate([state.stones.reshape(-1), score, state.to_play.astype(jnp.uint32)[None]])
        )

    def heuristic(self, state: Connect3DState) -> Float32[Array, ""]:
        """tanh of the lead, in units of 100 points."""
        return jnp.tanh(self.margin(state) / 100)

    def connect_and_block(self, state: Connect3DState) -> tuple[Int[Array, " A"], Int[Array, " A"]]:
        """What a stone on each stack would do: extensions of own runs to three or more, and blocks of open twos.

        Connect counts, direction by direction, the stones beyond the second of the run through the new stone (two
        looked at on each side). Block counts the rays on which two stones of the other seat come first, followed by
        a cell of the board that is not the mover's.
        """
        own, other = STACKS.unpack(state.stones[0]), STACKS.unpack(state.stones[1])
        level = (own | other).sum(axis=1, dtype=jnp.int32)
        ahead = jnp.asarray(rays())[jnp.arange(len(FOOTPRINT)), jnp.minimum(level, LEVELS - 1)]
        mine = jnp.append(own.reshape(-1), False)[ahead]
        theirs = jnp.append(other.reshape(-1), False)[ahead]
        reach = mine[..., 0].astype(jnp.int32) + (mine[..., 0] & mine[..., 1]).astype(jnp.int32)
        run = 1 + reach + reach[:, ::-1]  # the direction at the same distance from the end is the opposite one
        connect = jnp.maximum(run[:, : len(DIRECTIONS) // 2] - 2, 0).sum(axis=1)
        block = (theirs[..., 0] & theirs[..., 1] & ~mine[..., 2] & (ahead[..., 2] != OFF)).sum(axis=1)
        full = level == LEVELS
        return jnp.where(full, 0, connect), jnp.where(full, 0, block)

    def move_weights(self, state: Connect3DState) -> Float32[Array, " A"]:
        """1 + prior * (2 connect + block), the connect-and-block rule."""
        connect, block = self.connect_and_block(state)
        return 1 + self.prior * (2 * connect + block).astype(jnp.float32)

    def prune(self, state: Connect3DState, legal: Bool[Array, " A"]) -> Bool[Array, " A"]:
        """Dominant pruning: a line is made wherever one can be; else no move lets the other seat make one at once.

        A move opens the cell above it, and stops what the other seat has in its own cell.
        """
        gaps = functools.partial(stacks.line_gaps, windows())
        makes = stacks.wins(STACKS, state.stones[0], state.stones[0] | state.stones[1], gaps) & legal
        safe = stacks.safe(STACKS, state.stones, gaps) & legal
        rest = jnp.where(safe.any(), safe, legal)
        return jnp.where(makes.any(), makes, rest)

    def symmetries(self) -> board.Symmetries:
        squares = board.symmetries(SIDE, SIDE)
        kept = np.array([x * SIDE + y for x, y in FOOTPRINT])
        number = np.full(SIDE * SIDE, OFF, np.int32)
        number[kept] = np.arange(len(kept))
        return board.Symmetries(squares, number[squares[:, kept]])

    def place(self, cells: np.ndarray, to_play: int) -> Connect3DState:
        """Lines that already stand score nothing, but are counted."""
        levels = stacks.from_side_by_side(self.drawn(cells, to_play), LEVELS, SIDE)
        codes = np.stack([levels[:, x, y] for x, y in FOOTPRINT])
        stacks.check_off(np.stack([levels[:, x, y] for x, y in np.ndindex(SIDE, SIDE) if (x, y) not in FOOTPRINT]))
        stones = STACKS.place(codes, to_play)
        lines = [((own & windows()) == windows()).all(axis=1).sum() for own in stones]
        return Connect3DState(
            jnp.asarray(stones),
            jnp.asarray(lines, jnp.int16),
            jnp.zeros(2, jnp.float32),
            jnp.int8(to_play),
            jnp.int16(int((codes > 0).sum())),
        )

    def edges(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Rows are the first number of a stack's name, columns the second."""
        numbers = tuple(str(i) for i in range(SIDE))
        return (*((*numbers, "") * (LEVELS - 1)), *numbers), numbers

    def action_name(self, action: int) -> str:
        x, y = FOOTPRINT[action]
        return f"{x}{y}"


def _square(values: Array, fill: int | bool) -> Array:
    """`[LEVELS, 6, 6]` from values by stack and level, with `fill` outside the octagon."""
    grid = jnp.full((LEVELS, SIDE, SIDE), fill, values.dtype)
    rows, columns = np.array(FOOTPRINT).T
    return grid.at[:, rows, columns].set(values.T)
