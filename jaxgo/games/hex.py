"""Hex: Red joins top and bottom, Blue left and right, and a full board always joins exactly one of the two.

Every stone has the name of its chain, and what touches an edge has the name of the edge. So a move renames at most
three chains, all cells side by side; no loop follows a chain, and the end is seen where two edges meet.
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int, Int8, Int16, Int32, Integer, UInt32

from jaxgo.core import board, zobrist
from jaxgo.core.errors import UsageError
from jaxgo.core.game import EMPTY, Action, AuxTarget, Game, Piece, returns_of_winner
from jaxgo.games.boards import words

# the six cells around one, each beside the next; (row, column) and (column, row) are neighbours of the same
RING = ((-1, 0), (-1, 1), (0, 1), (1, 0), (1, -1), (0, -1))
RED, BLUE = "#d2452f", "#2f6fb5"
SWAP = "swap-pieces"  # what other programs call the swap
SAVE, CUT = 20.0, 8.0  # what is added to the weight of a cell that mends a broken bridge, or parts one of the other


class HexState(NamedTuple):
    chains: Integer[Array, " A"]  # 0 empty; the chain's name, below 0 if it is the other's; last: 0 while one may swap
    to_play: Int8[Array, ""]
    ply: Int16[Array, ""]
    winner: Int8[Array, ""]  # 0 nobody yet, 1 or 2


@functools.cache
def near(size: int) -> np.ndarray:
    """`int32[cells, 6]`: the cells around each, in the order of the ring; the cell itself for those off the board."""
    row, column = np.divmod(np.arange(size * size)[:, None], size)
    down, right = np.array(RING).T
    there = (row + down, column + right)
    inside = np.logical_and.reduce([(x >= 0) & (x < size) for x in there])
    return np.where(inside, there[0] * size + there[1], row * size + column).astype(np.int32)


@dataclasses.dataclass(frozen=True)
class Hex(Game[HexState]):
    """GTP and SGF call seat 0 (Red) Black, and seat 1 (Blue) White."""

    size: int = 11
    swap: bool = True  # the pie rule

    pieces = (EMPTY, Piece("R", 0, colour=RED), Piece("B", 1, colour=BLUE))
    grid = "hexagons"
    notation = "a letter and a row from the top: `b2`; or `swap`"

    @property
    def how_to_play(self) -> str:
        swap = (
            " Blue's first move may be `swap`: Red's stone becomes a blue one, on the mirrored cell."
            if self.swap
            else ""
        )
        return (
            "Put a stone on an empty cell. Red, who moves first, wins by stones that touch from the top side to the "
            f"bottom side, Blue from the left to the right. One of the two always does.{swap}"
        )

    def __post_init__(self) -> None:
        if not 2 <= self.size <= 26:
            raise UsageError(f"a Hex board of size {self.size} is not between 2 and 26")

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, self.size

    @property
    def points(self) -> int:
        return self.size * self.size

    @property
    def num_actions(self) -> int:
        return self.points + self.swap

    @property
    def max_plies(self) -> int:
        return self.points + self.swap

    # -- names of chains: 1 to `points`, by one of the chain's cells; then the edges -----------------------------
    @property
    def edges_named(self) -> tuple[int, int]:
        """What is linked to the top or the left edge, and to the bottom or the right one."""
        return self.points + 1, self.points + 2

    @property
    def closed(self) -> int:
        """Stands in the place of the swap, when there is none."""
        return self.points + 3

    @property
    def _name(self) -> Any:
        """The type of a name."""
        return jnp.int8 if self.closed <= np.iinfo(np.int8).max else jnp.int16

    @property
    def _edges(self) -> np.ndarray:
        """`[cells * 2]`: the edge that a cell touches, of Red's and of Blue's; 0: none."""
        place = np.stack(np.divmod(np.arange(self.points), self.size), axis=1)
        first, second = self.edges_named
        return np.where(place == 0, first, np.where(place == self.size - 1, second, 0)).reshape(-1).astype(self._name)

    # -- rules ---------------------------------------------------------------------------------------------------
    def init(self, key: Array) -> HexState:
        return self.place(np.zeros(self.points, np.int8), 0)

    def legal(self, state: HexState) -> Bool[Array, " A"]:
        return state.chains == 0

    def step(self, state: HexState, action: Action) -> HexState:
        name, (first, second), chains, cell = self._name, self.edges_named, state.chains, action.astype(jnp.int32)
        place = jnp.arange(self.num_actions, dtype=name)
        if self.swap:
            mirror = np.append(np.arange(self.points).reshape(self.shape).T, 0).astype(name)
            swapped = cell == self.points
            only = jnp.where(chains != 0, jnp.asarray(mirror), name(0)).max()  # of the one stone, if it is swapped
            cell = jnp.where(swapped, only.astype(jnp.int32), cell)
            chains = jnp.where(swapped, name(0), chains)
        own = jnp.maximum(_at(chains, _at(near(self.size), cell)), name(0))
        # of two stones beside the new one and beside each other one chain is named
        a, b, c = jnp.maximum(own[0::2], own[1::2])
        edge = _at(self._edges, 2 * cell + state.to_play.astype(jnp.int32))
        joined = functools.reduce(jnp.maximum, (a, b, c, edge, (cell + 1).astype(name)))
        new = place == cell.astype(name)
        for chain in (a, b, c):
            new |= chains == jnp.where(chain > 0, chain, joined)  # nothing has the new name yet
        after = -jnp.where(new, joined, chains)
        if self.swap:
            open_now = jnp.where((state.ply == 0) & (state.to_play == 0), name(0), name(self.closed))
            after = jnp.where(place == self.points, open_now, after)
        links = jnp.stack([a, b, c, edge])
        won = (links == first).any() & (links == second).any()
        return HexState(
            chains=after,
            to_play=jnp.int8(1) - state.to_play,
            ply=state.ply + jnp.int16(1),
            winner=jnp.where(won, state.to_play + jnp.int8(1), jnp.int8(0)),
        )

    def over(self, state: HexState) -> Bool[Array, ""]:
        return state.winner != 0

    def returns(self, state: HexState) -> Float32[Array, " 2"]:
        return returns_of_winner(state.winner)

    # -- views ---------------------------------------------------------------------------------------------------
    def observe(self, state: HexState) -> Bool[Array, "H W C"]:
        """The mover's stones and the other's; of each those linked to an edge; Blue to move; the swap is open.

        Which of its edges a stone is linked to would change places when the board is turned.
        """
        chains = state.chains[: self.points]
        linked = jnp.abs(chains) > self.points
        planes = [chains > 0, chains < 0, linked & (chains > 0), linked & (chains < 0)]
        flags = [state.to_play == 1] + [state.chains[self.points] == 0] * self.swap
        planes += [jnp.broadcast_to(flag, (self.points,)) for flag in flags]
        return jnp.stack(planes, axis=-1).reshape(*self.shape, -1)

    def cells(self, state: HexState) -> Int8[Array, " cells"]:
        chains = state.chains[: self.points]
        mine = state.to_play + jnp.int8(1)
        return jnp.where(chains > 0, mine, jnp.where(chains < 0, jnp.int8(3) - mine, jnp.int8(0)))

    def hash(self, state: HexState) -> UInt32[Array, "2"]:
        chains = state.chains[: self.points]
        stones = jnp.pad(jnp.concatenate([chains > 0, chains < 0]), (0, -2 * self.points % words.WORD))
        return zobrist.of_words(jnp.append(words.pack(stones), state.to_play.astype(jnp.uint32)))

    def symmetries(self) -> board.Symmetries:
        """The half turn: the edges of each seat change places."""
        return board.of_cell_actions(board.symmetries(*self.shape)[[0, 3]], int(self.swap))

    def place(self, cells: np.ndarray, to_play: int) -> HexState:
        codes = self.drawn(cells, to_play)
        chains, winner = np.zeros(self.num_actions, self._name), 0
        for start in np.flatnonzero(codes).tolist():
            if chains[start] == 0:
                seat = int(codes[start]) - 1
                chain = _chain(codes, self.size, start)
                edges = set(self._edges[2 * np.array(chain) + seat].tolist())
                winner = seat + 1 if edges >= set(self.edges_named) else winner
                chains[chain] = (max(*edges, start + 1)) * (1 if seat == to_play else -1)
        # one stone of Red's and Blue to move: as after the first move; another one stone: as after the swap
        first_move = to_play == 1 and codes.sum() == 1
        stones = int((codes > 0).sum())
        ply = 2 if self.swap and stones == 1 and not first_move else stones
        if self.swap:
            chains[self.points] = 0 if first_move else self.closed
        return HexState(jnp.asarray(chains), jnp.int8(to_play), jnp.int16(ply), jnp.int8(winner))

    def sides(self) -> tuple[str, ...]:
        return RED, BLUE, RED, BLUE

    def action_name(self, action: int) -> str:
        if action == self.points:
            return "swap"
        row, column = divmod(action, self.size)
        return f"{board.FILES[column]}{row + 1}"

    def parse_action(self, text: str) -> int:
        return super().parse_action("swap" if text.strip().lower() == SWAP else text)

    # -- knowledge -----------------------------------------------------------------------------------------------
    def _sides(self, state: HexState) -> tuple[Bool[Array, "2 n n"], Bool[Array, "2 n n"]]:
        """Own stones and the other's as each seat sees them: Blue's board is transposed, so that both go down."""
        red, blue = (self.cells(state).reshape(1, *self.shape) == code for code in (1, 2))
        across = (0, 2, 1)
        return jnp.concatenate([red, blue.transpose(across)]), jnp.concatenate([blue, red.transpose(across)])

    def _from_top(self, cost: Int16[Array, "2 n n"]) -> Int16[Array, "2 n n"]:
        """The least cost of the cells on a way from the top to each cell, itself included."""
        n, far = self.size, jnp.int16(self.points)

        def relax(carry: tuple[Array, Array]) -> tuple[Array, Array]:
            known, _ = carry
            padded = jnp.pad(known, ((0, 0), (1, 1), (1, 1)), constant_values=far)
            around = [padded[:, 1 + down : n + 1 + down, 1 + right : n + 1 + right] for down, right in RING]
            shorter = jnp.minimum(known, cost + functools.reduce(jnp.minimum, around))
            return shorter, (shorter != known).any()

        start = jnp.where(jnp.arange(n)[None, :, None] == 0, cost, far)
        return jax.lax.while_loop(lambda carry: carry[1], relax, (start, jnp.bool_(True)))[0]

    def distances(self, state: HexState) -> Int32[Array, "2"]:
        """The stones that each seat still needs to join its edges; as many as there are cells where it cannot."""
        own, other = self._sides(state)
        cost = jnp.where(own, jnp.int16(0), jnp.where(other, jnp.int16(self.points), jnp.int16(1)))
        return self._from_top(cost)[:, -1].min(axis=-1).astype(jnp.int32)

    def heuristic(self, state: HexState) -> Float32[Array, ""]:
        """How many stones more the other seat needs than the mover, squeezed; who may swap has the better side."""
        red, blue = self.distances(state)
        lead = jnp.where(state.to_play == 0, blue - red, red - blue)
        if self.swap:
            lead = jnp.where(state.chains[self.points] == 0, jnp.abs(lead), lead)
        return jnp.tanh(lead.astype(jnp.float32) / 2)

    def move_weights(self, state: HexState) -> Float32[Array, " A"]:
        """1, and more where a stone of one side stands between two chains of the other that only this cell joins:
        a bridge that was broken into, to be mended by who owns it or parted by the other."""
        n, (first, second) = self.size, self.edges_named
        place = np.arange(n + 2)
        rim = np.where(place == 0, first, np.where(place == n + 1, second, 0)).astype(self._name)
        down, across = rim[:, None] * (rim == 0), rim * (rim[:, None] == 0)  # corners are nobody's
        edges = jnp.where(state.to_play == 0, jnp.asarray(down - across), jnp.asarray(across - down))
        grid = jnp.pad(state.chains[: self.points].reshape(self.shape), 1) + edges
        around = jnp.stack([grid[1 + down : n + 1 + down, 1 + right : n + 1 + right] for down, right in RING])
        before, after = jnp.roll(around, 1, axis=0), jnp.roll(around, -1, axis=0)
        apart = before != after
        save = (apart & (before > 0) & (around < 0) & (after > 0)).any(axis=0)
        cut = (apart & (before < 0) & (around > 0) & (after < 0)).any(axis=0)
        weights = (1.0 + SAVE * save.astype(jnp.float32) + CUT * cut.astype(jnp.float32)).reshape(-1)
        return jnp.pad(weights, (0, int(self.swap)), constant_values=1.0)

    def aux_targets(self) -> tuple[AuxTarget, ...]:
        return AuxTarget("ownership", "cells"), AuxTarget("line", "cells")

    def aux_values(self, state: HexState) -> dict[str, Float32[Array, "*target"]]:
        """Whose stone each cell has at the end, and which of the stones are of the chain that won."""
        own, _ = self._sides(state)
        cost = jnp.where(own, jnp.int16(0), jnp.int16(self.points))
        turned = cost[:, ::-1, ::-1]
        joined = (self._from_top(cost) == 0) & (self._from_top(turned)[:, ::-1, ::-1] == 0)
        owner, line = (x[0].astype(jnp.float32) - x[1].T.astype(jnp.float32) for x in (own, joined))
        return {"ownership": owner.reshape(-1), "line": line.reshape(-1)}


def _at(table: Array | np.ndarray, place: Int[Array, "*k"]) -> Array:
    """Rows of a table, of places that are in it."""
    return jnp.asarray(table).at[place].get(mode="promise_in_bounds")


def _chain(codes: np.ndarray, size: int, start: int) -> list[int]:
    """The stones of one colour that are connected with one of them."""
    chain = [start]
    for cell in chain:  # which grows
        same = {other for other in near(size)[cell].tolist() if codes[other] == codes[start]}
        chain += sorted(same - set(chain))
    return chain
