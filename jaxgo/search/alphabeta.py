"""Alpha-beta: minimax to a depth, with principal variation search, iterative deepening, a table and move ordering.

Thousands of positions are searched at once: every game has a stack of its own, and one step of the loop visits one
node of every game. A budget counts these nodes, so a search can be cut and resumed anywhere.

Values come from the evaluator at the horizon, squeezed into the open interval (-1, 1): only the rules give a win. A
value is `final` where the rules alone decided it; that of the root is then solved, and deepening ends.

The bargain of the table (`table.py`): a position counts as known where 64 bits of its key agree, whatever its stones.
"""

import dataclasses
import functools
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32, Int32, UInt32

from jaxgo.core import history as histories
from jaxgo.core import keys, play
from jaxgo.core.choice import first_max
from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.core.game import Game
from jaxgo.core.play import Position
from jaxgo.evaluators.base import Params
from jaxgo.search import forcing, lastply, stack, table, turns
from jaxgo.search.base import Budget, Search, SearchResult, Temperature, decide, per_game
from jaxgo.search.model import CANDIDATE, ILLEGAL, Model, mover_sign
from jaxgo.search.narrow import Narrowing
from jaxgo.search.stack import BEYOND, Ahead, Frames, Known

GUESS = 1.0 - 2.0**-20  # the most that an evaluator's word counts
NULL = 2.0**-20  # the width of a null window
WORD = 2.0**32  # what a word of a key is less than
Layers = Literal["even", "odd", "all"]
FIRST = 1e9  # the score of the move to try first


class AlphaBetaState(NamedTuple):
    root: Position
    frames: Frames
    level: Int32[Array, " B"]  # the top of the stack
    root_score: Float32[Array, "B K"]
    whole: Bool[Array, " B"]  # whether all legal moves of the root are among the K, but for those lost at once
    prior: Float32[Array, "B A"]  # root logits
    table: UInt32[Array, "B T 4"]
    history: Float32[Array, "B 2 A"]  # by seat: how often, and how far from the horizon, a move cut
    action: Int32[Array, " B"]  # of the last depth that was searched to its end
    value: Float32[Array, " B"]
    depth: Int32[Array, " B"]  # that depth; 0: none yet
    q: Float32[Array, "B A"]  # what the moves of the root came to; bounds, but for the best
    seen: Float32[Array, "B A"]  # the same of the depth that is under way
    visits: Int32[Array, "B A"]  # nodes below each move of the root
    solved: Bool[Array, " B"]
    ends: Int32[Array, " B"]  # plies to the end of the game, where that depth proved who wins
    certain: Bool[Array, " B"]  # what the rules alone decided below the root is so in the real game, too
    ended: Bool[Array, " B"]  # nothing is left to search
    done: Int32[Array, " B"]
    calls: Int32[Array, ""]
    healthy: Bool[Array, " B"]
    tree: None = None


