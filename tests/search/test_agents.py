"""Players by name."""

import dataclasses

import jax
import numpy as np
import pytest

from jaxgo.arena.match import play_match
from jaxgo.arena.openings import random_openings
from jaxgo.core.errors import UsageError
from jaxgo.evaluators import Heuristic, Rollout, Uniform
from jaxgo.games import make
from jaxgo.players import load_player
from jaxgo.search import PRESETS, SEARCHES, Flat, Gumbel, Puct, Uct
from jaxgo.system.weights import SHIPPED, load_weights, shipped

GAME = make("tictactoe")
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
        ("nycu3d-puct", PRESETS["nycu3d-puct"].search, dataclasses.replace(TO_THE_END, prior="weights")),
        ("gobang,rollouts=3,c_init=2", dataclasses.replace(PRESETS["gobang"].search, c_init=2.0), THREE_TO_THE_END),
        ("gobang,evaluator=uniform", PRESETS["gobang"].search, Uniform()),
    ],
)
def test_a_spec_names_a_search_its_budget_and_options(spec, search, evaluator):
    agent = load_player(spec, GAME)
    assert agent.name == spec
    assert agent.search == search
    assert agent.model.evaluator == evaluator
    assert agent.model.game is GAME
    assert agent.params == ()


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("minimax:4", "unknown search 'minimax'; choose one of: random, greedy, flat, uct, puct, gumbel"),
        ("uct:many", "simulations=many is not a whole number"),
        ("uct:0", "at least 1"),
        ("random:5", "random does not simulate; leave ':5' out"),
        ("uct:40,d=3", "unknown option of uct with rollout 'd'; choose one of: simulations, parallel_leaves"),
        ("uct:40,c=big", "c=big is not a number"),
        ("uct:40,solver=perhaps", "solver=perhaps is neither yes nor no"),
        ("uct:40,log=binary", "unknown log 'binary'; choose one of: natural, decimal"),
        ("uct:40,c", "'c' in 'uct:40,c' is not of the form name=value"),
        ("uct:40,c=1,c=2", "gives c twice"),
        ("uct:40,evaluator=oracle", "unknown evaluator 'oracle'; choose one of: uniform, heuristic, rollout"),
        ("puct:40,rollouts=4", "unknown option of puct with heuristic 'rollouts'"),
        ("uct:40,unfinished=lost", "unknown unfinished 'lost'; choose one of: heuristic, even"),
        ("gumbel:64@runs/nowhere", "'runs/nowhere' is no run folder, no file and no shipped weights"),
    ],
)
def test_a_wrong_word_is_named(spec, said):
    with pytest.raises(UsageError) as caught:
        load_player(spec, GAME)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", shipped())
def test_shipped_weights_play_better_than_chance(name):
    """They fit their game as it is, a note says how they were made, and they are small."""
    about, _ = load_weights(name)
    assert f"`{name}`" in (SHIPPED / "README.md").read_text()
    assert (SHIPPED / f"{name}.npz").stat().st_size < 8e6
    game = make(about["game"], **about["options"])
    score = play_match(
        load_player(f"greedy@{name}", game),
        load_player("random", game),
        jax.random.key(0),
        random_openings(game).positions(range(32)),
    )
    assert score.mean - 2 * score.error > 0.5


def test_an_agent_plays():
    agent = load_player("uct:30", GAME)
    root = agent.model.start(jax.random.key(0), 2)
    run = jax.jit(lambda key: agent.search.run(agent.model, agent.params, key, root))
    result = run(jax.random.key(1))
    assert np.asarray(result.visits).sum(axis=1).tolist() == [30, 30]
