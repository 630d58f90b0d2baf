"""When a process that goes from game to game lets go of what it has compiled."""

import jax
import pytest
from support import compiling

from jaxgo.core import play
from jaxgo.frontends import board as boards
from jaxgo.frontends import compiled
from jaxgo.frontends.session import Session
from jaxgo.frontends.thinking import Mind, Thinking
from jaxgo.games import make
from jaxgo.players import load_player
from jaxgo.search import think
from jaxgo.search.think import Limit
from jaxgo.system import devices, heap


@pytest.mark.parametrize(
    ("games", "gigabytes", "let_go"),
    [
        (compiled.FEW - 1, 15, False),  # what else is in memory would have them compiled again and again
        (compiled.FEW, 3, False),
        (compiled.FEW, 5, True),
        (compiled.MOST, 3, True),
        (compiled.MOST, 0, True),  # nobody tells
    ],
)
def test_much_or_what_takes_a_quarter_of_the_memory_is_let_go(monkeypatch, games, gigabytes, let_go):
    swept = []
    monkeypatch.setattr(play, "compiled", lambda: games)
    monkeypatch.setattr(think, "compiled", lambda: 0)
    monkeypatch.setattr(devices, "host_memory", lambda: 16 * 2**30)
    monkeypatch.setattr(heap, "held", lambda: gigabytes * 2**30)
    monkeypatch.setattr(compiled.jax, "clear_caches", lambda: swept.append(games))
    compiled.make_room()
    assert bool(swept) == let_go


def test_games_stay_compiled_where_nobody_tells_how_much_memory_there_is(monkeypatch):
    monkeypatch.setattr(play, "compiled", lambda: compiled.FEW)
    monkeypatch.setattr(think, "compiled", lambda: 0)
    monkeypatch.setattr(devices, "host_memory", lambda: 0)
    monkeypatch.setattr(compiled.jax, "clear_caches", lambda: pytest.fail("it was let go"))
    compiled.make_room()


def test_what_the_compiler_took_is_given_back_when_a_player_is_warm(monkeypatch):
    seen = []
    monkeypatch.setattr(Mind, "warm", lambda mind, board: seen.append("compiled"))
    monkeypatch.setattr(heap, "give_back", lambda: seen.append("given back"))
    opened = Session(make("tictactoe"), "tictactoe")
    try:
        opened.set_player(0, "random").result(60.0)
    finally:
        opened.close()
    assert seen == ["compiled", "given back"]


@pytest.mark.slow
@pytest.mark.parametrize("player", ["alphabeta:20", "puct:8"])
def test_a_mind_that_is_warm_compiles_nothing_while_a_clock_runs(player):
    jax.clear_caches()  # what other tests have compiled
    game = make("tictactoe")
    mind, board = Mind(load_player(player, game)), boards.begin(game)
    mind.warm(board)
    later = board.play(board.legal()[0]).play(board.legal()[4])
    with compiling() as compiled:
        for now in (board, later):
            mind.think(Thinking(0), now, Limit(simulations=8, seconds=60.0), None, True)
    assert compiled == []
