"""What is this position worth? From this floor on everything has a batch axis: B games, A actions."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32, Int32

from jaxgo.core.errors import UsageError, check_settings, check_whole
from jaxgo.core.game import Game

Params = Any  # whatever an evaluator learns; () where it learns nothing
MOST = 2**24  # of any whole number in settings
States = Any  # a batch of the game's states: every leaf has a leading axis B


class Evaluation(NamedTuple):
    """A guess for each position: logits over actions, and the value for the side to move, in [-1, 1]."""

    logits: Float32[Array, "B A"]
    value: Float32[Array, " B"]


def floats(value: Any) -> Float32[Array, "..."]:
    """Numbers of somebody else as float32; a TypeError or ValueError where they are none, or complex: JAX would cut
    these."""
    found = jnp.asarray(value)
    if jnp.issubdtype(found.dtype, jnp.complexfloating):
        raise TypeError("complex numbers have no order")
    return found.astype(jnp.float32)


def as_evaluation(who: str, found: Any, games: int, actions: int) -> Evaluation:
    """What code of others said of so many positions; a UsageError where it does not fit, for arrays would be stretched
    until they do: a value `[B, 1]` and a mean over the batch are easily written."""
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise UsageError(f"{who} must give two things: logits over the actions and values")
    try:
        logits, value = map(floats, found)
    except (TypeError, ValueError):
        raise UsageError(
            f"{who} must give two arrays of real numbers, logits and values, not {' and '.join(map(kind, found))}"
        ) from None
    if logits.shape != (games, actions) or value.shape != (games,):
        raise UsageError(
            f"{who} gave logits of shape {logits.shape} and values of shape {value.shape} for {games} positions; "
            f"({games}, {actions}) and ({games},) are needed"
        )
    return Evaluation(logits, value)


def kind(value: Any) -> str:
    """What a value is that should have been an array of numbers, in a word."""
    return f"{value.dtype} numbers" if hasattr(value, "dtype") else type(value).__name__


def parts(tree: Any, look: Callable[[Any], Any] = jnp.shape) -> tuple[Any, list[Any]]:
    """How a tree is built, and what is seen of its arrays: trees of somebody's own cannot be compared by themselves."""
    leaves, structure = jax.tree.flatten(tree)
    return structure, [look(leaf) for leaf in leaves]


class Evaluator(abc.ABC):
    """A frozen dataclass of numbers that judges live positions. Legality is not its business: `Model` masks."""

    untold: ClassVar[tuple[str, ...]] = ()  # fields that say how it computes, not what it says: no name tells them

    def __post_init__(self) -> None:
        """Refuses numbers that no evaluator can use; who checks more calls this first."""
        check_settings(f"{type(self).__name__}: ", self)
        check_whole(f"{type(self).__name__}: ", self, MOST)

    def init(self, game: Game[Any], key: Array) -> Params:
        """Fresh parameters; most evaluators have none."""
        return ()

    def on(self, platform: str) -> "Evaluator":
        """Hook: the same judgements by the program that is fastest on this platform: cpu, gpu or tpu."""
        return self

    def ready(self, params: Params) -> Params:
        """Hook: the parameters in the form that many calls of one program take, made once for all of them."""
        return params

    @property
    def lucky(self) -> bool:
        """Whether it draws luck, so that the same position is not judged the same twice."""
        return False

    @abc.abstractmethod
    def __call__(self, game: Game[Any], params: Params, key: Array, states: States) -> Evaluation:
        """Judges a batch. The key is consumed."""

    def evaluate_wanted(
        self, game: Game[Any], params: Params, key: Array, states: States, wanted: Bool[Array, " B"]
    ) -> Evaluation:
        """Hook: judges a batch of which only the `wanted` positions matter, where that is cheaper than all of it."""
        return self(game, params, key, states)

    def judge_moves(
        self, game: Game[Any], params: Params, states: States, actions: Int32[Array, "B K"]
    ) -> tuple[Float32[Array, "B K"], Bool[Array, "B K"]] | None:
        """Hook: what legal moves are worth to who makes them, and whether they end the game, by what this evaluator
        says of the positions after them. None: there is no shorter way than to play them."""
        return None

    def foresee(self, game: Game[Any], params: Params, states: States) -> dict[str, Float32[Array, "B ..."]]:
        """Hook: what it expects of the game's auxiliary targets, as seat 0 sees them; of those alone that it learnt."""
        return {}

    def worth_caching(self, params: Params) -> bool:
        """Hook: whether its judgements are worth remembering, because the same position always gets the same one, and
        each position less to judge saves time."""
        return False


def ask(
    judge: Evaluator,
    game: Game[Any],
    params: Params,
    key: Array,
    states: States,
    wanted: Bool[Array, " B"] | None = None,
) -> Evaluation:
    """What a judge, who may be somebody's own, says of live positions, or of the `wanted` ones of them."""
    if wanted is None:
        found = judge(game, params, key, states)
    else:
        found = judge.evaluate_wanted(game, params, key, states, wanted)
    return as_evaluation(type(judge).__name__, found, states.ply.shape[0], game.num_actions)


def check_part(part: str, value: Any) -> None:
    """A UsageError for a part of an evaluator that is to be an evaluator itself and is none."""
    if not isinstance(value, Evaluator):
        raise UsageError(f"{part} is an evaluator, such as Uniform(), not {value!r}")
