"""Sliding blocks from a drawn layout: Hughe's puzzle, Klotski (the Red Donkey), and the n-puzzles.

A layout is drawn in rows parted by `/`: cells with the same letter are one block, `.` is empty. The goal is drawn
the same way and shows only the blocks that it asks for. One action moves one block by one cell; its number is
`block * 4 + direction` (N E S W), with the blocks in the order of their letters (ASCII: digits, capitals, small).
"""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int8, Int16, Int32, UInt32

from jaxgo.core import board, zobrist
from jaxgo.core.bitwise import union
from jaxgo.core.errors import UsageError
from jaxgo.core.game import EMPTY, Action, Game, Piece, check_ply_limit
from jaxgo.games import walking

Shape = tuple[tuple[int, int], ...]  # cells from the first one of the block, row by row


class SlidingState(NamedTuple):
    blocks: Int8[Array, " cells"]  # 0 empty, else 1 + the number of the block
    to_play: Int8[Array, ""]  # always 0
    ply: Int16[Array, ""]
    key: UInt32[Array, "2"]


@dataclasses.dataclass(frozen=True)
class SlidingBlocks(Game[SlidingState]):
    """One player. Solved is +1; unsolved after `max_plies` moves is 0.

    `scramble` starts from a random arrangement that can be solved; it needs unit squares and one empty cell.
    """

    rows: str = "A.b/A.c/dee/ffg"
    goal: str = ".../.../..A/..A"
    scramble: bool = False
    max_plies: int = 500

    grid = "blocks"
    notation = "the block as the picture names it and north, east, south or west: `b-W`"
    players = 1

    @property
    def how_to_play(self) -> str:
        if _is_n_puzzle(self.goal):
            wanted = " / ".join(" ".join(row.replace(".", " ")).rstrip() for row in self.goal.split("/"))
            return f"Slide a tile into the empty cell beside it. In the end they have to lie so: {wanted}."
        places = []
        for letter in _letters(self.goal):
            rows, columns = np.nonzero(np.array([list(row) for row in self.goal.split("/")]) == letter)
            across, down = (_span(found + 1) for found in (columns, rows))
            places.append(f"{letter} in column {across} from the left and row {down} from the top")
        return f"Slide a block by one cell, into empty cells. In the end there has to be block {', and '.join(places)}."

    def __post_init__(self) -> None:
        rows, goal = self.rows.split("/"), self.goal.split("/")
        if len({len(row) for row in rows}) != 1 or not 1 <= len(rows[0]) * len(rows) <= 120:
            raise UsageError(f"the layout {self.rows!r} is not a rectangle of at most 120 cells; draw equal rows")
        if not _letters(self.rows) or not all(c.isascii() and c.isalnum() for c in _letters(self.rows)):
            raise UsageError(f"the layout {self.rows!r} needs blocks named by letters and digits, '.' being empty")
        if len(_letters(self.rows)) > 31:
            raise UsageError(f"the layout {self.rows!r} has more than 31 blocks; a word of bits holds no more")
        if len(set(self.rows.lower()) - set("/.")) != len(_letters(self.rows)):
            raise UsageError(f"the layout {self.rows!r} uses a letter in both cases; give every block its own letter")
        if [len(row) for row in goal] != [len(row) for row in rows] or not _letters(self.goal):
            raise UsageError(f"the goal {self.goal!r} must be a drawing of the same size with at least one block")
        for letter in _letters(self.goal):
            if letter not in self.rows or _shape(self.goal, letter) != _shape(self.rows, letter):
                raise UsageError(f"block {letter} of the goal has another shape in the layout; draw them alike")
        if not _can_move(self.rows):
            raise UsageError(f"no block of the layout {self.rows!r} can move; leave cells empty ('.') beside one")
        if self.scramble and not (_is_n_puzzle(self.rows) and _is_n_puzzle(self.goal)):
            raise UsageError("only puzzles of unit squares with one empty cell and a full goal can be scrambled")
        check_ply_limit(self, "sliding blocks")

    @property
    def shape(self) -> tuple[int, int]:
        rows = self.rows.split("/")
        return len(rows), len(rows[0])

    @property
    def letters(self) -> tuple[str, ...]:
        """The blocks in the order of their numbers."""
        return _letters(self.rows)

    @property
    def pieces(self) -> tuple[Piece, ...]:  # type: ignore[override]
        named = [Piece(letter, 0 if letter in self.goal else -1, self._block_name(letter)) for letter in self.letters]
        return EMPTY, *named

    @property
    def num_actions(self) -> int:
        return 4 * len(self.letters)

    def init(self, key: Array) -> SlidingState:
        blocks = self._scrambled(key) if self.scramble else jnp.asarray(_codes(self.rows, self.rows))
        return self._state(blocks)

    def _state(self, blocks: Int8[Array, " cells"]) -> SlidingState:
        return SlidingState(blocks, jnp.int8(0), jnp.int16(0), self._key(self._words("blocks"), blocks))

    def _scrambled(self, key: Array) -> Int8[Array, " cells"]:
        """Uniform over the arrangements that can be solved, but for one that comes in place of the solved one, too."""
        goal = jnp.asarray(_codes(self.goal, self.rows))
        drawn = jax.random.permutation(key, goal)
        # two tiles change places where the parity of the arrangement is not that of its empty cell's distance
        drawn = jnp.where(_is_odd(goal, drawn, self.shape[1]), _cycled(drawn, 2), drawn)
        return jnp.where((drawn == goal).all(), _cycled(drawn, 3), drawn)

    # -- moves -------------------------------------------------------------------------------------------------
    def _members(self, blocks: Int8[Array, " cells"]) -> Bool[Array, "blocks cells"]:
        return blocks[None] == jnp.arange(1, len(self.letters) + 1, dtype=jnp.int8)[:, None]

    def _ahead(self, blocks: Int8[Array, " cells"]) -> Int8[Array, "4 H W"]:
        """What lies north, east, south and west of each cell; -1 beyond the edge."""
        padded = jnp.pad(blocks.reshape(self.shape), 1, constant_values=-1)
        height, width = self.shape
        return jnp.stack(
            [padded[1 + dr : 1 + dr + height, 1 + dc : 1 + dc + width] for dr, dc in board.STEPS[:4]],
        )

    def legal(self, state: SlidingState) -> Bool[Array, " A"]:
        ahead = self._ahead(state.blocks).reshape(4, -1)
        barred = (ahead != 0) & (ahead != state.blocks[None])
        # the blocks with a barred cell as the bits of one word for each direction
        own = jnp.uint32(1) << state.blocks.astype(jnp.uint32)
        bits = union(jnp.where(barred, own[None], jnp.uint32(0)), axis=1)
        block = jnp.arange(1, len(self.letters) + 1, dtype=jnp.uint32)
        return (bits[None] >> block[:, None] & 1 == 0).reshape(-1)

    def step(self, state: SlidingState, action: Action) -> SlidingState:
        block, direction = action // 4, action % 4
        code = (block + 1).astype(jnp.int8)
        old = state.blocks == code
        # a cell belongs to the moved block if the cell behind it did
        behind = self._ahead(state.blocks)[(direction + 2) % 4].reshape(-1) == code
        blocks = jnp.where(behind, code, jnp.where(old, jnp.int8(0), state.blocks))
        words = jnp.asarray(self._words("blocks"))[block]
        key = state.key ^ words[jnp.argmax(old)] ^ words[jnp.argmax(behind)]
        return SlidingState(blocks, jnp.int8(0), state.ply + jnp.int16(1), key)

    def _solved(self, state: SlidingState) -> Bool[Array, ""]:
        goal = _codes(self.goal, self.rows)
        asked = np.flatnonzero(goal)
        return (state.blocks[asked] == jnp.asarray(goal[asked])).all()

    def over(self, state: SlidingState) -> Bool[Array, ""]:
        return self._solved(state) | (state.ply >= self.max_plies)

    def returns(self, state: SlidingState) -> Float32[Array, " 1"]:
        return self._solved(state).astype(jnp.float32)[None]

    # -- views and keys ----------------------------------------------------------------------------------------
    def observe(self, state: SlidingState) -> Bool[Array, "H W C"]:
        """One plane for each block. (So a mirrored board is not a symmetry: it would rename blocks.)"""
        return self._members(state.blocks).T.reshape(*self.shape, -1)

    def cells(self, state: SlidingState) -> Int8[Array, " cells"]:
        return state.blocks

    def hash(self, state: SlidingState) -> UInt32[Array, "2"]:
        """Every block counts as itself, because actions name blocks."""
        return state.key

    def repetition_key(self, state: SlidingState) -> UInt32[Array, "2"]:
        """Equal blocks count as one kind, those of the goal apart: 24 times fewer positions in Hughe's puzzle."""
        return self._key(self._words("kinds")[_kinds(self.rows, self.goal)], state.blocks)

    def _words(self, name: str) -> np.ndarray:
        return zobrist.table(name, len(self.letters), len(self.rows.replace("/", "")))

    def _key(self, words: np.ndarray, blocks: Int8[Array, " cells"]) -> UInt32[Array, "2"]:
        """The key of the places of all blocks, from `words[block, first cell]`."""
        first = self._members(blocks).argmax(axis=1)
        places = jnp.arange(words.shape[1])[None] == first[:, None]
        return zobrist.xor_where(words.reshape(-1, 2), places.reshape(-1))

    def class_key(self, state: SlidingState) -> UInt32[Array, "2"]:
        return self.repetition_key(state)

    def next_class_key(self, state: SlidingState, action: Action, key: UInt32[Array, "2"]) -> UInt32[Array, "2"]:
        """Only the place of the moved block changes."""
        block, direction = action // 4, action % 4
        words = jnp.asarray(self._words("kinds")[_kinds(self.rows, self.goal)])[block]
        first = jnp.argmax(state.blocks == (block + 1).astype(jnp.int8))
        ahead = jnp.asarray(np.array([row * self.shape[1] + column for row, column in board.STEPS[:4]]))[direction]
        return key ^ words[first] ^ words[first + ahead]

    def least_moves(self, state: SlidingState) -> Int32[Array, ""]:
        """The steps that the blocks of the goal would need on an empty board, or the walking distance of an n-puzzle,
        whichever is more."""
        steps = self._steps(state)
        if not (_is_n_puzzle(self.rows) and _is_n_puzzle(self.goal)):
            return steps
        goal = _codes(self.goal, self.rows)
        home = np.divmod(np.argsort(goal), self.shape[1])  # the row and the column of each tile; first the empty cell
        grid = state.blocks.reshape(self.shape)
        across = [walking.least_moves(lines, b, int(lines[0])) for lines, b in zip(home, (grid, grid.T), strict=True)]
        if across[0] is None or across[1] is None:
            return steps
        return jnp.maximum(steps, across[0] + across[1])

    def _steps(self, state: SlidingState) -> Int32[Array, ""]:
        """The sum of the steps that the blocks of the goal would need on an empty board."""
        goal, width = _codes(self.goal, self.rows), self.shape[1]
        asked = np.unique(goal[goal > 0])
        targets = np.array([np.argmax(goal == code) for code in asked])
        places = (state.blocks[None] == jnp.asarray(asked)[:, None]).argmax(axis=1)
        rows = jnp.abs(places // width - jnp.asarray(targets // width))
        columns = jnp.abs(places % width - jnp.asarray(targets % width))
        return (rows + columns).sum().astype(jnp.int32)

    def heuristic(self, state: SlidingState) -> Float32[Array, ""]:
        """1 / (1 + d): d is the sum of the steps of the goal's blocks."""
        return 1 / (1 + self._steps(state).astype(jnp.float32))

    def place(self, cells: np.ndarray, to_play: int) -> SlidingState:
        cells = self.drawn(cells, to_play)
        drawn = "".join((".", *self.letters)[code] for code in cells.tolist())
        width = self.shape[1]
        drawn = "/".join(drawn[i : i + width] for i in range(0, len(drawn), width))
        for letter in self.letters:
            if letter not in drawn or _shape(drawn, letter) != _shape(self.rows, letter):
                raise UsageError(f"block {letter} is not drawn in its own shape; draw every block once")
        if not _can_move(drawn):
            raise UsageError(f"no block of the position {drawn!r} can move; draw one that goes on")
        return self._state(jnp.asarray(cells))

    def _block_name(self, letter: str) -> str:
        return str(int(letter, 36)) if self.scramble else letter

    def action_name(self, action: int) -> str:
        return f"{self._block_name(self.letters[action // 4])}-{'NESW'[action % 4]}"


def _span(numbers: np.ndarray) -> str:
    """Some numbers in a row, as people call them."""
    low, high = int(numbers.min()), int(numbers.max())
    return str(low) if low == high else f"{low} to {high}"


@functools.cache
def _letters(drawing: str) -> tuple[str, ...]:
    return tuple(sorted(set(drawing) - set("/.")))


@functools.cache
def _shape(drawing: str, letter: str) -> Shape:
    cells = [(r, c) for r, row in enumerate(drawing.split("/")) for c, name in enumerate(row) if name == letter]
    return tuple((r - cells[0][0], c - cells[0][1]) for r, c in cells)


@functools.cache
def _can_move(drawing: str) -> bool:
    """Whether any block can move."""
    cells = {(r, c): name for r, row in enumerate(drawing.split("/")) for c, name in enumerate(row)}
    return any(
        all(cells.get((r + down, c + right)) in (".", block) for (r, c), name in cells.items() if name == block)
        for block in _letters(drawing)
        for down, right in board.STEPS[:4]
    )


@functools.cache
def _codes(drawing: str, rows: str) -> np.ndarray:
    return np.array([(".", *_letters(rows)).index(letter) for letter in drawing.replace("/", "")], np.int8)


@functools.cache
def _kinds(rows: str, goal: str) -> np.ndarray:
    """The number of each block's kind: its shape, or the block itself if the goal asks for it."""
    looks = [(_shape(rows, letter), letter if letter in goal else "") for letter in _letters(rows)]
    return np.array([looks.index(look) for look in looks])


def _is_n_puzzle(drawing: str) -> bool:
    rows, cells = drawing.split("/"), drawing.replace("/", "")
    unit = cells.count(".") == 1 and len(set(cells)) == len(cells) >= 4
    return unit and len(rows) > 1 and len(rows[0]) > 1  # in a single line no tile ever passes another


def _is_odd(goal: Int8[Array, " cells"], drawn: Int8[Array, " cells"], width: int) -> Bool[Array, ""]:
    """Whether moves of the empty cell cannot lead from one arrangement to the other.

    Every move is one exchange with the empty cell, and moves that cell by one: both counts are odd or even together.
    """
    where = (drawn[None] == goal[:, None]).argmax(axis=1)  # the arrangement as a permutation of the goal's cells
    n = len(goal)
    later = np.arange(n)[:, None] < np.arange(n)
    inversions = (later & (where[:, None] > where[None])).sum()
    home, now = (goal == 0).argmax(), (drawn == 0).argmax()
    distance = jnp.abs(home // width - now // width) + jnp.abs(home % width - now % width)
    return (inversions + distance) % 2 != 0


def _cycled(drawn: Int8[Array, " cells"], length: int) -> Int8[Array, " cells"]:
    """Tiles 1 to `length` pass on their places."""
    return jnp.where((drawn > 0) & (drawn <= length), drawn % jnp.int8(length) + jnp.int8(1), drawn)
