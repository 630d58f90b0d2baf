"""Bots by rules, after Dagaz: a chain of links, of which the first that has something to say decides.

A link is a rule that names moves, of which any is played, and the last link is a search:

win      a move that wins at once
book     the moves of a book of openings
take     what takes most and cannot be taken back
capture  what takes most, whatever is taken back
careful  whatever does not lose at once or by one reply; a pass is no candidate
safe     the same, and no reply takes a piece
"""

import dataclasses
import functools
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int32, UInt32

from jaxgo.core import keys, lookahead, names, play
from jaxgo.core.choice import first_max
from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.core.game import Game
from jaxgo.core.lookahead import Lookahead
from jaxgo.core.play import Position
from jaxgo.core.replay import follow, read_lines
from jaxgo.evaluators.base import Params
from jaxgo.search import forcing
from jaxgo.search.base import Budget, Search, SearchResult, Temperature, per_game
from jaxgo.search.model import Model
from jaxgo.search.presets import PRESETS
from jaxgo.search.registry import REGISTRY, at_place, split_budget

RULES = ("win", "book", "take", "capture", "careful", "safe")


class ChainState(NamedTuple):
    root: Position
    among: Bool[Array, "B A"]  # the moves that the deciding rule names
    by: Int32[Array, " B"]  # which link decides
    luck: Float32[Array, "B A"]
    last: Any  # the state of the last link's search

    @property
    def prior(self) -> Float32[Array, "B A"]:
        return self.last.prior

    @property
    def tree(self) -> Any:
        return self.last.tree

    @property
    def done(self) -> Int32[Array, " B"]:
        return self.last.done

    @property
    def calls(self) -> Int32[Array, ""]:
        return self.last.calls


@dataclasses.dataclass(frozen=True)
class Chain(Search[ChainState]):
    """`chain:win+careful+uct:400`. `SearchResult.by` numbers the link that decided.

    Nothing is kept between moves, and no tree grows: a search that keeps one ends with its own simulations.
    """

    links: str = "win+careful+random"
    book: str = ""  # a file with an opening in each line: the names of its moves

    default_evaluator: ClassVar[str] = "rollout"
    colon: ClassVar[str] = "links"

    def __post_init__(self) -> None:
        super().__post_init__()
        for rule in self.rules:
            if rule not in RULES:
                raise unknown_name("rule of a chain", rule, RULES)
        if ("book" in self.rules) != bool(self.book):
            raise UsageError("a chain with the rule book needs book=FILE, and only such a chain does")
        _search(self._last)

    @property
    def rules(self) -> tuple[str, ...]:
        """The links that are rules, which are asked first."""
        return tuple(link.strip() for link in self.links.split("+")[:-1])

    @property
    def search(self) -> Search:
        """The last link."""
        return _search(self._last)

    @property
    def _last(self) -> str:
        return self.links.rpartition("+")[2].strip()

    @property
    def budget(self) -> int:
        return self.search.budget

    @property
    def parallel_leaves(self) -> int:  # type: ignore[override]  # of others it is a setting
        return self.search.parallel_leaves

    @property
    def lucky(self) -> bool:
        # any move that wins at once ends the game the same way
        return self.search.lucky or any(rule != "win" for rule in self.rules)

    @property
    def draws(self) -> bool:
        return self.search.draws

    def reads(self, game: Game[Any]) -> tuple[np.ndarray, ...]:
        return read_book(game, self.book) if self.book else ()

    @property
    def keeps_judgements(self) -> bool:
        return self.search.keeps_judgements

    @property
    def resumable(self) -> bool:
        return self.search.resumable

    def begin(self, model: Model, params: Params, key: Array, root: Position, plan: Budget | None = None) -> ChainState:
        ties, inner = keys.split(key)
        legal = model.legal(root)
        named = self._named(model.game, root.state, legal)
        by = jnp.full(legal.shape[0], len(named), jnp.int32)
        among = jnp.zeros_like(legal)
        for number, moves in reversed(list(enumerate(named))):
            some = moves.any(axis=-1)
            by, among = jnp.where(some, number, by), jnp.where(some[:, None], moves, among)
        return ChainState(
            root=root,
            among=among,
            by=by,
            luck=keys.sample(jax.random.uniform, ties, legal.shape, jnp.float32),
            last=self.search.begin(model, params, inner, root, plan),
        )

    def extend(self, model: Model, params: Params, key: Array, state: ChainState, budget: Budget) -> ChainState:
        """Where a rule decided, nothing is searched."""
        asked = state.by == len(self.rules)
        left = jnp.where(asked, per_game(budget, state.by.shape[0], jnp.int32), 0)
        if self.search.resumable:
            budget = left
        return state._replace(last=self.search.extend(model, params, key, state.last, budget))

    def result(self, key: Array, state: ChainState, temperature: Temperature = 0.0) -> SearchResult:
        """A rule draws its move whatever the temperature."""
        found = self.search.result(key, state.last, temperature)
        ruled = state.by < len(self.rules)
        drawn = first_max(state.luck, state.among)
        among = state.among.astype(jnp.float32)
        even = among / jnp.maximum(among.sum(axis=-1, keepdims=True), 1.0)
        return found._replace(
            action=jnp.where(ruled, drawn, found.action).astype(jnp.int32),
            policy=jnp.where(ruled[:, None], even, found.policy),
            chances=None if found.chances is None else jnp.where(ruled[:, None], even, found.chances),
            by=state.by,
        )

    def _named(self, game: Game[Any], states: Any, legal: Bool[Array, "B A"]) -> list[Bool[Array, "B A"]]:
        ahead = None
        if {"take", "capture", "safe"} & set(self.rules) or ("win" in self.rules and not forcing.knows_threats(game)):
            ahead = jax.vmap(functools.partial(lookahead.look, game))(states, legal)
        return [self._rule(rule, game, states, legal, ahead) for rule in self.rules]

    def _rule(
        self, rule: str, game: Game[Any], states: Any, legal: Bool[Array, "B A"], ahead: Lookahead | None
    ) -> Bool[Array, "B A"]:
        if rule == "book":
            return legal & _in_book(game, states, self.book)
        if rule == "careful":
            return jax.vmap(game.safe)(states, legal) & ~jax.vmap(functools.partial(lookahead.passes, game))(
                states, legal
            )
        if ahead is None:
            return legal & jax.vmap(game.threats)(states).win[:, 0]
        if rule == "win":
            return legal & ahead.wins
        safe = legal & ~ahead.loses & ~ahead.exposes
        if rule == "safe":
            return safe & ~ahead.idle
        takes = jnp.where(legal if rule == "capture" else safe, ahead.takes, 0)
        return (takes > 0) & (takes == takes.max(axis=-1, keepdims=True))


