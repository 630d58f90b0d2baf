"""Matches in one program: seats, refilled slots, devices, double moves, and how often it compiles."""

import dataclasses
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import Host

from jaxgo.arena import program
from jaxgo.arena.match import Pool, Score, play_match
from jaxgo.core.errors import UsageError
from jaxgo.core.lanes import alone
from jaxgo.evaluators.base import Evaluation, Evaluator
from jaxgo.games import make
from jaxgo.players import Player, load_player
from jaxgo.search import SEARCHES, Random
from jaxgo.search.health import EvaluatorError
from jaxgo.search.model import Model
from jaxgo.system import devices

TICTACTOE = make("tictactoe")


def agents(*specs, game=TICTACTOE):
    return [load_player(spec, game) for spec in specs]


def starts(game, count):
    return load_player("random", game).model.start(jax.random.key(0), count)


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


def test_a_player_with_a_temperature_draws_its_moves(played):
    a, b = agents("uct:30,temperature=10", "random")
    assert a.lucky
    before = program.advance._cache_size()
    hot = play_match(a, b, jax.random.key(1), starts(TICTACTOE, 13), slots=3)
    assert program.advance._cache_size() == before, "a temperature compiled the match again"
    first = hot.moves[:, 0, 0]
    assert (first != played.moves[:, 0, 0]).sum() > 4
    assert len(set(first.tolist())) > 4


