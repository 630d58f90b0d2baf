"""The interface of a game: pure functions of one position, without a batch axis.

A game is a frozen dataclass of its options, so equal games share one trace. Its state is a NamedTuple of small
fixed-size arrays that holds what the rules need and nothing that can be computed from it: observations, masks and
rewards are functions. Letters in shapes: A actions, P seats, H W the board, C planes.
"""

import abc
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeVar, get_args, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int, Int8, Int16, Int32, Num, UInt32

from jaxgo.core import board, lookahead
from jaxgo.core.board import Symmetries
from jaxgo.core.errors import UsageError, check_frozen, check_kinds, is_whole, unknown_name

Action = Int[Array, ""]
Repetition = Literal["none", "forbidden", "draw", "loss"]
RepetitionResult = Literal["none", "draw", "loss"]  # where no move is forbidden for what it repeats
MOST_PLIES = 2**15 - 1  # that a count of plies can hold
SOLVED = 1.0  # what a solved puzzle returns
MOST_LIMIT = 10_000  # plies to which an option may limit games


@runtime_checkable
class State(Protocol):
    """What every state has; games add their own arrays."""

    @property
    def to_play(self) -> Int8[Array, ""]: ...  # the seat that moves: 0 or 1
    @property
    def ply(self) -> Int16[Array, ""]: ...  # actions since the start, forced passes included


S = TypeVar("S", bound=State)


class Piece(NamedTuple):
    """How one code of `cells` looks. Views need nothing else."""

    glyph: str
    seat: int  # 0 or 1: whose it is; -1: nobody's
    label: str = ""  # drawn on the piece in pictures
    colour: str = ""  # of its own, as #rrggbb, beside that of its seat
    figure: str = ""  # of chess and its relatives: pawn, knight, bishop, rook, queen, king, maharajah


EMPTY = Piece(".", -1)
VOID = Piece(" ", -1)  # a cell that is not part of the board


class Threats(NamedTuple):
    """What a move would do, for the mover (row 0) and for the other seat if it were its move (row 1)."""

    win: Bool[Array, "2 A"]  # wins at once
    force: Bool[Array, "2 A"]  # leaves a win at the next move, if it is not stopped
    double: Bool[Array, "2 A"]  # leaves at least two such wins
    build: Bool[Array, "2 A"]  # leaves a double at the next move, if it is not stopped
    block: Bool[Array, " A"]  # of moves that lose at once and others that may not, the others; none: all are of a kind


@dataclasses.dataclass(frozen=True)
class AuxTarget:
    """What a finished game can teach besides its result: `cells`, a number in [-1, 1] for each, or one `number`."""

    name: str
    kind: Literal["cells", "number"]


