"""Connect Four solved position by position: won, drawn or lost, by alpha-beta on the game's own words.

A value is asked for by questions with yes or no: is it at least a draw, is it a win? Under such a question alpha-beta
is a plain proof: a node says yes as soon as one child says no to the turned question. Many lanes prove at once, each
with a stack of its own, over one table of what is proven. A lane without a position of its own helps with one that is
still open, trying moves of equal promise in another order; what it proves, the others find in the table.

The table is exact: where an answer lies and the 30 bits beside it are a reversible mixing of the whole position.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int32, UInt32

from jaxgo.core.errors import UsageError
from jaxgo.core.mix import mixed, stir
from jaxgo.games.connect4 import ConnectFour

OPEN, NO, YES = 0, 1, 2
ILLEGAL = -2  # where a move has no worth
LINE = 4
NIBBLE = 4  # bits of a column's promise in a word of the stack
COLUMN_AT = 28  # where the word holds the column that was played
SIDE_BITS = 30  # of a position, kept in the table; the others say where
DRAW, WIN = 0, 1  # the questions: at least that much?

Word = UInt32[Array, " L"]


class Words(NamedTuple):
    """A board of up to two words, all columns of seven bits or fewer."""

    low: Any  # arrays, or numbers of numpy
    high: Any

    def __and__(self, other: "Words") -> "Words":
        return Words(self.low & other.low, self.high & other.high)

    def __or__(self, other: "Words") -> "Words":
        return Words(self.low | other.low, self.high | other.high)

    def __xor__(self, other: "Words") -> "Words":
        return Words(self.low ^ other.low, self.high ^ other.high)

    def any(self) -> Array:
        return (self.low | self.high) != 0

    def several(self) -> Array:
        """Whether it holds more than one bit."""
        one = (self.low & (self.low - 1)) | (self.high & (self.high - 1))
        return (one != 0) | ((self.low != 0) & (self.high != 0))

    def size(self) -> Array:
        return jax.lax.population_count(self.low) + jax.lax.population_count(self.high)


def _where(which: Array, a: Words, b: Words) -> Words:
    return Words(jnp.where(which, a.low, b.low), jnp.where(which, a.high, b.high))


class Layout:
    """How a board lies in its words, and what is seen of it there."""

    def __init__(self, game: ConnectFour) -> None:
        columns, split = game.columns, game.columns.per_word * game.columns.bits
        fits = 3 * (columns.bits + 1) <= split <= SIDE_BITS
        if game.k != LINE or columns.words > 2 or game.width > 7 or not fits:
            raise UsageError("the solver of Connect Four knows four in a row on at most 7 columns of 4 to 6 cells")
        self.width, self.height, self.bits, self.split = game.width, game.height, columns.bits, split
        self.bottom = self._of([(column, 0) for column in range(self.width)])
        self.full = self._of([(c, level) for c in range(self.width) for level in range(self.height)])
        self.cells = self.width * self.height
        # the empty cells of a column are paired from its top
        self.upper = self._of([(c, at) for c in range(self.width) for at in range(self.height - 1, -1, -2)])
        self.lower = self.full ^ self.upper
        self.order = sorted(range(self.width), key=lambda c: abs(2 * c + 1 - self.width))
        self.low_mask = np.uint32((1 << self.split) - 1)

    def _of(self, cells: list[tuple[int, int]]) -> Words:
        number = sum(1 << (column * self.bits + level) for column, level in cells)
        return Words(np.uint32(number & ((1 << self.split) - 1)), np.uint32(number >> self.split))

    def _column(self, column: int) -> Words:
        return self._of([(column, level) for level in range(self.height)])

    @property
    def columns(self) -> tuple[Words, Words]:
        """The cells of every column, and its lowest one."""
        cells = [self._column(c) for c in range(self.width)]
        lowest = [self._of([(c, 0)]) for c in range(self.width)]
        return tuple(Words(*(np.array(words) for words in zip(*each, strict=True))) for each in (cells, lowest))  # type: ignore[return-value]

    def up(self, w: Words, by: int) -> Words:
        spill = w.low >> np.uint32(self.split - by)
        return Words((w.low << np.uint32(by)) & self.low_mask, (w.high << np.uint32(by)) | spill)

    def down(self, w: Words, by: int) -> Words:
        spill = (w.high << np.uint32(self.split - by)) & self.low_mask
        return Words((w.low >> np.uint32(by)) | spill, w.high >> np.uint32(by))

    def landing(self, mask: Words) -> Words:
        """The cells where a disc comes to rest, one for each column with room."""
        return Words(mask.low + self.bottom.low, mask.high + self.bottom.high) & self.full

    def winning(self, own: Words, mask: Words) -> Words:
        """The empty cells that complete a line."""
        one, two, three = self.up(own, 1), self.up(own, 2), self.up(own, 3)
        found = one & two & three
        for step in (self.bits - 1, self.bits, self.bits + 1):
            a, b = self.up(own, step), self.up(own, 2 * step)
            c, d = self.down(own, step), self.down(own, 2 * step)
            found = found | (a & b & (self.up(own, 3 * step) | c)) | (c & d & (a | self.down(own, 3 * step)))
        return found & (mask ^ self.full)

    def has_line(self, own: Words) -> Array:
        found = jnp.zeros_like(own.low) != 0
        for step in (1, self.bits - 1, self.bits, self.bits + 1):
            pair = own & self.down(own, step)
            found |= (pair & self.down(pair, 2 * step)).any()
        return found

    def leads(self, mask: Words) -> Array:
        """Whether the leader is to move: who moves whenever the number of empty cells is even."""
        return (np.uint32(self.cells) - mask.size()) & np.uint32(1) == 0

    def moves(self, mask: Words, threats: Words) -> tuple[Words, Array]:
        """The moves that do not lose at once to a threat of the other side, and whether none of them can help."""
        landing = self.landing(mask)
        forced = threats & landing
        moves = _where(forced.any(), forced, landing) & (self.down(threats, 1) ^ self.full)
        return moves, forced.several() | (~moves.any() & landing.any())

    def bounds(self, leader: Words, mask: Words, threats: Words) -> tuple[Array, Array]:
        """The least and the most that the leader can get.

        The follower can answer each move in the lower cell of a pair with the upper one, and each in a landing cell
        without a partner with another such cell, as there is an even number of them. So the leader gets lower cells
        and some of those without a partner, and the follower all other upper ones. `threats` are the leader's.
        """
        follower, empty, landing = leader ^ mask, mask ^ self.full, self.landing(mask)
        lower, lone = empty & self.lower, landing & self.upper
        held = ~self.has_line(leader | lower | lone)
        sure = held & self.has_line(follower | (empty & self.upper ^ lone))
        safe = ~self.has_line(follower | empty)
        wins = self._waits(follower, empty, landing, threats)
        least = jnp.where(wins, 1, jnp.where(safe, 0, -1))
        return least, jnp.where(sure, -1, jnp.where(held, 0, 1))

    def _waits(self, follower: Words, empty: Words, landing: Words, threats: Words) -> Array:
        """Whether the leader wins by a threat in a lower cell, because the other side must play below it in the end.

        Without the cells from there on an odd number of cells is left, and the leader turns into the follower.
        """
        waiting = threats & self.lower & (landing ^ self.full)  # of two in a column, one may be open already
        column = self._one_column(waiting)
        threat = column & waiting
        threat = Words(threat.low & -threat.low, threat.high & -threat.high)
        under = Words(threat.low >> np.uint32(1), threat.high >> np.uint32(1))
        below = Words(under.low - 1, under.high - 1) & column & empty
        elsewhere = ((empty & self.lower) | (landing & self.upper)) & (column ^ self.full)
        here = under | (below & (self.upper | landing))
        return threat.any() & ~self.has_line(follower | elsewhere | here)

    def _one_column(self, cells: Words) -> Words:
        """The cells of one of the columns that hold some of these; nothing, if there are none."""
        low = high = jnp.zeros_like(cells.low)
        for c in self.order:
            column = self._column(c)
            if column.low:
                low = jnp.where((low == 0) & (cells.low & column.low != 0), column.low, low)
            else:
                high = jnp.where((high == 0) & (cells.high & column.high != 0), column.high, high)
        return Words(low, jnp.where(low != 0, np.uint32(0), high))


class Lanes(NamedTuple):
    """One proof under way on each lane."""

    own: Words  # of the mover
    mask: Words
    question: Word
    answer: Word  # to the question at this node; OPEN: not looked at yet
    depth: Int32[Array, " L"]
    stack: UInt32[Array, "L D"]
    job: Int32[Array, " L"]  # the position asked for; beyond the last: none
    helper: Word  # how often this lane has been sent somewhere


class Proof(NamedTuple):
    lanes: Lanes
    table: UInt32[Array, " S"]
    answers: UInt32[Array, " J"]
    given: Int32[Array, ""]  # positions that have had a lane
    nodes: Int32[Array, " L"]


class Job(NamedTuple):
    """A position and what is asked of it."""

    own: Words
    mask: Words
    question: UInt32[Array, " J"]


def _spot(own: Words, mask: Words, question: Word, layout: Layout, places: int) -> tuple[Array, Array]:
    """Where the table keeps a position, and the bits that it keeps there."""
    low, high = own.low + mask.low, own.high + mask.high
    free = SIDE_BITS - layout.split  # bits of the second word that fit beside the first
    side = low | (high & np.uint32((1 << free) - 1)) << np.uint32(layout.split)
    rest = high >> np.uint32(free) | question << np.uint32(19)
    return ((rest ^ mixed(side)) & np.uint32(places - 1)).astype(jnp.int32), side


def _store(proof: Proof, layout: Layout, which: Bool[Array, " L"]) -> Proof:
    """Writes the answers of these lanes' nodes down."""
    lanes, places = proof.lanes, proof.table.shape[0]
    place, side = _spot(lanes.own, lanes.mask, lanes.question, layout, places)
    entry = side << np.uint32(2) | lanes.answer
    return proof._replace(table=proof.table.at[jnp.where(which, place, places)].set(entry, mode="drop"))


