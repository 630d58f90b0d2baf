"""A game seen through an evaluator: the rules for a batch of positions, and the one place where masks are applied."""

import dataclasses
import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int8, Int32, UInt32

from jaxgo.core import history as histories
from jaxgo.core import keys, play, trial
from jaxgo.core.errors import UsageError, brief, check_frozen, is_whole, unknown_name
from jaxgo.core.game import Game, check
from jaxgo.core.history import History
from jaxgo.core.lanes import check_spread, where_lanes
from jaxgo.core.play import Position, Transition
from jaxgo.core.tracing import traced_once
from jaxgo.evaluators.base import Evaluation, Evaluator, Params, States, ask
from jaxgo.search.forcing import knows_threats
from jaxgo.search.functions import Asked, Evaluate, Functions, Legal, Step
from jaxgo.search.narrow import ALL_MOVES, Narrowing

# the logit of an illegal action: finite, so that a softmax over a position without legal actions is no NaN
ILLEGAL = float(jnp.finfo(jnp.float32).min)
UNLIKELY = ILLEGAL / 2  # of a legal action that is no candidate; those of candidates are at least `CANDIDATE`
CANDIDATE = ILLEGAL / 4
PLATFORMS = ("cpu", "gpu", "tpu")  # as JAX calls its backends; that of this process may have a name of its own


def masked(logits: Float32[Array, "... A"], legal: Bool[Array, "... A"]) -> Float32[Array, "... A"]:
    """Logits with no mass on illegal actions, the best legal one at 0, which keeps every later exp in range.

    A legal action never comes near ILLEGAL, and stays a candidate, whatever its logit: searches and proofs must not
    lose it.
    """
    best = jnp.max(jnp.where(legal, logits, ILLEGAL), axis=-1, keepdims=True, initial=ILLEGAL)
    return jnp.where(legal, jnp.maximum(logits - best, CANDIDATE), ILLEGAL)


class Leaves(NamedTuple):
    """New positions with what is known of them. Values are for seat 0, so that a path of a tree shares one number."""

    states: States
    logits: Float32[Array, "B A"]
    value: Float32[Array, " B"]  # of seat 0; exact where over
    over: Bool[Array, " B"]  # by the rules, or by a proof
    seat: Int8[Array, " B"]
    healthy: Bool[Array, " B"]  # the evaluator and the rules gave finite numbers, and a move if the game is not over
    reward: Float32[Array, " B"] | None = None  # of the move here, for who made it; None: only the end of a game pays
    discount: Float32[Array, " B"] | None = None  # and then `value` is for the mover here


