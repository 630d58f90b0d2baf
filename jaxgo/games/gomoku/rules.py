"""Gomoku and its relatives on an n x n board: five in a row, by the rules of freestyle, standard, renju or caro.

The line is looked for through the last stone. Caro (Gomocup's rule 8) has no win by a five with enemy stones at both
ends, of which the edge of the board is none; `caro5` (rule 9) takes exactly five, as `standard` does. Renju is a draw
when Black has no allowed point left, too.
"""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int8, Int16, Int32, UInt32

from jaxgo.core import board, zobrist
from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.core.game import EMPTY, Action, AuxTarget, Game, Piece, Threats, returns_of_seat
from jaxgo.core.tracing import traced_once
from jaxgo.games.gomoku import lines, openings, point_scores, renju
from jaxgo.games.gomoku.lines import Rows, Rule
from jaxgo.games.gomoku.openings import Opening, Turn

Rules = Literal["freestyle", "standard", "renju", "caro", "caro5"]
WINS: dict[Rules, tuple[Rule, Rule]] = {  # what wins for Black and for White
    "freestyle": ("free", "free"),
    "standard": ("exact", "exact"),
    "renju": ("exact", "free"),
    "caro": ("caro", "caro"),
    "caro5": ("caro5", "caro5"),
}
GOMOCUP: dict[Rules, int] = {
    "freestyle": 0,
    "standard": 1,
    "renju": 4,
    "caro": 8,
    "caro5": 9,
}  # the bits of its protocol
BLACK, WHITE = range(2)
RUNNING, BLACK_WON, WHITE_WON, DRAWN = range(4)
MEMORY = 4  # the last moves that are remembered, for the eyes of a network
SCALE = 40_000.0  # threat scores that mean a value of tanh(1): four stones in a blocked four
NEAR, FAR = 50.0, 0.01  # weight of a point that makes no threat: near stones, and far from all


class GomokuState(NamedTuple):
    stones: UInt32[Array, "2 n"]  # black and white stones: one word a row, column c in bit c
    forbidden: UInt32[Array, " rows"]  # renju: the points forbidden to Black (else no rows). `over` needs them too,
    # since a Black without a point has a draw, so they are found once, when a stone is put
    last: Int16[Array, "4"]  # the last moves, the latest first; -1: none
    to_play: Int8[Array, ""]  # a seat, not a colour
    ply: Int16[Array, ""]
    outcome: Int8[Array, ""]
    phase: Int8[Array, ""]  # see `openings`
    black: Int8[Array, ""]  # the seat that plays Black
    key: UInt32[Array, "2"]  # of the stones