@functools.cache
def _search(text: str) -> Search:
    """The search of a last link, as it plays to win: no name of a chain says how much noise it explores with."""
    known: dict[str, Search] = {**REGISTRY, **{name: preset.search for name, preset in PRESETS.items()}}
    name, colon, simulations = split_budget(text, {*known, "chain"})
    if name not in known and not names.is_place(name):
        raise unknown_name("search at the end of a chain", name, [*known, names.PLACE])
    search: Any = known[name] if name in known else at_place(name)
    if isinstance(search, Chain):
        raise UsageError(f"{text!r} at the end of a chain is a chain itself; end with its search, such as uct:400")
    if not colon:
        return search.quiet()
    counts = search.budget > 0 and "simulations" in {field.name for field in dataclasses.fields(search)}
    if not simulations.isdecimal() or not counts:
        raise UsageError(f"{text!r} at the end of a chain is no search with a number of simulations, such as uct:400")
    return dataclasses.replace(search.quiet(), simulations=int(simulations))


@functools.cache
def read_book(game: Game[Any], path: str) -> tuple[np.ndarray, np.ndarray]:
    """The keys `uint32[n, 2]` of the positions of a book, and the move `int32[n]` that follows each."""
    start, known, moves = play.begin(game), list[np.ndarray](), list[int]()
    for place, actions in read_lines(game, path):
        followed = follow(game, start, actions, _key)
        if (made := int(followed.made)) < len(actions):
            raise UsageError(f"{place}: move {made + 1}, {game.action_name(actions[made])}, is not legal there")
        known.append(np.asarray(followed.seen)[:made])
        moves += actions
    if not moves:
        raise UsageError(f"the book {path} has no moves")
    return np.concatenate(known), np.array(moves, np.int32)


def _key(game: Game[Any], position: Position) -> UInt32[Array, "2"]:
    return game.hash(position.state)


def _in_book(game: Game[Any], states: Any, path: str) -> Bool[Array, "B A"]:
    # the book is data, also while a program is traced; a thread of its own traces nothing
    with ThreadPoolExecutor(1) as reader:
        positions, actions = reader.submit(read_book, game, path).result()
    same = (jax.vmap(game.hash)(states)[:, None] == jnp.asarray(positions)[None]).all(axis=-1)
    moves = jnp.asarray(actions)[:, None] == jnp.arange(game.num_actions)[None]
    return (same[:, :, None] & moves[None]).any(axis=1)