def _pick(word: Word, layout: Layout) -> tuple[Word, Array]:
    """The most promising column left, and how promising it is; 0: none is left."""
    best, column = jnp.zeros_like(word), jnp.zeros_like(word)
    for c in layout.order:
        promise = (word >> np.uint32(NIBBLE * c)) & np.uint32(15)
        better = promise > best
        best, column = jnp.where(better, promise, best), jnp.where(better, np.uint32(c), column)
    return column, best


def _column_words(column: Word, layout: Layout) -> tuple[Words, Words]:
    """The cells of a column, and its lowest one."""
    chosen = column.astype(jnp.int32)
    cells, low = (jax.tree.map(lambda x: jnp.asarray(x)[chosen], table) for table in layout.columns)
    return cells, low


def _descend(lanes: Lanes, which: Bool[Array, " L"], word: Word, layout: Layout) -> Lanes:
    """Plays the most promising move of the word on these lanes."""
    column, _ = _pick(word, layout)
    cells, _ = _column_words(column, layout)
    move = layout.landing(lanes.mask) & cells
    cleared = word & ~(np.uint32(15) << (column * np.uint32(NIBBLE)))
    kept = (cleared & np.uint32((1 << COLUMN_AT) - 1)) | column << np.uint32(COLUMN_AT)
    row = jnp.arange(word.shape[0])
    depth = jnp.where(which, lanes.depth, lanes.stack.shape[1])
    return lanes._replace(
        own=_where(which, lanes.own ^ lanes.mask, lanes.own),
        mask=_where(which, lanes.mask | move, lanes.mask),
        question=jnp.where(which, np.uint32(1) - lanes.question, lanes.question),
        answer=jnp.where(which, np.uint32(OPEN), lanes.answer),
        depth=lanes.depth + which,
        stack=lanes.stack.at[row, depth].set(kept, mode="drop"),
    )