@dataclasses.dataclass(frozen=True)
class Gomoku(Game[GomokuState]):
    """Actions are the cells, row by row; swap and swap2 add the choices `white`, `black` (and `more`)."""

    size: int = 15
    rules: Rules = "freestyle"
    opening: Opening = "none"

    pieces = (EMPTY, Piece("X", 0), Piece("O", 1))
    grid = "points"
    notation = "a letter and a row from the bottom: `h8`; where an opening lets one choose, `white`, `black` or `more`"

    @property
    def how_to_play(self) -> str:
        exactly = {"renju": "five or more (Black: exactly five)", "standard": "exactly five", "caro5": "exactly five"}
        five = exactly.get(self.rules, "five or more")
        ends = ", unless enemy stones stand at both ends," if self.rules in ("caro", "caro5") else ""
        forbidden = (
            " Without making five, Black may not make a line of six or more, two fours or two open threes by one stone."
            if self.rules == "renju"
            else ""
        )
        return (
            f"Black moves first. Put a stone on an empty point. Who first has {five} of their own side by side in a "
            f"row, column or diagonal{ends} wins; a full board is a draw.{forbidden}"
            f"{openings.TOLD[self.opening]}"
        )

    def __post_init__(self) -> None:
        if not 5 <= self.size <= 20:
            raise UsageError(f"size={self.size} of gomoku is not between 5 and 20")
        if self.rules not in get_args(Rules):
            raise unknown_name("rules of gomoku", self.rules, get_args(Rules))
        if self.opening not in get_args(Opening):
            raise unknown_name("opening of gomoku", self.opening, get_args(Opening))
        openings.check(self.opening, self.size)

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, self.size

    @property
    def points(self) -> int:
        return self.size * self.size

    @property
    def num_actions(self) -> int:
        return self.points + openings.choices(self.opening)

    @property
    def max_plies(self) -> int:
        return self.points + {"swap": 1, "swap2": 2}.get(self.opening, 0)  # so often colours are chosen

    # -- rules -------------------------------------------------------------------------------------------------
    def init(self, key: Array) -> GomokuState:
        n, turn = self.size, openings.begin(self.opening)
        rows = n if self.rules == "renju" else 0
        return GomokuState(
            stones=jnp.zeros((2, n), jnp.uint32),
            forbidden=jnp.zeros(rows, jnp.uint32),
            last=jnp.full(MEMORY, -1, jnp.int16),
            to_play=turn.to_play,
            ply=jnp.int16(0),
            outcome=jnp.int8(RUNNING),
            phase=turn.phase,
            black=turn.black,
            key=zobrist.zero(),
        )

    def _colour(self, state: GomokuState) -> Int8[Array, ""]:
        """The colour of the next stone."""
        colour = state.to_play ^ state.black
        if openings.choices(self.opening) == 0:
            return colour
        odd = (_count(state.stones) & 1).astype(jnp.int8)
        return jnp.where(state.phase == openings.PLAY, colour, odd)

    def _open(self, state: GomokuState) -> Rows:
        """The points where the mover may put a stone."""
        free = lines.all_cells(self.size) & ~(state.stones[0] | state.stones[1])
        if self.rules == "renju":
            black = self._colour(state) == BLACK
            free &= ~jnp.where(black, state.forbidden, 0)
        if self.opening in openings.FAR:
            allowed = jnp.asarray(openings.allowed_cells(self.opening, self.size))
            first, second = (lines.pack(cells, self.size) for cells in allowed)
            free &= jnp.where(state.ply == 0, first, jnp.where(state.ply == 2, second, free))
        return free

    def legal(self, state: GomokuState) -> Bool[Array, " A"]:
        cells = lines.unpack(self._open(state))
        if openings.choices(self.opening) == 0:
            return cells
        choosing = openings.choosing(state.phase)
        return jnp.concatenate([cells & ~choosing, openings.choice_mask(self.opening, state.phase)])

    def step(self, state: GomokuState, action: Action) -> GomokuState:
        n, colour = self.size, self._colour(state)
        stone = lines.one_cell(action, n)
        mine = jnp.arange(2, dtype=jnp.int8) == colour
        stones = state.stones | jnp.where(mine[:, None], stone[None], 0)
        turn = Turn(state.phase, state.to_play, state.black)
        words = jnp.asarray(zobrist.table("stones", self.points, 2))
        key, last = words[action, colour], jnp.concatenate([action.astype(jnp.int16)[None], state.last[:-1]])
        won = self._wins(state.stones, action, colour)
        if openings.choices(self.opening):
            choosing = openings.choosing(turn.phase)
            turn = openings.advance(turn, _count(stones), action - self.points)
            key, last = jnp.where(choosing, 0, key), jnp.where(choosing, state.last, last)
            won &= ~choosing
        else:
            turn = turn._replace(to_play=jnp.int8(1) - state.to_play)
        after = state._replace(
            stones=stones, last=last, ply=state.ply + jnp.int16(1), key=state.key ^ key, **turn._asdict()
        )
        if self.rules == "renju":
            after = after._replace(forbidden=renju.forbidden_points(stones[0], stones[1]))
        stuck = (self._open(after) == 0).all()  # a full board, or no point allowed
        if openings.choices(self.opening):
            stuck &= ~openings.choosing(after.phase)
        draw = jnp.where(stuck, jnp.int8(DRAWN), jnp.int8(RUNNING))
        return after._replace(outcome=jnp.where(won, jnp.int8(BLACK_WON) + colour, draw))

    def _wins(self, stones: UInt32[Array, "2 n"], cell: Action, colour: Int8[Array, ""]) -> Bool[Array, ""]:
        """Whether a stone on a cell wins."""
        words = lines.star(stones, cell)
        near = [lines.along(words[c]) for c in (BLACK, WHITE)]
        black, white = (lines.fives(near[c], near[1 - c], WINS[self.rules][c]) for c in (BLACK, WHITE))
        five = jnp.where(colour == BLACK, black, white)
        return (five >> lines.MIDDLE & 1 != 0).any()

    def over(self, state: GomokuState) -> Bool[Array, ""]:
        return state.outcome != RUNNING

    def returns(self, state: GomokuState) -> Float32[Array, " 2"]:
        won, lost = state.outcome == BLACK_WON, state.outcome == WHITE_WON
        return returns_of_seat(won.astype(jnp.float32) - lost.astype(jnp.float32), state.black)

    def hash(self, state: GomokuState) -> UInt32[Array, "2"]:
        turns = jnp.asarray(zobrist.table("turn", openings.PHASES, 2, 2))
        return state.key ^ turns[state.phase, state.black, state.to_play]

    def aux_targets(self) -> tuple[AuxTarget, ...]:
        return (AuxTarget("line", "cells"),)

    def aux_values(self, state: GomokuState) -> dict[str, Float32[Array, "*target"]]:
        """Which stones stand in a line that won."""
        black, white = (_standing(state.stones[c], state.stones[1 - c], WINS[self.rules][c]) for c in (BLACK, WHITE))
        line = jnp.where(state.outcome == BLACK_WON, black, white)
        return {"line": lines.unpack(line).astype(jnp.float32) * self.returns(state)[0]}

    # -- views -------------------------------------------------------------------------------------------------
    def cells(self, state: GomokuState) -> Int8[Array, " cells"]:
        black, white = lines.unpack(state.stones).astype(jnp.int8)
        return black + white * jnp.int8(2)

    def first_pieces(self, state: GomokuState) -> Int8[Array, ""]:
        return state.black

    def observe(self, state: GomokuState) -> Bool[Array, "H W C"]:
        """Stones of the next colour, of the other one; the last four moves; Black to move; forbidden points; phase."""
        n, colour = self.size, self._colour(state)
        both = lines.unpack(state.stones)
        own, other = jnp.where(colour == BLACK, both, both[::-1])
        last = jnp.arange(self.points, dtype=jnp.int16)[:, None] == state.last[None]
        planes = [own[:, None], other[:, None], last]
        flags = [colour == BLACK]
        if self.rules == "renju":
            planes.append(lines.unpack(state.forbidden)[:, None])
        if openings.choices(self.opening):
            flags += [state.phase == phase for phase in range(1, openings.PHASES)]
        planes.append(jnp.broadcast_to(jnp.stack(flags)[None], (self.points, len(flags))))
        return jnp.concatenate(planes, axis=1).reshape(n, n, -1)

    def symmetries(self) -> board.Symmetries:
        return board.of_cell_actions(board.symmetries(self.size, self.size), openings.choices(self.opening))

    def place(self, cells: np.ndarray, to_play: int) -> GomokuState:
        cells = self.drawn(cells, to_play)
        codes = jnp.asarray(cells)
        stones = jnp.stack([lines.pack(codes == colour + 1, self.size) for colour in (BLACK, WHITE)])
        state = self.init(jax.random.key(0))._replace(
            stones=stones,
            to_play=jnp.int8(to_play),
            ply=jnp.int16(int((cells > 0).sum())),
            phase=jnp.int8(openings.PLAY),
            key=zobrist.of_cells(zobrist.table("stones", self.points, 2), codes),
        )
        if self.rules == "renju":  # hundreds of small operations: one program, rather than one by one
            state = state._replace(forbidden=jax.jit(renju.forbidden_points)(stones[0], stones[1]))
        return state._replace(outcome=jnp.int8(self._outcome(cells, state)))

    def _outcome(self, codes: np.ndarray, state: GomokuState) -> int:
        """Of a drawn position: a line that stands there has won, that of who moved last before the other."""
        standing = set()
        if board.in_a_row(codes.reshape(self.shape), 5).any():  # else it is known without a program
            standing_lines = jax.jit(_standing, static_argnums=2)
            for colour in (BLACK, WHITE):
                own, other = state.stones[colour], state.stones[1 - colour]
                if np.asarray(standing_lines(own, other, WINS[self.rules][colour])).any():
                    standing.add(colour)
        if standing:
            last = 1 - int(state.to_play)
            return BLACK_WON + (last if last in standing else 1 - last)
        stuck = (codes > 0).all() or (self.rules == "renju" and not np.asarray(self._open(state)).any())
        return DRAWN if stuck else RUNNING

    def action_name(self, action: int) -> str:
        if action >= self.points:
            return openings.CHOICES[action - self.points]
        return board.square_name(action, self.size, self.size)

    # -- knowledge ---------------------------------------------------------------------------------------------
    @traced_once
    def threats(self, state: GomokuState) -> Threats:
        """A win is a five, a force a four, a double an open four or two fours, and what builds is a three.

        Lines are judged one by one; renju's second stone of a three is not asked whether it is forbidden. In caro a
        five is also stopped by a stone at its end, so all cells near the fives count as blocks there.
        """
        n = self.size
        free = lines.all_cells(n) & ~(state.stones[0] | state.stones[1])
        looks = [lines.look(state.stones[c]) for c in (BLACK, WHITE)]
        kinds = [self._threats_of(c, looks, lines.look(free), free, state) for c in (BLACK, WHITE)]
        black_first = self._colour(state) == BLACK
        rows = jnp.where(black_first, jnp.stack(kinds), jnp.stack(kinds[::-1]))  # [2, 4, n]
        block = rows[1, 0]
        if self.rules in ("caro", "caro5"):
            block = lines.around(block, lines.REACH) | block
        if self.rules == "renju":  # what Black may not take stops nothing
            block &= ~jnp.where(black_first, state.forbidden, 0)
        cells = lines.unpack(jnp.concatenate([rows.reshape(-1, n), (block & free)[None]]).reshape(-1, n))
        playing = state.phase == openings.PLAY
        cells = jnp.pad(cells & playing, ((0, 0), (0, self.num_actions - self.points)))
        of = cells[:8].reshape(2, 4, -1)
        return Threats(of[:, 0], of[:, 1], of[:, 2], of[:, 3], cells[8])

    def safe(self, state: GomokuState, legal: Bool[Array, " A"]) -> Bool[Array, " A"]:
        """By threats, and not by trying every reply; a stone that stops one of two fours is not safe, but in caro it
        may stop both at their ends, so there each move is tried."""
        threats = self.threats(state)
        if self.rules in ("caro", "caro5"):
            after = jax.vmap(functools.partial(self.step, state))(jnp.arange(self.num_actions))
            return legal & (threats.win[0] | ~jax.vmap(self.threats)(after).win[:, 0].any(axis=-1))
        wins, stops = threats.win[0] & legal, threats.block & legal
        alone = threats.win[1].sum(dtype=jnp.int32) <= 1
        quiet = jnp.where(threats.win[1].any(), stops & alone, legal)
        return wins | quiet

    def stops(self, state: GomokuState, legal: Bool[Array, " A"]) -> Bool[Array, " A"]:
        """The points that touch every double of the other side: its own point, or one where a four of it would win.

        White may also keep Black from a point of renju by making it forbidden; doubles that could happen to are not
        counted, and where all are such ones, and in caro, all moves are named.
        """
        if self.rules in ("caro", "caro5"):
            return legal
        black_first = self._colour(state) == BLACK
        white, black = state.stones[WHITE], state.stones[BLACK]
        if self.rules == "renju":
            touched = [self._touched(WHITE, white, black, state), self._touched(BLACK, black, white, state)]
            points, some = (jnp.where(black_first, a, b) for a, b in zip(*touched, strict=True))
        else:  # the same lines for both colours
            own, other = jnp.where(black_first, jnp.stack([white, black]), jnp.stack([black, white]))
            points, some = self._touched(WHITE, own, other, state)
        points = jnp.pad(points, (0, self.num_actions - self.points))
        return legal & (points | ~some)

    def _touched(
        self, colour: int, own: Rows, other: Rows, state: GomokuState
    ) -> tuple[Bool[Array, " cells"], Bool[Array, ""]]:
        """The points that every double of this colour needs to stay free, and whether it has a double at all."""
        n, rule = self.size, WINS[self.rules][colour]
        free = lines.all_cells(n) & ~(own | other)
        found = lines.everywhere(
            lambda mine, yours, empty: [
                *lines.completions(mine, yours, empty, rule),
                lines.union(list(lines.seconds(mine, empty, rule).values())),
            ],
            n,
            lines.look(own),
            lines.look(other),
            lines.look(free),
        )
        fours, threes = found[:-1], found[-1]
        one, two = zip(*(lines.at_least(2, [four[d] for four in fours]) for d in range(4)), strict=True)
        double = (lines.union(two) | lines.at_least(2, list(one))[1]) & free
        if self.rules == "renju" and colour == BLACK:
            double &= ~state.forbidden & ~lines.at_least(2, threes)[1]
        # else every use would find the lines again
        double, fours = jax.lax.optimization_barrier((double, fours))
        needed = [double]
        for four, k in zip(fours, [k for k in range(-4, 5) if k], strict=True):
            for d, (down, right) in enumerate(board.AXES):
                moved = jnp.roll(four[d] & double, k * down)
                needed.append(moved << k * right if k * right >= 0 else moved >> -k * right)
        # no point stands to a double in two ways, so it is counted once for each that it touches
        cells = lines.unpack(jnp.stack(needed))
        return cells.sum(axis=0, dtype=jnp.int32) == _count(double), (double != 0).any()

    def _threats_of(
        self, colour: int, looks: list[lines.Look], free_look: lines.Look, free: Rows, state: GomokuState
    ) -> UInt32[Array, "4 n"]:
        rule = WINS[self.rules][colour]
        own, other = looks[colour], looks[1 - colour]
        five, one, two, three = lines.everywhere(
            lambda mine, yours, empty: lines.threats(mine, yours, empty, rule), self.size, own, other, free_look
        )
        kinds = [lines.union(five), lines.union(one), lines.union(two) | lines.at_least(2, one)[1], lines.union(three)]
        allowed = free & ~state.forbidden if self.rules == "renju" and colour == BLACK else free
        return jnp.stack([kind & allowed for kind in kinds])

    def knowledge(self) -> Any:
        """What lines are worth through an empty point, a black stone and a white one."""
        return point_scores.worths(point_scores.line_scores(WINS[self.rules]))

    def weights(self) -> dict[str, float]:
        """What each kind of threat is worth, by the names of `point_scores`."""
        return dict(point_scores.WEIGHTS)

    def knowledge_from(self, weights: Mapping[str, float], greater: bool = False) -> Any:
        known = point_scores.tables([weights[name] for name in point_scores.WEIGHTS], WINS[self.rules])
        return point_scores.worths(known, apart=greater)

    def judge(self, state: GomokuState, knowledge: Any) -> tuple[Float32[Array, ""], Float32[Array, " A"]]:
        judged = point_scores.judged(state.stones, jnp.asarray(knowledge))
        value = jnp.tanh(judged.lead / SCALE)
        value = jnp.where(state.to_play == state.black, value, -value)
        centre = jnp.arange(self.points) == self.size // 2 * self.size + self.size // 2
        near = judged.near | (centre & ~judged.near.any())
        weights = judged.scores + jnp.where(near, NEAR, FAR)
        weights = jnp.pad(weights, (0, self.num_actions - self.points), constant_values=NEAR)
        return jnp.where(state.phase == openings.PLAY, value, 0.0), weights

    @property
    def judges_moves(self) -> bool:
        # where Black and White win alike, and a game ends by five stones or a full board only
        return self.rules != "renju" and openings.choices(self.opening) == 0

    def judge_moves(
        self, state: GomokuState, knowledge: Any, actions: Int32[Array, " K"]
    ) -> tuple[Float32[Array, " K"], Bool[Array, " K"]]:
        if not self.judges_moves:
            return super().judge_moves(state, knowledge, actions)
        colour = self._colour(state)
        rule = WINS[self.rules][BLACK]
        lead, won = point_scores.tried(state.stones, jnp.asarray(knowledge), rule, actions, colour)
        full = _count(state.stones) + 1 == self.points
        result = jnp.where(won, 1.0, 0.0)
        return jnp.where(won | full, result, jnp.tanh(jnp.where(colour == BLACK, lead, -lead) / SCALE)), won | full

    def heuristic(self, state: GomokuState) -> Float32[Array, ""]:
        """Threat scores of all own stones less those of the other side, squeezed; 0 while colours are not chosen."""
        return self.judge(state, self.knowledge())[0]

    def move_weights(self, state: GomokuState) -> Float32[Array, " A"]:
        """What the point is worth to Black and to White together: the enemy's key point is my key point."""
        return self.judge(state, self.knowledge())[1]


def _count(stones: UInt32[Array, "*k n"]) -> Array:
    return jax.lax.population_count(stones).sum(dtype=jnp.int32)


def _standing(own: Rows, other: Rows, rule: Rule) -> Rows:
    """The stones of one side that stand in a line that wins."""
    looks = lines.look(own), lines.look(other)
    (five,) = lines.everywhere(lambda mine, yours: [lines.fives(mine, yours, rule)], own.shape[-1], *looks)
    return lines.union(five) & own
