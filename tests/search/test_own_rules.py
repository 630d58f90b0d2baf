"""Rules of people outside the package that break what every search takes for granted: one sentence says how."""

import dataclasses
import functools
import subprocess
import sys
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from examples.own_game import Nim
from jaxgo.arena.match import Pool
from jaxgo.core import play, trial
from jaxgo.core.board import Symmetries
from jaxgo.core.errors import UsageError
from jaxgo.core.game import AuxTarget
from jaxgo.evaluators import Uniform
from jaxgo.games import GAMES, make
from jaxgo.games.names import describe_options, name_of, read_game
from jaxgo.nets import Mlp, ResNet
from jaxgo.nets.base import planes_shape
from jaxgo.players import load_player
from jaxgo.records.text_file import movers
from jaxgo.search import AlphaBeta, Flat, Greedy, Model, Random, Uct, health
from jaxgo.selfplay import Selfplay, SelfplayConfig
from jaxgo.solvers.retrograde import solve_game
from jaxgo.system.devices import make_mesh
from jaxgo.training import ready
from jaxgo.training.config import TrainConfig
from jaxgo.training.trainer import Trainer


@dataclasses.dataclass(frozen=True)
class Sound(Nim):
    heaps: tuple[int, ...] = (1, 1)
    most: int = 1


@dataclasses.dataclass(frozen=True)
class Stuck(Sound):
    """Who cannot move goes on all the same."""

    def over(self, state: Any) -> Any:
        return jnp.bool_(False)


SEARCHES = [Greedy(), Random(), Flat(2), Uct(4)]


@pytest.mark.slow
@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
def test_a_live_position_without_a_move_is_no_healthy_one(search):
    game = Stuck()
    model = Model(game, Uniform())
    start = model.start(jax.random.key(0), 1)
    empty = model.positions(start.state._replace(heaps=jnp.zeros_like(start.state.heaps)))
    run = jax.jit(lambda root: search.run(model, (), jax.random.key(1), root).healthy)
    assert run(empty).tolist() == [False]
    # below the root, where a search makes moves at all
    assert run(start).tolist() == [not isinstance(search, Uct)]


def test_random_games_tell_whose_fault_broken_numbers_are():
    game = Stuck()
    with pytest.raises(UsageError, match=r"Stuck.* goes on and has no legal action, after 2 random moves; let `over`"):
        health.told(Model(game, Uniform()), "in a match")
    assert "infinite numbers in a match, or the game went on" in health.told(Model(Sound(), Uniform()), "in a match")
    assert health.told(Model(GAMES["tictactoe"], Uniform()), "there") == (
        "Uniform() gave NaN or infinite numbers there; look at its parameters"
    )
    trial.check(Sound())


@dataclasses.dataclass(frozen=True)
class Lasting(Sound):
    """Promises to end after one move, and ends after two."""

    max_plies = property(lambda self: 1)


def test_a_game_that_outlasts_its_plies_is_refused_before_a_run_and_a_match():
    game = Lasting()
    players = [load_player(name, game) for name in ("random", "greedy")]
    config = TrainConfig(game, net=Mlp(4, 1))
    for begin in (
        lambda: Pool(players, 1),
        lambda: Trainer(config, make_mesh()).game,
        lambda: ready.check(Trainer(config, make_mesh())),
    ):
        with pytest.raises(UsageError, match="goes on after 1 random moves, as many as its max_plies; raise max_plies"):
            begin()
    assert movers(game, [0, 1]) == [0, 1], "a file of its games can be written all the same"


def test_a_table_does_not_call_a_position_without_a_move_a_draw():
    with pytest.raises(UsageError, match="has positions that go on and have no legal action, 1 of 4; let `over`"):
        solve_game(Stuck())


@pytest.mark.slow
def test_an_environment_without_a_legal_action_is_not_healthy():
    def step(params: Any, state: Any, action: Any) -> Any:
        return state + 1, 0.0, 1.0

    def judge(params: Any, key: Any, states: Any) -> Any:
        return jnp.zeros((states.shape[0], 2)), jnp.zeros(states.shape[0])

    model = Model.from_functions(step, judge, 2, legal=lambda state: jnp.zeros(2, bool))
    root = model.positions(jnp.zeros(1))
    found = jax.jit(lambda: Uct(2).run(model, (), jax.random.key(0), root))()
    with pytest.raises(health.EvaluatorError, match="or the game went on without a legal action; look at"):
        health.check(model, found)


@dataclasses.dataclass(frozen=True)
class Priceless(Sound):
    """Nobody knows what its ends are worth, where they come later than from the start."""

    def returns(self, state: Any) -> Any:
        return jnp.where(state.ply > 2, jnp.nan, super().returns(state))


