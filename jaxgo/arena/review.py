"""Games that were played, move by move as a search sees them: what each move was worth, and what it gave away.

All positions of all games are searched side by side, in batches of one size, by one compiled program. What a position
is worth, its own search says; what a move was worth, that of the position behind it, with as many simulations.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32

from jaxgo.core import play, position_text
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game, tree_bytes, without_ply_limit
from jaxgo.core.lanes import alone
from jaxgo.core.play import Position
from jaxgo.core.replay import follow, some_legal
from jaxgo.evaluators.endings import SCORE, knows
from jaxgo.games import points
from jaxgo.games.names import describe
from jaxgo.players import Player
from jaxgo.records import formats
from jaxgo.records.record import GameRecord
from jaxgo.search.model import Model
from jaxgo.search.think import Limit, Thinker

# shares of a win that a move of each kind gives away, at least; Lichess has the same
KINDS = {"blunder": 0.15, "mistake": 0.10, "inaccuracy": 0.05}
LANES = {"cpu": 32}  # positions side by side: more gain a processor nothing, and a short game would wait for them
WIDE = 512  # elsewhere
MOST_BYTES = 2**31  # that the searches of a batch begin with
AT_ONCE = 3600.0  # seconds of a chunk: a search is cut by no clock, so that the same review comes again

Progress = Callable[[int, int], None]  # positions that are searched, and all of them


@dataclasses.dataclass(frozen=True)
class Move:
    """A move that was played; values are for the seat that made it, in [-1, 1]."""

    number: int  # in its game, from 1
    seat: int
    name: str
    choice: str  # the move that the search would have made
    before: float  # what the position was worth
    after: float  # what it was worth behind the move
    proven: tuple[bool, bool]  # which of the two are exact
    lead: tuple[float, float] | None = None  # points ahead before and behind it; None where no net knows

    @property
    def own(self) -> bool:
        """Whether the search would have played it, too; it gives nothing away then."""
        return self.name == self.choice

    @property
    def lost(self) -> float:
        """The share of a win that it gave away; noise of searches may make a move better than the position was."""
        return 0.0 if self.own else max(0.0, self.before - self.after) / 2

    @property
    def kind(self) -> str:
        """What such a move is called; nothing, if it was good enough."""
        return next((kind for kind, least in KINDS.items() if self.lost >= least), "")

    @property
    def thrown(self) -> bool:
        """Whether it gave away what was proven to be there; that is no estimate."""
        return all(self.proven) and self.lost > 0


@dataclasses.dataclass(frozen=True)
class Tally:
    """The moves of a player in one game or in many."""

    moves: int
    own: int  # that the search would have played, too
    lost: float  # the mean share of a win that a move gave away
    kinds: dict[str, int]
    thrown: int  # moves that gave away what was proven


@dataclasses.dataclass(frozen=True)
class Review:
    """A game with what a search thinks of it."""

    place: str  # where it stands, such as its file
    record: GameRecord
    judge: str  # the name of the player whose search it is
    returns: tuple[float, ...] | None  # for each seat; None: the game is not finished
    moves: tuple[Move, ...]
    values: tuple[float, ...]  # before the first of these moves and behind each of them, for seat 0
    leads: tuple[float, ...] = ()  # the points that seat 0 is ahead there, as the judge's net sees it, if that knows

    def of(self, seat: int) -> list[Move]:
        """The moves of a seat."""
        return [move for move in self.moves if move.seat == seat]


def tally(moves: Iterable[Move]) -> Tally:
    """What moves come to; some of many games may be one player's."""
    moves = list(moves)
    return Tally(
        moves=len(moves),
        own=sum(move.own for move in moves),
        lost=sum(move.lost for move in moves) / max(1, len(moves)),
        kinds={kind: sum(move.kind == kind for move in moves) for kind in KINDS},
        thrown=sum(move.thrown for move in moves),
    )


def worst(moves: Iterable[Move], count: int) -> list[Move]:
    """The moves that gave away most, as far as they have a kind."""
    return sorted((move for move in moves if move.kind), key=lambda move: -move.lost)[:count]


