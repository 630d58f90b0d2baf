"""The interface of a search: a few verbs over a state of its own, so that each can be resumed, limited and reused."""

import abc
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar, cast, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int32

from jaxgo.core import history, keys
from jaxgo.core.errors import UsageError, check_frozen, check_kind, check_settings, check_whole
from jaxgo.core.game import Game
from jaxgo.core.play import Position
from jaxgo.evaluators.base import MOST, Params
from jaxgo.search import outside, reuse
from jaxgo.search.edges import Edges, root_edges
from jaxgo.search.model import ILLEGAL, Model, check_batch
from jaxgo.search.tree import ROOT, Tree

Budget = Int32[Array, " B"] | Int32[Array, ""] | int | np.integer[Any]
Temperature = Float32[Array, " B"] | Float32[Array, ""] | float


@runtime_checkable  # the tests check types as programs run
class SearchState(Protocol):
    """What may be read of the state of any search: a NamedTuple that has at least these."""

    @property
    def root(self) -> Position:
        """The live positions that are searched."""

    @property
    def tree(self) -> Tree | None:
        """The tree, of searches that keep one."""

    @property
    def prior(self) -> Float32[Array, "B A"]:
        """Logits over the moves of the root before any search and any noise; ILLEGAL where illegal."""

    @property
    def done(self) -> Int32[Array, " B"]:
        """Simulations since `begin` or `follow`."""

    @property
    def calls(self) -> Int32[Array, ""]:
        """Evaluator calls since then, the root's apart."""

    def _replace(self, *args: Any, **changes: Any) -> Any: ...


@runtime_checkable
class TreeState(SearchState, Protocol):
    """The state of a search that has a tree."""

    @property
    def tree(self) -> Tree: ...


if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultTypeVar

    S = DefaultTypeVar("S", bound=SearchState, default=Any)
else:
    S = TypeVar("S")  # Python 3.11 knows no defaults


class SearchResult(NamedTuple):
    """What a search found. Values and q are for the side to move at the root.

    `proven` and `solved` are facts of the real game, and never guesses. A tree does not see where its own lines repeat,
    so in games with a rule on that only moves that end the game at once are proven. (The search still prefers what its
    tree has proven; that is a choice, and not a claim.) Alpha-beta proves more, see `history.alone`.

    A search is part of a jitted program, and cannot raise: where `healthy` is False all else means nothing.
    """

    action: Int32[Array, " B"]  # the move to play
    policy: Float32[Array, "B A"]  # what a network should learn from this search
    value: Float32[Array, " B"]  # the mean of all simulations, with those that ruled moves out; see `worth`
    visits: Int32[Array, "B A"]
    q: Float32[Array, "B A"]  # meaningful where visited
    proven: Bool[Array, "B A"]  # q is the exact value of the move
    solved: Bool[Array, " B"]  # value is exact
    healthy: Bool[Array, " B"]  # the evaluator gave nothing but finite numbers, and the rules moves
    chances: Float32[Array, "B A"] | None = None  # of each move to be `action`, at the temperature that was asked for
    by: Int32[Array, " B"] | None = None  # who decided, of searches that are made of several (see `chain`)
    pays: Bool[Array, " B"] | None = None  # moves pay on the way, so that no number is a loss; None: in no game
    depth: Int32[Array, " B"] | None = None  # plies that were searched whole, of searches that deepen
    ends: Int32[Array, " B"] | None = None  # plies to the end of a game that is `solved` and won or lost; 0: not known

    @property
    def lost(self) -> Any:
        """The moves that are proven lost: `Bool[B, A]`."""
        lost = self.proven & (self.q <= -1.0)
        return lost if self.pays is None else lost & ~self.pays[:, None]

    @property
    def first(self) -> Any:
        """The move that is played unless a temperature draws another: `Int32[B]`.

        By its chances, where they are told; else the policy puts it first, and none that is proven lost if another is
        there. Of several that are first it is `action`.
        """
        order = self.policy - 2.0 * self.lost if self.chances is None else self.chances
        action = cast("Any", self.action)
        tied = order[np.arange(len(action)), action] >= order.max(axis=-1)
        return self._where(tied, action, order.argmax(axis=-1))

    @property
    def worth(self) -> Any:
        """What the positions are worth by their `first` move, where it was tried: `Float32[B]`.

        The mean at the root tells less, above all of a search that looks at many moves side by side: where one move of
        seven holds a draw, it tells of six losses.
        """
        games, first = np.arange(len(self.value)), self.first
        tried, q = self.visits[games, first] > 0, self.q[games, first]
        return self._where(tried & ~self.solved, q, self.value)

    def _where(self, which: Any, one: Any, other: Any) -> Any:
        """`where` on the host for who has the result there, which waits for no XLA."""
        where: Any = np.where if isinstance(cast("Any", self.value), np.ndarray) else jnp.where
        return where(which, one, other)


