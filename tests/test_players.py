"""Players by name: a spec is read and written, and what it loads is the very player that it was written for."""

import dataclasses
import inspect
import json
import sys
from typing import Any, get_args, get_type_hints

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support import unchecked, untyped

from jaxgo.core.errors import UsageError
from jaxgo.evaluators import EVALUATORS, Dirichlet, Heuristic, Network, Noisy, Rollout, Uniform
from jaxgo.games import make
from jaxgo.games.connect4 import ConnectFour
from jaxgo.nets import Mlp, ResNet, to_json
from jaxgo.players import Player, Spec, every_spec, load_player, parse, spec
from jaxgo.search import PRESETS, SEARCHES, Chain, Flat, Gumbel, Model, Puct, Uct
from jaxgo.system.weights import load_weights, read_weights, save_weights
from jaxgo.training import presets as training
from jaxgo.training.config import TrainConfig
from jaxgo.training.loop import about
from jaxgo.tuning.traced import Traced

GAME = make("tictactoe")
PRESET = training.preset("connect4-cpu").config
TO_THE_END = Rollout(weighted=False, depth=100_000)
THREE_TO_THE_END = dataclasses.replace(TO_THE_END, count=3)


@pytest.mark.parametrize(
    ("spec", "search", "evaluator"),
    [
        ("uct:400", Uct(simulations=400), Rollout()),
        ("uct:400,rollouts=4,c=1.5", Uct(simulations=400, c=1.5), Rollout(count=4)),
        (" uct:50 , log=decimal , depth=30 ", Uct(simulations=50, log="decimal"), Rollout(depth=30)),
        ("puct:800", Puct(simulations=800), Heuristic()),
        ("puct,evaluator=rollout,rollouts=2,solver=no", Puct(solver=False), Rollout(count=2)),
        (
            "gumbel:64,max_considered=8,gumbel_scale=0",
            Gumbel(simulations=64, max_considered=8, gumbel_scale=0.0),
            Heuristic(),
        ),
        ("flat:100,weighted=false", Flat(simulations=100), Rollout(weighted=False)),
        ("greedy,evaluator=uniform", SEARCHES["greedy"], Uniform()),
        ("random", SEARCHES["random"], Uniform()),
        ("gobang:800", dataclasses.replace(PRESETS["gobang"].search, simulations=800), TO_THE_END),
        ("nycu3d", Uct(c=1.414, log="decimal"), TO_THE_END),
        ("zeroplus", Uct(c=1.4142135, breadth=5, threats=True, vcf=40), Rollout(depth=10, prior="weights")),
        ("nycu3d-puct", PRESETS["nycu3d-puct"].search, dataclasses.replace(TO_THE_END, prior="weights")),
        ("gobang,rollouts=3,c_init=2", dataclasses.replace(PRESETS["gobang"].search, c_init=2.0), THREE_TO_THE_END),
        ("gobang,evaluator=uniform", PRESETS["gobang"].search, Uniform()),
    ],
)
def test_a_spec_names_a_search_its_budget_and_options(spec, search, evaluator):
    agent = load_player(spec, GAME)
    assert agent.search == search
    assert agent.model.evaluator == evaluator
    assert agent.model.game is GAME
    assert agent.params == ()


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("minimax:4", "unknown search 'minimax'; choose one of: random, greedy, flat, uct, puct, gumbel"),
        ("mysearch.Best:4", ", wgomoku, package.module:Object"),
        ("uct:many", "simulations=many is not a whole number"),
        ("uct:0", "at least 1"),
        ("random:5", "random does not simulate; leave ':5' out"),
        ("uct:", "has a colon and no number of simulations after it"),
        ("uct:8@", "names no weights after its @"),
        ("uct:8,c=inf", "c=inf is not a finite number"),
        ('gumbel:8@"runs', "do not close"),
        ("@connect4-cpu,c=1", "is no run folder, no file and no shipped weights"),
        ("@connect4-cpu,c=1", "tictactoe-cpu); settings of a player stand before its @"),
        ("uct:40,d=3", "unknown option of uct with rollout 'd'; choose one of: "),
        ("uct:40,c=big", "c=big is not a number"),
        ("uct:40,solver=perhaps", "solver=perhaps is neither yes nor no"),
        ("uct:40,log=binary", "unknown log 'binary'; choose one of: natural, decimal"),
        ("alphabeta:40,layers=odds", "unknown layers 'odds'; choose one of: even, odd, all"),
        ("uct:40,c", "'c' in 'uct:40,c' is not of the form name=value"),
        ("puct:40,c_base=-5", "puct needs c_base above 0"),
        ("gumbel:40,value_scale=-1", "value_scale and visit_offset of at least 0"),
        ("uct:40,c=1,c=2", "gives c twice"),
        ("uct:40,rollouts=4,evaluator.count=8", "gives rollouts and evaluator.count, which are one; leave one out"),
        ("uct:40,simulations=10", "gives simulations twice, behind the colon, too"),
        ("uct:40,temperature=-1", "the temperature of a player is a number from 0 to 10, not -1.0"),
        ("uct:40,temperature=11", "the temperature of a player is a number from 0 to 10, not 11.0"),
        ("uct:40,temperature=hot", "temperature=hot is not a number"),
        ("uct:40,evaluator=oracle", "unknown evaluator 'oracle'; choose one of: uniform, heuristic, rollout"),
        ("uct:40,evaluator=mine.Judge", ", likely, package.module:Object"),
        ("puct:40,rollouts=4", "unknown option of puct with heuristic 'rollouts'"),
        ("uct:40,unfinished=lost", "unknown unfinished 'lost'; choose one of: heuristic, even"),
        ("alphabeta:3s,depth=20", "'alphabeta:3s,depth=20' plays by the clock, which only agents of jaxgo eval do"),
        ("gtp:foo", "'gtp:foo' is a program of its own; only jaxgo eval can play against it"),
        (' gomocup:"foo, -x"', "is a program of its own; only jaxgo eval can play against it"),
        ("gumbel:64@runs/nowhere", "'runs/nowhere' is no run folder, no file and no shipped weights"),
    ],
)
def test_a_wrong_word_is_named(spec, said):
    with pytest.raises(UsageError) as caught:
        load_player(spec, GAME)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_search_is_no_name_of_a_player():
    with pytest.raises(UsageError, match="is no name of a player"):
        inspect.unwrap(parse)(Uct())