@dataclasses.dataclass(frozen=True)
class Model:
    """What a search plans with: the rules and a judge of positions.

    Programs are made for one platform: that of this process, or the one that is named, whoever lowers them.
    """

    game: Game[Any]
    evaluator: Evaluator
    platform: str = dataclasses.field(default_factory=jax.default_backend)  # one of PLATFORMS
    narrowing: Narrowing = ALL_MOVES  # which moves a search looks at
    best: float | None = None  # where moves pay on the way: the most that any state is worth, if that is known

    def __post_init__(self) -> None:
        a_number = isinstance(self.best, int | float | np.integer | np.floating) and not isinstance(self.best, bool)
        if self.best is not None and not (a_number and math.isfinite(self.best)):
            raise UsageError(
                f"best={self.best!r} is not the most that a state may be worth, which is a number, or None"
            )
        for value, kind, what in ((self.game, Game, "game"), (self.evaluator, Evaluator, "evaluator")):
            if not isinstance(value, kind):
                raise UsageError(f"a model is made of a game and an evaluator; {value!r} is no {what}")
        check_frozen(self.evaluator, f"{type(self.evaluator).__name__} is no evaluator", "jaxgo.evaluators.Evaluator")
        if self.platform not in PLATFORMS and self.platform != jax.default_backend():
            raise unknown_name("platform", self.platform, PLATFORMS)
        if not isinstance(self.narrowing, Narrowing):
            raise UsageError(f"narrowing={self.narrowing!r} is no Narrowing, which says what moves a search looks at")
        if not self.pays:
            check(self.game)

    @classmethod
    def from_functions(
        cls, step: Step, evaluate: Evaluate, num_actions: int, *, legal: Legal | None = None, best: float | None = None
    ) -> "Model":
        """An environment of one's own, real or learned, for `Gumbel`, `Puct` and `Uct`.

        `step(params, state, action) -> (state, reward, discount)` moves one state, of any arrays. The sign law holds:
        `value_before = reward + discount * value_after`, so a discount is negative where the mover changes, and 0 ends
        the game. `evaluate(params, key, states) -> (logits, value)` judges a batch for the movers; `legal(state)` is a
        mask. `params` are those that the search is run with, of a network or a learned step. With `best`, the most that
        any state is worth, a move that reaches it closes a node for the solver.
        """
        return cls(Functions(step, num_actions, legal), Asked(evaluate), best=best)

    @property
    def pays(self) -> bool:
        """Whether moves pay on the way, and not only the end of a game."""
        return isinstance(self.game, Functions)

    def positions(self, states: States) -> Position:
        """Where games stand that begin at these states, a batch."""
        if isinstance(states, Position):
            raise UsageError("these are positions already; positions takes states, such as their .state")
        states = jax.tree.map(jnp.asarray, states)
        sizes = {leaf.shape[:1] for leaf in jax.tree.leaves(states)}
        if len(sizes) != 1 or sizes == {()}:
            raise UsageError(
                "positions takes a batch of states, all arrays of which begin with the axis of the games; give "
                "one alone as x[None] of each array"
            )
        if isinstance(self.game, Functions):
            states = jax.vmap(self.game.at)(states)
        else:
            trial.check_states(self.game, states)
        return _resumed(self.game, states)

    def seen_by(self, search: Narrowing) -> "Model":
        """The same model, with the options of a search."""
        options = search.narrowing
        # a proof by threats looks back no further than a tree does, and has no children that would tell it from an end
        if options.proves and (not knows_threats(self.game) or self.game.repetition != "none"):
            options = dataclasses.replace(options, vcf=0, vct=0)
        return dataclasses.replace(self, narrowing=options)

    def init(self, key: Array) -> Params:
        """Fresh parameters of the evaluator."""
        keys.check_one(key)
        return self.evaluator.init(self.game, key)

    @property
    def on_cpu(self) -> bool:
        """Whether programs are for a processor, on which fewer lanes take less time."""
        return self.platform == "cpu"

    def ready(self, params: Params) -> Params:
        """The parameters as a whole program takes them."""
        return self.evaluator.on(self.platform).ready(params)

    def start(self, key: Array, games: int) -> Position:
        """So many games at their start."""
        if not is_whole(games) or games < 1:
            raise UsageError(f"games={brief(games)} begin at the start; ask for a whole number of them, of at least 1")
        keys.check_games(key, games)
        trial.check_shapes(self.game)
        if not keys.each_its_own(key):
            key = jax.random.split(key, games)
        return _started(self.game, key)

    def play(self, position: Position, action: Int32[Array, " B"], params: Params = ()) -> tuple[Position, Transition]:
        """Moves every game by a legal action; finished games stand still. A learned step needs its `params`."""
        action = check_moves(action, position)
        after, moved = _played(self, position, action, params if self.pays else ())
        if self.pays:
            live = ~self.over(position)
            paid = after.state.reward, after.state.discount
            moved = Transition(after.state, *(jnp.where(live, x, 0.0) for x in paid))
        return after, moved

    def legal(self, position: Position) -> Bool[Array, "B A"]:
        """The exact legal actions of every game."""
        check_batch(position)
        return _legal(self.game, position)

    def over(self, position: Position) -> Bool[Array, " B"]:
        check_batch(position)
        return _over(self.game, position)

    def keys(self, states: States) -> UInt32[Array, "B 2"]:
        """The keys of positions and their plies, because the limit of plies is part of what a position is worth."""
        words = jax.vmap(self.game.hash)(states)
        ply = states.ply.astype(jnp.uint32)
        return words ^ jnp.stack([ply * jnp.uint32(0x9E3779B1), ply * jnp.uint32(0x85EBCA6B)], axis=-1)

    def evaluate(
        self,
        params: Params,
        key: Array,
        states: States,
        legal: Bool[Array, "B A"],
        wanted: Bool[Array, " B"] | None = None,
    ) -> Evaluation:
        """Judges live positions, or the `wanted` ones of them, with logits masked to `legal`."""
        logits, value = ask(self.evaluator.on(self.platform), self.game, params, key, states, wanted)
        return Evaluation(masked(logits, legal), value)

    def foresee(self, params: Params, states: States) -> dict[str, Float32[Array, "B ..."]]:
        """What the evaluator expects of those auxiliary targets of the game that it learnt, as seat 0 sees them."""
        return self.evaluator.on(self.platform).foresee(self.game, params, states)

    def ends(self, params: Params, states: States) -> dict[str, Float32[Array, "B ..."]]:
        """The same; of games that are over, what is so."""
        said = self.foresee(params, states)
        over, known = jax.vmap(self.game.over)(states), jax.vmap(self.game.aux_values)(states)
        return where_lanes(over, {name: known[name] for name in said}, said)

    def root(self, params: Params, key: Array, position: Position) -> Leaves:
        """What is known of the positions that games stand at, with their exact legal actions."""
        trial.check_shapes(self.game)
        check_batch(position)
        check_spread(position.state.ply, "positions")
        keys.check_games(key, position.state.ply.shape[0])
        if not self.pays:
            trial.check_states(self.game, position.state)
        legal, over = self.legal(position), self.over(position)
        result = jax.vmap(functools.partial(play.returns, self.game))(position)
        leaves = self._leaves(params, key, position.state, legal, over, result[:, 0])
        if not self.narrowing.proves:
            return leaves
        # a root needs a move, and not only a value: the first of the proof is the only one left
        won, move = self.narrowing.wins(self.game, self.platform, position.state, leaves.logits > ILLEGAL, ~over)
        only = jnp.arange(leaves.logits.shape[1])[None] == move[:, None]
        logits = jnp.where(won[:, None], jnp.where(only, 0.0, ILLEGAL), leaves.logits)
        return leaves._replace(logits=logits, value=jnp.where(won, mover_sign(leaves.seat), leaves.value))

    def expand(
        self,
        params: Params,
        key: Array,
        states: States,
        action: Int32[Array, " B"],
        wanted: Bool[Array, " B"],
    ) -> Leaves:
        """Moves nodes of a tree and judges where they came to, as far as that is `wanted`."""
        moved = jax.vmap(functools.partial(play.step, self._moved_by(params)))(states, action)
        legal = jax.vmap(self.game.legal)(moved)
        over = jax.vmap(self.game.over)(moved)
        result, live = jax.vmap(self.game.returns)(moved)[:, 0].astype(jnp.float32), wanted & ~over
        if self.narrowing.proves:
            won, _ = self.narrowing.wins(self.game, self.platform, moved, legal, live)
            over, live = over | won, live & ~won
            result = jnp.where(won, mover_sign(moved.to_play), result)
        return self._leaves(params, key, moved, legal, over, result, live)

    def looking_back(self, past: History, before: States, leaves: Leaves) -> Leaves:
        """The same, where a game ends at a position that the real game has seen."""
        if not histories.judges(self.game):
            return leaves
        again = jax.vmap(self.game.repetition_key)(leaves.states)
        verdict = jax.vmap(functools.partial(histories.verdict_of, self.game))(past, before, again)
        past = past._replace(verdict=verdict)
        ends = jax.vmap(histories.over)(past)  # also where the limit of plies ends it, which a verdict comes before
        value = jnp.where(ends, jax.vmap(histories.returns)(past)[:, 0], leaves.value)
        return leaves._replace(over=leaves.over | ends, value=value)

    def _moved_by(self, params: Params) -> Game[Any]:
        """The game, whose step knows the parameters if it is a function of them."""
        return dataclasses.replace(self.game, params=params) if isinstance(self.game, Functions) else self.game

    def judge_moves(
        self, params: Params, states: States, actions: Int32[Array, "B K"]
    ) -> tuple[Float32[Array, "B K"], Bool[Array, "B K"]] | None:
        """What moves of live positions lead to, for who makes them: what `expand` would say of each, and whether the
        game is over. None: nobody knows before they are made."""
        if self.narrowing.proves or self.pays or histories.judges(self.game):
            return None
        return self.evaluator.on(self.platform).judge_moves(self.game, params, states, actions)

    def _leaves(
        self,
        params: Params,
        key: Array,
        states: States,
        legal: Bool[Array, "B A"],
        over: Bool[Array, " B"],
        result: Float32[Array, " B"],
        wanted: Bool[Array, " B"] | None = None,
    ) -> Leaves:
        moves = legal.any(axis=-1)  # of the rules: a live position has one
        legal = self.narrowing.count(self.game, states, legal)
        logits, value = self.evaluate(params, key, states, legal, wanted)
        finite = jnp.isfinite(value) & ~jnp.isnan(logits).any(-1)
        # a broken number must not spread through the tree before it is reported
        value = jnp.where(finite, value, 0.0)
        if not self.pays:  # no game gives more, and below -1 a tree has what is proven to be lost
            value = jnp.clip(value, -1.0, 1.0)
        logits = jnp.where(finite[:, None] | (logits == ILLEGAL), logits, 0.0)
        value = jnp.where(over, _finite(result), jnp.where(states.to_play == 0, value, -value))
        if self.narrowing.narrows:
            among = self.narrowing.candidates(self.game, states, legal, logits)
            logits = jnp.where(among, jnp.maximum(logits, CANDIDATE), jnp.where(legal, UNLIKELY, ILLEGAL))
        healthy = jnp.where(over, jnp.isfinite(result), finite & moves)
        paid: tuple[Array | None, Array | None] = None, None
        if self.pays:
            healthy &= jnp.isfinite(states.reward) & jnp.isfinite(states.discount)
            paid = _finite(states.reward), _finite(states.discount)
        return Leaves(states, logits, value, over, states.to_play, healthy, *paid)