@pytest.mark.slow
@pytest.mark.parametrize("search", [Uct(8), AlphaBeta(100)], ids=lambda search: type(search).__name__)
def test_a_result_that_is_no_number_is_not_healthy(search):
    model = Model(Priceless(), Uniform())
    start = model.start(jax.random.key(0), 1).state
    late = model.positions(start._replace(ply=start.ply + jnp.int16(1)))
    found = jax.jit(lambda: search.run(model, (), jax.random.key(0), late))()
    assert jnp.isfinite(found.value).all()
    with pytest.raises(health.EvaluatorError, match="or the rules gave NaN or infinite numbers for Priceless"):
        health.check(model, found)


@pytest.mark.slow
@pytest.mark.parametrize("broken", [(jnp.inf, 1.0), (0.0, jnp.nan)], ids=["reward", "discount"])
def test_pay_that_is_no_number_is_not_healthy(broken):
    def step(params: Any, state: Any, action: Any) -> Any:
        return state + 1, *(jnp.where(state > 0, wrong, 1.0) for wrong in broken)

    def judge(params: Any, key: Any, states: Any) -> Any:
        return jnp.zeros((states.shape[0], 2)), jnp.zeros(states.shape[0])

    model = Model.from_functions(step, judge, 2)
    found = jax.jit(lambda: Uct(8).run(model, (), jax.random.key(0), model.positions(jnp.zeros(1))))()
    assert jnp.isfinite(found.value).all()
    with pytest.raises(health.EvaluatorError, match="at what the rules pay"):
        health.check(model, found)


class Lists(NamedTuple):
    heaps: Any
    to_play: Any
    ply: Any
    done: Any = False


WRONG = {
    "over": (lambda state: jnp.zeros(3, bool), r"over of Wrong gives bool\[3\] for one position; bool\[\] is needed"),
    "legal": (lambda state: jnp.ones(2), r"legal of Wrong gives float32\[2\] for one position; bool\[2\] is needed"),
    "returns": (lambda state: [1.0, -1.0], r"returns of Wrong gives a list for one position; float32\[2\] is needed"),
    "step": (lambda state, action: tuple(state), "step of Wrong gives a tuple of other parts than init, which gives"),
    "init": (
        lambda key: Lists(jnp.ones(2), jnp.int8(0), jnp.int16(0)),
        "init of Wrong gives done as a plain bool; make",
    ),
    "observe": (
        lambda state: jnp.ones((2, 1)),
        r"observe of Wrong gives float32\[2, 1\] .* numbers\[2, 1, C\] is needed",
    ),
    "hash": (lambda state: jnp.uint32(1), r"hash of Wrong gives uint32\[\] for one position; uint32\[2\] is needed"),
    "cells": (lambda state: jnp.zeros(3, jnp.int8), r"cells of Wrong gives int8\[3\] .*; whole\[2\] is needed"),
    "action_name": (lambda action: f"take {action}", "calls action 0 'take 0'; make it one word, without blanks"),
    "symmetries": (lambda: {}["none"], r"symmetries of Wrong fails \(KeyError: 'none'\); mend it"),
}
FAILING = {
    "legal": lambda state: state.piles > 0,
    "init": lambda key: (jnp.int8(0),),
}


def wrong(method: str, rule: Any) -> Any:
    made = type("Wrong", (Sound,), {method: lambda self, *given: rule(*given)})
    return dataclasses.dataclass(frozen=True)(made)()


@pytest.mark.parametrize("method", WRONG)
def test_rules_of_other_shapes_and_types_are_told_by_their_method(method):
    rule, said = WRONG[method]
    model = Model(wrong(method, rule), Uniform())
    with pytest.raises(UsageError, match=said):
        model.start(jax.random.key(0), 1)


def test_names_that_are_no_names_of_their_own_are_refused():
    """Moves that are written down would be read as others."""
    for names, said in (("aA", "calls actions 0 and 1 'A', as case"), (range(2), "calls action 0 0; make it one word")):
        with pytest.raises(UsageError, match=said):
            trial.check_shapes(wrong("action_name", lambda action, names=names: names[action]))
    with pytest.raises(UsageError, match=r"action_name of Wrong fails at 1 \(IndexError: .*\); mend it"):
        trial.check_shapes(wrong("action_name", lambda action: "a"[action]))