@pytest.mark.slow
def test_a_player_plays():
    agent = load_player("uct:30", GAME)
    root = agent.model.start(jax.random.key(0), 2)
    run = jax.jit(lambda key: agent.search.run(agent.model, agent.params, key, root))
    result = run(jax.random.key(1))
    assert np.asarray(result.visits).sum(axis=1).tolist() == [30, 30]


# -- there and back --------------------------------------------------------------------------------------------------

MAKERS = {
    **{name: (search, EVALUATORS[search.default_evaluator]) for name, search in SEARCHES.items()},
    **{name: (preset.search, preset.evaluator) for name, preset in PRESETS.items()},
}


@pytest.mark.parametrize("name", MAKERS)
def test_every_search_and_preset_is_its_own_name(name):
    player = load_player(name, make("gomoku9") if name == "zerosum" else GAME)  # which weighs moves
    assert (player.search, player.model.evaluator) == (MAKERS[name][0].quiet(), MAKERS[name][1])
    budget = player.search.budget
    assert player.name == (f"{name}:{budget}" if budget else name)
    assert spec(player) == player.name
    assert str(parse(player.name)) == player.name


def test_a_chain_is_named_by_its_links():
    player = load_player("chain:win+careful+uct:40,rollouts=2", GAME)
    assert player.search == Chain("win+careful+uct:40")
    assert player.search.budget == 40
    assert load_player(player.name, GAME) == player
    assert player.name == "chain:win+careful+uct:40,rollouts=2"


