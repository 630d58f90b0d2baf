"""Games, nets, searches and evaluators of people outside the package, by the place where they are written."""

import dataclasses
import inspect
import json
import sys
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import jaxgo
from examples.own_game import Nim
from jaxgo import evaluators, games, nets, search
from jaxgo.cli import solve, train_words
from jaxgo.core import game as game_of
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.names import place_of, resolve
from jaxgo.core.words import read_value, write_settings
from jaxgo.evaluators import Heuristic
from jaxgo.games.dodgem import Dodgem
from jaxgo.games.kamisado.rules import Kamisado
from jaxgo.games.mnk import Mnk
from jaxgo.games.names import describe_options, name_of, read_game
from jaxgo.nets import Head, Mlp
from jaxgo.players import Player, load_player
from jaxgo.search import Greedy, Gumbel, think
from jaxgo.selfplay import Selfplay, SelfplayConfig
from jaxgo.training.config import TargetsConfig, TrainConfig, from_json, to_json

HERE = __name__
GAME = games.make("tictactoe")
HEADS = (Head("short", "values", 2), Head("reply", "policy"))
PLANES = jnp.zeros((5, 3, 3, 2))


@dataclasses.dataclass(frozen=True)
class Heaped(Mnk):
    """A game with an option that JSON makes a list of."""

    heaps: tuple[int, ...] = (1, 3, 5)


def test_options_come_back_out_of_json_as_tuples():
    name, options = name_of(Heaped(heaps=(2, 4)))
    assert games.make(name, **json.loads(json.dumps(options))) == Heaped(heaps=(2, 4))


@dataclasses.dataclass(frozen=True)
class Wide(Mnk):
    """A game of somebody's own."""

    width: int = 4


@dataclasses.dataclass(frozen=True)
class Lazy(Greedy):
    """A search of somebody's own."""

    naps: int = 2


@dataclasses.dataclass(frozen=True)
class Steady(Greedy):
    """One that always makes as many simulations."""

    @property
    def budget(self) -> int:
        return 3


class Base(Game[Any]):
    """All of a game but its options."""

    shape, num_actions, max_plies = (3, 3), 9, 9
    init, legal, step, over, returns = Mnk.init, Mnk.legal, Mnk.step, Mnk.over, Mnk.returns
    observe, cells, hash, pieces = Mnk.observe, Mnk.cells, Mnk.hash, Mnk.pieces


@dataclasses.dataclass
class Loose(Base):
    """A game whose options could be changed behind the back of its programs."""

    height: int = 3
    width: int = 3
    k: int = 3


@dataclasses.dataclass(frozen=True)
class Listed(Mnk):
    heaps: Any = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Noted(Greedy):
    notes: Any = dataclasses.field(default_factory=lambda: np.zeros(2))


@dataclasses.dataclass(frozen=True)
class Long(Mnk):
    plies: Any = 40_000
    max_plies = property(lambda self: self.plies)


@dataclasses.dataclass(frozen=True)
class Done(Nim):
    over = property(lambda self: lambda state: jnp.bool_(True))


class Sunny(Heuristic):
    """An evaluator of somebody's own."""


@dataclasses.dataclass(frozen=True)
class Loud(Heuristic):
    notes: Any = dataclasses.field(default_factory=list)


class Linen(nn.Module):
    """Knows of a further head, and of one that nobody asks for."""

    actions: int = 9
    width: int = 8
    kernels: tuple[tuple[int, int], ...] = ()  # what JSON makes lists of lists of
    kept: Any = "float32"

    @nn.compact
    def __call__(self, planes: Any) -> Any:
        x = nn.relu(nn.Dense(self.width, param_dtype=self.kept)(planes.reshape(planes.shape[0], -1)))
        value = nn.tanh(nn.Dense(1)(x)[:, 0])
        return nn.Dense(self.actions)(x), value, {"reply": nn.Dense(self.actions)(x), "mood": value}


