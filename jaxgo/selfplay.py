"""Games for learning: they live on the device from one iteration to the next and never end together.

A game that ends starts again in its place, so every root that is searched is live and no lane ever waits. What a ply
leaves behind is its state, not its planes. Letters: T plies, B games, A actions.
"""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float16, Float32, Int8, Int16, Int32

from jaxgo.core import keys
from jaxgo.core.errors import UsageError, check_kind, check_settings, is_whole, unknown_name
from jaxgo.core.game import MOST_PLIES
from jaxgo.core.lanes import where_lanes
from jaxgo.core.play import Position
from jaxgo.evaluators.base import Params, States
from jaxgo.evaluators.cache import Cached, EvalCache
from jaxgo.search import outside, reuse
from jaxgo.search.base import Budget, Search, SearchResult, check_parts, draw, sound
from jaxgo.search.model import ILLEGAL, Model


@dataclasses.dataclass(frozen=True)
class SelfplayConfig:
    """How games are played to learn from."""

    games: int = 256  # at once, all devices together
    steps: int = 16  # plies of one iteration
    fast_simulations: int = 0  # of a fast search, which only moves the game along; 0: every search is full
    full_share: float = 0.25  # of full searches, where there are fast ones
    temperature: float = 1.0  # at the first ply
    final_temperature: float = 0.2  # what it falls to; 0: the search's own choice
    half_life: float = 10.0  # plies in which what is above `final_temperature` halves
    opening: float = 0.5  # share of games that begin with random moves
    opening_plies: int = 8  # at most
    book: str = ""  # where games begin: a file of openings, or "balanced"; empty: at the start
    book_share: float = 1.0  # of the games, where there is a book; random moves come after its own
    resign: float = 0.0  # a game is given up at this value, such as 0.95, for the other side; 0: never
    play_on: float = 0.1  # share of games that are never given up, to measure how often that is wrong
    horizon: int = 0  # plies that wait for the end of their game before they are labelled; 0: all, 400 at most

    def __post_init__(self) -> None:
        check_settings("selfplay.", self)
        if self.games < 1 or self.steps < 1:
            raise UsageError("selfplay.games and selfplay.steps are at least 1")
        for name in ("full_share", "opening", "book_share", "play_on", "resign"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise UsageError(f"selfplay.{name} is a share from 0 to 1, not {getattr(self, name)}")
        if min(self.fast_simulations, self.opening_plies, self.horizon) < 0:
            raise UsageError("selfplay.fast_simulations, opening_plies and horizon are at least 0")
        if self.opening_plies > MOST_PLIES:
            raise UsageError(f"selfplay.opening_plies={self.opening_plies} is too large; at most {MOST_PLIES:,}")
        if min(self.temperature, self.final_temperature) < 0:
            raise UsageError("selfplay.temperature and final_temperature are at least 0")
        if self.fast_simulations and not self.full_share:
            raise UsageError(
                "selfplay.full_share=0 with fast searches teaches no policy, which learns from full ones; make it more"
            )
        if not self.half_life > 0:
            raise UsageError(f"selfplay.half_life is above 0, not {self.half_life}")

    def temperature_at(self, ply: Int16[Array, " B"]) -> Float32[Array, " B"]:
        """The temperature at these plies; after six half-lives it is exactly the final one, and 0 leaves no chance."""
        left = 0.5 ** (ply.astype(jnp.float32) / self.half_life)
        falls = self.temperature - self.final_temperature
        return self.final_temperature + falls * jnp.where(left > 1 / 64, left, 0.0)


class SelfplayState(NamedTuple):
    """The games under way."""

    position: Position
    opening: Int16[Array, " B"]  # random plies that are still to come
    may_resign: Bool[Array, " B"]
    gave_up: Int8[Array, " B"]  # the seat that would have resigned in a game that is played on; -1: none


Games = tuple[SelfplayState, EvalCache | None]  # under way, with what their last searches judged


class Trajectory(NamedTuple):
    """Plies of many games. Values and rewards are for who moved."""

    state: States  # before the move
    policy: Float16[Array, "T B A"]  # what the search found
    value: Float32[Array, "T B"]
    reward: Float32[Array, "T B"]
    discount: Float32[Array, "T B"]  # 0 where the game ended, -1 where the mover changed
    surprise: Float32[Array, "T B"]  # of the prior by the policy, in nats
    solved: Bool[Array, "T B"]  # the value is exact
    full: Bool[Array, "T B"]  # a full search
    random_move: Bool[Array, "T B"]  # of an opening, not the search's
    ruled: Bool[Array, "T B"]  # the rules ended the game, so its auxiliary targets are known
    aux_targets: dict[str, Float16[Array, "*target"]]  # for seat 0, where `ruled`


class Tally(NamedTuple):
    """Sums over the plies of one `collect`, one number each."""

    plies: Array
    games: Array  # that ended
    length: Array  # plies of these
    wins: Array  # of seat 0
    draws: Array
    resigned: Array
    audited: Array  # games that were played on although a side would have resigned
    false_resigns: Array  # of these, the ones that this side did not lose
    simulations: Array
    solved: Array
    broken: Array  # searches whose evaluator gave numbers that are not finite
    illegal: Array  # moves that a search of somebody's own chose against the rules
    entropy: Array  # of the policies, in nats
    surprise: Array
    values: Array  # of the searches, for who moves
    squares: Array  # of these values


@dataclasses.dataclass(frozen=True)
class Selfplay:
    """A search that plays itself."""

    search: Search
    model: Model
    config: SelfplayConfig
    aux_targets: tuple[str, ...] = ()  # which of the game's to note

    def __post_init__(self) -> None:
        check_parts(self.search, self.model)
        check_kind(self.config, SelfplayConfig, "SelfplayConfig")
        known = [target.name for target in self.model.game.aux_targets()]
        for name in self.aux_targets:
            if name not in known:
                raise unknown_name("target of the game", name, known or ["none"])
        if self.config.fast_simulations and not self.search.resumable:
            name = type(self.search).__name__.lower()
            raise UsageError(f"{name} runs whole searches only; set selfplay.fast_simulations to 0")

    def begin(self, key: Array, games: int, book: Position | None = None) -> SelfplayState:
        """So many games at their start, or at positions drawn from a book."""
        keys.check_one(key)
        if not is_whole(games) or games < 1:
            raise UsageError(f"games={games!r} of self-play cannot begin; ask for a whole number, at least 1")
        first, opening, audit, page = jax.random.split(key, 4)
        plies, config = jax.random.split(opening), self.config
        random = jax.random.uniform(plies[0], (games,)) < config.opening
        count = jax.random.randint(plies[1], (games,), 1, max(1, config.opening_plies) + 1)
        return SelfplayState(
            position=self._open(page, self.model.start(first, games), book),
            opening=jnp.where(random, jnp.minimum(count, config.opening_plies), 0).astype(jnp.int16),
            may_resign=jax.random.uniform(audit, (games,)) >= config.play_on,
            gave_up=jnp.full(games, -1, jnp.int8),
        )

    def _open(self, key: Array, start: Position, book: Position | None) -> Position:
        """These games, of which a share begins at positions of the book."""
        if book is None:
            return start
        which, share = jax.random.split(key)
        games, pages = start.state.ply.shape[0], book.state.ply.shape[0]
        chosen = jax.random.uniform(share, (games,)) < self.config.book_share
        page = jax.random.randint(which, (games,), 0, pages)
        return where_lanes(chosen, jax.tree.map(lambda x: x[page], book), start)

    def collect(
        self,
        params: Params,
        state: SelfplayState,
        key: Array,
        place: Int32[Array, ""] | int = 0,
        book: Position | None = None,
    ) -> tuple[SelfplayState, Trajectory, Tally]:
        """Plays `config.steps` plies of every game. `place` tells devices with the same key apart."""

        def ply(games: Games, step: Array) -> tuple[Games, tuple[Trajectory, Tally]]:
            return self._ply(params, games, jax.random.fold_in(key, step), place, book)

        keys.check_one(key)
        check_kind(state, SelfplayState, "state of self-play, as begin gives it")
        params = self.model.ready(params)
        begin = state, self._nothing(params, state.position)
        (state, _), (trajectory, tally) = jax.lax.scan(ply, begin, jnp.arange(self.config.steps))
        return state, trajectory, jax.tree.map(lambda x: x.sum(axis=0), tally)

    def _nothing(self, params: Params, position: Position) -> EvalCache | None:
        """A cache before the first search, if the evaluator is worth one."""
        # what it saves was measured on processors alone
        if not self.model.on_cpu or not self.model.evaluator.worth_caching(params):
            return None
        if not self.search.keeps_judgements:
            return None
        tree = jax.eval_shape(lambda: self.search.begin(self.model, params, jax.random.key(0), position).tree)
        if tree is None:
            return None
        return jax.tree.map(
            lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(functools.partial(reuse.judged, self.model), tree)
        )

    def _ply(
        self, params: Params, games: Games, key: Array, place: Int32[Array, ""] | int, book: Position | None
    ) -> tuple[Games, tuple[Trajectory, Tally]]:
        state, cache = games
        shared, lanes = jax.random.split(key)
        think, random, restart = jax.random.split(jax.random.fold_in(lanes, place), 3)
        position = state.position
        full, result, prior, done, cache = self._think(params, cache, think, shared, position)
        policy = sharpen(result)
        random_move = state.opening > 0
        action = jnp.where(random_move, draw(random, (prior > ILLEGAL).astype(jnp.float32), 1.0), result.action)
        moved, transition = self.model.play(position, action)

        ruled = transition.discount == 0
        value = expected_value(result, policy)
        lost = (value <= -self.config.resign) & ~random_move & (self.config.resign > 0)
        resigns = lost & state.may_resign
        end = ruled | resigns
        mover = position.state.to_play.astype(jnp.int8)  # rules of somebody's own may count in wider numbers
        gave_up = jnp.where(lost & (state.gave_up < 0), mover, state.gave_up)
        trajectory = Trajectory(
            state=position.state,
            policy=policy.astype(jnp.float16),
            value=value,
            reward=jnp.where(resigns, -1.0, transition.reward),
            discount=jnp.where(end, 0.0, transition.discount),
            surprise=surprise(policy, prior),
            solved=result.solved,
            full=jnp.broadcast_to(full, end.shape),
            random_move=random_move,
            ruled=ruled & ~resigns,
            aux_targets=self._aux_targets(moved.state, ruled),
        )
        legal = random_move | outside.legal_moves(self.search, self.model, position, result.action)
        tally = _tally(trajectory, result, gave_up, done, legal)
        after = SelfplayState(moved, jnp.maximum(state.opening - jnp.int16(1), 0), state.may_resign, gave_up)
        return (self._restart(restart, after, end, book), cache), (trajectory, tally)

    def _simulations(self, full: Bool[Array, ""]) -> Budget:
        """One budget for all games, or those with a small one would wait for the others."""
        if not self.config.fast_simulations:
            return self.search.budget
        # a fast search is never the larger one, as where `search.simulations` was lowered below it
        return jnp.where(full, self.search.budget, min(self.config.fast_simulations, self.search.budget))

    def _think(
        self, params: Params, cache: EvalCache | None, key: Array, shared: Array, position: Position
    ) -> tuple[Bool[Array, ""], SearchResult, Float32[Array, "B A"], Int32[Array, " B"], EvalCache | None]:
        """Whether the search was a full one, what it found, the prior logits at the roots, how many simulations it
        made, and what was judged."""
        begin, search, choose = jax.random.split(key, 3)
        full, config = jnp.bool_(True), self.config
        if config.fast_simulations:
            full = jax.random.uniform(shared) < config.full_share
        budget = self._simulations(full)
        temperature = config.temperature_at(position.state.ply)
        model = self.model
        if cache is not None:
            model, params = dataclasses.replace(model, evaluator=Cached(model.evaluator)), (params, cache)
        state = self.search.begin(model, params, begin, position, budget)
        state = self.search.extend(model, params, search, state, budget)
        result = self.search.result(choose, state, temperature)
        judged = None if cache is None else reuse.judged(model, state.tree)
        return full, result, state.prior, state.done, judged

    def _aux_targets(self, states: States, ruled: Bool[Array, " B"]) -> dict[str, Array]:
        """Those of the games that ended; they may cost more than a move, and mostly no game ends."""
        if not self.aux_targets:
            return {}

        def read(states: States) -> dict[str, Array]:
            known = jax.vmap(self.model.game.aux_values)(states)
            return {name: known[name].astype(jnp.float16) for name in self.aux_targets}

        nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(read, states))
        return jax.lax.cond(ruled.any(), read, lambda _: nothing, states)

    def _restart(
        self, key: Array, state: SelfplayState, end: Bool[Array, " B"], book: Position | None
    ) -> SelfplayState:
        """A fresh game in the place of each that ended."""

        def fresh(state: SelfplayState) -> SelfplayState:
            return where_lanes(end, self.begin(key, end.shape[0], book), state)

        return jax.lax.cond(end.any(), fresh, lambda s: s, state)