def _texts(value: Any) -> st.SearchStrategy[Any]:
    if isinstance(value, bool):
        return st.booleans()
    if isinstance(value, int):
        return st.integers(0, 2**20)
    return st.floats(0, 1e9) | st.floats(0, 1) | st.integers(0, 100).map(float)


@st.composite
def changes_of(draw: Any, value: Any) -> dict[str, Any]:
    """Other settings for some of those of a search or an evaluator."""
    hints, changes = get_type_hints(type(value)), {}
    for field in dataclasses.fields(value):
        old, words = getattr(value, field.name), get_args(hints[field.name])
        if isinstance(old, (bool, int, float, str)) and draw(st.booleans()):
            changes[field.name] = draw(st.sampled_from(words) if words else _texts(old))
    return changes


def changed(value: Any, changes: dict[str, Any]) -> Any:
    """The same with other settings, if it takes them."""
    try:
        return dataclasses.replace(value, **changes)
    except (UsageError, TypeError):
        return value


@settings(max_examples=120)
@given(st.data(), st.sampled_from(sorted(MAKERS)), st.sampled_from([None, Uniform(), Heuristic(), Rollout()]))
@unchecked()
def test_the_name_of_any_player_loads_it(data, head, evaluator):
    search, usual = MAKERS[head]
    parts = tuple(changed(part, data.draw(changes_of(part))) for part in (search, evaluator or usual))
    assume(not getattr(parts[1], "greater", False))  # about weights, which this game has not
    name, heat = data.draw(st.sampled_from(["", head])), data.draw(st.sampled_from([0.0, 0.5, 1.0]))
    heat *= parts[0].draws
    player = Player(parts[0], Model(GAME, parts[1]), (), name, temperature=heat)
    text = spec(player)
    again = load_player(text, GAME)
    assert (again.search, again.model.evaluator) == parts
    assert again == player
    assert again.temperature == heat
    assert spec(again) == again.name == text
    assert str(parse(text)) == text
    if player.name and type(parts[0]) is type(search):
        assert parse(text).head == head, "a name that was given is kept"


WORD = st.text('ab1 ,=@:"\\/é\t\u00a0\u3000\udcff', min_size=1)


@given(WORD, st.lists(st.tuples(st.from_regex("[a-z]+", fullmatch=True), WORD), unique_by=lambda o: o[0]))
def test_any_word_comes_through_quotes(place, options):
    written = Spec("gumbel", "64", tuple(options), place)
    assert parse(str(written)) == written
    assert parse(f"  {written} ") == written
    assert str(written).isprintable(), "files of results have names that a terminal can show"


def test_quiet_unless_the_noise_is_named():
    assert load_player("gumbel:8", GAME).search.gumbel_scale == 0.0
    assert load_player("gumbel:8", GAME, noise=True).search.gumbel_scale == 1.0
    assert load_player("gumbel:8,gumbel_scale=0.5", GAME).name == "gumbel:8,gumbel_scale=0.5"
    assert load_player("puct:8,noise=0.25,forced=2", GAME).search == Puct(simulations=8, noise=0.25, forced=2.0)
    noisy = load_player("puct:8,noise=0.25,forced=2", GAME)
    assert noisy.search.quiet() == load_player("puct:8", GAME).search
    assert load_player("gumbel:8", GAME, noise=True).name == "gumbel:8,gumbel_scale=1"


def test_a_player_without_a_name_says_so():
    odd = Player(Uct(), Model(GAME, Rollout(advisor=Uniform())))
    with pytest.raises(UsageError, match="no name says all of Uct"):
        spec(odd)