class Tabled(nn.Module):
    """Keeps numbers beside what it learns as if it learnt them."""

    @nn.compact
    def __call__(self, planes: Any) -> Any:
        table = self.param("table", lambda key: jnp.arange(9))
        x = planes.reshape(planes.shape[0], -1)
        return nn.Dense(9)(x) + table[None], nn.tanh(nn.Dense(1)(x)[:, 0])


class Nnx(nnx.Module):
    def __init__(self, game: Any, rngs: nnx.Rngs) -> None:
        layers = [nnx.Linear(18, 8, rngs=rngs), nnx.Linear(8, game.num_actions + 1, rngs=rngs)]
        self.inner = nnx.List(layers)

    def __call__(self, planes: Any) -> Any:
        x = self.inner[1](nnx.relu(self.inner[0](planes.reshape(planes.shape[0], -1))))
        return x[:, :-1], jnp.tanh(x[:, -1])


def built(game: Any) -> nn.Module:
    return Linen(actions=game.num_actions)


def stateful(game: Any, rngs: nnx.Rngs) -> nnx.Module:
    module = Nnx(game, rngs)
    module.norm = nnx.BatchNorm(3, rngs=rngs)
    return module


class Dropping(Linen):
    """Drops units at random, also where a search asks."""

    @nn.compact
    def __call__(self, planes: Any) -> Any:
        return super().__call__(nn.Dropout(0.5, deterministic=False)(planes))


class Trained(Linen):
    """Wants to know more than the planes."""

    def __call__(self, planes: Any, train: bool) -> Any:
        return super().__call__(planes)


class Odd(Linen):
    """Gives a third result that is no dict."""

    @nn.compact
    def __call__(self, planes: Any) -> Any:
        logits, value, _ = super().__call__(planes)
        return logits, value, value


class Gameless(Nnx):
    def __init__(self, rngs: nnx.Rngs) -> None:
        super().__init__(GAME, rngs)


class Plain:
    """No module at all."""


def wider(game: Any, width: int) -> nn.Module:
    return Linen(width=width)


def brittle(game: Any) -> nn.Module:
    return Linen(width=game.komi)


def formless(game: Any) -> None:
    """Makes nothing."""


class Empty(nn.Module):
    """A net that finds all moves equal, and has nothing to learn."""

    @nn.compact
    def __call__(self, planes: Any) -> Any:
        return jnp.zeros((len(planes), 9)), jnp.zeros(len(planes))


def crossed(game: Any, rngs: nnx.Rngs) -> nn.Module:
    return Linen()


made = Nnx(GAME, nnx.Rngs(3))


def test_a_place_and_what_stands_there_name_each_other():
    for value in (Wide, built, made, TrainConfig):
        assert resolve(place_of(value)) is value
    assert place_of(Wide) == f"{HERE}:Wide"
    with pytest.raises(UsageError, match="cannot be found again by a name; define it at the top of a module"):
        place_of(lambda: 0)
    with pytest.raises(UsageError, match=r"game 'nowhere\.at:All': nowhere\.at cannot be imported"):
        games.make("nowhere.at:All")
    with pytest.raises(UsageError, match=rf"game '{HERE}:Nothing': {HERE} has no Nothing"):
        games.make(f"{HERE}:Nothing")


