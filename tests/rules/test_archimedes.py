"""Archimedes: listed positions, counts, playouts, and a plain reference at every ply, in both rules."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.archimedes import Archimedes as Reference
from reference.replay import check_agreement
from sparse import perft
from support import Host, check_playout, codes, perft_json, random_games
from support import weights as weights_of

from jaxgo.core import play
from jaxgo.games.archimedes import Archimedes

GAMES = {"original": Archimedes(), "dagaz": Archimedes(rules="dagaz")}
GOLDEN = perft_json()["archimedes"]
LANES = 32
both = pytest.mark.parametrize("rules", GAMES)
LISTED = list(zip(GOLDEN["positions"][:3], ("h3-d3", "b2-b3", "h1-h8"), strict=True))
PLAYOUTS = [(rules, record) for rules in GAMES for record in GOLDEN[f"archimedes_{rules}"]["playouts"]]


def host_at(rules: str, rows: str, seat: int = 0, lost: tuple[int, int] = (0, 0)) -> Host:
    game = GAMES[rules]
    state = game.place(codes(game, rows), seat)._replace(lost=jnp.array(lost, jnp.int8))
    return Host(game, play.resume(game, state))


@both
def test_start_is_that_of_the_rules(rules):
    assert Host(GAMES[rules]).rows.replace("/", "") == GOLDEN["start"]


@pytest.mark.slow
@pytest.mark.parametrize("rules", GAMES)
def test_perft(rules):
    assert perft(GAMES[rules], 3) == GOLDEN[f"archimedes_{rules}"]["perft"]["nodes"][:3]


@pytest.mark.slow
def test_perft_deep():
    nodes = GOLDEN["archimedes_original"]["perft"]["nodes"]
    assert perft(GAMES["original"], len(nodes), thorough=True) == nodes


@pytest.mark.slow
@pytest.mark.parametrize(("rules", "record"), PLAYOUTS, ids=[f"{r}-seed{p['seed']}" for r, p in PLAYOUTS])
def test_playouts(rules, record):
    host = check_playout(GAMES[rules], record)
    assert host.rows == record["final"]["board"]
    assert host.state.lost.tolist() == record["final"]["destroyed"]


@pytest.mark.parametrize(("record", "move"), LISTED)
def test_listed_moves(record, move):
    """The third attack, the cascade, and a ship that nobody drives out of the enemy port."""
    host = host_at("original", record["before"]["board"], 0, record["before"]["destroyed"])
    host.play(host.game.parse_action(move))
    assert host.rows == record["after"]["board"]
    assert host.state.lost.tolist() == record["after"]["destroyed"]
    assert host.result is None


def test_a_ship_that_stays_in_the_enemy_port_wins():
    record = GOLDEN["positions"][2]
    host = host_at("original", record["after"]["board"], 1)
    replies = host.legal()
    assert len(replies) == record["n_white_replies"]
    after = jax.jit(jax.vmap(lambda a: host.game.step(host.state, a)))(jnp.array(replies, jnp.int32))
    assert (np.asarray(after.winner) == 1).all()
    host.play(replies[0])
    assert host.result == record["result_after_first_other_reply"] == 1
    assert float(host.transition.reward) == -1


def test_a_ship_driven_out_of_the_port_does_not_win():
    host = host_at("original", ".....W.B/......../W......./.......W/......../......../.B....../........", 1)
    host.play(host.game.parse_action("a6-f6"))
    assert host.state.lost.tolist() == [1, 0]
    assert host.result is None


def test_rebuilding():
    record = GOLDEN["positions"][3]
    host = host_at("original", record["before"]["board"], 0, record["before"]["destroyed"])
    assert [a for a in host.legal() if a // 64 == 56] == record["rebuild_actions"]
    assert len(host.legal()) == record["n_legal"]
    host.play(record["rebuild_actions"][0])
    assert host.state.lost.tolist() == [1, 0]
    assert int((host.game.cells(host.state) == 1).sum()) == 2


def test_nobody_rebuilds_into_an_occupied_port_or_by_the_dagaz_rules():
    rows = "...W..../......../......../.B....../......W./......../......../W......."
    assert not [a for a in host_at("original", rows, 0, (2, 0)).legal() if a // 64 == 56]
    record = GOLDEN["positions"][3]["before"]
    assert not [a for a in host_at("dagaz", record["board"], 0, (2, 0)).legal() if a // 64 == 56]


def test_who_cannot_move_loses():
    """White has nothing left to move and nothing to rebuild."""
    host = host_at("original", "......../......../......../......../......../.W.....B/B......./.B......", 0)
    host.play(host.game.parse_action("h3-d3"))
    assert host.state.lost.tolist() == [0, 1]
    assert host.result is None  # a destroyed ship can be rebuilt in the port
    host = host_at("dagaz", "......../......../......../......../......../.W.....B/B......./.B......", 0)
    host.play(host.game.parse_action("h3-d3"))
    assert host.result == 1


def test_the_cap_makes_a_draw():
    game = Archimedes(max_plies=2)
    host = Host(game).play(Host(game).legal()[0])
    host.play(host.legal()[0])
    assert host.result == 0


@pytest.mark.slow
@both
def test_reference_agrees_in_many_games(rules):
    games = random_games(GAMES[rules], 256, seed=1, thorough=True)
    assert check_agreement(GAMES[rules], Reference(rules), games) > 10_000


@pytest.mark.slow
@settings(max_examples=150)
@given(st.lists(st.sampled_from("..BW"), min_size=64, max_size=64), st.integers(0, 1), st.randoms())
def test_sparse_positions_agree_with_the_reference(cells, seat, random):
    """Entries into the port and removals of both sides are rare in games, so drawn positions look for them."""
    kept = random.sample(range(64), random.randint(2, 24))
    rows = "".join(c if i in kept else "." for i, c in enumerate(cells))
    for port in (7, 56):  # who holds one has won
        rows = rows[:port] + "." + rows[port + 1 :]
    for rules in GAMES:
        reference, host = Reference(rules), host_at(rules, rows, seat)
        state = reference.at(rows, seat)
        assert host.legal() == reference.legal(state)
        assert host.over == (not host.legal())
        if host.over:
            continue
        action = random.choice(host.legal())
        host.play(action)
        state = reference.step(state, action)
        assert host.rows.replace("/", "") == reference.cells(state)
        assert host.result == reference.result(state)
        assert tuple(host.state.lost.tolist()) == state[2:4]


@pytest.mark.parametrize(
    ("rows", "seat", "result"),
    [
        ("/".join(["........"] * 7 + ["W......."]), 0, -1),  # no ship to move
        ("/".join(["........"] * 7 + ["W......."]), 1, -1),  # White is in the port of Black, and nobody drove him out
        ("/".join(["........"] * 7 + ["WB......"]), 0, None),
        ("/".join([".......B"] + ["........"] * 6 + [".W......"]), 0, 1),
        ("/".join(["........"] * 6 + ["BB......", "WB......"]), 1, -1),
        ("/".join(["........"] * 8), 1, 1),
    ],
)
def test_a_drawn_position_may_be_decided(rows, seat, result):
    assert host_at("original", rows, seat).result == result


def test_a_ship_drawn_in_its_own_port_is_not_rebuilt_by_leaving_it():
    host = host_at("original", "......../" * 7 + "B.....W.")
    host.play(host.game.parse_action("a1-a2"))
    assert host.state.lost.tolist() == [0, 0]


def test_heuristic_and_weights():
    game = GAMES["original"]
    host = host_at("original", ".......W/......../......../......../.......B/.W....../B......./.B......")
    assert host.heuristic == pytest.approx(0.9 * (3 - 2) / 12)
    weights = host.weights
    assert weights[game.parse_action("h4-h3")] == 11  # the third attacker of b3
    assert weights[game.parse_action("h4-h5")] == 1
    assert weights[game.parse_action("h4-h8")] == 11  # the enemy port
    assert (np.asarray(weights_of(GAMES["dagaz"])(host.state)).reshape(64, 64)[:, 7] == 1001).all()


def test_observation():
    host = host_at("original", GOLDEN["positions"][0]["before"]["board"], 1, (0, 1))
    planes = host.planes.reshape(64, 11)
    assert np.flatnonzero(planes[:, 0]).tolist() == [7, 41]  # h8, b3
    assert np.flatnonzero(planes[:, 1]).tolist() == [47, 48, 57]
    assert planes[41, 4:6].all()  # three enemies aim at b3
    assert planes[49, 4]  # and two at b2
    assert not planes[49, 5]
    assert np.flatnonzero(planes[:, 6]).tolist() == [7]
    assert planes[:, 8].all()
    assert not planes[:, 9].any()
    assert planes[:, 10].all()