def _return(proof: Proof, layout: Layout) -> Proof:
    """Takes every answered node back to its parent, which answers too or tries its next move."""
    lanes = proof.lanes
    back = (lanes.answer != OPEN) & (lanes.depth > 0)
    row = jnp.arange(lanes.depth.shape[0])
    depth = jnp.where(back, lanes.depth - 1, lanes.depth)
    word = lanes.stack[row, jnp.minimum(depth, lanes.stack.shape[1] - 1)]
    cells, low = _column_words(word >> np.uint32(COLUMN_AT), layout)
    column = lanes.mask & cells
    top = Words(column.low + low.low, column.high + low.high)
    top = Words(top.low >> np.uint32(1), top.high >> np.uint32(1)) & cells
    mask = lanes.mask ^ top
    said = lanes.answer
    word = word & np.uint32((1 << COLUMN_AT) - 1)
    answer = jnp.where(said == NO, np.uint32(YES), jnp.where(word == 0, np.uint32(NO), np.uint32(OPEN)))
    lanes = lanes._replace(
        own=_where(back, lanes.own ^ mask, lanes.own),
        mask=_where(back, mask, lanes.mask),
        question=jnp.where(back, np.uint32(1) - lanes.question, lanes.question),
        answer=jnp.where(back, answer, lanes.answer),
        depth=depth,
    )
    proof = _store(proof._replace(lanes=lanes), layout, back & (answer != OPEN))
    return proof._replace(lanes=_descend(proof.lanes, back & (answer == OPEN), word, layout))


