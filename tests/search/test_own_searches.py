"""Searches of people outside the package: wrong verbs are told in a sentence, and no illegal move is played."""

import dataclasses
import inspect
import types
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jaxgo.arena.match import Pool
from jaxgo.core.errors import UsageError
from jaxgo.evaluators import Uniform
from jaxgo.games import GAMES
from jaxgo.players import Player, load_player
from jaxgo.search import Chain, Greedy, Model
from jaxgo.search.base import check_parts
from jaxgo.selfplay import Selfplay, SelfplayConfig, Tally
from jaxgo.training import loop

GAME = GAMES["tictactoe"]
MODEL = Model(GAME, Uniform())


@dataclasses.dataclass(frozen=True)
class Sound(Greedy):
    """Greedy by another name."""


@dataclasses.dataclass(frozen=True)
class Corner(Greedy):
    """Plays into the first corner, whatever stands there."""

    def result(self, key, state, temperature=0.0):
        found = super().result(key, state, temperature)
        return found._replace(action=jnp.zeros_like(found.action))


@dataclasses.dataclass(frozen=True)
class Short(Greedy):
    def begin(self, model, params, key, root):
        return super().begin(model, params, key, root)


@dataclasses.dataclass(frozen=True)
class Bare(Greedy):
    def begin(self, model, params, key, root, plan=None):
        return jnp.zeros(3)


@dataclasses.dataclass(frozen=True)
class Wrong(Greedy):
    field: str = ""
    axes: int = 1

    def result(self, key, state, temperature=0.0):
        found = super().result(key, state, temperature)
        return found._replace(**{self.field: jnp.zeros((3,) * self.axes)})


def test_a_sound_search_of_ones_own_is_a_player():
    check_parts(Sound(), MODEL)
    assert Player(Sound(), MODEL).search == Sound()


@pytest.mark.parametrize(
    ("search", "said"),
    [
        (Short(), r"begin of Short cannot be traced by JAX \(TypeError: .*takes 5 positional arguments but 6"),
        (Bare(), "begin of Bare cannot be traced by JAX .*no attribute .?done"),
        (Wrong(field="action"), r"result of Wrong gives float32\[3\] as `action` for 2 games; int32\[2\] is needed"),
        (Wrong(field="policy", axes=2), r"gives float32\[3, 3\] as `policy` for 2 games; float32\[2, 9\] is needed"),
        (Wrong(field="solved"), r"gives float32\[3\] as `solved` for 2 games; bool\[2\] is needed"),
    ],
)
def test_verbs_of_other_shapes_are_told(search, said):
    with pytest.raises(UsageError, match=said):
        Player(search, MODEL)


@pytest.mark.slow
def test_a_match_ends_at_an_illegal_move_of_ones_own_search():
    players = Player(Corner(), MODEL, name="corner"), load_player("random", GAME)
    pool = Pool(players, capacity=4)
    pool.begin([(0, 1)], [MODEL.start(jax.random.key(0), 4)], [jax.random.split(jax.random.key(0), 4)])
    with pytest.raises(UsageError, match="corner: Corner chose a move that is not legal in a match"):
        pool.advance()


@pytest.mark.slow
def test_self_play_counts_illegal_moves_and_a_run_ends_at_them():
    play = Selfplay(Corner(), MODEL, SelfplayConfig(games=4, steps=9, opening=0.0))
    games = play.begin(jax.random.key(0), 4)
    found = play.collect(MODEL.init(jax.random.key(0)), games, jax.random.key(1))
    tally = next(part for part in found if isinstance(part, Tally))
    assert float(tally.illegal) > 0
    run: Any = types.SimpleNamespace(config=types.SimpleNamespace(search=Corner()))
    with pytest.raises(UsageError, match="the search Corner chose moves that are not legal in self-play"):
        inspect.unwrap(loop.Loop._check)(run, {"broken": 0.0, "illegal": 3.0}, {"broken": 0.0})


def test_a_chain_is_what_its_last_link_is():
    assert not Chain("win+test_own_searches:Late").keeps_judgements
    assert not Chain("win+test_own_searches:Late").resumable
    assert Chain("win+puct:8").keeps_judgements
    with pytest.raises(UsageError, match="result of Wrong"):
        Player(Chain("win+test_own_searches:Odd"), MODEL)


class Late(Sound):
    keeps_judgements = resumable = False  # type: ignore[assignment]


Odd = Wrong(field="action")