def test_a_program_that_runs_is_found_by_the_name_it_would_be_imported_by(tmp_path, monkeypatch):
    """Its classes are those that it made itself, and not those of a second import."""
    (tmp_path / "own.py").write_text(
        "import sys\nfrom jaxgo.core.names import place_of, resolve\nclass Thing: pass\n"
        "print(place_of(Thing), resolve('own:Thing') is Thing, 'own' in sys.modules)\n"
    )
    import subprocess

    out = subprocess.run([sys.executable, "own.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert out.stdout == "own:Thing True False\n"
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="own has no Other"):
        resolve("own:Other")


def test_games_by_place_and_by_registration(monkeypatch):
    assert games.make(f"{HERE}:Wide", k=2) == Wide(k=2)
    assert read_game(f"{HERE}:Wide", ["k=2"]) == Wide(k=2)
    assert name_of(Wide(k=2)) == (f"{HERE}:Wide", {"k": 2})
    with pytest.raises(UsageError, match="is no game: make it a frozen dataclass that inherits"):
        games.make(f"{HERE}:Sunny")
    monkeypatch.setattr(games, "GAMES", dict(games.GAMES))
    jaxgo.register("wide", Wide())
    assert games.make("wide", k=2) == Wide(k=2)
    with pytest.raises(UsageError, match="'go9' is a registered game already"):
        jaxgo.register("go9", Wide())
    with pytest.raises(UsageError, match="cannot be the name of a game; take one word"):
        jaxgo.register("my:game", Wide())
    for name in ("../wide", "a/b", "..", ""):  # runs of it would lie anywhere
        with pytest.raises(UsageError, match="cannot be the name of a game"):
            jaxgo.register(name, Wide())
    with pytest.raises(UsageError, match="3 cannot be the name of a game"):
        inspect.unwrap(jaxgo.register)(3, Wide())
    with pytest.raises(UsageError, match="is no game"):
        jaxgo.register("x", Sunny())


@pytest.mark.parametrize("name", ["Loose", "Listed"])
def test_a_game_that_programs_cannot_be_kept_by_is_refused_wherever_one_is_taken(name):
    game = globals()[name]()
    for take in (
        lambda: games.find(f"{HERE}:{name}"),
        lambda: read_game(f"{HERE}:{name}"),
        lambda: jaxgo.register("loose", game),
        lambda: load_player("random", game),
        lambda: search.Model(game, Heuristic()),
    ):
        with pytest.raises(UsageError, match=r"is no game: make it a frozen .*, of fields that can be hashed"):
            take()
    assert "loose" not in games.GAMES


@pytest.mark.parametrize("plies", [40_000, 32_768, 0, -1, 9.0, True, None])
def test_a_game_of_more_plies_than_are_counted_is_refused(plies):
    assert game_of.check(Long(plies=32_767)) is None
    for take in (
        lambda: games.find(f"{HERE}:Long"),
        lambda: jaxgo.register("long", Long(plies=plies)),
        lambda: search.Model(Long(plies=plies), Heuristic()),
    ):
        with pytest.raises(UsageError, match=r"max_plies=.*, which is no whole number from 1 to 32,767"):
            take()


def test_a_game_that_is_over_at_its_start_has_nothing_to_solve():
    with pytest.raises(UsageError, match="Done is over at its start, so there is nothing to solve"):
        solve.Solve(f"{HERE}:Done").run()


def test_a_search_that_programs_cannot_be_kept_by_is_refused_wherever_one_is_taken():
    for take in (
        lambda: search.find(f"{HERE}:Noted"),
        lambda: load_player(f"{HERE}:Noted", GAME),
        lambda: Player(Noted(), search.Model(GAME, Heuristic())),
        lambda: TrainConfig(search=Noted()),
        lambda: think.Thinker(Noted(), search.Model(GAME, Heuristic()), (), jax.random.key(0)),
        lambda: Selfplay(Noted(), search.Model(GAME, Heuristic()), SelfplayConfig()),
    ):
        with pytest.raises(UsageError, match=r"is no search: make it a frozen dataclass that inherits jaxgo\.search"):
            take()


def test_an_evaluator_that_programs_cannot_be_kept_by_is_refused_wherever_one_is_taken():
    for take in (
        lambda: evaluators.find(f"{HERE}:Loud"),
        lambda: load_player(f"uct:8,evaluator={HERE}:Loud", GAME),
        lambda: search.Model(GAME, Loud()),
    ):
        with pytest.raises(UsageError, match=r"is no evaluator: make it a frozen dataclass that inherits jaxgo\.eval"):
            take()


def test_searches_and_evaluators_by_place():
    assert search.find(f"{HERE}:Lazy") == Lazy()
    assert search.name_of(Lazy()) == f"{HERE}:Lazy"
    assert isinstance(evaluators.find(f"{HERE}:Sunny"), Sunny)
    for wrong in (search.find, evaluators.find):
        with pytest.raises(UsageError, match="let it inherit"):
            wrong(f"{HERE}:Wide")
        with pytest.raises(UsageError, match=r"unknown (search|evaluator) 'chess'; choose one of"):
            wrong("chess")
    for find, name in ((search.find, "jaxgo.search.bandit:Bandit"), (evaluators.find, "jaxgo.evaluators:Mix")):
        with pytest.raises(UsageError, match="cannot be made without settings"):
            find(name)
    lazy = load_player(f"{HERE}:Lazy,naps=5", GAME)
    assert (lazy.search, lazy.name) == (Lazy(naps=5), f"{HERE}:Lazy,naps=5")
    assert load_player(f"{HERE}:Steady", GAME).name == f"{HERE}:Steady", "no option says how many"
    player = load_player(f"gumbel:8,evaluator={HERE}:Sunny", GAME)
    assert (player.search, type(player.model.evaluator)) == (Gumbel(simulations=8).quiet(), Sunny)
    assert load_player(player.name, GAME) == player
    assert search.split_name("uct:400") == ("uct", ":", "400")
    assert search.split_name("a.b:C:400") == ("a.b:C", ":", "400")


@pytest.mark.slow
@pytest.mark.parametrize(
    "source", [Linen(width=4), Linen(kernels=((1, 3), (3, 1))), Linen, built, Nnx, made, Mlp(width=4)]
)
def test_a_net_of_ones_own_goes_through_json_and_says_what_it_says(source):
    config = TrainConfig(game=Wide(width=3), net=source, search=Lazy(), targets=TargetsConfig(heads=("short", "reply")))
    assert config.make_game() == Wide(width=3)
    again = from_json(json.loads(json.dumps(to_json(config))))
    assert again == config
    heads = config.heads
    assert heads == {Linen: HEADS[1:], type(built): HEADS[1:], Mlp: HEADS}.get(
        type(source) if not isinstance(source, type) else source, ()
    )
    module = again.network.module(config.make_game(), heads)
    params = jax.jit(module.init)(jax.random.key(0), PLANES)
    assert all("/" not in name for name in params["params"])
    logits, value = jax.jit(module.apply)(params, PLANES + 1)
    said = module.apply(params, PLANES + 1, method="learn")
    np.testing.assert_allclose(said.logits, logits, rtol=1e-5)
    np.testing.assert_allclose(np.tanh(said.value / 2), value, atol=1e-5)
    assert set(said.heads) == {head.name for head in heads}


def test_a_module_that_is_there_already_keeps_its_weights():
    module = nets.as_net(made).module(GAME)
    params = jax.jit(module.init)(jax.random.key(9), PLANES)
    for one, other in zip(module.apply(params, PLANES + 1), made(PLANES + 1), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (stateful, "state besides its parameters .*take LayerNorm in the place of BatchNorm"),
        (Linen(kept="bfloat16"), "Dense_0/bias of the net is of bfloat16, which a file of weights cannot hold; keep"),
        (Tabled(), "table of the net is of int32, which no gradient can change; keep parameters in"),
        (Linen(actions=3), r"logits of shape \(2, 3\) for 2 positions; they must be \(2, 9\)"),
        (Dropping(), "the net Dropping draws random numbers where it is asked .*; leave dropout out"),
        (Trained(), "the net Trained cannot be made or asked .*'train'.*; it is a module that takes"),
        (Odd(), "with a dict of further heads"),
        (wider, "the net wider cannot be made or asked .*'width'"),
        (Gameless, "the net Gameless cannot be made or asked"),
        (Plain, "the net Plain cannot be made or asked"),
        (
            brittle,
            r"the net brittle cannot be made or asked \(AttributeError: .* no attribute 'komi'\); it is a module",
        ),
        (crossed, "what takes `rngs` made Linen, not a module of flax.nnx"),
        (formless, "^formless made NoneType, not a module of flax.linen"),
        (Empty(), "the net has no parameters, so there is nothing that it could learn; give it a layer"),
    ],
)
def test_a_net_that_cannot_learn_is_refused_in_one_sentence(source, said):
    with pytest.raises(UsageError, match=said):
        TrainConfig(game="tictactoe", net=source, targets=TargetsConfig(heads=())).heads  # noqa: B018