def _enter(proof: Proof, layout: Layout) -> Proof:
    """Looks at all that may follow new nodes: answers the nodes at once, or lists their moves and plays the first."""
    lanes, count = proof.lanes, proof.answers.shape[0]
    asked = (lanes.job < count) & (proof.answers[jnp.minimum(lanes.job, count - 1)] == OPEN)
    new = (lanes.answer == OPEN) & asked
    threats = layout.winning(lanes.own ^ lanes.mask, lanes.mask)
    moves, lost = layout.moves(lanes.mask, threats)

    def look(column: Words) -> tuple[Array, Array]:
        move = moves & column
        own, mask = lanes.own | move, lanes.mask | move
        question = np.uint32(1) - lanes.question
        answer, made = _judge(own, mask, threats, question, layout)
        answer = jnp.where(answer == OPEN, _known(proof.table, own ^ mask, mask, question, layout), answer)
        # what is not legal helps nobody
        return jnp.where(move.any(), answer, np.uint32(YES)), _promise(made, mask, layout)

    # a loop, because XLA merges the seven looks into what reads them, and then looks again for every reader
    answer, promise = jax.lax.map(look, jax.tree.map(jnp.asarray, layout.columns[0]))
    good, left = (answer == NO).any(axis=0), (answer == OPEN).any(axis=0)
    here = jnp.where(good, np.uint32(YES), jnp.where(left, np.uint32(OPEN), np.uint32(NO)))
    here = jnp.where(lost, np.uint32(NO), here)  # below such a node, which only a root can be, the looks do not hold
    known = _known(proof.table, lanes.own, lanes.mask, lanes.question, layout)
    here = jnp.where(here == OPEN, known, here)
    word = _word(jnp.where(answer == OPEN, promise, np.uint32(0)), lanes)
    proof = proof._replace(lanes=lanes._replace(answer=jnp.where(new, here, lanes.answer)), nodes=proof.nodes + new)
    proof = _store(proof, layout, new & (here != OPEN) & (known == OPEN))
    return proof._replace(lanes=_descend(proof.lanes, new & (here == OPEN), word, layout))


def _judge(waiting: Words, mask: Words, threats: Words, question: Word, layout: Layout) -> tuple[Word, Words]:
    """The answer without any search, and the winning cells of the side that has just moved and is `waiting`.

    Who moves cannot win at once; `threats` would be the winning cells, some of them perhaps taken.
    """
    made = layout.winning(waiting, mask)
    _, lost = layout.moves(mask, made)
    leads = layout.leads(mask)
    leader = _where(leads, waiting ^ mask, waiting)
    least, most = layout.bounds(leader, mask, _where(leads, threats & (mask ^ layout.full), made))
    least, most = jnp.where(leads, least, -most), jnp.where(leads, most, -least)
    asked = question.astype(jnp.int32)
    answer = jnp.where(least >= asked, np.uint32(YES), jnp.where(most < asked, np.uint32(NO), np.uint32(OPEN)))
    return jnp.where(lost, np.uint32(NO), answer), made


def _known(table: Array, own: Words, mask: Words, question: Word, layout: Layout) -> Word:
    """What the table answers."""
    place, side = _spot(own, mask, question, layout, table.shape[0])
    entry = table[place]
    return jnp.where(entry >> np.uint32(2) == side, entry & np.uint32(3), np.uint32(OPEN))


def _promise(made: Words, mask: Words, layout: Layout) -> Word:
    """How promising a move is: by the winning cells it makes, and how many of them last."""
    lasting = made & _where(layout.leads(mask), layout.upper, layout.lower)  # of the follower, who has moved then
    return jnp.minimum(np.uint32(1) + 2 * made.size() + lasting.size(), np.uint32(14))


def _word(promise: UInt32[Array, "W L"], lanes: Lanes) -> Word:
    """The promises side by side; helpers break ties in ways of their own."""
    whim = lanes.helper * np.uint32(0x9E3779B1) + lanes.depth.astype(jnp.uint32) * np.uint32(0x85EBCA6B)
    whim = stir(whim, 13, 0x2C1B3C6D)
    number = np.arange(promise.shape[0], dtype=np.uint32)[:, None]
    tie = jnp.where(lanes.helper > 0, whim >> np.uint32(3), np.uint32(0))[None] >> 3 * number & np.uint32(1)
    promise = jnp.where(promise > 0, promise + tie, np.uint32(0)) << NIBBLE * number
    return promise.sum(axis=0, dtype=jnp.uint32)