# The rules for a batch. Outside of `jax.jit` every loop of theirs would be compiled anew at each call.


@traced_once
def _started(game: Game[Any], key: Array) -> Position:
    return jax.vmap(functools.partial(play.start, game))(key)


@traced_once
def _resumed(game: Game[Any], states: States) -> Position:
    return jax.vmap(functools.partial(play.resume, game))(states)


@traced_once
def _played(
    model: Model, position: Position, action: Int32[Array, " B"], params: Params
) -> tuple[Position, Transition]:
    return jax.vmap(functools.partial(play.play, model._moved_by(params)))(position, action)


@traced_once
def _legal(game: Game[Any], position: Position) -> Bool[Array, "B A"]:
    return jax.vmap(functools.partial(play.legal, game))(position)


@traced_once
def _over(game: Game[Any], position: Position) -> Bool[Array, " B"]:
    return jax.vmap(functools.partial(play.over, game))(position)


def check_moves(action: Any, position: Any) -> Int32[Array, " B"]:
    """The moves as an array; a UsageError where there is not one for each game: one alone would be that of all."""
    check_batch(position)
    wanted = position.state.ply.shape
    try:
        action = jnp.asarray(action)
    except (TypeError, ValueError):
        raise UsageError(
            f"a move for each game is asked for, whole numbers of shape {wanted}, not {action!r}"
        ) from None
    if action.shape != wanted or not jnp.issubdtype(action.dtype, jnp.integer):
        raise UsageError(
            f"a move for each game is asked for, whole numbers of shape {wanted}, not {action.dtype} of {action.shape}"
        )
    return action


def check_batch(position: Any) -> None:
    """A UsageError where this is one position, or none."""
    if not isinstance(position, Position):
        raise UsageError(
            f"positions are asked for, as model.start(key, games) or model.positions(states) give them, and "
            f"{type(position).__name__} is none"
        )
    if position.state.ply.ndim != 1 or not position.state.ply.size:
        raise UsageError(
            "a search takes a batch of positions, of one at least; give one alone as x[None] of each array"
        )


def _finite(numbers: Float32[Array, " B"]) -> Float32[Array, " B"]:
    """0 for a broken number, which must not spread through the tree before it is reported."""
    return jnp.where(jnp.isfinite(numbers), numbers, 0.0)


def mover_sign(seat: Int8[Array, "*b"]) -> Float32[Array, "*b"]:
    """What turns a value for seat 0 into a value for this seat, and back."""
    return jnp.where(seat == 0, 1.0, -1.0)
