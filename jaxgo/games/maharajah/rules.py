"""Maharajah and the Sepoys: a full chess army against a Maharaja, which moves like queen and knight together."""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int8, Int16, UInt32

from jaxgo.core import board, zobrist
from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.core.game import EMPTY, Action, Game, Piece, check_ply_limit, returns_of_winner
from jaxgo.core.lanes import where_lanes
from jaxgo.games.boards import nibbles
from jaxgo.games.boards.nibbles import any_square, equal, unpack, widen
from jaxgo.games.maharajah.moves import ALL, GLYPHS, KING, LONG, MAHARAJA, ROOK, SHORT, MoveRules, Moves, by_kind

WORTH = np.array([0, 1, 3, 3, 5, 9, 0, 0], np.float32)  # a full army is worth 39
FIGURES = dict(zip(GLYPHS[1:], ("pawn", "knight", "bishop", "rook", "queen", "king", "maharajah"), strict=True))
RUNNING, WON_BY_0, WON_BY_1, DRAWN = range(4)  # a win is told as `returns_of_winner` reads it


class Layout(NamedTuple):
    rows: str
    army: int  # seat of the army


LAYOUTS = {
    "dagaz": Layout("......../......../......../....M.../......../......../PPPPPPPP/RNBQKBNR", 0),
    "classic": Layout("RNBQKBNR/PPPPPPPP/......../......../......../......../......../....M...", 1),
    "two": Layout("RNBKQBNR/PPPPPPPP/......../......../......../......../.M....M./........", 0),
}
GOALS = ("capture", "mate")


class MaharajahState(NamedTuple):
    men: UInt32[Array, "8"]  # nibbles: pieces in the order of GLYPHS
    rights: Int8[Array, ""]  # castling that no move of king or rook has spoilt
    to_play: Int8[Array, ""]
    ply: Int16[Array, ""]
    outcome: Int8[Array, ""]


