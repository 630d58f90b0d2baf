"""Thinking against the clock: limits, stopping, growth, traces, broken evaluators."""

import dataclasses
import functools
import inspect
import threading
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from support import untyped

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.evaluators import Evaluation, Evaluator, Rollout, Uniform
from jaxgo.games import make
from jaxgo.search import Flat, Greedy, Gumbel, Model, Puct, Random, Search, Uct, think
from jaxgo.search.health import EvaluatorError
from jaxgo.search.think import Limit, Thinker
from jaxgo.system import devices

GAME = make("connect4")
MODEL = Model(GAME, Uniform())
UCT = Uct(simulations=64, solver=False)


@functools.cache
def roots(games: int) -> Any:
    return jax.jit(lambda key: MODEL.start(key, games))(jax.random.key(0))


@jax.jit
def moved(position: Any, action: Any) -> Any:
    return MODEL.play(position, action)[0]


def thinker(search: Search = UCT, games: int = 1, model: Model = MODEL, **options: Any) -> Thinker:
    made = Thinker(search, model, (), jax.random.key(1), **options)
    made.begin(roots(games))
    return made


@pytest.mark.slow
def test_a_limit_of_simulations_is_met_exactly():
    snapshot = thinker(games=2).think(Limit(simulations=50))
    assert snapshot.simulations.tolist() == [50, 50]
    assert snapshot.result.visits.sum(axis=1).tolist() == [50, 50]


def test_chunks_change_nothing():
    whole = thinker().think(Limit(simulations=60))
    small = thinker(chunk_seconds=1e-6)
    parts = list(small.watch(Limit(simulations=60)))
    assert len(parts) > 3
    assert parts[-1].result.visits.tolist() == whole.result.visits.tolist()
    counts = [int(part.simulations[0]) for part in parts]
    assert counts == sorted(set(counts))
    # snapshots stay as they were, though the search took their buffers over
    assert [int(part.result.visits.sum()) for part in parts] == counts


def test_it_can_go_on_where_it_stopped():
    once = thinker().think(Limit(simulations=60))
    twice = thinker()
    assert twice.think(Limit(simulations=20)).simulations.tolist() == [20]
    assert twice.think(Limit(simulations=40)).simulations.tolist() == [40]
    assert twice.think(Limit(simulations=1)).result.visits.sum() == once.result.visits.sum() + 1


@pytest.mark.slow
def test_a_limit_of_time_is_kept_within_one_chunk():
    made = thinker(games=8)
    limit = Limit(seconds=0.5)
    made.warm(limit)
    took, last, began = [], 0.0, time.monotonic()
    for snapshot in made.watch(limit):
        took.append(snapshot.seconds - last)
        last = snapshot.seconds
    assert time.monotonic() - began >= 0.5  # the last snapshot was made a moment before
    assert last - took[-1] < 0.5  # the last chunk began in time
    assert snapshot.simulations.min() >= len(took)  # each chunk has one simulation at least, on any machine


def test_chunks_get_shorter_towards_the_end_of_the_time():
    """A machine that gets busy makes a chunk longer than was thought: none may be planned for all the time left."""
    made = thinker()
    made._rate = 1000.0
    for left, most in ((0.8, 400), (0.2, 100), (0.001, 1)):
        began = time.monotonic() - (1.0 - left)
        assert made._next(2000, Limit(seconds=1.0), 0, began) <= most


def test_a_clock_plans_for_what_its_seconds_will_bring():
    """Gumbel halved for its usual budget, however many times as long the clock was."""
    made = thinker()
    assert int(made._plan(Limit(seconds=2.0))) == made.search.budget, "nothing is known yet"
    made._rate = 1000.0
    limits = Limit(seconds=2.0), Limit(seconds=2.0, simulations=100), Limit(simulations=5000), Limit(seconds=1e-6)
    assert [int(made._plan(limit)) for limit in limits] == [1600, 100, 5000, 1]
    assert int(made._plan(None)) == made.search.budget


@pytest.mark.slow
def test_both_limits_the_first_one_counts():
    made = thinker()
    made.warm(Limit(simulations=10))
    assert made.think(Limit(simulations=10, seconds=100.0)).simulations.tolist() == [10]


@dataclasses.dataclass(frozen=True)
class Whole(Random):
    """Runs whole searches only."""

    simulations: int = 3
    resumable = False  # type: ignore[assignment]


