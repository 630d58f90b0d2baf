"""An environment of one's own as two functions, for who wants jaxgo's searches without writing a game.

The searches know games; `Functions` is one, as far as a tree of gumbel, puct or uct asks. What a move paid lies in the
state, and `Model` gives it to the tree. Both functions see the parameters that a search is run with, so a model may be
learned: other parameters are no other program.
"""

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, NoReturn

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32, Int8, Int16, UInt32

from jaxgo.core.errors import UsageError, is_whole
from jaxgo.core.game import EMPTY, MOST_PLIES, Action, Game, Piece
from jaxgo.evaluators.base import Evaluation, Evaluator, Params, States, as_evaluation, floats, kind, parts

Step = Callable[[Params, Any, Array], tuple[Any, Any, Any]]  # params, state, action -> state, reward, discount; of one
Evaluate = Callable[[Params, Array, Any], tuple[Any, Any]]  # params, key, states -> logits, value; of a batch
Legal = Callable[[Any], Array]  # state -> mask of one state


def told(parts: tuple[Any, list[Any]]) -> str:
    structure, seen = parts
    return f"{', '.join(map(str, seen))} in {structure}"


class Moved(NamedTuple):
    """A state of the environment, and what the move to it paid."""

    state: Any
    to_play: Int8[Array, ""]  # always 0: discounts tell who moves
    ply: Int16[Array, ""]
    reward: Float32[Array, ""]
    discount: Float32[Array, ""]


@dataclasses.dataclass(frozen=True)
class Functions(Game[Moved]):
    """A game of what a tree needs: moves, legal moves, and whether it is over, which a discount of 0 says."""

    of_step: Step
    actions: int
    of_legal: Legal | None = None
    params: Params = dataclasses.field(default=(), compare=False, repr=False)  # as arrays they are no part of a name

    pieces: ClassVar[tuple[Piece, ...]] = (EMPTY,)
    players: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _check("step", self.of_step, "it takes a state of yours", "params, state, action")
        if self.of_legal is not None:
            _check("legal", self.of_legal, "it takes a state of yours", "state")
        if not is_whole(self.actions) or self.actions < 1:
            raise UsageError(f"an environment needs at least 1 action, and {self.actions!r} is no such whole number")

    @property
    def shape(self) -> tuple[int, int]:
        return 1, 1

    @property
    def num_actions(self) -> int:
        return self.actions

    @property
    def max_plies(self) -> int:
        return MOST_PLIES  # trees end sooner

    def at(self, state: Any) -> Moved:
        """A state that nothing has been paid for yet."""
        return Moved(state, jnp.int8(0), jnp.int16(0), jnp.float32(0), jnp.float32(1))

    def legal(self, state: Moved) -> Bool[Array, " A"]:
        if self.of_legal is None:
            return jnp.ones(self.actions, bool)
        legal = self.of_legal(state.state)
        if jnp.shape(legal) != (self.actions,):
            raise UsageError(f"legal gave the shape {jnp.shape(legal)}, where ({self.actions},) is needed")
        return jnp.asarray(legal, bool)

    def step(self, state: Moved, action: Action) -> Moved:
        found = self.of_step(self.params, state.state, action)
        if not isinstance(found, tuple) or len(found) != 3:
            raise UsageError("step must give three things: the next state, the reward and the discount")
        after, reward, discount = found
        old, new = (parts(x, lambda x: f"{jnp.result_type(x)}{list(jnp.shape(x))}") for x in (state.state, after))
        if old != new:
            raise UsageError(f"step gave a state of {told(new)}, where it took one of {told(old)}")
        try:
            paid = floats(reward), floats(discount)
        except (TypeError, ValueError):
            raise UsageError(
                f"step must give a reward and a discount that are real numbers, not {kind(reward)} and {kind(discount)}"
            ) from None
        if any(x.ndim for x in paid):
            raise UsageError(
                f"step gave a reward of shape {paid[0].shape} and a discount of shape {paid[1].shape}; it sees one "
                "state, so both are plain numbers"
            )
        return Moved(after, state.to_play, state.ply + jnp.int16(1), *paid)

    def over(self, state: Moved) -> Bool[Array, ""]:
        return state.discount == 0

    def returns(self, state: Moved) -> Float32[Array, " P"]:
        return jnp.zeros(self.players)  # what the end paid came with the move to it

    # -- what only games have
    def init(self, key: Array) -> Moved:
        _refuse("no start of its own: begin at states of yours, by model.positions(states)")

    def observe(self, state: Moved) -> Float32[Array, "1 1 1"]:
        _refuse("no planes: its evaluate sees its states")

    def cells(self, state: Moved) -> Int8[Array, " 1"]:
        _refuse("no picture")

    def hash(self, state: Moved) -> UInt32[Array, "2"]:
        _refuse("no keys of positions: search it by gumbel, puct or uct")

    def move_weights(self, state: Moved) -> Float32[Array, " A"]:
        _refuse("no move weights: search it by gumbel, puct or uct, and by its own evaluate")


def _check(name: str, function: Any, what: str, takes: str) -> None:
    if not callable(function):
        raise UsageError(f"{name}={function!r} of an environment is no function; {what}")
    try:
        hash(function)
    except TypeError:
        raise UsageError(
            f"{name} of an environment, a {type(function).__name__}, cannot be hashed, and compiled programs are kept "
            "by it; give a function, or an object of a frozen dataclass"
        ) from None
    try:
        signature = inspect.signature(function)
    except ValueError:  # of what is no Python
        return
    try:
        signature.bind(*takes.split(", "))
    except TypeError:
        raise UsageError(f"{name} of an environment is called as {name}({takes}), not {name}{signature}") from None


def _refuse(what: str) -> NoReturn:
    raise UsageError(f"an environment of functions has {what}")


@dataclasses.dataclass(frozen=True)
class Asked(Evaluator):
    """Asks a function of the user."""

    evaluate: Evaluate

    def __post_init__(self) -> None:
        _check("evaluate", self.evaluate, "it judges states of yours", "params, key, states")

    def __call__(self, game: Game[Any], params: Params, key: Array, states: States) -> Evaluation:
        found = self.evaluate(params, key, states.state)
        return as_evaluation("evaluate", found, states.ply.shape[0], game.num_actions)