def _finish(proof: Proof, jobs: Job) -> Proof:
    """Notes what is answered, and gives lanes without work a new position, or one that is still open."""
    lanes, count = proof.lanes, proof.answers.shape[0]
    done = (lanes.answer != OPEN) & (lanes.depth == 0) & (lanes.job < count)
    answers = proof.answers.at[jnp.where(done, lanes.job, count)].set(lanes.answer, mode="drop")
    idle = done | (lanes.job >= count) | (answers[jnp.minimum(lanes.job, count - 1)] != OPEN)

    def assign(_: None) -> tuple[Array, Array]:
        turn = jnp.cumsum(idle, dtype=jnp.int32) - 1
        fresh = jnp.minimum(proof.given + turn, count)
        (left,) = jnp.nonzero(answers == OPEN, size=count, fill_value=count)
        many = jnp.maximum((answers == OPEN).sum(dtype=jnp.int32), 1)
        job = jnp.where(fresh < count, fresh, left[turn % many].astype(jnp.int32))
        return jnp.where(idle, job, lanes.job), jnp.minimum(proof.given + idle.sum(dtype=jnp.int32), count)

    job, given = jax.lax.cond(idle.any(), assign, lambda _: (lanes.job, proof.given), None)
    at = jnp.minimum(job, count - 1)
    start = jax.tree.map(lambda x: x[at], jobs)
    lane = jnp.arange(job.shape[0], dtype=jnp.uint32)
    first = proof.given + jnp.cumsum(idle, dtype=jnp.int32) - 1 < count
    lanes = lanes._replace(
        own=_where(idle, start.own, lanes.own),
        mask=_where(idle, start.mask, lanes.mask),
        question=jnp.where(idle, start.question, lanes.question),
        answer=jnp.where(idle, np.uint32(OPEN), lanes.answer),
        depth=jnp.where(idle, 0, lanes.depth),
        job=job,
        helper=jnp.where(idle, jnp.where(first, np.uint32(0), lane + 1), lanes.helper),
    )
    return proof._replace(lanes=lanes, answers=answers, given=given)


def _prove(game: ConnectFour, jobs: Job, answers: Array, table: Array, lanes: int) -> tuple[Array, Array, Array]:
    """Answers to all jobs that are OPEN, the table, and the nodes that each lane looked at."""
    layout, count = Layout(game), answers.shape[0]
    at_once = (layout.winning(jobs.own, jobs.mask) & layout.landing(jobs.mask)).any()
    answers = jnp.where((answers == OPEN) & at_once, np.uint32(YES), answers)
    zero = jnp.zeros(lanes, jnp.uint32)
    blank = Words(zero, zero)
    idle = Lanes(
        own=blank,
        mask=blank,
        question=zero,
        answer=zero,
        depth=jnp.zeros(lanes, jnp.int32),
        stack=jnp.zeros((lanes, layout.cells + 1), jnp.uint32),
        job=jnp.full(lanes, count, jnp.int32),
        helper=zero,
    )
    proof = Proof(idle, table, answers, jnp.int32(0), jnp.zeros(lanes, jnp.int32))

    def step(proof: Proof) -> Proof:
        proof = _finish(proof, jobs)
        proof = _enter(proof, layout)
        return _return(_return(proof, layout), layout)

    proof = jax.lax.while_loop(lambda p: (p.answers == OPEN).any(), step, proof)
    return proof.answers, proof.table, proof.nodes


@functools.cache
def _prover(platform: str) -> Callable[..., tuple[Array, Array, Array]]:
    """The program, in whole registers: the compiler for processors takes half of the widest otherwise."""
    wide = {"xla_cpu_prefer_vector_width": 512} if platform == "cpu" else None
    return jax.jit(_prove, static_argnames=("game", "lanes"), donate_argnames="table", compiler_options=wide)


@functools.partial(jax.jit, static_argnums=0)
def _moved(game: ConnectFour, states: Any) -> tuple[Bool[Array, "B A"], Any]:
    """The moves of live positions, and what comes of each."""
    legal = jax.vmap(lambda state: game.legal(state) & ~game.over(state))(states)
    step = jax.vmap(jax.vmap(game.step, in_axes=(None, 0)), in_axes=(0, None))
    return legal, step(states, jnp.arange(game.width))