# -- with weights ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_weights_bring_the_search_that_they_were_rated_with(tmp_path):
    game, rated = make("connect4"), PRESET.search
    player = load_player("@connect4-cpu", game)
    assert player.search == dataclasses.replace(rated, simulations=PRESET.judge.simulations, gumbel_scale=0.0)
    assert player.name == "gumbel:64@connect4-cpu"
    assert load_player(player.name, game) == player
    fewer = load_player("gumbel:16@connect4-cpu", game)
    assert fewer.search == dataclasses.replace(player.search, simulations=16)
    assert fewer.name == "gumbel:16@connect4-cpu"
    other = load_player("gumbel:64,min_value_range=0@connect4-cpu", game)
    assert other.name == "gumbel:64,min_value_range=0@connect4-cpu"
    turned = load_player("gumbel:64,symmetric=yes@connect4-cpu", game)
    assert turned.name == "gumbel:64,symmetric=yes@connect4-cpu"
    assert load_player(turned.name, game) == turned != player
    with pytest.raises(UsageError, match="unknown option of gumbel with a network 'in_chunks'"):
        load_player("gumbel:64,in_chunks=yes@connect4-cpu", game)
    assert load_player("alphazero:8@connect4-cpu", game).search == dataclasses.replace(
        PRESETS["alphazero"].search, simulations=8
    )
    about, arrays = load_weights("connect4-cpu")
    save_weights(tmp_path / "a:1.npz", arrays, about)
    copy = load_player(f'@"{tmp_path}/a:1.npz"', game)
    assert copy == player
    assert load_player(copy.name, game) == player
    about.pop("search")
    save_weights(tmp_path / "old.npz", arrays, about)
    with pytest.raises(UsageError, match="name no search to play with; write one, as in gumbel:64@"):
        load_player(f"@{tmp_path}/old.npz", game)


def test_weights_of_a_loop_of_ones_own_are_a_player(tmp_path):
    """As docs/training.md has it; a text was no path of a file."""
    config = TrainConfig(game=GAME, net=Mlp(width=8, blocks=1))
    net = Network(Mlp(width=8, blocks=1).module(GAME))
    params, place = Model(GAME, net).init(jax.random.key(0)), f"{tmp_path}/mine.npz"
    save_weights(place, params, about(config))
    loaded = load_player(f"gumbel:4@{place}", GAME)
    assert loaded.fingerprint() == Player(loaded.search, Model(GAME, net), params).fingerprint()
    assert read_weights(place)[0] == about(config)
    save_weights(place, params["params"], about(config))
    with pytest.raises(UsageError, match="do not fit the game that is asked for, as there is no params/"):
        load_player(f"gumbel:4@{place}", GAME)


def test_weights_play_the_kind_of_game_that_they_were_trained_for():
    """Equal shapes are not enough: other rules on the same board would be played by guesses."""

    @dataclasses.dataclass(frozen=True)
    class Upwards(ConnectFour):
        pass

    assert load_player("@connect4-cpu", make("connect4")).params
    for game in (Upwards(), GAME):
        with pytest.raises(UsageError, match="are for connect4; they do not fit the game that is asked for"):
            load_player("@connect4-cpu", game)


STRANGER = """
import dataclasses
from jaxgo.games.mnk import Mnk
from jaxgo.nets import Mlp
from jaxgo.search import Greedy

@dataclasses.dataclass(frozen=True)
class Game(Mnk):
    height: int = 3
    width: int = 3
    k: int = 3

@dataclasses.dataclass(frozen=True)
class Net(Mlp):
    width: int = 4
    blocks: int = 1

@dataclasses.dataclass(frozen=True)
class Search(Greedy):
    pass
"""


def test_only_players_have_a_spec():
    for wrong in (None, "uct:4", Gumbel()):
        with pytest.raises(UsageError, match="is no player to name; make one by load_player"):
            inspect.unwrap(spec)(wrong)