def sharpen(result: SearchResult) -> Float32[Array, "B A"]:
    """The policy to learn: no weight on moves that are proven lost unless all are, nor beside a proven best one."""
    among = sound(result, (result.policy > 0) | result.proven, result.solved)
    policy = jnp.where(among, result.policy, 0.0)
    total = policy.sum(axis=-1, keepdims=True)
    # a policy may be so sure of other moves that it has nothing for the best one
    even = among / jnp.maximum(among.sum(axis=-1, keepdims=True), 1).astype(jnp.float32)
    return jnp.where(total > 0, policy / jnp.maximum(total, jnp.finfo(jnp.float32).tiny), even)


def expected_value(result: SearchResult, policy: Float32[Array, "B A"]) -> Float32[Array, " B"]:
    """What a position is worth to who plays this policy on, as far as the search has tried its moves.

    `SearchResult.worth` says why that is not the mean at the root. It asks the best move alone; here moves are drawn.
    """
    tried = result.visits > 0
    weight, q = jnp.where(tried, policy, 0.0), jnp.where(tried, result.q, 0.0)
    total = weight.sum(axis=-1)
    mean = (weight * q).sum(axis=-1) / jnp.maximum(total, jnp.finfo(jnp.float32).tiny)
    return jnp.where(result.solved | (total <= 0), result.value, mean)