@pytest.mark.parametrize(
    ("text", "like", "value"),
    [
        ("on", False, True),
        ("Off", None, False),
        ("3", None, 3),
        ("5.5", None, 5.5),
        ("renju", None, "renju"),
        ("no", True, False),
        ("5", 1.5, 5.0),
        ("5", 1, 5),
        ("x", 1, "x"),
        ("on", "any", "on"),
        ("2,4,5", None, (2, 4, 5)),
        ("3,", None, (3,)),
        ("D4,E5", None, "D4,E5"),
        ("3", (1, 3), (3,)),
        ("a,b", ("c",), ("a", "b")),
        ("", (1,), ()),
    ],
)
def test_a_value_is_read_as_its_default_is(text, like, value):
    found = read_value(text, like)
    assert (type(found), found) == (type(value), value)


def test_an_option_that_is_a_tuple_is_typed_as_it_is_told():
    place = "examples.own_game:Nim"
    assert describe_options(Nim(heaps=(2, 4))) == "heaps=2,4 most=3"
    for heaps in ((2, 4, 5), (3,)):
        (setting,) = write_settings(name_of(Nim(heaps=heaps))[1])
        assert read_game(place, [setting]) == Nim(heaps=heaps)
        assert train_words.parse([place, "--option", setting]).config.make_game() == Nim(heaps=heaps)
    with pytest.raises(UsageError, match=r"\(2, 'x'\) is of another kind"):
        read_game(place, ["heaps=2,x"])