@pytest.mark.parametrize(
    ("attribute", "value", "said"),
    [
        ("players", 3, "players=3; games here are of two, who play against each other, or of 1"),
        ("repetition", "threefold", "unknown repetition of .*'threefold'; choose one of: none, forbidden, draw, loss"),
        ("pieces", (), "Wrong has no `pieces`; give it the look of each code of `cells`"),
    ],
)
def test_what_a_game_says_of_itself_is_looked_at(attribute, value, said):
    game = wrong("cells", lambda state: state.heaps)
    setattr(type(game), attribute, value)
    with pytest.raises(UsageError, match=said):
        Model(game, Uniform()).start(jax.random.key(0), 1)


@pytest.mark.parametrize(
    ("targets", "values", "said"),
    [
        ([("value", "number")], {}, "aux_targets of Wrong has the name 'value' twice, or it is one of policy, value"),
        ([("left", "number")] * 2, {}, "has the name 'left' twice"),
        ([("norm_in0", "number")], {}, "has the name 'norm_in0', as a layer of a net has"),
        ([("left", "number")], {}, r"aux_values of Wrong gives nothing for 'left'; float32\[\] is needed"),
        ([("left", "cells")], {"left": (1, 2)}, r"gives float32\[1, 2\] for 'left'; float32\[2\] is needed"),
    ],
)
def test_what_a_game_teaches_besides_is_looked_at(targets, values, said):
    """A value of another shape would be stretched over the batch, and learnt as a mixture of it."""
    game = wrong("aux_targets", lambda: tuple(AuxTarget(*target) for target in targets))
    given = {name: jnp.zeros(shape) for name, shape in values.items()}
    type(game).aux_values = lambda self, state: given
    with pytest.raises(UsageError, match=said):
        trial.check_shapes(game)


@pytest.mark.parametrize(
    "net", [Mlp(width=4, blocks=1), ResNet(channels=4, blocks=1, pool_every=1)], ids=["mlp", "resnet"]
)
def test_names_of_layers_are_taken(net):
    game = GAMES["kono"]  # whose actions are no cells
    begin = functools.partial(net.module(game).init, jax.random.key(0))
    layers = jax.eval_shape(begin, jnp.zeros((1, *planes_shape(game))))["params"]
    assert [name for name in layers if name not in trial.TAKEN and not trial.NUMBERED.fullmatch(name)] == []


def test_a_code_without_a_piece_is_told_when_it_is_drawn():
    game = wrong("cells", lambda state: state.heaps + 7)
    with pytest.raises(UsageError, match="cells of Wrong gives 8, and its last piece is"):
        play.cells(game, game.init(jax.random.key(0)))


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("legal", "legal of Wrong cannot be traced by JAX .AttributeError: .* no attribute 'piles'.; mend it"),
        ("init", "init of Wrong gives no whole number `to_play`; return a NamedTuple of arrays"),
    ],
)
def test_rules_that_fail_are_told_by_their_method(method, said):
    with pytest.raises(UsageError, match=said):
        trial.check(wrong(method, FAILING[method]))


def test_states_that_only_a_part_of_the_parts_can_hold_are_refused():
    class Keyed(NamedTuple):
        luck: Any
        to_play: Any
        ply: Any

    def plain(key: Any) -> Any:
        made = dataclasses.make_dataclass("Plain", [("to_play", Any), ("ply", Any)])
        return jax.tree_util.register_dataclass(made, ["to_play", "ply"], [])(jnp.int8(0), jnp.int16(0))

    def keyed(key: Any) -> Any:
        return Keyed(key, jnp.int8(0), jnp.int16(0))

    for init, said in (
        (keyed, "a key of randomness, luck; keep its words"),
        (plain, "a Plain; return a NamedTuple of arrays"),
    ):
        with pytest.raises(UsageError, match=f"init of Wrong gives .*{said}"):
            trial.check_shapes(wrong("init", init))


@pytest.mark.parametrize("repetition", ["none", "loss"])
def test_seats_may_be_counted_in_wider_numbers(repetition):
    wide = dataclasses.dataclass(frozen=True)(
        type(
            "Counting",
            (Sound,),
            {
                "repetition": repetition,
                "init": lambda self, key: Sound().init(key)._replace(to_play=jnp.int32(0)),
            },
        )
    )()
    trial.check(wide)
    player = Selfplay(Random(), Model(wide, Uniform()), SelfplayConfig(games=2, steps=2))
    state = jax.eval_shape(lambda key: player.begin(key, 2), jax.random.key(0))
    after, _, _ = jax.eval_shape(lambda state, key: player.collect((), state, key), state, jax.random.key(1))
    assert after.gave_up.dtype == jnp.int8


def test_rules_that_searches_can_do_without_may_be_missing():
    def missing(state: Any) -> Any:
        raise NotImplementedError

    trial.check_shapes(wrong("observe", missing))
    trial.check_shapes(Sound())