class Search(abc.ABC, Generic[S]):
    """A frozen dataclass of numbers, typed by its state: its own config.

    A new search is one file and one line in `registry.py`; what others must know of it, it says itself.
    """

    default_evaluator: ClassVar[str] = "heuristic"  # by its name in EVALUATORS: who judges where nobody is named
    colon: ClassVar[str] = "simulations"  # the field that a spec gives behind its colon, of searches that have it
    parallel_leaves: int = 1  # of one game in one evaluator call: budgets are best spent in multiples of it
    nodes: int = -1  # room in the tree; 0: what is planned, and it may grow; below 0: the search keeps none

    @abc.abstractmethod
    def begin(self, model: Model, params: Params, key: Array, root: Position, plan: Budget | None = None) -> S:
        """A fresh state at live root positions. `plan` tells what budget is to come: schedules are made for it, and
        where it is a plain number, room."""

    @abc.abstractmethod
    def extend(self, model: Model, params: Params, key: Array, state: S, budget: Budget) -> S:
        """Searches on by `budget` simulations; a traced budget may differ by game and does not retrace.

        A plain number that cannot fit into an empty tree is refused. Others end where the tree is full; `done` tells.
        """

    @abc.abstractmethod
    def result(self, key: Array, state: S, temperature: Temperature = 0.0) -> SearchResult:
        """The move, and what was learnt; `temperature` 0 plays the best move."""

    def follow(
        self,
        model: Model,
        params: Params,
        key: Array,
        state: S,
        action: Int32[Array, " B"],
        root: Position,
        plan: Budget | None = None,
    ) -> S:
        """The state after `action` was played and led to `root`; action -1 begins that game afresh.

        By default everything begins anew. What a search keeps takes room: where `plan` is a plain number, the tree is
        made large enough for that and as much again; otherwise it stays as large as it is, and `done` tells.
        """
        return self.begin(model, params, key, root, plan)

    def line(self, model: Model, params: Params, state: S) -> Int32[Array, "B L"] | None:
        """Hook of searches without a tree: the moves that are expected, the one to play first; -1 behind the last."""
        return None

    def __post_init__(self) -> None:
        """Refuses numbers that no search can use; who checks more calls this first."""
        check_settings(f"{type(self).__name__}: ", self)
        check_whole(f"{type(self).__name__}: ", self, MOST)
        if self.nodes == 1:
            raise UsageError("nodes=1 has room for the root and for no simulation; give at least 2, or 0 for all")

    def quiet(self) -> "Search[S]":
        """The same search without what only exploration needs, as it plays to win."""
        return self

    @property
    def budget(self) -> int:
        """Simulations of one whole search, as its field of that name says; 0: there is nothing to simulate."""
        simulations: int = getattr(self, "simulations", 0)
        return simulations

    @property
    def lucky(self) -> bool:
        """Whether it draws luck at every move, so that no two searches need be the same; ties do not count."""
        return False

    @property
    def draws(self) -> bool:
        """Whether a temperature changes how it draws its moves: its policy says of more than one how good they are."""
        return True

    def reads(self, game: Game[Any]) -> tuple[np.ndarray, ...]:
        """Hook: what is in the files that its settings only name, for the hash of a player."""
        return ()

    @property
    def keeps_judgements(self) -> bool:
        """Whether its tree has what the evaluator said of the positions below the root, so that another search may
        recall it."""
        return True

    @property
    def resumable(self) -> bool:
        """Whether `extend` takes any budget, traced ones too; otherwise only its whole `budget`, as a plain number."""
        return True

    def run(
        self,
        model: Model,
        params: Params,
        key: Array,
        root: Position,
        budget: Budget | None = None,
        temperature: Temperature = 0.0,
    ) -> SearchResult:
        """A whole search, by `budget` simulations or its own number of them."""
        check_parts(self, model)
        check_batch(root)
        budget = self.budget if budget is None else budget
        check_plan(budget, games := root.state.ply.shape[0])
        per_game(temperature, games, jnp.float32)  # refuses what is none before anything is searched
        begin, search, choose = keys.split(key, 3)
        state = self.begin(model, params, begin, root, budget)
        state = self.extend(model, params, search, state, budget)
        return self.result(choose, state, temperature)