@pytest.fixture
def stranger(tmp_path, monkeypatch):
    """The name of a module that leaves a file behind where it is run, beside weights of Tic-tac-toe."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    name = "stranger_of_test_players"
    (tmp_path / f"{name}.py").write_text("from pathlib import Path\nPath('run').touch()\n" + STRANGER)
    yield name
    sys.modules.pop(name, None)


def test_weights_start_no_code(stranger, tmp_path):
    """What they name counts where the user has named it, or the config of the run that he names."""
    net = Mlp(width=4, blocks=1)
    params = jax.jit(Model(GAME, Network(net.module(GAME))).init)(jax.random.key(0))
    plain = {"game": "tictactoe", "options": {}, "net": to_json(net), "search": {"kind": "greedy"}}
    theirs = {"game": f"{stranger}:Game", "net": {"kind": f"{stranger}:Net"}, "search": {"kind": f"{stranger}:Search"}}
    for what, named in theirs.items():
        save_weights(tmp_path / "w.npz", params, plain | {what: named})
        with pytest.raises(UsageError, match=rf"w.npz are of the {what} {stranger}:\w+, a place in code"):
            load_player("@w.npz", GAME)
    for end in (f"{stranger}:Search", f" {stranger} : Search :4", f"{stranger}:Search:x:y"):
        save_weights(tmp_path / "w.npz", params, plain | {"search": {"kind": "chain", "links": f"win+{end}"}})
        with pytest.raises(UsageError, match=rf"w.npz are of the search {stranger}:Search, a place in code"):
            load_player("@w.npz", GAME)
    run = tmp_path / "runs" / "theirs"
    save_weights(run / "players" / "7.npz", params, plain | theirs)
    for config in ({}, {"game": "tictactoe", "net": to_json(net), "search": {"kind": "greedy"}}):
        (run / "config.json").write_text(json.dumps({"format": 1, **config}))
        with pytest.raises(UsageError, match="are of the search"):
            load_player("@runs/theirs", GAME)
    assert not (tmp_path / "run").exists()
    (run / "config.json").write_text(json.dumps({"format": 1, **theirs}))
    with pytest.raises(UsageError, match="do not fit the game that is asked for"):
        load_player("@runs/theirs", GAME)
    assert (tmp_path / "run").exists(), "a run folder is trusted as the program that it is"
    player = load_player("@runs/theirs", make(f"{stranger}:Game"))
    save_weights(tmp_path / "w.npz", params, plain | theirs)
    assert load_player("@w.npz", make(f"{stranger}:Game")) == player, "its code is here by now"


def test_fingerprints_tell_players_apart():
    one = Player(SEARCHES["greedy"], Model(GAME, Uniform()), {"w": jnp.ones(3)})
    assert one.fingerprint() == dataclasses.replace(one, params={"w": np.ones(3, np.float32)}, name="x").fingerprint()
    exact, rough = (Network(ResNet(precision=name).module(GAME)) for name in ("float32", "bfloat16"))
    others = [
        dataclasses.replace(one, model=Model(GAME, exact)),
        dataclasses.replace(one, model=Model(GAME, rough)),
        dataclasses.replace(one, params={"w": jnp.zeros(3)}),
        dataclasses.replace(one, params={"w": jnp.ones(3, jnp.int32)}),
        dataclasses.replace(one, params={"v": jnp.ones(3)}),
        dataclasses.replace(one, temperature=0.5),
        dataclasses.replace(one, search=Gumbel()),
        dataclasses.replace(one, search=Gumbel(min_value_range=1.0)),
        dataclasses.replace(one, model=Model(GAME, Heuristic())),
        dataclasses.replace(one, model=Model(GAME, Rollout(advisor=Uniform()))),
        dataclasses.replace(one, model=Model(GAME, Rollout(advisor=Heuristic()))),
        dataclasses.replace(one, model=Model(GAME, Noisy(Uniform(), Dirichlet(0.2, 0.0, 10.0)))),
        dataclasses.replace(one, model=Model(GAME, Noisy(Uniform(), Dirichlet(0.3, 0.0, 10.0)))),
        dataclasses.replace(one, search=Traced(Gumbel(), ("value_scale",))),
        dataclasses.replace(one, search=Traced(Gumbel(), ("visit_offset",))),
        dataclasses.replace(one, search=Traced(Gumbel(8), ("value_scale",))),
    ]
    assert len({one.fingerprint(), *(other.fingerprint() for other in others)}) == 1 + len(others)
    assert all(other != one for other in others)


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        (untyped(Puct, simulations=8, c_init=2), Puct(8, c_init=2.0)),
        (untyped(Puct, simulations=8, c_init=np.float32(1.5)), Puct(8, c_init=1.5)),
        (untyped(Gumbel, simulations=np.int64(8)), Gumbel(8)),
    ],
    ids=["a whole number", "a number of numpy", "a whole one of numpy"],
)
def test_equal_settings_are_one_player_of_one_name(given: Any, plain: Any):
    """1 and 1.0 were two players, and of numpy's numbers the hash said nothing: 8 and 16 simulations were one."""
    one, other = (Player(search, Model(GAME, Heuristic())) for search in (given, plain))
    assert one == other
    assert spec(one) == spec(other)
    assert one != Player(untyped(type(given), simulations=np.int64(16)), one.model)