def read(paths: Iterable[Path]) -> dict[str, GameRecord]:
    """The games of these files by where they stand; all are of one kind, for two players, or a UsageError."""
    found: dict[str, GameRecord] = {}
    for path in paths:
        for place, record in formats.load_all(path).items():
            if record.game.players != 2:
                raise UsageError(f"{path}: {record.name} is a puzzle for one; jaxgo solve finds its shortest solution")
            found[place] = record
    kinds = {without_ply_limit(record.game): place for place, record in found.items()}
    if len(kinds) > 1:  # a limit of plies makes no other game: that of a long one in SGF is as large as it needs
        (one, place), (other, beside), *_ = kinds.items()
        raise UsageError(
            f"{beside} is a game of {describe(other)}, and {place} of {describe(one)}; review each kind by itself"
        )
    return found


def review(player: Player, lines: Sequence["Line"], progress: Progress | None = None) -> list[Review]:
    """What a player thinks of these games, which are of its own game."""
    for line in lines:
        if line.record.game != player.model.game:
            raise UsageError(
                f"{player.name} plays {describe(player.model.game)}, and {line.place or 'a game to review'} is of "
                f"{describe(line.record.game)}"
            )
    found = _searched(player, lines, progress)
    ends = np.cumsum([line.live for line in lines]).tolist()
    parts = [Found(*(column[end - line.live : end] for column in found)) for line, end in zip(lines, ends, strict=True)]
    leads = _leads(player, lines)
    return [judged(player.name, line, part, lead) for line, part, lead in zip(lines, parts, leads, strict=True)]


# -- the positions ---------------------------------------------------------------------------------------------------


class Line(NamedTuple):
    """A game on the host: its positions from that of the first move that counts to that behind the last one."""

    place: str
    record: GameRecord
    skipped: int  # moves before the first one that counts
    positions: Position
    over: np.ndarray  # bool: of each position
    gains: np.ndarray  # float32[..., 2]: the results of those that are over

    @property
    def moves(self) -> tuple[int, ...]:
        """The moves that count."""
        return self.record.moves[self.skipped :]

    @property
    def live(self) -> int:
        """How many positions there are to search: only the last one may be over."""
        return int((~self.over).sum())


def replayed(record: GameRecord, place: str = "", skip: int = 0) -> Line:
    """The positions of a game, which stands at this place, behind so many first moves; a UsageError names the first
    move that is not legal."""
    game, where = record.game, f"{place}: " if place else ""
    try:
        start, names = position_text.read(game, record.start or position_text.START)
        before = [game.parse_action(name) for name in names]
    except UsageError as error:
        raise UsageError(f"{where}{error}") from None
    line = [*before, *record.moves]
    found = follow(game, start, line, _seen)
    if (made := int(found.made)) < len(line):
        number, legal = made + 1 - len(before), some_legal(game, play.look(game, found.position).legal)
        told = record.place(number) if number > 0 else f"move {made + 1} of its start"
        raise UsageError(f"{where}{told}, {game.action_name(line[made])!r} is not legal; legal moves are: {legal}")
    if not record.moves[skip:]:
        raise UsageError(f"{where}the game has no moves to review{f' behind the first {skip}' if skip else ''}")
    # copies: what follows on a line as long as the longest game takes more memory than most games
    positions, over, gains = jax.tree.map(lambda x: np.asarray(x)[len(before) + skip : made + 1].copy(), found.seen)
    return Line(place, record, skip, positions, over, gains)


def _seen(game: Game[Any], position: Position) -> tuple[Position, Bool[Array, ""], Float32[Array, " P"]]:
    return position, play.over(game, position), play.returns(game, position)


# -- the search ------------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """What the searches say of positions, on the host; values are for who moves."""

    choice: np.ndarray  # int32
    worth: np.ndarray  # float32
    solved: np.ndarray  # bool: the worth is exact
    known: np.ndarray  # bool: what the move that was played is worth was proven
    played: np.ndarray  # float32: this worth


def _searched(player: Player, lines: Sequence[Line], progress: Progress | None) -> Found:
    """Searches all live positions of all games, in their order."""
    live = [jax.tree.map(lambda x, line=line: x[: line.live], line.positions) for line in lines]
    roots = jax.tree.map(lambda *parts: np.concatenate(parts), *live)
    # behind the last move of a game that goes on nothing was played
    actions = np.concatenate([[*line.moves, 0][: line.live] for line in lines])
    total, width = len(actions), lanes(player, jax.tree.map(lambda x: x[0], roots))
    thinker = Thinker(player.search, player.model, player.params, jax.random.key(0), chunk_seconds=AT_ONCE)
    limit = Limit(simulations=max(1, player.search.budget))
    parts = []
    for done, rows in _batches(total, width):
        thinker.begin(jax.tree.map(lambda x, rows=rows: jnp.asarray(x[rows]), roots))
        result, each = thinker.think(limit).result, np.arange(width)
        known, played = result.proven[each, actions[rows]], result.q[each, actions[rows]]
        parts.append((result.action, result.worth, result.solved, known, played))
        if progress:
            progress(done, total)
    return Found(*(np.concatenate(columns)[:total] for columns in zip(*parts, strict=True)))