class Solver:
    """Proves positions of one board, keeping its table from call to call."""

    def __init__(self, game: ConnectFour | None = None, places: int = 1 << 22, lanes: int = 512) -> None:
        self.game = ConnectFour() if game is None else game
        if not isinstance(self.game, ConnectFour):
            raise UsageError(f"the solver of Connect Four takes a ConnectFour and no other game, not {game!r}")
        if places & (places - 1) or places < 1 << 20 or lanes < 1:
            raise UsageError("the solver of Connect Four needs a table of a power of two, at least 2^20, and a lane")
        self.layout, self.lanes, self.nodes = Layout(self.game), lanes, 0
        self.table = jnp.zeros(places, jnp.uint32)
        (device,) = self.table.devices()
        self._prove = _prover(device.platform)

    def values(self, states: Any) -> np.ndarray:
        """`int8[B]`: what a batch of positions is worth to their movers; of finished ones, their result."""
        stones = self._stones(states)
        if not len(stones):
            return np.zeros(0, np.int8)
        if stones.shape[2] == 1:
            stones = np.concatenate([stones, np.zeros_like(stones)], axis=2)
        own = Words(jnp.asarray(stones[:, 0, 0]), jnp.asarray(stones[:, 0, 1]))
        mask = own | Words(jnp.asarray(stones[:, 1, 0]), jnp.asarray(stones[:, 1, 1]))
        winner, mover = np.asarray(states.winner), np.asarray(states.to_play) + 1
        over, lost = (winner != 0) | (np.asarray(states.ply) >= self.game.max_plies), (winner != 0) & (winner != mover)
        won = self._ask(own, mask, WIN, np.where(over, np.where(winner == mover, YES, NO), OPEN))
        known = np.where(over, np.where(lost, NO, YES), np.where(won == YES, YES, OPEN))
        held = self._ask(own, mask, DRAW, known)
        return ((won == YES).astype(np.int8) + (held == YES) - 1).astype(np.int8)

    def _stones(self, states: Any) -> np.ndarray:
        """The discs of a batch; a UsageError where these are no states of this board, which states do not tell."""
        stones, ply = np.asarray(getattr(states, "stones", None)), np.asarray(getattr(states, "ply", None))
        if stones.ndim != 3 or stones.shape[1:] != (2, self.game.columns.words):
            raise UsageError(
                f"the solver takes a batch of states of {self.game}, such as model.start(key, games).state; of another "
                "board it is Solver(game)"
            )
        wide = (stones.astype(np.uint64) << np.array([0, self.layout.split], np.uint64)[: stones.shape[2]]).sum(axis=2)
        discs = wide[:, 0] | wide[:, 1]
        full, bottom = ((int(w.low) | int(w.high) << self.layout.split) for w in (self.layout.full, self.layout.bottom))
        above = discs & np.uint64(full ^ bottom)
        stand = (discs & ~np.uint64(full) == 0) & (above & ~(discs << np.uint64(1)) == 0)
        if not (stand & (wide[:, 0] & wide[:, 1] == 0) & (np.bitwise_count(discs) == ply)).all():
            raise UsageError(f"these are no states of {self.game}; of another board, the solver is Solver(game)")
        return stones

    def _ask(self, own: Words, mask: Words, question: int, answers: np.ndarray) -> np.ndarray:
        jobs = Job(own, mask, jnp.full(len(answers), question, jnp.uint32))
        said, self.table, nodes = self._prove(self.game, jobs, jnp.asarray(answers, jnp.uint32), self.table, self.lanes)
        self.nodes += int(np.asarray(nodes, np.int64).sum())
        return np.asarray(said)

    def moves(self, states: Any) -> np.ndarray:
        """`int8[B, A]`: what each move is worth to its mover; ILLEGAL: it is not legal, as all are where it is over."""
        game, count = self.game, len(self._stones(states))
        legal, after = jax.device_get(_moved(game, states))
        flat = jax.tree.map(lambda x: x.reshape(count * game.width, *x.shape[2:]), after)
        there = np.flatnonzero(legal)
        if not len(there):
            return np.full(legal.shape, ILLEGAL, np.int8)
        # always as many positions, so that one program serves: the others are copies of one that is there
        asked = np.where(legal.reshape(-1), np.arange(legal.size), there[0])
        value = -self.values(jax.tree.map(lambda x: x[asked], flat))
        return np.where(legal, value.reshape(count, -1), ILLEGAL).astype(np.int8)