# -- with a star -----------------------------------------------------------------------------------------------------


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Run folders with steps of the same weights, in `runs` of the working directory."""
    monkeypatch.chdir(tmp_path)
    about, arrays = load_weights("tictactoe-cpu")
    for name in ("a/9", "a/10", "a/120", "a/best", "b/7", "[c]/5", "tictactoe-cpu/3"):
        run, _, step = name.partition("/")
        save_weights(tmp_path / "runs" / run / "players" / f"{step:>08}.npz", arrays, about)
    (tmp_path / "runs" / "notes").mkdir()
    return tmp_path / "runs"


@pytest.mark.parametrize(
    ("place", "meant"),
    [
        ("runs/a/*", ["runs/a/9", "runs/a/10", "runs/a/120"]),
        ("./runs//a/1*", ["runs/a/10", "runs/a/120"]),
        ("runs/*", ["runs/[c]", "runs/a", "runs/b", "runs/tictactoe-cpu"]),
        ("runs/[[]c]/*", []),
        ("runs/[c]/*", ["runs/[c]/5"]),
        ("runs/*/*0", ["runs/a/10", "runs/a/120"]),
        ("runs/?/*", []),
    ],
)
def test_a_star_names_steps_or_runs(place, meant, runs):
    if meant:
        assert every_spec([f"uct:3,c=1@{place}"]) == [f"uct:3,c=1@{place}" for place in meant]
    else:
        with pytest.raises(UsageError, match="is no step of a run with weights, nor such a run; runs/go9/"):
            every_spec([f"@{place}"])


def test_a_step_that_a_star_names_has_the_name_that_loads_it_alone(runs):
    specs = every_spec(["greedy@runs/a/*"])
    assert [load_player(spec, GAME).name for spec in specs] == specs


def test_a_star_takes_some_steps_evenly_up_to_the_newest(runs):
    assert every_spec(["@runs/a/*", "uct:4"], 2) == ["@runs/a/9", "@runs/a/120", "uct:4"]
    assert every_spec(["@runs/*/*"], 1) == [f"@runs/{name}" for name in ("[c]/5", "a/120", "b/7", "tictactoe-cpu/3")]
    assert every_spec(["@runs/a/*"], 9) == every_spec(["@runs/a/*"])


def test_a_star_in_the_name_of_a_folder_is_none(runs, monkeypatch):
    (runs / "b").rename(runs / "*")
    assert every_spec(["@runs/*", "@runs/*/7", "gtp:gnugo@*"]) == ["@runs/*", "@runs/*/7", "gtp:gnugo@*"]
    monkeypatch.chdir(runs)
    (runs / "*").rename(runs / "b")
    assert "@./tictactoe-cpu" in every_spec(["@*"])  # a folder, and not the weights that come with jaxgo
