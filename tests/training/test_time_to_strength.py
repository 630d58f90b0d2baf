"""Runs of both sides are kept, trained once, and become matches: what trains is a stand-in here."""

import json
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import kept_runs
import numpy as np
import peers_alphazero
import pytest
import time_to_strength
from time_to_strength import TimeToStrength

from jaxgo.core.errors import UsageError
from jaxgo.evaluators.network import Network
from jaxgo.games import GAMES
from jaxgo.players import load_player
from jaxgo.search.model import Model

GAME = GAMES["connect4"]
NET = peers_alphazero.PeerNet(7, 4, 1)


@pytest.mark.slow
def test_the_net_of_the_peer_judges_our_positions_by_the_planes_it_knows():
    net = peers_alphazero.OnOurPlanes(NET)
    model = Model(GAME, Network(net))
    seen = jax.eval_shape(lambda key: GAME.observe(GAME.init(key)), jax.random.key(0))
    planes = np.random.default_rng(0).random((3, *seen.shape), np.float32)
    variables = jax.jit(model.init)(jax.random.key(1))
    said, only = net.apply(variables, planes), NET.apply(variables, jnp.asarray(planes[..., :2]))
    jax.tree.map(np.testing.assert_array_equal, said, only)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"minutes_ours": 0.0}, "--minutes-ours"),
        ({"pairs": 0}, "--pairs"),
        ({"positions": -1}, "--positions"),
        ({"seeds": ()}, "--seeds"),
        ({"seeds": (1, 1)}, "different"),
    ],
)
def test_what_cannot_be_measured_is_told(options, said):
    with pytest.raises(UsageError, match=said):
        TimeToStrength(**options)


@pytest.mark.slow
def test_runs_are_kept_and_matches_become_rows(tmp_path, monkeypatch, capsys):
    begun = []

    class Loop:
        def __init__(self, peer, seed):
            begun.append(("theirs", seed))
            net = peers_alphazero.PeerNet(7, peer.channels, peer.blocks)
            self.frames, self.learnt = (
                99,
                SimpleNamespace(variables=net.init(jax.random.key(seed), jnp.zeros((1, 6, 7, 2)))),
            )

        def run(self, seconds):
            return seconds

    def train(config, run):
        begun.append(("ours", config.seed))
        return SimpleNamespace(iteration=5)

    monkeypatch.setattr(peers_alphazero, "PeerLoop", Loop)
    monkeypatch.setattr(kept_runs, "train", train)
    monkeypatch.setattr(kept_runs, "last_player", lambda folder, simulations: load_player("uct:50", GAME))
    monkeypatch.setattr(time_to_strength.ready, "check", lambda trainer: None)
    monkeypatch.setattr(jax, "clear_caches", lambda: None)  # the programs of other tests
    options = TimeToStrength(seeds=(3, 4), pairs=4, simulations=2, positions=0, runs=tmp_path)
    time_to_strength.matches(options)
    time_to_strength.matches(options)
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["question"] for row in rows[4:7]] == ["match/3", "match/4", "time_to_strength/connect4"]
    assert rows[0]["minutes"] == 30
    assert rows[0]["positions"] == 99
    assert [row["games"] for row in rows[4:6]] == [8, 8]
    assert rows[6]["elo"] == pytest.approx(np.mean([row["elo"] for row in rows[4:6]]), rel=1e-3)
    assert begun == [("theirs", 3), ("theirs", 4), ("ours", 3), ("ours", 4)], "a kept run was trained again"
    assert [row.get("elo") for row in rows[:7]] == [row.get("elo") for row in rows[7:]]