def check_parts(search: Any, model: Any) -> None:
    """A UsageError where these are not what their names say, as where they have changed places."""
    check_kind(search, Search, "search, such as Gumbel()")
    check_kind(model, Model, "Model")
    check_frozen(search, f"{type(search).__name__} is no search", "jaxgo.search.Search")
    outside.check(search, model)


def check_begins(search: Search, model: Model) -> None:
    """A UsageError where a search cannot play this game: it begins with blank parameters, as shapes alone."""

    def begin(key: Array) -> Any:
        return search.begin(model, model.init(key), key, model.start(key, 1))

    jax.eval_shape(begin, jax.random.key(0))


def room(search: Search, plan: Budget | None, games: int) -> int:
    """Nodes that a tree begins with."""
    check_plan(plan, games)
    return search.nodes or max(search.budget, _plain(plan) or 0) + 1


def more_room(search: Search, tree: Tree, plan: Budget | None) -> Tree:
    """A tree that is to be followed, with room for what is planned beside as many nodes that are kept."""
    check_plan(plan, tree.visits.shape[0])
    planned = _plain(plan)
    if search.nodes or planned is None:
        return tree
    return reuse.grow(tree, 2 * planned + 1)


def check_plan(plan: Budget | None, games: int) -> None:
    """A UsageError for simulations that no search takes, before there is room for so many."""
    if plan is not None:
        per_game(plan, games, jnp.int32)


def check_room(search: Search, tree: Tree, budget: Budget) -> None:
    """A UsageError for a budget that cannot fit, unless the tree is small on purpose."""
    space, planned = tree.visits.shape[1] - 1, _plain(budget)
    if planned is not None and planned > space and not search.nodes:
        raise UsageError(
            f"{planned} simulations do not fit into a tree that was begun for {space}; begin with plan={planned}"
        )


def _plain(budget: Budget | None) -> int | None:
    """A plain number, of Python or of numpy; None where there is none, or where it is only known to the program."""
    return int(budget) if isinstance(budget, int | np.integer) else None


def per_game(value: Any, games: int, dtype: Any) -> Array:
    """A number for all games, or one for each, as one for each. None is below 0, as far as the host knows them."""
    whole = jnp.issubdtype(dtype, jnp.integer)
    value = value if isinstance(value, int | float | np.ndarray | np.generic | jax.Array) else np.asarray(value)
    known = not isinstance(value, jax.Array)
    if np.shape(value) not in ((), (games,)):
        what = "simulations" if whole else "a temperature"
        raise UsageError(f"{what} for all games or for each of {games} are asked for, not of shape {np.shape(value)}")
    found = value.dtype if hasattr(value, "dtype") else np.result_type(value)
    numbers = jnp.issubdtype(found, jnp.integer) or (not whole and jnp.issubdtype(found, jnp.floating))
    if not numbers or (known and not np.all(value >= 0)):
        what = "simulations are whole numbers" if whole else "a temperature is a number"
        raise UsageError(f"{what} of at least 0, not {value}")
    if whole and known and np.any(value > MOST):
        raise UsageError(f"{value} simulations are too many; ask for at most {MOST:,}")
    return jnp.broadcast_to(jnp.asarray(value, dtype), (games,))


def decide(
    key: Array, best: Int32[Array, " B"], weights: Float32[Array, "B A"], temperature: Temperature
) -> tuple[Int32[Array, " B"], Float32[Array, "B A"]]:
    """The best action, or one drawn where the temperature is above 0; and the chances that each action had."""
    hot = per_game(temperature, best.shape[0], jnp.float32) > 0
    sure = jax.nn.one_hot(best, weights.shape[1], dtype=jnp.float32)
    action = jnp.where(hot, draw(key, weights, temperature), best).astype(jnp.int32)
    return action, jnp.where(hot[:, None], jax.nn.softmax(_tempered(weights, temperature), axis=-1), sure)