@pytest.mark.parametrize("search", [Random(), pytest.param(Greedy(), marks=pytest.mark.slow), Whole()])
def test_what_was_warmed_up_compiles_nothing_more_without_simulations_or_as_a_whole(search):
    made = thinker(search, games=3)
    made.warm(None)
    before = think._result._cache_size(), think._whole._cache_size()
    made.think(Limit(simulations=10))
    assert (think._result._cache_size(), think._whole._cache_size()) == before


def test_what_was_warmed_up_compiles_nothing_more_behind_a_move():
    made = thinker()
    made.warm(Limit(simulations=10))
    played = made.think(Limit(simulations=10)).result.action
    position = moved(roots(1), jnp.asarray(played))
    programs = (think._begin, think._extend, think._result, think._follow)
    before = [program._cache_size() for program in programs]
    made.follow(played, position)
    assert made.think(Limit(simulations=10)).simulations.tolist() == [10]
    assert [program._cache_size() for program in programs] == before


@pytest.mark.slow
@pytest.mark.skipif(jax.default_backend() != "cpu", reason="asks how XLA shares out the work of a processor")
def test_cores_share_no_reads_of_a_single_game_s_tree():
    """Each would wait for the others, for a few numbers of a column that is as long as the tree."""
    search = Uct(simulations=64, nodes=2**18)
    state = jax.eval_shape(lambda: search.begin(MODEL, (), jax.random.key(0), MODEL.start(jax.random.key(0), 1)))
    asked = search, MODEL, (), jax.random.key(0), state, jnp.int32(64)

    def parted(program: Any) -> bool:
        return "outer_dimension_partitions" in program.lower(*asked).compile().as_text()

    assert not parted(think._extend.program(MODEL, (), 1))
    assert parted(think._extend.parted) or devices.cores() == 1, (
        "XLA shares nothing out any more: is `UNPARTED` needed?"
    )
    large = np.zeros(think.LARGE, np.float32)
    assert think._extend.program(MODEL, large, 1) is think._extend.program(MODEL, (), 2) is think._extend.parted
    assert think._extend.program(dataclasses.replace(MODEL, platform="gpu"), (), 1) is think._extend.parted


@pytest.mark.parametrize("temperature", [-1.0, float("nan"), float("inf")])
def test_a_temperature_that_is_none_is_refused(temperature: float):
    with pytest.raises(UsageError, match="temperature of a thinker is a number of at least 0"):
        thinker(temperature=temperature)


@pytest.mark.parametrize(
    "limit", [{"simulations": 50.5}, {"simulations": 50.0}, {"simulations": "9"}, {"seconds": "1"}]
)
def test_a_limit_of_another_kind_is_refused(limit):
    with pytest.raises(UsageError, match=r"not '?(50.[05]|9|1)"):
        untyped(Limit, **limit)


def test_a_thought_without_a_limit_is_refused():
    with pytest.raises(UsageError, match="a thought has a limit"):
        inspect.unwrap(Thinker.think)(thinker(), 10)


@pytest.mark.parametrize("limit", [{}, {"simulations": 0}, {"simulations": 0, "seconds": 0.0}])
def test_no_limit_at_all_is_a_mistake(limit):
    with pytest.raises(UsageError, match="simulations or seconds above 0"):
        Limit(**limit)
    with pytest.raises(UsageError, match="simulations=-1"):
        Limit(simulations=-1, seconds=1.0)


@pytest.mark.slow
def test_stop_from_another_thread_ends_pondering_with_a_legal_move():
    made = thinker(most_bytes=2**20)
    made.warm(None)
    timer = threading.Timer(0.3, made.stop)
    timer.start()
    began = time.monotonic()
    snapshot = made.ponder()
    assert time.monotonic() - began < 30.0
    assert snapshot.simulations[0] > 0
    assert 0 <= snapshot.result.action[0] < 7
    # the next thought does not remember the stop
    assert thinker().think(Limit(simulations=30)).simulations.tolist() == [30]


def test_stop_during_a_thought_ends_it_after_the_chunk():
    made = thinker(chunk_seconds=1e-6)
    seen = []
    for snapshot in made.watch(Limit(simulations=10_000)):
        seen.append(snapshot)
        if len(seen) == 2:
            made.stop()
    assert len(seen) == 2


def test_a_second_thought_at_once_is_refused():
    made = thinker()
    watching = made.watch(Limit(simulations=1000))
    next(watching)
    for second in (lambda: made.think(Limit(simulations=5)), made.ponder, lambda: made.begin(roots(1))):
        with pytest.raises(UsageError, match="thinking already"):
            second()
    watching.close()
    assert made.think(Limit(simulations=5)).simulations.tolist() == [5]