@pytest.mark.parametrize(
    "game", [Dodgem(4, move_limit=120), Dodgem(8, move_limit=200), Kamisado(3, move_limit=128)], ids=repr
)
def test_the_name_of_a_game_has_a_limit_that_another_option_would_set(game):
    name, options = name_of(game)
    assert games.make(name, **options) == game


def test_games_that_are_made_directly_have_options_of_their_kinds():
    with pytest.raises(UsageError, match="Heaped: heaps='135' is not a tuple"):
        search.Model(Heaped(heaps="135"), Heuristic())


def test_an_option_of_a_game_is_read_alike_by_all_commands():
    assert train_words.parse(["go9", "--option", "suicide=on"]).config.options == (("suicide", True),)
    assert read_game("go9", ["suicide=on"]).suicide


def test_what_is_no_net_is_refused():
    with pytest.raises(UsageError, match="of the net cannot be written down; make it a function of the game"):
        nets.to_json(nets.as_net(Linen(kernels=((nn.relu, 1),))))
    with pytest.raises(UsageError, match=r"Mlp is the class of a net: give one of it, such as Mlp\(\)"):
        nets.as_net(Mlp)
    with pytest.raises(UsageError, match="is no net: give a Net, a Flax module, or a function of the game"):
        nets.find(f"{HERE}:GAME")
    with pytest.raises(UsageError, match=r"unknown net 'transformer'; choose one of: mlp, resnet, package\.module"):
        nets.find("transformer")


def test_the_command_line_takes_places():
    job = train_words.parse([f"{HERE}:Wide", "--net", f"{HERE}:Linen", "--search", "puct", "--search.simulations", "9"])
    assert (job.run, job.config.make_game()) == ("runs/Wide", Wide())
    assert job.config.net == nets.as_net(Linen())
    assert job.config.search.budget == 9
    assert job.config.network.heads(GAME, HEADS) == HEADS[1:]
    job = train_words.parse(["tictactoe-cpu", "--game", f"{HERE}:Wide", "--net.width", "4"])
    assert (job.config.make_game(), job.config.net) == (Wide(), Mlp(width=4, blocks=2))