def draw(key: Array, weights: Float32[Array, "B A"], temperature: Temperature) -> Int32[Array, " B"]:
    """An action drawn in proportion to `weights ** (1 / temperature)`; temperature must be above 0."""
    return keys.categorical(key, _tempered(weights, temperature))


def _tempered(weights: Float32[Array, "B A"], temperature: Temperature) -> Float32[Array, "B A"]:
    """The logits of `weights ** (1 / temperature)`."""
    each = per_game(temperature, weights.shape[0], jnp.float32)
    # relative to the heaviest, so that neither a tiny temperature nor a million visits overflow
    ratio = weights / jnp.maximum(weights.max(-1, keepdims=True), jnp.finfo(jnp.float32).tiny)
    logits = jnp.log(jnp.maximum(ratio, jnp.finfo(jnp.float32).tiny)) / jnp.maximum(each, 1e-6)[:, None]
    return jnp.where(ratio > 0, logits, ILLEGAL)


def playable(tree: Tree, edges: Edges) -> Bool[Array, "B A"]:
    """The root moves to choose from, by what the tree has proven."""
    return sound(edges, edges.legal, tree.proven[:, ROOT])


def sound(
    known: Edges | SearchResult, legal: Bool[Array | np.ndarray, "B A"], solved: Bool[Array | np.ndarray, " B"]
) -> Bool[Array, "B A"]:
    """The moves to choose from: none that is proven lost unless all are, and the best where the position is solved."""
    unlost = legal & ~known.lost
    # the value of the root may be rounded otherwise than that of its best move
    exact = legal & known.proven & jnp.isclose(known.q, known.value[:, None], rtol=1e-6, atol=1e-6)
    among = jnp.where((solved & exact.any(axis=-1))[:, None], exact, unlost)
    return jnp.where(among.any(axis=-1, keepdims=True), among, legal)


def by_visits(visits: Float32[Array, "B A"], edges: Edges) -> Float32[Array, "B A"]:
    """Scores by visits, and among equals by value, which never outweighs a visit."""
    largest = jnp.maximum(jnp.abs(edges.q).max(axis=-1, keepdims=True), 1.0)
    return visits + 0.25 * (edges.q / largest + 1.0)


def facts(state: TreeState, edges: Edges) -> tuple[Bool[Array, "B A"], Bool[Array, " B"]]:
    """Which root moves, and which roots, have exact values in the real game, which may know more than the tree."""
    tree = state.tree
    if not history.kept(state.root.history):
        return edges.proven, tree.proven[:, ROOT]
    game = jnp.arange(tree.visits.shape[0])[:, None]
    parent = jnp.where(tree.parent >= 0, tree.parent.astype(jnp.int32), tree.visits.shape[1])
    inner = jnp.zeros(tree.proven.shape, bool).at[game, parent].set(True, mode="drop")
    child = tree.child[:, ROOT].astype(jnp.int32)
    ends = edges.proven & (child >= 0) & ~inner[game, jnp.maximum(child, 0)]
    wins = (ends & (edges.q >= 1.0)).any(axis=-1)
    return ends, tree.proven[:, ROOT] & (wins | (ends | ~edges.legal).all(axis=-1))


def conclude(
    state: TreeState,
    key: Array,
    best: Int32[Array, " B"],
    among: Bool[Array, "B A"],
    policy: Float32[Array, "B A"],
    temperature: Temperature,
) -> SearchResult:
    """The result of a tree: the best move, or where temperature is above 0 one of those `among` which to choose, drawn
    from `policy`."""
    edges = root_edges(state.tree)
    weights = jnp.where(among, policy, 0.0)
    weights = jnp.where(weights.sum(axis=-1, keepdims=True) > 0, weights, among.astype(jnp.float32))
    action, chances = decide(key, best, weights, temperature)
    proven, solved = facts(state, edges)
    known = edges.value, edges.visits, edges.q, proven, solved
    pays = None if state.tree.reward is None else jnp.ones(action.shape, bool)
    return SearchResult(action, policy, *known, state.tree.healthy, chances, pays=pays)