def test_there_must_be_a_position():
    with pytest.raises(UsageError, match="call begin first"):
        Thinker(UCT, MODEL, (), jax.random.key(0)).think(Limit(simulations=1))


# -- traces and growth -----------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Counted(Evaluator):
    """Uniform, and counts how often it is traced."""

    name: str

    def __call__(self, game: Game[Any], params: Any, key: Array, states: Any) -> Evaluation:
        TRACES[self.name] = TRACES.get(self.name, 0) + 1
        return Uniform()(game, params, key, states)


TRACES: dict[str, int] = {}


def test_budgets_limits_and_chunks_do_not_trace_again():
    search, model = Uct(simulations=200, solver=False), Model(GAME, Counted("budgets"))
    thinker(search, model=model).think(Limit(simulations=20))
    once = TRACES["budgets"]
    for chunk_seconds, simulations in ((1e-6, 33), (1.0, 47), (0.1, 150)):
        thinker(search, model=model, chunk_seconds=chunk_seconds).think(Limit(simulations=simulations))
    thinker(Uct(simulations=200, solver=False), model=Model(make("connect4"), Counted("budgets"))).think(
        Limit(simulations=5)
    )
    assert TRACES["budgets"] == once


def test_a_tree_grows_by_doubling_and_forgets_nothing():
    small = thinker(Uct(simulations=8, solver=False), chunk_seconds=1e-6)
    snapshot = small.think(Limit(simulations=40))
    assert snapshot.result.visits.sum() == 40
    assert small.state.tree.visits.shape[1] == 9 * 8
    # a larger tree from the start finds the same
    large = thinker().think(Limit(simulations=40))
    assert snapshot.result.visits.tolist() == large.result.visits.tolist()


@pytest.mark.slow
def test_a_tree_with_fixed_room_or_no_memory_stops_when_it_is_full():
    fixed = thinker(Uct(simulations=8, nodes=20, solver=False)).think(Limit(simulations=40))
    assert fixed.simulations.tolist() == [19]
    poor = thinker(Uct(simulations=8, solver=False), most_bytes=1).think(Limit(simulations=40))
    assert poor.simulations.tolist() == [8]


@pytest.mark.slow
def test_a_clock_is_not_spent_on_making_room(monkeypatch):
    """Another room is another program to compile: there is room from the start, whatever the game keeps later."""
    monkeypatch.setattr(think, "MOST_AHEAD", 64)
    limit = Limit(simulations=60, seconds=5.0)
    made = thinker(Uct(simulations=8, solver=False))
    made.warm(limit)
    room = made.tree.visits.shape[1]
    after = made.think(limit).result.action
    made.follow(after, moved(roots(1), jnp.asarray(after)))
    assert int(made.think(limit).simulations[0]) == 60
    assert made.tree.visits.shape[1] == room == 9 * 16
    for seconds, found in ((1.0, 9 * 8 - 1), (5.0, 9 * 64 - 1)):  # thoughts of up to ten seconds had the room of one
        only_time = thinker(Uct(simulations=8, solver=False))
        only_time.warm(Limit(seconds=seconds))
        assert only_time.think(Limit(seconds=seconds)).simulations.tolist() == [found], "full, and too late to grow"


@pytest.mark.slow
def test_pondering_ends_by_itself_when_all_is_known():
    game = make("minerace", board="..-.I")
    model = Model(game, Uniform())
    made = Thinker(Uct(simulations=8), model, (), jax.random.key(0))
    made.begin(jax.jit(lambda key: model.start(key, 1))(jax.random.key(0)))
    snapshot = made.ponder()
    assert snapshot.result.solved.all()
    assert abs(float(snapshot.result.value[0])) == 1.0


def test_a_game_is_drawn_by_its_own_key_whatever_was_thought_before():
    """Players by the clock began each of their games with the same key."""
    limit = Limit(simulations=50)
    used = Thinker(UCT, MODEL, (), jax.random.key(1))
    used.begin(roots(1))
    used.think(limit)
    used.begin(roots(1), jax.random.key(5))
    fresh = Thinker(UCT, MODEL, (), jax.random.key(5))
    fresh.begin(roots(1))
    assert used.think(limit).result.visits.tolist() == fresh.think(limit).result.visits.tolist()
    assert used._key_of(0) == fresh._key_of(0) != thinker()._key_of(0)


# -- following the game ----------------------------------------------------------------------------------------


