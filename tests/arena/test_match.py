"""Matches in one program: seats, refilled slots, devices, double moves, and how often it compiles."""

import jax
import numpy as np
import pytest
from support import Host

from jaxgo.agents import load_agent
from jaxgo.arena import program
from jaxgo.arena.match import play_match
from jaxgo.games import make

TICTACTOE = make("tictactoe")


def agents(*specs, game=TICTACTOE):
    return [load_agent(spec, game) for spec in specs]


def starts(game, count):
    return load_agent("random", game).model.start(jax.random.key(0), count)


def replay(game, moves) -> Host:
    host = Host(game)
    for action in moves:
        host.play(int(action))
    return host


@pytest.fixture(scope="module")
def played():
    """Two agents of different strength, more openings than slots, two devices."""
    a, b = agents("uct:30", "random")
    return play_match(a, b, jax.random.key(1), starts(TICTACTOE, 13), slots=3)


def test_both_seats_of_every_opening_are_played_and_told_truly(played):
    assert played.games == 26
    for pair in range(13):
        for side, got in ((0, played.first[pair]), (1, played.second[pair])):
            host = replay(TICTACTOE, played.moves[pair, side, : played.plies[pair, side]])
            assert host.over, "a game was left before its end"
            a_seat = side
            assert got == (host.result * (1 if a_seat == 0 else -1) + 1) / 2
    assert played.mean > 0.8, "uct must beat random from both seats"
    assert played.first.mean() > 0.7
    assert played.second.mean() > 0.7
    assert played.outcomes.sum() == 13


def test_games_of_a_match_differ(played):
    assert len({tuple(m[0, :5].tolist()) for m in played.moves}) > 6


def test_a_match_compiles_once(played):
    a, b = agents("uct:30", "random")
    before = program.advance._cache_size()
    again = play_match(a, b, jax.random.key(1), starts(TICTACTOE, 13), slots=3)
    other = play_match(a, b, jax.random.key(2), starts(TICTACTOE, 13), slots=3, temperature=1.0, hot_plies=2)
    assert program.advance._cache_size() == before, "another key or temperature compiled the match again"
    np.testing.assert_array_equal(again.moves, played.moves)
    assert (other.moves != played.moves).any()