@pytest.mark.slow
def test_commands_look_at_rules_without_asking_for_a_device():
    code = """
from jaxgo.core import trial
from jaxgo.games.names import read_game
from jax._src import xla_bridge
read_game("examples.own_game:Nim")
print(trial.check_shapes.cache_info().currsize, xla_bridge.backends_are_initialized())
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "1 False\n"


def test_a_position_of_other_arrays_than_a_start_is_refused():
    model = Model(Sound(), Uniform())
    start = model.start(jax.random.key(0), 1)
    wide = start.state._replace(heaps=start.state.heaps.astype(jnp.int32))
    for use in (
        lambda: model.positions(wide),
        lambda: Uct(4).begin(model, (), jax.random.key(0), start._replace(state=wide)),
    ):
        with pytest.raises(UsageError, match=r"a position for Sound is made of int32\[2\], .* give one of this game"):
            use()


class HalfPoints(Sound):
    def returns(self, state: Any) -> Any:
        return (super().returns(state) + 1) / 2


class Unknown(Sound):
    def returns(self, state: Any) -> Any:
        return super().returns(state) * jnp.nan


class TenPoints(Sound):
    def returns(self, state: Any) -> Any:
        return 10 * super().returns(state)


class OneTwo(Sound):
    """Calls its seats 1 and 2."""

    def init(self, key: Any) -> Any:
        return super().init(key)._replace(to_play=jnp.int8(1))

    def step(self, state: Any, action: Any) -> Any:
        return super().step(state, action)._replace(to_play=jnp.int8(3) - state.to_play)

    def returns(self, state: Any) -> Any:
        return jnp.where(state.to_play == 1, jnp.float32([-1, 1]), jnp.float32([1, -1]))


class Uncounted(Sound):
    def step(self, state: Any, action: Any) -> Any:
        return super().step(state, action)._replace(ply=state.ply)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (Uncounted, r"step of Uncounted.* does not count `ply`; let it add 1 at every action"),
        (HalfPoints, r"HalfPoints.* ends a random game with returns of \[.*\]; let `returns` give each seat"),
        (Unknown, r"Unknown.* ends a random game with returns of \[nan, nan\]"),
        (TenPoints, r"TenPoints.* ends a random game with returns of \[-?10.0, -?10.0\]"),
        (OneTwo, r"OneTwo.* has to_play=2 in a random game; number its 2 seats from 0 on"),
    ],
)
def test_results_and_seats_that_break_the_sign_law_are_refused(rules, said):
    """A search would prove what is not so: a loss of HalfPoints is worth as much as a draw."""
    with pytest.raises(UsageError, match=said):
        trial.check(rules())


@pytest.mark.parametrize(
    ("cells", "actions", "said"),
    [
        ([[0, 1, 2, 3]], [[0, 1]], r"gives cells of shape \[1, 4\]; \[symmetries, 2\] is needed"),
        ([[0, 1], [0, 0]], [[0, 1], [0, 1]], r"gives cells with a row that has some of 0 to 1 twice"),
        ([[0, 1], [1, 0]], [[1, 0], [0, 1]], r"gives actions with .* first row is not these numbers in order"),
        ([[0, 1], [1, 0]], [[0, 1]], r"gives actions of shape \[1, 2\]"),
    ],
)
def test_symmetries_that_are_none_are_refused(cells, actions, said):
    tables = Symmetries(np.array(cells, np.int32), np.array(actions, np.int32))
    rules = type("Turned", (Sound,), {"symmetries": lambda self: tables})
    with pytest.raises(UsageError, match=said):
        trial.check_shapes(rules())


@dataclasses.dataclass(frozen=True)
class Club(Nim):
    """Its options do not take every value, and one of them follows from the others."""

    rate: float = 1
    least: int = 1
    matches: int = dataclasses.field(init=False, default=0)

    def __post_init__(self) -> None:
        if self.least > self.most:
            raise ValueError("least is above most")
        object.__setattr__(self, "matches", sum(self.heaps))


def test_options_of_a_game_of_ones_own_are_those_that_can_be_given(monkeypatch):
    monkeypatch.setitem(GAMES, "club", Club(most=1))
    monkeypatch.setitem(GAMES, "big-club", Club(most=9, least=5))
    assert make("club", heaps=(2, 2)).matches == 4
    assert make("big-club", most=7) == Club(most=7, least=5)
    assert read_game("club", ["rate=1.5"]) == make("club", rate=1.5) == Club(most=1, rate=1.5)
    assert describe_options(make("club")) == "heaps=1,3,5 most=1 rate=1 least=1"
    assert name_of(Club(most=1, rate=2.5)) == ("club", {"rate": 2.5})
