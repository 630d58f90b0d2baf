"""Chess: two armies, each with a king that must not be lost; by the rules of FIDE, and Gardner's on 5 x 5 squares.

Draws need not be claimed. Neither can mate with a king alone or with one knight or bishop against a king, or with
bishops that all stand on squares of one colour. Positions are the same where the same moves are possible: the right to
castle counts, and to capture en passant only where a pawn really may.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int8, Int16, UInt32

from jaxgo.core import zobrist
from jaxgo.core.board import Symmetries
from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.core.game import (
    EMPTY,
    Action,
    Game,
    Piece,
    RepetitionResult,
    check_ply_limit,
    check_repetition_result,
    returns_of_winner,
)
from jaxgo.core.tracing import traced_once
from jaxgo.games.boards import words
from jaxgo.games.chess import fen as texts
from jaxgo.games.chess import san, tables
from jaxgo.games.chess.mailbox import Mailbox
from jaxgo.games.chess.moves import Field, Found, Men
from jaxgo.games.chess.tables import BISHOP, KING, KNIGHT, PAWN, PLIES, QUEEN, ROOK

RUNNING, WON_BY_0, WON_BY_1, DRAWN = range(4)  # a win is told as `returns_of_winner` reads it
NAMES = ("pawn", "knight", "bishop", "rook", "queen", "king")
WORTH = np.array([1, 3, 3.2, 5, 9.5, 0], np.float32)
CENTRE = np.array([0.05, 0.12, 0.1, 0.02, 0.04, -0.08], np.float32)  # for each step nearer to it than the edge
AHEAD = 0.06  # for each step of a pawn
FEAR = np.array([1, 3, 3, 5, 9, 4], np.float32)  # what a man is worth in an exchange


USUAL_VARIANT = "chess"  # what UCI calls the game of an engine that says nothing of variants


class Board(NamedTuple):
    """A board, the men at the start, the moves there, which need not be found in every program, and what UCI calls the
    game on it."""

    field: Field
    start: str
    first: str
    variant: str


BOARDS = {
    "standard": Board(
        Field(8, 8, True, True),
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq",
        "a2a3 b2b3 c2c3 d2d3 e2e3 f2f3 g2g3 h2h3 a2a4 b2b4 c2c4 d2d4 e2e4 f2f4 g2g4 h2h4 b1a3 b1c3 g1f3 g1h3",
        USUAL_VARIANT,
    ),
    "gardner": Board(
        Field(5, 5, False, False),
        "rnbqk/ppppp/5/PPPPP/RNBQK w",
        "a2a3 b2b3 c2c3 d2d3 e2e3 b1a3 b1c3",
        "gardner",
    ),
}


class ChessState(NamedTuple):
    kinds: UInt32[Array, "6 words"]  # pawns, knights, bishops, rooks, queens, kings of both seats
    seats: UInt32[Array, "2 words"]
    rights: Int8[Array, ""]  # to castle: seat 0 short 1, long 2; seat 1 short 4, long 8
    passed: Int8[Array, ""]  # the square on which a pawn may be captured en passant; -1: none may be
    clock: Int8[Array, ""]  # plies since a capture or a pawn's move
    outcome: Int8[Array, ""]
    checked: Bool[Array, ""]
    moves: UInt32[Array, " mask"]  # legal ones, a bit for each action: to find them takes longer than to read them
    to_play: Int8[Array, ""]
    ply: Int16[Array, ""]


@dataclasses.dataclass(frozen=True)
class Chess(Game[ChessState]):
    """Board "standard", or "gardner": 5 x 5 squares, without castling and the double step of pawns. White (seat 0)
    starts at the bottom. `fen`: where games begin, blanks as they are or as `_`."""

    board: str = "standard"
    fen: str = ""  # empty: from the usual position
    repetition: RepetitionResult = "draw"
    max_plies: int = 512  # the game is a draw then

    pieces = (
        EMPTY,
        *(
            Piece(letter.upper() if seat == 0 else letter, seat, figure=name)
            for seat in range(2)
            for letter, name in zip(tables.LETTERS, NAMES, strict=True)
        ),
    )
    light_first = True
    notation = (
        "the two squares of the move and what a pawn becomes: `e2e4`, `e7e8q`; the king's two when it castles; `Nf3`, "
        "`exd5`, `O-O` and `e8=Q` are read, too"
    )

    @property
    def how_to_play(self) -> str:
        gardner = self.board == "gardner"
        first = "" if gardner else ", or two at first"
        castling = (
            "Castling moves the king two squares towards a rook, neither having moved before; a pawn that has just "
            "gone two squares may be captured as if it had gone one."
        )
        more = "There is no castling." if gardner else castling
        return (
            "White moves first. The king goes one square in any direction, the queen as far as the way is free, the "
            "rook so in rows and columns, the bishop in diagonals; the knight jumps two squares straight and one to "
            f"the side. A pawn goes one square ahead{first}, captures diagonally ahead, and becomes another man on the "
            f"last row. {more} Who moves onto an enemy man captures it; no move may leave one's own king attacked. "
            "Whose king is attacked and has no way out is mated and loses. It is a draw where somebody has no move "
            "without being attacked, where neither can mate, and after 50 moves each without a capture or a pawn's "
            "move."
        )

    def __post_init__(self) -> None:
        if self.board not in BOARDS:
            raise unknown_name("board of chess", self.board, BOARDS)
        check_repetition_result(self, "chess")
        check_ply_limit(self, "chess")
        self._setup  # noqa: B018  # what is no position is refused here

    @property
    def _field(self) -> Field:
        return BOARDS[self.board].field

    @property
    def shape(self) -> tuple[int, int]:
        return self._field.height, self._field.width

    @property
    def _moves(self) -> tables.Moves:
        return tables.moves(*self.shape)

    @property
    def num_actions(self) -> int:
        return len(self._moves.source)

    # -- start -------------------------------------------------------------------------------------------------
    @property
    def _setup(self) -> texts.Setup:
        return texts.read(self.fen or BOARDS[self.board].start, *self.shape)

    def init(self, key: Array) -> ChessState:
        state = self._placed(self._setup)
        if self.fen:
            return self._settled(state)
        first = np.isin(tables.names(*self.shape), BOARDS[self.board].first.split())
        return state._replace(moves=jnp.asarray(words.mask(first)))

    def place(self, cells: np.ndarray, to_play: int) -> ChessState:
        """Kings and rooks on their first squares may castle, and no pawn has just moved."""
        setup = texts.Setup(self.drawn(cells, to_play), to_play, 15, -1, 0)
        return _settle(self, self._placed(texts.checked(setup, *self.shape)))

    def read_position(self, words: Sequence[str]) -> tuple[ChessState, int] | None:
        count = texts.length(words)
        return (self.from_fen(" ".join(words[:count])), count) if count else None

    def write_position(self, state: ChessState) -> str:
        return self.to_fen(state)

    def is_fen(self, text: str) -> bool:
        words = text.split()
        return 0 < len(words) == texts.length(words)

    def read_fen(self, fen: str = "") -> str:
        """A FEN in the one way to write it, with all fields, and no right that nobody has; "": that of the usual
        position."""
        box = self.mailbox(fen or BOARDS[self.board].start)
        kept = texts.Setup(np.array(box.cells, np.int8), box.seat, box.rights, box.passed, min(box.clock, PLIES))
        return texts.write(kept, 0, *self.shape)

    def mailbox(self, fen: str) -> Mailbox:
        """The position of a FEN, to be moved without a program."""
        setup = texts.read(fen, *self.shape)
        return Mailbox(self._field, setup.cells.tobytes(), *setup[1:])

    def only(self, state: ChessState, actions: Sequence[int]) -> ChessState:
        """The position with no other legal moves than these of its own."""
        chosen = np.isin(np.arange(self.num_actions), actions)
        return state._replace(moves=state.moves & jnp.asarray(words.mask(chosen)))

    def from_fen(self, text: str) -> ChessState:
        """The position of a FEN, as the start of a game."""
        return _settle(self, self._placed(texts.read(text, *self.shape)))

    def to_fen(self, state: ChessState) -> str:
        """A position as FEN; the number of the move is that of this game."""
        numbers = (int(x) for x in (state.to_play, state.rights, state.passed, state.clock))
        return texts.write(texts.Setup(np.asarray(self.cells(state)), *numbers), int(state.ply), *self.shape)

    def _placed(self, setup: texts.Setup) -> ChessState:
        codes, field = setup.cells, self._field
        kinds = np.stack([(codes > 0) & ((codes - 1) % 6 == kind) for kind in range(6)])
        return ChessState(
            kinds=jnp.asarray(words.mask(kinds)),
            seats=jnp.asarray(words.mask(np.stack([(codes > 0) & (codes < 7), codes >= 7]))),
            rights=jnp.int8(field.kept(codes, setup.rights)),
            passed=jnp.int8(setup.passed if field.doubles else -1),
            clock=jnp.int8(min(setup.clock, PLIES)),
            outcome=jnp.int8(RUNNING),
            checked=jnp.bool_(False),
            moves=jnp.zeros(-(-self.num_actions // words.WORD), jnp.uint32),
            to_play=jnp.int8(setup.to_play),
            ply=jnp.int16(0),
        )

    # -- rules -------------------------------------------------------------------------------------------------
    def legal(self, state: ChessState) -> Bool[Array, " A"]:
        return words.unpack_long(state.moves, self.num_actions)

    def step(self, state: ChessState, action: Action) -> ChessState:
        field, first, width = self._field, state.to_play == 0, self.shape[1]
        source, target, promoted = (jnp.asarray(x)[action] for x in self._moves[:3])
        start, goal = (jnp.stack(words.single(cell, field.words)) for cell in (source, target))
        kind = ((state.kinds & start[None]) != 0).any(axis=1)
        pawn = kind[PAWN]
        passing = pawn & (target.astype(jnp.int8) == state.passed)
        behind = target + jnp.where(first, width, -width)  # the pawn that is captured en passant
        gone = jnp.stack(words.single(jnp.where(passing, behind, target), field.words))
        own, other = jnp.where(first, state.seats, state.seats[::-1])
        capture = (other & gone != 0).any()
        becomes = jnp.where(promoted > 0, jnp.arange(6) == promoted, kind)
        sides = jnp.stack([own & ~start | goal, other & ~gone])
        men = Men(
            kinds=state.kinds & ~(start | gone)[None] | jnp.where(becomes[:, None], goal[None], jnp.uint32(0)),
            seats=jnp.where(first, sides, sides[::-1]),
        )
        men = field.with_rook(men, first, jnp.where(kind[KING], target - source, 0))
        double = pawn & (jnp.abs(target - source) == 2 * width)
        spoilt = jnp.asarray(field.spoilt)
        return self._settled(
            ChessState(
                kinds=men.kinds,
                seats=men.seats,
                rights=state.rights & ~(spoilt[source] | spoilt[target]),
                passed=jnp.where(double, (source + target) // 2, -1).astype(jnp.int8),
                clock=jnp.where(pawn | capture, jnp.int8(0), state.clock + jnp.int8(1)),
                outcome=jnp.int8(RUNNING),
                checked=state.checked,
                moves=state.moves,
                to_play=jnp.int8(1) - state.to_play,
                ply=state.ply + jnp.int16(1),
            )
        )

    @traced_once
    def _settled(self, state: ChessState) -> ChessState:
        """A position with its outcome and its moves, and without a square that no pawn may go to en passant."""
        found = self._field.find(Men(state.kinds, state.seats), state.to_play, state.rights, state.passed)
        mated = ~found.any() & found.attacked
        drawn = ~found.any() | (state.clock >= PLIES) | self._barren(state)
        ending = jnp.where(drawn, jnp.int8(DRAWN), jnp.int8(RUNNING))
        return state._replace(
            passed=jnp.where(found.passing, state.passed, jnp.int8(-1)),
            outcome=jnp.where(mated, jnp.int8(WON_BY_1) - state.to_play, ending),
            checked=found.attacked,
            moves=self._packed(found),
        )

    def _packed(self, found: Found) -> UInt32[Array, " mask"]:
        """A bit for each action that is legal."""
        table, size = self._moves, self._field.words
        beyond = (0, -self.num_actions % words.WORD)
        word = np.pad(table.group * size + table.target // words.WORD, beyond)
        bit = np.pad(np.uint32(1) << (table.target % words.WORD).astype(np.uint32), beyond)  # 0 beyond the last action
        return words.pack(found.targets.reshape(-1)[word] & bit != 0)

    def _barren(self, state: ChessState) -> Bool[Array, ""]:
        """Whether nobody can ever be mated."""
        some = (state.kinds != 0).any(axis=1)
        counts = words.count(state.kinds)
        light = words.mask(np.add(*np.divmod(np.arange(self._field.squares), self.shape[1])) % 2 == 0)
        bishops = state.kinds[BISHOP]
        alike = ~((bishops & light) != 0).any() | ~((bishops & ~light) != 0).any()
        heavy = some[PAWN] | some[ROOK] | some[QUEEN]
        return ~heavy & ((counts[KNIGHT] + counts[BISHOP] <= 1) | ~some[KNIGHT] & alike)

    def over(self, state: ChessState) -> Bool[Array, ""]:
        return (state.outcome != RUNNING) | (state.ply >= self.max_plies)

    def returns(self, state: ChessState) -> Float32[Array, " 2"]:
        return returns_of_winner(state.outcome)

    # -- views and hints ---------------------------------------------------------------------------------------
    def _men(self, state: ChessState) -> Bool[Array, "2 6 cells"]:
        """The men of each seat by kind."""
        return words.unpack(state.kinds[None] & state.seats[:, None], self._field.squares)

    def observe(self, state: ChessState) -> Bool[Array, "H W 18"]:
        """Own men and the other's by kind; the row on which the mover's pawns promote; the rooks that may castle; the
        square to capture on en passant; whether 25, 50 and 75 plies passed without a capture or a pawn's move.

        A position does not know whether it has been there before.
        """
        squares, first = self._field.squares, state.to_play == 0
        men = self._men(state)
        sides = jnp.where(first, men, men[::-1]).reshape(12, squares)
        row = np.arange(squares) // self.shape[1]
        goal = jnp.where(first, row == 0, row == self.shape[0] - 1)
        rooks = (self._field.rooks & state.rights) != 0
        passed = jnp.arange(squares, dtype=jnp.int8) == state.passed
        quiet = jnp.broadcast_to((state.clock >= np.array([25, 50, 75], np.int8))[:, None], (3, squares))
        return jnp.concatenate([sides, jnp.stack([goal, rooks, passed]), quiet]).T.reshape(*self.shape, 18)

    def cells(self, state: ChessState) -> Int8[Array, " cells"]:
        codes = np.arange(1, 13, dtype=np.int8).reshape(2, 6, 1)
        return jnp.where(self._men(state), codes, jnp.int8(0)).sum(axis=(0, 1), dtype=jnp.int8)

    def hash(self, state: ChessState) -> UInt32[Array, "2"]:
        return self._key(state, state.clock)

    def repetition_key(self, state: ChessState) -> UInt32[Array, "2"]:
        return self._key(state, jnp.int8(0))

    def _key(self, state: ChessState, clock: Int8[Array, ""]) -> UInt32[Array, "2"]:
        scalars = (state.to_play, state.rights, state.passed + jnp.int8(1), clock)
        told = sum(x.astype(jnp.uint32) << jnp.uint32(8 * place) for place, x in enumerate(scalars))
        return zobrist.of_words(jnp.concatenate([state.kinds.reshape(-1), state.seats[0], told[None]]))

    def _worths(self) -> np.ndarray:
        """`float32[2, 6, cells]`: what a man is worth to White where it stands."""
        height, width = self.shape
        row, column = np.divmod(np.arange(height * width), width)
        inside = np.minimum(np.minimum(row, height - 1 - row), np.minimum(column, width - 1 - column))
        white = WORTH[:, None] + CENTRE[:, None] * inside
        white[PAWN] += AHEAD * (height - 2 - row)
        black = white.reshape(6, height, width)[:, ::-1].reshape(6, -1)
        return np.stack([white, -black]).astype(np.float32)

    def heuristic(self, state: ChessState) -> Float32[Array, ""]:
        """The lead in men, each worth more the nearer it is to the centre, pawns the further they have come."""
        lead = jnp.where(self._men(state), jnp.asarray(self._worths()), jnp.float32(0)).sum()
        value = jnp.tanh(lead / 4)
        return jnp.where(state.to_play == 0, value, -value)

    def sharp(self, state: ChessState, legal: Bool[Array, " A"]) -> tuple[Bool[Array, " A"], Bool[Array, ""]]:
        """Captures and promotions; who is in check has to answer it."""
        source, target, promoted = self._moves[:3]
        men, pawns = (words.unpack(sets, self._field.squares) for sets in (state.seats, state.kinds[:1]))
        passing = pawns[0][source] & (target.astype(np.int8) == state.passed)
        return legal & (men.any(axis=0)[target] | passing | (promoted > 0)), state.checked

    def move_weights(self, state: ChessState) -> Float32[Array, " A"]:
        """1; more for a capture, the more the captured man is worth beside its captor, and for what a pawn becomes."""
        worth = jnp.where(self._men(state), jnp.asarray(FEAR)[None, :, None], jnp.float32(0)).sum(axis=(0, 1))
        source, target, promoted = self._moves[:3]
        prize = worth[target]
        better = np.where(promoted > 0, 4 * (WORTH[promoted] - 1), 0).astype(np.float32)
        return 1 + 8 * prize / (1 + worth[source]) + better

    def symmetries(self) -> Symmetries:
        """Those of the rules: top and bottom swap the sides, and left and right are the same where nobody castles."""
        return self._field.symmetries()

    def action_name(self, action: int) -> str:
        return tables.names(*self.shape)[action]

    def parse_action(self, text: str) -> int:
        if san.BISHOP.fullmatch(text.strip()):
            raise UsageError(f"{text!r} is a bishop's move, told by where it stands; name both squares, as in b2d4")
        return super().parse_action(text)

    def named(self, text: str, cells: np.ndarray, legal: np.ndarray) -> list[int]:
        """UCI's names, and those of standard algebraic notation."""
        found = san.named(text, cells.tolist(), self.shape, legal.item)
        return super().named(text, cells, legal) if found is None else found


@functools.partial(jax.jit, static_argnums=0)
def _settle(game: Chess, state: ChessState) -> ChessState:
    return game._settled(state)