@dataclasses.dataclass(frozen=True)
class AlphaBeta(Search[AlphaBetaState], Narrowing):
    """Depths 2, 4, ... `depth`, each as soon as the last is finished, until the nodes are spent.

    Even depths compare positions in which the same side is to move; `layers` says which are searched before the last.
    """

    simulations: int = 200_000  # nodes
    depth: int = 4  # plies of the last search
    layers: Layers = "even"  # the depths before `depth`: 2, 4, ...; odd: 1, 3, ...; all: 1, 2, ...
    deepening: bool = True  # else only `depth`
    pvs: bool = True  # all moves but the first are searched with a null window first
    ordering: bool = True  # by weights, table and history; else in the order of their numbers
    table: int = 12  # 2 ** table entries for each game; 0: no table
    # where a game names threats: take a win, else stop the other seat's; simulations are the first by place
    threats: bool = dataclasses.field(default=True, kw_only=True)
    quiescence: int = 0  # plies of forcing moves beyond the horizon: threats, or what the game calls sharp
    followed: float = 1.0  # share of the positions at the horizon for which they are looked at, drawn by their keys

    def __post_init__(self) -> None:
        super().__post_init__()
        Narrowing.__post_init__(self)
        if self.simulations < 1 or self.depth < 1:
            raise UsageError("alphabeta needs simulations and depth of at least 1")
        if min(self.table, self.quiescence) < 0 or self.table > 24 or max(self.depth, self.quiescence) > 100:
            raise UsageError(
                "alphabeta needs table and quiescence of at least 0, table up to 24, depth and quiescence up to 100"
            )
        if self.doubles:
            raise UsageError("alphabeta does not stop doubles; quiescence=8 follows threats beyond its horizon")
        if self.layers not in get_args(Layers):
            raise unknown_name("layers of alphabeta", self.layers, get_args(Layers))
        if not 0.0 <= self.followed <= 1.0:
            raise UsageError("alphabeta needs followed in [0, 1]")

    @property
    def narrowing(self) -> Narrowing:
        """The rest is done here, where moves left out need not stay legal."""
        return Narrowing(prune=self.prune, vcf=self.vcf, vct=self.vct)

    # -- the verbs ---------------------------------------------------------------------------------------------
    def begin(
        self, model: Model, params: Params, key: Array, root: Position, plan: Budget | None = None
    ) -> AlphaBetaState:
        games = model.legal(root).shape[0]
        history = jnp.zeros((games, 2, model.game.num_actions), jnp.float32)
        return self._begun(model, params, key, root, table.blank(games, self.table), history)

    def follow(
        self,
        model: Model,
        params: Params,
        key: Array,
        state: AlphaBetaState,
        action: Int32[Array, " B"],
        root: Position,
        plan: Budget | None = None,
    ) -> AlphaBetaState:
        """The table stays, but for games that begin afresh: what it knows is true of positions, not of roots.

        Of positions before its root it would know more than the depth that is searched. Where a position that comes
        back may end the game by now, it does not know that.
        """
        on = (action >= 0)[:, None, None]
        steady = histories.steady(model.game, root.history)
        entries = jnp.where(on & steady[:, None, None], state.table, jnp.zeros_like(state.table))
        return self._begun(model, params, key, root, entries, jnp.where(on, state.history / 4, 0.0))

    def extend(self, model: Model, params: Params, key: Array, state: AlphaBetaState, budget: Budget) -> AlphaBetaState:
        model = model.seen_by(self)
        spent = state.done + per_game(budget, state.done.shape[0], jnp.int32)

        def active(state: AlphaBetaState, games: Int32[Array, " W"]) -> Bool[Array, " W"]:
            return ~state.ended & (state.done < spent[games])

        def step(state: AlphaBetaState, games: Int32[Array, " W"]) -> AlphaBetaState:
            luck = keys.of_step(key[games] if keys.each_its_own(key) else key, state.calls, state.done)
            state = self._return(state, active(state, games))
            state = self._visit(model, params, luck, state, active(state, games))
            return self._try_last(state, active(state, games), spent[games] - state.done)

        return turns.go_on(step, active, state, turns.width_on(model.platform, state.done.shape[0]))

    @property
    def draws(self) -> bool:
        return False

    def result(self, key: Array, state: AlphaBetaState, temperature: Temperature = 0.0) -> SearchResult:
        actions = state.prior.shape[1]
        action, begun = self._choice(state)
        value = jnp.where(begun, state.frames.best[:, 0], state.value)
        values = jnp.where((state.depth == 0)[:, None], state.seen, state.q)
        policy = jax.nn.one_hot(action, actions, dtype=jnp.float32)
        action, chances = decide(key, action, policy, temperature)
        known = values > -BEYOND
        solved = state.solved & state.certain
        proven = jax.nn.one_hot(state.action, actions, dtype=bool) & solved[:, None]
        q = jnp.where(known, values, 0.0)
        # a proof by threats tells who wins, and not when
        ends = None if self.vcf or self.vct else jnp.where(solved & (jnp.abs(value) >= 1.0), state.ends, 0)
        facts = proven, solved, state.healthy, chances
        return SearchResult(action, policy, value, state.visits, q, *facts, depth=state.depth, ends=ends)

    def line(self, model: Model, params: Params, state: AlphaBetaState) -> Int32[Array, "B L"]:
        """As far as the table knows it."""
        games = state.done.shape[0]
        rows, plies = jnp.arange(games), self.depth + self.quiescence
        step = jax.vmap(functools.partial(play.step, model.game))

        def goes_on(carry: tuple[Array, Any, Array, Array]) -> Bool[Array, ""]:
            ply, _, action, _ = carry
            return (ply < plies) & (action >= 0).any()

        def go(carry: tuple[Array, Any, Array, Array]) -> tuple[Array, Any, Array, Array]:
            ply, states, action, line = carry
            states = step(states, jnp.maximum(action, 0))
            entry = table.look_up(state.table, model.keys(states))
            told = (entry.bound == table.EXACT) | (entry.bound == table.LOWER) | (entry.final & (entry.value <= -1.0))
            legal = jax.vmap(model.game.legal)(states)[rows, entry.move] & ~jax.vmap(model.game.over)(states)
            known = (action >= 0) & (entry.bound != table.NONE) & told & legal
            return ply + 1, states, jnp.where(known, entry.move, -1), line.at[:, ply].set(action)

        line = jnp.full((games, plies), -1, jnp.int32)
        begun = jnp.int32(0), state.root.state, self._choice(state)[0], line
        return jax.lax.while_loop(goes_on, go, begun)[3] if self.table else line.at[:, 0].set(begun[2])

    def _choice(self, state: AlphaBetaState) -> tuple[Int32[Array, " B"], Bool[Array, " B"]]:
        """The move of the last whole depth. Where there is none: the best so far, and so told, or the next."""
        f = state.frames
        begun, more = (state.depth == 0) & (f.best[:, 0] > -BEYOND), f.score[:, 0].max(axis=-1) > -jnp.inf
        lost = begun & (f.best[:, 0] <= -1.0) & more
        following = jnp.take_along_axis(f.moves[:, 0], first_max(f.score[:, 0])[:, None], axis=1)[:, 0]
        action = jnp.where(begun, f.move[:, 0], state.action)
        return jnp.where(lost, following, action), begun & ~lost

    # -- the root ----------------------------------------------------------------------------------------------
    def _begun(
        self,
        model: Model,
        params: Params,
        key: Array,
        root: Position,
        entries: UInt32[Array, "B T 4"],
        history: Float32[Array, "B 2 A"],
    ) -> AlphaBetaState:
        model = model.seen_by(self)
        leaves = model.root(params, key, root)
        games, actions = leaves.logits.shape
        levels = self.depth + self.quiescence + 1
        seat = leaves.seat.astype(jnp.int32)
        legal = leaves.logits > ILLEGAL
        mask = forcing.narrowed(model.game, leaves.states, legal) if self._knows(model) and self.threats else None
        likely = history[jnp.arange(games), seat]
        moves, score, whole = self._candidates(leaves.logits, mask, likely, jnp.full(games, -1, jnp.int32))
        ahead = self._look_ahead(model, params, leaves.states, moves)
        frames = stack.planted(leaves.states, levels, moves, score, whole, seat, self._first, ahead)
        nothing = jnp.zeros(games, jnp.int32)
        value = leaves.value * mover_sign(leaves.seat)
        return AlphaBetaState(
            root=root,
            frames=frames,
            level=nothing,
            root_score=score,
            whole=whole,
            prior=leaves.logits,
            table=entries,
            history=history,
            action=first_max(leaves.logits),
            value=value,
            depth=nothing,
            q=jnp.full((games, actions), -BEYOND, jnp.float32),
            seen=jnp.full((games, actions), -BEYOND, jnp.float32),
            visits=jnp.zeros((games, actions), jnp.int32),
            solved=leaves.over,
            ends=nothing,
            certain=histories.alone(model.game, root.history),
            ended=leaves.over,
            done=nothing,
            calls=jnp.int32(0),
            healthy=leaves.healthy,
        )

    @property
    def _step(self) -> int:
        return 1 if self.layers == "all" else 2

    @property
    def _first(self) -> int:
        """The first depth."""
        return min(2 if self.layers == "even" else 1, self.depth) if self.deepening else self.depth

    # -- going up ----------------------------------------------------------------------------------------------
    def _return(self, state: AlphaBetaState, active: Bool[Array, " B"]) -> AlphaBetaState:
        """A node without anything left to try hands its value to the one above; a finished root goes deeper."""
        f, rows = state.frames, jnp.arange(state.level.shape[0])
        best, beta, low = (x[rows, state.level] for x in (f.best, f.beta, f.low))
        finished = active & stack.finished(f, state.level)
        up = finished & (state.level > 0)
        sure, all_sure = f.sure[rows, state.level], f.all_sure[rows, state.level]
        cut = best >= beta
        final = jnp.where(cut | (best >= 1.0), sure, all_sure)
        left, move, far = (x[rows, state.level] for x in (f.left, f.move, f.far))
        entries, history = state.table, state.history
        if self.table:
            bound = jnp.where(cut, table.LOWER, jnp.where(best > low, table.EXACT, table.UPPER))
            entry = table.Entry(f.key[rows, state.level], best, move, left, bound, final, far)
            entries = table.store(entries, entry, up)
        if self.ordering:
            gain = jnp.where(up & cut & (left > 0), (left * left).astype(jnp.float32), 0.0)
            history = history.at[rows, f.seat[rows, state.level], move].add(gain)
        above = jnp.maximum(state.level - 1, 0)
        value = best * f.sign[rows, state.level]
        state = state._replace(table=entries, history=history, level=jnp.where(up, above, state.level))
        state = self._learn(state, up, value, final, far)
        return self._deepen(state, finished & ~up, final)

    def _learn(
        self,
        state: AlphaBetaState,
        on: Bool[Array, " B"],
        value: Float32[Array, " B"],
        final: Bool[Array, " B"],
        far: Int32[Array, " B"],
    ) -> AlphaBetaState:
        """The move that the top of the stack searches is worth this, for who makes it; `far` is that of the node behind
        it."""
        f, rows = state.frames, jnp.arange(state.level.shape[0])
        alpha, beta, best = (x[rows, state.level] for x in (f.alpha, f.beta, f.best))
        again = on & f.null[rows, state.level] & (value > alpha) & (value < beta)
        known = on & ~again
        better = known & (value > best)
        # who is lost holds out as long as he can
        longer = known & (value == best) & (value <= -1.0) & (far + 1 > f.far[rows, state.level])
        move = f.moves[rows, state.level, f.slot[rows, state.level]]
        here = jnp.arange(f.best.shape[1])[None] == state.level[:, None]

        def put(column: Array, where: Array, new: Array) -> Array:
            return jnp.where(here & where[:, None], new[:, None], column)

        at_root = jnp.where(known & (state.level == 0), move, state.seen.shape[1])
        return state._replace(
            seen=state.seen.at[rows, at_root].set(value, mode="drop"),
            frames=f._replace(
                again=put(f.again, on, again),
                best=put(f.best, better, value),
                alpha=put(f.alpha, better, jnp.maximum(alpha, value)),
                move=put(f.move, better | longer, move),
                far=put(f.far, better | longer, far + 1),
                sure=put(f.sure, better, final),
                all_sure=put(f.all_sure, known & ~final, jnp.zeros_like(final)),
            ),
        )

    def _deepen(self, state: AlphaBetaState, on: Bool[Array, " B"], final: Bool[Array, " B"]) -> AlphaBetaState:
        """Notes what a finished depth found, and begins the next."""
        f = state.frames
        depth, value = f.left[:, 0], f.best[:, 0]
        # who is lost plays on as if he had not seen it: what looked best a depth before holds out longest
        keep = on & ((value > -1.0) | (state.depth == 0))
        solved = on & final
        ended = solved | (on & ((depth >= self.depth) | (jnp.abs(value) >= 1.0)))
        rest = on & ~ended
        first = jnp.where(f.moves[:, 0] == f.move[:, :1], FIRST, 0.0)
        score = jnp.where(rest[:, None], state.root_score + first, f.score[:, 0])
        count = (state.root_score > -jnp.inf).sum(axis=-1, dtype=jnp.int32)

        def root(column: Array, new: Array | float | bool) -> Array:
            return column.at[:, 0].set(jnp.where(rest, new, column[:, 0]))

        return state._replace(
            action=jnp.where(keep, f.move[:, 0], state.action),
            value=jnp.where(on, value, state.value),
            depth=jnp.where(on, depth, state.depth),
            q=jnp.where(on[:, None], state.seen, state.q),
            seen=jnp.where(rest[:, None], -BEYOND, state.seen),
            solved=state.solved | solved,
            ends=jnp.where(on, f.far[:, 0], state.ends),
            ended=state.ended | ended,
            frames=f._replace(
                score=f.score.at[:, 0].set(score),
                alpha=root(f.alpha, -BEYOND),
                best=root(f.best, -BEYOND),
                sure=root(f.sure, False),
                all_sure=root(f.all_sure, state.whole),
                untried=root(f.untried, count),
                left=root(f.left, jnp.minimum(depth + self._step, self.depth)),
            ),
        )

    # -- going down --------------------------------------------------------------------------------------------
    def _visit(
        self, model: Model, params: Params, key: Array, state: AlphaBetaState, active: Bool[Array, " B"]
    ) -> AlphaBetaState:
        """Makes the next move of the node on top of the stack: its value is known at once, or it is the new top."""
        f, rows, top = state.frames, jnp.arange(state.level.shape[0]), state.level
        ready = active & ~stack.finished(f, top) & ~(lastply.pending(f, top) & (f.ahead.shape[-1] > 0))
        again = f.again[rows, top]
        slot = jnp.where(again, f.slot[rows, top], first_max(f.score[rows, top]))
        move = f.moves[rows, top, slot]
        states = jax.tree.map(lambda x: x[rows, top], f.states)
        new = model.looking_back(state.root.history, states, model.expand(params, key, states, move, ready))
        leaves = jax.lax.optimization_barrier(new)
        seat = leaves.seat.astype(jnp.int32)
        sign = jnp.where(seat == f.seat[rows, top], 1.0, -1.0)
        value = leaves.value * mover_sign(leaves.seat)
        value = jnp.where(leaves.over, value, jnp.clip(value, -GUESS, GUESS))
        alpha, beta, left = f.alpha[rows, top], f.beta[rows, top], f.left[rows, top] - 1
        null = self.pvs & ~again & (f.best[rows, top] > -BEYOND)
        beta = jnp.where(null, jnp.minimum(beta, alpha + NULL), beta)
        low, high = jnp.where(sign > 0, alpha, -beta), jnp.where(sign > 0, beta, -alpha)

        # what is below: the moves to try, if any, and what the node is worth if it is not searched
        words = model.keys(leaves.states)
        mask, stands = self._moves_below(model, leaves.states, leaves.logits > ILLEGAL, left)
        if self.followed < 1.0:  # the same positions whenever they are met, so that the table holds no other value
            mask &= ((left != 0) | (words[:, 0].astype(jnp.float32) < self.followed * WORD))[:, None]
        leaf = leaves.over | (mask.sum(axis=-1, dtype=jnp.int32) == 0)
        entry = table.look_up(state.table, words) if self.table else None
        hit = jnp.zeros_like(leaf)
        final, far = leaves.over, jnp.zeros_like(left)
        if entry is not None:
            hit = ~leaf & table.settles(entry, left, low, high)
            value, final = jnp.where(hit, entry.value, value), jnp.where(hit, entry.final, final)
            far = jnp.where(hit, entry.far, far)
        enough = ~leaf & ~hit & stands & (value >= high)  # beyond the horizon nobody has to go on
        push = ready & ~leaf & ~hit & ~enough
        # one number for each game: not to be computed anew for each level of its stack
        push, value, final, low, high = jax.lax.optimization_barrier((push, value, final, low, high))

        visited = jnp.where(ready, jnp.where(top == 0, move, f.moves[rows, 0, f.slot[:, 0]]), state.visits.shape[1])
        f = stack.descended(f, ready, top, slot, null, again)
        likely = state.history[rows, seat]
        first = jnp.full_like(move, -1) if entry is None else jnp.where(entry.bound > 0, entry.move, -1)
        narrowed = self._knows(model) or self._sharp(model)
        moves, score, whole = self._candidates(leaves.logits, mask if narrowed else None, likely, first)
        if self.quiescence:
            whole &= ~stands & (left > 0)
        known = Known(low, high, jnp.where(stands, value, -BEYOND), left, sign, seat, words)
        # of the states before the barrier, so that it shares what judged them
        ahead = self._look_ahead(model, params, new.states, moves)
        f = stack.pushed(f, push, top, leaves.states, known, moves, score, whole, ahead)
        state = state._replace(
            frames=f,
            visits=state.visits.at[rows, visited].add(1, mode="drop"),
            done=state.done + ready,
            calls=state.calls + 1,
            healthy=state.healthy & (leaves.healthy | ~ready),
        )
        state = self._learn(state, ready & ~push, value * sign, final, far)
        return state._replace(level=jnp.where(push, top + 1, top))

    def _look_ahead(self, model: Model, params: Params, states: Any, moves: Int32[Array, "B K"]) -> Ahead:
        """What the moves of new nodes lead to, where that is known before they are made."""
        known = None if self.quiescence else model.judge_moves(params, states, moves)
        if known is None:
            return Ahead(jnp.zeros((moves.shape[0], 0), jnp.float32), jnp.zeros((moves.shape[0], 0), bool))
        value, over = known
        return Ahead(jnp.where(over, value, jnp.clip(value, -GUESS, GUESS)), over)

    def _try_last(self, state: AlphaBetaState, active: Bool[Array, " B"], room: Int32[Array, " B"]) -> AlphaBetaState:
        """Tries all moves of the nodes just above the horizon, as far as the budget goes."""
        f, rows, top = state.frames, jnp.arange(state.level.shape[0]), state.level
        if f.ahead.shape[-1] == 0:
            return state
        tried = lastply.tried(f, top, active & lastply.pending(f, top), room, self.pvs)
        nodes = tried.nodes.sum(axis=-1, dtype=jnp.int32)
        state = state._replace(frames=tried.frames, done=state.done + nodes)
        if self._first > 1:
            return state._replace(visits=state.visits.at[rows, f.moves[rows, 0, f.slot[:, 0]]].add(nodes))
        # the node may be the root itself
        actions, moves, at_root = state.visits.shape[1], f.moves[rows, top], (top == 0)[:, None]
        below = jnp.where(at_root, moves, f.moves[rows, 0, f.slot[:, 0]][:, None])
        seen = state.seen.at[rows[:, None], jnp.where(tried.known & at_root, moves, actions)]
        return state._replace(
            seen=seen.set(f.ahead[rows, top], mode="drop"),
            visits=state.visits.at[rows[:, None], below].add(tried.nodes),
        )

    def _sharp(self, model: Model) -> bool:
        return self.quiescence > 0 and type(model.game).sharp is not Game.sharp

    def _knows(self, model: Model) -> bool:
        return (self.threats or self.quiescence > 0) and forcing.knows_threats(model.game)

    def _moves_below(
        self, model: Model, states: Any, legal: Bool[Array, "B A"], left: Int32[Array, " B"]
    ) -> tuple[Bool[Array, "B A"], Bool[Array, " B"]]:
        """The moves to try of a new node, and whether its mover may as well leave things as they stand."""
        inside = left > 0
        stands = jnp.zeros_like(inside)
        within = answers = legal
        if self._sharp(model):
            followed, must = jax.vmap(model.game.sharp)(states, legal)
        elif self._knows(model):
            threats = jax.vmap(model.game.threats)(states)
            answers = forcing.among(threats, legal)
            within = answers if self.threats else legal
            followed, must = threats.force[:, 0] & legal, forcing.must(threats, legal)
        else:
            return legal & inside[:, None], stands
        if self.quiescence == 0:
            return within & inside[:, None], stands
        beyond = jnp.where(must[:, None], answers, followed) & (left > -self.quiescence)[:, None]
        return jnp.where(inside[:, None], within, beyond), ~inside & ~must

    def _candidates(
        self,
        logits: Float32[Array, "B A"],
        mask: Bool[Array, "B A"] | None,
        history: Float32[Array, "B A"],
        first: Int32[Array, " B"],
    ) -> tuple[Int32[Array, "B K"], Float32[Array, "B K"], Bool[Array, " B"]]:
        """The moves to try, their order, and whether they are all that count. `first` never adds a move.

        No mask: all legal moves count. The others are the last of all by their logits, and need not be masked again.
        """
        actions = logits.shape[1]
        width = min(self.breadth, actions) or actions
        count = (logits > ILLEGAL if mask is None else mask).sum(axis=-1, dtype=jnp.int32)
        score = logits if mask is None else jnp.where(mask, logits, -jnp.inf)
        if width < actions:
            # held together: a slice taken of the best alone would make XLA sort all of them; and with something beside
            # them: a barrier of top_k alone ends the process where the program is for several devices
            score, moves, count = jax.lax.optimization_barrier((*jax.lax.top_k(score, width), count))
        else:
            moves = jnp.broadcast_to(jnp.arange(actions, dtype=jnp.int32)[None], score.shape)
        # candidates alone, wherever there is one: asked of the best, which are few
        there = (score > ILLEGAL) & ((score >= CANDIDATE) | (score.max(axis=-1, keepdims=True) < CANDIDATE))
        score = jnp.maximum(score, CANDIDATE)
        if self.ordering:
            bonus = 0.5 * jnp.log(1.0 + jnp.take_along_axis(history, moves, axis=1))
            score += bonus + jnp.where(moves == first[:, None], FIRST, 0.0)
        else:
            score = -moves.astype(jnp.float32)
        score = jnp.where(there, score, -jnp.inf)
        return moves, score, there.sum(axis=-1, dtype=jnp.int32) >= count