def test_the_tree_follows_the_game_over_two_moves():
    made = thinker()
    first = made.think(Limit(simulations=64))
    a = jnp.asarray(first.result.action)
    after = moved(roots(1), a)
    tree = made.state.tree
    child = int(tree.child[0, 0, int(a[0])])
    reply = jnp.asarray(np.array(jax.device_get(tree.visits))[0][np.asarray(tree.child[0, child])].argmax())[None]
    grandchild = int(tree.child[0, child, int(reply[0])])
    kept = int(tree.visits[0, grandchild])
    made.follow(a, after)
    made.follow(reply.astype(jnp.int32), moved(after, reply.astype(jnp.int32)))
    second = made.think(Limit(simulations=10))
    assert kept > 1
    assert second.simulations.tolist() == [10]
    assert int(made.state.tree.visits[0, 0]) == kept + 10
    assert int(made.root.state.ply[0]) == 2


def test_an_interruption_while_it_follows_plays_no_move_twice(monkeypatch):
    made = thinker()
    made.think(Limit(simulations=64))
    middle = jnp.array([3], jnp.int32)
    after = moved(roots(1), middle)
    made.follow(middle, after)
    made.follow(middle, moved(after, middle))
    follow, calls = think._follow, []

    def interrupted(*args):
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return follow(*args)

    monkeypatch.setattr(think, "_follow", interrupted)
    with pytest.raises(KeyboardInterrupt):
        made.think(Limit(simulations=10))
    made.think(Limit(simulations=10))
    assert len(calls) == 3
    assert int(made.root.state.ply[0]) == int(made.tree.states.ply[0, 0]) == 2


# -- searches without chunks -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("search", [Random(), Greedy(), Flat(simulations=16)])
def test_searches_of_every_kind_think(search):
    snapshot = thinker(search, games=2).think(Limit(simulations=16))
    assert snapshot.simulations.tolist() == [search.budget] * 2
    assert ((snapshot.result.action >= 0) & (snapshot.result.action < 7)).all()


@pytest.mark.slow
@pytest.mark.parametrize("search", [Gumbel(simulations=32), Puct(simulations=32, parallel_leaves=4)])
def test_chunks_change_nothing_for_rounds_of_several_leaves(search):
    model = Model(GAME, Rollout())
    whole = thinker(search, games=2, model=model, chunk_seconds=100.0).think(Limit(simulations=32))
    parts = thinker(search, games=2, model=model, chunk_seconds=1e-6).think(Limit(simulations=32))
    assert parts.result.visits.sum(axis=1).tolist() == [32, 32]
    if not isinstance(search, Gumbel):  # a round of Gumbel that is cut draws other playouts
        assert parts.result.visits.tolist() == whole.result.visits.tolist()


# -- broken numbers --------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Broken(Evaluator):
    """NaN after the second move in the last column, in the third game of the batch only."""

    number: str  # a word, because numbers of an evaluator are finite

    def __call__(self, game: Game[Any], params: Any, key: Array, states: Any) -> Evaluation:
        games = states.ply.shape[0]
        bad = (jnp.arange(games) == 2) & (states.ply >= 2)
        return Evaluation(jnp.zeros((games, game.num_actions)), jnp.where(bad, float(self.number), 0.0))


@pytest.mark.slow
@pytest.mark.parametrize("number", ["nan", "inf"])
def test_broken_numbers_are_reported_by_game_lane_and_evaluator(number):
    made = thinker(games=4, model=Model(GAME, Broken(number)))
    with pytest.raises(EvaluatorError) as caught:
        made.think(Limit(simulations=40))
    said = str(caught.value)
    assert "Broken" in said
    assert "ConnectFour" in said
    assert "in lane 2 of 4" in said
    assert isinstance(caught.value, UsageError), "programs would answer with a traceback"


def test_a_clock_that_stands_still_for_a_chunk_is_no_fault(monkeypatch):
    """That of Windows moves every 16 ms."""
    made = thinker()
    made.warm(Limit(simulations=10))
    monkeypatch.setattr(think.time, "monotonic", lambda: 7.0)
    assert made.think(Limit(simulations=50)).simulations.tolist() == [50]


def test_a_clock_plans_by_what_was_searched_and_not_by_what_was_asked_for(monkeypatch):
    """A chunk that filled the tree, or proved all, counted as a whole one: Gumbel halved for many times as many."""
    made = thinker(most_bytes=1)
    monkeypatch.setattr(think.time, "monotonic", lambda: 7.0)
    assert made.think(Limit(simulations=1000)).simulations.tolist() == [64], "as many as there is room for: 16, 32, 16"
    assert made._rate == pytest.approx(16 / 1e-6)