@dataclasses.dataclass(frozen=True)
class Maharajah(Game[MaharajahState]):
    """Layout "dagaz": the army is at the bottom and moves first, the Maharaja stands on e5. "classic": the Maharaja
    starts on e1 and moves first, the army is at the top. "two": an army at the top with its king on d8 moves first
    against Maharajas on b2 and g2; only the last one is royal, and there is no castling.

    Goal "capture" leaves all moves free, goal "mate" none that leaves the own royal piece attacked.
    """

    layout: str = "dagaz"
    goal: str = "capture"
    castling: bool = True
    max_plies: int = 300

    notation = "the two squares of the move, `d4-e5`; the king's two when it castles"

    @property
    def how_to_play(self) -> str:
        one = "the last Maharaja" if self.layout == "two" else "the Maharaja"
        has = "two Maharajas, which move" if self.layout == "two" else "a Maharaja, which moves"
        if self.goal == "capture":
            ends = f"Who takes the king, or {one}, wins. Who has no move makes a draw."
        else:
            ends = (
                f"No move may leave one's own king, or {one}, attacked. Who has no move left loses if attacked; else "
                "it is a draw."
            )
        first = "The army" if self.army == 0 else "The Maharaja"
        return (
            f"One player has the army of chess, whose men move as there, without promotion and without en passant; the "
            f"other has {has} like queen and knight together. {first} moves first. {ends}"
        )

    def __post_init__(self) -> None:
        if self.layout not in LAYOUTS:
            raise unknown_name("layout of maharajah", self.layout, LAYOUTS)
        if self.goal not in GOALS:
            raise unknown_name("goal of maharajah", self.goal, GOALS)
        check_ply_limit(self, "maharajah")

    # -- what the layout fixes ---------------------------------------------------------------------------------
    @property
    def army(self) -> int:
        """The seat of the army."""
        return LAYOUTS[self.layout].army

    @property
    def pieces(self) -> tuple[Piece, ...]:  # type: ignore[override]  # whose they are depends on the layout
        return (EMPTY, *(Piece(g, 1 - self.army if g == "M" else self.army, g, "", FIGURES[g]) for g in GLYPHS[1:]))

    @property
    def _rules(self) -> MoveRules:
        castles = self.castling and self.layout != "two"
        upwards = self.layout == "dagaz"
        return MoveRules(-1 if upwards else 1, 56 if upwards else 0, castles, self.goal == "mate")

    @property
    def shape(self) -> tuple[int, int]:
        return 8, 8

    @property
    def num_actions(self) -> int:
        return 64 * 64

    # -- rules -------------------------------------------------------------------------------------------------
    def init(self, key: Array) -> MaharajahState:
        layout = LAYOUTS[self.layout]
        return self._running(np.array([GLYPHS.index(g) for g in layout.rows.replace("/", "")], np.int8), 0)

    def place(self, cells: np.ndarray, to_play: int) -> MaharajahState:
        """A king and rooks on their first squares may castle."""
        state = self._running(self.drawn(cells, to_play), to_play)
        return state._replace(outcome=jnp.int8(int(_ending(self, state))))

    def _running(self, cells: np.ndarray, to_play: int) -> MaharajahState:
        if (cells == KING).sum() != 1 or (cells == MAHARAJA).sum() not in (1, 2):
            raise UsageError("a position of maharajah needs one king and one or two Maharajas")
        rules, rights = self._rules, 0
        if rules.castles and cells[rules.back + 4] == KING:
            rights = SHORT * int(cells[rules.back + 7] == ROOK) + LONG * int(cells[rules.back] == ROOK)
        men = nibbles.pack(jnp.asarray(cells))
        return MaharajahState(men, jnp.int8(rights), jnp.int8(to_play), jnp.int16(0), jnp.int8(RUNNING))

    def legal(self, state: MaharajahState) -> Bool[Array, " A"]:
        return self._moves(state).mask().reshape(-1)

    def _moves(self, state: MaharajahState) -> Moves:
        mine = state.to_play == self.army
        moves = [self._rules.army(state.men, state.rights), self._rules.maharaja(state.men)]
        return where_lanes(mine, *moves)

    def step(self, state: MaharajahState, action: Action) -> MaharajahState:
        source, target = action // 64, action % 64
        start, goal = nibbles.at(source), nibbles.at(target)
        man, taken = nibbles.code_at(state.men, source), nibbles.code_at(state.men, target)
        men = state.men & ~widen(start | goal) | goal * man
        men = self._rules.with_rook(men, man == KING, target - source)
        won = (taken == KING) | (taken == MAHARAJA) & ~any_square(equal(men, MAHARAJA))
        after = MaharajahState(
            men=men,
            rights=state.rights & ~self._rules.spoilt(start | goal),
            to_play=1 - state.to_play,
            ply=state.ply + jnp.int16(1),
            outcome=jnp.int8(RUNNING),
        )
        ending = jnp.where(won, WON_BY_0 + state.to_play, self._without_moves(after))
        return after._replace(outcome=ending)

    def _without_moves(self, state: MaharajahState) -> Int8[Array, ""]:
        """What it comes to that the mover has no move, where he has none; else it goes on."""
        moves = self._moves(state)
        # a mate is known only from the whole mask of the other side, so this goal pays for two masks a step
        stuck = ~(moves.mask().any() if self.goal == "mate" else moves.any())
        mated = moves.attacked & (self.goal == "mate")
        ending = jnp.where(mated, WON_BY_0 + (1 - state.to_play), jnp.int8(DRAWN))
        return jnp.where(stuck, ending, jnp.int8(RUNNING))

    def over(self, state: MaharajahState) -> Bool[Array, ""]:
        return (state.outcome != RUNNING) | (state.ply >= self.max_plies)

    def returns(self, state: MaharajahState) -> Float32[Array, " 2"]:
        return returns_of_winner(state.outcome)

    # -- views and hints ---------------------------------------------------------------------------------------
    def observe(self, state: MaharajahState) -> Bool[Array, "8 8 17"]:
        """Own men and enemy men by kind, castling rights (short, long), whether the army moves."""
        kinds = by_kind(state.men)[1:]
        army, maharaja = kinds.at[6].set(0), kinds.at[:6].set(0)
        mine = state.to_play == self.army
        flags = jnp.stack([state.rights & SHORT != 0, state.rights & LONG != 0, mine])
        planes = [
            jnp.where(mine, army, maharaja),
            jnp.where(mine, maharaja, army),
            jnp.where(flags[:, None], jnp.asarray(ALL)[None], jnp.uint32(0)),
        ]
        return (unpack(jnp.concatenate(planes)) != 0).T.reshape(8, 8, 17)

    def cells(self, state: MaharajahState) -> Int8[Array, " cells"]:
        return unpack(state.men).astype(jnp.int8)

    def hash(self, state: MaharajahState) -> UInt32[Array, "2"]:
        scalars = state.to_play.astype(jnp.uint32) | state.rights.astype(jnp.uint32) << 1
        return zobrist.of_words(jnp.append(state.men, scalars))

    def heuristic(self, state: MaharajahState) -> Float32[Array, ""]:
        """The army's material: 0.9 for a full army, which should win, down to -0.9 for a bare king."""
        counts = jax.lax.population_count(by_kind(state.men)).sum(-1, dtype=jnp.uint32).astype(jnp.float32)
        value = 1.8 * (counts * jnp.asarray(WORTH)).sum() / WORTH[[1] * 8 + [2, 3, 4] * 2 + [5]].sum() - 0.9
        value = jnp.clip(value, -1.0, 1.0)  # a board that was set up may have any number of queens
        return jnp.where(state.to_play == self.army, value, -value)

    def move_weights(self, state: MaharajahState) -> Float32[Array, " A"]:
        """By what stands on the target square: 1, for an enemy 10, for a royal one 1000."""
        kinds = by_kind(state.men)
        last = jax.lax.population_count(kinds[MAHARAJA]).sum(dtype=jnp.uint32) == 1
        mine = state.to_play == self.army
        enemy = jnp.where(mine, kinds[MAHARAJA], ALL & ~kinds[0] & ~kinds[MAHARAJA])
        royal = jnp.where(mine, jnp.where(last, kinds[MAHARAJA], jnp.uint32(0)), kinds[KING])
        weights = 1 + 9 * unpack(enemy).astype(jnp.float32) + 990 * unpack(royal).astype(jnp.float32)
        return jnp.tile(weights, 64)

    def symmetries(self) -> board.Symmetries:
        """Left and right are the same where nobody castles."""
        mirrored = board.symmetries(8, 8)[: 1 if self._rules.castles else 2]
        return board.of_from_to_actions(mirrored)

    def action_name(self, action: int) -> str:
        return "-".join(board.square_name(cell, 8, 8) for cell in divmod(action, 64))


@functools.partial(jax.jit, static_argnums=0)
def _ending(game: Maharajah, state: MaharajahState) -> Int8[Array, ""]:
    return game._without_moves(state)