def _batches(total: int, width: int) -> Iterator[tuple[int, np.ndarray]]:
    """The rows of each batch, and how many are done behind it; the last one is filled up: one program."""
    for first in range(0, total, width):
        yield min(first + width, total), np.minimum(np.arange(first, first + width), total - 1)


def lanes(player: Player, root: Position) -> int:
    """How many positions are searched side by side: fewer where each takes much memory."""
    most = max(1, MOST_BYTES // tree_bytes(player.begun(alone(root))._replace(root=root)))
    return min(most, LANES.get(player.model.platform, WIDE))


# -- the points --------------------------------------------------------------------------------------------------------


def _leads(player: Player, lines: Sequence[Line]) -> list[tuple[float, ...]]:
    """The points that seat 0 is ahead in all positions of each game, as the net of the player has learnt to tell them;
    nothing where it has not."""
    model, params = player.model, player.params
    none: list[tuple[float, ...]] = [()] * len(lines)
    if not knows(model.game, SCORE):
        return none
    states = jax.tree.map(lambda *parts: np.concatenate(parts), *(line.positions.state for line in lines))
    if SCORE not in jax.eval_shape(model.foresee, params, states):
        return none
    total, width = len(states.ply), LANES.get(model.platform, WIDE)
    parts = [
        _ends(model, params, jax.tree.map(lambda x, rows=rows: jnp.asarray(x[rows]), states))[SCORE]
        for _, rows in _batches(total, width)
    ]
    one, other = points.most(model.game)
    told = np.clip(np.concatenate(parts)[:total].astype(float) * points.unit(model.game), -other, one)
    return [tuple(part.tolist()) for part in np.split(told, np.cumsum([len(line.over) for line in lines])[:-1])]


_ends = jax.jit(Model.ends, static_argnums=0)


# -- the judgement ---------------------------------------------------------------------------------------------------


def judged(judge: str, line: Line, found: Found, leads: tuple[float, ...] = ()) -> Review:
    """What the searches of a game's positions say of its moves; `judge` is who searched, and saw these leads."""
    record, moves, name = line.record, line.moves, line.record.game.action_name
    count = len(moves)
    seats = np.asarray(line.positions.state.to_play)
    sign = np.where(seats == 0, 1.0, -1.0)  # from the mover to seat 0 and back; a seat may move twice in a row
    values, exact = line.gains[:, 0].astype(float), line.over.copy()  # of seat 0
    values[: line.live], exact[: line.live] = sign[: line.live] * found.worth, found.solved
    for ply in range(count):  # the search before a move may have proven what the one behind it has not
        if found.known[ply] and not exact[ply + 1]:
            values[ply + 1], exact[ply + 1] = sign[ply] * found.played[ply], True
    for ply in reversed(range(count)):  # who could win by the move that was played had a won position
        if exact[ply + 1] and sign[ply] * values[ply + 1] >= 1.0:
            values[ply], exact[ply] = sign[ply], True
    told = [
        Move(
            number=line.skipped + ply + 1,
            seat=int(seats[ply]),
            name=name(moves[ply]),
            choice=name(int(found.choice[ply])),
            before=float(sign[ply] * values[ply]) + 0.0,  # no -0
            after=float(sign[ply] * values[ply + 1]) + 0.0,
            proven=(bool(exact[ply]), bool(exact[ply + 1])),
            lead=(float(sign[ply] * leads[ply]) + 0.0, float(sign[ply] * leads[ply + 1]) + 0.0) if leads else None,
        )
        for ply in range(count)
    ]
    returns = record.returns
    if returns is None and line.over[-1]:  # PSQ and Zero+ tell no result
        returns = tuple(line.gains[-1].tolist())
    return Review(line.place, record, judge, returns, tuple(told), tuple(values.tolist()), leads)