def test_a_result_does_not_hang_on_slots_or_devices(played):
    """Rollouts and first moves are luck, and every game has its own."""
    a, b = agents("uct:30", "random")
    alone = devices.make_mesh(jax.devices()[:1])
    again = play_match(a, b, jax.random.key(1), starts(TICTACTOE, 13), slots=13, mesh=alone)
    for one, other in zip(played, again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_first_games_are_those_of_a_shorter_match(played):
    a, b = agents("uct:30", "random")
    before = program.advance._cache_size()
    pool = Pool([a, b], capacity=13, slots=3)
    keys = jax.vmap(jax.random.fold_in, (None, 0))(jax.random.key(1), jnp.arange(5))
    pool.begin([(0, 1)], [starts(TICTACTOE, 5)], [keys])
    while pool.advance(2):
        first, second = pool.score(0)[:2]
        ended = pool.finished(0)
        np.testing.assert_array_equal(ended, ~np.isnan(first + second))
    assert pool.finished(0).all()
    np.testing.assert_array_equal(pool.score(0).moves, played.moves[:5])
    assert program.advance._cache_size() == before, "fewer openings, or fewer ticks, compiled the match again"


@pytest.fixture(scope="module")
def crowd():
    """Four agents, three of them alike."""
    game = make("dodgem3", move_limit=60)
    four = agents("random", "flat:4", "random", "random", game=game)
    return game, four, Pool(four, capacity=5, slots=2)


@pytest.mark.slow
def test_both_games_of_an_opening_have_luck_of_their_own(crowd):
    """Two agents alike would play the same game twice otherwise."""
    game, _, pool = crowd
    keys = jax.vmap(jax.random.fold_in, (None, 0))(jax.random.key(7), jnp.arange(5))
    pool.begin([(0, 2)], [starts(game, 5)], [keys])
    assert not pool.advance()
    moves = pool.score(0).moves
    assert sum(not np.array_equal(*moves[pair]) for pair in range(5)) >= 4


@pytest.mark.slow
def test_several_matches_at_once_are_those_played_alone(crowd):
    game, _, pool = crowd
    luck = [jax.vmap(jax.random.fold_in, (None, 0))(jax.random.key(s), jnp.arange(5)) for s in range(2)]
    begin = starts(game, 5)
    pool.begin([(0, 1), (3, 2)], [begin, begin], luck)
    assert not pool.advance()
    together = [pool.score(0), pool.score(1)]
    pool.begin([(3, 2)], [begin], luck[1:])
    assert not pool.advance()
    for one, other in zip(together[1], pool.score(0), strict=True):
        np.testing.assert_array_equal(one, other)
    for score in together:
        for pair in range(5):
            for side, got in ((0, score.first[pair]), (1, score.second[pair])):
                host = replay(game, score.moves[pair, side, : score.plies[pair, side]])
                assert host.over
                assert got == (host.result * (1 if side == 0 else -1) + 1) / 2


def test_a_match_is_played_where_jax_looks_for_nan():
    pool, root = Pool(agents("random", "greedy"), capacity=1), starts(TICTACTOE, 1)
    with jax.debug_nans(True):
        pool.begin([(0, 1)], [root], [jax.random.split(jax.random.key(0), 1)])
    assert not pool.finished(0).any()


@pytest.mark.slow
def test_a_seat_may_move_twice_in_a_row():
    """In swap2 the first player places three stones before the other one moves at all."""
    game = make("swap2-15", size=5)
    score = play_match(*agents("random", "random", game=game), jax.random.key(0), starts(game, 3), slots=2)
    for pair in range(3):
        for side, got in ((0, score.first[pair]), (1, score.second[pair])):
            host = replay(game, score.moves[pair, side, : score.plies[pair, side]])
            assert host.over
            assert got == (host.result * (1 if side == 0 else -1) + 1) / 2


def test_scores_by_hand():
    score = Score(
        first=np.array([1, 1, 0.5, 0], np.float32),
        second=np.array([1, 0, 0, 0], np.float32),
        plies=np.zeros((4, 2), np.int32),
        moves=np.zeros((4, 2, 1), np.int16),
    )
    assert score.games == 8
    assert score.mean == 3.5 / 8
    assert score.outcomes.tolist() == [1, 1, 1, 0, 1]
    assert score.error == pytest.approx(np.std([1, 0.5, 0.25, 0], ddof=1) / 2)


def test_agents_that_differ_only_in_their_numbers_are_measured_once(monkeypatch):
    """Tuning makes a pool of many such agents in each generation, and looks at the room that their trees take."""
    asked, begin = [], Random.begin
    monkeypatch.setattr(Random, "begin", lambda search, *more: asked.append(search) or begin(search, *more))
    (one,) = agents("random")
    Pool([one, *(dataclasses.replace(one, name=f"candidate {number}") for number in range(3))], 4)
    assert len(asked) == 1


def test_mistakes_are_named(crowd):
    game, four, pool = crowd
    begin, luck = starts(game, 2), jax.random.split(jax.random.key(0), 2)
    with pytest.raises(UsageError, match="one match at a time"):
        pool.begin([(0, 1), (1, 2)], [begin] * 2, [luck] * 2)
    with pytest.raises(UsageError, match="1 to 5 openings"):
        pool.begin([(0, 1)], [starts(game, 6)], [jax.random.split(jax.random.key(0), 6)])
    with pytest.raises(UsageError, match="the same game"):
        Pool([four[0], *agents("random")], 1)
    with pytest.raises(UsageError, match="Pegs is for one"):
        Pool(agents("random", "random", game=make("pegs")), 1)
    with pytest.raises(UsageError, match="at least one opening"):
        Pool(four, 0)
    over = replay(TICTACTOE, [0, 3, 1, 4, 2]).position
    with pytest.raises(UsageError, match="over before the first move"):
        play_match(*agents("random", "random"), jax.random.key(0), alone(over))


def test_what_is_no_match_is_refused():
    match, key, begin = inspect.unwrap(play_match), jax.random.key(0), starts(TICTACTOE, 2)
    pool, blank = inspect.unwrap(Pool.__init__), object.__new__(Pool)
    (player,) = agents("random")
    for a, b in ((player, "random"), (Random(), player)):
        with pytest.raises(UsageError, match="does not play a match; give a Player"):
            match(a, b, key, begin)
    with pytest.raises(UsageError, match="0 is no key of randomness"):
        match(player, player, 0, begin)
    for wrong in (jax.tree.map(lambda x: x[0], begin), begin.state, None):
        with pytest.raises(UsageError, match="the openings of a match are one batch of positions"):
            match(player, player, key, wrong)
    with pytest.raises(UsageError, match="the key of a match is one key for all games"):
        match(player, player, jax.random.split(key, 2), begin)
    with pytest.raises(UsageError, match=r"a position for Mnk is made of .*; give one of this game"):
        match(player, player, key, starts(make("connect4"), 2))
    for heat in ((float("nan"), 2), (-1.0, 2), (True, 2), ("hot", 2), (None, 2), (1.0, -1), (1.0, 1.5), (1.0, True)):
        with pytest.raises(UsageError, match="temperature and hot plies are numbers that cannot be below 0"):
            pool(blank, [player, player], 2, temperature=heat[0], hot_plies=heat[1])
    for slots in (0, 1.5, "2", True):
        with pytest.raises(UsageError, match="a match needs at least one slot"):
            pool(blank, [player, player], 2, slots=slots)
    with pytest.raises(UsageError, match="'x' is no mesh of devices"):
        pool(blank, [player, player], 2, mesh="x")


def test_an_agent_that_is_broken_stops_the_match():
    game = make("tictactoe")
    broken = Player(SEARCHES["greedy"], Model(game, Broken()), (), "broken")
    with pytest.raises(EvaluatorError, match=r"broken: .* gave NaN"):
        play_match(broken, *agents("random"), jax.random.key(0), starts(game, 1))


@dataclasses.dataclass(frozen=True)
class Broken(Evaluator):
    def __call__(self, game, params, key, states):
        games = states.ply.shape[0]
        return Evaluation(jnp.zeros((games, game.num_actions)), jnp.full(games, jnp.nan))


@dataclasses.dataclass(frozen=True)
class Liking(Evaluator):
    """Likes actions as much as its parameters say."""

    def __call__(self, game, params, key, states):
        games = states.ply.shape[0]
        return Evaluation(jnp.tile(params[None], (games, 1)), jnp.zeros(games))


def test_agents_that_differ_only_in_their_weights_play_each_their_own():
    """One takes the first free cell, the other one the last; a third one likes the middle."""
    game = make("tictactoe")
    likes = {"first": -np.arange(9.0), "last": np.arange(9.0), "middle": -np.abs(np.arange(9.0) - 4.1)}
    model = Model(game, Liking())
    three = [Player(SEARCHES["greedy"], model, jnp.asarray(w, jnp.float32), n) for n, w in likes.items()]
    pool = Pool(three, capacity=1)
    for a, b in ((0, 1), (1, 2), (2, 0)):
        pool.begin([(a, b)], [starts(game, 1)], [jax.random.split(jax.random.key(0), 1)])
        assert not pool.advance()
        score = pool.score(0)
        for side, seats in enumerate(((a, b), (b, a))):
            free, line = list(range(9)), score.moves[0, side, : score.plies[0, side]].tolist()
            for ply, action in enumerate(line):
                liked = list(likes.values())[seats[ply % 2]]
                assert action == max(free, key=lambda cell: liked[cell])
                free.remove(action)