class Game(abc.ABC, Generic[S]):
    """The rules of one game. Methods take and return traced values and never look at a batch."""

    players: ClassVar[int] = 2  # 1 for puzzles
    pieces: ClassVar[tuple[Piece, ...]]  # the look of each code of `cells`; code 0 is the empty cell
    # or on crossings; or cells of a code are one; or each row half a cell to the right of the one above
    grid: ClassVar[Literal["squares", "points", "blocks", "hexagons"]] = "squares"
    notation: ClassVar[str] = "the number of the action: `0`"  # how `action_name` writes moves, with an example
    ply_limit: ClassVar[str] = "max_plies"  # the option, if it has one, that ends a game as it then stands
    light_first: ClassVar[bool] = False  # seat 0 has the light pieces, as in chess, and not the dark ones
    levels: ClassVar[int] = 1  # boards of a space that the picture has side by side, a column between two of them

    # -- sizes -------------------------------------------------------------------------------------------------
    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int, int]:
        """Height and width of the observation planes."""

    @property
    @abc.abstractmethod
    def num_actions(self) -> int: ...

    @property
    @abc.abstractmethod
    def max_plies(self) -> int:
        """No game is longer; a game that reaches it is over."""

    @property
    def picture(self) -> tuple[int, int]:
        """Height and width of `cells`, where the drawn board differs from the planes."""
        return self.shape

    # -- rules -------------------------------------------------------------------------------------------------
    @abc.abstractmethod
    def init(self, key: Array) -> S:
        """The start position; `key` is for games that draw it."""

    @abc.abstractmethod
    def legal(self, state: S) -> Bool[Array, " A"]:
        """Which actions the mover has in a live position, as far as the state alone can tell."""

    @abc.abstractmethod
    def step(self, state: S, action: Action) -> S:
        """The position after a legal action in a live position."""

    @abc.abstractmethod
    def over(self, state: S) -> Bool[Array, ""]: ...

    @abc.abstractmethod
    def returns(self, state: S) -> Float32[Array, " P"]:
        """Result for each seat, in [-1, 1], summing to 0 between two seats. Read only when the game is over."""

    @abc.abstractmethod
    def observe(self, state: S) -> Num[Array, "H W C"]:
        """Planes for a network, seen from the mover's side: own pieces first."""

    @abc.abstractmethod
    def cells(self, state: S) -> Int8[Array, " cells"]:
        """The board as codes into `pieces`, row by row; all pictures derive from it."""

    @abc.abstractmethod
    def hash(self, state: S) -> UInt32[Array, "2"]:
        """A Zobrist key of everything that decides the future (the ply limit apart)."""

    # -- hooks with honest defaults ----------------------------------------------------------------------------
    def first_pieces(self, state: S) -> Int8[Array, ""]:
        """The seat whose pieces look as those of seat 0 in `pieces`; the other one, once players have changed them."""
        return jnp.int8(0)

    def heuristic(self, state: S) -> Float32[Array, ""]:
        """A cheap guess of the value for the mover, in [-1, 1]. 0: this game knows none."""
        return jnp.float32(0)

    def move_weights(self, state: S) -> Float32[Array, " A"]:
        """Positive weights of actions in random playouts and in move ordering; legality is not looked at."""
        return jnp.ones(self.num_actions, jnp.float32)

    def least_moves(self, state: S) -> Int32[Array, ""]:
        """A lower bound of the moves that a puzzle still needs; a move lowers it by one at most."""
        return jnp.int32(0)

    def distances(self, state: S) -> Int32[Array, "2"]:
        """In a race, how many moves each seat needs to win if the other one stood still and out of its way."""
        raise UsageError(f"{type(self).__name__} is no race; use another evaluator than race")

    def class_key(self, state: S) -> UInt32[Array, "2"]:
        """Positions with equal keys are worth the same to their movers and equally far from the end, though they may
        not look the same: symmetric ones, or with equal blocks exchanged. Solvers look at one of each class."""
        return self.hash(state)

    def next_class_key(self, state: S, action: Action, key: UInt32[Array, "2"]) -> UInt32[Array, "2"]:
        """The class key after an action, where `key` is the one before it, which may make it cheap."""
        return self.class_key(self.step(state, action))

    def backwards(self) -> "Game[S] | None":
        """A puzzle played from its end to its start, an action taking back the move of the same number; None: this
        game is not known backwards."""
        return None

    def knowledge(self) -> Any:
        """Numbers that `judge` guesses by, as numpy arrays: data of a player, which may be tuned. (): none."""
        return ()

    def weights(self) -> dict[str, float]:
        """Numbers above 0 that `knowledge` is made of, by name: what a player may be tuned by. {}: none."""
        return {}

    def knowledge_from(self, weights: Mapping[str, float], greater: bool = False) -> Any:
        """`knowledge` made of other weights; all names of `weights` are given. `greater`: a move is worth what it is to
        the seat that gains more from it, instead of to both together; only games with weights are asked for that."""
        return self.knowledge()

    def judge(self, state: S, knowledge: Any) -> tuple[Float32[Array, ""], Float32[Array, " A"]]:
        """`heuristic` and `move_weights`, by other numbers than the game's own."""
        return self.heuristic(state), self.move_weights(state)

    @property
    def judges_moves(self) -> bool:
        """Whether `judge_moves` takes a short way."""
        return False

    def judge_moves(
        self, state: S, knowledge: Any, actions: Int32[Array, " K"]
    ) -> tuple[Float32[Array, " K"], Bool[Array, " K"]]:
        """What legal moves in a live position are worth to who makes them, and whether they end the game: the result
        if they do, else what `judge` says of the position after them. The default plays them all."""

        def after(action: Action) -> tuple[Float32[Array, ""], Bool[Array, ""]]:
            moved = self.step(state, action)
            over, guess = self.over(moved), self.judge(moved, knowledge)[0]
            guess = jnp.where(moved.to_play == state.to_play, guess, -guess)
            return jnp.where(over, self.returns(moved)[state.to_play], guess), over

        return jax.vmap(after)(actions)

    def symmetries(self) -> Symmetries:
        """The symmetries of the rules, as numpy tables over the planes and the actions."""
        return board.identity(self.shape[0] * self.shape[1], self.num_actions)

    def scores(self, state: S) -> Num[Array, "2"] | None:
        """What each seat has scored so far, in games that count points; None in others."""
        return None

    def aux_targets(self) -> tuple[AuxTarget, ...]:
        """What a network may learn from the ends of games, besides moves and results."""
        return ()

    def aux_values(self, state: S) -> dict[str, Float32[Array, "*target"]]:
        """The auxiliary targets of a finished game by name, as seat 0 sees them; for seat 1 the signs turn round."""
        return {}

    def threats(self, state: S) -> Threats:
        """Moves that win or force a reply, for searches that prove wins by them; legality for the mover included."""
        raise UsageError(f"{type(self).__name__} knows no threats; use a search that does not need them")

    def stops(self, state: S, legal: Bool[Array, " A"]) -> Bool[Array, " A"]:
        """Of the mover's moves those that may keep the other seat from a double at its next move: where it threatens
        one and no win, whoever neither moves here nor forces loses. The default names them all."""
        return legal

    def sharp(self, state: S, legal: Bool[Array, " A"]) -> tuple[Bool[Array, " A"], Bool[Array, ""]]:
        """The legal moves that change at once what `heuristic` says, such as captures, and whether the mover may not
        leave things as they stand, as in check: alpha-beta follows them beyond its horizon. The default names none."""
        return jnp.zeros_like(legal), jnp.bool_(False)

    def safe(self, state: S, legal: Bool[Array, " A"]) -> Bool[Array, " A"]:
        """The legal moves that do not lose the game at once, nor by one reply. The default plays them all."""
        return legal & ~lookahead.look(self, state, legal).loses

    def prune(self, state: S, legal: Bool[Array, " A"]) -> Bool[Array, " A"]:
        """The legal moves worth a look, by a rule of thumb of this game; all, where it knows none."""
        return legal

    def place(self, cells: np.ndarray, to_play: int) -> S:
        """The position with these codes on the board and `to_play` to move, as if no move had been played."""
        raise UsageError(f"{type(self).__name__} cannot start from a drawn position")

    def drawn(self, cells: np.ndarray, to_play: int) -> np.ndarray:
        """What `place` is given, row by row; a UsageError where it is no board of this game, or nobody's move."""
        codes, name = np.asarray(cells), type(self).__name__
        height, width = self.picture
        if codes.shape not in ((height * width,), self.picture) or codes.dtype.kind not in "iu":
            raise UsageError(
                f"a position of {name} is drawn by {height} x {width} whole numbers, row by row, not by an array of "
                f"shape {codes.shape} and type {codes.dtype}"
            )
        if not ((codes >= 0) & (codes < len(self.pieces))).all():
            raise UsageError(f"cells of {name} have codes from 0 to {len(self.pieces) - 1}, places in `pieces`")
        if to_play not in range(self.players):
            raise UsageError(f"seat {to_play} is none of {name}, whose seats are {list(range(self.players))}")
        return codes.astype(np.int8).reshape(-1)

    # -- repetition, used by core.history -----------------------------------------------------------------------
    @property
    def repetition(self) -> Repetition:
        """What a position that comes back means; anything but "none" makes the game carry a history."""
        return "none"

    def repetition_key(self, state: S) -> UInt32[Array, "2"]:
        """Two positions with equal keys count as the same."""
        return self.hash(state)

    # The next three matter only where repetition is "forbidden", which makes it part of the exact legal mask.
    # Checking every action against every earlier position is dear, so a game may tell which need a check.

    def begin_trace(self, state: S) -> Any:
        """What `next_suspect` needs to know about the game so far: any arrays, kept once per game."""
        return ()

    def extend_trace(self, trace: Any, before: S, after: S) -> Any:
        """The trace after a move; equal states leave it as it is."""
        return trace

    def next_suspect(self, state: S, trace: Any, action: Action) -> Action:
        """The first action above this one that might bring an earlier position back; num_actions if none is left.

        Starts from -1. The fewer harmless actions it names the better; illegal ones do no harm.
        """
        return action + 1

    # -- looks -------------------------------------------------------------------------------------------------
    def square_colours(self) -> tuple[str, ...]:
        """A colour as #rrggbb for each cell of the picture, where rules or custom colour them."""
        return ()

    def sides(self) -> tuple[str, ...]:
        """A colour as #rrggbb for the top, right, bottom and left side of a board of hexagons, where seats own them."""
        return ()

    def edges(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Labels of the picture's columns and rows, where no cell is called like d4; "" leaves one out."""
        return (), ()

    # -- words -------------------------------------------------------------------------------------------------
    @property
    def how_to_play(self) -> str:
        """The rules in a few sentences, for who has never played this: what a move does, and who wins. Nothing: the
        game tells none. Repetition, the limit of plies and the names of moves are told beside it."""
        return ""

    def action_name(self, action: int) -> str:
        """The name that people of this game use: one word, without blanks, commas and #, which part lists of moves."""
        return str(action)

    def parse_action(self, text: str) -> int:
        """The action with this name; a UsageError on nonsense. Upper and lower case are the same."""
        names = _action_names(self)
        try:
            return names[text.strip().lower()]
        except KeyError:
            some = ", ".join(list(names)[:-4:-1])  # the first ones lie last
            raise UsageError(f"no action is called {text!r} here; names look like: {some}") from None

    def named(self, text: str, cells: np.ndarray, legal: np.ndarray) -> list[int]:
        """Of the legal actions of a position those that go by this name there, as it may depend on the position: one,
        none where the move is not legal, several where it does not tell which. A UsageError on nonsense."""
        action = self.parse_action(text)
        return [action] if legal[action] else []

    def read_position(self, words: Sequence[str]) -> tuple[S, int] | None:
        """The position that these words begin with in a writing of the game's own, such as FEN, and how many they are;
        None: they are none."""
        return None

    def write_position(self, state: S) -> str:
        """What `read_position` reads; nothing, where a drawing is the usual way."""
        return ""


def has_ply_limit(game: "Game[Any]") -> bool:
    """Whether an option ends a game by its plies; elsewhere the end comes by itself."""
    return game.ply_limit in {field.name for field in dataclasses.fields(game)}  # type: ignore[arg-type]


def without_ply_limit(game: "Game[Any]") -> "Game[Any]":
    """The same rules with a limit that no usual game meets: equal for games that differ in the limit alone."""
    if not has_ply_limit(game):
        return game
    plies = max(MOST_LIMIT, getattr(game, game.ply_limit))
    changed: Game[Any] = dataclasses.replace(game, **{game.ply_limit: plies})  # type: ignore[type-var]
    return changed


def check_ply_limit(game: "Game[Any]", name: str, usual: str = "") -> None:
    """A UsageError where the option that limits plies makes no sense; 0 stands for the `usual` limit, if told."""
    limit = getattr(game, game.ply_limit)
    if not (0 if usual else 1) <= limit <= MOST_LIMIT:
        instead = f", or 0 for {usual}" if usual else ""
        raise UsageError(f"{game.ply_limit}={limit} of {name} is not between 1 and {MOST_LIMIT}{instead}")


def check_repetition_result(game: "Game[Any]", name: str) -> None:
    """A UsageError where the option `repetition` is no `RepetitionResult`."""
    if game.repetition not in get_args(RepetitionResult):
        raise unknown_name(f"repetition rule of {name}", game.repetition, get_args(RepetitionResult))


def returns_of_winner(winner: Int[Array, ""]) -> Float32[Array, "2"]:
    """`returns` by who has won: 1 is the first seat and 2 the second; another number is a draw."""
    first = (winner == 1).astype(jnp.float32) - (winner == 2).astype(jnp.float32)
    return jnp.stack([first, -first])


def returns_of_seat(value: Float32[Array, ""], seat: Int[Array, ""]) -> Float32[Array, "2"]:
    """`returns` of two seats by what one of them gets."""
    first = jnp.where(seat == 0, value, -value)
    return jnp.stack([first, -first])


@functools.lru_cache(maxsize=256)
def _action_names(game: "Game[State]") -> dict[str, int]:
    return {game.action_name(a).lower(): a for a in reversed(range(game.num_actions))}


def check(game: Any, told: str = "") -> None:
    """A UsageError where this is no game that programs can be made of."""
    told = told or repr(game)
    parent = "jaxgo.core.game.Game"
    if not isinstance(game, Game):
        raise UsageError(f"{told} is no game: make it a frozen dataclass that inherits {parent}")
    check_frozen(game, f"{told} is no game", parent)
    if game.players not in (1, 2):
        raise UsageError(
            f"{told} has players={game.players!r}; games here are of two, who play against each other, or of 1"
        )
    if game.repetition not in get_args(Repetition):
        raise unknown_name(f"repetition of {told}", game.repetition, get_args(Repetition))
    plies: Any = game.max_plies
    if not is_whole(plies) or not 1 <= plies <= MOST_PLIES:
        raise UsageError(
            f"{told} has max_plies={plies!r}, which is no whole number from 1 to {MOST_PLIES:,}, as many as a count of "
            "plies holds; let its games end by then"
        )
    check_kinds(f"{type(game).__name__}: ", game)


def check_seats(game: "Game[Any]") -> None:
    """A UsageError where a match is asked of a puzzle, or of an environment of functions."""
    if game.players != 2:
        raise UsageError(f"a match needs two seats; {type(game).__name__} is for one")


@functools.lru_cache(maxsize=256)
def state_bytes(game: "Game[S]") -> int:
    """Size of one state, as a tree node stores it."""
    return tree_bytes(jax.eval_shape(game.init, jax.eval_shape(lambda: jax.random.key(0))))


def tree_bytes(tree: Any) -> int:
    """Size of arrays, or of what `jax.eval_shape` says of them."""
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))