def surprise(policy: Float32[Array, "B A"], prior: Float32[Array, "B A"]) -> Float32[Array, " B"]:
    """How many nats a policy is away from the prior logits, of which those of moves that are no candidates are none."""
    least = jnp.finfo(jnp.float32).tiny
    log_prior = jnp.maximum(jax.nn.log_softmax(prior, axis=-1), jnp.log(least))
    log_policy = jnp.log(jnp.maximum(policy, least))
    return jnp.where(policy > 0, policy * (log_policy - log_prior), 0.0).sum(axis=-1)


def _tally(
    plies: Trajectory,
    result: SearchResult,
    gave_up: Int8[Array, " B"],
    done: Int32[Array, " B"],
    legal: Bool[Array, " B"],
) -> Tally:
    """What one ply of all games adds to the sums."""
    end = plies.discount == 0
    resigned = end & ~plies.ruled
    of_0 = jnp.where(plies.state.to_play == 0, plies.reward, -plies.reward)
    audited = plies.ruled & (gave_up >= 0)
    result_of_loser = jnp.where(gave_up == 0, of_0, -of_0)
    logs = jnp.log(jnp.maximum(result.policy, jnp.finfo(jnp.float32).tiny))

    def total(x: Array) -> Array:
        return x.astype(jnp.float32).sum()

    return Tally(
        plies=jnp.float32(end.shape[0]),
        games=total(end),
        length=total(jnp.where(end, plies.state.ply + plies.ruled, 0)),  # the move that gives up is not played
        wins=total(end & (of_0 > 0)),
        draws=total(end & (of_0 == 0)),
        resigned=total(resigned),
        audited=total(audited),
        false_resigns=total(audited & (result_of_loser >= 0.0)),
        simulations=total(done),  # a solved root ends its search before the budget
        solved=total(plies.solved),
        broken=total(~result.healthy),
        illegal=total(~legal),
        entropy=total(-(result.policy * logs)),
        surprise=total(plies.surprise),
        values=total(plies.value),
        squares=total(plies.value**2),
    )
